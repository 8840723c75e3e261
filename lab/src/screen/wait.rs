//! Waits for a file descriptor with a deadline.

use std::io::Result;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::screen::clock::monotonic_ns;

/// Waits for `events`, an error or a hang-up, until `deadline_ns` of CLOCK_MONOTONIC; returns false on timeout.
pub(crate) fn wait(fd: BorrowedFd<'_>, events: PollFlags, deadline_ns: u64) -> Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(fd, events)];
    loop {
        let left_ns = deadline_ns.saturating_sub(monotonic_ns());
        let left = Timespec { tv_sec: (left_ns / 1_000_000_000) as i64, tv_nsec: (left_ns % 1_000_000_000) as i64 };
        match rustix::event::poll(&mut fds, Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
