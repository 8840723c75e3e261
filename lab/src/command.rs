//! `brisk-lab`: the laboratory of brisk. `brisk` hands its subcommands over to this program; each has its file.

#[cfg(test)]
#[path = "../../cli/src/command_line.rs"]
mod command_line;
#[cfg(test)]
#[path = "../../cli/src/documents.rs"]
mod documents;

use std::process::ExitCode;

use anyhow::bail;
use brisk_command::documents::{compare, report, submit};
use brisk_command::terminal::step;
use brisk_command::{VERSION, completion, defaults, exit_code, man};
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::phone::command as phone;
use crate::results::ALL_KINDS;
use crate::study::{candidates, cures, heap_study, kernel, latency, launch, papers, predict, profile, swap};

/// The laboratory of brisk: launches, latency, a whole emulated phone, kernel lab, papers
#[derive(Debug, Parser)]
#[command(name = "brisk-lab", bin_name = "brisk", version, long_version = brisk_command::build::LONG_VERSION,
    propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Version of the `brisk` that hands over
    #[arg(long, hide = true, value_name = "VERSION")]
    called_by: Option<String>,
    #[command(flatten)]
    terminal: brisk_command::terminal::Options,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Launch an app and measure it from outside: window, settled screen, time by cause
    Launch(launch::arguments::Args),
    /// Measure how long an app takes to respond to keys, clicks and scrolling
    Latency(latency::arguments::Args),
    /// Score predictors of the next app on a usage trace of your own
    Predict(predict::arguments::Args),
    /// Measure a whole emulated phone in virtual time: real apps, with brisk and without; figures repeat anywhere
    Phone(phone::arguments::Args),
    /// Compare I/O schedulers on emulated flash in virtual time: figures repeat anywhere
    Kernel(kernel::arguments::Args),
    /// Record, show and replay traces of swapping
    Swap(swap::arguments::Args),
    /// Compare what comes out here with the papers that brisk implements, figure by figure
    Papers(papers::arguments::Args),
    /// Studies of apps, their memory and their storage
    #[command(subcommand)]
    Study(Study),
    /// Measure in a virtual machine what settings cost in energy and delay (brisk profile --virtual)
    #[command(hide = true)]
    Profile(brisk_command::profile::Args),
    /// Show results of all kinds (brisk report)
    #[command(hide = true)]
    Report(report::Args),
    /// Compare results of all kinds (brisk compare)
    #[command(hide = true)]
    Compare(compare::Args),
    /// Send results of all kinds (brisk submit)
    #[command(hide = true)]
    Submit(submit::Args),
    /// Write the man pages of these commands into a directory
    #[command(hide = true)]
    Man(brisk_command::man::Args),
}

#[derive(Debug, Subcommand)]
enum Study {
    /// How well the memory needs of apps are predicted, and what thresholds cover
    Heap(heap_study::arguments::Args),
    /// Measure app workloads under solutions for slow storage in the kernel lab: SQLite's settings, selective sync,
    /// file systems, RAID-0, PCM
    Cures(cures::arguments::CuresArgs),
}

/// The whole command line.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program.
pub fn main() -> ExitCode {
    completion::answer(command, candidates::sources);
    exit_code(run())
}

fn run() -> anyhow::Result<ExitCode> {
    let (cli, defaults): (Cli, _) = defaults::parse(command())?;
    if let Some(caller) = cli.called_by.filter(|caller| caller != VERSION) {
        bail!(
            "this brisk has version {caller}, and its brisk-lab {VERSION}: install the same version of both packages"
        );
    }
    cli.terminal.apply()?;
    brisk_command::build::name_in_results();
    defaults.iter().for_each(|file| step(&format!("defaults: {}", file.display())));
    match cli.command {
        Command::Launch(args) => launch::run(&args),
        Command::Latency(args) => latency::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Phone(args) => phone::run(&args),
        Command::Kernel(args) => kernel::run(&args),
        Command::Swap(args) => swap::run(&args),
        Command::Papers(args) => papers::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Study(Study::Heap(args)) => heap_study::run(&args),
        Command::Study(Study::Cures(args)) => cures::run(&args),
        Command::Report(args) => report::run(&args, ALL_KINDS),
        Command::Compare(args) => compare::run(&args, ALL_KINDS),
        Command::Submit(args) => submit::run(&args, ALL_KINDS),
        Command::Man(args) => {
            man::write_all(&args.dir, command().display_name("brisk"), true).map(|()| ExitCode::SUCCESS)
        }
    }
}
