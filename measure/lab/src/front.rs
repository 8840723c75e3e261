//! The border between the emulated device and the kernel: requests come in, replies go out.
//!
//! Inside ([`crate::emulated`]) nobody knows by which way a request came; the ways ([`crate::fuse`], [`crate::ublk`]) do
//! not know what a request means or when it is due.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::emulated::Outcome;
use crate::store::Store;
use crate::{fuse, ublk};

/// What the kernel wants of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call<'a> {
    Read { offset_bytes: u64, len_bytes: u64 },
    Write { offset_bytes: u64, data: &'a [u8] },
    Flush,
    Discard { offset_bytes: u64, len_bytes: u64 },
}

/// A request, which waits for one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    /// Number that the reply carries; no other request that waits has it.
    pub(crate) unique: u64,
    /// What is wanted.
    pub(crate) call: Call<'a>,
}

/// What a look at the kernel's side gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received<'a> {
    /// A request.
    Request(Request<'a>),
    /// Something between the front and the kernel alone; it is done.
    Own,
    /// Nothing waits.
    Nothing,
    /// The kernel has let go of the device: nothing will come any more.
    Gone,
}

/// One of the ways.
pub(crate) enum Front {
    Fuse(fuse::Front),
    Ublk(Box<ublk::Front>),
}

impl Front {
    /// Takes the next request, if one waits. Never blocks.
    pub(crate) fn receive(&mut self) -> io::Result<Received<'_>> {
        match self {
            Self::Fuse(front) => front.receive(),
            Self::Ublk(front) => front.receive(),
        }
    }

    /// Replies to a request, now. One that was withdrawn meanwhile is no error.
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
