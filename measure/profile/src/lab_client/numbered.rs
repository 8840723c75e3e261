//! Numbered directories with an owner lock.
//!
//! A resource that outlives a command (a lab device, a phone) has a directory `RUN_DIR/FOLDER/ID/` with a `state.json`,
//! mount points, and the file `lock`. The owner holds a lock on that file as long as it lives; the kernel releases it
//! however the owner ends. A process that gets the lock therefore knows that the owner is dead, and that no other
//! process is cleaning up.

use brisk_core::order::Order as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::Serialize;

/// Common properties of a kind of directories.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name of their parent directory.
    pub folder: &'static str,
    pub mode: u32,
    pub mount_points: &'static [&'static str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedDir {
    kind: &'static Kind,
    /// Its number, from 1 on.
    pub id: u32,
    path: PathBuf,
}

impl NumberedDir {
    /// The directory at `path`, whose name is its number; `None` for another name.
    #[must_use]
    pub fn at(kind: &'static Kind, path: &Path) -> Option<Self> {
        let id = path.file_name()?.to_str()?.parse().ok()?;
        Some(Self { kind, id, path: path.to_owned() })
    }

    /// Creates a directory with the lowest free number in the run folder, which must exist, and takes its lock.
    ///
    /// # Errors
    /// When the file system refuses it.
    pub fn create(kind: &'static Kind, run_dir: &Path) -> io::Result<(Self, File)> {
        let all = run_dir.join(kind.folder);
        match DirBuilder::new().mode(kind.mode).create(&all) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let _one_at_a_time = lock_all(&all)?;
        for id in 1.. {
            let path = all.join(id.to_string());
            match DirBuilder::new().mode(kind.mode).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let dir = Self { kind, id, path };
            for mount_point in kind.mount_points {
                fs::create_dir(dir.path.join(mount_point))?;
            }
            let lock = dir.open_lock()?;
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            return Ok((dir, lock));
        }
        Err(io::Error::from(io::ErrorKind::QuotaExceeded))
    }

    /// All directories, by number; none if none was ever made.
    ///
    /// # Errors
    /// When the parent cannot be read, for example without root.
    pub fn all(kind: &'static Kind, run_dir: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(run_dir.join(kind.folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut dirs: Vec<Self> = entries.flatten().filter_map(|entry| Self::at(kind, &entry.path())).collect();
        dirs.order_by_key(|dir| dir.id);
        Ok(dirs)
    }

    /// Takes the owner's lock if it is free; `None` also when the directory was removed.
    ///
    /// # Errors
    /// When the file system refuses it.
    pub fn lock_if_free(&self) -> io::Result<Option<File>> {
        let _one_at_a_time = lock_all(self.path.parent().unwrap_or(&self.path))?;
        let lock = match self.open_lock() {
            // Removed by another process meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(lock)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits for exclusive access to the directory; `None` when it was removed.
    ///
    /// # Errors
    /// When the file system refuses it.
    pub fn lock_changes(&self) -> io::Result<Option<File>> {
        let dir = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            dir => dir?,
        };
        rustix::fs::flock(&dir, FlockOperation::LockExclusive)?;
        Ok(self.exists().then_some(dir))
    }

    fn open_lock(&self) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).open(self.path.join("lock"))
    }

    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.is_dir()
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of its state; `None` when there is none.
    #[must_use]
    pub fn read_state(&self) -> Option<Vec<u8>> {
        fs::read(self.path.join("state.json")).ok()
    }

    /// Replaces its state atomically.
    ///
    /// # Errors
    /// When the file system refuses it.
    pub fn write_state(&self, state: &impl Serialize) -> io::Result<()> {
        let fresh = self.path.join("state.new");
        let mut file = File::create(&fresh)?;
        file.write_all(&serde_json::to_vec_pretty(state)?)?;
        file.sync_all()?;
        fs::rename(&fresh, self.path.join("state.json"))
    }

    /// Removes the directory, which must contain no mounts: mount points are never descended into.
    ///
    /// # Errors
    /// When something is mounted in it, or the file system refuses it.
    pub fn remove(&self) -> io::Result<()> {
        for mount_point in self.kind.mount_points {
            match fs::remove_dir(self.path.join(mount_point)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Serialises creation and inspection of directories, so that an incomplete one is not removed.
fn lock_all(all: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(all.join("lock"))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    static KIND: Kind = Kind { folder: "things", mode: 0o700, mount_points: &["one", "two"] };

    #[test]
    fn numbers_are_the_lowest_free() {
        let run = tempfile::tempdir().expect("temporary directory");
        let (first, _one) = NumberedDir::create(&KIND, run.path()).expect("first");
        let (second, _two) = NumberedDir::create(&KIND, run.path()).expect("second");
        assert_eq!((first.id, second.id), (1, 2));
        first.remove().expect("removed");
        assert_eq!(NumberedDir::create(&KIND, run.path()).expect("third").0.id, 1);
        assert_eq!(NumberedDir::all(&KIND, run.path()).expect("readable").len(), 2);
        assert_eq!(NumberedDir::all(&KIND, &run.path().join("none")).expect("nothing"), vec![]);
    }

    #[test]
    fn the_lock_tells_the_dead_from_the_living() {
        let run = tempfile::tempdir().expect("temporary directory");
        let (dir, lock) = NumberedDir::create(&KIND, run.path()).expect("directory");
        assert!(dir.lock_if_free().expect("lock").is_none());
        drop(lock);
        let ours = dir.lock_if_free().expect("lock");
        assert!(ours.is_some());
        assert!(dir.lock_if_free().expect("lock").is_none(), "one clears up at a time");
        dir.remove().expect("removed");
        assert!(dir.lock_if_free().expect("lock").is_none(), "gone is not free");
        assert!(dir.lock_changes().expect("lock").is_none());
    }

    #[test]
    fn what_lies_in_a_mount_point_is_not_descended_into() {
        let run = tempfile::tempdir().expect("temporary directory");
        let (dir, _lock) = NumberedDir::create(&KIND, run.path()).expect("directory");
        let inside = dir.path().join("two/of another program");
        fs::write(&inside, "x").expect("written");
        assert!(dir.remove().is_err());
        assert!(inside.exists());
    }
}
