//! Arguments of `brisk swap`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use brisk_command::duration::{self, VALUE};
use brisk_command::json::Json;
use brisk_command::output::Outputs;

const SECOND: Duration = Duration::from_secs(1);

const AFTER_HELP: &str = "\
Examples:
  brisk swap record --duration 60s --output day.swap  # what this machine swaps
  brisk phone run --swap flash --memory 256M -- brisk-lab swap record --duration 60s --output -   # a phone
  brisk swap generate --seed 7 --output day.swap      # a synthetic trace: twelve apps, 60 % of them swapped out
  brisk swap show day.swap                            # needs slots: a recorded or laid out trace
  brisk swap replay day.swap --html replay.html       # linux, extents and mars on the flash of a Nexus 4
  brisk swap replay *.swap --policy linux,mars --swap-in window --preset galaxy-s5-emmc

A trace is a table (CSV or tabs, also as .gz; - is standard input): time_us, action (front, ready, out, in, ahead, \
held, free), app, page, slot; a comment before it has the size of the swap area. The same trace, policy and preset \
give the same figures: times are those of the flash model.";

/// Arguments of `brisk swap`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record what this machine swaps: which page went to which slot, and when
    Record(Record),
    /// Write a synthetic trace: a person who changes between apps that do not fit into memory
    Generate(Generate),
    /// Show how sequential the swapping of a trace was: bandwidth, pieces and mixture over time
    Show(Show),
    /// Replay traces with another allocation of swap slots, in model time
    Replay(Replay),
}

/// Arguments of `brisk swap record`.
#[derive(Debug, clap::Args)]
pub(crate) struct Record {
    /// Swap area, a device or file of `swapon --show` [default: the one in use]; all processes of this machine are apps
    #[arg(long, value_name = "DEVICE|FILE")]
    pub(crate) area: Option<PathBuf>,
    /// End after this time [default: at Ctrl-C]
    #[arg(long, value_name = VALUE, value_parser = duration::between(SECOND, 30 * 86_400 * SECOND))]
    pub(crate) duration: Option<Duration>,
    /// Interval at which page tables are read, to name pages and to find slots that are not needed any more
    #[arg(
        long,
        value_name = VALUE,
        default_value = "2s",
        value_parser = duration::between(SECOND / 10, 3_600 * SECOND)
    )]
    pub(crate) scan: Duration,
    /// File for the trace
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// What was recorded, for programs.
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Arguments of `brisk swap generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// Seed: the same seed gives the same trace
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How often the person changes to another app
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) switches: u32,
    /// Percent of its pages that an app uses when it comes back
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) used: u8,
    /// Give each page the slot that Linux would give it
    #[arg(long)]
    pub(crate) slots: bool,
    /// File for the trace; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

/// Arguments of `brisk swap show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Intervals that the time is divided into
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=2_000))]
    pub(crate) intervals: u16,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// Arguments of `brisk swap replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// Traces: the figures are medians over them
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,
    /// How slots are allocated: by clusters for all apps, by extents for each app, and by extents with writes deferred
    /// in launches
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "linux,extents,mars")]
    pub(crate) policy: Vec<PolicyName>,
    /// What is read when a page is needed
    #[arg(long = "swap-in", value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "window,app")]
    pub(crate) swap_in: Vec<SwapInName>,
    /// Binary logarithm of the pages of a window, as in vm.page-cluster
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=8))]
    pub(crate) page_cluster: u32,
    /// Flash of the model: a name from `brisk phone presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "nexus4-emmc")]
    pub(crate) preset: String,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// How slots are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// The next slot of the current cluster, whichever app the page belongs to
    Linux,
    /// Extents of 1 MiB for each app
    Extents,
    /// Extents, and nothing is written during a launch
    Mars,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwapInName {
    /// The page and its neighbours
    Window,
    /// The extent or cluster of 1 MiB that it lies in
    Extent,
    /// All pages of an app when it comes to the front
    App,
}
