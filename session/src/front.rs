//! What is in front, and where that is seen.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The window that has the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Front {
    /// Each window is told: it may be of an app that began since the last one.
    Window {
        /// Of the display's own count.
        id: u64,
        /// Where the display tells it.
        pid: Option<u32>,
        /// Empty where the display tells none.
        app_id: String,
    },
    Nothing,
}

/// The display has ended, or tells no more.
#[derive(Debug)]
pub(crate) struct Lost;

/// A display that tells which window is in front. It is woken by that alone: drawing costs nothing.
pub(crate) trait Display {
    /// The window in front now.
    ///
    /// # Errors
    /// When the display has ended.
    fn front(&mut self) -> Result<Front, Lost>;

    /// Sleeps until another window may be in front, at most so long.
    ///
    /// # Errors
    /// When the display has ended.
    fn wait(&mut self, at_most: Duration) -> Result<(), Lost>;
}

/// Waits until something can be read; false when the time is over before.
pub(crate) fn readable(fd: BorrowedFd<'_>, at_most: Duration) -> Result<bool, Lost> {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    match poll(&mut fds, Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(_) => Err(Lost),
    }
}
