//! `brisk status`: what the daemon sees, decides and does at this moment.

mod metrics;
mod next;
mod saved;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use brisk_api::{Client, ClientError, SOCKET, Status};
use brisk_command::json::{Document, Json};
use clap::ValueEnum;

use crate::export::openmetrics::Dialect;

pub(crate) use saved::lines as saved_lines;
pub(crate) use view::{moment, setting_lines, tried_words};

const AFTER_HELP: &str = "\
Examples:
  brisk status
  brisk status --json
  brisk status --metrics           # OpenMetrics text
  brisk status --metrics=prometheus --output /var/lib/prometheus/node-exporter/brisk.prom   # for a textfile collector

Exit codes: 0 the daemon runs and nothing is wrong, 1 it runs and lacks something or could not do something, 2 it \
does not run, or does not answer.";

/// Arguments of `brisk status`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
    /// Print counters and levels as metrics: openmetrics, or prometheus for the textfile collector of node_exporter
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "openmetrics",
        conflicts_with = "json"
    )]
    metrics: Option<Format>,
    /// Write the metrics into FILE, which is replaced as a whole; when the daemon does not run, they say that (brisk_up
    /// 0)
    #[arg(long, value_name = "FILE", requires = "metrics")]
    output: Option<PathBuf>,
}

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// OpenMetrics 1.0
    Openmetrics,
    /// The text format of Prometheus, version 0.0.4
    Prometheus,
}

/// Where the daemon is found.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Socket {
    /// Where the daemon has its socket [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

impl Socket {
    #[cfg(test)]
    pub(crate) fn of(run_dir: PathBuf) -> Self {
        Self { run_dir: Some(run_dir) }
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        brisk_api::run_dir(self.run_dir.clone())
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

/// `brisk` alone: the status, and the next useful command. The exit code is that of `brisk status`.
pub(crate) fn overview() -> anyhow::Result<ExitCode> {
    let status = Socket { run_dir: None }.status();
    let shown = match &status {
        Ok(status) => view::text(status),
        Err(error) => format!("{}\n", brisk_command::terminal::caution(&format!("{error:#}"))),
    };
    let (command, purpose) = next::command(status.as_ref());
    crate::print(&format!(
        "{shown}\nNext: {command:<22} {purpose}\nAll:  {:<22} commands by purpose\n",
        "brisk --help"
    ))?;
    Ok(status.map_or(ExitCode::from(2), |status| code(&status)))
}

/// The exit code of a daemon that runs.
fn code(status: &Status) -> ExitCode {
    ExitCode::from(u8::from(next::is_lacking(status)))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dialect = args.metrics.map(|format| match format {
        Format::Openmetrics => Dialect::Openmetrics,
        Format::Prometheus => Dialect::Prometheus,
    });
    let put = |text: &str| match &args.output {
        Some(file) if file.as_os_str() != "-" => brisk_command::output::replace(file, text.as_bytes()),
        _ => crate::print_exactly(text),
    };
    let status = args.socket.status();
    if let (Err(_), Some(dialect), Some(_)) = (&status, dialect, &args.output) {
        put(&metrics::of_none(dialect)?)?;
    }
    let status = status?;
    if let Some(dialect) = dialect {
        put(&metrics::text(&status, dialect)?)?;
    } else {
        args.json.show(&Document::new("status", &status), || view::text(&status))?;
    }
    Ok(code(&status))
}
