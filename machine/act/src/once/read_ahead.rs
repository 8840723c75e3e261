//! Reading ranges of the files of an app into the page cache (posix_fadvise(2), POSIX_FADV_WILLNEED), before the app
//! touches them.
//!
//! A file is opened by its path in the mount namespace of one of the app's processes, and read only when it still is
//! the file that was mapped: same device, same inode (`held_file.rs`). One that was replaced, or that is not there, is
//! passed over.
//!
//! Ranges are asked for in pieces of 4 MiB. The kernel charges the pages to the memory group of the thread that asks,
//! brisk's, not to the app's, until it has dropped them once (no call takes another group): where brisk's group has a
//! limit, that much of the files is in memory at a time. Its service has none for that reason, but a limit of the
//! daemon's own memory (`LimitDATA`).
//!
//! Properties: `a_file_that_was_replaced_is_not_read`; `what_is_no_regular_file_is_not_opened_for_long`;
//! `no_link_is_followed`.

use std::fs::{self, File};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use brisk_core::action::FileRanges;
use brisk_core::outcome::Outcome;
use brisk_core::pages::MappedFile;
use rustix::fs::{Advice, fadvise};

use super::group::Group;
use super::held_file;
use crate::worker::CHUNK_BYTES;

/// Asks for all ranges, in their order, until `is_cancelled`. Unchanged when none of the files is there.
pub(super) fn read_ahead(group: &Group<'_>, files: &[FileRanges], is_cancelled: impl Fn() -> bool) -> Outcome {
    let dirs = group.pids().into_iter().map(|pid| group.paths.proc.join(pid.to_string()).join("root"));
    let roots: Vec<OwnedFd> = dirs.filter_map(|dir| held_file::root(&dir)).collect();
    if roots.is_empty() {
        return Outcome::Gone;
    }
    let accepted = files.iter().filter(|requested| {
        let Some(file) = roots.iter().find_map(|root| open(root, &requested.file)) else { return false };
        // A file system without read-ahead takes none; the app reads by itself then.
        let ask = |offset_bytes: u64, size_bytes: u64| {
            let length = std::num::NonZeroU64::new(size_bytes);
            length.is_some() && !is_cancelled() && fadvise(file.as_fd(), offset_bytes, length, Advice::WillNeed).is_ok()
        };
        // Nothing is read behind the end of the file.
        let file_bytes = file.metadata().map_or(0, |found| found.len());
        let pieces = requested.ranges.iter().flat_map(|range| {
            let end = range.offset_bytes.saturating_add(range.size_bytes).min(file_bytes);
            let begins = (range.offset_bytes..end).step_by(CHUNK_BYTES as usize);
            begins.map(move |begin| (begin, (end - begin).min(CHUNK_BYTES)))
        });
        pieces.filter(|&(offset_bytes, size_bytes)| ask(offset_bytes, size_bytes)).count() > 0
    });
    if accepted.count() > 0 { Outcome::Done } else { Outcome::Unchanged }
}

/// The file, if it still is that one.
fn open(root: &OwnedFd, requested: &MappedFile) -> Option<File> {
    let is_that =
        |found: &fs::Metadata| found.is_file() && found.dev() == requested.device && found.ino() == requested.inode;
    let held = held_file::find(root, &requested.path).ok()?;
    held.metadata().ok().filter(is_that)?;
    held_file::open(&held).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_replaced_is_not_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = held_file::root(dir.path()).expect("a directory");
        let path = dir.path().join("lib.so");
        fs::write(&path, "old").expect("written");
        let found = fs::metadata(&path).expect("there");
        let requested = MappedFile { device: found.dev(), inode: found.ino(), path: "/lib.so".to_owned() };
        assert!(open(&root, &requested).is_some());
        fs::write(dir.path().join("new"), "new").expect("written");
        fs::rename(dir.path().join("new"), &path).expect("replaced");
        assert!(open(&root, &requested).is_none());
        fs::remove_file(&path).expect("removed");
        assert!(open(&root, &requested).is_none());
    }

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = held_file::root(dir.path()).expect("a directory");
        fs::write(dir.path().join("secret"), "x").expect("written");
        std::os::unix::fs::symlink("secret", dir.path().join("lib.so")).expect("a link");
        let found = fs::metadata(dir.path().join("lib.so")).expect("there");
        let mut requested = MappedFile { device: found.dev(), inode: found.ino(), path: "/lib.so".to_owned() };
        assert!(open(&root, &requested).is_none(), "it was the file that the link means");
        requested.path = "/secret".to_owned();
        assert!(open(&root, &requested).is_some());
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened_for_long() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = held_file::root(dir.path()).expect("a directory");
        let path = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("made");
        let found = fs::metadata(&path).expect("there");
        let requested = MappedFile { device: found.dev(), inode: found.ino(), path: "/pipe".to_owned() };
        // Without a writer, opening it to read would block.
        assert!(open(&root, &requested).is_none());
    }
}
