//! Arguments of `brisk suite whatif`.

use std::time::Duration;

use brisk_command::duration;

use crate::command::device::phone::arguments::variant;
use crate::study::suite::arguments::Launches;

const SQLITE_LEAST: Duration = Duration::from_secs(1);
const SQLITE_MOST: Duration = Duration::from_secs(3_600);

/// Arguments of `brisk suite whatif`.
#[derive(Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    /// How the apps are launched.
    #[command(flatten)]
    pub(crate) launches: Launches,
    /// Variants in addition to the baseline [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = variant)]
    pub(crate) variants: Vec<String>,
    /// Time for each kind of SQLite transaction
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::between(SQLITE_LEAST, SQLITE_MOST))]
    pub(crate) sqlite: Duration,
}
