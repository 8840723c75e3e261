//! `brisk`: wiring of the command. Each subcommand has its file; for those of the laboratory it becomes `brisk-lab`.

mod apps;
mod bench;
mod config;
mod doctor;
mod explain;
mod export;
mod forget;
mod front;
mod generate;
mod help;
mod idle;
mod job;
mod launches;
#[cfg(test)]
#[path = "../../machine/sense/tests/all/machine_tree/mod.rs"]
mod machine_tree;
mod monitor;
mod pages;
mod profile;
mod replay;
mod reset;
mod setup;
mod status;
mod study;
mod swap;
mod sync;
mod trial;
mod tune;

use std::ffi::OsString;
use std::process::ExitCode;

use brisk_command::documents::{KINDS, compare, or_handed_over, report, submit};
use brisk_command::terminal::step;
use brisk_command::{completion, defaults, exit_code, lab, web};
pub(crate) use brisk_command::{print, print_exactly};
use clap::{CommandFactory, Parser, Subcommand};

/// Keeps the app in front fast on flash storage: measures what storage costs, and proves what helps.
#[derive(Debug, Parser)]
#[command(name = "brisk", version, long_version = brisk_command::build::LONG_VERSION, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    terminal: brisk_command::terminal::Options,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check what this machine offers and lacks for each part of brisk, with remedies
    Doctor(doctor::Args),
    /// Measure the storage under a path (StoreBench)
    Bench(bench::Args),
    /// Study a device: slowdown, concurrency, schedulers, footprint, best settings
    Study(study::Args),
    /// Measure energy and delay of each scheduler and queue depth, for SmartStorage
    Profile(brisk_command::profile::Args),
    /// Measure once the figures that the daemon uses for each device
    Tune(tune::Args),
    /// Set this machine up: service, swap, measuring; or take that back
    Setup(setup::Args),
    /// Set up swap on flash; record, show and replay traces of swapping
    Swap(swap::Args),
    /// Show results that brisk wrote: in the terminal, or as a page with charts
    Report(report::Args),
    /// Compare results of the same kind: what improved or regressed, with intervals
    Compare(compare::Args),
    /// Send results to a fleet, once you have seen every field and agreed
    Submit(submit::Args),
    /// Watch processors, memory, storage, network and apps; record and export them
    Monitor(monitor::Args),
    /// Show what the daemon sees, decides and does
    Status(status::Args),
    /// Show importance, memory and chance of each app
    Apps(apps::Args),
    /// Show what each engine gains on this device, and switch engines
    Trial(trial::Args),
    /// Show it on a page in the browser, and switch engines there (package brisk-web)
    Web(web::Args),
    /// Tell the daemon which app is in the foreground: for window managers and scripts
    Front(front::Args),
    /// Tell the daemon whether the user is idle: for screen savers and swayidle
    Idle(idle::Args),
    /// Explain why settings have their values, now or at a past moment
    Explain(explain::Args),
    /// Feed a recorded session to the engines again, and show the differences
    Replay(replay::Args),
    /// Forget what was learned of an app, or of all
    Forget(forget::Args),
    /// Find where an app waits for syncs, and skip the wait for files that a policy names
    Sync(sync::Args),
    /// Restore every setting to its value before brisk
    Reset(reset::Args),
    /// Check the daemon's configuration, show it, reload it
    Config(config::Args),
    /// Write the man pages into a directory
    Man(brisk_command::man::Args),
    /// Print the completions for a shell
    Completions(generate::CompletionsArgs),
}

/// Whether this program was started under the name of the daemon. A package has one file with both names, as most of
/// the code serves both.
fn is_called_briskd() -> bool {
    // The daemon starts its keeper from the same file.
    ["briskd", brisk_act::KEEPER_NAME].into_iter().any(brisk_daemon::command::is_called)
}

fn main() -> ExitCode {
    if is_called_briskd() {
        return brisk_daemon::command::main();
    }
    if brisk_daemon::command::is_called(brisk_daemon::jobs::PROGRAM) {
        return job::main();
    }
    lab::complete();
    completion::answer(command, completion::of_machine);
    exit_code(run())
}

/// The whole command line, with the commands of `brisk-lab` in its lists.
fn command() -> clap::Command {
    help::grouped(lab::listed(Cli::command()))
}

fn run() -> anyhow::Result<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(words) = lab::called(&arguments) {
        return lab::hand_over(&words.join(" "));
    }
    let (Cli { terminal, command }, defaults) = defaults::parse(command())?;
    terminal.apply()?;
    brisk_command::build::name_in_results();
    defaults.iter().for_each(|file| step(&format!("defaults: {}", file.display())));
    let Some(command) = command else { return status::overview() };
    match command {
        Command::Doctor(args) => doctor::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Setup(args) => setup::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Swap(args) => swap::run(&args),
        Command::Report(args) if args.is_of_all_kinds() && lab::program().is_some() => lab::hand_over("report"),
        Command::Report(args) => or_handed_over("report", report::run(&args, KINDS)),
        Command::Compare(args) => or_handed_over("compare", compare::run(&args, KINDS)),
        Command::Submit(args) => or_handed_over("submit", submit::run(&args, KINDS)),
        Command::Monitor(args) => monitor::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Apps(args) => apps::run(&args),
        Command::Trial(args) => trial::run(&args),
        Command::Web(args) => web::hand_over(&args),
        Command::Front(args) => front::run(&args),
        Command::Idle(args) => idle::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Forget(args) => forget::run(&args),
        Command::Sync(args) => sync::run(&args),
        Command::Reset(args) => reset::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Man(args) => generate::man(&args, self::command()),
        Command::Completions(args) => generate::completions(&args),
    }
}

#[cfg(test)]
mod command_line;
#[cfg(test)]
mod documents;
