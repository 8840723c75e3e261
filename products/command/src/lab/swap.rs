//! Arguments of `brisk swap`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use crate::output::Outputs;

const AFTER_HELP: &str = "\
Examples:
  brisk swap generate --seed 7 --output day.swap      # a synthetic trace: twelve apps, 60 % of them swapped out
  brisk swap show day.swap                            # needs slots: a recorded or laid out trace
  brisk swap replay day.swap --html replay.html       # linux, extents and mars on the flash of a Nexus 4
  brisk swap replay *.swap --policy linux,mars --swap-in window --preset galaxy-s5-emmc

A trace is a table (CSV): time_us, action (front, ready, out, in, free), app, page, slot; the first line has the size of the swap
area. The same trace, policy and preset give the same figures: times are those of the flash model.";

/// Arguments of `brisk swap`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Args {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a synthetic trace: a person who changes between apps that do not fit into memory together
    Generate(Generate),
    /// Show how sequential the swapping of a trace was: bandwidth, pieces and mixture over time
    Show(Show),
    /// Replay traces in model time with another allocation of swap slots
    Replay(Replay),
}

/// Arguments of `brisk swap generate`.
#[derive(Debug, clap::Args)]
pub struct Generate {
    /// Seed: the same seed gives the same trace
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How often the person changes to another app
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub switches: u32,
    /// Percent of its pages that an app uses when it comes back
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub used: u8,
    /// Give each page the slot that Linux would give it
    #[arg(long)]
    pub slots: bool,
    /// File for the trace; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Arguments of `brisk swap show`.
#[derive(Debug, clap::Args)]
pub struct Show {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Intervals that the time is divided into
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=2_000))]
    pub intervals: u16,
    /// Where the results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Arguments of `brisk swap replay`.
#[derive(Debug, clap::Args)]
pub struct Replay {
    /// Traces: the figures are medians over them
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    /// How slots are allocated: by clusters for all apps, by extents for each app, and by extents with writes deferred in launches
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "linux,extents,mars")]
    pub policy: Vec<PolicyName>,
    /// What is read when a page is needed
    #[arg(long = "swap-in", value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "window,app")]
    pub swap_in: Vec<SwapInName>,
    /// Binary logarithm of the pages of a window, as in vm.page-cluster
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=8))]
    pub page_cluster: u32,
    /// Flash: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "nexus4-emmc")]
    pub preset: String,
    /// Where the results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// How slots are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// The next slot of the current cluster, whichever app the page belongs to
    Linux,
    /// Extents of 1 MiB for each app
    Extents,
    /// Extents, and nothing is written during a launch
    Mars,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SwapInName {
    /// The page and its neighbours
    Window,
    /// The extent or cluster of 1 MiB that it lies in
    Extent,
    /// All pages of an app when it comes to the front
    App,
}
