//! The activated window, and no more: for a program that runs as long as the session and is to cost next to nothing. It
//! takes no frames, so that drawing wakes nothing; a window that changes its title does.

use std::time::Duration;

use wayland_protocols_wlr::foreign_toplevel::v1::client::zwlr_foreign_toplevel_manager_v1::ZwlrForeignToplevelManagerV1;

use super::link::Link;
use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Error, Result, WindowInfo};

/// A connection to a Wayland compositor that follows its activated window (zwlr_foreign_toplevel_management).
#[derive(Debug)]
pub struct ActiveToplevel {
    link: Link,
    /// The manager of windows, which must stay bound.
    _windows: ZwlrForeignToplevelManagerV1,
    /// Id and app id of the window that was active at the last call.
    seen: Option<(u64, String)>,
}

impl ActiveToplevel {
    /// Connects to `display`, a name in XDG_RUNTIME_DIR or the absolute path of a socket, or to the one that
    /// `WAYLAND_DISPLAY` names.
    ///
    /// # Errors
    /// When no compositor answers, or it lacks the protocol.
    pub fn connect(display: Option<&str>) -> Result<Self> {
        let mut link = Link::connect(display)?;
        let windows = link.needed(3)?;
        link.round_trip("the windows")?;
        Ok(Self { link, _windows: windows, seen: None })
    }

    /// Such as `wayland-1`.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.link.display
    }

    /// The activated window, without its process; of several, as with several seats, the one that was activated last.
    /// `None` when there is none: on an empty screen, and while a menu or a lock screen has the keys.
    ///
    /// # Errors
    /// When the connection to the compositor is lost, it does not answer, or it tells of windows no more.
    pub fn get(&mut self) -> Result<Option<WindowInfo>> {
        // One window is deactivated before the next is activated: by the answer both have happened.
        self.link.round_trip("the windows")?;
        self.check()?;
        let active = self.link.state.active().cloned();
        self.seen = active.as_ref().map(|window| (window.id, window.app_id.clone()));
        Ok(active)
    }

    /// Waits until another window may be active than at the last [`Self::get`]; `false` after `timeout`.
    ///
    /// # Errors
    /// When the connection to the compositor is lost, or it tells of windows no more.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool> {
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = monotonic_ns().saturating_add(timeout_ns);
        loop {
            self.check()?;
            let now = self.link.state.active().map(|window| (window.id, window.app_id.as_str()));
            if now != self.seen.as_ref().map(|(id, app_id)| (*id, app_id.as_str())) {
                return Ok(true);
            }
            if !self.link.pump(until_ns)? {
                return Ok(false);
            }
        }
    }

    /// Checks that the compositor tells of windows, and drops the changes of these, which others use.
    fn check(&mut self) -> Result<()> {
        self.link.state.changes.clear();
        // A compositor says so when it ends.
        let finished = self.link.state.windows_finished;
        if finished { Err(Error::Lost { display: self.link.display.clone() }) } else { Ok(()) }
    }
}
