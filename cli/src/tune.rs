//! `brisk tune`: measures once the figures that briskd uses for each device that it manages: at installation, and when
//! a device is new (dissertation 4.3: a profiler runs at installation).
//!
//! Each part is a separate command; they run one after the other. A part that is complete is kept when a later one is
//! stopped. The service measures one part at a time (`--step`), when the machine is quiet, within limits of time and
//! wear (`budget`). What could not be measured is kept with the reason (`brisk_api::Tries`) and tried again later;
//! where no setting is better than those of the device, that is known too.
//!
//! The dissertation's concurrency parameters (4.2.5) are not among the parts. How many reads a device serves at once is
//! one of its speeds; how many writes may be in flight is found with the other settings, by the latency of reads beside
//! them, which is what the parameter is for.

mod budget;
mod fleet;
mod from;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, bail};
use brisk_api::{ClientError, Ended, LeftAlone, Status, Tried, Tries, dirs};
use brisk_bench::place::Place;
use brisk_command::defaults::NO_FILE;
use brisk_command::json::{Document, Json};
use brisk_command::session::Session;
use brisk_command::terminal::{is_verbose, remark};
use brisk_core::device::Device;
use brisk_daemon::config::{Config, Devices};
use brisk_daemon::devices::{self, Disks};
use brisk_formats::{Resource, device_name, sysfs_name};
use brisk_sense::{Claim, Mount, Sense, Stack, Storage};
use serde::Serialize;
use serde_json::json;

use crate::status::Socket;
use crate::study;
use budget::Watch;

const AFTER_HELP: &str = "\
Examples:
  brisk tune                       # as root: all that is not known yet of the devices that briskd manages
  brisk tune --check               # say what is not known
  brisk tune --step                # one part, if the machine is quiet: what the service does each hour
  brisk tune mmcblk1 --again       # measure a card anew
  brisk tune --from profiles.json --key fleet.pub   # start from what other devices of this model found

A step ends when apps wait for the storage or the battery is in use, costs also after four minutes, and continues \
another time. All steps together write a 32nd of the capacity to find settings, and four times as much for costs. What \
failed is tried again after a day, then two, four and so on; 'brisk status' shows it.

It measures how fast a device is, which settings give the lowest read latency under mixed load, and what each \
scheduler and depth costs in energy and delay: with work files on the device, a gigabyte or some, removed at the end. \
A daemon that runs changes nothing meanwhile and reads the outcome afterwards.

With --from it verifies the signature (FILE.minisig) of settings that a fleet publishes (brisk-fleet profiles), takes \
those for model and firmware of this device, compares them here with those found (a minute; --quick: half of it; \
longer on slow devices), and keeps them where reads are faster for certain and writes keep their share; otherwise it \
searches as without --from. It changes nothing where the file is damaged, signed by another key, for other devices, or \
has values that this kernel or brisk's search does not have.

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
    /// Measure one part of one device, and nothing while others use the storage or the processors, the battery is in
    /// use or the daemon is suspended by 'brisk reset'
    #[arg(long, conflicts_with_all = ["check", "again", "from"])]
    step: bool,
    /// Start from the signed settings of a fleet, of 'brisk-fleet profiles', and keep them where a comparison here
    /// agrees
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Public key of the fleet [default: those in the folder that [fleet] keys of the configuration names]
    #[arg(long, value_name = "FILE", requires = "from")]
    key: Option<PathBuf>,
    /// The daemon's configuration [default: /etc/brisk/brisk.toml; where there is none, the defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value_os_t = dirs::profiles())]
    profiles: PathBuf,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    socket: Socket,
}

/// Shares of a minute in which something waited: above them a measurement would be disturbed, and disturb.
const IO_STALLS_PERCENT: f64 = 2.0;
/// See [`IO_STALLS_PERCENT`].
const CPU_STALLS_PERCENT: f64 = 20.0;

/// A measurement of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Measurement {
    /// How fast it is.
    Speeds,
    /// Which settings give the lowest read latency under mixed load.
    Settings,
    /// What each scheduler and depth costs.
    Costs,
}

/// What is written to find out how fast a device is: at 50 MiB/s, a second for each kind of write.
const SPEEDS_WRITTEN: &str = "512M";

impl Measurement {
    /// Its name among [`brisk_api::PARTS`].
    fn part(self) -> &'static str {
        brisk_api::PARTS[self as usize]
    }

    const QUICK: [Self; 2] = [Self::Speeds, Self::Settings];
    const ALL: [Self; 3] = [Self::Speeds, Self::Settings, Self::Costs];

    fn of(self) -> &'static str {
        match self {
            Self::Speeds => "how fast it is",
            Self::Settings => "which settings give the lowest read latency under mixed load",
            Self::Costs => "what each scheduler and depth costs",
        }
    }

    /// The command that measures it.
    fn command(self, place: &Path, capacity_bytes: u64, args: &Args) -> anyhow::Result<Command> {
        // The search ends with what it has before the watch would end it with nothing.
        let max_written = budget::written_bytes_max(self, capacity_bytes) / 4 * 3;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        match self {
            Self::Speeds => command.args(["bench", "--quick", "--max-written", SPEEDS_WRITTEN, "--save"]),
            Self::Settings => {
                command.args(["study", "frontier", "--save", "--max-written"]).arg(max_written.to_string())
            }
            Self::Costs => command.arg("profile"),
        };
        if args.quick && self == Self::Settings {
            command.arg("--quick");
        }
        if self != Self::Costs {
            // Measured alike on every device, whatever this user prefers.
            command.args(["--defaults", NO_FILE]);
        }
        if is_verbose() {
            command.arg("--verbose");
        }
        command.arg("--profiles").arg(&args.profiles).arg(place).env("BRISK_RUN_DIR", args.socket.run_dir());
        Ok(command)
    }
}

/// A device, and what of it is to be measured where.
#[derive(Debug, Serialize)]
struct DevicePlan {
    device: String,
    model: String,
    known: Vec<Measurement>,
    /// Not measured yet, or to be measured again.
    missing: Vec<Measurement>,
    place: Option<PathBuf>,
    /// Why there is none, and what to do.
    why_not: Option<String>,
    /// What could not be measured.
    failed: Vec<Measurement>,
    /// What was tried and is not known.
    tried: Vec<Tried>,
    #[serde(skip)]
    tries: Tries,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let given = [&args.config, &args.from, &args.key];
    args.json.check(&given.into_iter().flatten().cloned().collect::<Vec<_>>())?;
    if let Some(file) = &args.from {
        return from::run(args, file);
    }
    let sense = Sense::default();
    let Disks { managed, left_alone } = devices_of(&sense, args, || {
        let path = args.config.clone().unwrap_or_else(dirs::config);
        Ok(Config::load(&path, args.config.is_none())?.0.daemon.devices)
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
    } else if args.step {
        keep_first(&mut all, now_unix_ms());
        if let Some(others) = all.first().and_then(|_| use_by_others(&sense, &args.socket)) {
            remark(&format!("nothing is measured now: {others}"));
            return Ok(code);
        }
    }
    if !args.check && all.iter().any(|one| !one.missing.is_empty()) {
        code = measure(&sense, &mut all, args)?;
    }
    args.json.show(&Document::new("tune", json!({ "devices": all })), || summary(&all, &left_alone, args))?;
    Ok(code)
}

/// Leaves what is due first, of the first device that can be measured.
fn keep_first(all: &mut Vec<DevicePlan>, now_unix_ms: u64) {
    all.retain_mut(|one| {
        one.missing.retain(|part| one.tries.is_due(part.part(), now_unix_ms));
        one.missing.truncate(1);
        one.place.is_some() && !one.missing.is_empty()
    });
    all.truncate(1);
}

/// Whether others use the storage or the processors so much that figures would be wrong, or people be disturbed: by the
/// pressure of the last minute. A kernel that does not tell is taken as quiet. Nor is a machine measured on its
/// battery, or one whose owner has all settings as they were.
fn use_by_others(sense: &Sense, socket: &Socket) -> Option<String> {
    if budget::is_discharging(sense) {
        return Some("the device runs on its battery".to_owned());
    }
    if is_paused(socket) {
        return Some("briskd is suspended by 'brisk reset', until 'brisk config reload'".to_owned());
    }
    let quiet = [(Resource::Io, "storage", IO_STALLS_PERCENT), (Resource::Cpu, "a processor", CPU_STALLS_PERCENT)];
    quiet.into_iter().find_map(|(resource, name, most_percent)| {
        let stalled_percent = sense.pressure(resource).ok()?.some.avg60_percent;
        (stalled_percent > most_percent)
            .then(|| format!("in {stalled_percent:.0} % of the last minute something waited for {name}"))
    })
}

fn capacity_bytes(sense: &Sense, device: &str) -> u64 {
    sense.block_device(&sysfs_name(device)).map_or(0, |disk| disk.size_bytes)
}

fn is_paused(socket: &Socket) -> bool {
    let status: Result<Status, _> = socket.connect().and_then(|mut daemon| daemon.call("GetStatus", &[], "status"));
    status.is_ok_and(|status| status.paused)
}

fn now_unix_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// The devices that were named, or those that the configuration has briskd manage.
fn devices_of(
    sense: &Sense,
    args: &Args,
    configured: impl FnOnce() -> anyhow::Result<Devices>,
) -> anyhow::Result<Disks> {
    let choice = match args.devices.as_slice() {
        [] => configured()?,
        names => Devices::These(names.iter().map(|name| name.trim_start_matches("/dev/").to_owned()).collect()),
    };
    let found = devices::disks(sense, &choice)?;
    let storage = sense.storage()?;
    for name in &args.devices {
        let name = name.trim_start_matches("/dev/");
        let disks = devices::disks_named(&storage, name);
        let is_managed = |disk: &String| found.managed.iter().any(|device| device.name == device_name(disk));
        if disks.is_empty() || !disks.iter().all(is_managed) {
            bail!("{name} is no block device that schedules requests: see 'brisk status' or lsblk");
        }
        if !disks.contains(&sysfs_name(name)) {
            let disks: Vec<String> = disks.iter().map(|disk| device_name(disk)).collect();
            remark(&format!("{name} is on {}", disks.join(" and ")));
        }
    }
    Ok(found)
}

fn todo(sense: &Sense, device: &Device, args: &Args) -> anyhow::Result<DevicePlan> {
    let tries = study::tries_of(&args.profiles, &device.model);
    let parts: &[Measurement] = if args.quick { &Measurement::QUICK } else { &Measurement::ALL };
    let is_known = |part: &Measurement| is_measured(*part, &device.model, args) || tries.is_settled(part.part());
    let (known, missing): (Vec<Measurement>, Vec<Measurement>) =
        parts.iter().partition(|part| is_known(part) && !args.again);
    let (place, why_not) = match missing.is_empty() {
        true => (None, None),
        false => place_on(sense, &device.name)?.map_or_else(|why| (None, Some(why)), |place| (Some(place), None)),
    };
    let (name, model) = (device.name.clone(), device.model.clone());
    let mut plan = DevicePlan {
        device: name,
        model,
        known,
        missing,
        place,
        why_not,
        failed: Vec::new(),
        tried: Vec::new(),
        tries,
    };
    plan.show_tries();
    Ok(plan)
}

impl DevicePlan {
    fn show_tries(&mut self) {
        let is_missing = |tried: &Tried| self.missing.iter().any(|part| part.part() == tried.part);
        self.tried = self.tries.shown().into_iter().filter(is_missing).collect();
    }
}

/// Whether engines have a file of it. One that is damaged is measured again; the command that measures reports the
/// damage.
fn is_measured(part: Measurement, model: &str, args: &Args) -> bool {
    match part {
        Measurement::Speeds => study::speeds_of(&args.profiles, model).is_some(),
        Measurement::Settings => {
            study::kept(&args.profiles, model).ok().flatten().is_some_and(|kept| kept.evidence.is_some())
        }
        Measurement::Costs => brisk_profile::store::load(&args.profiles, model).ok().flatten().is_some(),
    }
}

/// The directory on `device` with the most free space, a mount point where files can be made; otherwise why there is
/// none.
pub(crate) fn place_on(sense: &Sense, device: &str) -> anyhow::Result<Result<PathBuf, String>> {
    let (storage, disk) = (sense.storage()?, sysfs_name(device));
    let mounts = storage.mounts().iter().map(|mount| (mount, storage.below_mount(mount)));
    let on_it: Vec<(&Mount, Stack)> = mounts.filter(|(_, stack)| stack.disks.contains(&disk)).collect();
    let mut best: Option<(u64, PathBuf)> = None;
    for (mount, _) in &on_it {
        let is_on_it = Place::find(sense, &mount.mount_point, false)
            .is_ok_and(|place| place.device.is_some_and(|located| located.disk.name == disk));
        let Ok(space) = rustix::fs::statvfs(&mount.mount_point) else { continue };
        let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
        if is_on_it && best.as_ref().is_none_or(|(most, _)| free_bytes > *most) {
            best = Some((free_bytes, mount.mount_point.clone()));
        }
    }
    Ok(best.map(|(_, place)| place).ok_or_else(|| why_no_place(sense, &storage, &disk, &on_it)))
}

/// Why there is no directory for work files on a disk. Only of a disk that is free for certain it says how to measure
/// it as a whole.
fn why_no_place(sense: &Sense, storage: &Storage, disk: &str, on_it: &[(&Mount, Stack)]) -> String {
    let points = |some: &[&(&Mount, Stack)]| {
        let points: Vec<String> = some.iter().map(|(mount, _)| mount.mount_point.display().to_string()).collect();
        points.join(", ")
    };
    let writable: Vec<_> = on_it.iter().filter(|(mount, _)| !mount.is_read_only()).collect();
    if let Some((mount, stack)) = writable.iter().find(|(_, stack)| stack.disks.len() > 1) {
        let disks: Vec<String> = stack.disks.iter().map(|name| device_name(name)).collect();
        let at = mount.mount_point.display();
        return format!("{at} is on {} together, and figures of one disk cannot be told apart there", disks.join(", "));
    }
    if !writable.is_empty() {
        return format!(
            "no work file can be made at {}, where it is mounted: mount it elsewhere too",
            points(&writable)
        );
    }
    if !on_it.is_empty() {
        let at = points(&on_it.iter().collect::<Vec<_>>());
        return format!("it is mounted read-only at {at}: mount a file system of it so that it can be written");
    }
    let uses: Vec<String> = storage.uses_of(disk).iter().map(ToString::to_string).collect();
    if !uses.is_empty() {
        return format!("no file system of it is mounted here, and it is in use ({})", uses.join(", "));
    }
    let parts: Vec<&str> = storage
        .device_of(disk)
        .into_iter()
        .flat_map(|device| &device.partitions)
        .map(|part| part.name.as_str())
        .collect();
    if !parts.is_empty() {
        return format!("no file system of it is mounted: mount one of its partitions ({})", parts.join(", "));
    }
    match sense.claim(disk) {
        Claim::Free => format!(
            "nothing uses it and it has no partitions: make a file system on it and mount that, or, if it holds \
             nothing of value, 'brisk study frontier /dev/{} --destroy-data --save' measures it and destroys its data",
            device_name(disk)
        ),
        Claim::Held => {
            "no file system of it is mounted here, and something holds it: another program, a pool of ZFS or a volume"
                .to_owned()
        }
        Claim::Unknown => {
            "no file system of it is mounted here, and only root can see whether something else uses it".to_owned()
        }
    }
}

/// Suspends the daemon for as long as it exists.
struct Stillness(Option<Socket>);

impl Stillness {
    /// One that was suspended before stays so.
    fn begin(socket: &Socket) -> anyhow::Result<Self> {
        if is_paused(socket) {
            return Ok(Self(None));
        }
        match socket.connect() {
            Ok(mut client) => {
                client.answer("Reset", &[]).context("the daemon cannot be suspended")?;
                Ok(Self(Some(socket.clone())))
            }
            Err(ClientError::NotRunning { .. }) => Ok(Self(None)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Stillness {
    fn drop(&mut self) {
        // A new connection: the daemon closes those that are silent for longer than half a minute, as a measurement is.
        let continued =
            self.0.as_ref().map(|socket| socket.connect().and_then(|mut client| client.answer("Reload", &[])));
        match continued {
            None | Some(Ok(_) | Err(ClientError::NotRunning { .. })) => {}
            Some(Err(error)) => {
                let why = brisk_core::causes::in_one_line(&error);
                brisk_program::error!("brisk: the daemon does not continue: try 'brisk config reload': {why}");
            }
        }
    }
}

fn measure(sense: &Sense, all: &mut [DevicePlan], args: &Args) -> anyhow::Result<ExitCode> {
    // Ctrl-C ends the command that measures; then this one lets the daemon continue.
    let session = Session::begin()?;
    let _still = Stillness::begin(&args.socket)?;
    let parts: usize = all.iter().map(|one| one.missing.len()).sum();
    let mut number = 0;
    let mut code = ExitCode::SUCCESS;
    // Until it is measured: this may be stopped at any time.
    all.iter_mut().for_each(|one| one.failed.clone_from(&one.missing));
    for one in all {
        for part in one.missing.clone() {
            number += 1;
            let Some(place) = one.place.clone() else {
                code = ExitCode::from(1);
                continue;
            };
            remark(&format!("{number} of {parts}: {}: {}, in {}", one.device, part.of(), place.display()));
            let used_bytes = if args.step { one.tries.written_bytes(part.part()) } else { 0 };
            let capacity_bytes = capacity_bytes(sense, &one.device);
            let watch = Watch::begin(sense, &one.device, part, capacity_bytes, used_bytes, args.step);
            let mut command = part.command(&place, capacity_bytes, args)?;
            let ran = watch.run(command.stdout(Stdio::null()), session.stop_flag());
            let (status, limit, said) = ran.context("cannot run brisk")?;
            if session.stop_flag().load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(session.was_stopped());
            }
            let ended = match limit {
                Some(limit) => Some(limit),
                None if !status.success() => {
                    Some((Ended::Failed, said.unwrap_or_else(|| format!("it ended with {status}"))))
                }
                // The search found none; the others keep what they measure or fail.
                None if part == Measurement::Settings && !is_measured(part, &one.model, args) => {
                    Some((Ended::NothingBetter, "no setting is better than those of the device".to_owned()))
                }
                None => None,
            };
            if let Some((Ended::Stopped | Ended::Partly, why)) = &ended {
                remark(&format!("{}: {} is not complete: {why}; it continues another time", one.device, part.of()));
            }
            if matches!(ended, Some((Ended::Failed, _))) {
                code = ExitCode::from(1);
            }
            if ended.as_ref().is_none_or(|(ended, _)| *ended == Ended::NothingBetter) {
                one.failed.retain(|failed| *failed != part);
            }
            one.tries.end(part.part(), now_unix_ms(), watch.written_bytes(), ended);
            study::keep_tries(&args.profiles, &one.model, &one.tries)?;
        }
        one.show_tries();
    }
    Ok(code)
}

fn summary(all: &[DevicePlan], left_alone: &[LeftAlone], args: &Args) -> String {
    let mut text = String::new();
    let mut line = |device: &str, words: &str| text += &format!("{device}: {words}\n");
    if all.is_empty() {
        line("no device", "briskd manages none here");
        left_alone.iter().for_each(|one| line(&one.name, &format!("left alone: {}", one.why.text())));
    }
    for one in all {
        let name = format!("{} ({})", one.device, one.model);
        let words = |parts: &[Measurement]| parts.iter().map(|part| part.of()).collect::<Vec<_>>().join("; ");
        let why_not = one.why_not.as_deref().unwrap_or_default();
        match (one.missing.is_empty(), args.check, one.place.is_some()) {
            (true, ..) => line(&name, "everything is measured"),
            (false, true, true) => {
                line(&name, &format!("not measured: {}", words(&one.missing)));
                let now_unix_ms = now_unix_ms();
                one.tried.iter().for_each(|tried| {
                    line(&format!("  {}", tried.part), &crate::status::tried_words(tried, now_unix_ms));
                });
            }
            (false, _, false) => line(&name, &format!("cannot be measured: {why_not}")),
            (false, false, true) => {
                let is_failed = |part: &Measurement| one.failed.contains(part);
                let (failed, measured): (Vec<Measurement>, Vec<Measurement>) =
                    one.missing.iter().partition(|part| is_failed(part));
                if !measured.is_empty() {
                    line(&name, &format!("measured: {}", words(&measured)));
                }
                if !failed.is_empty() {
                    line(&name, &format!("not measured: {}", words(&failed)));
                }
            }
        }
    }
    text
}
