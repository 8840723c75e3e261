//! Arguments of `brisk papers`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use super::judge::Verdict;
use brisk_command::duration;
use brisk_command::json::Json;

const AFTER_HELP: &str = "\
Examples:
  brisk papers                                # all rows, one a line
  brisk papers 4.10 mars                      # a row of the dissertation, and all of MARS, in full
  brisk papers --judged contradicted,differs --html papers.html
  brisk papers run mars-9 4.10                # measures what these rows need, and judges them
  brisk papers run --list                     # all runs, what they take, and which are done

A figure agrees when it is within the range of its row, by default a factor of 1.25 of the published one; it is \
contradicted when its whole interval is on the other side of the claim; else it differs. Figures come from documents \
of 'brisk papers run' in --results, else from the last recorded ones. Exit codes: 0 shown, 2 not possible.";

const AFTER_RUN: &str = "\
Examples:
  brisk papers run                            # everything that needs no table of yours: some hours
  brisk papers run swap-replay slowdown-s5    # by the names of runs (--list)
  brisk papers run 5.9 --usage usage.csv.gz   # a usage trace, as brisk predict eval takes it
  brisk papers run --at-most 30m --save       # short runs alone; --save keeps figures in the source tree

Each run keeps its document in --results; one that is there is not measured again without --again, so that an \
interrupted list continues where it was. Ctrl-C ends the measurement that is under way in order. Runs of the kernel \
lab and on phones need a source tree. Exit codes: 0 all were measured, 1 some could \
not be, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk papers`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Rows by name, or papers: smartstorage, smartio, iram, revisiting, latency, poster, mars [default: all]
    #[arg(value_name = "ROW|PAPER")]
    pub(crate) rows: Vec<String>,
    /// Rows with these verdicts alone
    #[arg(long, value_enum, value_name = "VERDICTS", value_delimiter = ',')]
    pub(crate) judged: Vec<Verdict>,
    /// Directory with the documents of runs
    #[arg(long, value_name = "DIR", default_value = "target/papers")]
    pub(crate) results: PathBuf,
    /// Where it goes.
    #[command(flatten)]
    pub(crate) shown: Shown,
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Where the table goes.
#[derive(Debug, clap::Args)]
pub(crate) struct Shown {
    /// The table for programs.
    #[command(flatten)]
    pub(crate) json: Json,
    /// Write a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the page of the documentation, as Markdown, into FILE; without FILE print it instead of the table. It has
    /// the recorded figures and all rows, whatever else is asked for
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) markdown: Option<PathBuf>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what rows need, keep the documents, and judge the rows by them
    Run(RunArgs),
}

/// Arguments of `brisk papers run`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_RUN)]
pub(crate) struct RunArgs {
    /// Rows or papers whose runs are made, or runs by name [default: all]
    #[arg(value_name = "ROW|PAPER|RUN")]
    pub(crate) rows: Vec<String>,
    /// List the runs, with what they take and whether their documents are there, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Measure also what has a document
    #[arg(long)]
    pub(crate) again: bool,
    /// Only runs that take about so long at most
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) at_most: Option<Duration>,
    /// A usage trace, for rows on prediction (see brisk predict eval --help)
    #[arg(long, value_name = "FILE")]
    pub(crate) usage: Option<PathBuf>,
    /// A table of memory over time, for rows on heaps (see brisk study heap --help)
    #[arg(long, value_name = "FILE")]
    pub(crate) heap: Option<PathBuf>,
    /// Directory for the documents
    #[arg(long, value_name = "DIR", default_value = "target/papers")]
    pub(crate) results: PathBuf,
    /// Keep the figures of all documents in the source tree, for the page of the documentation
    #[arg(long)]
    pub(crate) save: bool,
    /// Source tree of brisk [default: the one that this directory is in]
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Option<PathBuf>,
    /// The judged rows for programs.
    #[command(flatten)]
    pub(crate) json: Json,
}
