//! Arguments of `brisk latency`.

use std::ffi::OsString;

use crate::study::launch::arguments::Watching;
use brisk_command::output::Outputs;

/// Seed of the paper's pseudo-random events.
pub(crate) const MONKEY_SEED: u64 = 10;

const AFTER_HELP: &str = "\
Examples:
  brisk latency --list                              # scripts that come with brisk
  brisk latency mousepad                            # one of them, on the display of this session
  brisk latency mine.toml --virtual --runs 10 --html mine.html
  brisk latency evince --virtual -- evince ~/paper.pdf
  brisk latency --monkey 500 --seed 10 -- gnome-mines   # run-time delay: pseudo-random events
  brisk latency --show mousepad >mine.toml          # a script to begin with

The input goes to whatever has the focus of the display: use --virtual, or leave the \
keyboard alone. Exit codes: 0 measured, 1 measured but some answers never settled, 2 not possible, 130 stopped by \
Ctrl-C.";

/// Arguments of `brisk latency`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// A script: a TOML file, or the name of one that comes with brisk
    #[arg(required_unless_present_any = ["monkey", "list", "show"], conflicts_with = "monkey")]
    pub(crate) script: Option<String>,
    /// Program and arguments, instead of the script's
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
    /// Send so many pseudo-random events instead of a script, and measure how long they take (the paper: 500)
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
        requires = "command")]
    pub(crate) monkey: Option<u64>,
    /// Seed of the events: the same seed gives the same events
    #[arg(long, value_name = "N", default_value_t = MONKEY_SEED)]
    pub(crate) seed: u64,
    /// Repetitions, each in a freshly launched app
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) runs: u16,
    /// Drop all caches of the machine before each repetition, so that the app's files are read again
    #[arg(long)]
    pub(crate) cold: bool,
    /// How the app is watched.
    #[command(flatten)]
    pub(crate) watching: Watching,
    /// Answer an app of the catalogue as the user of a phone, which this machine is (see `brisk phone`)
    #[arg(long, hide = true)]
    pub(crate) as_phone: bool,
    /// List the scripts that come with brisk
    #[arg(long, conflicts_with_all = ["script", "command", "monkey", "show", "html"])]
    pub(crate) list: bool,
    /// Print a script that comes with brisk
    #[arg(long, value_name = "NAME", conflicts_with_all = ["script", "command", "monkey", "html"])]
    pub(crate) show: Option<String>,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}
