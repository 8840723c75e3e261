//! Arguments of `brisk front-watch`.

use std::path::PathBuf;

const AFTER_HELP: &str = "\
To be started with the session, for the engine that keeps memory for the app in front:
  brisk front-watch &

It ends with the display. The user has to be in the group that may use the daemon's socket ([daemon] socket_group), or \
root.

X11 takes a window manager that sets _NET_ACTIVE_WINDOW, Wayland a compositor with zwlr_foreign_toplevel_manager_v1 \
(sway, labwc, Wayfire, phoc); from others call 'brisk front PID'. On Wayland a window has an app id and no process: \
all running apps that the id may mean are in the foreground, such as two terminals. If several windows are activated \
(several seats), the one activated last counts; if none is (empty screen, menu, lock screen), no app is in the \
foreground. Exit codes: 0 the display has ended, 2 not possible.";

/// Arguments of `brisk front-watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Watch this display, such as :0 or wayland-1 [default: WAYLAND_DISPLAY, or DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    pub(crate) display: Option<String>,
    /// Where the daemon has its socket [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
}
