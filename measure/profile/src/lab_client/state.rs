//! Directory of one lab device: its state on disk, and its owner.
//!
//! `RUN_DIR/lab/ID/` holds `state.json`, the mount point `mnt`, the socket `control`, the `log`, and the file `lock`,
//! which the server holds as long as it runs ([`crate::lab_client::numbered`]).

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use brisk_sense::{DeviceNumber, Identity};
use serde::{Deserialize, Serialize};

use crate::lab_client::error::{Error, Result, io as failed};
use crate::lab_client::numbered::{Kind, NumberedDir};

/// Name of the file that the server serves by FUSE and the loop device carries.
pub const FILE_NAME: &str = "flash";

/// Connection of a device to the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A FUSE file under a loop device.
    #[default]
    Fuse,
    Ublk {
        /// The mark that it bears: a random number that no other device has.
        mark: u64,
    },
}

/// State of a lab device on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this struct on disk: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// A built-in preset's name or the absolute path of a file.
    pub preset: String,
    /// What the device stands for, as the reader of the machine tells others.
    #[serde(default)]
    pub identity: Option<Identity>,
    /// Parameters that differ from the preset.
    pub set: Vec<(String, String)>,
    pub size_bytes: u64,
    /// Seed of what a power cut loses.
    pub seed: u64,
    /// The command that takes the device down, for a server that has to end itself.
    pub take_down: Vec<String>,
    /// The server's process, once it runs.
    pub server_pid: Option<u32>,
    /// How it reaches the block layer.
    #[serde(default)]
    pub way: Transport,
    /// Kernel name of the loop device, once it is attached.
    pub loop_name: Option<String>,
    /// Number of the file system that it carries a file of.
    pub file_system: Option<u64>,
    /// Number of the ublk block device, once it is started.
    #[serde(default)]
    pub ublk_number: Option<DeviceNumber>,
    /// Whether `up` came to its end.
    pub ready: bool,
}

/// Version of [`Record`] that this brisk reads and writes.
pub const SCHEMA_VERSION: u32 = 1;

static KIND: Kind = Kind { folder: "lab", mode: 0o700, mount_points: &["mnt"] };

/// The directory of one lab device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(NumberedDir);

impl Deref for StateDir {
    type Target = NumberedDir;

    fn deref(&self) -> &NumberedDir {
        &self.0
    }
}

impl StateDir {
    /// The directory at `path`, whose name is the number of the device.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        NumberedDir::at(&KIND, path).map(Self)
    }

    /// Makes a directory with the lowest free number, and takes its lock.
    ///
    /// # Errors
    /// When the file system refuses it.
    pub fn create(run_dir: &Path) -> Result<(Self, File)> {
        let made = NumberedDir::create(&KIND, run_dir).map(|(dir, lock)| (Self(dir), lock));
        made.map_err(failed(format!("make a directory for the device under {}", run_dir.join(KIND.folder).display())))
    }

    /// All directories, by number.
    ///
    /// # Errors
    /// When this process may not read them.
    pub fn all(run_dir: &Path) -> Result<Vec<Self>> {
        match NumberedDir::all(&KIND, run_dir) {
            Ok(dirs) => Ok(dirs.into_iter().map(Self).collect()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::Closed { dir: run_dir.join(KIND.folder) })
            }
            Err(error) => Err(failed(format!("read {}", run_dir.join(KIND.folder).display()))(error)),
        }
    }

    /// Where the server's file system is mounted.
    #[must_use]
    pub fn mount_point(&self) -> PathBuf {
        self.path().join("mnt")
    }

    /// The backing file of the loop device.
    #[must_use]
    pub fn backing_file(&self) -> PathBuf {
        self.mount_point().join(FILE_NAME)
    }

    /// The server's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path().join("control")
    }

    /// The server's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.path().join("log")
    }

    /// The last lines of the server's log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("; ")
    }

    /// Name of the journal of this device's queue settings.
    #[must_use]
    pub fn journal_name(&self) -> String {
        format!("lab-{}", self.id)
    }

    /// What is on disk; `None` when there is nothing, or nothing that this version reads.
    #[must_use]
    pub fn load(&self) -> Option<Record> {
        parse(&self.read_state()?)
    }

    /// How the device reaches the block layer.
    #[must_use]
    pub fn way(&self) -> Transport {
        self.load().map(|record| record.way).unwrap_or_default()
    }

    /// Replaces what is on disk in one step.
    ///
    /// # Errors
    /// When the file system refuses it.
    pub fn save(&self, record: &Record) -> Result<()> {
        self.write_state(record)
            .map_err(failed(format!("write the state of the device into {}", self.path().display())))
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
            preset: "galaxy-s5-emmc".into(),
            identity: Some(Identity {
                model: "galaxy-s5-emmc".into(),
                kind: "emmc".into(),
                is_lab: true,
                firmware: None,
            }),
            set: vec![],
            size_bytes: 1 << 24,
            seed: 1,
            take_down: vec![],
            server_pid: Some(7),
            way: Transport::Ublk { mark: u64::MAX },
            loop_name: Some("loop3".into()),
            file_system: Some(42),
            ublk_number: Some(DeviceNumber { major: 259, minor: 1 }),
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

    #[test]
    fn a_state_without_a_connection_is_of_fuse() {
        let mut old = serde_json::to_value(record()).expect("JSON");
        let fields = old.as_object_mut().expect("an object");
        assert!(fields.remove("way").is_some() && fields.remove("ublk_number").is_some());
        let read = parse(old.to_string().as_bytes()).expect("readable");
        assert_eq!((read.way, read.ublk_number), (Transport::Fuse, None));
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
