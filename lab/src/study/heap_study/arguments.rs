//! Arguments of `brisk study heap`, the study of the laboratory that needs neither a phone nor a screen.

use std::path::PathBuf;
use std::time::Duration;

use brisk_command::duration;
use brisk_command::output::Outputs;

const AFTER_HELP: &str = "\
Examples:
  brisk study heap heap.csv --html heap.html
  brisk study heap dumpsys.csv.gz --interval 6s --json=heap.json

The table (CSV or tabs, packed by gzip or not; - is standard input) is known by its columns; further ones do not matter:
  app, run, time_ms, anonymous_bytes, swapped_bytes     of processes: need is anonymous memory, also in swap
  run, process, uptime_s, total_heap_alloc              of Android's dumpsys meminfo, in kB: need is the heap in use
  run, time_s, pid, process, rss_kb                     resident memory of processes: need is that

Each run is judged by what the ten runs before it taught, and by nothing of its own future. Rules: fixed is 128 MB; \
persistence the last value and the conformal quantile of its changes; paper the prediction by ARX and twice its error; \
adaptive what briskd does, which has seen the other apps, too; hindsight the least margin above the last value that \
would have been enough, which no rule can know. Exit codes: 0 evaluated, 2 not possible, 130 stopped by Ctrl-C.";

const INTERVAL_LEAST: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3_600);

/// Arguments of `brisk study heap`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Table of memory over time; - is standard input
    #[arg(value_name = "TRACES")]
    pub(crate) traces: PathBuf,
    /// Time between two values, each of which is the last sample before it [default: 1s, or the table's own where that
    /// is longer]
    #[arg(long, value_name = "TIME", value_parser = duration::between(INTERVAL_LEAST, HOUR))]
    pub(crate) interval: Option<Duration>,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}
