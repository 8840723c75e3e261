//! Block devices that come, go and change: the kernel's uevents (Documentation/ABI/stable/sysfs-uevent, lib/kobject_uevent.c).
//!
//! Messages of anybody but the kernel are not heard. When the kernel had to drop some, that is told, and whoever listens
//! looks at /sys again.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use brisk_formats::{BlockChange, parse_uevent};
use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recvfrom, socket_with};

use crate::error::{Error, Result};

/// The kernel's own messages; what udev sends on is in group 2.
const FROM_KERNEL: u32 = 1;

/// A message is shorter (UEVENT_BUFFER_SIZE, and its head).
const MESSAGE_BYTES: usize = 4096;

/// Listens to the kernel's uevents.
#[derive(Debug)]
pub struct BlockWatch {
    socket: OwnedFd,
}

fn failed(errno: Errno) -> Error {
    Error::Read { path: "netlink:kobject_uevent".into(), source: errno.into() }
}

impl BlockWatch {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the kernel has no uevents, or gives none in this network namespace's place.
    pub fn new() -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT)).map_err(failed)?;
        bind(&socket, &SocketAddrNetlink::new(0, FROM_KERNEL)).map_err(failed)?;
        Ok(Self { socket })
    }

    /// What became of block devices since the last time; to be called when the descriptor is readable.
    ///
    /// # Errors
    /// When the socket cannot be read.
    pub fn take(&mut self) -> Result<Vec<BlockChange>> {
        let mut changes = Vec::new();
        let mut buffer = [0u8; MESSAGE_BYTES];
        // As many as a device with many partitions sends at once; more are left for the next time.
        for _ in 0..256 {
            match recvfrom(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((length, _, from)) => {
                    let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                    if from.is_some_and(|from| from.pid() == 0) {
                        changes.extend(parse_uevent(&buffer[..length.min(MESSAGE_BYTES)]));
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => changes.push(BlockChange::Unknown),
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(changes)
    }
}

impl AsFd for BlockWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
