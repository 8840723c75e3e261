//! Arguments of `brisk kernel`.

use std::path::PathBuf;
use std::time::Duration;

use brisk_command::duration;
use brisk_command::json::Json;
use brisk_command::output::Outputs;

/// Lengths of loads in the first part of a search.
pub(crate) const SEARCH_SCALE: f64 = 0.25;

const AFTER_HELP: &str = "\
Examples:
  brisk kernel list
  brisk kernel run one-reader-four-writers --scheduler mq-deadline --set fifo_batch=1
  brisk kernel compare one-reader-four-writers --tuned --html schedulers.html
  brisk kernel compare slowdown-s5 --schedulers none,mq-deadline,bfq --seeds 5 --scale 8
  brisk kernel bench --all --html kernel.html
  brisk kernel hunt --for 1h --save --html hunt.html
  brisk kernel hunt --scheduler kyber --loads 30 --seed 7
  brisk kernel test --kernel 6.12,6.1

It works from a source tree of brisk: kernels are fetched and modules built there the first time (about five minutes). \
Nothing is installed, no root is needed, and the load of this machine does not change the figures. \
Measured cases are kept in target/kernel/cases: a run that was stopped continues. \
Exit codes: 0 measured or passed, 1 a test failed, 2 not possible or refused, 130 stopped by Ctrl-C.";

/// Arguments of `brisk kernel`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Source tree of brisk [default: the one that this directory is in]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) source: Option<PathBuf>,
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) what: What,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum What {
    /// List the scenarios
    List(Json),
    /// Run one scheduler with one setting
    Run(RunArgs),
    /// Compare schedulers, with default and with tuned settings
    Compare(CompareArgs),
    /// Compare everything in kernel/bench.toml, and check the results against the aims there
    Bench(BenchArgs),
    /// Hunt for loads under which a scheduler is worse than the stock ones
    Hunt(HuntArgs),
    /// Boot the tests of the kernel parts
    Test(TestArgs),
}

/// What all that measure in guests take.
#[derive(Debug, clap::Args)]
pub(crate) struct Guests {
    /// Series of the guest's kernel
    #[arg(long, value_name = "SERIES", default_value = "6.12")]
    pub(crate) kernel: String,
    /// Time that one boot may take on this machine [default: a minute for each second of the guest, and 15 minutes]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) time_limit: Option<Duration>,
    /// Virtual machines at the same time; their number does not change the figures [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Measure again cases that an earlier run with the same kernel, modules and load measured
    #[arg(long)]
    pub(crate) again: bool,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// What all that measure take.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Repetitions of each load, each with another seed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) seeds: u16,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u32,
    /// Lengths of loads over those in the scenario
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub(crate) scale: f64,
    /// The guests, and where the results go.
    #[command(flatten)]
    pub(crate) guests: Guests,
}

/// Arguments of the subcommand `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Scenarios by name, or files
    #[arg(required = true, value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<String>,
    /// The scheduler
    #[arg(long, value_name = "NAME", default_value = "mq-deadline")]
    pub(crate) scheduler: String,
    /// A setting of the queue or a tunable of the scheduler; can be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// What all that measure take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `brisk kernel compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// Scenarios by name, or files; all: every one
    #[arg(required = true, value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<String>,
    /// Schedulers [default: all of kernel/schedulers.toml that the kernel has]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) schedulers: Vec<String>,
    /// Also search the best settings of each scheduler, and measure those
    #[arg(long)]
    pub(crate) tuned: bool,
    /// Search again although an earlier --save kept the best settings
    #[arg(long, requires = "tuned")]
    pub(crate) search: bool,
    /// Settings that the search tries of each scheduler; the best three meet again in loads of full length
    #[arg(long, value_name = "N", default_value_t = 24, requires = "tuned",
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) search_budget: u16,
    /// Lengths of loads when they are tried first, over those in the comparison
    #[arg(long, value_name = "FACTOR", default_value_t = SEARCH_SCALE, value_parser = factor, requires = "tuned")]
    pub(crate) search_scale: f64,
    /// Write throughput that tuned settings have to leave, in percent of the best default [default: the scenario's, 90]
    #[arg(long, value_name = "PERCENT", requires = "tuned")]
    pub(crate) min_writes: Option<f64>,
    /// Keep the best settings for later runs with --tuned
    #[arg(long, requires = "tuned")]
    pub(crate) save: bool,
    /// What all that measure take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `brisk kernel bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Parts of kernel/bench.toml by the names of their scenarios [default: the short ones]
    #[arg(value_name = "PART")]
    pub(crate) parts: Vec<String>,
    /// All parts, which takes hours; a run that was stopped continues
    #[arg(long, conflicts_with = "parts")]
    pub(crate) all: bool,
    /// Only the settings that schedulers come with
    #[arg(long)]
    pub(crate) untuned: bool,
    /// Search again although an earlier run kept the best settings
    #[arg(long, conflicts_with = "untuned")]
    pub(crate) search: bool,
    /// What all that measure take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `brisk kernel hunt`.
#[derive(Debug, clap::Args)]
pub(crate) struct HuntArgs {
    /// The scheduler that the hunt is about; it is held against the stock ones, all with their defaults
    #[arg(long, value_name = "NAME", default_value = "smartio")]
    pub(crate) scheduler: String,
    /// Hold it also against stock schedulers at their best: those with the settings named `rivals` in
    /// kernel/schedulers.toml; nothing is shrunk
    #[arg(long, conflicts_with_all = ["shrink", "save"])]
    pub(crate) rivals: bool,
    /// Loads to draw at random
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) loads: u32,
    /// Loads that the search makes by changing the worst ones [default: a third of the drawn ones]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) changed: Option<u32>,
    /// Draw and search in turns for this long instead of a number of loads; shrinking comes after it
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse, conflicts_with_all = ["loads", "changed"])]
    pub(crate) duration: Option<Duration>,
    /// Worst cases to shrink, each of another bound
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(0..=8))]
    pub(crate) shrink: u16,
    /// Shrink worst cases of these bounds only: dominated, read-mean, read-p99, commit-p99, sync-write, reads-only,
    /// writes-only, discards [default: those missed by most]
    #[arg(long, value_name = "BOUND,...", value_delimiter = ',')]
    pub(crate) bound: Vec<String>,
    /// Draw loads on these kinds of devices only: virtual is a device made of dies [default: all]
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = ["emmc", "ufs", "sd", "virtual"])]
    pub(crate) kinds: Vec<String>,
    /// Put the scenario files of worst cases into kernel/scenarios/hunted, for `brisk kernel bench hunted` [default:
    /// into target/kernel/hunted]
    #[arg(long)]
    pub(crate) save: bool,
    /// Seed of the loads: the same seed draws the same loads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u32,
    /// Repetitions of each load, each with other addresses; the median is judged
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) seeds: u16,
    /// The guests, and where the results go.
    #[command(flatten)]
    pub(crate) guests: Guests,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if (0.01..=100.0).contains(&factor) { Ok(factor) } else { Err("from 0.01 to 100".to_owned()) }
}

/// Arguments of `brisk kernel test`.
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Series of kernels
    #[arg(long, value_name = "SERIES,...", value_delimiter = ',', default_values = ["6.12", "6.1"])]
    pub(crate) kernel: Vec<String>,
    /// Only tests whose names contain this; `smoke` is the first one
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Option<String>,
    /// Time that one boot may take on this machine [default: a minute for each second of the guest, and 15 minutes]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) time_limit: Option<Duration>,
    /// Virtual machines at the same time; tests with more than one processor run alone [default: one for each
    /// processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// As a document.
    #[command(flatten)]
    pub(crate) json: Json,
}
