//! The connection's socket, with a deadline for each wait.
//!
//! Any X client may grab the server, which then answers no other client. `x11rb` waits for replies without limit, so
//! waits are limited here, by the deadline of the current call.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::PollFlags;
use x11rb::rust_connection::{DefaultStream, PollMode, Stream};
use x11rb::utils::RawFdContainer;

use crate::screen::clock::monotonic_ns;
use crate::screen::wait::wait;

/// A socket with a deadline.
#[derive(Debug)]
pub(super) struct TimedStream {
    inner: DefaultStream,
    deadline_ns: AtomicU64,
}

impl TimedStream {
    /// The first deadline is `limit_ns` from now.
    pub(super) fn new(inner: DefaultStream, limit_ns: u64) -> Self {
        let stream = Self { inner, deadline_ns: AtomicU64::new(0) };
        stream.limit(limit_ns);
        stream
    }

    /// Sets the deadline of the next call to `limit_ns` from now.
    pub(super) fn limit(&self, limit_ns: u64) {
        self.deadline_ns.store(monotonic_ns() + limit_ns, Ordering::Relaxed);
    }

    /// Waits until the socket is readable or closed; returns false after `timeout_ns`.
    pub(super) fn wait_readable(&self, timeout_ns: u64) -> Result<bool> {
        wait(self.inner.as_fd(), PollFlags::IN, monotonic_ns() + timeout_ns)
    }
}

impl Stream for TimedStream {
    fn poll(&self, mode: PollMode) -> Result<()> {
        let mut events = PollFlags::empty();
        if mode.readable() {
            events |= PollFlags::IN;
        }
        if mode.writable() {
            events |= PollFlags::OUT;
        }
        match wait(self.inner.as_fd(), events, self.deadline_ns.load(Ordering::Relaxed))? {
            true => Ok(()),
            false => Err(Error::from(ErrorKind::TimedOut)),
        }
    }

    fn read(&self, buf: &mut [u8], fd_storage: &mut Vec<RawFdContainer>) -> Result<usize> {
        self.inner.read(buf, fd_storage)
    }

    fn write(&self, buf: &[u8], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        self.inner.write(buf, fds)
    }

    fn write_vectored(&self, bufs: &[IoSlice<'_>], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        self.inner.write_vectored(bufs, fds)
    }
}
