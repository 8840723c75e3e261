//! `brisk trial`: what each engine gains on this device, with intervals, and switching engines.

mod view;

use std::process::ExitCode;

use brisk_api::{ClientError, Trials};
use brisk_command::json::{Document, Json};
use jiff::Timestamp;

use crate::status::Socket;

pub(crate) use view::{engine_lines, of_app, unnamed_lines, why_idle};

const AFTER_HELP: &str = "\
Of launches, stretches of load and blocks of time some are held out, drawn in pairs by a coin: the engine decides, \
and nothing of it is applied. What it gains is the ratio of both, with an interval that holds at any time you look \
(95 %). An engine that does not pay here rests, and is tried again after a month, or when a package, the kernel or the \
device changes.

Examples:
  brisk trial                      # all engines, and the apps or disks of each
  brisk trial mars                 # one of them
  brisk trial --json
  brisk trial mars off             # not here, whatever it gains; kept over restarts
  brisk trial mars on              # here, whatever it gains; one of ten episodes is held out all the same
  brisk trial mars auto            # evidence decides

Switching takes root. Exit codes: 0 shown or switched, 1 an engine makes things worse and acts, 2 not possible.";

/// Arguments of `brisk trial`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The engine that is shown, or switched [default: all are shown]
    #[arg(value_name = "ENGINE", value_parser = clap::builder::PossibleValuesParser::new(brisk_daemon::engines::NAMES))]
    engine: Option<String>,
    /// Switches the engine
    #[arg(value_name = "HOW", value_enum)]
    to: Option<To>,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum To {
    /// It acts, whatever it gains
    On,
    /// It changes nothing
    Off,
    /// Evidence decides
    Auto,
}

impl To {
    fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let only = args.engine.as_ref();
    if let Some((engine, to)) = only.zip(args.to) {
        let to = [("engine", engine.as_str().into()), ("to", to.name().into())];
        let trials: Trials = args.socket.connect()?.call("SetTrial", &to, "trials")?;
        return show(&of(trials, only), &args.json);
    }
    show(&of(trials(&args.socket)?, only), &args.json)
}

/// The trials of the daemon.
pub(crate) fn trials(socket: &Socket) -> Result<Trials, ClientError> {
    socket.connect()?.call("GetTrials", &[], "trials")
}

/// Those of one engine.
fn of(mut trials: Trials, engine: Option<&String>) -> Trials {
    trials.engines.retain(|of| engine.is_none_or(|name| of.engine == *name));
    trials
}

fn show(trials: &Trials, json: &Json) -> anyhow::Result<ExitCode> {
    json.show(&Document::new("trial", trials), || view::text(trials, now_unix_ms()))?;
    Ok(ExitCode::from(u8::from(trials.engines.iter().any(view::is_worse))))
}

fn now_unix_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}
