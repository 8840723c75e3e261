//! Sway without a screen: a Wayland compositor that draws into memory.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::child::Server;
use crate::screen::interface::{Error, Result};

/// The user without rights of most systems; sway refuses to run as root.
const NOBODY: u32 = 65_534;

/// A sway of one's own; it ends with this value, or with the thread that started it.
#[derive(Debug)]
pub struct VirtualSway {
    server: Server,
    runtime_dir: PathBuf,
    socket: PathBuf,
}

impl VirtualSway {
    /// Starts one with a screen of `size` pixels, drawn by the processor, and waits until it takes connections. Root
    /// starts it as the user 65534 (nobody). Windows get no borders and are tiled, as sway does.
    ///
    /// It ends when the *thread* that called ends (PR_SET_PDEATHSIG), so call from one that stays.
    ///
    /// # Errors
    /// When sway is not installed (Debian package `sway`), or does not start: then with its last words.
    pub fn start(size: (u32, u32)) -> Result<Self> {
        let runtime_dir = make_runtime_dir(size).map_err(|error| Error::NoServer {
            display: "a new sway".into(),
            reason: format!("no directory for its socket: {error}"),
        })?;
        let started = start_in(&runtime_dir);
        match started {
            Ok((server, socket)) => Ok(Self { server, runtime_dir, socket }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&runtime_dir);
                Err(error)
            }
        }
    }

    /// Absolute path of the socket, for [`crate::screen::Wayland::connect`] or `WAYLAND_DISPLAY`.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The server's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }
}

impl Drop for VirtualSway {
    fn drop(&mut self) {
        self.server.end();
        let _ = std::fs::remove_dir_all(&self.runtime_dir);
    }
}

/// Creates a directory for socket and configuration, owned by sway's user.
fn make_runtime_dir(size: (u32, u32)) -> std::io::Result<PathBuf> {
    let dir = tempfile::Builder::new().prefix("brisk-sway-").tempdir()?;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700))?;
    // sway runs the last line when its sockets are open.
    let configuration = format!(
        "output * resolution {}x{} position 0 0\ndefault_border none\ndefault_floating_border none\n\
         xwayland disable\nexec echo \"socket=$WAYLAND_DISPLAY\"\n",
        size.0, size.1
    );
    let path = dir.path().join("config");
    std::fs::write(&path, configuration)?;
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY))?;
        std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY))?;
    }
    Ok(dir.keep())
}

fn start_in(runtime_dir: &Path) -> Result<(Server, PathBuf)> {
    let mut command = Command::new("sway");
    command.arg("--config").arg(runtime_dir.join("config")).current_dir("/");
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "SWAYSOCK", "DBUS_SESSION_BUS_ADDRESS"] {
        command.env_remove(name);
    }
    command
        .env("XDG_RUNTIME_DIR", runtime_dir)
        .env("HOME", runtime_dir)
        .env("WLR_BACKENDS", "headless")
        .env("WLR_LIBINPUT_NO_DEVICES", "1")
        .env("WLR_RENDERER", "pixman");
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let mut server = Server::start("sway", "sway", command)?;
    let name = server.line("socket=")?;
    Ok((server, runtime_dir.join(name)))
}
