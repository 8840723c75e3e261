//! Arguments of `brisk lab`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use super::phone::arguments as phone;
use brisk_command::json::Json;
use brisk_command::{duration, size};

const AFTER_HELP: &str = "\
Examples:
  brisk lab presets
  dev=$(brisk lab up --preset galaxy-s5-emmc --size 2G)
  brisk lab ctl $dev --time off     # provision without waiting
  mkfs.ext4 -q $dev
  brisk lab ctl $dev --time on --reset-counters
  brisk bench $dev --destroy
  brisk lab ctl $dev                # counters, lateness, and whether they are reliable
  brisk lab down $dev

A DEVICE is named by its block device (/dev/loop3, or ublkb0 where the kernel has ublk) or by its number in `brisk lab \
list`.";

/// Arguments of `brisk lab`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Where the lab keeps its state [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) run_dir: Option<PathBuf>,
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a device and print its path
    Up(Up),
    /// Show the devices
    List {
        /// As a document.
        #[command(flatten)]
        json: Json,
    },
    /// Show what devices can be emulated
    Presets {
        /// As a document.
        #[command(flatten)]
        json: Json,
    },
    /// Show or change a device: parameters, time, counters, fidelity
    Ctl(Ctl),
    /// Make a device fail: power cut, read error, time-out
    Fault(FaultArgs),
    /// Remove devices
    Down(Down),
    /// Bring up a phone: real apps on an emulated flash device
    Phone(phone::Args),
    /// Serve a device (started by `up`)
    #[command(hide = true)]
    Serve {
        /// Directory of the device
        dir: PathBuf,
    },
    /// Read or write as one of several processes (started by `prove`)
    #[command(hide = true)]
    StreamProcess,
}

/// Arguments of the subcommand `up`.
#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    /// What to emulate: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) preset: String,
    /// Size, such as 512M or 4G; the data is kept in memory as it is written
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: u64,
    /// Seed of what a power cut loses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Whether the device takes the model's time, or none
    #[arg(long, value_name = "on|off", default_value = "on")]
    pub(crate) time: Switch,
    /// Change a parameter of the preset
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// I/O scheduler [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// How the device reaches the kernel's block layer
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    pub(crate) backend: BackendName,
    /// As a document.
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Arguments of `brisk lab ctl`.
#[derive(Debug, clap::Args)]
pub(crate) struct Ctl {
    /// The device
    pub(crate) device: String,
    /// Change a parameter of the model, its state stays
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Let the device take the model's time, or none (to fill it without waiting)
    #[arg(long, value_name = "on|off")]
    pub(crate) time: Option<Switch>,
    /// Reset all counters and the judgement of fidelity
    #[arg(long)]
    pub(crate) reset_counters: bool,
    /// As a document.
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Arguments of `brisk lab fault`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct FaultArgs {
    /// The device
    pub(crate) device: String,
    /// Cut the power: all requests fail, and what was not flushed is lost in part
    #[arg(long, group = "what")]
    pub(crate) power_cut: bool,
    /// Seed of what the power cut loses [default: the device's]
    #[arg(long, value_name = "N", conflicts_with_all = ["power_on", "read_error", "timeout", "clear"])]
    pub(crate) seed: Option<u64>,
    /// End the power cut
    #[arg(long, group = "what")]
    pub(crate) power_on: bool,
    /// Fail reads of a range, such as 1M+64k
    #[arg(long, value_name = "OFFSET+LENGTH", group = "what", value_parser = range)]
    pub(crate) read_error: Option<(u64, u64)>,
    /// Let requests to a range hang, and then fail as timed out
    #[arg(long = "hang", alias = "timeout", value_name = "OFFSET+LENGTH", group = "what", value_parser = range)]
    pub(crate) timeout: Option<(u64, u64)>,
    /// Time for which they hang [default: until --clear]
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse)]
    #[arg(conflicts_with_all = ["power_on", "power_cut", "read_error", "clear"])]
    pub(crate) hang: Option<Duration>,
    /// End read errors and time-outs
    #[arg(long, group = "what")]
    pub(crate) clear: bool,
}

/// Arguments of the subcommand `down`.
#[derive(Debug, clap::Args)]
pub(crate) struct Down {
    /// The devices
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) devices: Vec<String>,
    /// All devices of this lab, and leftovers of dead servers
    #[arg(long)]
    pub(crate) all: bool,
    /// Also when in use: unmount its file systems lazily, switch off swap on it
    #[arg(long)]
    pub(crate) force: bool,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// How a device reaches the kernel's block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// ublk where the kernel has it, else FUSE
    Auto,
    /// A FUSE file under a loop device: any kernel since 5.8
    Fuse,
    /// A user-space block device: Linux 6.5 with ublk_drv
    Ublk,
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let (offset, length) =
        text.split_once('+').ok_or("write an offset and a length, such as 1M+64k for 64 KiB from 1 MiB on")?;
    match (size(offset)?, size(length)?) {
        (_, 0) => Err("the length is zero".to_owned()),
        range => Ok(range),
    }
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write KEY=VALUE, such as read_us=150".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_an_offset_and_a_length() {
        assert_eq!(range("1M+64k"), Ok((1 << 20, 64 << 10)));
        for wrong in ["1M", "1M+", "+4k", "1M+0", "1M-4k", ""] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_parameter_needs_a_name_and_a_value() {
        assert_eq!(key_value("read_us = 150"), Ok(("read_us".into(), "150".into())));
        for wrong in ["read_us", "=1", " =1", ""] {
            assert!(key_value(wrong).is_err(), "{wrong}");
        }
    }
}
