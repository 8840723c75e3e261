//! What the kernel tells by itself: sources of events that poll(2) waits on.
//!
//! Each source has a descriptor (`AsFd`) and says which of poll's flags mean something. None is ever read without having
//! been announced, so whoever waits on them sleeps until something happened.
//!
//! - [`GroupWatch`]: control groups that come to life and go (inotify).
//! - [`BlockWatch`]: block devices that come, go and change (netlink, kobject uevents).
//! - [`SessionWatch`]: sessions of processes in which a program begins (netlink, process connector).
//! - [`FrontWatch`]: another app is in front (inotify).
//! - [`QueueWatch`]: somebody wrote a setting of a block queue (inotify).
//! - [`TableWatch`]: something was mounted or swap was switched on (poll on /proc).
//! - [`PressureWatch`]: tasks stood still for longer than allowed (PSI trigger).

mod blocks;
mod front;
mod groups;
mod passed;
mod pressure;
mod queues;
mod sessions;
mod tables;

pub use blocks::{BlockChange, BlockWatch};
pub use front::FrontWatch;
pub use groups::{Group, GroupChange, GroupWatch};
pub use pressure::PressureWatch;
pub use queues::QueueWatch;
pub use sessions::{ProcessSession, SessionChange, SessionWatch};
pub use tables::TableWatch;

use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// inotify, with its events as owned values.
#[derive(Debug)]
struct Inotify(OwnedFd);

/// One event of inotify.
#[derive(Debug)]
struct Notice {
    watch: i32,
    flags: ReadFlags,
    name: Option<OsString>,
}

impl Inotify {
    fn new() -> std::io::Result<Self> {
        Ok(Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
    }

    /// Watches `path`; `None` when it went meanwhile.
    fn add(&self, path: &Path, flags: WatchFlags) -> std::io::Result<Option<i32>> {
        match inotify::add_watch(&self.0, path, flags) {
            Ok(watch) => Ok(Some(watch)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn remove(&self, watch: i32) {
        // Gone already is as good.
        let _ = inotify::remove_watch(&self.0, watch);
    }

    /// What is there to read, at most one buffer of it.
    fn take(&self) -> std::io::Result<Vec<Notice>> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut notices = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => notices.push(Notice {
                    watch: event.wd(),
                    flags: event.events(),
                    name: event.file_name().map(|name| OsString::from_vec(name.to_bytes().to_vec())),
                }),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(notices),
                Err(error) => return Err(error.into()),
            }
            if reader.is_buffer_empty() {
                return Ok(notices);
            }
        }
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
