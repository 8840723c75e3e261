//! Snapshot and restore of the user's home, so that each repetition of a script starts from the same state.
//!
//! An app that is killed at work leaves locks and drafts behind, and asks about them at its next launch; the same input
//! then has another effect. A home is some tens of MB, and its snapshot is held in memory. Changes are detected by
//! size, mode and modification time, and only changed files are written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::phone::error::{Result, io as failed};
use crate::phone::running::Phone;
use crate::phone::tree;

#[derive(Debug, Clone)]
pub struct Home {
    dir: PathBuf,
    kept: BTreeMap<PathBuf, Kept>,
}

#[derive(Debug, Clone)]
struct Kept {
    about: Metadata,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Dir,
    File(Vec<u8>),
    Link(PathBuf),
}

impl Phone {
    /// Takes a snapshot of the user's home.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn remember_home(&self) -> Result<Home> {
        let dir = self.home();
        Home::of(&dir).map_err(failed(format!("read {}", dir.display())))
    }

    /// Restores the home; returns how many files and directories had changed. No app may run in the phone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn restore_home(&self, home: &Home) -> Result<usize> {
        // Writes through mappings update the modification time only at a sync.
        self.write_out()?;
        home.restore().map_err(failed(format!("restore {}", home.dir.display())))
    }
}

impl Home {
    fn of(dir: &Path) -> io::Result<Self> {
        let mut kept = BTreeMap::new();
        tree::walk(dir, &mut |path, about| {
            let content = match about.file_type() {
                kind if kind.is_dir() => Content::Dir,
                kind if kind.is_file() => Content::File(fs::read(path)?),
                kind if kind.is_symlink() => Content::Link(fs::read_link(path)?),
                // A socket is useless without its listener.
                _ => return Ok(()),
            };
            kept.insert(path.to_owned(), Kept { about: about.clone(), content });
            Ok(())
        })?;
        Ok(Self { dir: dir.to_owned(), kept })
    }

    fn restore(&self) -> io::Result<usize> {
        let mut as_before = BTreeSet::new();
        let mut changed = 0;
        tree::walk(&self.dir, &mut |path, about| {
            let known = self.kept.get(path);
            if known.is_some_and(|kept| kept.is(about)) {
                as_before.insert(path.to_owned());
            } else if about.is_dir() && known.is_some_and(|kept| kept.about.is_dir()) {
                // Its times and mode are set below, after its content.
            } else {
                changed += 1;
                if about.is_dir() { fs::remove_dir(path)? } else { fs::remove_file(path)? }
            }
            Ok(())
        })?;
        let differ = || self.kept.iter().filter(|(path, _)| !as_before.contains(*path));
        for (path, kept) in differ() {
            match &kept.content {
                Content::Dir if path.is_dir() => continue,
                Content::Dir => fs::create_dir(path)?,
                Content::File(bytes) => fs::write(path, bytes)?,
                Content::Link(to) => symlink(to, path)?,
            }
            // Files removed above are counted there; files that the app removed, here.
            changed += 1;
        }
        // Leaves first: creating a file in a directory changes the directory's time.
        for (path, kept) in differ().collect::<Vec<_>>().into_iter().rev() {
            kept.mark(path)?;
        }
        Ok(changed)
    }
}

impl Kept {
    fn is(&self, now: &Metadata) -> bool {
        let said = |about: &Metadata| (about.mtime(), about.mtime_nsec(), about.mode(), about.uid(), about.gid());
        // The length of a directory never shrinks.
        said(&self.about) == said(now) && (now.is_dir() || self.about.len() == now.len())
    }

    /// Restores owner, mode and times.
    fn mark(&self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.about.uid()), Some(self.about.gid()))?;
        if !self.about.is_symlink() {
            fs::set_permissions(path, Permissions::from_mode(self.about.mode() & 0o7777))?;
        }
        let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let times = Timestamps {
            last_access: time(self.about.atime(), self.about.atime_nsec()),
            last_modification: time(self.about.mtime(), self.about.mtime_nsec()),
        };
        Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All visible state: paths, contents, modes and times.
    fn seen(dir: &Path) -> Vec<(PathBuf, Vec<u8>, u32, i64, i64)> {
        let mut found = Vec::new();
        tree::walk(dir, &mut |path, about| {
            let bytes = if about.is_file() { fs::read(path)? } else { Vec::new() };
            found.push((path.to_owned(), bytes, about.mode(), about.mtime(), about.mtime_nsec()));
            Ok(())
        })
        .expect("readable");
        found.sort();
        found
    }

    #[test]
    fn a_home_is_restored_after_any_change() {
        let home = tempfile::tempdir().expect("temporary directory");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("Documents/old")).expect("made");
        fs::write(at("Documents/notes.txt"), "as it was").expect("written");
        fs::write(at("Documents/old/a"), "a").expect("written");
        fs::write(at("same"), "same").expect("written");
        symlink("same", at("link")).expect("linked");
        let before = seen(home.path());
        let kept = Home::of(home.path()).expect("readable");
        assert_eq!(kept.restore().expect("nothing to do"), 0);
        fs::write(at("Documents/notes.txt"), "another").expect("written");
        fs::create_dir_all(at(".cache/app")).expect("made");
        fs::write(at(".cache/app/draft"), "draft").expect("written");
        fs::remove_dir_all(at("Documents/old")).expect("removed");
        fs::remove_file(at("link")).expect("removed");
        fs::create_dir(at("link")).expect("a directory in its place");
        fs::set_permissions(at("same"), Permissions::from_mode(0o600)).expect("changed");
        assert!(kept.restore().expect("restored") >= 6);
        assert_eq!(seen(home.path()), before);
        assert_eq!(fs::read_link(at("link")).expect("a link"), Path::new("same"));
    }
}
