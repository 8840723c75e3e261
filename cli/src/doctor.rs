//! `brisk doctor`: what this machine offers and lacks for each part of brisk, with reason and remedy.
//!
//! Facts are gathered first, from /proc and /sys and by a few system calls that change nothing; what they mean is
//! decided by a pure function over them; a view prints the findings. The exit code tells the worst: 0 all is there, 1
//! something is missing or needs more rights, 2 brisk is of no use here.

mod facts;
mod finding;
mod judge;
mod probe;
mod view;

use std::process::ExitCode;

use brisk_command::json::Json;
use brisk_command::terminal_width;
use brisk_sense::Sense;

use facts::Facts;
use finding::{Part, State};

/// Arguments of `brisk doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The parts that are checked, which alone decide the exit code [default: all]
    #[arg(value_name = "PART")]
    parts: Vec<Part>,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let facts = Facts::gather(&Sense::default());
    let mut findings = judge::judge(&facts);
    if !args.parts.is_empty() {
        findings.retain(|finding| args.parts.contains(&finding.part));
    }
    let state = if args.parts.is_empty() { judge::overall(&findings) } else { finding::worst(&findings) };
    let width = terminal_width().map(usize::from);
    args.json.show(&view::document(&facts, &findings, state), || view::terminal(&facts, &findings, state, width))?;
    Ok(ExitCode::from(match state {
        State::Ok => 0,
        State::Degraded => 1,
        State::Missing => 2,
    }))
}
