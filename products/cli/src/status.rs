//! `brisk status`: what the daemon sees, decides and does at this moment.

mod metrics;
mod saved;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use brisk_command::json::{Document, Json};
use brisk_daemon::control::protocol::Status;
use brisk_daemon::control::{Client, ClientError, SOCKET};

pub(crate) use saved::lines as saved_lines;
pub(crate) use view::{age, moment, setting_lines};

const AFTER_HELP: &str = "\
Examples:
  brisk status
  brisk status --json
  brisk status --metrics           # OpenMetrics text, for a textfile collector

Exit codes: 0 the daemon runs and nothing is wrong, 1 it runs and lacks something or could not do something, 2 it does not \
run, or does not answer.";

/// Arguments of `brisk status`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
    /// Print counters and levels as OpenMetrics text
    #[arg(long, conflicts_with = "json")]
    metrics: bool,
}

/// Where the daemon is found.
#[derive(Debug, clap::Args)]
pub(crate) struct Socket {
    /// Where the daemon has its socket [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

impl Socket {
    /// The run directory.
    pub(crate) fn run_dir(&self) -> PathBuf {
        brisk_daemon::run_dir(self.run_dir.clone())
    }

    /// A connection to the daemon.
    pub(crate) fn connect(&self) -> Result<Client, ClientError> {
        Client::connect(&self.run_dir().join(SOCKET))
    }

    /// Everything at this moment.
    pub(crate) fn status(&self) -> Result<Status, ClientError> {
        self.connect()?.call("GetStatus", &[], "status")
    }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let status = args.socket.status()?;
    if args.metrics {
        crate::print_exactly(&metrics::text(&status)?)?;
    } else {
        args.json.show(&Document::new("status", &status), || view::text(&status))?;
    }
    let lacking = !status.trouble.is_empty()
        || !status.resting.is_empty()
        || status.record.as_ref().is_some_and(|record| record.trouble.is_some());
    Ok(if lacking { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
