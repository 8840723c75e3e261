//! `brisk study`: the papers' studies on a directory or a block device, and the search for settings.

mod frontier;
mod kept;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use brisk_bench::results::{Document, FrontierReport};
use brisk_bench::study::{Common, concurrency, footprint, schedulers, slowdown};
use brisk_bench::work_file::Size;
use brisk_command::session::Session;
use brisk_command::{duration, size};
use clap::Subcommand;

pub(crate) use self::kept::{Keep, keep_tries, speeds_of, tries_of};
use crate::bench::{Shared, place};

const AFTER_HELP: &str = "\
Examples:
  brisk study slowdown                          # on the storage that holds your data
  brisk study concurrency --quick /mnt/card
  brisk study schedulers /dev/loop3 --destroy-data --depths 4,32 --html schedulers.html
  brisk study footprint /dev/loop3 --destroy-data --paper
  brisk study frontier --save --html frontier.html   # what brisk tune does for each device

Exit codes: 0 measured, 2 not possible, 130 stopped by Ctrl-C.";

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// Arguments of `brisk study`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    study: Study,
}

#[derive(Debug, Subcommand)]
enum Study {
    /// How much reads and writes slow each other down
    Slowdown(SlowdownArgs),
    /// How many concurrent streams give the best throughput, for each kind of load
    Concurrency(ConcurrencyArgs),
    /// Throughput and latency of each I/O scheduler of this kernel under mixed load (root; settings are restored)
    Schedulers(SchedulersArgs),
    /// Throughput of random writes as the range of their addresses grows (writes about 25G; 0.5G quick, 55G paper)
    Footprint(FootprintArgs),
    /// Which settings give the lowest read latency under mixed load, found by search (root; settings are restored;
    /// about three minutes)
    Frontier(frontier::Args),
}

/// What all studies take.
#[derive(Debug, clap::Args)]
struct Every {
    /// Directory on the storage to measure, or a block device [default: where your data lives]
    path: Option<PathBuf>,
    /// Small loads and few repetitions: one or two minutes on a phone's flash
    #[arg(long, conflicts_with = "paper")]
    quick: bool,
    /// The sizes and repetitions of the papers: up to hours on a phone's flash
    #[arg(long)]
    paper: bool,
    /// Repetitions, interleaved: 6 or more give intervals of 95 %, an even number balances the order
    #[arg(long, value_name = "N")]
    runs: Option<u32>,
    /// Size of a request
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4k")]
    block: u64,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
struct SlowdownArgs {
    #[command(flatten)]
    every: Every,
    /// Bytes that each stream moves in a repetition [default: 8M, 2M quick, 128M paper]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    stream_size: Option<u64>,
    /// Readers, and as many writers, of each row
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,4")]
    streams: Vec<u32>,
}

#[derive(Debug, clap::Args)]
struct ConcurrencyArgs {
    #[command(flatten)]
    every: Every,
    /// Bytes of each stream [default: 2M, 512k quick, 32M paper]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    stream_size: Option<u64>,
    /// Numbers of streams to try
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "2,4,8,16,32")]
    streams: Vec<u32>,
}

#[derive(Debug, clap::Args)]
struct SchedulersArgs {
    #[command(flatten)]
    every: Every,
    /// Bytes of each mix [default: 8M, 2M quick, 128M paper]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    mix_size: Option<u64>,
    /// Requests that the load keeps in flight
    #[arg(long, value_name = "REQUESTS", default_value_t = schedulers::PAPER_DEPTH_REQUESTS)]
    depth: u32,
    /// Queue depths (nr_requests) to try [default: what each scheduler brings]
    #[arg(long, value_name = "REQUESTS,...", value_delimiter = ',')]
    depths: Vec<u32>,
    /// Schedulers to try [default: all of this kernel]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Shares of reads to try, in percent; 0 and 100 are what slowdowns refer to
    #[arg(long, value_name = "PERCENT,...", value_delimiter = ',', default_values_t = schedulers::READ_PERCENTS)]
    reads: Vec<u32>,
}

#[derive(Debug, clap::Args)]
struct FootprintArgs {
    #[command(flatten)]
    every: Every,
    /// The largest range of addresses [default: 1G, 128M quick, 4G paper, or what fits]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    size: Option<u64>,
    /// Requests of each point
    #[arg(long, value_name = "N", default_value_t = footprint::PAPER_REQUESTS)]
    requests: u64,
    /// Time after which a point ends with fewer requests [default: 30s, 4s quick, none paper]
    #[arg(long, value_name = "TIME", value_parser = duration::between(SECOND, DAY))]
    patience: Option<Duration>,
    /// Written in sequence before each point [default: 1G, 16M quick, or the largest range]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    precondition: Option<u64>,
}

/// A value for each of the three degrees of thoroughness.
struct Degrees<T> {
    quick: T,
    normal: T,
    paper: T,
}

impl Every {
    fn degree<T>(&self, degrees: Degrees<T>) -> T {
        match (self.quick, self.paper) {
            (true, _) => degrees.quick,
            (_, true) => degrees.paper,
            _ => degrees.normal,
        }
    }

    fn common(&self, runs: Degrees<u32>) -> Common {
        Common {
            path: place(self.path.as_ref()),
            destroy_data: self.shared.destroy_data,
            block_bytes: self.block,
            runs: self.runs.unwrap_or_else(|| self.degree(runs)),
            engine: self.shared.engine(),
            seed: self.shared.seed,
        }
    }

    /// Measures between the checks before and the output after.
    fn run(
        &self,
        common: &Common,
        measure: impl FnOnce(&Session) -> brisk_bench::Result<Document>,
    ) -> anyhow::Result<ExitCode> {
        self.shared.outputs.check(&common.path)?;
        let session = Session::begin()?;
        let outcome = measure(&session);
        session.end(outcome, &self.shared.outputs)
    }
}

const MIB: u64 = 1 << 20;

/// The profile that was kept for a model of device; `None` when there is none.
pub(crate) fn kept(profiles: &Path, model: &str) -> anyhow::Result<Option<brisk_engine::smartio::Profile>> {
    kept::load(&profiles.join(brisk_engine::smartio::NAME).join(brisk_engine::smartio::file_name(model)))
}

/// Keeps the chosen setting of a search or comparison, for devices of the model that was measured.
pub(crate) fn keep_settings(
    report: &FrontierReport,
    session: &Session,
    profiles: &Path,
    origin: &str,
) -> anyhow::Result<()> {
    let keep = Keep::under(profiles);
    keep.check(brisk_engine::smartio::NAME)?;
    keep.keep_of(origin, &report.header, session, |profile| frontier::choose(report, profile))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.study {
        Study::Slowdown(args) => run_slowdown(args),
        Study::Concurrency(args) => run_concurrency(args),
        Study::Schedulers(args) => run_schedulers(args),
        Study::Footprint(args) => run_footprint(args),
        Study::Frontier(args) => frontier::run(args),
    }
}

fn run_slowdown(args: &SlowdownArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    let sizes = Degrees { quick: 2 * MIB, normal: 8 * MIB, paper: slowdown::PAPER_STREAM_BYTES };
    let options = slowdown::Options {
        common: every.common(Degrees { quick: 6, normal: 8, paper: 10 }),
        stream_bytes: args.stream_size.unwrap_or_else(|| every.degree(sizes)),
        streams: args.streams.clone(),
    };
    every.run(&options.common, |session| {
        let report = session.measure(|sense, control| slowdown::run(sense, &options, control))?;
        Ok(Document::from(report))
    })
}

fn run_concurrency(args: &ConcurrencyArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    let sizes = Degrees { quick: MIB / 2, normal: 2 * MIB, paper: concurrency::PAPER_STREAM_BYTES };
    let options = concurrency::Options {
        common: every.common(Degrees { quick: 6, normal: 8, paper: 10 }),
        stream_bytes: args.stream_size.unwrap_or_else(|| every.degree(sizes)),
        streams: args.streams.clone(),
    };
    every.run(&options.common, |session| {
        let report = session.measure(|sense, control| concurrency::run(sense, &options, control))?;
        Ok(Document::from(report))
    })
}

fn run_schedulers(args: &SchedulersArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    let sizes = Degrees { quick: 2 * MIB, normal: 8 * MIB, paper: schedulers::PAPER_MIX_BYTES };
    let options = schedulers::Options {
        common: every.common(Degrees { quick: 3, normal: 6, paper: 5 }),
        mix_bytes: args.mix_size.unwrap_or_else(|| every.degree(sizes)),
        depth_requests: args.depth,
        queue_depths_requests: args.depths.clone(),
        schedulers: args.schedulers.clone(),
        read_percents: args.reads.clone(),
    };
    every.run(&options.common, |session| {
        let paths = session.paths();
        let report = session.measure(|sense, control| schedulers::run(sense, &paths, &options, control))?;
        Ok(Document::from(report))
    })
}

fn run_footprint(args: &FootprintArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    let sizes = Degrees { quick: 128 * MIB, normal: 1024 * MIB, paper: 4096 * MIB };
    let precondition = Degrees {
        quick: 16 * MIB,
        normal: footprint::PAPER_PRECONDITION_BYTES,
        paper: footprint::PAPER_PRECONDITION_BYTES,
    };
    let patience = Degrees { quick: Some(4 * SECOND), normal: Some(30 * SECOND), paper: None };
    let options = footprint::Options {
        common: every.common(Degrees { quick: 3, normal: 3, paper: 5 }),
        largest: Size {
            wanted_bytes: args.size.unwrap_or_else(|| every.degree(sizes)),
            exact: args.size.is_some(),
            patience: None,
        },
        requests: args.requests,
        patience: args.patience.or_else(|| every.degree(patience)),
        precondition_bytes: args.precondition.unwrap_or_else(|| every.degree(precondition)),
    };
    every.run(&options.common, |session| {
        let report = session.measure(|sense, control| footprint::run(sense, &options, control))?;
        Ok(Document::from(report))
    })
}
