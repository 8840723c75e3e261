//! The connection to the kernel: a FUSE mount that shows one file.
//!
//! The flash lab is what brisk is about, so the server is its own and not a library's: it replies out of order, from one
//! real-time thread, without an allocation on the way of a request, and it knows when it is late.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use crate::error::{Error, Result};
use crate::wire;

/// The device file of FUSE.
pub(crate) const DEV_FUSE: &str = "/dev/fuse";

/// An open connection. Closing it aborts the mount: everything that waits for a reply fails.
#[derive(Debug)]
pub(crate) struct Connection {
    fd: OwnedFd,
}

/// What a read of the connection gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// A message of so many bytes.
    Message(usize),
    /// Nothing waits.
    Nothing,
    /// The file system was unmounted.
    Unmounted,
}

impl Connection {
    /// Mounts the file system on `mount_point`, for root alone.
    pub(crate) fn mount(mount_point: &Path) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(DEV_FUSE, flags, Mode::empty()).map_err(|errno| Error::NoDeviceFile {
            path: DEV_FUSE.into(),
            remedy: "the kernel needs CONFIG_FUSE_FS (try: modprobe fuse)",
            source: errno.into(),
        })?;
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,max_read={}", fd.as_raw_fd(), wire::MAX_IO_BYTES);
        let options = std::ffi::CString::new(options).expect("digits and commas hold no zero byte");
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
        rustix::mount::mount("brisk-lab", mount_point, "fuse.brisk-lab", flags, options.as_c_str())
            .map_err(crate::error::io(format!("mount a FUSE file system on {}", mount_point.display())))?;
        Ok(Self { fd })
    }

    /// Takes the next message, if one waits.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            return match rustix::io::read(&self.fd, &mut *buffer) {
                Ok(len) => Ok(Received::Message(len)),
                Err(Errno::AGAIN) => Ok(Received::Nothing),
                Err(Errno::NODEV) => Ok(Received::Unmounted),
                // The request was withdrawn while it was handed over, or a signal came: there may be another.
                Err(Errno::NOENT | Errno::INTR) => continue,
                Err(errno) => Err(errno.into()),
            };
        }
    }

    /// Replies to a request. A request that was withdrawn meanwhile is no error.
    pub(crate) fn reply(&self, unique: u64, error: i32, body: &[u8]) -> io::Result<()> {
        let head = wire::out_header(unique, error, body.len());
        match rustix::io::writev(&self.fd, &[IoSlice::new(&head), IoSlice::new(body)]) {
            Ok(_) | Err(Errno::NOENT | Errno::NODEV | Errno::CONNABORTED) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Takes the mount off its place; `lazily` also when it is in use or its server is dead. Not mounted is no error.
pub(crate) fn unmount(mount_point: &Path, lazily: bool) -> io::Result<()> {
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() } | UnmountFlags::NOFOLLOW;
    match rustix::mount::unmount(mount_point, flags) {
        Ok(()) | Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
