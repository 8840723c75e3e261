//! Arguments of `brisk suite`, and what the proof takes as well.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use super::{cures::arguments::CuresArgs, day::arguments::DayArgs};
use crate::command::device::phone::arguments::variant;
use crate::study::launch::arguments::Watching;
use brisk_command::output::Outputs;
use brisk_command::{duration, size};

const AFTER_HELP: &str = "\
Examples:
  brisk suite run                                        # a few apps, idle and concurrent with a writer, in about \
  five minutes
  brisk suite run --apps all --runs 6 --html suite.html
  brisk suite run --preset nexus4-emmc --conditions idle --apps evince,gimp
  brisk suite whatif --apps chromium,lowriter
  brisk suite relaunch --html relaunch.html              # back to apps with little memory, in about seven minutes
  brisk suite relaunch --policies all --regimes full --runs 10 --preset nexus4-emmc
  brisk suite day --html day.html                        # a day of use with little memory, in about five minutes
  brisk suite cures --presets sd-kingston --html cures.html   # from a source tree, in virtual time

The first time builds the phone (debootstrap and Debian's packages, some minutes); later it is up in seconds. It is \
taken down in the end, also after Ctrl-C. Apps: see brisk lab phone apps. Exit codes: 0 measured, 1 measured but some \
apps could not be, 2 not possible, 130 stopped by Ctrl-C.";

/// Limits of --sqlite.
const SQLITE_LEAST: Duration = Duration::from_secs(1);
const SQLITE_MOST: Duration = Duration::from_secs(3_600);

/// Arguments of `brisk suite`.
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
    /// Launch apps cold and warm, idle and concurrent with a background writer, interleaved
    Run(RunArgs),
    /// Launch apps without storage costs: caches, databases or all data in memory, no syncs, no journal
    #[command(name = "whatif")]
    WhatIf(WhatIfArgs),
    /// Go back to running apps with little memory, hot, swapped or ended, under policies of swapping
    Relaunch(RelaunchArgs),
    /// Replay a day of use from a trace with little memory: each switch between apps, under policies of swapping
    Day(DayArgs),
    /// Measure app workloads under solutions for slow storage in the kernel lab: SQLite's settings, selective sync,
    /// file systems, RAID-0, PCM
    Cures(CuresArgs),
}

/// How the apps are launched.
#[derive(Debug, clap::Args)]
pub(crate) struct Launches {
    /// What all of them take.
    #[command(flatten)]
    pub(crate) every: Every,
    /// Cold launches only
    #[arg(long, conflicts_with = "warm")]
    pub(crate) cold: bool,
    /// Warm launches only
    #[arg(long)]
    pub(crate) warm: bool,
    /// Leave the machine's other caches alone: folders and inodes of the phone then stay in memory for cold launches
    #[arg(long)]
    pub(crate) keep_caches: bool,
}

/// Arguments of the subcommand `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// How the apps are launched.
    #[command(flatten)]
    pub(crate) launches: Launches,
    /// Conditions to compare, the base first
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "idle,writers")]
    pub(crate) conditions: Vec<ConditionName>,
    /// The background writer.
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// Arguments of `brisk suite whatif`.
#[derive(Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    /// How the apps are launched.
    #[command(flatten)]
    pub(crate) launches: Launches,
    /// Variants in addition to the baseline [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = variant)]
    pub(crate) variants: Vec<String>,
    /// Time for each kind of SQLite transaction
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::between(SQLITE_LEAST, SQLITE_MOST))]
    pub(crate) sqlite: Duration,
}

/// Arguments of `brisk suite relaunch`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("timeout", |arg| arg.default_value("40s").help("Give up on a return after this time, which it then \
                                                                  counts with")))]
#[command(mut_arg("runs", |arg| arg.help("Returns to each app: 3 or more give sums with intervals [default: 3]")))]
pub(crate) struct RelaunchArgs {
    /// What all of them take.
    #[command(flatten)]
    pub(crate) every: Every,
    /// Policies to compare, the baseline first, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "default,zram,none",
        value_parser = policy)]
    pub(crate) policies: Vec<String>,
    /// How short memory is
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "tight,full")]
    pub(crate) regimes: Vec<RegimeName>,
    /// Memory for all that runs in the phone when memory is tight [default: what the heaps of the apps take together]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) tight_memory: Option<u64>,
    /// Apps that are measured and left out of sums, such as those that are much larger than the others
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) apart: Vec<String>,
    /// Record what is swapped meanwhile, with the returns as launches, for `brisk swap`; for policies of one swap area
    /// alone
    #[arg(long, value_name = "FILE")]
    pub(crate) swap_trace: Option<PathBuf>,
    /// Memory of the phone.
    #[command(flatten)]
    pub(crate) memory: Memory,
}

/// Memory of a phone for suites.
#[derive(Debug, clap::Args)]
pub(crate) struct Memory {
    /// Memory for all that runs in the phone
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "600MiB")]
    pub(crate) memory: u64,
    /// Size of each swap area [default: twice the memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) swap_size: Option<u64>,
}

/// Names of the policies, as results have them.
pub(crate) const POLICIES: [&str; 17] = [
    "default",
    "unfrozen",
    "page-cluster-0",
    "page-cluster-3",
    "page-cluster-5",
    "iram",
    "mars",
    "mars-paper",
    "zram",
    "iram-zram",
    "mars-zram",
    "zram+flash",
    "mars-zram+flash",
    "none",
    "earlyoom",
    "iram-none",
    "iram-none-paper",
];

/// Reads the name of a policy.
pub(crate) fn policy(text: &str) -> Result<String, String> {
    let found = text == "all" || POLICIES.contains(&text);
    found
        .then(|| text.to_owned())
        .ok_or_else(|| format!("there is no policy {text}: there are {}, and all", POLICIES.join(", ")))
}

/// How short memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RegimeName {
    /// Apps are used in turn, and memory is as much as their heaps take together, unless --tight-memory says otherwise
    Tight,
    /// A memory-hungry app is in front, and the apps in the background were evicted
    Full,
}

/// The load during the launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConditionName {
    /// Nothing else happens
    Idle,
    /// Apps are installed and accounts synced meanwhile
    Writers,
}

/// What all of them take.
#[derive(Debug, clap::Args)]
pub(crate) struct Every {
    /// Flash to emulate: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "galaxy-s5-emmc")]
    pub(crate) preset: String,
    /// Size of the flash; the data is kept in memory
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size)]
    pub(crate) size: u64,
    /// I/O scheduler that the phone comes with [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Apps by name, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) apps: Vec<String>,
    /// Launches of each kind: 6 or more give intervals of 95 % [default: 3, or 6 of apps that were named]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) runs: Option<u16>,
    /// Where images of phones are kept [default: $BRISK_CACHE_DIR, or /var/cache/brisk]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// How the app is watched.
    #[command(flatten)]
    pub(crate) watching: Watching,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// What those take that have a writer in the background.
#[derive(Debug, clap::Args)]
pub(crate) struct Writing {
    /// Bytes per second of the background writer, as app installs and sync of accounts write
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "6MB")]
    pub(crate) writer_rate: u64,
}
