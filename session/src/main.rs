//! `brisk-session`: tells the daemon which app is in front and which play or record, from within the session of a user,
//! and the user which apps were closed for want of memory.
//!
//! ```text
//! display (X11, wlroots, Plasma) ──front window──> Teller ──SetFront──> briskd: RUN_DIR/session
//! sound server (PipeWire, PulseAudio) ──streams──> sound ──SetSound──> briskd
//! briskd ──WatchLosses──> notices ──org.freedesktop.Notifications──> session bus
//! ```
//!
//! The daemon links no display and no user runs it. This program sleeps until another window is in front. It starts
//! with the session (`packaging/session`: autostart file, unit of the user's service manager), once for each display,
//! and ends with the display. GNOME tells no program; there a shell extension calls the daemon (`session/gnome`).
//!
//! The daemon takes this from the user of the active session of a seat, about that user's own apps.

mod bus;
mod front;
mod notices;
mod pulse;
mod sound;
mod teller;
mod wayland;
mod x11;

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use brisk_api::{Client, ClientError, SESSION_SOCKET, SOCKET};
use brisk_core::causes::in_one_line;
use brisk_program::{notice, warn};
use clap::Parser;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value};

use crate::front::{Display, Front};
use crate::teller::{Answer, Teller};
use crate::wayland::Wayland;
use crate::x11::X11;

const AFTER_HELP: &str = "\
It starts with the session where the desktop reads /etc/xdg/autostart or starts graphical-session.target. Elsewhere \
put 'brisk-session &' into the session's script, such as ~/.config/labwc/autostart.

X11 takes a window manager that sets _NET_ACTIVE_WINDOW, or gamescope; Wayland a compositor with \
zwlr_foreign_toplevel_manager_v1 (sway, labwc, Wayfire, phoc) or KWin. On GNOME the extension of this package tells \
instead. A window of wlroots has an app id and no process: all running apps that the id may mean are in the \
foreground, such as two terminals. None is while no window is active: on an empty screen, in a menu, at the lock screen.

It also asks PipeWire or PulseAudio which processes play or record: an app of which nothing tells that is neither \
frozen nor written to swap.

When one of your apps was ended for want of memory, or could not be kept, a desktop notification says so, why, and \
how to protect it (brisk apps protect ID).

Exit codes: 0 the display has ended, or another one tells for it; 2 not possible.";

/// Tells briskd which app is in front: for the engines that keep memory for that app.
#[derive(Debug, Parser)]
#[command(name = "brisk-session", version, after_help = AFTER_HELP)]
struct Args {
    /// Watch this display, such as :0 or wayland-1 [default: WAYLAND_DISPLAY, or DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    display: Option<String>,
    /// Where the daemon has its sockets [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Show notices and tell of sound alone: where a shell extension tells which app is in front
    #[arg(long, conflicts_with = "display")]
    notices: bool,
    /// Say which app is in front
    #[arg(short, long)]
    verbose: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            brisk_program::error!("brisk-session: {}", in_one_line(error.as_ref()));
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let run_dir = brisk_api::run_dir(args.run_dir.clone());
    // Where no service manager tells which session is active, members of the daemon's group tell at its own socket.
    let sockets = [run_dir.join(SESSION_SOCKET), run_dir.join(SOCKET)];
    // A session may have two displays, and needs one notice.
    let start = |name: &str, watch: fn(&[PathBuf; 2], bool)| -> anyhow::Result<bool> {
        let Some(only_one) = lock(name)? else { return Ok(false) };
        let (sockets, is_verbose) = (sockets.clone(), args.verbose);
        std::thread::spawn(move || {
            let _only_one = only_one;
            watch(&sockets, is_verbose);
        });
        Ok(true)
    };
    if args.notices {
        let bus = bus::Bus::connect().context("cannot show notices")?;
        let starts = [start("notices", notices::watch)?, start("sound", sound::watch)?];
        match starts.contains(&true) {
            true => bus.wait_for_end(),
            false => notice!("brisk-session: another one shows notices"),
        }
        return Ok(());
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let display = args.display.clone().or_else(|| variable("WAYLAND_DISPLAY")).or_else(|| variable("DISPLAY"));
    let name = display
        .context("this session has no display (neither WAYLAND_DISPLAY nor DISPLAY is set): name one with --display")?;
    let Some(_only_one) = lock(&name)? else {
        notice!("brisk-session: another one watches {name}");
        return Ok(());
    };
    let mut display: Box<dyn Display> = match name.starts_with(':') || name.contains(':') && !name.starts_with('/') {
        true => Box::new(X11::connect(&name)?),
        false => Box::new(Wayland::connect(&name)?),
    };
    start("notices", notices::watch)?;
    start("sound", sound::watch)?;
    if args.verbose {
        notice!("brisk-session: watches {name}");
    }
    let tell = |front: &Front| -> Result<Told, ClientError> {
        let mut client = match Client::connect(&sockets[0]) {
            Err(ClientError::NotRunning { .. } | ClientError::NotAllowed { .. }) => Client::connect(&sockets[1])?,
            connected => connected?,
        };
        tell(&mut client, front)
    };
    let mut teller = Teller::default();
    let mut warned = String::new();
    // Once, as it may be so for long.
    let mut warn = |said: String| {
        if said != warned {
            warn!("brisk-session: {said}");
            warned = said;
        }
    };
    let mut patience = Duration::ZERO;
    while let Ok(front) = display.front() {
        let answer = teller.is_due(&front).then(|| match tell(&front) {
            Ok(told) => {
                let group = told.group;
                patience = told.patience;
                if args.verbose {
                    notice!("brisk-session: in front: {}", group.as_deref().unwrap_or("no app"));
                }
                if let (None, Front::Window { app_id, pid: None, .. }) = (&group, &front) {
                    warn(format!(
                        "no running app is known by the app id {app_id:?} of its window, so none counts as in the \
                         foreground: start it in a unit app-{app_id}-NUMBER.scope, or call 'brisk front PID'"
                    ));
                }
                group.map_or(Answer::Unknown, |_| Answer::Known)
            }
            Err(error) => {
                warn(format!("{}; tries again", in_one_line(&error)));
                Answer::None
            }
        });
        let again = teller.told(front, answer);
        if display.wait(again).is_err() {
            break;
        }
        // The app answers its user meanwhile, and of a change back nothing has to be told.
        std::thread::sleep(patience);
    }
    notice!("brisk-session: the display {name} has ended");
    Ok(())
}

/// Takes the place of the one teller of this display; `None` where another has it. Several may tell where the session
/// has no directory of its own.
fn lock(display: &str) -> anyhow::Result<Option<Option<File>>> {
    let Some(dir) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) else { return Ok(Some(None)) };
    let plain: String = display.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let path = dir.join(format!("brisk-session.{plain}.lock"));
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Some(file))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(errno).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// What the daemon says to a window in front: the group of its app, and for how long the next change may wait.
#[derive(Debug)]
struct Told {
    group: Option<String>,
    patience: Duration,
}

/// Tells the daemon, by process where that is known and is of an app, else by app id; a window of no app, such as the
/// desktop's, puts no app in front.
fn tell(client: &mut Client, front: &Front) -> Result<Told, ClientError> {
    let mut named: Vec<(&str, Value)> = Vec::new();
    if let Front::Window { pid, app_id, .. } = front {
        named.extend(pid.map(|pid| ("pid", pid.into())));
        named.extend((!app_id.is_empty()).then(|| ("id", app_id.as_str().into())));
    }
    for name in named {
        match client.answer("SetFront", &[name]) {
            Err(ClientError::Refused { name, .. }) if name == "NoSuchApp" => {}
            answer => return Ok(told(&answer?)),
        }
    }
    Ok(told(&client.answer("SetFront", &[])?))
}

fn told(answer: &Map<String, Value>) -> Told {
    let group = answer.get("group").and_then(Value::as_str).map(str::to_owned);
    let patience_ms = answer.get("patience_ms").and_then(Value::as_u64).unwrap_or(0);
    Told { group, patience: Duration::from_millis(patience_ms) }
}

/// No news comes for longer.
const LONG: Duration = Duration::from_secs(3_600);
