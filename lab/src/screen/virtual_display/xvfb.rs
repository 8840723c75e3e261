//! Xvfb: an X11 server that draws into memory, with or without a window manager.

use std::path::Path;
use std::process::Command;

use super::child::Server;
use super::manager;
use crate::screen::interface::{Error, Result};

/// Largest side that X11 can name.
const SIDE_MAX: u32 = 32_767;

/// An own Xvfb; it ends with this value, or with the thread that started it.
#[derive(Debug)]
pub struct VirtualX {
    manager: Option<Server>,
    server: Server,
    number: String,
    display: String,
}

impl VirtualX {
    /// Starts a server with a screen of `size` pixels of `depth` bits (24 is what [`crate::screen::X11`] can watch) on
    /// a free display number, and waits until it accepts connections. Only the server's user can connect.
    ///
    /// It ends when the *thread* that called ends (PR_SET_PDEATHSIG), so call from one that stays.
    ///
    /// # Errors
    /// When Xvfb is not installed (Debian package `xvfb`), or does not start; with its last output.
    pub fn start(size: (u32, u32), depth: u8) -> Result<Self> {
        Self::start_with(size, depth, &[])
    }

    fn start_with(size: (u32, u32), depth: u8, more: &[&str]) -> Result<Self> {
        if ![size.0, size.1].iter().all(|side| (1..=SIDE_MAX).contains(side)) {
            return Err(Error::NoServer {
                display: "a new Xvfb".into(),
                reason: format!("a screen has 1 to {SIDE_MAX} pixels a side, not {} x {}", size.0, size.1),
            });
        }
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-nolisten", "tcp", "-noreset"]);
        command.args(["-screen", "0", &format!("{}x{}x{depth}", size.0, size.1)]);
        command.args(more);
        let mut server = Server::start("Xvfb", "xvfb", command)?;
        let number = server.line("")?;
        let display = format!(":{number}");
        Ok(Self { manager: None, server, number, display })
    }

    /// As [`VirtualX::start`], with the window manager matchbox (made for handhelds), which behaves as on a phone: the
    /// main window of an app fills the screen without a visible frame, the newest has the focus, dialogs are centred
    /// above it. No keys are taken from the app. The pointer starts on a second, empty screen, so that it causes no
    /// tooltip.
    ///
    /// # Errors
    /// As [`VirtualX::start`], and when matchbox is not installed (Debian package `matchbox-window-manager`) or does
    /// not start; with its last output.
    pub fn start_as_phone(size: (u32, u32), depth: u8) -> Result<Self> {
        let mut server = Self::start_with(size, depth, &["-screen", "1", "16x16x24"])?;
        server.manager = Some(manager::start(&server.display)?);
        Ok(server)
    }

    /// Such as `:99`, for [`crate::screen::X11::connect`] or `DISPLAY`.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The server's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// The window manager's process, where there is one.
    #[must_use]
    pub fn manager_pid(&self) -> Option<u32> {
        self.manager.as_ref().map(Server::pid)
    }
}

impl Drop for VirtualX {
    fn drop(&mut self) {
        // First, as it would report a lost server.
        self.manager = None;
        self.server.end();
        // A server that was killed leaves these files; the lock names it. Its process id is still allocated, so no
        // other server treats the lock as stale meanwhile.
        let lock = format!("/tmp/.X{}-lock", self.number);
        let owner = std::fs::read_to_string(&lock).ok().and_then(|text| text.trim().parse::<u32>().ok());
        if owner == Some(self.server.pid()) {
            let socket = format!("/tmp/.X11-unix/X{}", self.number);
            for left in [&socket, &lock].map(Path::new) {
                let _ = std::fs::remove_file(left);
            }
        }
    }
}
