//! Arguments of `brisk suite relaunch`.

use std::path::PathBuf;

use brisk_command::size;
use clap::ValueEnum;

use crate::study::suite::arguments::{Every, Memory, policy};

/// Arguments of `brisk suite relaunch`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("timeout", |arg| arg.default_value("40s").help("Give up on a return after this time, which it then \
                                                                  counts with")))]
#[command(mut_arg("runs", |arg| arg.help("Returns to each app: 3 or more give sums with intervals [default: 3]")))]
pub(crate) struct RelaunchArgs {
    /// What all of them take.
    #[command(flatten)]
    pub(crate) every: Every,
    /// Policies to compare, the baseline first, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "default,zram,none",
        value_parser = policy)]
    pub(crate) policies: Vec<String>,
    /// How short memory is
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "tight,full")]
    pub(crate) regimes: Vec<RegimeName>,
    /// Memory for all that runs in the phone when memory is tight [default: what the heaps of the apps take together]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) tight_memory: Option<u64>,
    /// Apps that are measured and left out of sums, such as those that are much larger than the others
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) apart: Vec<String>,
    /// Record what is swapped meanwhile, with the returns as launches, for `brisk swap`; for policies of one swap area
    /// alone
    #[arg(long, value_name = "FILE")]
    pub(crate) swap_trace: Option<PathBuf>,
    /// Memory of the phone.
    #[command(flatten)]
    pub(crate) memory: Memory,
}

/// How short memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RegimeName {
    /// Apps are used in turn, and memory is as much as their heaps take together, unless --tight-memory says otherwise
    Tight,
    /// A memory-hungry app is in front, and the apps in the background were evicted
    Full,
}
