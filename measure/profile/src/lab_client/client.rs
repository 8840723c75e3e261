//! Finds the lab device behind a block device, and asks it.

use std::path::{Path, PathBuf};

use brisk_sense::Sense;

use crate::lab_client::control::{Connection, Status};
use crate::lab_client::error::Result;
use crate::lab_client::state::{Record, StateDir, Transport};

/// The lab devices of one run directory, normally `/run/brisk`.
#[derive(Debug, Clone)]
pub struct Client {
    run_dir: PathBuf,
    sense: Sense,
}

/// A lab device that belongs to a block device.
#[derive(Debug, Clone)]
pub struct Device {
    dir: StateDir,
    record: Record,
}

impl Client {
    /// The devices whose state is under `run_dir`.
    #[must_use]
    pub fn new(run_dir: &Path) -> Self {
        let run_dir = std::path::absolute(run_dir).unwrap_or_else(|_| run_dir.to_owned());
        Self { run_dir, sense: Sense::default() }
    }

    /// The lab device behind the block device with the kernel name `disk`, such as `loop3`; `None` when there is none,
    /// or this process may not read the lab's directory.
    #[must_use]
    pub fn find(&self, disk: &str) -> Option<Device> {
        let all = StateDir::all(&self.run_dir).unwrap_or_default();
        let devices = all.into_iter().filter_map(|dir| Some(Device { record: dir.load()?, dir }));
        devices.into_iter().find(|device| device.is_behind(&self.sense, disk))
    }
}

impl Device {
    /// Whether `disk` is this device's, by what the kernel says of it: a loop device carries the file of the server; a
    /// ublk device has the number that it was given.
    fn is_behind(&self, sense: &Sense, disk: &str) -> bool {
        match self.record.way {
            Transport::Fuse => {
                let backing = sense.loop_backing(disk).ok().flatten();
                backing.is_some_and(|backing| backing.file == self.dir.backing_file())
            }
            Transport::Ublk { .. } => {
                let number = sense.block_device(disk).ok().map(|device| device.device);
                number.is_some() && number == self.record.ublk_number
            }
        }
    }

    /// The preset that the device was made with: a name, or the path of a file.
    #[must_use]
    pub fn preset(&self) -> &str {
        &self.record.preset
    }

    /// The device's status.
    ///
    /// # Errors
    /// When its server is gone or does not answer.
    pub fn status(&self) -> Result<Status> {
        Connection::open(&self.dir.socket())?.status()
    }
}
