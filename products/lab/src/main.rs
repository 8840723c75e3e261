//! `brisk-lab`: the laboratory of brisk. `brisk` hands its subcommands over to this program; each has its file.

mod briskd;
mod display;
mod front_watch;
mod heap_study;
mod kernel;
mod lab;
mod latency;
mod launch;
mod memory_study;
mod on_phone;
mod other_daemons;
mod predict;
mod prefetch;
mod profile;
mod prove;
mod suite;
mod swap;
mod usage_trace;

use std::process::ExitCode;

use anyhow::bail;
use brisk_command::terminal::step;
use brisk_command::{VERSION, defaults, exit_code, lab as arguments};
use clap::{Parser, Subcommand};

/// The laboratory of brisk, which runs as a part of the command `brisk`: brisk launch, brisk lab, ...
#[derive(Debug, Parser)]
#[command(name = "brisk-lab", bin_name = "brisk", version, long_version = brisk_command::build::LONG_VERSION, propagate_version = true, arg_required_else_help = true)]
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
    #[command(flatten)]
    Lab(arguments::Command),
    /// Measure in a virtual machine what settings cost in energy and delay (brisk profile --virtual)
    #[command(hide = true)]
    Profile(brisk_command::profile::Args),
    /// Run a study of the laboratory (brisk study memory, brisk study heap)
    #[command(hide = true, subcommand)]
    Study(arguments::memory_study::Study),
}

fn main() -> ExitCode {
    exit_code(run())
}

fn run() -> anyhow::Result<ExitCode> {
    let (cli, defaults): (Cli, _) = defaults::parse()?;
    if let Some(caller) = cli.called_by.filter(|caller| caller != VERSION) {
        bail!(
            "this brisk has version {caller}, and its brisk-lab {VERSION}: install the same version of both packages"
        );
    }
    cli.terminal.apply()?;
    brisk_command::build::name_in_results();
    defaults.iter().for_each(|file| step(&format!("defaults: {}", file.display())));
    match cli.command {
        Command::Lab(arguments::Command::Launch(args)) => launch::run(&args),
        Command::Lab(arguments::Command::Latency(args)) => latency::run(&args),
        Command::Lab(arguments::Command::Suite(args)) => suite::run(&args),
        Command::Lab(arguments::Command::Predict(args)) => predict::run(&args),
        Command::Lab(arguments::Command::Prove(args)) => prove::run(&args),
        Command::Lab(arguments::Command::Lab(args)) => lab::run(&args),
        Command::Lab(arguments::Command::Kernel(args)) => kernel::run(&args),
        Command::Lab(arguments::Command::FrontWatch(args)) => front_watch::run(&args),
        Command::Lab(arguments::Command::Swap(args)) => swap::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Study(arguments::memory_study::Study::Memory(args)) => memory_study::run(&args),
        Command::Study(arguments::memory_study::Study::Heap(args)) => heap_study::run(&args),
    }
}
