//! Arguments of `brisk lab phone`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use crate::command::device::arguments::key_value;
use brisk_command::json::Json;
use brisk_command::size;

const AFTER_HELP: &str = "\
Examples:
  brisk lab phone up                          # the first time builds the image: some minutes, 4 GB
  brisk lab phone enter -- ls Documents
  DISPLAY=:99 brisk lab phone enter -- evince Documents/report.pdf
  brisk lab phone up --memory 600M --swap zram+flash
  brisk lab phone down --all

A phone is a small Debian with real apps on an emulated flash device. Its image is kept in the cache; each phone gets \
a copy,
in memory, which goes with it.";

/// Arguments of `brisk lab phone`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Where images of phones are kept [default: $BRISK_CACHE_DIR, or /var/cache/brisk]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the apps that a phone can have
    Apps {
        /// As a document.
        #[command(flatten)]
        json: Json,
    },
    /// Build the image of a phone now, with Debian's packages of today
    Build {
        /// Only these apps, separated by commas
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        apps: Vec<String>,
        /// As a document.
        #[command(flatten)]
        json: Json,
    },
    /// Bring up a phone and print its root directory; the first time builds the image
    Up(Up),
    /// Show the phones
    List {
        /// As a document.
        #[command(flatten)]
        json: Json,
    },
    /// Run a command in a phone, as its user
    Enter {
        /// The phone [default: the only one]
        id: Option<String>,
        /// Program and arguments [default: a shell]
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Keep the data of apps in memory, or undo that, to see what storage costs them
    Variant {
        /// The phone [default: the only one]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// baseline, cache_in_ram, databases_in_ram, all_in_ram, sync_off or no_journal; ends the apps that run
        #[arg(value_parser = variant)]
        variant: String,
    },
    /// Take phones down
    Down(Down),
    /// Remove leftovers of phones whose command was killed or whose device is gone
    Repair,
    /// Write in the background (started by `suite`)
    #[command(hide = true)]
    Write {
        /// The phone's root directory
        root: PathBuf,
    },
    /// Fill memory as it is told on standard input (started by suites)
    #[command(hide = true)]
    Fill,
    /// Become a program in a root that is being built (started by `build`)
    #[command(hide = true)]
    Inside {
        /// As the phone's user instead of root
        #[arg(long = "as-user")]
        user: bool,
        /// Show a directory of this machine elsewhere in the root
        #[arg(long, value_name = "FROM:TO", value_parser = bind)]
        bind: Vec<(PathBuf, PathBuf)>,
        /// Display for the program
        #[arg(long)]
        display: Option<String>,
        /// The root directory
        root: PathBuf,
        /// Program and arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// Arguments of the subcommand `up`.
#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    /// Flash to emulate: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "galaxy-s5-emmc")]
    pub(crate) preset: String,
    /// Size of the flash; the data is kept in memory as it is written
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size)]
    pub(crate) size: u64,
    /// Only these apps, separated by commas (a smaller image)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "image")]
    pub(crate) apps: Vec<String>,
    /// Your own ext4 image of a root directory, instead of Debian
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Change a parameter of the preset
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// I/O scheduler [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Memory for all that runs in the phone [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Where a phone with limited memory swaps to
    #[arg(long, value_enum, value_name = "WHERE", default_value = "flash", requires = "memory")]
    pub(crate) swap: SwapName,
    /// Size of each swap area [default: twice the memory]
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "memory")]
    pub(crate) swap_size: Option<u64>,
    /// As a document.
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Where a phone swaps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwapName {
    /// Nowhere: when memory is full, the kernel ends a process
    None,
    /// A file on its flash, where it competes with the files of apps
    Flash,
    /// Compressed memory
    Zram,
    /// Compressed memory, and a file on its flash when that is full
    #[value(name = "zram+flash")]
    ZramFlash,
}

/// Arguments of the subcommand `down`.
#[derive(Debug, clap::Args)]
pub(crate) struct Down {
    /// The phones
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,
    /// All phones, and leftovers of phones whose command was killed
    #[arg(long)]
    pub(crate) all: bool,
    /// Also when a process outside uses its files
    #[arg(long)]
    pub(crate) force: bool,
}

fn bind(text: &str) -> Result<(PathBuf, PathBuf), String> {
    match text.split_once(':') {
        Some((from, to)) if from.starts_with('/') && to.starts_with('/') => Ok((from.into(), to.into())),
        _ => Err("write two absolute paths, such as /etc/apt:/etc/apt".to_owned()),
    }
}

/// Names of a phone's variants, as results have them.
pub(crate) const VARIANTS: [&str; 6] =
    ["baseline", "cache_in_ram", "databases_in_ram", "all_in_ram", "sync_off", "no_journal"];

/// Reads the name of a variant, with dashes or underscores.
pub(crate) fn variant(text: &str) -> Result<String, String> {
    let wanted = text.replace('-', "_");
    let found = VARIANTS.contains(&wanted.as_str());
    found.then_some(wanted).ok_or_else(|| format!("there is no variant {text}: there are {}", VARIANTS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_named_with_dashes_or_underscores() {
        assert_eq!(variant("sync-off").as_deref(), Ok("sync_off"));
        assert_eq!(variant("all_in_ram").as_deref(), Ok("all_in_ram"));
        assert!(variant("fast").expect_err("none").contains("no_journal"));
    }

    #[test]
    fn a_bind_names_two_absolute_paths() {
        assert_eq!(bind("/a:/b/c"), Ok(("/a".into(), "/b/c".into())));
        for wrong in ["", "/a", "/a:", ":/b", "a:b", "/a:b"] {
            assert!(bind(wrong).is_err(), "{wrong}");
        }
    }
}
