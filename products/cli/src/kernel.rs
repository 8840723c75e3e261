//! `brisk kernel`: I/O schedulers on an emulated flash device in a virtual machine, with figures that repeat anywhere.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_results::{Document, Environment, Header, KernelReport, KernelScenario, SCHEMA_VERSION};
use brisk_vm::compare::{self, Found, Options};
use brisk_vm::lab::Lab;
use brisk_vm::scenario::Scenario;
use brisk_vm::schedulers::{Settings, settings};
use brisk_vm::sources::Source;
use brisk_vm::{Error, Watch};

use crate::bench::output::{Outputs, replace};
use crate::bench::session::Session;

mod test;

const AFTER_HELP: &str = "\
Examples:
  brisk kernel list
  brisk kernel run one-reader-four-writers --scheduler mq-deadline --set fifo_batch=1
  brisk kernel compare one-reader-four-writers --tuned --html schedulers.html
  brisk kernel compare slowdown-s5 --schedulers none,mq-deadline,bfq --seeds 5 --scale 8
  brisk kernel test --kernel 6.12,6.1

It works from a source tree of brisk: kernels are fetched and modules built there the first time (about five minutes). \
Nothing is installed, no root is needed, and nothing of this machine shows in the figures but its patience. \
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
    /// Rounds of the search at most; each changes one setting of the best so far
    #[arg(long, value_name = "N", default_value_t = 3, requires = "tuned")]
    search_rounds: u32,
    /// Lengths of loads in the search over those in the comparison
    #[arg(long, value_name = "FACTOR", default_value_t = 0.5, value_parser = factor, requires = "tuned")]
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
            measure(&source, &args.scenarios, &args.common, &options, None)
        }
        What::Compare(args) => {
            let options = Options {
                schedulers: args.schedulers.clone(),
                tuned: args.tuned,
                search_scale: args.search_scale,
                search_rounds: args.search_rounds,
                write_min_percent: args.min_writes,
                repeat_percent_max: brisk_vm::refuse::REPEAT_PERCENT_MAX,
                ..options(&args.common, &[])?
            };
            let keep = Keep { save: args.save, anew: args.search };
            measure(&source, &args.scenarios, &args.common, &options, Some(keep))
        }
        What::Test(args) => test::run(&source, args),
    }
}

fn options(common: &Common, set: &[String]) -> anyhow::Result<Options> {
    Ok(Options {
        schedulers: Vec::new(),
        settings: settings(set)?,
        tuned: false,
        seeds: (0..common.seeds).map(|n| u64::from(common.seed) + u64::from(n)).collect(),
        scale: common.scale,
        search_scale: 1.0,
        search_rounds: 0,
        write_min_percent: None,
        repeat_percent_max: brisk_vm::refuse::REPEAT_PERCENT_MAX,
    })
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

/// What becomes of settings that were found.
#[derive(Clone, Copy)]
struct Keep {
    save: bool,
    anew: bool,
}

fn measure(
    source: &Source,
    names: &[String],
    common: &Common,
    options: &Options,
    keep: Option<Keep>,
) -> anyhow::Result<ExitCode> {
    common.outputs.check(&source.scenarios())?;
    let scenarios = match names {
        [all] if all == "all" => Scenario::all(&source.scenarios())?,
        names => names.iter().map(|name| Scenario::find(&source.scenarios(), name)).collect::<Result<_, _>>()?,
    };
    let session = Session::begin()?;
    let mut failed = Vec::new();
    let outcome = measured(&session, source, &scenarios, common, options, keep, &mut failed);
    session.clear();
    match outcome {
        Ok(report) => {
            common.outputs.write(&Document::Kernel(Box::new(report)))?;
            for error in &failed {
                eprintln!("brisk: {error:#}");
            }
            Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped)) => Ok(session.was_stopped()),
        Err(error) => Err(error),
    }
}

fn measured(
    session: &Session,
    source: &Source,
    scenarios: &[Scenario],
    common: &Common,
    options: &Options,
    keep: Option<Keep>,
    failed: &mut Vec<anyhow::Error>,
) -> anyhow::Result<KernelReport> {
    let started = jiff::Timestamp::now();
    let begun = std::time::Instant::now();
    let prepare = |_: f64, doing: &str| session.show(0.0, doing);
    let mut lab = Lab::prepare(source, &common.kernel, Watch { stop: session.stop_flag(), progress: &prepare })?;
    lab.time_limit = common.time_limit.map(Duration::from_secs);
    lab.jobs = common.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let mut options = options.clone();
    if options.schedulers.is_empty() {
        options.schedulers = lab.schedulers.names().map(str::to_owned).collect();
    }
    let mut measured = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        let progress = |done: f64, doing: &str| {
            session.show((place as f64 + done) / scenarios.len() as f64, &format!("{}: {doing}", scenario.name));
        };
        let file = kept(source, &common.kernel, scenario, &options);
        let anew = keep.is_none_or(|keep| keep.anew);
        let mut found = if options.tuned && !anew { read(&file)? } else { Found::new() };
        let watch = Watch { stop: session.stop_flag(), progress: &progress };
        let one = match compare::compare(&mut lab, scenario, &options, &mut found, watch) {
            Err(error @ (Error::Refused { .. } | Error::TimeLimit { .. } | Error::Failed { .. }))
                if scenarios.len() > 1 =>
            {
                // Hours of others are not lost to it.
                failed.push(anyhow::Error::from(error).context(format!("scenario {}", scenario.name)));
                continue;
            }
            other => other.with_context(|| format!("scenario {}", scenario.name))?,
        };
        if keep.is_some_and(|keep| keep.save) {
            save(&file, &found)?;
        }
        measured.push(one);
    }
    if measured.iter().all(|one| one.rows.is_empty()) {
        let told: Vec<String> = measured.iter().map(refusals).collect();
        bail!("nothing was measured: {}", failed.first().map_or_else(|| told.join("; "), |error| format!("{error:#}")));
    }
    Ok(KernelReport {
        header: Header {
            schema_version: SCHEMA_VERSION,
            started: started.to_string(),
            duration_s: begun.elapsed().as_secs_f64(),
            environment: Environment {
                brisk_version: env!("CARGO_PKG_VERSION").to_owned(),
                kernel: lab.kernel.release.clone(),
                architecture: std::env::consts::ARCH.to_owned(),
                cpus: 1,
                path: "a virtual machine".to_owned(),
                file_system: None,
                mount_options: None,
                device: None,
            },
            io_engine: None,
            seed: options.seeds.first().copied().unwrap_or_default(),
            written_bytes: 0,
            warnings: Vec::new(),
        },
        series: common.kernel.clone(),
        scenarios: measured,
    })
}

fn refusals(scenario: &KernelScenario) -> String {
    let told: Vec<String> = scenario.refused.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    told.join("; ")
}

/// Where the settings are kept that were found for a scenario, on a kernel, with this share of writes to leave.
fn kept(source: &Source, series: &str, scenario: &Scenario, options: &Options) -> PathBuf {
    let least = options.write_min_percent.unwrap_or(scenario.write_min_percent);
    source.work().join("tuned").join(series).join(format!("{}-{least}.toml", scenario.name))
}

/// Settings that an earlier search found; none when there was none.
fn read(file: &Path) -> anyhow::Result<Found> {
    #[derive(serde::Deserialize)]
    struct One {
        tried: u32,
        settings: Settings,
    }
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    let all: std::collections::BTreeMap<String, One> = toml::from_str(&text)
        .with_context(|| format!("{} is damaged: remove it, or search again with --search", file.display()))?;
    Ok(all.into_iter().map(|(name, one)| (name, (one.settings, one.tried))).collect())
}

fn save(file: &Path, found: &Found) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct One<'a> {
        tried: u32,
        settings: &'a Settings,
    }
    let all: std::collections::BTreeMap<&String, One<'_>> =
        found.iter().map(|(name, (settings, tried))| (name, One { tried: *tried, settings })).collect();
    let text = toml::to_string(&all).context("cannot write the settings as TOML")?;
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    replace(file, format!("# Found by `brisk kernel compare --tuned --save`.\n{text}").as_bytes())?;
    eprintln!("kept in {}", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_read_as_it_was_saved() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("6.12/one.toml");
        assert_eq!(read(&file).expect("nothing yet"), Found::new());
        let settings: Settings = [("nr_requests".to_owned(), "4".to_owned())].into();
        let found: Found =
            [("bfq".to_owned(), (settings, 17)), ("mq-deadline".to_owned(), (Settings::new(), 3))].into();
        save(&file, &found).expect("saved");
        assert_eq!(read(&file).expect("read"), found);
        std::fs::write(&file, "bfq = 7").expect("written");
        assert!(format!("{:#}", read(&file).expect_err("damaged")).contains("--search"));
    }
}
