//! An app whose memory can be swapped, and a swap area of its own: large, since the kernel puts memory of others there too. A test program that uses this module needs the test
//! `app_that_uses_its_pages`, which the app runs.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use brisk_act::{Actuator, FlashArea, SwapAreaError, SwapAreas, SwapPlaces, SwapPlan};
use brisk_core::action::Once;
use brisk_core::outcome::Outcome;
use brisk_requires::{Capability, skip};
use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

pub(crate) const PAGE: usize = 4096;
pub(crate) const PAGES: u64 = 4096;
const ROLE: &str = "BRISK_DAEMON_TEST_APP";
const MIB: u64 = 1 << 20;

/// What the app does, where this process is it.
pub(crate) fn be_the_app() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let (length, rights) = (PAGES as usize * PAGE, ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps nothing; it is never unmapped.
    let begin = unsafe { mmap_anonymous(std::ptr::null_mut(), length, rights, MapFlags::PRIVATE) }.expect("mapped");
    // SAFETY: the advice changes the size of pages alone, of the mapping above.
    let _ = unsafe { madvise(begin, length, Advice::LinuxNoHugepage) };
    let byte = |page: usize| begin.cast::<u8>().wrapping_add(page * PAGE);
    // SAFETY: each byte is in the mapping, which nothing else refers to.
    (0..PAGES as usize).for_each(|page| unsafe { byte(page).write_volatile((page % 251 + 1) as u8) });
    println!("\nat {}", begin as usize);
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (from, to) = line.split_once(' ').expect("two numbers");
        for page in from.parse::<usize>().expect("a page")..to.parse().expect("a page") {
            // SAFETY: as above.
            assert_eq!(unsafe { byte(page).read_volatile() }, (page % 251 + 1) as u8, "page {page}");
        }
        println!("\nused");
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
    pub(crate) fn start(group: Option<&Path>) -> (Self, u64) {
        let mut command = Command::new("setsid");
        command.arg(std::env::current_exe().expect("this program"));
        command.args(["--exact", "app_that_uses_its_pages", "--ignored", "--nocapture"]).env(ROLE, "1");
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

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_for(&mut self, begin: &str) -> String {
        let mut line = String::new();
        while !line.starts_with(begin) {
            line.clear();
            assert_ne!(self.said.read_line(&mut line).expect("a line"), 0, "it ended before it said '{begin}'");
        }
        line
    }

    /// Has it use these pages, and waits for that.
    pub(crate) fn use_pages(&mut self, from: u64, to: u64) {
        writeln!(self.to_it, "{from} {to}").expect("sent");
        self.wait_for("used");
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // It may be frozen.
        if let Some(group) = &self.group {
            let _ = fs::write(group.join("cgroup.kill"), "1");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let begun = Instant::now();
        while let Some(group) = &self.group
            && fs::remove_dir(group).is_err()
            && group.exists()
            && begun.elapsed() < Duration::from_secs(10)
        {
            std::thread::yield_now();
        }
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
        let is_gone = undone.is_ok() || matches!(undone, Err(SwapAreaError::NothingSetUp { .. }));
        assert!(std::thread::panicking() || (is_gone && done.is_ok_and(|status| status.success())), "{undone:?}");
    }
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().expect("a program");
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

pub(crate) fn swap(dir: &Path) -> Option<Swap<'_>> {
    let others = Sense::default().swaps().expect("the kernel has swap");
    if !others.is_empty() {
        skip(Capability::SwapFile, format!("other swap is on: {others:?}"));
        return None;
    }
    let (image, mounted) = (dir.join("image"), dir.join("mounted"));
    fs::File::create(&image).and_then(|file| file.set_len(400 * MIB)).expect("an image");
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
    let area = FlashArea::File { path: mounted.join("swap"), size_bytes: 320 * MIB };
    match swap.areas.set_up(&SwapPlan { area, zram_bytes: None }, false) {
        Ok(()) => Some(swap),
        Err(error) => {
            skip(Capability::SwapFile, error);
            None
        }
    }
}

/// The final outcome of an action that takes time.
pub(crate) fn perform(actuator: &mut Actuator, once: &Once) -> Outcome {
    assert_eq!(actuator.perform(once, &brisk_act::Sensed::default(), 0).outcome, Outcome::Begun);
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    let fd = actuator.worker_fd().expect("a worker");
    assert_eq!(poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&limit)), Ok(1));
    actuator.advance(0).pop().expect("an outcome").outcome
}
