//! FUSE connection to the kernel: a mount with one file.
//!
//! The server is written for this purpose: it replies out of order, from one real-time thread, without allocation in
//! the path of a request, and measures its own lateness.
//!
//! [`Connection`] transfers messages; [`Front`] interprets them and answers those that are not about data.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use brisk_profile::lab_client::state::FILE_NAME;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use crate::device::emulated::Outcome;
use crate::device::error::{Error, Result};
use crate::device::log::log;
use crate::device::request::{Call, Received, Request};
use crate::device::store::Store;
use crate::device::wire;

pub(crate) const DEV_FUSE: &str = "/dev/fuse";

/// An open connection. Closing it aborts the mount: pending requests fail.
#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
}

/// Result of reading the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Message(usize),
    Nothing,
    /// The file system was unmounted.
    Unmounted,
}

impl Connection {
    /// Mounts the file system on `mount_point`, for root alone.
    fn mount(mount_point: &Path) -> Result<Self> {
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
        rustix::mount::mount("brisk-lab", mount_point, "fuse.brisk-lab", flags, options.as_c_str()).map_err(
            |errno| match errno {
                Errno::PERM | Errno::ACCESS => {
                    Error::MountRefused { path: mount_point.to_owned(), source: errno.into() }
                }
                errno => {
                    crate::device::error::io(format!("mount a FUSE file system on {}", mount_point.display()))(errno)
                }
            },
        )?;
        Ok(Self { fd })
    }

    /// Returns the next message, if there is one.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Taken> {
        loop {
            return match rustix::io::read(&self.fd, &mut *buffer) {
                Ok(len) => Ok(Taken::Message(len)),
                Err(Errno::AGAIN) => Ok(Taken::Nothing),
                Err(Errno::NODEV) => Ok(Taken::Unmounted),
                // The request was withdrawn during transfer, or a signal arrived: there may be another message.
                Err(Errno::NOENT | Errno::INTR) => continue,
                Err(errno) => Err(errno.into()),
            };
        }
    }

    /// Replies to a request; a withdrawn request is not an error.
    fn reply(&self, unique: u64, error: i32, body: &[u8]) -> io::Result<()> {
        let head = wire::out_header(unique, error, body.len());
        match rustix::io::writev(&self.fd, &[IoSlice::new(&head), IoSlice::new(body)]) {
            Ok(_) | Err(Errno::NOENT | Errno::NODEV | Errno::CONNABORTED) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The server's side of the mount.
#[derive(Debug)]
pub(crate) struct Front {
    connection: Connection,
    buffer: Vec<u8>,
    size_bytes: u64,
}

impl Front {
    /// Mounts the file system with a file of this size.
    pub(crate) fn new(mount_point: &Path, size_bytes: u64) -> Result<Self> {
        let connection = Connection::mount(mount_point)?;
        Ok(Self { connection, buffer: vec![0; wire::MESSAGE_BYTES_MAX], size_bytes })
    }

    /// Returns the next message, if there is one.
    pub(crate) fn receive(&mut self) -> io::Result<Received<'_>> {
        let len = match self.connection.receive(&mut self.buffer)? {
            Taken::Message(len) => len,
            Taken::Nothing => return Ok(Received::Nothing),
            Taken::Unmounted => return Ok(Received::Gone),
        };
        let message = match wire::parse(&self.buffer[..len]) {
            Ok(message) => message,
            Err(wire::Malformed::NoHeader) => return Ok(Received::Own),
            Err(wire::Malformed::Body { unique }) => {
                self.answer(unique, libc::EINVAL, &[]);
                return Ok(Received::Own);
            }
        };
        let unique = message.unique;
        let request = |call| Ok(Received::Request(Request { unique, call }));
        match message.call {
            wire::Call::Read { offset_bytes, len_bytes } => {
                return request(Call::Read { offset_bytes, len_bytes: len_bytes.into() });
            }
            wire::Call::Write { offset_bytes, data } => return request(Call::Write { offset_bytes, data }),
            wire::Call::Fsync => return request(Call::Flush),
            wire::Call::Discard { offset_bytes, len_bytes } => {
                return request(Call::Discard { offset_bytes, len_bytes });
            }
            wire::Call::Init { major, minor, max_readahead, flags } => {
                match wire::init_reply(major, minor, max_readahead, flags) {
                    Some(body) => self.answer(unique, 0, &body),
                    None => {
                        log("this kernel's FUSE lacks asynchronous direct I/O (Linux 4.20 has it)");
                        self.answer(unique, libc::EPROTO, &[]);
                    }
                }
            }
            wire::Call::Lookup { name } if message.node == wire::ROOT && name == FILE_NAME.as_bytes() => {
                self.answer(unique, 0, &wire::entry_reply(self.size_bytes));
            }
            wire::Call::Lookup { .. } => self.answer(unique, libc::ENOENT, &[]),
            wire::Call::GetAttr => self.answer(unique, 0, &wire::attr_reply(message.node, self.size_bytes)),
            wire::Call::Open if message.node == wire::FILE => self.answer(unique, 0, &wire::open_reply()),
            wire::Call::StatFs => self.answer(unique, 0, &wire::statfs_reply(self.size_bytes)),
            wire::Call::Flush | wire::Call::Release | wire::Call::Destroy => self.answer(unique, 0, &[]),
            wire::Call::Silent => {}
            wire::Call::Open | wire::Call::Unknown => self.answer(unique, libc::ENOSYS, &[]),
        }
        Ok(Received::Own)
    }

    fn answer(&self, unique: u64, errno: i32, body: &[u8]) {
        if let Err(error) = self.connection.reply(unique, errno, body) {
            log(&format!("a reply was refused: {error}"));
        }
    }

    pub(crate) fn reply(&self, unique: u64, outcome: Outcome, store: &Store) -> io::Result<()> {
        match outcome {
            Outcome::Data { offset_bytes, len_bytes } => {
                self.connection.reply(unique, 0, store.read(offset_bytes, len_bytes))
            }
            Outcome::Written { len_bytes } => self.connection.reply(unique, 0, &wire::write_reply(len_bytes as u32)),
            Outcome::Done => self.connection.reply(unique, 0, &[]),
            Outcome::Failed(errno) => self.connection.reply(unique, errno, &[]),
        }
    }
}

impl AsFd for Front {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.fd.as_fd()
    }
}

/// Unmounts; `lazily` also when it is in use or its server is dead. A missing mount is not an error, also without the
/// right to unmount, for which the kernel looks first.
pub(crate) fn unmount(mount_point: &Path, lazily: bool) -> io::Result<()> {
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() } | UnmountFlags::NOFOLLOW;
    match rustix::mount::unmount(mount_point, flags) {
        Ok(()) | Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        Err(Errno::PERM | Errno::ACCESS) if !is_mounted(mount_point) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether something is mounted on the directory; also when that cannot be found out.
fn is_mounted(mount_point: &Path) -> bool {
    // The kernel lists mounts without links in their paths. The mount itself may belong to a dead server.
    let Some((parent, name)) = mount_point.parent().zip(mount_point.file_name()) else { return true };
    let Ok(parent) = parent.canonicalize() else { return true };
    let listed = brisk_sense::Sense::default().mounts();
    listed.map_or(true, |mounts| mounts.iter().any(|mount| mount.mount_point == parent.join(name)))
}
