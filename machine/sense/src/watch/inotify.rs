//! inotify(7), with its events as owned values.

use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// The kernel gives each user so many instances; root's are shared by all its services and containers.
const NONE_LEFT: &str = "no inotify instance is left: raise fs.inotify.max_user_instances, and restart briskd";

#[derive(Debug)]
pub(super) struct Inotify(OwnedFd);

#[derive(Debug)]
pub(super) struct Notice {
    pub(super) watch: i32,
    pub(super) flags: ReadFlags,
    pub(super) name: Option<OsString>,
}

impl Inotify {
    pub(super) fn new() -> std::io::Result<Self> {
        let opened = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        Ok(Self(opened.map_err(|errno| match errno {
            Errno::MFILE => std::io::Error::other(NONE_LEFT),
            errno => errno.into(),
        })?))
    }

    /// Watches `path`; `None` when it went meanwhile.
    pub(super) fn add(&self, path: &Path, flags: WatchFlags) -> std::io::Result<Option<i32>> {
        match inotify::add_watch(&self.0, path, flags) {
            Ok(watch) => Ok(Some(watch)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn remove(&self, watch: i32) {
        // Gone already is as good.
        let _ = inotify::remove_watch(&self.0, watch);
    }

    /// What is there to read, at most one buffer of it.
    pub(super) fn take(&self) -> std::io::Result<Vec<Notice>> {
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
