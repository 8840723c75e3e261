//! `brisk front`: tells the daemon which app is in the foreground.
//!
//! A device's daemon knows no X11 and no Wayland, and Android alone shows the app in front among its files. A window
//! manager or a script that sees the active window calls this, or the method `SetFront` of the control socket;
//! `brisk-session` does so for displays.

use std::process::ExitCode;

use brisk_command::json::{Document, Json};
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value, json};

use crate::status::Socket;

const AFTER_HELP: &str = "\
Examples:
  brisk front app-gnome-org.gnome.Evince-4711.scope
  brisk front $(xdotool getactivewindow getwindowpid)
  brisk front --app-id org.gnome.Evince # as Wayland names its window
  brisk front --none                    # the desktop, or the screen is locked

Root may tell of every app, other users of their own. Exit codes: 0 told, 2 not possible: no such app runs, it is of \
another user, or the daemon does not run.";

/// Arguments of `brisk front`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The app: a process of it, or its control group as 'brisk status' names it
    #[arg(
        value_name = "PID|GROUP",
        required_unless_present_any = ["app_id", "none"],
        conflicts_with_all = ["app_id", "none"],
        value_parser = NonEmptyStringValueParser::new()
    )]
    app: Option<String>,
    /// The app by the app id of its window; all running apps that it may mean
    #[arg(long, value_name = "ID", conflicts_with = "none", value_parser = NonEmptyStringValueParser::new())]
    app_id: Option<String>,
    /// No app is in the foreground
    #[arg(long)]
    none: bool,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let by_id = args.app_id.iter().map(|app_id| ("id", app_id.as_str().into()));
    let named = args.app.iter().map(|app| parameter(app)).chain(by_id).collect::<Vec<_>>();
    let group: Option<String> = args.socket.connect()?.call("SetFront", &named, "group")?;
    let text = || match &group {
        Some(group) => format!("{} is in the foreground\n", brisk_core::group::name(group)),
        None => "no app is in the foreground\n".to_owned(),
    };
    args.json.show(&Document::new("front", json!({ "group": group })), text)?;
    Ok(ExitCode::SUCCESS)
}

/// A number is a process: no group has such a name.
fn parameter(app: &str) -> (&'static str, Value) {
    match app.parse::<u32>() {
        Ok(pid) => ("pid", pid.into()),
        Err(_) => ("group", app.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_process_and_all_else_a_group() {
        assert_eq!(parameter("4711"), ("pid", 4711.into()));
        for group in ["app-x-1.scope", "session-40", "-1", "99999999999"] {
            assert_eq!(parameter(group), ("group", group.into()));
        }
    }
}
