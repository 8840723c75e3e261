//! Reading the launch set of an app that does not run, before anyone asks for it.
//!
//! One thread reads the ranges in their order, in requests of 128 KiB, and waits for each, so that whatever a person
//! does meanwhile waits for one request at most. Files are found and examined as for a launch (`prefetch.rs`): opening
//! them has their directories and inodes read, and each directory that has one of them is listed, since a launch also
//! looks for names that are not there. Pages are asked for (posix_fadvise(2), POSIX_FADV_WILLNEED) and not touched, but
//! for the last of each request, which is how the end of the request is seen: where memory gets short they are the
//! first that the kernel drops.
//!
//! The priority is best-effort 7 and not idle: the kernel may leave an idle request for seconds while others write, and
//! a launch that needs the same page would wait as long.
//!
//! It ends between two requests when it is cancelled, when the device has read as much as is allowed, and at the first
//! error. A file that was changed since it was learned is passed over and counted.
//!
//! Properties: `a_set_is_in_memory_afterwards_and_nothing_else`; `it_ends_within_one_request`;
//! `no_more_is_read_than_is_allowed`; `a_file_that_changed_is_passed_over`.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use brisk_core::launch::{Piece, PrefetchFile};
use brisk_core::outcome::Outcome;
use rustix::fs::{Advice, Mode, OFlags, RawDir, fadvise, openat};

use super::held_file;
use super::prefetch::{self, Unfit};
use crate::Error;
use crate::ioprio::{self, IoPriority};

const PRIORITY: IoPriority = IoPriority::BestEffort(7);
/// What one request has the device read.
const REQUEST_BYTES: u64 = 128 << 10;
/// Files that are held open at a time: ranges of one file mostly follow each other.
const OPEN_MAX: usize = 16;
/// Directories that are listed for one app, and the size of one at most.
const DIRS_MAX: usize = 128;
const DIR_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) struct Requested<'a> {
    pub(super) files: &'a [PrefetchFile],
    pub(super) pieces: &'a [Piece],
    pub(super) most_bytes: u64,
}

/// Reads all pieces, in their order, until `is_cancelled`.
///
/// # Errors
/// When the root directory cannot be opened.
pub(super) fn make_ready(requested: Requested<'_>, is_cancelled: impl Fn() -> bool) -> Result<Outcome, Error> {
    let root = held_file::root("/".as_ref()).ok_or(Error::NoRoot)?;
    let thread = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0);
    // Without it the class of brisk has to do.
    let _ = ioprio::set(thread, Some(PRIORITY));
    Ok(Reader::new(root, requested, &is_cancelled).read())
}

struct Reader<'a> {
    root: OwnedFd,
    requested: Requested<'a>,
    is_cancelled: &'a dyn Fn() -> bool,
    /// By place in the list of files; those opened last at the end.
    open: VecDeque<(u32, File)>,
    changed: BTreeSet<u32>,
    listed: BTreeSet<&'a str>,
    /// What this thread had read when it began.
    before_bytes: Option<u64>,
    asked_bytes: u64,
}

impl<'a> Reader<'a> {
    fn new(root: OwnedFd, requested: Requested<'a>, is_cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            root,
            requested,
            is_cancelled,
            open: VecDeque::new(),
            changed: BTreeSet::new(),
            listed: BTreeSet::new(),
            before_bytes: prefetch::read_bytes(),
            asked_bytes: 0,
        }
    }

    fn read(mut self) -> Outcome {
        let complete = self.requested.pieces.iter().all(|piece| self.read_piece(piece).is_some());
        let changed_files = u32::try_from(self.changed.len()).unwrap_or(u32::MAX);
        Outcome::Prefetched { read_bytes: self.read_bytes(), changed_files, complete }
    }

    /// `None` where all ends: cancelled, as much as is allowed, or an error.
    fn read_piece(&mut self, piece: &Piece) -> Option<()> {
        let Some(file) = self.requested.files.get(piece.file as usize) else { return Some(()) };
        if self.has_to_end() {
            return None;
        }
        if self.changed.contains(&piece.file) {
            return Some(());
        }
        match self.opened(piece.file, file) {
            Ok(()) => {}
            Err(Unfit::Changed) => {
                self.changed.insert(piece.file);
                return Some(());
            }
            Err(Unfit::Failed) => return None,
        }
        let (_, opened) = self.open.back()?;
        // Nothing is read behind the end of the file.
        let end = piece.offset_bytes.saturating_add(piece.size_bytes).min(file.version.size_bytes);
        let mut begin = piece.offset_bytes;
        while let Some(length) = end.checked_sub(begin).and_then(NonZeroU64::new) {
            if self.has_to_end() {
                return None;
            }
            let length = length.min(NonZeroU64::new(REQUEST_BYTES).unwrap_or(NonZeroU64::MIN));
            // A file system without read-ahead takes none; the last page is read all the same.
            let _ = fadvise(opened.as_fd(), begin, Some(length), Advice::WillNeed);
            begin = begin.saturating_add(length.get());
            opened.read_at(&mut [0], begin - 1).ok()?;
            self.asked_bytes = self.asked_bytes.saturating_add(length.get());
        }
        Some(())
    }

    /// Has this file open, as the last one.
    fn opened(&mut self, place: u32, file: &'a PrefetchFile) -> Result<(), Unfit> {
        if let Some(at) = self.open.iter().position(|(open, _)| *open == place) {
            let found = self.open.remove(at);
            self.open.extend(found);
            return Ok(());
        }
        let opened = prefetch::open(&self.root, file)?;
        // The kernel reads nothing by itself around the page by which a request is awaited.
        let _ = fadvise(opened.as_fd(), 0, None, Advice::Random);
        self.open.push_back((place, opened));
        if self.open.len() > OPEN_MAX {
            self.open.pop_front();
        }
        self.list_dir_of(file);
        Ok(())
    }

    /// Has the directory of a file read; one that cannot be is left.
    fn list_dir_of(&mut self, file: &'a PrefetchFile) {
        let Some((dir, _)) = file.file.path.rsplit_once('/') else { return };
        let dir = dir.trim_start_matches('/');
        if dir.is_empty() || self.listed.len() >= DIRS_MAX || !self.listed.insert(dir) {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NOATIME | OFlags::CLOEXEC;
        let Ok(opened) = openat(&self.root, dir, flags, Mode::empty()).map(File::from) else { return };
        let is_fit = |found: std::fs::Metadata| found.dev() == file.file.device && found.len() <= DIR_BYTES_MAX;
        if !opened.metadata().is_ok_and(is_fit) {
            return;
        }
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut entries = RawDir::new(&opened, &mut buffer);
        while !(self.is_cancelled)() && entries.next().is_some_and(|entry| entry.is_ok()) {}
    }

    fn has_to_end(&self) -> bool {
        (self.is_cancelled)() || self.read_bytes() >= self.requested.most_bytes
    }

    /// What the device has read for it. Where the kernel does not count that, all may have been read.
    fn read_bytes(&self) -> u64 {
        let counted = self.before_bytes.zip(prefetch::read_bytes());
        counted.map_or(self.asked_bytes, |(before, now)| now.saturating_sub(before))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;

    use super::super::prefetch::tests::{evicted, of, piece, resident, root_dir};
    use super::*;

    const MIB: usize = 1 << 20;

    fn run(dir: &Path, files: &[PrefetchFile], pieces: &[Piece], most_bytes: u64, requests: usize) -> Outcome {
        let root = held_file::root(dir).expect("a directory");
        let left = Cell::new(requests);
        let is_cancelled = || {
            let is_over = left.get() == 0;
            left.set(left.get().saturating_sub(1));
            is_over
        };
        Reader::new(root, Requested { files, pieces, most_bytes }, &is_cancelled).read()
    }

    fn resident_kib(file: &File) -> usize {
        resident(file).into_iter().filter(|page| *page).count() * 4
    }

    #[test]
    fn a_set_is_in_memory_afterwards_and_nothing_else() {
        let Some(dir) = root_dir() else { return };
        fs::create_dir(dir.path().join("lib")).expect("a directory");
        let (a, b) = (evicted(dir.path(), "a", 4 * MIB), evicted(dir.path(), "lib/b", MIB));
        let files = [of(dir.path(), "a"), of(dir.path(), "lib/b")];
        let pieces = [piece(0, 1 << 20, 300 << 10), piece(1, 0, 1 << 40), piece(0, 0, 4096)];
        let outcome = run(dir.path(), &files, &pieces, u64::MAX, usize::MAX);
        let read_bytes = match outcome {
            Outcome::Prefetched { read_bytes, changed_files: 0, complete: true } => read_bytes,
            other => panic!("{other:?}"),
        };
        assert!(read_bytes >= (304 << 10) + (1 << 20), "{read_bytes}");
        let of_a = resident(&a);
        assert!(of_a[256..331].iter().all(|page| *page) && of_a[0], "all that is asked for");
        assert_eq!(resident_kib(&a), 304, "no more");
        assert_eq!(resident_kib(&b), 1024);
        let again = run(dir.path(), &files, &pieces, u64::MAX, usize::MAX);
        assert_eq!(again, Outcome::Prefetched { read_bytes: 0, changed_files: 0, complete: true });
    }

    #[test]
    fn it_ends_within_one_request() {
        let Some(dir) = root_dir() else { return };
        let a = evicted(dir.path(), "a", 4 * MIB);
        let files = [of(dir.path(), "a")];
        // Asked before the file is opened and before each request.
        let outcome = run(dir.path(), &files, &[piece(0, 0, 4 << 20)], u64::MAX, 3);
        assert!(matches!(outcome, Outcome::Prefetched { complete: false, .. }), "{outcome:?}");
        assert!(resident_kib(&a) <= 2 * 128, "{} KiB", resident_kib(&a));
        let none = run(dir.path(), &files, &[piece(0, 2 << 20, 4096)], u64::MAX, 0);
        assert_eq!(none, Outcome::Prefetched { read_bytes: 0, changed_files: 0, complete: false });
    }

    #[test]
    fn no_more_is_read_than_is_allowed() {
        let Some(dir) = root_dir() else { return };
        evicted(dir.path(), "a", 4 * MIB);
        let files = [of(dir.path(), "a")];
        let outcome = run(dir.path(), &files, &[piece(0, 0, 4 << 20)], 1 << 20, usize::MAX);
        let Outcome::Prefetched { read_bytes, complete: false, .. } = outcome else { panic!("{outcome:?}") };
        assert!((1 << 20..(1 << 20) + (256 << 10)).contains(&read_bytes), "{read_bytes}");
    }

    #[test]
    fn a_file_that_changed_is_passed_over() {
        let Some(dir) = root_dir() else { return };
        evicted(dir.path(), "a", 8192);
        let b = evicted(dir.path(), "b", 8192);
        let files = [of(dir.path(), "a"), of(dir.path(), "b")];
        fs::write(dir.path().join("a"), [1; 4096]).expect("written");
        let pieces = [piece(0, 0, 4096), piece(1, 0, 8192), piece(0, 4096, 4096), piece(7, 0, 4096)];
        let outcome = run(dir.path(), &files, &pieces, u64::MAX, usize::MAX);
        assert!(matches!(outcome, Outcome::Prefetched { changed_files: 1, complete: true, .. }), "{outcome:?}");
        assert_eq!(resident_kib(&b), 8);
        fs::remove_file(dir.path().join("b")).expect("removed");
        let outcome = run(dir.path(), &files, &pieces, u64::MAX, usize::MAX);
        assert!(matches!(outcome, Outcome::Prefetched { changed_files: 2, complete: true, .. }), "{outcome:?}");
    }
}
