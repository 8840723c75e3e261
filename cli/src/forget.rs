//! `brisk forget`: removes what was learned of an app, or of all with the record of the daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_api::{ClientError, SOCKET, dirs};
use brisk_command::confirm::agrees;
use brisk_command::json::{Document, Json};
use brisk_daemon::config::Config;
use brisk_daemon::learned;
use serde_json::{Value, json};

use crate::status::Socket;

const AFTER_HELP: &str = "\
The engines learn which apps are used and when, how much memory each needs, which pages it uses, and how long its \
launch takes. All of it stays on this device, in files that root alone reads. With --all, the record of the daemon \
goes as well, which has the launches of all apps; at a terminal that is asked first. The journal of the system, which \
may name apps, is not brisk's.

Examples:
  brisk forget org.gnome.Evince
  brisk forget --all
  brisk forget --all --yes

Exit codes: 0 forgotten, 1 nothing was known, or the answer was no, 2 not possible.";

/// Arguments of `brisk forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, group = clap::ArgGroup::new("forgotten").args(["app", "all"]).required(true))]
pub(crate) struct Args {
    /// Id of the app, as 'brisk apps' shows it
    app: Option<String>,
    /// Forget all apps, and remove the record of the daemon
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(long, requires = "all")]
    yes: bool,
    #[command(flatten)]
    socket: Socket,
    /// Directory of what engines have learned, where no daemon runs: it alone, without the record [default:
    /// /var/lib/brisk/learned, or learned in another run directory]
    #[arg(long, value_name = "DIR")]
    learned: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let app = args.app.as_deref();
    if args.all
        && !args.yes
        && !agrees("What was learned of all apps, and the record of the daemon, will be removed. Continue?")?
    {
        brisk_program::info!("brisk: nothing was forgotten");
        return Ok(ExitCode::from(1));
    }
    let parameters: Vec<(&str, Value)> = app.iter().map(|app| ("app", Value::from(*app))).collect();
    let asked = args.socket.connect().and_then(|mut client| client.call("Forget", &parameters, "known"));
    let known = match asked {
        Ok(known) => known,
        Err(ClientError::NotRunning { .. }) => without_daemon(args)?,
        Err(error) => return Err(error.into()),
    };
    let what = app.unwrap_or("all apps");
    let text = match (known, app) {
        (true, _) => format!("{what}: forgotten\n"),
        (false, Some(app)) => format!("nothing was learned of '{app}'\n"),
        (false, None) => "nothing was learned\n".to_owned(),
    };
    let (socket, dir) = (args.socket.run_dir().join(SOCKET), learned_dir(args));
    brisk_command::terminal::step(&format!("asked briskd at {}, or else {}", socket.display(), dir.display()));
    args.json.show(&Document::new("forget", json!({ "app": app, "known": known })), || text)?;
    Ok(if known { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn learned_dir(args: &Args) -> PathBuf {
    args.learned.clone().unwrap_or_else(|| dirs::learned(&args.socket.run_dir()))
}

/// Forgets in the files; says whether there was anything.
fn without_daemon(args: &Args) -> anyhow::Result<bool> {
    // What can be removed is, whatever else fails.
    let learned = learned::forget(&learned_dir(args), args.app.as_deref());
    let recorded = if args.all && args.learned.is_none() {
        let (config, _) = Config::load(&dirs::config(), true).context("cannot tell where the record is")?;
        brisk_record::remove(&config.daemon.record.path)?
    } else {
        false
    };
    Ok(learned? || recorded)
}
