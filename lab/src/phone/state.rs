//! Directory of one phone: its state on disk, and its lock.
//!
//! `RUN_DIR/phone/ID/` holds `state.json`, the mount points `root` and `ram`, the bus's log and the file `lock`
//! ([`crate::device::numbered`]). The creator holds the lock until the phone is ready, and, for a phone that ends with
//! its creator, until the end. A free lock therefore identifies an incomplete phone, or one whose owner is dead; a kept
//! phone has no owner and is usable as long as its flash device exists.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::device::numbered::{Kind, NumberedDir};
use serde::{Deserialize, Serialize};

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::memory::MemorySpec;
use crate::phone::variant::Variant;

pub(crate) const SCHEMA_VERSION: u32 = 1;

/// State of a phone on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema_version: u32,
    pub(crate) image: PathBuf,
    /// Names of its apps; empty where the image is not from the cache.
    pub(crate) apps: Vec<String>,
    pub(crate) preset: String,
    pub(crate) size_bytes: u64,
    /// Unique mark of its lab device: the device's seed.
    pub(crate) mark: u64,
    /// Its block device, once created.
    pub(crate) device: Option<PathBuf>,
    /// Directory of its control group.
    pub(crate) group: Option<PathBuf>,
    /// Its limited memory, if it has any.
    #[serde(default)]
    pub(crate) memory: Option<MemoryRecord>,
    /// Processes of its session buses.
    pub(crate) buses: Vec<u32>,
    pub(crate) variant: Variant,
    /// Whether it stays when its creator ends.
    pub(crate) keep: bool,
    pub(crate) ready: bool,
}

/// Memory and swap of a phone on disk, for their removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemoryRecord {
    pub(crate) spec: MemorySpec,
    /// Directory of the memory group.
    pub(crate) group: PathBuf,
    /// Swap file, as a path of this machine.
    pub(crate) file: Option<PathBuf>,
    /// Number of the zram device.
    pub(crate) zram: Option<u32>,
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
    /// Creates a directory with the lowest free number, and takes its lock.
    pub(crate) fn create(run_dir: &Path) -> Result<(Self, File)> {
        let made = NumberedDir::create(&KIND, run_dir).map(|(dir, lock)| (Self(dir), lock));
        made.map_err(failed(format!("make a directory for the phone under {}", run_dir.join(KIND.folder).display())))
    }

    /// All directories, by number.
    pub(crate) fn all(run_dir: &Path) -> Result<Vec<Self>> {
        match NumberedDir::all(&KIND, run_dir) {
            Ok(dirs) => Ok(dirs.into_iter().map(Self).collect()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::Closed { dir: run_dir.join(KIND.folder) })
            }
            Err(error) => Err(failed(format!("read {}", run_dir.join(KIND.folder).display()))(error)),
        }
    }

    /// Mount point of the phone's file system.
    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    /// Root directory of apps in the variant of `record`.
    pub(crate) fn app_root(&self, record: &Record) -> PathBuf {
        if record.variant == Variant::AllInRam { self.ram() } else { self.root() }
    }

    /// Mount point of memory for what-if variants.
    pub(crate) fn ram(&self) -> PathBuf {
        self.path().join("ram")
    }

    pub(crate) fn bus_log(&self) -> PathBuf {
        self.path().join("bus.log")
    }

    /// The state on disk; `None` when it is missing or of an unknown version.
    pub(crate) fn load(&self) -> Option<Record> {
        parse(&self.read_state()?)
    }

    /// Replaces the state on disk atomically.
    /// What is said of a phone whose memory is not limited.
    pub(crate) fn unlimited(&self) -> Error {
        Error::Memory { reason: format!("phone {} has no limit: bring it up with --memory", self.id) }
    }

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
            memory: None,
            buses: vec![7],
            variant: Variant::SyncOff,
            keep: true,
            ready: true,
        }
    }

    #[test]
    fn the_state_round_trips_and_other_versions_are_ignored() {
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
