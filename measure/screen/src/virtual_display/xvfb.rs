//! Xvfb: an X11 server that draws into memory.

use std::path::Path;
use std::process::Command;

use super::child::Server;
use crate::screen::{Error, Result};

/// Largest side that X11 can name.
const SIDE_MAX: u32 = 32_767;

/// An Xvfb of one's own; it ends with this value, or with the thread that started it.
#[derive(Debug)]
pub struct VirtualX {
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
        if ![size.0, size.1].iter().all(|side| (1..=SIDE_MAX).contains(side)) {
            return Err(Error::NoServer {
                display: "a new Xvfb".into(),
                reason: format!("a screen has 1 to {SIDE_MAX} pixels a side, not {} x {}", size.0, size.1),
            });
        }
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-nolisten", "tcp", "-noreset"]);
        command.args(["-screen", "0", &format!("{}x{}x{depth}", size.0, size.1)]);
        let mut server = Server::start("Xvfb", "xvfb", command)?;
        let number = server.line("")?;
        let display = format!(":{number}");
        Ok(Self { server, number, display })
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
}

impl Drop for VirtualX {
    fn drop(&mut self) {
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
