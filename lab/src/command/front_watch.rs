//! `brisk front-watch`: tells the daemon which app has the active window of an X11 or Wayland display.
//!
//! The daemon itself links no display. This program sleeps until another window is active, and calls `SetFront` with
//! the process of that window, or on Wayland, where a window has none, with its app id. A daemon that does not answer
//! is asked again; one that was restarted meanwhile is told at the next change.

pub(crate) mod arguments;

use std::process::ExitCode;
use std::time::Duration;

use crate::command::front_watch::arguments::Args;
use crate::screen::{ActiveToplevel, ActiveWindow, Error, WindowInfo};
use anyhow::Context as _;
use brisk_api::{Client, ClientError, SOCKET};
use brisk_command::terminal::step;
use brisk_core::causes::in_one_line;
use serde_json::Value;

use crate::study::display;

/// A daemon that did not answer is asked again after this time.
const AGAIN: Duration = Duration::from_secs(10);
/// Without news: as long as a wait may take.
const LONG: Duration = Duration::from_secs(3600);
/// A desktop may move an app to its group after it has a window: the daemon is told of one that it does not know so
/// often,
const UNKNOWN_TRIES: u32 = 5;
const UNKNOWN_AGAIN: Duration = Duration::from_secs(2);

/// What has the active window.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InFront {
    /// An app, by the process of its window.
    Pid(u32),
    /// An app, by the app id of this window. Each window is told: it may be of an app that began since the last one.
    Window {
        id: u64,
        app_id: String,
    },
    Nothing,
}

enum Active {
    X11(Box<ActiveWindow>),
    Wayland(Box<ActiveToplevel>),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let socket = brisk_api::run_dir(args.run_dir.clone()).join(SOCKET);
    let mut active = Active::connect(args.display.as_deref())?;
    step(&format!("watches the active window of {}", active.display()));
    let mut told: Option<InFront> = None;
    // How often the daemon is still told of an app that it does not know.
    let mut tries = 0;
    let mut warned = String::new();
    // Once, as it may be so for long.
    let mut warn = |error: String| {
        if error != warned {
            brisk_program::warn!("brisk: warning: {error}");
            warned = error;
        }
    };
    let end = |active: &Active| {
        brisk_program::notice!("brisk: the display {} has ended, and with it the watch", active.display());
        Ok(ExitCode::SUCCESS)
    };
    loop {
        let front = match active.get() {
            Ok(front) => front,
            Err(Error::Lost { .. }) => return end(&active),
            // An app holds the server: it answers later.
            Err(error @ Error::Refused { .. }) => {
                warn(format!("{}; tries again", in_one_line(&error)));
                told.clone().unwrap_or(InFront::Nothing)
            }
            Err(error) => return Err(error.into()),
        };
        if told.as_ref() != Some(&front) {
            tries = UNKNOWN_TRIES;
        }
        let mut again = LONG;
        if tries > 0 {
            told = match Client::connect(&socket).and_then(|mut client| tell(&mut client, &front)) {
                Ok(group) => {
                    step(&format!("in front: {}", group.as_deref().unwrap_or("no app")));
                    let is_unknown = group.is_none() && front != InFront::Nothing;
                    tries = if is_unknown { tries - 1 } else { 0 };
                    if let (InFront::Window { app_id, .. }, true) = (&front, is_unknown) {
                        warn(format!(
                            "no running app is known by the app id {app_id:?} of its window, so none counts as in the \
                             foreground: start it in a unit app-{app_id}-NUMBER.scope, or call 'brisk front PID'"
                        ));
                    }
                    if tries > 0 {
                        again = UNKNOWN_AGAIN;
                    }
                    Some(front)
                }
                Err(error @ ClientError::NotAllowed { .. }) => return Err(error.into()),
                Err(error) => {
                    warn(format!("{}; tries again", in_one_line(&error)));
                    again = AGAIN;
                    None
                }
            };
        }
        match active.wait(again) {
            Ok(_) | Err(Error::Refused { .. }) => {}
            Err(Error::Lost { .. }) => return end(&active),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Tells the daemon; a window of no app, such as the desktop's, puts no app in front.
fn tell(client: &mut Client, front: &InFront) -> Result<Option<String>, ClientError> {
    let mut set = |named: &[(&str, Value)]| client.call("SetFront", named, "group");
    let named = match front {
        InFront::Pid(pid) => ("pid", (*pid).into()),
        InFront::Window { app_id, .. } => ("id", app_id.as_str().into()),
        InFront::Nothing => return set(&[]),
    };
    match set(&[named]) {
        Err(ClientError::Refused { name, .. }) if name == "NoSuchApp" => set(&[]),
        told => told,
    }
}

impl Active {
    fn connect(display: Option<&str>) -> anyhow::Result<Self> {
        let named = display::named(display).context(
            "this session has no display (neither WAYLAND_DISPLAY nor DISPLAY is set): name one with --display",
        )?;
        let connected = if display::is_x11(&named) {
            ActiveWindow::connect(Some(&named)).map(|active| Self::X11(Box::new(active)))
        } else {
            ActiveToplevel::connect(Some(&named)).map(|active| Self::Wayland(Box::new(active)))
        };
        connected.context("cannot watch the screen")
    }

    fn display(&self) -> &str {
        match self {
            Self::X11(active) => active.display(),
            Self::Wayland(active) => active.display(),
        }
    }

    fn get(&mut self) -> Result<InFront, Error> {
        match self {
            Self::X11(active) => {
                let pid = active.get()?.and_then(|window| window.pid);
                Ok(pid.map_or(InFront::Nothing, InFront::Pid))
            }
            Self::Wayland(active) => Ok(match active.get()? {
                Some(WindowInfo { id, app_id, .. }) if !app_id.is_empty() => InFront::Window { id, app_id },
                // Without an app id nothing is known of it.
                _ => InFront::Nothing,
            }),
        }
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        match self {
            Self::X11(active) => active.wait(timeout),
            Self::Wayland(active) => active.wait(timeout),
        }
    }
}
