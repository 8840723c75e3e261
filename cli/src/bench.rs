//! `brisk bench`: StoreBench on a directory or a block device.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use brisk_bench::engine::EngineKind;
use brisk_bench::environment::data_home;
use brisk_bench::storebench::{self, Budget, Options};
use brisk_command::output::Outputs;
use brisk_command::session::Session;
use brisk_command::{defaults, duration, size};
use brisk_daemon::profiles::SPEEDS;
use brisk_report::results::Document;
use clap::ValueEnum;

use crate::study::Keep;

const AFTER_HELP: &str = "\
Examples:
  brisk bench                         # the storage that holds your data, about three minutes
  brisk bench --quick /mnt/card       # within a minute
  brisk bench /mnt/card --json=card.json --html card.html
  brisk bench /dev/loop3 --destroy-data
  brisk bench --quick --save          # keep how fast it is for briskd, as brisk tune does

The work file has no name, so nothing is left even after a kill. Exit codes: 0 measured, 2 not possible, 130 \
stopped by Ctrl-C.";

/// Limits of --budget.
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// Arguments of `brisk bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Directory on the storage to measure, or a block device [default: where your data lives]
    path: Option<PathBuf>,
    /// Finish within a minute; medians within 10 %. The first round of all loads always completes
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Take up to ten minutes, and every block size
    #[arg(long)]
    full: bool,
    /// Finish after this time; the first round of all loads always completes
    #[arg(long, value_name = "TIME", value_parser = duration::between(SECOND, DAY))]
    budget: Option<Duration>,
    /// Size of the work file, such as 256M [default: 128M quick, 512M, 1G full, or the free space]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    size: Option<u64>,
    /// Limit of what is written, about, since flash wears; preparing the file and the first round of all loads always
    /// complete [default: 4G quick, 12G, 32G full]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_written: Option<u64>,
    /// Base size of a request
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4k")]
    block: u64,
    /// Requests in flight, at most
    #[arg(long, value_name = "REQUESTS", default_value_t = 32)]
    depth: u32,
    #[command(flatten)]
    shared: Shared,
    #[command(flatten)]
    keep: Keep,
}

/// What `bench` and all studies take.
#[derive(Debug, clap::Args)]
pub(crate) struct Shared {
    /// How requests reach the kernel [default: io_uring, or plain calls where it is refused]
    #[arg(long, value_enum, value_name = "ENGINE")]
    engine: Option<EngineName>,
    /// Seed of addresses, data and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Measure a block device and destroy all data on it
    #[arg(long)]
    pub(crate) destroy_data: bool,
    #[command(flatten)]
    pub(crate) defaults: defaults::DefaultsFile,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// One io_uring with registered buffers
    #[value(name = "io_uring")]
    IoUring,
    /// pread and pwrite, one thread for each request in flight
    Calls,
}

impl Shared {
    pub(crate) fn engine(&self) -> Option<EngineKind> {
        self.engine.map(|name| match name {
            EngineName::IoUring => EngineKind::IoUring,
            EngineName::Calls => EngineKind::Calls,
        })
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let options = Options {
        path: place(args.path.as_ref()),
        destroy_data: args.shared.destroy_data,
        budget: match (args.quick, args.full) {
            (true, _) => Budget::Quick,
            (_, true) => Budget::Full,
            _ => Budget::Normal,
        },
        time: args.budget,
        size_bytes: args.size,
        written_bytes_max: args.max_written,
        block_bytes: args.block,
        depth_requests: args.depth,
        engine: args.shared.engine(),
        seed: args.shared.seed,
    };
    args.keep.check(SPEEDS)?;
    args.shared.outputs.check(&options.path)?;
    let session = Session::begin()?;
    let outcome = session.measure(|sense, control| storebench::run(sense, &options, control));
    let report = outcome.as_ref().ok().cloned();
    let code = session.end(outcome.map(Document::from), &args.shared.outputs)?;
    if let Some(report) = report {
        args.keep.keep_speeds(&report, &session)?;
    }
    Ok(code)
}

/// The place asked for, or where this person's data lives.
pub(crate) fn place(asked: Option<&PathBuf>) -> PathBuf {
    asked.cloned().unwrap_or_else(|| data_home(|name| std::env::var_os(name), |path| path.is_dir()))
}
