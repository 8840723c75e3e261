//! The directory of one phone: what is known about it on disk, and who owns it.
//!
//! `RUN_DIR/phone/ID/` holds `state.json`, the mount points `root` and `ram`, the bus's log and the file `lock`
//! ([`brisk_lab::numbered`]). Whoever makes a phone holds the lock until the phone stands, and, when the phone is to go with its
//! maker, until the end. So a phone that is half made, or whose owner is dead, is told without guessing; a phone that stays
//! belongs to nobody, and is fit for as long as its flash device is.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use brisk_lab::numbered::{Kind, NumberedDir};
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

static KIND: Kind = Kind { folder: "phone", mode: 0o755, mount_points: &["root", "ram"] };

/// The directory of one phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateDir(NumberedDir);

impl Deref for StateDir {
    type Target = NumberedDir;

    fn deref(&self) -> &NumberedDir {
        &self.0
    }
}

impl StateDir {
    /// Makes a directory with the lowest free number, and takes its lock.
    pub(crate) fn create(run_dir: &Path) -> Result<(Self, File)> {
        let made = NumberedDir::create(&KIND, run_dir).map(|(dir, lock)| (Self(dir), lock));
        made.map_err(failed(format!("make a directory for the phone under {}", run_dir.join(KIND.folder).display())))
    }

    /// All directories, by number.
    pub(crate) fn all(run_dir: &Path) -> Result<Vec<Self>> {
        match NumberedDir::all(&KIND, run_dir) {
            Ok(dirs) => Ok(dirs.into_iter().map(Self).collect()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Error::NotRoot),
            Err(error) => Err(failed(format!("look into {}", run_dir.join(KIND.folder).display()))(error)),
        }
    }

    /// Where the phone's file system is mounted.
    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    /// Where memory is mounted for what-if.
    pub(crate) fn ram(&self) -> PathBuf {
        self.path().join("ram")
    }

    pub(crate) fn bus_log(&self) -> PathBuf {
        self.path().join("bus.log")
    }

    /// What is on disk; `None` when there is nothing, or nothing that this version reads.
    pub(crate) fn load(&self) -> Option<Record> {
        parse(&self.read_state()?)
    }

    /// Replaces what is on disk in one step.
    pub(crate) fn save(&self, record: &Record) -> Result<()> {
        self.write_state(record).map_err(failed(format!("write the state of the phone into {}", self.path().display())))
    }
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
