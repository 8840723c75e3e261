//! Reading what a launch is expected to use into the page cache, ahead of it: ranges of many files, in a given order,
//! by a few threads.
//!
//! The threads take ranges one after the other, open a file when its first range comes, and have the kernel read
//! (posix_fadvise(2), POSIX_FADV_WILLNEED, which returns once the requests are issued). Opening reads directories and
//! inodes, which the app needs too. They have an I/O class of their own.
//!
//! A file is read only when it is the one that was learned: a regular file of the same device, inode, time of change
//! and size, on a local block device (`held_file.rs`). Its path is
//! from the root directory of the app; where the app has a root directory of its own it enters it after it joined its
//! group, so that it is looked for again for 20 ms.
//!
//! It ends between two ranges when it is cancelled, and at the first I/O error: of a directory, an inode or a request
//! that the kernel refuses. (The kernel reports no error of reads that are under way; the app will meet it.)
//!
//! The kernel charges the pages to the memory group of brisk, not to the app's, as in `read_ahead.rs`.
//!
//! Properties: `what_was_learned_is_read_and_nothing_else`; `a_file_that_changed_is_not_read`;
//! `no_pipe_device_or_link_is_opened`; `ten_thousand_ranges_are_read_by_several_threads`;
//! `it_ends_when_it_is_cancelled`.

use std::fs::{self, File};
use std::num::NonZeroU64;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use brisk_core::launch::{FileVersion, Piece, PrefetchFile};
use brisk_core::outcome::Outcome;
use brisk_formats::is_on_block_device;
use rustix::fs::{Advice, fadvise, fstatfs};
use rustix::io::Errno;

use super::group::Group;
use super::held_file;
use crate::ioprio::{self, IoPriority};
use crate::{Error, worker::CHUNK_BYTES};

const STREAMS_MAX: u8 = 16;
/// A thread needs little.
const STACK_BYTES: usize = 128 << 10;
/// How often, and at which interval, the root directory of an app is looked for that does not have the files yet.
const ROOT_TRIES: u32 = 20;
const ROOT_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy)]
pub(super) struct Requested<'a> {
    pub(super) files: &'a [PrefetchFile],
    pub(super) pieces: &'a [Piece],
    pub(super) streams: u8,
    pub(super) priority: &'a str,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It is not there, or another one.
    Changed,
    /// The device does not answer as it should, or there are no more descriptors.
    Failed,
}

struct Shared<'a> {
    requested: Requested<'a>,
    root: OwnedFd,
    files: Vec<OnceLock<Result<File, Unfit>>>,
    next: AtomicUsize,
    asked: AtomicUsize,
    changed: AtomicU32,
    read_bytes: AtomicU64,
    has_failed: AtomicBool,
}

/// Reads all pieces, in their order, until `is_cancelled`.
///
/// # Errors
/// When the priority is none, or no thread can be made.
pub(super) fn prefetch(
    group: &Group<'_>,
    requested: Requested<'_>,
    is_cancelled: impl Fn() -> bool + Sync,
) -> Result<Outcome, Error> {
    let Some(root) = root(group, requested.files) else {
        let changed_files = u32::try_from(requested.files.len()).unwrap_or(u32::MAX);
        return Ok(Outcome::Prefetched { read_bytes: 0, changed_files, complete: false });
    };
    read(root, requested, is_cancelled)
}

fn read(root: OwnedFd, requested: Requested<'_>, is_cancelled: impl Fn() -> bool + Sync) -> Result<Outcome, Error> {
    let priority: IoPriority = requested.priority.parse()?;
    let shared = Shared {
        requested,
        root,
        files: requested.files.iter().map(|_| OnceLock::new()).collect(),
        next: AtomicUsize::new(0),
        asked: AtomicUsize::new(0),
        changed: AtomicU32::new(0),
        read_bytes: AtomicU64::new(0),
        has_failed: AtomicBool::new(false),
    };
    let streams = usize::from(requested.streams.clamp(1, STREAMS_MAX)).min(requested.pieces.len().max(1));
    std::thread::scope(|scope| {
        for nth in 0..streams {
            let thread = std::thread::Builder::new().name("brisk-prefetch".to_owned()).stack_size(STACK_BYTES);
            let serve = || stream(&shared, priority, &is_cancelled);
            let started = thread.spawn_scoped(scope, serve).map_err(|source| Error::Worker { source });
            // Fewer threads do it more slowly.
            started.map(drop).or_else(|error| if nth > 0 { Ok(()) } else { Err(error) })?;
        }
        Ok::<(), Error>(())
    })?;
    Ok(Outcome::Prefetched {
        read_bytes: shared.read_bytes.load(Ordering::SeqCst),
        changed_files: shared.changed.load(Ordering::SeqCst),
        complete: shared.asked.load(Ordering::SeqCst) == requested.pieces.len(),
    })
}

fn stream(shared: &Shared<'_>, priority: IoPriority, is_cancelled: &(dyn Fn() -> bool + Sync)) {
    let thread = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0);
    // Without it the class of brisk has to do.
    let _ = ioprio::set(thread, Some(priority));
    let before = read_bytes();
    let mut asked_bytes = 0;
    while !shared.has_failed.load(Ordering::SeqCst) && !is_cancelled() {
        let Some(piece) = shared.requested.pieces.get(shared.next.fetch_add(1, Ordering::SeqCst)) else { break };
        match ask(shared, piece) {
            Ok(bytes) => asked_bytes += bytes,
            Err(Unfit::Changed) => {}
            Err(Unfit::Failed) => {
                shared.has_failed.store(true, Ordering::SeqCst);
                break;
            }
        }
        shared.asked.fetch_add(1, Ordering::SeqCst);
    }
    // Where the kernel does not count them, all may have been read.
    let read_bytes = before.zip(read_bytes()).map_or(asked_bytes, |(before, now)| now.saturating_sub(before));
    shared.read_bytes.fetch_add(read_bytes, Ordering::SeqCst);
}

/// Has one piece read; gives its length.
fn ask(shared: &Shared<'_>, piece: &Piece) -> Result<u64, Unfit> {
    let place = piece.file as usize;
    let (Some(requested), Some(slot)) = (shared.requested.files.get(place), shared.files.get(place)) else {
        return Err(Unfit::Changed);
    };
    let opened = slot.get_or_init(|| {
        let opened = open(&shared.root, requested);
        shared.changed.fetch_add(u32::from(matches!(opened, Err(Unfit::Changed))), Ordering::SeqCst);
        opened
    });
    let file = opened.as_ref().map_err(|unfit| *unfit)?;
    // Nothing is read behind the end of the file.
    let end = piece.offset_bytes.saturating_add(piece.size_bytes).min(requested.version.size_bytes);
    let mut begin = piece.offset_bytes;
    while let Some(length) = end.checked_sub(begin).and_then(NonZeroU64::new) {
        let length = length.min(NonZeroU64::new(CHUNK_BYTES).unwrap_or(NonZeroU64::MIN));
        match fadvise(file.as_fd(), begin, Some(length), Advice::WillNeed) {
            // A file system without read-ahead takes none; the app reads by itself then.
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP) => {}
            Err(_) => return Err(Unfit::Failed),
        }
        begin = begin.saturating_add(length.get());
    }
    Ok(end.saturating_sub(piece.offset_bytes))
}

/// The root directory in which the first file that is anywhere is: of one of the app's processes, or this one's.
fn root(group: &Group<'_>, files: &[PrefetchFile]) -> Option<OwnedFd> {
    for attempt in 0..ROOT_TRIES {
        if attempt > 0 {
            std::thread::sleep(ROOT_INTERVAL);
        }
        let of_app = group.pids().into_iter().map(|pid| group.paths.proc.join(pid.to_string()).join("root"));
        let roots = of_app.chain([Path::new("/").to_owned()]).filter_map(|path| held_file::root(&path));
        let has_one = |root: &OwnedFd| files.iter().take(3).any(|requested| open(root, requested).is_ok());
        if let Some(root) = roots.into_iter().find(has_one) {
            return Some(root);
        }
    }
    None
}

/// The file, if it is the one that was learned.
pub(super) fn open(root: &OwnedFd, requested: &PrefetchFile) -> Result<File, Unfit> {
    let unfit = |errno: Errno| match errno {
        Errno::IO | Errno::NODEV | Errno::MFILE | Errno::NFILE | Errno::NOMEM => Unfit::Failed,
        _ => Unfit::Changed,
    };
    let held = held_file::find(root, &requested.file.path).map_err(unfit)?;
    let found = held.metadata().map_err(|_| Unfit::Failed)?;
    if !is_that(&found, requested) || !fstatfs(&held).is_ok_and(|fs| is_on_block_device(fs.f_type as u64)) {
        return Err(Unfit::Changed);
    }
    held_file::open(&held).map_err(unfit)
}

fn is_that(found: &fs::Metadata, requested: &PrefetchFile) -> bool {
    let changed_ns = found.ctime().saturating_mul(1_000_000_000).saturating_add(found.ctime_nsec());
    let version = FileVersion { changed_ns, size_bytes: found.len() };
    found.is_file()
        && found.dev() == requested.file.device
        && found.ino() == requested.file.inode
        && version == requested.version
}

/// What this thread has had the device read so far; `None` where the kernel does not count it.
pub(super) fn read_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
}

#[cfg(test)]
pub(super) mod tests {
    use brisk_core::pages::MappedFile;
    use brisk_requires::Capability;

    use super::*;

    const MIB: usize = 1 << 20;

    /// A directory on a local block device, which stands for the root of an app; `None` where there is none.
    pub(in crate::once) fn root_dir() -> Option<tempfile::TempDir> {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a directory");
        let fs = rustix::fs::statfs(dir.path()).expect("mounted");
        if !is_on_block_device(fs.f_type as u64) {
            brisk_requires::skip(Capability::Disk, "the source tree is on no local block device");
            return None;
        }
        Some(dir)
    }

    pub(in crate::once) fn of(dir: &Path, name: &str) -> PrefetchFile {
        let found = fs::metadata(dir.join(name)).expect("there");
        let changed_ns = found.ctime() * 1_000_000_000 + found.ctime_nsec();
        PrefetchFile {
            file: MappedFile { device: found.dev(), inode: found.ino(), path: format!("/{name}") },
            version: FileVersion { changed_ns, size_bytes: found.len() },
        }
    }

    /// A file that is not in memory.
    pub(in crate::once) fn evicted(dir: &Path, name: &str, bytes: usize) -> File {
        fs::write(dir.join(name), vec![7; bytes]).expect("written");
        let file = File::open(dir.join(name)).expect("a file");
        file.sync_all().expect("on disk");
        fadvise(&file, 0, None, Advice::DontNeed).expect("evicted");
        file
    }

    /// Which of its pages are in memory.
    pub(in crate::once) fn resident(file: &File) -> Vec<bool> {
        let length = file.metadata().expect("its size").len() as usize;
        let flags = rustix::mm::MapFlags::SHARED;
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing; it is never accessed, and
        // unmapped below.
        let begin = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, rustix::mm::ProtFlags::READ, flags, file.as_fd(), 0)
        };
        let begin = begin.expect("mapped");
        let mut pages = vec![0_u8; length.div_ceil(4096)];
        // SAFETY: the vector has a byte for each page of the mapping.
        assert_eq!(unsafe { libc::mincore(begin, length, pages.as_mut_ptr()) }, 0);
        // SAFETY: nothing refers to the mapping.
        unsafe { rustix::mm::munmap(begin, length) }.expect("unmapped");
        pages.into_iter().map(|page| page & 1 == 1).collect()
    }

    /// Waits for what was asked for, by reading it.
    fn settle(file: &File, offset_bytes: u64, bytes: usize) {
        use std::os::unix::fs::FileExt as _;
        file.read_exact_at(&mut vec![0; bytes], offset_bytes).expect("readable");
    }

    fn run(dir: &Path, files: &[PrefetchFile], pieces: &[Piece], streams: u8) -> Outcome {
        let requested = Requested { files, pieces, streams, priority: "best-effort 5" };
        read(held_file::root(dir).expect("a directory"), requested, || false).expect("threads")
    }

    pub(in crate::once) fn piece(file: u32, offset_bytes: u64, size_bytes: u64) -> Piece {
        Piece { file, offset_bytes, size_bytes }
    }

    #[test]
    fn what_was_learned_is_read_and_nothing_else() {
        let Some(dir) = root_dir() else { return };
        let (a, b) = (evicted(dir.path(), "a", 4 * MIB), evicted(dir.path(), "b", MIB));
        let files = [of(dir.path(), "a"), of(dir.path(), "b")];
        let pieces = [piece(0, 1 << 20, 128 << 10), piece(1, 0, 1 << 40)];
        let outcome = run(dir.path(), &files, &pieces, 2);
        let read_bytes = (128 << 10) + (1 << 20);
        assert_eq!(outcome, Outcome::Prefetched { read_bytes, changed_files: 0, complete: true });
        settle(&a, 1 << 20, 128 << 10);
        settle(&b, 0, MIB);
        let of_a = resident(&a);
        assert!(
            of_a[256..288].iter().all(|page| *page) && of_a[..200].iter().all(|page| !page),
            "what is asked for, no more"
        );
        assert!(resident(&b).iter().all(|page| *page));
        let again = run(dir.path(), &files, &pieces, 2);
        assert_eq!(again, Outcome::Prefetched { read_bytes: 0, changed_files: 0, complete: true });
    }

    #[test]
    fn a_file_that_changed_is_not_read() {
        let Some(dir) = root_dir() else { return };
        for change in ["written", "replaced", "removed"] {
            evicted(dir.path(), "a", 4096);
            let files = [of(dir.path(), "a")];
            match change {
                "written" => fs::write(dir.path().join("a"), vec![1; 8192]),
                "replaced" => fs::write(dir.path().join("new"), vec![7; 4096])
                    .and_then(|()| fs::rename(dir.path().join("new"), dir.path().join("a"))),
                _ => fs::remove_file(dir.path().join("a")),
            }
            .expect(change);
            let outcome = run(dir.path(), &files, &[piece(0, 0, 4096)], 1);
            assert_eq!(outcome, Outcome::Prefetched { read_bytes: 0, changed_files: 1, complete: true }, "{change}");
        }
    }

    #[test]
    fn no_pipe_device_or_link_is_opened() {
        let Some(dir) = root_dir() else { return };
        evicted(dir.path(), "file", 4096);
        std::os::unix::fs::symlink("file", dir.path().join("link")).expect("linked");
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("made");
        fs::create_dir(dir.path().join("dir")).expect("made");
        for name in ["link", "pipe", "dir"] {
            // Of the link: the file that it leads to is the one that was learned.
            let requested = of(dir.path(), name);
            assert_eq!(
                open(&held_file::root(dir.path()).expect("there"), &requested).err(),
                Some(Unfit::Changed),
                "{name}"
            );
        }
        let null = fs::metadata("/dev/null").expect("there");
        let device = PrefetchFile {
            file: MappedFile { device: null.dev(), inode: null.ino(), path: "/dev/null".to_owned() },
            version: FileVersion { changed_ns: null.ctime() * 1_000_000_000 + null.ctime_nsec(), size_bytes: 0 },
        };
        assert_eq!(open(&held_file::root(Path::new("/")).expect("there"), &device).err(), Some(Unfit::Changed));
        let escape = PrefetchFile { file: MappedFile { path: String::new(), ..device.file.clone() }, ..device };
        assert_eq!(open(&held_file::root(Path::new("/")).expect("there"), &escape).err(), Some(Unfit::Changed));
    }

    #[test]
    fn ten_thousand_ranges_are_read_by_several_threads() {
        let Some(dir) = root_dir() else { return };
        let file = evicted(dir.path(), "a", 10_000 * 4096);
        let pieces: Vec<Piece> = (0..10_000).map(|page| piece(0, page * 4096, 4096)).collect();
        let outcome = run(dir.path(), &[of(dir.path(), "a")], &pieces, 4);
        assert_eq!(outcome, Outcome::Prefetched { read_bytes: 10_000 * 4096, changed_files: 0, complete: true });
        settle(&file, 0, 10_000 * 4096);
        // A piece of a file that is not in the list, and one behind its end.
        let none = run(dir.path(), &[of(dir.path(), "a")], &[piece(7, 0, 1), piece(0, u64::MAX, u64::MAX)], 4);
        assert_eq!(none, Outcome::Prefetched { read_bytes: 0, changed_files: 0, complete: true });
    }

    #[test]
    fn it_ends_when_it_is_cancelled() {
        let Some(dir) = root_dir() else { return };
        evicted(dir.path(), "a", MIB);
        let files = [of(dir.path(), "a")];
        let pieces: Vec<Piece> = (0..256).map(|page| piece(0, page * 4096, 4096)).collect();
        let requested = Requested { files: &files, pieces: &pieces, streams: 1, priority: "idle" };
        let looks = AtomicUsize::new(0);
        let root = held_file::root(dir.path()).expect("there");
        let outcome = read(root, requested, || looks.fetch_add(1, Ordering::SeqCst) >= 3).expect("threads");
        assert_eq!(outcome, Outcome::Prefetched { read_bytes: 3 * 4096, changed_files: 0, complete: false });
        let bad = Requested { priority: "urgent", ..requested };
        assert!(read(held_file::root(dir.path()).expect("there"), bad, || false).is_err());
    }
}
