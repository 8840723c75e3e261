//! Walks a directory tree of one file system, without following links.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

/// Calls `visit` for all entries below `dir`, a directory after its content.
pub(crate) fn walk(dir: &Path, visit: &mut dyn FnMut(&Path, &Metadata) -> io::Result<()>) -> io::Result<()> {
    let device = fs::symlink_metadata(dir)?.dev();
    walk_on(dir, device, visit)
}

fn walk_on(dir: &Path, device: u64, visit: &mut dyn FnMut(&Path, &Metadata) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let about = match fs::symlink_metadata(&path) {
            // Removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            about => about?,
        };
        if about.dev() != device {
            continue;
        }
        if about.is_dir() {
            walk_on(&path, device, visit)?;
        }
        visit(&path, &about)?;
    }
    Ok(())
}

/// Size of the files in blocks of 4 KiB; hard links to one file count once.
pub(crate) fn size_bytes(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut linked = std::collections::HashSet::new();
    walk(dir, &mut |_, about| {
        if about.nlink() < 2 || about.is_dir() || linked.insert(about.ino()) {
            bytes += about.len().next_multiple_of(4096);
        }
        Ok(())
    })?;
    Ok(bytes)
}

/// Truncates the times of all files and directories to whole seconds, as `mke2fs -d` does: caches that record the time
/// of a directory (font caches) then stay valid in the image.
pub(crate) fn cut_times(dir: &Path) -> io::Result<()> {
    walk(dir, &mut |path, about| {
        if about.mtime_nsec() == 0 || about.is_symlink() {
            return Ok(());
        }
        let whole = Timespec { tv_sec: about.mtime(), tv_nsec: 0 };
        let times = Timestamps { last_access: whole, last_modification: whole };
        Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_tree_is_measured_and_its_times_are_truncated() {
        let dir = tempfile::tempdir().expect("temporary directory");
        fs::create_dir(dir.path().join("a")).expect("made");
        fs::write(dir.path().join("a/one"), [0; 5000]).expect("written");
        fs::hard_link(dir.path().join("a/one"), dir.path().join("a/again")).expect("linked");
        symlink("/no/such", dir.path().join("a/nowhere")).expect("linked");
        let measured = size_bytes(dir.path()).expect("readable");
        assert!((8192 + 4096..=8192 + 2 * 4096 + (64 << 10)).contains(&measured), "{measured}");
        cut_times(dir.path()).expect("changed");
        for name in ["a", "a/one"] {
            assert_eq!(fs::symlink_metadata(dir.path().join(name)).expect("there").mtime_nsec(), 0, "{name}");
        }
    }
}
