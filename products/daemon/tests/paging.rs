//! Memory of a real app on its way to swap and back: what act does, sense sees. With a swap area of its own, of 32 MiB; needs root.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use brisk_act::{Actuator, FlashArea, Paths, Sensed, SwapAreaError, SwapAreas, SwapPlaces, SwapPlan};
use brisk_core::action::{AddressRange, Once};
use brisk_core::outcome::Outcome;
use brisk_core::pages::{AppPages, MappingPages, PageRange};
use brisk_requires::{Capability, requires, skip};
use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

const PAGE: usize = 4096;
const PAGES: u64 = 4096;
const ROLE: &str = "BRISK_DAEMON_TEST_APP";
const MIB: u64 = 1 << 20;

#[test]
#[ignore = "is run by another test"]
fn app_that_uses_its_pages() {
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

struct App {
    child: Child,
    to_it: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl App {
    /// Leads a session, which stands for its group, and gives the address of its memory.
    fn start() -> (Self, u64) {
        let mut command = Command::new("setsid");
        command.arg(std::env::current_exe().expect("this program"));
        command.args(["--exact", "app_that_uses_its_pages", "--ignored", "--nocapture"]).env(ROLE, "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let (to_it, said) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut app = Self { child, to_it, said: BufReader::new(said) };
        let line = app.wait_for("at ");
        let address = line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        (app, address.expect("an address"))
    }

    fn wait_for(&mut self, begin: &str) -> String {
        let mut line = String::new();
        while !line.starts_with(begin) {
            line.clear();
            assert_ne!(self.said.read_line(&mut line).expect("a line"), 0, "it ended before it said '{begin}'");
        }
        line
    }

    fn use_pages(&mut self, from: u64, to: u64) {
        writeln!(self.to_it, "{from} {to}").expect("sent");
        self.wait_for("used");
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file system with a swap area, gone with its value.
struct Swap<'a> {
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

fn swap(dir: &Path) -> Option<Swap<'_>> {
    let others = Sense::default().swaps().expect("the kernel has swap");
    if !others.is_empty() {
        skip(Capability::SwapFile, format!("other swap is on: {others:?}"));
        return None;
    }
    let (image, mounted) = (dir.join("image"), dir.join("mounted"));
    fs::File::create(&image).and_then(|file| file.set_len(64 * MIB)).expect("an image");
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
    let area = FlashArea::File { path: mounted.join("swap"), size_bytes: 32 * MIB };
    match swap.areas.set_up(&SwapPlan { area, zram_bytes: None }, false) {
        Ok(()) => Some(swap),
        Err(error) => {
            skip(Capability::SwapFile, error);
            None
        }
    }
}

/// The final outcome of an action that takes time.
fn perform(actuator: &mut Actuator, once: &Once) -> Outcome {
    assert_eq!(actuator.perform(once, &Sensed::default(), 0).outcome, Outcome::Begun);
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    let fd = actuator.worker_fd().expect("a worker");
    assert_eq!(poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&limit)), Ok(1));
    actuator.advance(0).pop().expect("an outcome").outcome
}

fn mapping(scan: &AppPages, address: u64) -> &MappingPages {
    let has = |one: &&MappingPages| {
        (one.mapping.start..one.mapping.start + one.mapping.range.pages * scan.page_bytes).contains(&address)
    };
    scan.processes[0].mappings.iter().find(has).expect("mapped")
}

fn pages(ranges: impl Iterator<Item = PageRange>) -> Vec<u64> {
    ranges.flat_map(|range| range.first_page..range.end_page()).collect()
}

#[test]
fn a_return_touches_what_the_app_used_and_not_what_was_read_ahead() {
    requires!(Root, Mount, Loop, SwapFile, Program("mkfs.ext4"), Program("mkswap"), Program("setsid"));
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let Some(swap) = swap(dir.path()) else { return };
    let mut actuator = Actuator::new(&Paths::with_run_dir(dir.path().join("run")), "briskd", false).expect("a journal");
    actuator.start_worker("briskd").expect("threads");
    let (mut app, address) = App::start();
    let (pid, group) = (app.child.id(), format!("session-{}", app.child.id()));
    let range = |first_page: u64, pages: u64| AddressRange {
        pid,
        start: address + first_page * PAGE as u64,
        size_bytes: pages * PAGE as u64,
    };
    let scan = || Sense::default().app_pages(&[pid]).expect("readable");

    let out = Once::PageOut { group: group.clone(), ranges: vec![range(0, PAGES)] };
    assert_eq!(perform(&mut actuator, &out), Outcome::Done);
    let before = scan();
    let of_it = mapping(&before, address);
    // A neighbouring mapping may have been joined with it.
    let first = (address - of_it.mapping.start) / PAGE as u64 + of_it.mapping.range.first_page;
    let own = |all: Vec<u64>| -> Vec<u64> {
        all.into_iter().filter(|page| (first..first + PAGES).contains(page)).map(|page| page - first).collect()
    };
    let swapped = own(pages(of_it.swapped.iter().map(|swapped| swapped.range)));
    assert!(swapped.len() as u64 > PAGES * 9 / 10, "{} of {PAGES} pages are in swap", swapped.len());
    assert!(of_it.mapping.swappable && of_it.swapped.iter().all(|swapped| swapped.slot > 0));

    // Read ahead only: still in swap by the page tables.
    let back = Once::PageIn { group: group.clone(), ranges: vec![range(100, 100)] };
    assert_eq!(perform(&mut actuator, &back), Outcome::Done);
    let ahead = before.touched_until(&scan());
    assert!(
        ahead
            .processes
            .iter()
            .flat_map(|one| &one.mappings)
            .all(|one| one.mapping.start != of_it.mapping.start || one.swapped.touched.is_empty())
    );
    app.use_pages(100, 150);
    let after = scan();
    let touched = before.touched_until(&after);
    let found = touched.processes[0].mappings.iter().find(|one| one.mapping.start == of_it.mapping.start);
    let found = found.expect("it was in swap");
    let expected: Vec<u64> = swapped.iter().copied().filter(|page| (100..150).contains(page)).collect();
    assert_eq!(own(pages(found.swapped.touched.iter().copied())), expected);
    let untouched: Vec<u64> = swapped.iter().copied().filter(|page| !(100..150).contains(page)).collect();
    assert_eq!(own(pages(found.swapped.untouched.iter().copied())), untouched);

    // All content is as it was.
    let map_in = Once::MapIn { group, ranges: vec![range(0, PAGES)] };
    assert_eq!(perform(&mut actuator, &map_in), Outcome::Done);
    assert_eq!(own(pages(mapping(&scan(), address).swapped.iter().map(|swapped| swapped.range))), Vec::<u64>::new());
    app.use_pages(0, PAGES);
    drop((app, actuator, swap));
}
