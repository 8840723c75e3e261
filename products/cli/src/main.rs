//! `brisk`: wiring of the command. Each subcommand has its file.

mod bench;
mod display;
mod doctor;
mod generate;
mod lab;
mod latency;
mod launch;
mod monitor;
mod on_phone;
mod prove;
mod report;
mod study;
mod suite;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Keeps the app in front fast on flash storage: measures what storage costs, and proves what helps.
#[derive(Debug, Parser)]
#[command(name = "brisk", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what this machine offers and lacks for each part of brisk, with reason and remedy
    Doctor(doctor::Args),
    /// Measure the storage under a path (StoreBench)
    Bench(bench::Args),
    /// Run a study of the papers on a device: slowdown, concurrency, schedulers, footprint
    Study(study::Args),
    /// Launch an app and measure it from outside: window, settled screen, work done, and what the time went to
    Launch(launch::Args),
    /// Measure how long an app takes to answer keys, clicks and scrolling
    Latency(latency::Args),
    /// Measure real apps on an emulated phone: the suite, and what other storage could ever give
    Suite(suite::Args),
    /// Prove what brisk changes: the same launches with the daemon and without, interleaved
    Prove(prove::Args),
    /// Show results that brisk wrote: in the terminal, or as a page with charts
    Report(report::Args),
    /// Make, list, change and remove emulated flash devices
    Lab(lab::Args),
    /// Watch processors, memory, storage, network and apps; record them; show and export records
    Monitor(monitor::Args),
    /// Write the man pages into a directory
    #[command(hide = true)]
    Man(generate::ManArgs),
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions(generate::CompletionsArgs),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Doctor(args) => doctor::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Launch(args) => launch::run(&args),
        Command::Latency(args) => latency::run(&args),
        Command::Suite(args) => suite::run(&args),
        Command::Prove(args) => prove::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Man(args) => generate::man(&args, Cli::command()),
        Command::Completions(args) => generate::completions(&args, Cli::command()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("brisk: {error:#}");
        ExitCode::from(2)
    })
}
