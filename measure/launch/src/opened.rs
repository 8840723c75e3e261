//! Files opened by an app, from fanotify.
//!
//! A start is cold only when every file of the app was evicted, including files that were cached during all earlier launches
//! and were therefore never read from the storage. The first launch of a series is therefore watched for opens.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use brisk_sense::Sense;
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};

use crate::error::{Error, Result};

/// Watches opens by other processes on file systems of block devices.
#[derive(Debug)]
pub(crate) struct Opened {
    group: Fanotify,
}

impl Opened {
    /// Starts the watch. The kernel's list is unbounded, so a watch should be short.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or when the kernel has no fanotify.
    pub(crate) fn watch(sense: &Sense) -> Result<Self> {
        let flags = InitFlags::FAN_CLASS_NOTIF
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_QUEUE;
        let events = EventFFlags::O_RDONLY | EventFFlags::O_LARGEFILE | EventFFlags::O_CLOEXEC | EventFFlags::O_NOATIME;
        let group = Fanotify::init(flags, events).map_err(|errno| Error::system("fanotify_init", errno))?;
        let mut marked = BTreeSet::new();
        for mount in sense.mounts()? {
            if !mount.source.starts_with("/dev/") || !marked.insert(mount.device) {
                continue;
            }
            let mark = group.mark(
                MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_FILESYSTEM,
                MaskFlags::FAN_OPEN,
                rustix::fs::CWD,
                Some(&mount.mount_point),
            );
            // Mounts that cannot be marked (below a private directory, a file system without fsid) are not watched.
            if mark.is_err() {
                marked.remove(&mount.device);
            }
        }
        Ok(Self { group })
    }

    /// Ends the watch; returns the regular files that processes of the app opened, by their current names.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub(crate) fn finish(self, is_of_app: impl Fn(u32) -> bool) -> Result<BTreeSet<PathBuf>> {
        let own = std::process::id();
        let mut found = BTreeSet::new();
        loop {
            let events = match self.group.read_events() {
                Ok(events) if events.is_empty() => return Ok(found),
                Ok(events) => events,
                Err(nix::errno::Errno::EAGAIN) => return Ok(found),
                Err(errno) => return Err(Error::system("reading fanotify's events", errno)),
            };
            let is_of_launch = |pid: u32| pid != own && is_of_app(pid);
            for event in events.iter().filter(|event| u32::try_from(event.pid()).is_ok_and(is_of_launch)) {
                let Some(fd) = event.fd() else { continue };
                let is_file = rustix::fs::fstat(fd.as_fd())
                    .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file());
                let name = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
                // A removed file has no name to evict it by.
                if let (true, Ok(path)) = (is_file, name)
                    && !path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")
                {
                    found.insert(path);
                }
            }
        }
    }
}
