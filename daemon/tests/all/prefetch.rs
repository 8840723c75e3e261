//! Launch prefetch in a running daemon, with a real app: what a launch maps and what it only reads is learned, and is
//! read ahead of the next one. Needs root.

use crate::harness;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use brisk_api::{AppLaunches, Launches};
use brisk_core::action::Once;
use brisk_core::state::ActionState;
use brisk_requires::requires;
use brisk_sense::{OpenedFiles, Sense};
use harness::{App, Briskd, Loop, PATIENCE, place, turn};
use rustix::fs::{Advice, fadvise};
use rustix::mm::{Advice as MemoryAdvice, MapFlags, ProtFlags, madvise, mmap};

const PAGE: usize = 4096;
const MAPPED_PAGES: usize = 64;
const TOUCHED: [usize; 2] = [3, 40];
const READ_PAGES: usize = 5;
/// Directory of the files that the app uses.
const PLACE: &str = "BRISK_DAEMON_TEST_FILES";
const ID: &str = "prefetchtest";
const CONFIG: &str = "[engines]\norder = [\"prefetch\"]\n[prefetch]\nprove_every = 0\nprivate = []\n";

#[test]
#[ignore = "is run by another test"]
fn app_that_uses_files() {
    let Some(dir) = std::env::var_os(PLACE) else { return };
    let mut told = Vec::new();
    std::io::stdin().read_to_end(&mut told).expect("it is told to go on");
    let file = File::open(Path::new(&dir).join("mapped")).expect("a file");
    // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing; it is never unmapped.
    let begin =
        unsafe { mmap(std::ptr::null_mut(), MAPPED_PAGES * PAGE, ProtFlags::READ, MapFlags::PRIVATE, file.as_fd(), 0) };
    let begin = begin.expect("mapped");
    // SAFETY: the advice changes read-ahead alone, of the mapping above.
    unsafe { madvise(begin, MAPPED_PAGES * PAGE, MemoryAdvice::Random) }.expect("advised");
    for page in TOUCHED {
        // SAFETY: the byte is in the mapping, which nothing else refers to.
        assert_eq!(unsafe { begin.cast::<u8>().add(page * PAGE).read_volatile() }, 7);
    }
    assert_eq!(fs::read(Path::new(&dir).join("read")).expect("readable").len(), READ_PAGES * PAGE);
    loop {
        std::thread::park();
    }
}

/// An app in a new group, which waits until it is told to use its files in `dir`.
fn app(dir: &Path, nth: u32) -> Option<App> {
    let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    let group = v2.mount_point.join(format!("app-{ID}-{}{nth}.scope", std::process::id()));
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    App::with(
        &group,
        program.args(["--ignored", "--exact", "prefetch::app_that_uses_files", "--nocapture"]).env(PLACE, dir),
    )
}

/// Writes the file, or takes it out of memory.
fn evict(path: &Path) {
    let file = File::open(path).expect("a file");
    file.sync_all().expect("on disk");
    fadvise(&file, 0, None, Advice::DontNeed).expect("evicted");
}

/// A file system on a device, unmounted when dropped.
struct Mounted {
    dir: tempfile::TempDir,
}

impl Mounted {
    fn new(device: &Loop) -> Self {
        let node = format!("/dev/{}", device.name);
        let mounted = Self { dir: tempfile::tempdir().expect("a directory") };
        for command in
            [Command::new("mkfs.ext4").args(["-q", &node]), Command::new("mount").arg(&node).arg(mounted.path())]
        {
            assert!(command.status().expect("it runs").success(), "{command:?}");
        }
        mounted
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.dir.path()).status();
    }
}

/// What an action reads ahead of a launch.
fn asked_bytes(state: &ActionState) -> u64 {
    match &state.resolved.what {
        Once::Prefetch { pieces, .. } => pieces.iter().map(|piece| piece.size_bytes).sum(),
        _ => 0,
    }
}

/// What is in memory of both files.
fn resident(dir: &Path) -> u64 {
    let both = ["mapped", "read"].map(|name| dir.join(name)).into();
    let found = Sense::default().launch_files(&[std::process::id()], Some(&both), &|_| false).expect("readable");
    let of_both = found.files.iter().filter(|one| both.contains(Path::new(&one.file.path)));
    of_both.flat_map(|one| &one.used).map(|range| range.pages * PAGE as u64).sum()
}

fn launches_when(daemon: &Briskd, wanted: impl Fn(&AppLaunches) -> bool) -> AppLaunches {
    let begun = Instant::now();
    let mut client = daemon.client();
    loop {
        let all: Launches = client.call("GetLaunches", &[("app", ID.into())], "launches").expect("it answers");
        if let Some(found) = all.apps.iter().find(|one| wanted(one)) {
            return found.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "{all:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_a_launch_maps_and_reads_is_read_ahead_of_the_next_one() {
    requires!(Groups, Mount, Loop, Program("mkfs.ext4"));
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    // That of the machine may be one that rotates, of which nothing is learned.
    device.set("rotational", "0");
    let own = Mounted::new(&device);
    for (name, pages) in [("mapped", MAPPED_PAGES), ("read", READ_PAGES)] {
        fs::write(own.path().join(name), vec![7; pages * PAGE]).expect("written");
    }
    let watches = OpenedFiles::watch(&Sense::default()).is_ok();
    let daemon = Briskd::start(place(&[], CONFIG), &[]);
    let evict_both = || ["mapped", "read"].iter().for_each(|name| evict(&own.path().join(name)));

    evict_both();
    let Some(mut first) = app(own.path(), 1) else { return };
    first.begin();
    // The daemon watches from the round on that counts the launch.
    launches_when(&daemon, |of| of.launches == 1);
    first.go();
    let learned = launches_when(&daemon, |of| of.learned == 1);
    let bytes = ((TOUCHED.len() + if watches { READ_PAGES } else { 0 }) * PAGE) as u64;
    assert!(learned.files >= 2 && learned.planned_bytes >= bytes, "{learned:?}");
    drop(first);

    evict_both();
    // The second one waits for ever: all that the device reads is read ahead.
    let Some(second) = app(own.path(), 2) else { return };
    second.begin();
    let status = daemon.status_when(|status| status.actions.iter().any(|state| asked_bytes(state) > 0));
    assert_eq!(status.actions.iter().map(asked_bytes).sum::<u64>(), learned.planned_bytes);
    let begun = Instant::now();
    while resident(own.path()) < bytes {
        assert!(begun.elapsed() < PATIENCE, "{} bytes are in memory", resident(own.path()));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(resident(own.path()) < (MAPPED_PAGES * PAGE) as u64, "no more than was used, and what lies between");
    drop(second);

    // What is forgotten is not read ahead.
    let known: bool = daemon.client().call("Forget", &[("app", ID.into())], "known").expect("it answers");
    assert!(known);
    let all: Launches = daemon.client().call("GetLaunches", &[("app", ID.into())], "launches").expect("it answers");
    assert!(all.active && all.apps.is_empty(), "{all:?}");
}
