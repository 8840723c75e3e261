//! Block devices that come, go and change: the kernel's uevents (Documentation/ABI/stable/sysfs-uevent, lib/kobject_uevent.c).
//!
//! Messages of anybody but the kernel are not heard. When the kernel had to drop some, that is told, and whoever listens
//! looks at /sys again.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recvfrom, socket_with};

use crate::error::{Error, Result};

/// The kernel's own messages; what udev sends on is in group 2.
const FROM_KERNEL: u32 = 1;

/// A message is shorter (UEVENT_BUFFER_SIZE, and its head).
const MESSAGE_BYTES: usize = 4096;

/// What became of a whole block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockChange {
    /// It is there.
    Came(String),
    /// It is gone.
    Gone(String),
    /// It changed: another medium, another file behind a loop device, read-only by now.
    Changed(String),
    /// Changes were lost.
    Unknown,
}

/// Listens to the kernel's uevents.
#[derive(Debug)]
pub struct BlockWatch {
    socket: OwnedFd,
}

/// Reads one message: parts that end with a zero byte, the first a summary, the others `KEY=value`. `None` when it is not
/// of a whole block device.
fn parse_message(bytes: &[u8]) -> Option<BlockChange> {
    let (mut action, mut subsystem, mut kind, mut path) = (None, None, None, None);
    for part in bytes.split(|&byte| byte == 0).skip(1) {
        let Some(at) = part.iter().position(|&byte| byte == b'=') else { continue };
        let value = std::str::from_utf8(&part[at + 1..]).ok();
        match &part[..at] {
            b"ACTION" => action = value,
            b"SUBSYSTEM" => subsystem = value,
            b"DEVTYPE" => kind = value,
            b"DEVPATH" => path = value,
            _ => {}
        }
    }
    if (subsystem?, kind?) != ("block", "disk") {
        return None;
    }
    // As in /sys/block, where '!' stands for '/'.
    let name = path?.rsplit('/').next().filter(|name| !name.is_empty())?.to_owned();
    match action? {
        "add" => Some(BlockChange::Came(name)),
        "remove" => Some(BlockChange::Gone(name)),
        "change" | "online" | "offline" | "move" => Some(BlockChange::Changed(name)),
        _ => None,
    }
}

impl BlockWatch {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the kernel has no uevents, or gives none in this network namespace's place.
    pub fn new() -> Result<Self> {
        let failed = |errno: Errno| Error::Read { path: "netlink:kobject_uevent".into(), source: errno.into() };
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
                        changes.extend(parse_message(&buffer[..length.min(MESSAGE_BYTES)]));
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => changes.push(BlockChange::Unknown),
                Err(errno) => {
                    return Err(Error::Read { path: "netlink:kobject_uevent".into(), source: errno.into() });
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(action: &str, path: &str, kind: &str) -> Vec<u8> {
        let text =
            format!("{action}@{path}\0ACTION={action}\0DEVPATH={path}\0SUBSYSTEM=block\0DEVTYPE={kind}\0SEQNUM=7\0");
        text.into_bytes()
    }

    #[test]
    fn whole_disks_are_told_from_their_partitions() {
        let card = "/devices/platform/mmc/mmc1/mmc1:aaaa/block/mmcblk1";
        assert_eq!(parse_message(&message("add", card, "disk")), Some(BlockChange::Came("mmcblk1".to_owned())));
        assert_eq!(parse_message(&message("remove", card, "disk")), Some(BlockChange::Gone("mmcblk1".to_owned())));
        assert_eq!(parse_message(&message("change", card, "disk")), Some(BlockChange::Changed("mmcblk1".to_owned())));
        assert_eq!(parse_message(&message("add", &format!("{card}/mmcblk1p1"), "partition")), None);
        assert_eq!(parse_message(&message("bind", card, "disk")), None);
        assert_eq!(parse_message(b"add@/x\0ACTION=add\0DEVPATH=/x\0SUBSYSTEM=net\0"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_message(&bytes);
        }
    }
}
