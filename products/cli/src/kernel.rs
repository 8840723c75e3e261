//! `brisk kernel`: I/O schedulers on an emulated flash device in a virtual machine, with figures that repeat anywhere.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_vm::bench::Bench;
use brisk_vm::compare::Options;
use brisk_vm::scenario::Scenario;
use brisk_vm::schedulers::settings;
use brisk_vm::sources::Source;

use self::measure::{Keep, Part};
use crate::bench::output::Outputs;

mod found;
mod measure;
mod test;

/// Lengths of loads in the first part of a search.
const SEARCH_SCALE: f64 = 0.25;

const AFTER_HELP: &str = "\
Examples:
  brisk kernel list
  brisk kernel run one-reader-four-writers --scheduler mq-deadline --set fifo_batch=1
  brisk kernel compare one-reader-four-writers --tuned --html schedulers.html
  brisk kernel compare slowdown-s5 --schedulers none,mq-deadline,bfq --seeds 5 --scale 8
  brisk kernel bench --all --html kernel.html
  brisk kernel test --kernel 6.12,6.1

It works from a source tree of brisk: kernels are fetched and modules built there the first time (about five minutes). \
Nothing is installed, no root is needed, and nothing of this machine shows in the figures but its patience. \
What was measured is kept in target/kernel/cases: a run that was stopped goes on where it was. \
Exit codes: 0 measured or passed, 1 a test failed, 2 not possible or refused, 130 stopped by Ctrl-C.";

/// Arguments of `brisk kernel`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Source tree of brisk [default: the one that this directory is in]
    #[arg(long, value_name = "DIR", global = true)]
    source: Option<PathBuf>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the scenarios
    List,
    /// Run one scheduler with one setting
    Run(RunArgs),
    /// Set schedulers side by side, by default and at their best settings
    Compare(CompareArgs),
    /// Compare everything in kernel/bench.toml, and hold it against the aims there
    Bench(BenchArgs),
    /// Boot the tests of the kernel parts
    Test(test::Args),
}

/// What all that measure take.
#[derive(Debug, clap::Args)]
struct Common {
    /// Series of the guest's kernel
    #[arg(long, value_name = "SERIES", default_value = "6.12")]
    kernel: String,
    /// How often each load is run, each time with another seed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    seeds: u16,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// Lengths of loads over those in the scenario
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    scale: f64,
    /// Seconds that one boot may take on this machine [default: a minute for each second of the guest, and 15 minutes]
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u64>,
    /// Virtual machines at the same time; their number does not show in the figures [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Measure again what an earlier run with the same kernel, modules and load measured
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Scenarios by name, or files
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// The scheduler
    #[arg(long, value_name = "NAME", default_value = "mq-deadline")]
    scheduler: String,
    /// A setting of the queue or a tunable of the scheduler; can be given again
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct CompareArgs {
    /// Scenarios by name, or files; all: every one
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Schedulers [default: all of kernel/schedulers.toml that the kernel has]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Also search the best settings of each scheduler, and measure those
    #[arg(long)]
    tuned: bool,
    /// Search again, though the best settings were kept by an earlier --save
    #[arg(long, requires = "tuned")]
    search: bool,
    /// Settings that the search tries of each scheduler; the best three meet again in loads of full length
    #[arg(long, value_name = "N", default_value_t = 24, requires = "tuned", value_parser = clap::value_parser!(u16).range(1..=1000))]
    search_budget: u16,
    /// Lengths of loads when they are tried first, over those in the comparison
    #[arg(long, value_name = "FACTOR", default_value_t = SEARCH_SCALE, value_parser = factor, requires = "tuned")]
    search_scale: f64,
    /// Write throughput that tuned settings have to leave, in percent of the best default [default: the scenario's, 90]
    #[arg(long, value_name = "PERCENT", requires = "tuned")]
    min_writes: Option<f64>,
    /// Keep the best settings that were found, for later runs with --tuned
    #[arg(long, requires = "tuned")]
    save: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct BenchArgs {
    /// Parts of kernel/bench.toml by the names of their scenarios [default: the short ones]
    #[arg(value_name = "PART")]
    parts: Vec<String>,
    /// All parts, which takes hours; what was stopped goes on where it was
    #[arg(long, conflicts_with = "parts")]
    all: bool,
    /// Only the settings that schedulers come with
    #[arg(long)]
    defaults: bool,
    /// Search again, though the best settings were kept by an earlier run
    #[arg(long, conflicts_with = "defaults")]
    search: bool,
    #[command(flatten)]
    common: Common,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if (0.01..=100.0).contains(&factor) { Ok(factor) } else { Err("from 0.01 to 100".to_owned()) }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let here = std::env::current_dir().context("cannot tell where this is")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let source = Source::find(args.source.as_deref().unwrap_or(&here), target)?;
    match &args.what {
        What::List => list(&source),
        What::Run(args) => {
            let options = Options { schedulers: vec![args.scheduler.clone()], ..options(&args.common, &args.set)? };
            let parts = scenarios(&source, &args.scenarios)?.into_iter();
            let parts = parts.map(|scenario| Part { scenario, options: options.clone(), keep: None, aims: Vec::new() });
            measure::measure(&source, parts.collect(), &args.common, None)
        }
        What::Compare(args) => {
            let options = Options {
                schedulers: args.schedulers.clone(),
                tuned: args.tuned,
                search_scale: args.search_scale,
                search_budget: usize::from(args.search_budget),
                write_min_percent: args.min_writes,
                repeat_percent_max: None,
                ..options(&args.common, &[])?
            };
            let keep = Keep { save: args.save, anew: args.search };
            let parts = scenarios(&source, &args.scenarios)?.into_iter();
            let parts =
                parts.map(|scenario| Part { scenario, options: options.clone(), keep: Some(keep), aims: Vec::new() });
            measure::measure(&source, parts.collect(), &args.common, None)
        }
        What::Bench(args) => bench(&source, args),
        What::Test(args) => test::run(&source, args),
    }
}

/// Virtual machines at the same time: as asked for, or one for each processor.
fn machines(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

fn options(common: &Common, set: &[String]) -> anyhow::Result<Options> {
    Ok(Options {
        schedulers: Vec::new(),
        settings: settings(set)?,
        tuned: false,
        seeds: (0..common.seeds).map(|n| u64::from(common.seed) + u64::from(n)).collect(),
        scale: common.scale,
        search_scale: 1.0,
        search_budget: 1,
        also: Vec::new(),
        write_min_percent: None,
        repeat_percent_max: None,
    })
}

fn scenarios(source: &Source, names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    Ok(match names {
        [all] if all == "all" => Scenario::all(&source.scenarios())?,
        names => names.iter().map(|name| Scenario::find(&source.scenarios(), name)).collect::<Result<_, _>>()?,
    })
}

/// Everything in `kernel/bench.toml`, or some parts of it.
fn bench(source: &Source, args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let bench = Bench::read(&source.path("kernel/bench.toml"))?;
    let mut parts = Vec::new();
    for (part, scenario) in bench.parts(&args.parts, args.all, &source.scenarios())? {
        let common = options(&args.common, &[])?;
        let options = Options {
            schedulers: part.schedulers.clone(),
            also: part.also(),
            tuned: part.search_budget.is_some() && !args.defaults,
            search_budget: part.search_budget.unwrap_or(1),
            search_scale: SEARCH_SCALE,
            scale: common.scale * part.scale,
            ..common
        };
        let keep = Some(Keep { save: true, anew: args.search });
        parts.push(Part { scenario, options, keep, aims: part.aims.clone() });
    }
    measure::measure(source, parts, &args.common, Some(&bench.judged))
}

fn list(source: &Source) -> anyhow::Result<ExitCode> {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(["scenario", "device", "loads", "what it asks"]);
    for scenario in Scenario::all(&source.scenarios())? {
        table.add_row([
            scenario.name.clone(),
            scenario.device().preset.clone(),
            scenario.loads.len().to_string(),
            scenario.question,
        ]);
    }
    crate::print(&format!("{table}\n"))?;
    Ok(ExitCode::SUCCESS)
}
