//! The directory of one lab device: what is known about it on disk, and who lives in it.
//!
//! `RUN_DIR/lab/ID/` holds `state.json`, the mount point `mnt`, the socket `control`, the `log`, and the file `lock`. The
//! server holds a lock on that file for as long as it runs, and the kernel lets go of it however the server ends. So
//! whoever gets the lock knows that the server is dead and that nobody else is clearing up after it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use brisk_sense::DeviceNumber;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, io as failed};
use crate::wire;

/// How a device reaches the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// A FUSE file under a loop device.
    #[default]
    Fuse,
    /// A ublk device that bears this mark.
    Ublk { mark: u64 },
}

/// What is on disk about a lab device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema_version: u32,
    /// A built-in preset's name or the absolute path of a file.
    pub(crate) preset: String,
    /// Parameters that differ from the preset.
    pub(crate) set: Vec<(String, String)>,
    pub(crate) size_bytes: u64,
    pub(crate) seed: u64,
    /// The command that takes the device down, for a server that has to end itself.
    pub(crate) take_down: Vec<String>,
    /// The server's process, once it runs.
    pub(crate) server_pid: Option<u32>,
    /// How it reaches the block layer.
    #[serde(default)]
    pub(crate) way: Way,
    /// Kernel name of the loop device, once it is attached.
    pub(crate) loop_name: Option<String>,
    /// Number of the file system that it carries a file of.
    pub(crate) file_system: Option<u64>,
    /// Number of the ublk block device, once it is started.
    #[serde(default)]
    pub(crate) ublk_number: Option<DeviceNumber>,
    /// Whether `up` came to its end.
    pub(crate) ready: bool,
}

pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The directory of one lab device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateDir {
    pub(crate) id: u32,
    path: PathBuf,
}

impl StateDir {
    /// The directory at `path`, whose name is the number of the device.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let id = path.file_name()?.to_str()?.parse().ok()?;
        Some(Self { id, path: path.to_owned() })
    }

    /// Makes a directory with the lowest free number, and takes its lock.
    pub(crate) fn create(run_dir: &Path) -> Result<(Self, File)> {
        let lab = run_dir.join("lab");
        let made = (|| {
            private_dir(&lab)?;
            let _one_at_a_time = lock_all(&lab)?;
            for id in 1.. {
                let path = lab.join(id.to_string());
                match DirBuilder::new().mode(0o700).create(&path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    made => made?,
                }
                let dir = Self { id, path };
                fs::create_dir(dir.mount_point())?;
                let lock = dir.open_lock()?;
                rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                return Ok((dir, lock));
            }
            Err(io::Error::from(io::ErrorKind::QuotaExceeded))
        })();
        made.map_err(failed(format!("make a directory for the device under {}", lab.display())))
    }

    /// All directories, by number.
    pub(crate) fn all(run_dir: &Path) -> Result<Vec<Self>> {
        let lab = run_dir.join("lab");
        let entries = match fs::read_dir(&lab) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(Error::NotRoot),
            Err(error) => return Err(failed(format!("look into {}", lab.display()))(error)),
        };
        let mut dirs: Vec<Self> = entries.flatten().filter_map(|entry| Self::at(&entry.path())).collect();
        dirs.sort_by_key(|dir| dir.id);
        Ok(dirs)
    }

    /// Takes the lock if nobody lives here any more.
    pub(crate) fn lock_if_dead(&self) -> io::Result<Option<File>> {
        let lab = self.path.parent().unwrap_or(&self.path);
        let _one_at_a_time = lock_all(lab)?;
        let lock = match self.open_lock() {
            // Cleared up by someone else meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(lock)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits until nobody else takes this device down; `None` when somebody has.
    pub(crate) fn lock_take_down(&self) -> io::Result<Option<File>> {
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

    pub(crate) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn mount_point(&self) -> PathBuf {
        self.path.join("mnt")
    }

    /// The file that the loop device carries.
    pub(crate) fn backing_file(&self) -> PathBuf {
        self.mount_point().join(wire::FILE_NAME)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join("control")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Name of the journal of this device's queue settings.
    pub(crate) fn journal_name(&self) -> String {
        format!("lab-{}", self.id)
    }

    /// What is on disk; `None` when there is nothing, or nothing that this version reads.
    pub(crate) fn load(&self) -> Option<Record> {
        parse(&fs::read(self.path.join("state.json")).ok()?)
    }

    /// How the device reaches the block layer.
    pub(crate) fn way(&self) -> Way {
        self.load().map(|record| record.way).unwrap_or_default()
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
        saved.map_err(failed(format!("write the state of the device to {}", fresh.display())))
    }

    /// Removes the directory. Nothing must be mounted in it any more: a mount point is never descended into.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir(self.mount_point()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The last lines that the server wrote.
    pub(crate) fn last_words(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("; ")
    }
}

/// Serialises making and judging directories, so that nobody clears up one that is being made.
fn lock_all(lab: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(lab.join("lock"))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn parse(bytes: &[u8]) -> Option<Record> {
    serde_json::from_slice::<Record>(bytes).ok().filter(|record| record.schema_version == SCHEMA_VERSION)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> Record {
        Record {
            schema_version: SCHEMA_VERSION,
            preset: "galaxy-s5-emmc".into(),
            set: vec![],
            size_bytes: 1 << 24,
            seed: 1,
            take_down: vec![],
            server_pid: Some(7),
            way: Way::Ublk { mark: u64::MAX },
            loop_name: Some("loop3".into()),
            file_system: Some(42),
            ublk_number: Some(DeviceNumber { major: 259, minor: 1 }),
            ready: true,
        }
    }

    #[test]
    fn numbers_are_the_lowest_free() {
        let run = tempfile::tempdir().expect("temporary directory");
        let (first, _one) = StateDir::create(run.path()).expect("first");
        let (second, _two) = StateDir::create(run.path()).expect("second");
        assert_eq!((first.id, second.id), (1, 2));
        first.remove().expect("removed");
        assert_eq!(StateDir::create(run.path()).expect("third").0.id, 1);
        assert_eq!(StateDir::all(run.path()).expect("readable").len(), 2);
        assert_eq!(StateDir::all(&run.path().join("none")).expect("nothing"), vec![]);
    }

    #[test]
    fn the_lock_tells_the_dead_from_the_living() {
        let run = tempfile::tempdir().expect("temporary directory");
        let (dir, lock) = StateDir::create(run.path()).expect("directory");
        assert!(dir.lock_if_dead().expect("lock").is_none());
        drop(lock);
        let ours = dir.lock_if_dead().expect("lock");
        assert!(ours.is_some());
        assert!(dir.lock_if_dead().expect("lock").is_none(), "one clears up at a time");
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

    #[test]
    fn a_state_from_before_ublk_is_of_fuse() {
        let mut old = serde_json::to_value(record()).expect("JSON");
        let fields = old.as_object_mut().expect("an object");
        assert!(fields.remove("way").is_some() && fields.remove("ublk_number").is_some());
        let read = parse(old.to_string().as_bytes()).expect("readable");
        assert_eq!((read.way, read.ublk_number), (Way::Fuse, None));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn a_torn_state_is_no_state(cut in 0usize..200) {
            let whole = serde_json::to_vec(&record()).expect("JSON");
            prop_assert_eq!(parse(&whole[..cut.min(whole.len() - 1)]), None);
        }
    }
}
