//! Scans of the page tables of real processes: this test's program, started as an app that maps what it is told, and
//! waits.

use std::io::{BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use brisk_core::pages::{AppPages, Identity, MappingPages, PageRange};
use brisk_sense::Sense;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, mprotect};
use rustix::time::{ClockId, clock_gettime};

const PAGE: usize = 4096;
/// Tells the child what to do.
const ROLE: &str = "BRISK_SENSE_TEST_ROLE";
const RIGHTS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Private memory of that many pages, without huge ones; the first `used` are written.
fn private(pages: usize, used: usize) -> u64 {
    // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps nothing; it is never unmapped.
    let begin =
        unsafe { mmap_anonymous(std::ptr::null_mut(), pages * PAGE, RIGHTS, MapFlags::PRIVATE | MapFlags::NORESERVE) };
    let begin = begin.expect("mapped");
    // SAFETY: the advice changes the size of pages alone, of the mapping above.
    let _ = unsafe { madvise(begin, pages * PAGE, Advice::LinuxNoHugepage) };
    for page in 0..used {
        // SAFETY: the byte is in the mapping, which nothing else refers to.
        unsafe { begin.cast::<u8>().add(page * PAGE).write_volatile(1) };
    }
    begin as u64
}

#[test]
#[ignore = "is run by the other tests"]
fn child_that_maps() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (word, rest) = role.split_once(' ').unwrap_or((&role, ""));
    let mut addresses = Vec::new();
    match word {
        "file" => {
            let file = std::fs::File::open(rest).expect("a file");
            for flags in [MapFlags::PRIVATE, MapFlags::SHARED] {
                // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing; it is never unmapped.
                let begin = unsafe {
                    mmap(std::ptr::null_mut(), 64 * PAGE, ProtFlags::READ, flags, file.as_fd(), 2 * PAGE as u64)
                };
                let begin = begin.expect("mapped");
                addresses.push(begin as u64);
            }
            addresses.push(private(16, 4));
        }
        "locked" => {
            let begin = private(16, 16);
            // SAFETY: the pages are in the mapping.
            unsafe { mlock((begin as usize + 4 * PAGE) as *mut _, 4 * PAGE) }.expect("below the limit");
            addresses.push(begin);
            // SAFETY: as in `private`.
            let shared = unsafe { mmap_anonymous(std::ptr::null_mut(), 8 * PAGE, RIGHTS, MapFlags::SHARED) };
            addresses.push(shared.expect("mapped") as u64);
        }
        "reservation" => addresses.push(private(1 << 28, 3)),
        "scattered" => {
            let count: usize = rest.parse().expect("a number");
            let begin = private(2 * count, 0);
            // Read, not written: each is the kernel's page of zeros, so that all of them take no memory.
            for at in 0..count {
                // SAFETY: the page is in the mapping, and nothing refers to it.
                unsafe { std::ptr::read_volatile((begin as usize + 2 * at * PAGE) as *const u8) };
            }
            addresses.push(begin);
        }
        "many" => {
            let count: usize = rest.parse().expect("a number");
            let begin = private(2 * count, 2 * count);
            for at in 0..count {
                // SAFETY: the page is in the mapping, and nothing refers to it.
                unsafe { mprotect((begin as usize + 2 * at * PAGE) as *mut _, PAGE, rustix::mm::MprotectFlags::READ) }
                    .expect("split");
            }
            addresses.push(begin);
        }
        "guard" => {
            let begin = private(4, 4);
            const MADV_GUARD_INSTALL: i32 = 102;
            // SAFETY: the page is in the mapping, and nothing refers to it.
            let done = unsafe { libc::madvise((begin as usize + PAGE) as *mut _, PAGE, MADV_GUARD_INSTALL) };
            addresses.extend((done == 0).then_some(begin));
        }
        other => panic!("no such role: {other}"),
    }
    println!("\nat {}", addresses.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    // Each line is an address, of which a byte is read.
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let at: usize = line.parse().expect("an address");
        // SAFETY: the parent names an address of the mappings above.
        unsafe { std::ptr::read_volatile(at as *const u8) };
        println!("\nread");
    }
}

struct App {
    child: Child,
    to_it: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
    at: Vec<u64>,
}

impl App {
    fn start(role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "app_pages::child_that_maps", "--ignored", "--nocapture"]).env(ROLE, role);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut app = Self { to_it: child.stdin.take(), said, child, at: Vec::new() };
        let line = app.wait_for("at ");
        app.at = line.split_whitespace().skip(1).map(|word| word.parse().expect("an address")).collect();
        app
    }

    fn wait_for(&mut self, begin: &str) -> String {
        brisk_requires::line_with(&mut self.said, begin, |line| line.starts_with(begin))
    }

    fn read(&mut self, address: u64) {
        writeln!(self.to_it.as_mut().expect("a pipe"), "{address}").expect("sent");
        self.wait_for("read");
    }

    fn scan(&self) -> AppPages {
        Sense::default().app_pages(&[self.child.id()]).expect("readable")
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The mapping that begins at, or has, that address.
fn at(scan: &AppPages, address: u64) -> &MappingPages {
    let has = |one: &&MappingPages| {
        let start = one.mapping.start;
        (start..start + one.mapping.range.pages * scan.page_bytes).contains(&address)
    };
    scan.processes[0].mappings.iter().find(has).expect("mapped")
}

fn range(first_page: u64, pages: u64) -> PageRange {
    PageRange { first_page, pages }
}

fn counted(ranges: &[PageRange]) -> u64 {
    ranges.iter().map(|range| range.pages).sum()
}

#[test]
fn a_scan_names_each_page_by_its_mapping() {
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a file");
    file.write_all(&vec![7; 80 * PAGE]).expect("written");
    let mut app = App::start(&format!("file {}", file.path().display()));
    let [own, shared, memory] = app.at[..] else { panic!("three mappings") };
    app.read(own + PAGE as u64);
    let before = app.scan();
    let process = &before.processes[0].process;
    assert_eq!((process.pid, process.nth), (app.child.id(), 0));
    let Identity::File(of) = &at(&before, own).mapping.identity else { panic!("a file") };
    let found = file.path().metadata().expect("there");
    assert_eq!(
        (of.device, of.inode, of.path.as_str()),
        (found.dev(), found.ino(), file.path().to_str().expect("UTF-8"))
    );
    // The kernel maps up to 15 neighbours with a page: pages from 32 on are not among those of page 3, nor the first
    // ones among those of page 50.
    let has = |ranges: &[PageRange], page: u64| {
        ranges.iter().any(|range| (range.first_page..range.end_page()).contains(&page))
    };
    let file = &at(&before, own).file;
    assert_eq!((at(&before, own).mapping.range, has(file, 3), has(file, 32)), (range(2, 64), true, false));
    assert!(at(&before, own).mapping.swappable && !at(&before, shared).mapping.swappable);
    assert_eq!((&at(&before, shared).file, at(&before, memory).mapping.swappable), (&vec![], true));

    app.read(own + 48 * PAGE as u64);
    let after = app.scan();
    let touched = before.touched_until(&after);
    let mapping = touched.processes[0].mappings.iter().find(|one| one.mapping.start == own).expect("touched");
    let file = &mapping.file;
    assert!(has(&file.touched, 50) && !has(&file.touched, 3), "{file:?}");
    assert!(has(&file.untouched, 25) && !has(&file.untouched, 3), "{file:?}");
}

#[test]
fn a_process_that_ended_is_left_out() {
    let (mut first, second) = (App::start("locked"), App::start("locked"));
    let pids = [first.child.id(), second.child.id(), u32::MAX];
    let both = Sense::default().app_pages(&pids).expect("readable");
    let nth: Vec<(u32, u32)> = both.processes.iter().map(|one| (one.process.pid, one.process.nth)).collect();
    assert_eq!(nth, [(pids[0], 0), (pids[1], 1)], "processes of one program, by their begin");
    first.child.kill().expect("killed");
    // Its end of the pipe is closed when it has ended; this test has not waited for it yet.
    let _ = first.said.read_to_end(&mut Vec::new());
    let one = Sense::default().app_pages(&pids).expect("no error");
    assert_eq!(one.processes.iter().map(|one| one.process.pid).collect::<Vec<_>>(), [pids[1]]);
}

#[test]
fn processes_that_end_during_a_scan_are_no_errors() {
    for _ in 0..20 {
        let mut child = Command::new("true").spawn().expect("started");
        let pid = child.id();
        // Until it has ended and is gone.
        while child.try_wait().expect("a child").is_none() {
            Sense::default().app_pages(&[pid]).expect("no error at any moment");
        }
    }
}

#[test]
fn locked_and_shared_memory_is_not_swappable() {
    let app = App::start("locked");
    let (scan, page_bytes) = (app.scan(), PAGE as u64);
    let swappable = |page: u64| at(&scan, app.at[0] + page * page_bytes).mapping.swappable;
    assert_eq!([0, 3, 4, 7, 8, 15].map(swappable), [true, true, false, false, true, true]);
    assert!(!at(&scan, app.at[1]).mapping.swappable, "shared");
    assert_eq!(counted(&at(&scan, app.at[0]).private) + counted(&at(&scan, app.at[0] + 4 * page_bytes).private), 8);
}

/// Processor time of this thread.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().expect("positive"), now.tv_nsec.try_into().expect("below a second"))
}

#[test]
fn a_reservation_costs_nothing() {
    // 1 TiB of addresses: the entries of all would be 2 GiB.
    let app = App::start("reservation");
    let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    if brisk_sense::KernelVersion::of(&version) < brisk_sense::KernelVersion::of("6.7") {
        eprintln!("before Linux 6.7 all entries are read");
        return;
    }
    let begin = cpu();
    let scan = app.scan();
    assert_eq!(at(&scan, app.at[0]).private, [range(0, 3)]);
    assert!(cpu() - begin < Duration::from_secs(1), "{:?}", cpu() - begin);
}

#[test]
fn a_scan_of_ten_thousand_mappings() {
    let app = App::start("many 5000");
    let begin = cpu();
    let scan = app.scan();
    println!("10,000 mappings: {:?} of processor time", cpu() - begin);
    let end = app.at[0] + 10_000 * PAGE as u64;
    let of_it = scan.processes[0].mappings.iter().filter(|one| (app.at[0]..end).contains(&one.mapping.start));
    let (count, pages) = of_it.fold((0, 0), |(count, pages), one| (count + 1, pages + counted(&one.private)));
    assert_eq!((count, pages), (10_000, 10_000));
    assert_eq!(
        scan.touched_until(&scan)
            .processes
            .iter()
            .flat_map(|one| &one.mappings)
            .map(|one| counted(&one.swapped.touched))
            .sum::<u64>(),
        0
    );
    assert!(cpu() - begin < Duration::from_secs(5), "{:?}", cpu() - begin);
}

#[test]
fn an_app_beyond_the_budget_has_no_pages() {
    let ranges =
        |app: &App| Sense::default().app_pages(&[app.child.id()]).map(|pages| at(&pages, app.at[0]).private.len());
    let few = App::start("scattered 100000");
    assert_eq!(ranges(&few).expect("within the budget"), 100_000);
    let many = App::start("scattered 300000");
    let begin = cpu();
    let why = ranges(&many).expect_err("beyond the budget").to_string();
    assert!(why.starts_with("the page tables of an app are more than brisk reads"), "{why}");
    assert!(cpu() - begin < Duration::from_secs(5), "{:?}", cpu() - begin);
    // Many processes as well: each takes time.
    let pids = vec![few.child.id(); 1000];
    assert!(Sense::default().app_pages(&pids).is_err());
}

#[test]
fn a_guard_page_is_not_in_swap() {
    // Without slots a guard page looks like one in swap.
    brisk_requires::requires!(PageMap);
    let app = App::start("guard");
    let Some(begin) = app.at.first() else { return eprintln!("this kernel has no guard pages (Linux 6.13)") };
    let scan = app.scan();
    assert_eq!((&at(&scan, *begin).swapped, counted(&at(&scan, *begin).private)), (&vec![], 3));
}
