//! The settings of a block device's queue (kernel: Documentation/ABI/stable/sysfs-block).
//!
//! Knobs depend on one another: a change of scheduler resets `nr_requests` and may switch write-back throttling, and
//! under the scheduler `none` a write to `nr_requests` resizes the *driver tags* themselves, which then stay that small
//! through later changes of scheduler, although `nr_requests` shows something else. So a change of one knob journals
//! every knob that it may disturb.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Journal};

/// Fewest tags that the kernel leaves a queue (BLKDEV_MIN_RQ).
const TAGS_MIN: u32 = 4;

/// How often, and at what distance, a knob that is busy is tried again: about a second in all.
const BUSY_TRIES: u32 = 500;
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// One setting of a block queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knob {
    /// Requests that the driver accepts at once; no file shows it, `nr_requests` under `none` sets it.
    DriverTags,
    /// The I/O scheduler.
    Scheduler,
    /// Requests that the scheduler holds.
    NrRequests,
    /// Read-ahead of buffered reads, in KiB.
    ReadAheadKb,
    /// Largest request, in KiB.
    MaxSectorsKb,
    /// Target of write-back throttling, in microseconds.
    WbtLatUsec,
}

impl Knob {
    fn file(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::DriverTags | Self::NrRequests => "nr_requests",
            Self::ReadAheadKb => "read_ahead_kb",
            Self::MaxSectorsKb => "max_sectors_kb",
            Self::WbtLatUsec => "wbt_lat_usec",
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::DriverTags { "driver tags" } else { self.file() })
    }
}

/// The queue of one block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockQueue {
    device_dir: PathBuf,
}

impl BlockQueue {
    /// The queue of `device` (a kernel name such as `loop3`) under the sysfs root (`/sys`). Nothing is touched yet.
    #[must_use]
    pub fn new(sysfs: &Path, device: &str) -> Self {
        // A slash in a kernel name is a '!' in sysfs.
        Self { device_dir: sysfs.join("block").join(device.replace('/', "!")) }
    }

    pub(crate) fn at(device_dir: &Path) -> Self {
        Self { device_dir: device_dir.to_owned() }
    }

    pub(crate) fn device_dir(&self) -> &Path {
        &self.device_dir
    }

    pub(crate) fn exists(&self) -> bool {
        self.device_dir.join("queue").is_dir()
    }

    /// The file behind a loop device, which tells whether it is still the same one.
    pub(crate) fn backing_file(&self) -> Option<String> {
        fs::read_to_string(self.device_dir.join("loop/backing_file")).ok().map(|text| text.trim_end().to_owned())
    }

    /// The scheduler in force.
    ///
    /// # Errors
    /// When the device or its file is missing.
    pub fn scheduler(&self) -> Result<String, Error> {
        self.get(Knob::Scheduler)
    }

    /// All schedulers that this kernel offers for the device.
    ///
    /// # Errors
    /// When the device or its file is missing.
    pub fn schedulers(&self) -> Result<Vec<String>, Error> {
        Ok(self.read(Knob::Scheduler)?.split_ascii_whitespace().map(|name| bare(name).to_owned()).collect())
    }

    /// The value in force, as the kernel prints it; of [`Knob::DriverTags`] what `nr_requests` shows.
    ///
    /// # Errors
    /// When the device or its file is missing, or the kernel refuses (`wbt_lat_usec` without throttling).
    pub fn get(&self, knob: Knob) -> Result<String, Error> {
        let text = self.read(knob)?;
        Ok(match knob {
            Knob::Scheduler => chosen(&text).to_owned(),
            _ => text.trim().to_owned(),
        })
    }

    /// Chooses the I/O scheduler.
    ///
    /// # Errors
    /// When this kernel does not offer it (the message lists what it offers) or the journal cannot be written.
    pub fn set_scheduler(&mut self, journal: &mut Journal, name: &str) -> Result<(), Error> {
        let disturbed = [Knob::Scheduler, Knob::NrRequests, Knob::WbtLatUsec];
        journal.change(self, &disturbed, |queue| {
            queue.put(Knob::Scheduler, name)?;
            queue.expect(Knob::Scheduler, name)
        })
    }

    /// Sets how many requests the scheduler holds, or, under `none`, the driver. Gives the number in force: the kernel
    /// leaves at least 4.
    ///
    /// # Errors
    /// When the kernel refuses the number or the journal cannot be written.
    pub fn set_nr_requests(&mut self, journal: &mut Journal, depth_requests: u32) -> Result<u32, Error> {
        if self.scheduler()? == "none" {
            return self.set_driver_tags(journal, depth_requests);
        }
        self.set_number(journal, Knob::NrRequests, depth_requests.into()).map(|n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// Sets how many requests the driver accepts at once, under any scheduler, which stays. Gives the number in force.
    ///
    /// # Errors
    /// When the kernel refuses the number (more than the driver has) or the journal cannot be written.
    pub fn set_driver_tags(&mut self, journal: &mut Journal, depth_requests: u32) -> Result<u32, Error> {
        let depth_requests = depth_requests.max(TAGS_MIN);
        let disturbed = [Knob::DriverTags, Knob::Scheduler, Knob::NrRequests, Knob::WbtLatUsec];
        journal.change(self, &disturbed, |queue| queue.put_driver_tags(depth_requests))?;
        journal.note_driver_tags(self, depth_requests)?;
        Ok(depth_requests)
    }

    /// Sets the read-ahead of buffered reads. Gives the value in force.
    ///
    /// # Errors
    /// As for [`Self::set_nr_requests`].
    pub fn set_read_ahead_kb(&mut self, journal: &mut Journal, read_ahead_kb: u64) -> Result<u64, Error> {
        self.set_number(journal, Knob::ReadAheadKb, read_ahead_kb)
    }

    /// Sets the largest request. Gives the value in force.
    ///
    /// # Errors
    /// As for [`Self::set_nr_requests`]; also when the device cannot take requests that large.
    pub fn set_max_sectors_kb(&mut self, journal: &mut Journal, max_sectors_kb: u64) -> Result<u64, Error> {
        self.set_number(journal, Knob::MaxSectorsKb, max_sectors_kb)
    }

    /// Sets the target of write-back throttling; zero switches it off. Gives the value in force.
    ///
    /// # Errors
    /// As for [`Self::set_nr_requests`]; also when this kernel has no throttling for the device.
    pub fn set_wbt_lat_usec(&mut self, journal: &mut Journal, target_us: u64) -> Result<u64, Error> {
        self.set_number(journal, Knob::WbtLatUsec, target_us)
    }

    fn set_number(&mut self, journal: &mut Journal, knob: Knob, value: u64) -> Result<u64, Error> {
        journal.change(self, &[knob], |queue| queue.put(knob, &value.to_string()))?;
        let found = self.get(knob)?;
        found.parse().map_err(|_| Error::NotTaken { path: self.path(knob), wanted: value.to_string(), found })
    }

    /// Writes a knob, unless it has the value already.
    pub(crate) fn put(&self, knob: Knob, value: &str) -> Result<(), Error> {
        if self.get(knob).is_ok_and(|now| now == value) {
            return Ok(());
        }
        let path = self.path(knob);
        let write = || {
            let mut file = OpenOptions::new().write(true).truncate(true).open(&path)?;
            file.write_all(value.as_bytes())
        };
        let mut written = write();
        // Some knobs only try for a lock of the queue; who holds it lets go soon.
        for _ in 0..BUSY_TRIES {
            match &written {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => std::thread::sleep(BUSY_PAUSE),
                _ => break,
            }
            written = write();
        }
        written.map_err(|source| Error::Write {
            hint: self.hint(knob),
            path: path.clone(),
            value: value.to_owned(),
            source,
        })
    }

    /// Resizes the driver tags and leaves the scheduler as it was. The detour over a neighbour is needed because the
    /// kernel ignores a write of the number that it shows, and after a change to `none` it shows the driver's own
    /// number whatever the tags are.
    pub(crate) fn put_driver_tags(&self, depth_requests: u32) -> Result<(), Error> {
        let scheduler = self.scheduler()?;
        self.put(Knob::Scheduler, "none")?;
        let neighbour = if depth_requests > TAGS_MIN { depth_requests - 1 } else { depth_requests + 1 };
        let resized = self
            .put(Knob::NrRequests, &neighbour.to_string())
            .and_then(|()| self.put(Knob::NrRequests, &depth_requests.to_string()))
            .and_then(|()| self.expect(Knob::NrRequests, &depth_requests.to_string()));
        self.put(Knob::Scheduler, &scheduler)?;
        resized
    }

    fn expect(&self, knob: Knob, wanted: &str) -> Result<(), Error> {
        let found = self.get(knob)?;
        if found == wanted {
            Ok(())
        } else {
            Err(Error::NotTaken { path: self.path(knob), wanted: wanted.to_owned(), found })
        }
    }

    fn read(&self, knob: Knob) -> Result<String, Error> {
        let path = self.path(knob);
        fs::read_to_string(&path).map_err(|source| Error::Read { path, source })
    }

    fn path(&self, knob: Knob) -> PathBuf {
        self.device_dir.join("queue").join(knob.file())
    }

    fn hint(&self, knob: Knob) -> String {
        match (knob, self.schedulers()) {
            (Knob::Scheduler, Ok(offered)) => format!("this kernel offers {}", offered.join(", ")),
            _ => format!("now {}", self.get(knob).unwrap_or_else(|_| "unreadable".to_owned())),
        }
    }
}

/// `none [mq-deadline] kyber` has chosen `mq-deadline`; a text without brackets is the choice itself.
fn chosen(text: &str) -> &str {
    text.split_ascii_whitespace().find(|name| name.starts_with('[')).map_or_else(|| text.trim(), bare)
}

fn bare(name: &str) -> &str {
    name.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_chosen_scheduler_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber bfq\n"), "mq-deadline");
        assert_eq!(chosen("[none]\n"), "none");
        assert_eq!(chosen("none\n"), "none");
        assert_eq!(chosen(""), "");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = chosen(&text);
        }
    }
}
