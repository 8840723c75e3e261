//! Which processes are in front, where something says so: the `top-app` group of cpusets, into which Android moves the
//! app that has the focus (system/core/libprocessgroup/profiles/task_profiles.json: `ProcessCapacityMax`).
//!
//! Its lists are small files, watched by inotify: older versions move each thread (`tasks`), newer ones whole processes
//! (`cgroup.procs`). A process leaves the group by being written into another: those into which apps go from the front
//! are watched as well, but not `background`, which is written for each app that is cached. On systems without these
//! groups the app in front is unknown.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::inotify::WatchFlags;

use super::inotify::Inotify;
use crate::error::{Error, Result};
use crate::machine::Sense;
use crate::readers::FRONT;

/// Other files through which apps come to the front and leave it.
const MOVED_THROUGH: [&str; 5] = [
    "/dev/cpuset/top-app/tasks",
    "/dev/cpuset/foreground/cgroup.procs",
    "/dev/cpuset/foreground/tasks",
    "/dev/cpuset/restricted/cgroup.procs",
    "/dev/cpuset/restricted/tasks",
];

/// Tells when another app is in front.
#[derive(Debug)]
pub struct FrontWatch {
    inotify: Inotify,
}

impl FrontWatch {
    /// Watches; `None` where nothing says which app is in front.
    ///
    /// # Errors
    /// When the kernel gives no inotify.
    pub fn new(sense: &Sense) -> Result<Option<Self>> {
        let path = sense.path(FRONT);
        let failed = |source| Error::reading(path.clone(), source);
        let inotify = Inotify::new().map_err(failed)?;
        if inotify.add(&path, WatchFlags::MODIFY).map_err(failed)?.is_none() {
            return Ok(None);
        }
        for file in MOVED_THROUGH {
            inotify.add(&sense.path(file), WatchFlags::MODIFY).map_err(failed)?;
        }
        Ok(Some(Self { inotify }))
    }

    /// Reads and drops the announced events.
    ///
    /// # Errors
    /// When inotify cannot be read.
    pub fn take(&mut self) -> Result<()> {
        self.inotify.take().map(drop).map_err(|source| Error::reading(FRONT.into(), source))
    }
}

impl AsFd for FrontWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}
