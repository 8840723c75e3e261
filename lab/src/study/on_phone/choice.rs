//! The emulated phone that an app can run on instead of this machine.

use std::path::PathBuf;

use brisk_command::size;

/// Choice of commands that can run an app on a phone instead of on this machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On an emulated phone")]
pub(crate) struct Choice {
    /// Run the app on an emulated phone with this flash, which is brought up before and taken down after: a name from
    /// `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) preset: Option<String>,
    /// Size of the flash; the data is kept in memory
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size, requires = "preset")]
    pub(crate) size: u64,
    /// I/O scheduler [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME", requires = "preset")]
    pub(crate) scheduler: Option<String>,
    /// Where images of phones are kept [default: $BRISK_CACHE_DIR, or /var/cache/brisk]
    #[arg(long, value_name = "DIR", requires = "preset")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Run the app on this phone, which is up and stays up; apps that run there are ended (see `brisk lab phone list`)
    #[arg(long, value_name = "ID", conflicts_with = "preset")]
    pub(crate) phone: Option<String>,
}

impl Choice {
    /// Whether a phone is wanted.
    #[must_use]
    pub(crate) fn wanted(&self) -> bool {
        self.preset.is_some() || self.phone.is_some()
    }
}
