//! A setting of a block queue was written. The kernel reports writes through sysfs by any process; what it changes by
//! itself, and the new value, it does not report.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

use brisk_formats::sysfs_name;
use rustix::fs::inotify::WatchFlags;

use super::inotify::Inotify;
use crate::block::checked_name;
use crate::error::{Error, Result};
use crate::machine::Sense;

/// Watches the queues of some devices.
#[derive(Debug)]
pub struct QueueWatch {
    inotify: Inotify,
    watches: BTreeMap<String, Vec<i32>>,
}

impl QueueWatch {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// When the kernel gives no inotify.
    pub fn new() -> Result<Self> {
        let inotify = Inotify::new().map_err(|source| Error::reading("/sys/block".into(), source))?;
        Ok(Self { inotify, watches: BTreeMap::new() })
    }

    /// Watches the queues of `devices` from now on, and no others. The tunables of a scheduler are there while it is in
    /// force, so this is called again after a change of scheduler.
    ///
    /// # Errors
    /// When a name cannot be one, or the kernel refuses to watch.
    pub fn watch<'a>(&mut self, sense: &Sense, devices: impl Iterator<Item = &'a str>) -> Result<()> {
        let before = std::mem::take(&mut self.watches);
        for device in devices {
            let mut watches = Vec::new();
            let name = sysfs_name(device);
            for dir in ["queue", "queue/iosched"] {
                let path = sense.path(format!("/sys/block/{}/{dir}", checked_name(&name)?));
                let added = self.inotify.add(&path, WatchFlags::MODIFY | WatchFlags::ONLYDIR);
                watches.extend(added.map_err(|source| Error::reading(path, source))?);
            }
            self.watches.insert(device.to_owned(), watches);
        }
        for watch in before.into_values().flatten() {
            if !self.watches.values().flatten().any(|kept| *kept == watch) {
                self.inotify.remove(watch);
            }
        }
        Ok(())
    }

    /// Devices whose queues were written since the last call, by whomever; to be called when the descriptor is
    /// readable. After an overflow of the kernel's list: all.
    ///
    /// # Errors
    /// When inotify cannot be read.
    pub fn take(&mut self) -> Result<BTreeSet<String>> {
        let notices = self.inotify.take().map_err(|source| Error::reading("/sys/block".into(), source))?;
        let is_of = |watches: &[i32]| notices.iter().any(|notice| notice.watch < 0 || watches.contains(&notice.watch));
        Ok(self.watches.iter().filter(|(_, watches)| is_of(watches)).map(|(device, _)| device.clone()).collect())
    }
}

impl AsFd for QueueWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}
