//! The user's home as it was, to begin each repetition of a script with the same.
//!
//! An app that is ended in the midst of work leaves locks and drafts behind, and asks about them when it is launched the next
//! time: that is another app to who sends it the same events. A home is some tens of MB, and is held in memory; what changed
//! since is told by its size, mode and time of change, and only that is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::error::{Result, io as failed};
use crate::phone::Phone;
use crate::tree;

/// What a home held.
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
    /// Holds what the user's home has now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn remember_home(&self) -> Result<Home> {
        let dir = self.home();
        Home::of(&dir).map_err(failed(format!("read {}", dir.display())))
    }

    /// Makes the home what it was; gives how many files and directories were not as before. No app may run in the phone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn restore_home(&self, home: &Home) -> Result<usize> {
        // What apps wrote through mappings has its time of change only then.
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
                // A socket is nothing without who listens.
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
                // Its times and mode are set below, after what is in it.
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
            // What was removed above is counted there; what the app removed, here.
            changed += 1;
        }
        // From the leaves up: what is made in a directory changes its time.
        for (path, kept) in differ().collect::<Vec<_>>().into_iter().rev() {
            kept.mark(path)?;
        }
        Ok(changed)
    }
}

impl Kept {
    fn is(&self, now: &Metadata) -> bool {
        let said = |about: &Metadata| (about.mtime(), about.mtime_nsec(), about.mode(), about.uid(), about.gid());
        // The length of a directory only grows.
        said(&self.about) == said(now) && (now.is_dir() || self.about.len() == now.len())
    }

    /// Owner, mode and times as they were.
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

    /// Everything that a person could see of it: paths, contents, modes and times.
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
    fn a_home_becomes_what_it_was_whatever_an_app_did_to_it() {
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
