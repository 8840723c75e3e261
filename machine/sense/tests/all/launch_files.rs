//! What a real process has mapped of files: this test's program, started to map a file and wait.

#![allow(clippy::print_stdout, reason = "a test reports to its output")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use brisk_core::launch::LaunchFiles;
use brisk_core::pages::PageRange;
use brisk_requires::Capability;
use brisk_sense::{Error, Opened, OpenedFiles, Sense, TAKEN_MAX};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};

const PAGE: usize = 4096;
const PAGES: usize = 256;
const FILE: &str = "BRISK_SENSE_TEST_MAPS";

/// Held while opens are watched: the kernel's list has those of all processes, and a bound.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
#[ignore = "is run by the other tests"]
fn child_that_maps_a_file() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let file = File::open(path).expect("a file");
    // Nothing is in memory, and nothing is read around what is asked for.
    file.sync_all().expect("written");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("advised");
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address that the kernel chooses overlaps nothing; it is never unmapped.
    let begin = unsafe { mmap(std::ptr::null_mut(), PAGES * PAGE, rights, MapFlags::PRIVATE, file.as_fd(), 0) };
    let begin = begin.expect("mapped");
    // SAFETY: the advice changes read-ahead alone, of the mapping above.
    unsafe { madvise(begin, PAGES * PAGE, Advice::Random) }.expect("advised");
    let at = |page: usize| (begin as usize + page * PAGE) as *mut u8;
    for page in [3, 100, 101] {
        // SAFETY: the byte is in the mapping, which nothing else refers to.
        assert_eq!(unsafe { at(page).read_volatile() }, 7);
    }
    // SAFETY: as above; the page becomes a private copy.
    unsafe { at(200).write_volatile(8) };
    println!("mapped");
    std::io::stdout().flush().expect("told");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("told to end");
}

struct Mapper {
    child: Child,
    dir: tempfile::TempDir,
    /// A machine with the processes of this one, and without /sys: whatever its disk is, it neither rotates nor is
    /// removable.
    root: tempfile::TempDir,
}

impl Mapper {
    /// A process that has mapped the file "data" of a directory below `parent`.
    fn start(parent: &Path) -> Self {
        let dir = tempfile::tempdir_in(parent).expect("a directory");
        fs::write(dir.path().join("data"), vec![7; PAGES * PAGE]).expect("written");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--ignored", "--exact", "launch_files::child_that_maps_a_file", "--nocapture"]);
        command.env(FILE, dir.path().join("data")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let mut told = BufReader::new(child.stdout.take().expect("a pipe"));
        brisk_requires::line_with(&mut told, "mapped", |line| line.contains("mapped"));
        let root = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/proc", root.path().join("proc")).expect("linked");
        Self { child, dir, root }
    }

    fn files(&self, is_private: &dyn Fn(&str) -> bool) -> LaunchFiles {
        self.files_and(None, is_private)
    }

    fn files_and(&self, opened: Option<&BTreeSet<PathBuf>>, is_private: &dyn Fn(&str) -> bool) -> LaunchFiles {
        let sense = Sense::new(self.root.path());
        loop {
            match sense.launch_files(&[self.child.id()], opened, is_private) {
                // Those of the other tests of this program: this file system is written by all of them.
                Err(Error::StillClosing) => std::thread::yield_now(),
                found => return found.expect("readable"),
            }
        }
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory on a local block device; `None` where there is none, as in some containers.
fn parent() -> Option<std::path::PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mapper = Mapper::start(place);
    let found = !mapper.files(&|_| false).files.is_empty();
    if !found {
        println!("skipped: {} is on no local block device", place.display());
    }
    found.then(|| place.to_owned())
}

#[test]
fn mapped_pages_are_used_and_others_are_not() {
    let Some(parent) = parent() else { return };
    let mapper = Mapper::start(&parent);
    let found = mapper.files(&|_| false);
    let path = mapper.dir.path().join("data");
    let of_file = found.files.iter().find(|file| Path::new(&file.file.path) == path).expect("mapped");
    let meta = fs::metadata(&path).expect("there");
    assert_eq!((of_file.file.device, of_file.file.inode), (meta.dev(), meta.ino()));
    assert_eq!(of_file.version.size_bytes, meta.len());
    assert_eq!(of_file.version.changed_ns, meta.ctime() * 1_000_000_000 + meta.ctime_nsec());
    let has = |page: u64| of_file.used.iter().any(|range| (range.first_page..range.end_page()).contains(&page));
    assert!([3, 100, 101, 200].into_iter().all(has), "{:?}", of_file.used);
    // Fault-around maps what is in memory alone; a file system may keep larger pieces than pages there.
    assert!(!has(50) && !has(150) && !has(250), "{:?}", of_file.used);
    let placed: u64 = of_file.placed.iter().map(|one| one.range.pages).sum();
    assert!(placed == 0 || placed == PAGES as u64, "{:?}", of_file.placed);
    assert_eq!(found.page_bytes, PAGE as u64);
    assert!(of_file.used.windows(2).all(|two: &[PageRange]| two[0].end_page() < two[1].first_page));
}

#[test]
fn private_and_deleted_files_are_left_out() {
    let Some(parent) = parent() else { return };
    let mapper = Mapper::start(&parent);
    let is_data = |found: &LaunchFiles| found.files.iter().any(|file| file.file.path.ends_with("/data"));
    assert!(is_data(&mapper.files(&|_| false)));
    let own = mapper.dir.path().to_str().expect("UTF-8").to_owned();
    assert!(!is_data(&mapper.files(&|path| path.starts_with(&own))));
    let path = mapper.dir.path().join("data");
    fs::rename(&path, mapper.dir.path().join("old")).expect("renamed");
    fs::write(&path, "new").expect("written");
    assert!(!is_data(&mapper.files(&|_| false)), "another file has its path");
    fs::remove_file(&path).expect("removed");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).expect("made");
    // Without a writer, opening the pipe to read would block.
    assert!(!is_data(&mapper.files(&|_| false)));
}

/// All that is in the list of opens by now, in parts.
fn taken(watch: &OpenedFiles, is_wanted: impl Fn(u32) -> bool) -> Vec<Opened> {
    let mut parts = Vec::new();
    loop {
        let opened = watch.take(&is_wanted).expect("the list");
        let has_more = opened.has_more;
        parts.push(opened);
        if !has_more {
            return parts;
        }
    }
}

#[test]
fn a_file_that_was_only_read_is_used_where_it_was_watched() {
    let _turn = turn();
    let Some(parent) = parent() else { return };
    let watch = match OpenedFiles::watch(&Sense::default()) {
        Ok(watch) => watch,
        Err(error) => return brisk_requires::skip(Capability::Fanotify, error),
    };
    let mapper = Mapper::start(&parent);
    let path = mapper.dir.path().join("read");
    fs::write(&path, vec![7; 3 * PAGE]).expect("written");
    let mut reader = Command::new("cat").arg(&path).stdout(Stdio::null()).spawn().expect("cat");
    assert!(reader.wait().expect("it ends").success());
    let pid = reader.id();
    let all = || taken(&watch, |of| of == pid).into_iter().flat_map(|part| part.files).map(|(_, path)| path);
    let opened: BTreeSet<PathBuf> = all().collect();
    assert!(opened.contains(&path), "{opened:?}");
    assert_eq!(all().count(), 0, "each is told once");
    let with = mapper.files_and(Some(&opened), &|_| false);
    let of = |found: &LaunchFiles, name: &str| found.files.iter().find(|one| one.file.path.ends_with(name)).cloned();
    let read = of(&with, "/read").expect("it was opened");
    let meta = fs::metadata(&path).expect("there");
    assert!(with.opens && read.opened && (read.file.device, read.file.inode) == (meta.dev(), meta.ino()));
    assert_eq!(read.used, [PageRange { first_page: 0, pages: 3 }]);
    assert!(of(&with, "/data").is_some_and(|data| !data.opened), "what is mapped is told by page tables");
    let without = mapper.files(&|_| false);
    assert!(!without.opens && of(&without, "/read").is_none());
    let own = mapper.dir.path().to_str().expect("UTF-8").to_owned();
    assert!(of(&mapper.files_and(Some(&opened), &|path| path.starts_with(&own)), "/read").is_none(), "private");
}

#[test]
fn a_flood_of_opens_is_taken_in_parts_and_says_its_losses() {
    let _turn = turn();
    let Some(parent) = parent() else { return };
    let watch = match OpenedFiles::watch(&Sense::default()) {
        Ok(watch) => watch,
        Err(error) => return brisk_requires::skip(Capability::Fanotify, error),
    };
    let limit = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").ok();
    let limit: usize = limit.map_or(16_384, |text| text.trim().parse().expect("a number"));
    let dir = tempfile::tempdir_in(&parent).expect("a directory");
    // A file for each event, as the kernel joins those of one file.
    let paths: Vec<PathBuf> = (0..limit.min(50_000) + 100).map(|at| dir.path().join(at.to_string())).collect();
    paths.iter().for_each(|path| drop(File::create(path).expect("made")));
    // This process's own opens are left out, but not in the kernel's list.
    let all = || taken(&watch, |_| true);
    let parts = all();
    assert!(parts.len() > limit.min(50_000) / (TAKEN_MAX + 500), "{}", parts.len());
    assert_eq!(parts.iter().any(|part| part.has_lost), limit <= 50_000, "of {limit}");
    paths.iter().take(10).for_each(|path| drop(File::open(path).expect("there")));
    let parts = all();
    assert!(!parts.iter().any(|part| part.has_lost), "the next ones are all there");
}
