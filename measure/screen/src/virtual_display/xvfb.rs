//! Xvfb: an X11 server that draws into memory, with or without a window manager.

use std::path::Path;
use std::process::Command;

use super::child::Server;
use super::manager;
use crate::screen::{Error, Result};

/// Largest side that X11 can name.
const SIDE_MAX: u32 = 32_767;

/// An Xvfb of one's own; it ends with this value, or with the thread that started it.
#[derive(Debug)]
pub struct VirtualX {
    manager: Option<Server>,
    server: Server,
    number: String,
    display: String,
}

impl VirtualX {
    /// Starts one with a screen of `size` pixels of `depth` bits (24 is what [`crate::X11`] can watch), on a display number
    /// that is free, and waits until it takes connections. Only users of this machine that the server runs as can connect.
    ///
    /// It ends when the *thread* that called ends (PR_SET_PDEATHSIG), so call from one that stays.
    ///
    /// # Errors
    /// When Xvfb is not installed (Debian package `xvfb`), or does not start: then with its last words.
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

    /// The same with a window manager that does as a phone does: the main window of an app fills the screen, without a frame
    /// that one could see, the newest is in front and has the keys, dialogs are centred above it. No key is taken from
    /// the app. It is matchbox, which was made for handhelds; it ends with this value as the server does. Until someone
    /// moves it the pointer hovers over nothing, so that it calls up no tooltip: it is on a second, empty screen.
    ///
    /// # Errors
    /// As [`VirtualX::start`], and when matchbox is not installed (Debian package `matchbox-window-manager`) or does not
    /// start: then with its last words.
    pub fn start_as_phone(size: (u32, u32), depth: u8) -> Result<Self> {
        let mut server = Self::start_with(size, depth, &["-screen", "1", "16x16x24"])?;
        server.manager = Some(manager::start(&server.display)?);
        Ok(server)
    }

    /// Such as `:99`, for [`crate::X11::connect`] or `DISPLAY`.
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
        // First, so that it loses no server, of which it would complain.
        self.manager = None;
        self.server.end();
        // A server that ended well removed them; one that was killed left them, and the lock names it. Its process id is
        // still taken, so no other server takes the lock for a dead one's meanwhile.
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
