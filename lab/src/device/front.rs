//! Interface between the emulated device and the kernel: requests in, replies out.
//!
//! The device ([`crate::device::emulated`]) does not know the connection of a request; the connections
//! ([`crate::device::fuse`], [`crate::device::ublk`]) do not know the meaning of a request or the time of its reply.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::device::emulated::Outcome;
use crate::device::request::Received;
use crate::device::store::Store;
use crate::device::{fuse, ublk};

/// A connection to the kernel.
pub(crate) enum Front {
    Fuse(fuse::Front),
    Ublk(Box<ublk::Front>),
}

impl Front {
    /// Returns the next request, if there is one. Never blocks.
    pub(crate) fn receive(&mut self) -> io::Result<Received<'_>> {
        match self {
            Self::Fuse(front) => front.receive(),
            Self::Ublk(front) => front.receive(),
        }
    }

    /// Replies to a request at once. A withdrawn request is not an error.
    pub(crate) fn reply(&mut self, unique: u64, outcome: Outcome, store: &Store) -> io::Result<()> {
        match self {
            Self::Fuse(front) => front.reply(unique, outcome, store),
            Self::Ublk(front) => front.reply(unique, outcome, store),
        }
    }
}

/// Readable when there is something to receive.
impl AsFd for Front {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Fuse(front) => front.as_fd(),
            Self::Ublk(front) => front.as_fd(),
        }
    }
}
