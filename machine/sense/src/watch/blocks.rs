//! Block devices that come, go and change: the kernel's uevents (Documentation/ABI/stable/sysfs-uevent,
//! lib/kobject_uevent.c).

use std::os::fd::{AsFd, BorrowedFd};

use brisk_formats::{BlockChange, parse_uevent};
use rustix::net::netlink::KOBJECT_UEVENT;

use super::netlink::Netlink;
use crate::error::Result;

/// The kernel's own messages; what udev sends on is in group 2.
const FROM_KERNEL: u32 = 1;
/// As many as a device with many partitions sends at once; more are left for the next time.
const MESSAGES_MAX: usize = 256;

/// Listens to the kernel's uevents.
#[derive(Debug)]
pub struct BlockWatch(Netlink);

impl BlockWatch {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the kernel has no uevents, or gives none in this network namespace's place.
    pub fn new() -> Result<Self> {
        Netlink::open("netlink:kobject_uevent", KOBJECT_UEVENT, FROM_KERNEL, |_| ()).map(Self)
    }

    /// What became of block devices since the last time; to be called when the descriptor is readable.
    ///
    /// # Errors
    /// When the socket cannot be read.
    pub fn take(&mut self) -> Result<Vec<BlockChange>> {
        let messages = self.0.take(MESSAGES_MAX, parse_uevent)?;
        Ok(messages.into_iter().map(|change| change.unwrap_or(BlockChange::Unknown)).collect())
    }
}

impl AsFd for BlockWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
