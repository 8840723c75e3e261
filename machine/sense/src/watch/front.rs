//! Which processes are in front, where something says so: the `top-app` group of cpusets, into which Android moves the
//! app that has the focus (system/core/libprocessgroup/profiles/task_profiles.json: `ProcessCapacityMax`).
//!
//! The list is one small file, watched by inotify. On systems without it the app in front is unknown.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::inotify::WatchFlags;

use super::inotify::Inotify;
use crate::error::{Error, Result};
use crate::machine::Sense;
use crate::readers::FRONT;

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
        let watch = inotify.add(&path, WatchFlags::MODIFY).map_err(failed)?;
        Ok(watch.map(|_| Self { inotify }))
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
