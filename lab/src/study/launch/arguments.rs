//! Arguments of `brisk launch`, and how an app is watched.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use crate::study::display;
use brisk_command::output::Outputs;
use brisk_command::{defaults, duration};

const AFTER_HELP: &str = "\
Examples:
  brisk launch mousepad                          # cold and warm, on the display of this session
  brisk launch --virtual -- xterm -e top         # on a virtual screen
  brisk launch org.gnome.Evince --cold --runs 10 --html evince.html
  brisk launch --warm --vs 'mousepad --disable-server' -- mousepad
  brisk launch --cold --save-reads reads.json -- gnumeric
  brisk launch --no-screen -- sh -c 'sleep 1; cat large-file'   # until it ends, or was idle for the time of --idle

The app is ended after each launch: save what is open in it before. Root gets the whole picture: the split by cause, \
what was read, and cold launches that are cold. Exit codes: 0 measured, 1 measured but some launches did not settle, 2 \
not possible, 130 stopped by Ctrl-C.";

/// Limits of --timeout and --unsettled, and of --stay.
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

/// Arguments of `brisk launch`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// A desktop id such as org.gnome.Evince, or a program; with arguments give it after --
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub(crate) app: Option<String>,
    /// Program and arguments
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
    /// Launch with none of the app's files in memory, verified [default: cold and warm in turns]
    #[arg(long)]
    pub(crate) cold: bool,
    /// Launch with the app in memory
    #[arg(long)]
    pub(crate) warm: bool,
    /// Launches of each kind, interleaved: 6 or more give intervals of 95 %
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) runs: u16,
    /// Compare with this command line, in turns (A B B A)
    #[arg(long, value_name = "COMMAND")]
    pub(crate) vs: Option<String>,
    /// Also drop all caches of the machine before cold launches: directories, inodes and all other files
    #[arg(long)]
    pub(crate) drop_caches: bool,
    /// Time for which the app runs on after each launch, as one that is used: brisk's daemon learns a launch when the
    /// app has not waited for storage for a second
    #[arg(long, value_name = "TIME", value_parser = duration::between(Duration::from_millis(1), MINUTE))]
    pub(crate) stay: Option<Duration>,
    /// How the app is watched.
    #[command(flatten)]
    pub(crate) watching: Watching,
    /// Without a screen: an app that keeps running is done after this time without work [default: 5s]
    #[arg(long, value_name = "TIME", requires = "no_screen", value_parser = duration::between(SECOND, DAY))]
    pub(crate) idle: Option<Duration>,
    /// Launch an app of the catalogue as the user of a phone, which this machine is (see `brisk phone`)
    #[arg(long, hide = true, requires = "app")]
    pub(crate) as_phone: bool,
    /// Launch with memory as it is, without a launch before (see `brisk phone`)
    #[arg(long, hide = true, requires = "as_phone", conflicts_with_all = ["warm", "drop_caches", "vs", "save_reads"])]
    pub(crate) as_it_is: bool,
    /// Write what the first cold launch read, in order, into FILE (JSON)
    #[arg(long, value_name = "FILE")]
    pub(crate) save_reads: Option<PathBuf>,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// How an app is watched, for `launch` and `latency`.
#[derive(Debug, clap::Args)]
pub(crate) struct Watching {
    /// How the time is split
    #[arg(long, value_enum, value_name = "METHOD", default_value = "bpf")]
    pub(crate) method: MethodName,
    /// The screen.
    #[command(flatten)]
    pub(crate) display: display::Options,
    /// Give up on a launch or an answer after this time
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration::between(SECOND, DAY))]
    pub(crate) timeout: Duration,
    /// Give up on a screen that never settles after this time without waits for storage
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::between(SECOND, DAY))]
    pub(crate) unsettled: Duration,
    /// Where defaults come from.
    #[command(flatten)]
    pub(crate) defaults: defaults::DefaultsFile,
}

/// How the time of a launch is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodName {
    /// By the kernel's events (eBPF): exclusive, to the microsecond
    Bpf,
    /// By counters of the app's control group
    Cgroup,
    /// By formulas 4.1 and 4.2 of the dissertation
    Paper,
}
