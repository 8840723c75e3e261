//! The directory of one phone: what is known about it on disk, and who owns it.
//!
//! `RUN_DIR/phone/ID/` holds `state.json`, the mount points `root` and `ram`, the bus's log and the file `lock`. Whoever makes
//! a phone holds a lock on that file until the phone stands, and, when the phone is to go with its maker, until the end. The
//! kernel lets go of it however a process ends. So a phone that is half made, or whose owner is dead, is told without
//! guessing; a phone that stays belongs to nobody, and is fit for as long as its flash device is.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, io as failed};
use crate::whatif::Variant;

pub(crate) const SCHEMA_VERSION: u32 = 1;

/// What is on disk about a phone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema_version: u32,
    /// The image that it was made from.
    pub(crate) image: PathBuf,
    /// Apps by name; empty where the image is not of the cache.
    pub(crate) apps: Vec<String>,
    pub(crate) preset: String,
    pub(crate) size_bytes: u64,
    /// Marks the lab device: its seed, which no other device has.
    pub(crate) mark: u64,
    /// The block device, once it is there.
    pub(crate) device: Option<PathBuf>,
    /// Folder of its control group.
    pub(crate) group: Option<PathBuf>,
    /// Processes of its session buses.
    pub(crate) buses: Vec<u32>,
    /// What is changed for a what-if study.
    pub(crate) variant: Variant,
    /// Whether it stays when its maker ends.
    pub(crate) keep: bool,
    /// Whether it came up.
    pub(crate) ready: bool,
}

/// The directory of one phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateDir {
    pub(crate) id: u32,
    path: PathBuf,
}

impl StateDir {
    fn at(path: &Path) -> Option<Self> {
        let id = path.file_name()?.to_str()?.parse().ok()?;
        Some(Self { id, path: path.to_owned() })
    }

    /// Makes a directory with the lowest free number, and takes its lock.
    pub(crate) fn create(run_dir: &Path) -> Result<(Self, File)> {
        let all = run_dir.join("phone");
        let made = (|| {
            DirBuilder::new().recursive(true).mode(0o755).create(&all)?;
            let _one_at_a_time = lock_all(&all)?;
            for id in 1.. {
                let path = all.join(id.to_string());
                match DirBuilder::new().mode(0o755).create(&path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    made => made?,
                }
                let dir = Self { id, path };
                fs::create_dir(dir.root())?;
                fs::create_dir(dir.ram())?;
                let lock = dir.open_lock()?;
                rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                return Ok((dir, lock));
            }
            Err(io::Error::from(io::ErrorKind::QuotaExceeded))
        })();
        made.map_err(failed(format!("make a directory for the phone under {}", all.display())))
    }

    /// All directories, by number.
    pub(crate) fn all(run_dir: &Path) -> Result<Vec<Self>> {
        let all = run_dir.join("phone");
        let entries = match fs::read_dir(&all) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(Error::NotRoot),
            Err(error) => return Err(failed(format!("look into {}", all.display()))(error)),
        };
        let mut dirs: Vec<Self> = entries.flatten().filter_map(|entry| Self::at(&entry.path())).collect();
        dirs.sort_by_key(|dir| dir.id);
        Ok(dirs)
    }

    /// Takes the owner's lock if nobody has it.
    pub(crate) fn lock_if_free(&self) -> io::Result<Option<File>> {
        let _one_at_a_time = lock_all(self.path.parent().unwrap_or(&self.path))?;
        let lock = match self.open_lock() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(lock)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits until nobody else takes this phone down or changes it; `None` when it is gone.
    pub(crate) fn lock_changes(&self) -> io::Result<Option<File>> {
        let dir = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            dir => dir?,
        };
        rustix::fs::flock(&dir, FlockOperation::LockExclusive)?;
        Ok(self.path.is_dir().then_some(dir))
    }

    fn open_lock(&self) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).open(self.path.join("lock"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the phone's file system is mounted.
    pub(crate) fn root(&self) -> PathBuf {
        self.path.join("root")
    }

    /// Where memory is mounted for what-if.
    pub(crate) fn ram(&self) -> PathBuf {
        self.path.join("ram")
    }

    pub(crate) fn bus_log(&self) -> PathBuf {
        self.path.join("bus.log")
    }

    /// What is on disk; `None` when there is nothing, or nothing that this version reads.
    pub(crate) fn load(&self) -> Option<Record> {
        parse(&fs::read(self.path.join("state.json")).ok()?)
    }

    /// Replaces what is on disk in one step.
    pub(crate) fn save(&self, record: &Record) -> Result<()> {
        let fresh = self.path.join("state.new");
        let saved = (|| {
            let mut file = File::create(&fresh)?;
            file.write_all(&serde_json::to_vec_pretty(record)?)?;
            file.sync_all()?;
            fs::rename(&fresh, self.path.join("state.json"))
        })();
        saved.map_err(failed(format!("write the state of the phone to {}", fresh.display())))
    }

    /// Removes the directory. Nothing must be mounted in it any more: a mount point is never descended into.
    pub(crate) fn remove(&self) -> io::Result<()> {
        for mount_point in [self.root(), self.ram()] {
            match fs::remove_dir(mount_point) {
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

/// Serialises making and judging directories, so that nobody clears up one that is being made.
fn lock_all(all: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(all.join("lock"))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn parse(bytes: &[u8]) -> Option<Record> {
    serde_json::from_slice::<Record>(bytes).ok().filter(|record| record.schema_version == SCHEMA_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> Record {
        Record {
            schema_version: SCHEMA_VERSION,
            image: "/var/cache/brisk/phone/key/root.ext4".into(),
            apps: vec!["evince".into()],
            preset: "galaxy-s5-emmc".into(),
            size_bytes: 4 << 30,
            mark: u64::MAX,
            device: Some("/dev/loop3".into()),
            group: None,
            buses: vec![7],
            variant: Variant::SyncOff,
            keep: true,
            ready: true,
        }
    }

    #[test]
    fn the_lock_tells_who_is_made_or_owned_from_who_is_alone() {
        let run = tempfile::tempdir().expect("temporary directory");
        let (dir, lock) = StateDir::create(run.path()).expect("directory");
        assert!(dir.lock_if_free().expect("lock").is_none());
        drop(lock);
        assert!(dir.lock_if_free().expect("lock").is_some());
        assert_eq!(StateDir::create(run.path()).expect("second").0.id, 2);
        dir.remove().expect("removed");
        assert!(dir.lock_if_free().expect("lock").is_none(), "gone is not free");
        assert!(dir.lock_changes().expect("lock").is_none());
        assert_eq!(StateDir::all(run.path()).expect("readable").len(), 1);
    }

    #[test]
    fn the_state_survives_the_disk_and_other_versions_are_not_read() {
        let run = tempfile::tempdir().expect("temporary directory");
        let (dir, _lock) = StateDir::create(run.path()).expect("directory");
        assert_eq!(dir.load(), None);
        dir.save(&record()).expect("saved");
        assert_eq!(dir.load(), Some(record()));
        dir.save(&Record { schema_version: 99, ..record() }).expect("saved");
        assert_eq!(dir.load(), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = parse(text.as_bytes());
        }
    }
}
