//! `brisk forget`: removes what was learned of an app, or of all.

use std::path::PathBuf;
use std::process::ExitCode;

use brisk_command::json::{Document, Json};
use brisk_daemon::control::{ClientError, SOCKET};
use brisk_daemon::{dirs, learned};
use serde_json::{Value, json};

use crate::status::Socket;

const AFTER_HELP: &str = "\
The memory engine learns which apps are used and when, how much memory each needs, and how long its launch takes. All of it stays on this \
device, in a file that root alone reads. The record of the daemon has launches too: it is a file of its own, which its configuration \
names, and may be removed.

Examples:
  brisk forget org.gnome.Evince
  brisk forget --all

Exit codes: 0 forgotten, 1 nothing was known, 2 not possible.";

/// Arguments of `brisk forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, group = clap::ArgGroup::new("forgotten").args(["app", "all"]).required(true))]
pub(crate) struct Args {
    /// Id of the app, as 'brisk apps' shows it
    app: Option<String>,
    /// Forget all apps
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    socket: Socket,
    /// Directory of what engines have learned, where no daemon runs [default: /var/lib/brisk/learned, or learned in another run
    /// directory]
    #[arg(long, value_name = "DIR")]
    learned: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let app = args.app.as_deref();
    let learned_dir = args.learned.clone().unwrap_or_else(|| dirs::learned(&args.socket.run_dir()));
    let parameters: Vec<(&str, Value)> = app.iter().map(|app| ("app", Value::from(*app))).collect();
    let asked = args.socket.connect().and_then(|mut client| client.call("Forget", &parameters, "known"));
    let known = match asked {
        Ok(known) => known,
        Err(ClientError::NotRunning { .. }) => learned::forget(&learned_dir, app)?,
        Err(error) => return Err(error.into()),
    };
    let what = app.unwrap_or("all apps");
    let text = match (known, app) {
        (true, _) => format!("{what}: forgotten\n"),
        (false, Some(app)) => format!("nothing was learned of '{app}'\n"),
        (false, None) => "nothing was learned\n".to_owned(),
    };
    let socket = args.socket.run_dir().join(SOCKET);
    brisk_command::terminal::step(&format!("asked briskd at {}, or else {}", socket.display(), learned_dir.display()));
    args.json.show(&Document::new("forget", json!({ "app": app, "known": known })), || text)?;
    Ok(if known { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
