//! netlink(7): messages that the kernel sends by itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, send, socket_with,
};

use crate::error::{Error, Result};

/// Messages are shorter (UEVENT_BUFFER_SIZE, and its head).
const MESSAGE_BYTES: usize = 4096;

/// A socket that receives one group of messages.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    name: &'static str,
}

impl Netlink {
    /// A socket of `protocol` to which `prepare` is done before it receives the messages of `group`.
    pub(super) fn open(
        name: &'static str,
        protocol: Protocol,
        group: u32,
        prepare: impl FnOnce(&OwnedFd),
    ) -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let failed = |errno| failed(name, errno);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(protocol)).map_err(failed)?;
        prepare(&socket);
        bind(&socket, &SocketAddrNetlink::new(0, group)).map_err(failed)?;
        Ok(Self { socket, name })
    }

    /// Sends a message to the kernel.
    pub(super) fn send(&self, message: &[u8]) -> Result<()> {
        send(&self.socket, message, SendFlags::empty()).map(drop).map_err(|errno| failed(self.name, errno))
    }

    /// What `parse` makes of the messages that are there, `most` at once, in their order; `None` where the kernel had
    /// to drop some. Messages of other senders than the kernel are ignored.
    pub(super) fn take<T>(&self, most: usize, parse: fn(&[u8]) -> Option<T>) -> Result<Vec<Option<T>>> {
        let mut messages = Vec::new();
        let mut buffer = [0u8; MESSAGE_BYTES];
        for _ in 0..most {
            match recvfrom(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((length, _, from)) => {
                    let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                    if from.is_some_and(|from| from.pid() == 0) {
                        messages.extend(parse(&buffer[..length.min(MESSAGE_BYTES)]).map(Some));
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => messages.push(None),
                Err(errno) => return Err(failed(self.name, errno)),
            }
        }
        Ok(messages)
    }
}

fn failed(name: &str, errno: Errno) -> Error {
    Error::Read { path: name.into(), source: errno.into() }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
