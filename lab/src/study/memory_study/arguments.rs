//! Arguments of `brisk study memory`, the study of the laboratory: it needs a phone and a screen.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use crate::study::display;
use crate::study::on_phone;
use brisk_command::output::Outputs;
use brisk_command::{duration, size};

const AFTER_HELP: &str = "\
Parts, and how long they take with the default apps and options:
  free     free memory while the apps are launched one after another and go to the background: 2 minutes
  growth   heap of each app in its first minute, each app alone: 1 minute for each run of an app, 16 minutes
  limits   which limit of memory lets which app start, try by try: 30 minutes; a slow start takes the whole --timeout
  sets     what is resident, what a second of a return uses, what a return brings back from swap: 3 minutes

Examples:
  brisk study memory --parts free,sets --html memory.html
  brisk study memory --parts growth --runs 11 --traces heap.csv         # for brisk study heap
  brisk study memory --parts limits --limits 16M,24M,32M --apps xterm,evince
  brisk study memory --parts growth --apps evince --runs 1 --length 20s  # within half a minute

It is measured on an emulated phone with limited memory, with the flash of nexus4-emmc where neither --preset nor \
--phone is given. The part sets needs swap on that flash, and is refused while this machine has other swap areas in \
use. Exit codes: 0 measured, 1 measured but some apps could not be launched, 2 not possible, 130 stopped by Ctrl-C. \
When a part is stopped or not possible, those before it are shown all the same.";

/// Limits of the durations.
const INTERVAL_LEAST: Duration = Duration::from_millis(20);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// Arguments of `brisk study memory`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Parts of the study
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "free,growth,sets")]
    pub(crate) parts: Vec<PartName>,
    /// Apps of the phone, in the order of their launches, or all (see brisk lab phone apps)
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "evince,gnumeric,mousepad,galculator,xterm"
    )]
    pub(crate) apps: Vec<String>,
    /// Memory for all that runs in the phone
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "600MiB", conflicts_with = "phone")]
    pub(crate) memory: u64,
    /// free: how long each app is in front
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::between(SECOND, HOUR))]
    pub(crate) dwell: Duration,
    /// free: how often the apps are visited; the first time they are launched
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: u32,
    /// free, growth: time between two samples
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = duration::between(INTERVAL_LEAST, MINUTE))]
    pub(crate) interval: Duration,
    /// growth, sets: runs of each app
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) runs: u32,
    /// growth: length of a run
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration::between(SECOND, HOUR))]
    pub(crate) length: Duration,
    /// growth: write all samples into FILE (CSV): app, run, time_ms, anonymous_bytes, file_bytes, swapped_bytes
    #[arg(long, value_name = "FILE")]
    pub(crate) traces: Option<PathBuf>,
    /// limits: memory of an app
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size,
        default_value = "16MiB,32MiB,64MiB,128MiB,256MiB")]
    pub(crate) limits: Vec<u64>,
    /// limits: tries of each app under each limit; all are done, also when the first ones agree
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) tries: u32,
    /// limits: a launch that has not settled by then is slow
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration::between(SECOND, HOUR))]
    pub(crate) timeout: Duration,
    /// The phone.
    #[command(flatten)]
    pub(crate) phone: on_phone::Choice,
    /// The screen.
    #[command(flatten)]
    pub(crate) display: display::Options,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// A part of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartName {
    /// Free memory while apps go to the background
    Free,
    /// Heap of each app after its launch
    Growth,
    /// Limits under which each app starts
    Limits,
    /// What is resident, what is used, what a return needs
    Sets,
}
