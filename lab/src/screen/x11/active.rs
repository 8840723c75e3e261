//! The active window, and no more: for a program that runs as long as the session and is to cost next to nothing. It
//! takes no damage, so that drawing wakes nothing.

use std::time::Duration;

use x11rb::connection::Connection as _;

use super::link::Link;
use super::windows::Windows;
use crate::screen::interface::{Result, WindowInfo};

/// A connection to an X11 server that follows its active window (EWMH `_NET_ACTIVE_WINDOW`).
#[derive(Debug)]
pub struct ActiveWindow {
    link: Link,
    windows: Windows,
}

impl ActiveWindow {
    /// Connects to `display`, such as `:99`, or to the one that `DISPLAY` names.
    ///
    /// # Errors
    /// When no server answers.
    pub fn connect(display: Option<&str>) -> Result<Self> {
        let link = Link::connect(display)?;
        let windows = Windows::new(&link)?;
        Ok(Self { link, windows })
    }

    /// Such as `:99`.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.link.display
    }

    /// The active window; `None` when there is none, or no window manager that says so.
    ///
    /// # Errors
    /// When the connection to the server is lost, or an app holds the whole server.
    pub fn get(&mut self) -> Result<Option<WindowInfo>> {
        self.link.begin();
        self.windows.active(&self.link)
    }

    /// Waits until another window may be active; `false` after `timeout`.
    ///
    /// # Errors
    /// When the connection to the server is lost.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool> {
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = crate::screen::clock::monotonic_ns().saturating_add(timeout_ns);
        loop {
            self.link.begin();
            let mut changed = false;
            while let Some(event) = self.link.sent("events", self.link.conn.poll_for_event())? {
                changed |= self.windows.is_of_active(&event);
            }
            let left_ns = until_ns.saturating_sub(crate::screen::clock::monotonic_ns());
            if changed || left_ns == 0 {
                return Ok(changed);
            }
            self.link.sent("requests", self.link.conn.flush())?;
            let waited = self.link.conn.stream().wait_readable(left_ns);
            waited.map_err(|error| self.link.io_error("events", error))?;
        }
    }
}
