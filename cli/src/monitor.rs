//! `brisk monitor`: samples of the machine, second by second, on the terminal and in a record; and views of records.

mod export;
mod pace;
mod session;
mod show;
mod summary;
mod view;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use brisk_command::duration;
use brisk_core::units::{format_bytes, parse_bytes};
use brisk_record::{Item, Lost, Reader, Session, older_part};
use clap::{Subcommand, ValueEnum};

const AFTER_HELP: &str = "\
Examples:
  brisk monitor                                   # until Ctrl-C
  brisk monitor --interval 500ms --duration 1m --device mmcblk0
  brisk monitor --output day.brisk --max-size 64M --quiet
  brisk monitor --cgroup /sys/fs/cgroup/user.slice --json --duration 10s
  brisk monitor show day.brisk
  brisk monitor export day.brisk --format perfetto --output day.pftrace   # opens in ui.perfetto.dev

Without --device all disks are watched that have ever done anything, without --cgroup the apps that the desktop put \
into control groups of their own (app-*.scope, app-*.service). Rates of the first line are over the first interval. A \
record that exists is continued. It reaches the disk like any file, so put it elsewhere than on the disk that you watch.

The end is a summary, which --quiet prints alone: least, median, most, totals, and what monitoring itself cost. Exit \
codes: 0 done, 2 not possible, 130 stopped by Ctrl-C.";

const AFTER_HELP_SHOW: &str = "\
Example:
  brisk monitor show day.brisk

The kernel's counters of a disk give the number of its requests and their bytes, so there are mean sizes and no \
histogram of sizes. Exit codes: 0 shown, 1 shown and a part of the record is lost, 2 not possible.";

const AFTER_HELP_EXPORT: &str = "\
Examples:
  brisk monitor export day.brisk --format csv --output day.csv
  brisk monitor export day.brisk --format csv --output - | head -3
  brisk monitor export day.brisk --format perfetto --output day.pftrace
  brisk monitor export day.brisk --format openmetrics --output day.om

One row, or one value of each counter, for each interval between two samples. A value that the machine did not have is \
empty. Exit codes: 0 exported, 1 exported and a part of the record is lost, 2 not possible.";

/// The shortest interval: the kernel counts processor time in steps of it.
const INTERVAL_MIN: Duration = Duration::from_millis(10);
/// The least size of a record.
const SIZE_BYTES_MIN: u64 = 64 << 10;

/// Arguments of `brisk monitor`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    watch: Watch,
}

/// What to sample, and the outputs.
#[derive(Debug, clap::Args)]
struct Watch {
    /// Time from one sample to the next, such as 1s, 500ms or 2m; at least 10ms
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "1s", allow_hyphen_values = true)]
    interval: Duration,
    /// End after this time, such as 90s or 5m [default: on Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_hyphen_values = true)]
    duration: Option<Duration>,
    /// Record the samples in FILE, appended to its content
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Limit of the record and its older part, FILE.1, together; at least the latest half is kept
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "output")]
    max_size: Option<u64>,
    /// Watch this disk or partition only, such as mmcblk0 or /dev/sda2; more than one may be given
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<PathBuf>,
    /// Watch this control group (of the second version) as an app; more than one may be given
    #[arg(long = "cgroup", value_name = "DIR")]
    cgroups: Vec<PathBuf>,
    /// Print one JSON document a line for programs instead of text, or write them into FILE as well: each sample, then
    /// the summary
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Summarise a record
    #[command(after_help = AFTER_HELP_SHOW)]
    Show {
        /// The record
        file: PathBuf,
        /// Print one JSON document a line for programs instead of text, or write them into FILE as well: one for each
        /// session, then what is lost
        #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
        json: Option<PathBuf>,
    },
    /// Turn a record into a table, a trace or metrics
    #[command(after_help = AFTER_HELP_EXPORT)]
    Export {
        /// The record
        file: PathBuf,
        /// What to make
        #[arg(long, value_enum)]
        format: Format,
        /// Where it goes; - is standard output
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values, one row for each interval
    Csv,
    /// A trace with one counter track for each value, for ui.perfetto.dev
    Perfetto,
    /// Metrics with their times, to be imported into a time series database (promtool tsdb create-blocks-from
    /// openmetrics)
    Openmetrics,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => session::run(&args.watch),
        Some(Command::Show { file, json }) => show::run(file, json.as_deref()),
        Some(Command::Export { file, format, output }) => export::run(file, *format, output),
    }
}

/// Gives every item of the record at `path`, and before them those of its older part where a long session filled one,
/// to `use_item`; what is lost of both.
fn read(path: &Path, use_item: &mut dyn FnMut(Item) -> anyhow::Result<()>) -> anyhow::Result<Lost> {
    let mut reader = Reader::open(path)?;
    let Some(first) = reader.next().transpose()? else {
        bail!("{} holds no session: nothing was recorded, or all of it is lost", path.display());
    };
    let mut lost = Lost::default();
    if let Item::Session(session) = &first
        && session.part > 0
        && is_older(&older_part(path), session)
    {
        let mut older = Reader::open(&older_part(path))?;
        older.by_ref().try_for_each(|item| use_item(item?))?;
        lost = older.lost();
    }
    use_item(first)?;
    reader.by_ref().try_for_each(|item| use_item(item?))?;
    Ok(lost.and(reader.lost()))
}

/// Whether the record at `path` holds the part before the one that begins with `session`.
fn is_older(path: &Path, session: &Session) -> bool {
    let Ok(mut reader) = Reader::open(path) else { return false };
    reader.any(|item| match item {
        Ok(Item::Session(older)) => {
            older.started_unix_ms == session.started_unix_ms && older.part.checked_add(1) == Some(session.part)
        }
        _ => false,
    })
}

/// Prints what is lost of a record, and gives the exit code for it.
fn report(path: &Path, lost: Lost) -> ExitCode {
    if lost.unknown_frames > 0 {
        brisk_program::warn!(
            "brisk: {} holds {} items that only a newer brisk knows; they are left out",
            path.display(),
            lost.unknown_frames
        );
    }
    if !lost.is_damage() {
        return ExitCode::SUCCESS;
    }
    brisk_program::info!(
        "brisk: a part of {} is lost: {} frames ({} bytes) are damaged, {} samples depend on a lost one, {} bytes at \
         the end are cut off; all else is there",
        path.display(),
        lost.damaged_frames,
        lost.damaged_bytes,
        lost.orphaned_samples,
        lost.cut_off_bytes,
    );
    ExitCode::from(1)
}

fn size(text: &str) -> anyhow::Result<u64> {
    let size_bytes = parse_bytes(text)?;
    if size_bytes < SIZE_BYTES_MIN {
        bail!("a record of {} is too small: give at least {}", format_bytes(size_bytes), format_bytes(SIZE_BYTES_MIN));
    }
    Ok(size_bytes)
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration::parse(text)?;
    if interval < INTERVAL_MIN {
        return Err(format!(
            "an interval of {text} is too short: the kernel counts processor time in steps of 10ms, so give at least \
             10ms"
        ));
    }
    Ok(interval)
}
