//! `brisk tune`: measures once the figures that briskd uses for each device that it manages: at installation, and when a device
//! is new (dissertation 4.3: the concurrency profiler runs at installation).
//!
//! Each part is a separate command; they run one after the other. A part that is complete is kept when a later one is stopped.

mod fleet;
mod from;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, bail};
use brisk_bench::place::Place;
use brisk_command::defaults::NO_FILE;
use brisk_command::json::{Document, Json};
use brisk_command::session::Session;
use brisk_command::terminal::remark;
use brisk_core::device::Device;
use brisk_daemon::config::{Config, Devices, PATH};
use brisk_daemon::control::{Client, ClientError};
use brisk_daemon::{devices, dirs};
use brisk_sense::Sense;
use serde::Serialize;
use serde_json::json;

use crate::status::Socket;
use crate::study;

const AFTER_HELP: &str = "\
Examples:
  brisk tune                       # as root: all that is not known yet of the devices that briskd manages
  brisk tune --check               # say what is not known
  brisk tune mmcblk1 --again       # measure a card anew
  brisk tune --from profiles.json --key fleet.pub   # start from what other devices of this model found

It measures how many streams serve a device best, which settings give the lowest read latency under mixed load, and what each scheduler \
and depth costs in energy and delay: with work files on the device, a gigabyte or some, removed at the end. A daemon that runs \
changes nothing meanwhile and reads the outcome afterwards.

With --from it verifies the signature (FILE.minisig) of settings that a fleet publishes (brisk-fleet profiles), takes those for model and \
firmware of this device, compares them here with those found (a minute; --quick: half of it; longer on slow devices), and keeps them where reads are faster for \
certain and writes keep their share; otherwise it searches as without --from. It changes nothing where the file is damaged, signed by \
another key, for other devices, or has values that this kernel or brisk's search does not have.

Exit codes: 0 all is known, 1 something is not (with --check), \
or could not be measured, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk tune`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Devices by name, such as mmcblk0 [default: those that the configuration has briskd manage]
    devices: Vec<String>,
    /// List what has not been measured, and measure nothing
    #[arg(long)]
    check: bool,
    /// Measure again what has been measured already
    #[arg(long, conflicts_with = "check")]
    again: bool,
    /// About three minutes a device instead of fifteen: fewer repetitions, and nothing about energy
    #[arg(long)]
    quick: bool,
    /// Start from the signed settings of a fleet, of 'brisk-fleet profiles', and keep them where a comparison here agrees
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Public key of the fleet [default: those in the folder that [fleet] keys of the configuration names]
    #[arg(long, value_name = "FILE", requires = "from")]
    key: Option<PathBuf>,
    /// The daemon's configuration [default: /etc/brisk/brisk.toml; where there is none, the defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = dirs::PROFILES)]
    profiles: PathBuf,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    socket: Socket,
}

/// A measurement of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    /// How many concurrent streams give the best throughput.
    Concurrency,
    /// Which settings give the lowest read latency under mixed load.
    Frontier,
    /// What each scheduler and depth costs.
    Profile,
}

impl Part {
    const QUICK: [Self; 2] = [Self::Concurrency, Self::Frontier];
    const ALL: [Self; 3] = [Self::Concurrency, Self::Frontier, Self::Profile];

    fn of(self) -> &'static str {
        match self {
            Self::Concurrency => "how many concurrent streams give the best throughput",
            Self::Frontier => "which settings give the lowest read latency under mixed load",
            Self::Profile => "what each scheduler and depth costs",
        }
    }

    /// The command that measures it.
    fn command(self, place: &Path, args: &Args) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        match self {
            Self::Concurrency => command.args(["study", "concurrency", "--save"]),
            Self::Frontier => command.args(["study", "frontier", "--save"]),
            Self::Profile => command.arg("profile"),
        };
        if args.quick && self != Self::Profile {
            command.arg("--quick");
        }
        if self != Self::Profile {
            // Measured alike on every device, whatever this user prefers.
            command.args(["--defaults", NO_FILE]);
        }
        command.arg("--profiles").arg(&args.profiles).arg(place).env("BRISK_RUN_DIR", args.socket.run_dir());
        Ok(command)
    }
}

/// A device, and what of it is to be measured where.
#[derive(Debug, Serialize)]
struct Todo {
    device: String,
    model: String,
    known: Vec<Part>,
    /// Not measured yet, or to be measured again.
    missing: Vec<Part>,
    /// A directory on it.
    place: Option<PathBuf>,
    /// What could not be measured.
    failed: Vec<Part>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let given = [&args.config, &args.from, &args.key];
    args.json.check(&given.into_iter().flatten().cloned().collect::<Vec<_>>())?;
    if let Some(file) = &args.from {
        return from::run(args, file);
    }
    let sense = Sense::default();
    let managed = devices_of(&sense, args, || {
        let path = args.config.as_deref().unwrap_or(Path::new(PATH));
        Ok(Config::load(path, args.config.is_none())?.0.daemon.devices)
    })?;
    let mut all = Vec::new();
    for device in &managed {
        all.push(todo(&sense, device, args)?);
    }
    let mut code = ExitCode::SUCCESS;
    if args.check {
        if all.iter().any(|one| !one.missing.is_empty()) {
            code = ExitCode::from(1);
        }
    } else if all.iter().any(|one| !one.missing.is_empty()) {
        code = measure(&mut all, args)?;
    }
    args.json.show(&Document::new("tune", json!({ "devices": all })), || summary(&all, args))?;
    Ok(code)
}

/// The devices that were named, or those that the configuration has briskd manage.
fn devices_of(
    sense: &Sense,
    args: &Args,
    configured: impl FnOnce() -> anyhow::Result<Devices>,
) -> anyhow::Result<Vec<Device>> {
    let choice = match args.devices.as_slice() {
        [] => configured()?,
        names => Devices::These(names.iter().map(|name| name.trim_start_matches("/dev/").to_owned()).collect()),
    };
    let managed = devices::managed(sense, &choice)?;
    for name in &args.devices {
        let name = name.trim_start_matches("/dev/");
        if !managed.iter().any(|device| device.name == name) {
            bail!("{name} is no block device that schedules requests: see 'brisk status' or lsblk");
        }
    }
    Ok(managed)
}

fn todo(sense: &Sense, device: &Device, args: &Args) -> anyhow::Result<Todo> {
    let kept = study::kept(&args.profiles, &device.model);
    // A damaged file is measured again; the command that measures reports the damage.
    let kept = kept.ok().flatten();
    let costs = brisk_profile::store::load(&args.profiles, &device.model).ok().flatten();
    let is_known = |part: &Part| match part {
        Part::Concurrency => kept.as_ref().is_some_and(|kept| kept.concurrency.is_some()),
        Part::Frontier => kept.as_ref().is_some_and(|kept| kept.evidence.is_some()),
        Part::Profile => costs.is_some(),
    };
    let parts: &[Part] = if args.quick { &Part::QUICK } else { &Part::ALL };
    let (known, missing): (Vec<Part>, Vec<Part>) = parts.iter().partition(|part| is_known(part) && !args.again);
    let place = if missing.is_empty() { None } else { place_on(sense, &device.name)? };
    Ok(Todo { device: device.name.clone(), model: device.model.clone(), known, missing, place, failed: Vec::new() })
}

/// The directory on `device` with the most free space: a mount point where files can be made.
fn place_on(sense: &Sense, device: &str) -> anyhow::Result<Option<PathBuf>> {
    let mut best: Option<(u64, PathBuf)> = None;
    for mount in sense.mounts()? {
        let is_on_it = Place::find(sense, &mount.mount_point, false)
            .is_ok_and(|place| place.device.is_some_and(|located| located.disk.name == device));
        if !is_on_it {
            continue;
        }
        let Ok(space) = rustix::fs::statvfs(&mount.mount_point) else { continue };
        let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
        if best.as_ref().is_none_or(|(most, _)| free_bytes > *most) {
            best = Some((free_bytes, mount.mount_point));
        }
    }
    Ok(best.map(|(_, place)| place))
}

/// Suspends the daemon for as long as it exists.
struct Stillness(Option<Client>);

impl Stillness {
    fn begin(socket: &Socket) -> anyhow::Result<Self> {
        match socket.connect() {
            Ok(mut client) => {
                client.answer("Reset", &[]).context("the daemon cannot be suspended")?;
                Ok(Self(Some(client)))
            }
            Err(ClientError::NotRunning { .. }) => Ok(Self(None)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Stillness {
    fn drop(&mut self) {
        if let Some(client) = &mut self.0
            && let Err(error) = client.answer("Reload", &[])
        {
            brisk_log::error!("brisk: the daemon does not continue: try 'brisk config reload': {error}");
        }
    }
}

fn measure(all: &mut [Todo], args: &Args) -> anyhow::Result<ExitCode> {
    // Ctrl-C ends the command that measures; then this one lets the daemon continue.
    let session = Session::begin()?;
    let _still = Stillness::begin(&args.socket)?;
    let parts: usize = all.iter().map(|one| one.missing.len()).sum();
    let mut number = 0;
    let mut code = ExitCode::SUCCESS;
    for one in all {
        for part in one.missing.clone() {
            number += 1;
            let Some(place) = &one.place else {
                one.failed.push(part);
                code = ExitCode::from(1);
                continue;
            };
            remark(&format!("{number} of {parts}: {}: {}, in {}", one.device, part.of(), place.display()));
            let status = part.command(place, args)?.stdout(Stdio::null()).status().context("cannot start brisk")?;
            if session.stop_flag().load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(session.was_stopped());
            }
            if !status.success() {
                one.failed.push(part);
                code = ExitCode::from(1);
            }
        }
    }
    Ok(code)
}

fn summary(all: &[Todo], args: &Args) -> String {
    let mut text = String::new();
    let mut line = |device: &str, words: &str| text += &format!("{device}: {words}\n");
    if all.is_empty() {
        line("no device", "briskd manages none here; see 'devices' in its configuration");
    }
    for one in all {
        let name = format!("{} ({})", one.device, one.model);
        let words = |parts: &[Part]| parts.iter().map(|part| part.of()).collect::<Vec<_>>().join("; ");
        let no_place = format!(
            "no writable file system is mounted on it; 'brisk study frontier /dev/{} --destroy-data --save' measures it \
             and destroys its data",
            one.device
        );
        match (one.missing.is_empty(), args.check, one.place.is_some()) {
            (true, ..) => line(&name, "everything is measured"),
            (false, true, true) => line(&name, &format!("not measured: {}", words(&one.missing))),
            (false, _, false) => line(&name, &no_place),
            (false, false, true) if one.failed.is_empty() => {
                line(&name, &format!("measured: {}", words(&one.missing)));
            }
            (false, false, true) => line(&name, &format!("could not be measured: {}", words(&one.failed))),
        }
    }
    text
}
