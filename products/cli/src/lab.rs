//! `brisk lab`: emulated flash devices of this machine.

pub(crate) mod phone;
mod phone_view;
mod view;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use brisk_core::units::{format_bytes, parse_bytes};
use brisk_flash::Preset;
use brisk_lab::{Backend, FaultOrder, Lab, NewDevice};
use clap::{Subcommand, ValueEnum};
use indicatif::ProgressBar;

const AFTER_HELP: &str = "\
Examples:
  brisk lab presets
  dev=$(brisk lab up --preset galaxy-s5-emmc --size 2G)
  brisk lab ctl $dev --time off     # provision without waiting
  mkfs.ext4 -q $dev
  brisk lab ctl $dev --time on --reset-counters
  brisk bench $dev --destroy
  brisk lab ctl $dev                # counters, lateness, and whether to believe them
  brisk lab down $dev

A DEVICE is named by its block device (/dev/loop3, or ublkb0 where the kernel has ublk) or by its number in `brisk lab list`.";

/// Arguments of `brisk lab`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Where the lab keeps its state [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR", global = true)]
    run_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a device and print its path
    Up(Up),
    /// Show the devices
    List {
        /// Print one JSON document for programs
        #[arg(long)]
        json: bool,
    },
    /// Show what devices can be emulated
    Presets {
        /// Print one JSON document for programs
        #[arg(long)]
        json: bool,
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
}

#[derive(Debug, clap::Args)]
struct Up {
    /// What to emulate: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    preset: String,
    /// Size, such as 512M or 4G; the data is kept in memory as it is written
    #[arg(long, value_name = "SIZE", value_parser = size)]
    size: u64,
    /// Seed of what a power cut loses
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Whether the device takes the model's time, or none
    #[arg(long, value_name = "on|off", default_value = "on")]
    time: Switch,
    /// Change a parameter of the preset
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// I/O scheduler [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// How the device reaches the kernel's block layer
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    backend: BackendName,
    /// Print one JSON document for programs instead of the path
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Ctl {
    /// The device
    device: String,
    /// Change a parameter of the model, its state stays
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Let the device take the model's time, or none (to fill it without waiting)
    #[arg(long, value_name = "on|off")]
    time: Option<Switch>,
    /// Start all counters and the judgement of fidelity anew
    #[arg(long)]
    reset_counters: bool,
    /// Print one JSON document for programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
struct FaultArgs {
    /// The device
    device: String,
    /// Cut the power: all requests fail, and what was not flushed is lost in part
    #[arg(long, group = "what")]
    power_cut: bool,
    /// Seed of what the power cut loses [default: the device's]
    #[arg(long, value_name = "N", conflicts_with_all = ["power_on", "read_error", "timeout", "clear"])]
    seed: Option<u64>,
    /// End the power cut
    #[arg(long, group = "what")]
    power_on: bool,
    /// Fail reads of a range, such as 1M+64k
    #[arg(long, value_name = "OFFSET+LENGTH", group = "what", value_parser = range)]
    read_error: Option<(u64, u64)>,
    /// Let requests to a range hang, and then fail as timed out
    #[arg(long, value_name = "OFFSET+LENGTH", group = "what", value_parser = range)]
    timeout: Option<(u64, u64)>,
    /// Seconds for which they hang [default: until --clear]
    #[arg(long = "for", value_name = "SECONDS", conflicts_with_all = ["power_on", "power_cut", "read_error", "clear"])]
    for_s: Option<u32>,
    /// End read errors and time-outs
    #[arg(long, group = "what")]
    clear: bool,
}

#[derive(Debug, clap::Args)]
struct Down {
    /// The devices
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    devices: Vec<String>,
    /// All devices of this lab, and what dead servers left
    #[arg(long)]
    all: bool,
    /// Also when in use: unmount lazily what is mounted from it, switch off swap on it
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackendName {
    /// ublk where the kernel has it, else FUSE
    Auto,
    /// A FUSE file under a loop device: any kernel since 5.8
    Fuse,
    /// A user-space block device: Linux 6.5 with ublk_drv
    Ublk,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let run_dir = args
        .run_dir
        .clone()
        .or_else(|| std::env::var_os("BRISK_RUN_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from))
        .unwrap_or_else(|| "/run/brisk".into());
    let lab = Lab::new(&run_dir);
    match &args.command {
        Command::Up(up) => make(&lab, up, &run_dir)?,
        Command::List { json } => {
            lab.check_access()?;
            let devices = lab.list();
            if *json { print_json(&devices)? } else { print(&view::list(&devices)) }
        }
        Command::Presets { json } => presets(*json)?,
        Command::Ctl(ctl) => {
            let timed = ctl.time.map(|time| time == Switch::On);
            let status = lab.change(&ctl.device, &ctl.set, timed, ctl.reset_counters)?;
            if ctl.json {
                print_json(&status)?;
            } else if ctl.set.is_empty() && ctl.time.is_none() && !ctl.reset_counters {
                print(&view::status(&status));
            }
        }
        Command::Fault(fault) => fail(&lab, fault)?,
        Command::Down(down) => return remove(&lab, down),
        Command::Phone(args) => return phone::run(args, &run_dir),
        Command::Serve { dir } => brisk_lab::serve(dir)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make(lab: &Lab, up: &Up, run_dir: &Path) -> anyhow::Result<()> {
    let new = NewDevice {
        preset: up.preset.clone(),
        set: up.set.clone(),
        size_bytes: up.size,
        seed: up.seed,
        timed: up.time == Switch::On,
        scheduler: up.scheduler.clone(),
        backend: match up.backend {
            BackendName::Auto => Backend::Auto,
            BackendName::Fuse => Backend::Fuse,
            BackendName::Ublk => Backend::Ublk,
        },
        server: brisk_lab(run_dir, &["serve"])?,
        take_down: brisk_lab(run_dir, &["down", "--force"])?,
    };
    let spinner = if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    spinner.enable_steady_tick(Duration::from_millis(100));
    let made = lab.up(&new, |what| spinner.set_message(what.to_owned()));
    spinner.finish_and_clear();
    let (status, repaired) = made?;
    for sentence in &repaired.leftovers {
        eprintln!("repaired: {sentence}");
    }
    if up.json {
        return print_json(&status);
    }
    println!("{}", status.device);
    eprint!("{}", view::made(&status));
    Ok(())
}

/// The command line of this program's `lab WORDS` for the same lab.
pub(crate) fn brisk_lab(run_dir: &Path, words: &[&str]) -> anyhow::Result<Vec<String>> {
    let program = std::env::current_exe().context("cannot find the program file of brisk")?;
    let program = program.to_str().context("the path of the program file of brisk is not UTF-8")?;
    let run_dir = std::path::absolute(run_dir).context("cannot find the lab's directory")?;
    let run_dir = run_dir.to_str().context("the path of the lab's directory is not UTF-8")?;
    Ok([program, "lab", "--run-dir", run_dir].iter().chain(words).map(|&word| word.to_owned()).collect())
}

fn presets(json: bool) -> anyhow::Result<()> {
    let presets = Preset::builtin_names().into_iter().map(Preset::builtin).collect::<Result<Vec<_>, _>>()?;
    if !json {
        print(&view::presets(&presets));
        return Ok(());
    }
    let documents: Vec<_> = presets
        .iter()
        .map(|preset| {
            let parameters: serde_json::Map<_, _> =
                preset.parameters().into_iter().map(|p| (p.name.to_owned(), p.value.into())).collect();
            serde_json::json!({
                "name": preset.name,
                "title": preset.title,
                "note": preset.note.trim(),
                "queue_depth_requests": preset.queue_depth_requests(),
                "parameters": parameters,
            })
        })
        .collect();
    print_json(&documents)
}

fn fail(lab: &Lab, fault: &FaultArgs) -> anyhow::Result<()> {
    let order = if fault.power_cut {
        let seed = fault.seed.map_or_else(|| lab.seed(&fault.device), Ok)?;
        FaultOrder::PowerCut { seed }
    } else if fault.power_on {
        FaultOrder::PowerOn
    } else if let Some((offset_bytes, len_bytes)) = fault.read_error {
        FaultOrder::ReadError { offset_bytes, len_bytes }
    } else if let Some((offset_bytes, len_bytes)) = fault.timeout {
        FaultOrder::Timeout { offset_bytes, len_bytes, for_ms: fault.for_s.map(|s| u64::from(s) * 1000) }
    } else {
        FaultOrder::Clear
    };
    if let Some(pages) = lab.fault(&fault.device, order)? {
        println!(
            "power cut: {} lost what was written to them last",
            match pages {
                1 => "1 page".to_owned(),
                n => format!("{n} pages ({})", format_bytes(n * 4096)),
            }
        );
    }
    Ok(())
}

/// Goes through all devices even when one cannot be removed.
fn remove(lab: &Lab, down: &Down) -> anyhow::Result<ExitCode> {
    let mut devices = down.devices.clone();
    if down.all {
        for sentence in lab.repair(&mut |_: &str| {})?.leftovers {
            eprintln!("repaired: {sentence}");
        }
        devices = lab.list().into_iter().map(|listed| listed.id.to_string()).collect();
    }
    let mut exit = ExitCode::SUCCESS;
    for device in &devices {
        match lab.down(device, down.force) {
            Ok(sentences) => sentences.iter().for_each(|sentence| eprintln!("{sentence}")),
            Err(error) => {
                eprintln!("brisk: {:#}", anyhow::Error::from(error));
                exit = ExitCode::from(2);
            }
        }
    }
    Ok(exit)
}

/// Prints; whoever closed the pipe has read enough.
fn print(text: &str) {
    use std::io::Write as _;
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value).context("cannot write JSON")?));
    Ok(())
}

fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|error| error.to_string())
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let (offset, length) =
        text.split_once('+').ok_or("write an offset and a length, such as 1M+64k for 64 KiB from 1 MiB on")?;
    match (size(offset)?, size(length)?) {
        (_, 0) => Err("the length is zero".to_owned()),
        range => Ok(range),
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
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
