//! Arguments of `brisk study cures`.

use std::path::PathBuf;
use std::time::Duration;

use brisk_command::duration;
use brisk_command::output::Outputs;

const AFTER_HELP: &str = "\
It carries out the storage work of the paper's WebBench and Facebook runs on emulated cards in the kernel lab's \
virtual machine, from a source tree: the load of this machine does not change the figures. The kernel for any machine \
(6.12-full) has all file systems.

Examples:
  brisk study cures --presets sd-ridata,sd-kingston --html cures.html --json=cures.json
  brisk study cures --presets emmc-5.1 --apps facebook --solutions baseline,index_in_ram,selective_sync
  brisk study cures --apps webbench --web-pages 10 --seeds 3
  brisk study cures --seeds 0 --cuts 500 --solutions selective_sync,wal

Power cuts (--cuts): files and databases are written until the power fails at a seeded moment; what was acknowledged \
is compared with what is there afterwards. The device has a volatile cache of 1 MiB, of which any subset is lost. A \
cut that finds nothing at risk does not count.

Exit codes: 0 measured, 1 measured but some solutions could not be, or a promise was broken in a power cut, 2 not \
possible or refused, 130 stopped by Ctrl-C.";

/// Arguments of `brisk study cures`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CuresArgs {
    /// Cards to emulate, by names from `brisk phone presets`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "sd-ridata,sd-kingston")]
    pub(crate) presets: Vec<String>,
    /// Apps: webbench, facebook
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "webbench,facebook")]
    pub(crate) apps: Vec<String>,
    /// Solutions beside the baseline, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "all")]
    pub(crate) solutions: Vec<String>,
    /// Pages of a run, at most those of the app [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) web_pages: Option<u32>,
    /// Runs of each, each with another seed; 0: power cuts alone
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=100))]
    pub(crate) seeds: u16,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u32,
    /// Power cuts under each solution that find something at risk
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) cuts: u32,
    /// Device of the power cuts, by a name from `brisk phone presets`; it needs a volatile cache
    #[arg(long, value_name = "NAME", default_value = "galaxy-s5-emmc")]
    pub(crate) cut_preset: String,
    /// Series of the guest's kernel
    #[arg(long, value_name = "SERIES", default_value = "6.12-full")]
    pub(crate) kernel: String,
    /// Source tree of brisk [default: the one that this directory is in]
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Option<PathBuf>,
    /// Time that one boot may take on this machine
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) time_limit: Option<Duration>,
    /// Virtual machines at the same time; their number does not change the figures [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}
