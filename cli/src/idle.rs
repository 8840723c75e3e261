//! `brisk idle`: tells the daemon whether the user is idle.
//!
//! Programs of the session know it first: swayidle, xautolock, xss-lock, a screen saver. A daemon without a screen to
//! sample knows it from them alone.

use std::process::ExitCode;

use brisk_command::json::{Document, Json};
use serde_json::json;

use crate::status::Socket;

const AFTER_HELP: &str = "\
While the user is idle the memory engine wakes less often. The screen going on ends it, whatever was told before.

Examples:
  swayidle -w timeout 300 'brisk idle yes' resume 'brisk idle no'
  xautolock -time 5 -locker 'brisk idle yes'

Users of the daemon's group may tell. Exit codes: 0 told, 2 not possible: the daemon does not run, or does not answer.";

/// Arguments of `brisk idle`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Whether the user is idle now
    #[arg(value_enum)]
    idle: Idle,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Idle {
    /// No input for a while
    Yes,
    /// Input again
    No,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let idle = args.idle == Idle::Yes;
    args.socket.connect()?.answer("SetIdle", &[("idle", idle.into())])?;
    let text = || format!("the user is {}\n", if idle { "idle" } else { "active" });
    args.json.show(&Document::new("idle", json!({ "idle": idle })), text)?;
    Ok(ExitCode::SUCCESS)
}
