//! An app whose memory can be swapped, and a swap area of its own. A test program that uses this module needs the test
//! `app_that_uses_its_pages`, which the app runs.

#![allow(clippy::print_stdout, reason = "a test reports to its output")]

use std::fs;
use std::io::{BufReader, Read as _, Write as _, pipe};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use brisk_act::{Actuator, FlashArea, SwapAreaError, SwapAreas, SwapPlaces, SwapPlan};
use brisk_core::action::Once;
use brisk_core::outcome::Outcome;
use brisk_requires::{Capability, skip};
use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mlock, mmap_anonymous, mprotect};

pub(crate) const PAGE: usize = 4096;
pub(crate) const PAGES: u64 = 4096;
const ROLE: &str = "BRISK_DAEMON_TEST_APP";
const MIB: u64 = 1 << 20;
/// A multiple of the size of huge pages.
const HUGE: usize = 2 << 20;

/// Pages of [`Kind::Mappings`] besides the others, each a mapping of its own.
pub(crate) const MAPPINGS: u64 = 10_000;
/// Pages of memory that the app shares.
pub(crate) const SHARED_PAGES: u64 = 1024;

/// What the memory of the app is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One mapping of small pages.
    Plain,
    /// One mapping of huge pages.
    Huge,
    /// One mapping of small pages, and [`MAPPINGS`] of one page each.
    Mappings,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Plain, Self::Huge, Self::Mappings];
}

/// Pages whose content tells which page it is.
#[derive(Debug, Clone, Copy)]
struct Memory {
    begin: *mut u8,
}

impl Memory {
    /// Maps and fills `pages`, from a multiple of the size of huge pages on.
    fn map(pages: u64, flags: MapFlags, advice: Advice) -> Self {
        let (length, rights) = (pages as usize * PAGE, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps nothing; it is never unmapped.
        let begin = unsafe { mmap_anonymous(std::ptr::null_mut(), length + HUGE, rights, flags) }.expect("mapped");
        let begin = begin.cast::<u8>().wrapping_add(begin.addr().wrapping_neg() % HUGE);
        // SAFETY: the advice changes the size of pages alone, of the mapping above.
        let _ = unsafe { madvise(begin.cast(), length, advice) };
        let memory = Self { begin };
        // SAFETY: each byte is in the mapping, which nothing else refers to.
        (0..pages).for_each(|page| unsafe { memory.at(page).write_volatile(Self::content(page)) });
        memory
    }

    fn at(self, page: u64) -> *mut u8 {
        self.begin.wrapping_add(page as usize * PAGE)
    }

    fn content(page: u64) -> u8 {
        (page % 251 + 1) as u8
    }

    /// The first page from `from` to `to` that has another content.
    fn damaged(self, from: u64, to: u64) -> Option<u64> {
        // SAFETY: as above.
        (from..to).find(|page| unsafe { self.at(*page).read_volatile() } != Self::content(*page))
    }
}

/// A child of the app that has its memory, checks that at each word, and answers.
struct Checker {
    word: std::io::PipeWriter,
    answer: std::io::PipeReader,
}

impl Checker {
    fn fork(memory: Memory) -> Self {
        let ((mut read, word), (answer, mut write)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        // SAFETY: the child reads memory, and calls read, write and _exit alone, until it ends: it takes no lock.
        if unsafe { libc::fork() } != 0 {
            return Self { word, answer };
        }
        // Or it would wait for its own word.
        drop((word, answer));
        while read.read_exact(&mut [0]).is_ok() {
            let is_whole = memory.damaged(0, PAGES).is_none();
            if write.write_all(&[u8::from(is_whole)]).is_err() {
                break;
            }
        }
        // SAFETY: ends this process, and runs nothing of what the app has to run at its end.
        unsafe { libc::_exit(0) }
    }

    fn check(&mut self) {
        let mut answer = [0];
        self.word.write_all(&[0]).and_then(|()| self.answer.read_exact(&mut answer)).expect("the child runs");
        assert_eq!(answer, [1], "a page of the child is damaged");
    }
}

/// What the app does, where this process is it.
pub(crate) fn be_the_app() {
    let Some(kind) = std::env::var_os(ROLE) else { return };
    let kind = Kind::ALL.into_iter().find(|known| *kind == *format!("{known:?}")).expect("a kind");
    let advice = if kind == Kind::Huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
    let memory = Memory::map(PAGES, MapFlags::PRIVATE, advice);
    let more = (kind == Kind::Mappings).then(|| Memory::map(MAPPINGS, MapFlags::PRIVATE, advice));
    for page in more.iter().flat_map(|_| (0..MAPPINGS).step_by(2)) {
        // SAFETY: the page is in a mapping above, and is read alone from here on.
        let protected = more.map(|more| unsafe { mprotect(more.at(page).cast(), PAGE, MprotectFlags::READ) });
        protected.expect("more").expect("fewer mappings than vm.max_map_count");
    }
    let (mut shared, mut checkers): (Option<Memory>, Vec<Checker>) = (None, Vec::new());
    println!("\nat {}", memory.begin.addr());
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let page = |at: usize| words[at].parse::<u64>().expect("a page");
        match words[0] {
            "use" => {
                let more = more.map(|more| (more, 0, MAPPINGS)).filter(|_| page(2) == PAGES);
                let shared = shared.map(|shared| (shared, 0, SHARED_PAGES));
                for (memory, from, to) in [Some((memory, page(1), page(2))), more, shared].into_iter().flatten() {
                    assert_eq!(memory.damaged(from, to), None, "of pages {from} to {to} this one is damaged");
                }
                checkers.iter_mut().for_each(Checker::check);
                println!("\nused");
            }
            "lock" => {
                let length = (page(2) - page(1)) as usize * PAGE;
                // SAFETY: the pages are in the mapping above.
                unsafe { mlock(memory.at(page(1)).cast(), length) }.expect("root may lock memory");
                println!("\nlocked");
            }
            "share" => {
                let more = Memory::map(SHARED_PAGES, MapFlags::SHARED, Advice::LinuxNoHugepage);
                shared = Some(more);
                println!("\nshared {}", more.begin.addr());
            }
            "join" => {
                // SAFETY: the advice changes the size of pages alone, of the mapping above.
                let done = unsafe { libc::madvise(memory.begin.cast(), PAGES as usize * PAGE, libc::MADV_COLLAPSE) };
                assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
                println!("\njoined");
            }
            "fork" => {
                checkers.push(Checker::fork(memory));
                println!("\nforked");
            }
            word => panic!("'{word}' is no word of the test"),
        }
    }
}

pub(crate) struct App {
    child: Child,
    to_it: ChildStdin,
    said: BufReader<ChildStdout>,
    group: Option<PathBuf>,
}

impl App {
    /// Leads a session, which stands for its group where it is in none, and gives the address of its memory.
    pub(crate) fn start(group: Option<&Path>, kind: Kind) -> (Self, u64) {
        let mut command = Command::new("setsid");
        command.arg(std::env::current_exe().expect("this program"));
        command
            .args(["--exact", "paging::app_that_uses_its_pages", "--ignored", "--nocapture"])
            .env(ROLE, format!("{kind:?}"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let (to_it, said) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        if let Some(group) = group {
            fs::create_dir(group).expect("root makes groups");
            fs::write(group.join("cgroup.procs"), child.id().to_string()).expect("moved");
        }
        let mut app = Self { child, to_it, said: BufReader::new(said), group: group.map(Path::to_owned) };
        let line = app.wait_for("at ");
        let address = line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        (app, address.expect("an address"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_for(&mut self, begin: &str) -> String {
        brisk_requires::line_with(&mut self.said, begin, |line| line.starts_with(begin))
    }

    /// Sends it a word, and gives its answer.
    fn ask(&mut self, word: &str, answer: &str) -> String {
        writeln!(self.to_it, "{word}").expect("sent");
        self.wait_for(answer)
    }

    /// Has it check that these pages, all of its other memory, and its children have their content.
    pub(crate) fn use_pages(&mut self, from: u64, to: u64) {
        self.ask(&format!("use {from} {to}"), "used");
    }

    pub(crate) fn lock(&mut self, from: u64, to: u64) {
        self.ask(&format!("lock {from} {to}"), "locked");
    }

    /// Has it make [`SHARED_PAGES`] of shared memory; gives their address.
    pub(crate) fn share(&mut self) -> u64 {
        let line = self.ask("share", "shared");
        line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("an address")
    }

    /// Has it make huge pages of its pages.
    pub(crate) fn join_pages(&mut self) {
        self.ask("join", "joined");
    }

    /// Has it make a child that has its memory.
    pub(crate) fn fork(&mut self) {
        self.ask("fork", "forked");
    }

    /// Kills its first process, and waits for that.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Ends all of it, and removes its group.
    pub(crate) fn end(&mut self) {
        let group = self.group.take();
        // It may be frozen.
        if let Some(group) = &group {
            let _ = fs::write(group.join("cgroup.kill"), "1");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let begun = Instant::now();
        while let Some(group) = &group
            && fs::remove_dir(group).is_err()
            && group.exists()
            && begun.elapsed() < Duration::from_secs(10)
        {
            std::thread::yield_now();
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.end();
    }
}

/// A file system with a swap area, gone with its value.
pub(crate) struct Swap<'a> {
    dir: &'a Path,
    areas: SwapAreas,
}

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        let undone = self.areas.undo();
        let done = Command::new("umount").arg(self.dir.join("mounted")).status();
        let is_gone = undone.as_ref().is_ok_and(|undone| undone.left.is_empty())
            || matches!(undone, Err(SwapAreaError::NothingSetUp { .. }));
        assert!(std::thread::panicking() || (is_gone && done.is_ok_and(|status| status.success())), "{undone:?}");
    }
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().expect("a program");
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Of 32 MiB.
pub(crate) fn swap(dir: &Path) -> Option<Swap<'_>> {
    swap_of(dir, 32)
}

/// A swap area of that size; `None`, with the skip recorded, where there can be none, or another one is in use.
pub(crate) fn swap_of(dir: &Path, size_mib: u64) -> Option<Swap<'_>> {
    let others = Sense::default().swaps().expect("the kernel has swap");
    if !others.is_empty() {
        skip(Capability::SwapFile, format!("other swap is on: {others:?}"));
        return None;
    }
    let (image, mounted) = (dir.join("image"), dir.join("mounted"));
    fs::File::create(&image).and_then(|file| file.set_len((size_mib + size_mib / 8 + 32) * MIB)).expect("an image");
    fs::create_dir(&mounted).expect("a directory");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    run("mkfs.ext4", &["-q", "-F", &path(&image)]);
    run("mount", &["-o", "loop", &path(&image), &path(&mounted)]);
    let places = SwapPlaces {
        record: dir.join("swap.json"),
        units: dir.join("units"),
        fstab: dir.join("fstab"),
        has_systemd: true,
        program: "/usr/bin/brisk".into(),
    };
    let swap = Swap { dir, areas: SwapAreas::new(places) };
    let area = FlashArea::File { path: mounted.join("swap"), size_bytes: size_mib * MIB };
    let prepared = swap.areas.check(SwapPlan { area, zram_bytes: None });
    match prepared.and_then(|prepared| swap.areas.set_up(&prepared, false)) {
        Ok(()) => Some(swap),
        Err(error) => {
            skip(Capability::SwapFile, error);
            None
        }
    }
}

/// The final outcome of an action that takes time.
pub(crate) fn perform(actuator: &mut Actuator, once: &Once) -> Outcome {
    assert_eq!(actuator.perform(once, &brisk_act::Sensed::default(), 0), Outcome::Begun);
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    let fd = actuator.worker_fd().expect("a worker");
    assert_eq!(poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&limit)), Ok(1));
    actuator.advance(0).pop().expect("an outcome").1
}
