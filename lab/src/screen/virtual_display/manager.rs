//! matchbox: a window manager for handhelds, on a virtual screen.
//!
//! It is a client of the display like any other, hence it is ready when the display says so: when the root names a
//! window manager that answers, and lists its windows.

use std::process::Command;
use std::time::Duration;

use super::child::Server;
use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Error, Result};
use crate::screen::x11::X11;

const PROGRAM: &str = "matchbox-window-manager";
/// How long it may take until it is ready; cold storage included.
const START_NS: u64 = 60_000_000_000;
/// How often to look whether it still runs.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Starts one on `display` and waits until it manages; the pointer goes to the second screen. It ends when the calling
/// thread does.
pub(super) fn start(display: &str) -> Result<Server> {
    let mut screen = X11::connect(Some(display))?;
    screen.put_pointer_away()?;
    begin(&mut screen, display).map_err(|error| match error {
        Error::NoServer { reason, .. } => Error::NoManager { display: display.to_owned(), reason },
        error => error,
    })
}

fn begin(screen: &mut X11, display: &str) -> Result<Server> {
    let mut command = Command::new(PROGRAM);
    command.args(["-display", display, "-use_titlebar", "no", "-use_cursor", "no"]);
    // It would take keys such as alt+F4 and alt+n, which are the app's.
    command.args(["-kbdconfig", "/dev/null"]);
    let mut manager = Server::start(PROGRAM, PROGRAM, command)?;
    let until_ns = monotonic_ns() + START_NS;
    while !screen.is_managed_within(LOOK_AGAIN_AFTER)? {
        if manager.has_ended() {
            return Err(manager.failed("it ended at once"));
        }
        if monotonic_ns() > until_ns {
            return Err(manager.failed("it was not ready within 60 s"));
        }
    }
    Ok(manager)
}
