//! Limits of one measurement: time, wear, and others who use the device.
//!
//! A measurement is a process of its own. The watch samples each second and has it end in order (SIGINT) when a limit
//! is reached; `brisk profile` continues from there the next time.
//!
//! Properties: `wear_is_a_small_share_of_what_flash_lasts`; `waits_of_apps_end_a_step_and_short_ones_do_not`.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brisk_api::Ended;
use brisk_formats::{Resource, sysfs_name};
use brisk_sense::Sense;

use super::Measurement;

const GIB: u64 = 1 << 30;
const EVERY: Duration = Duration::from_secs(1);
/// What a part that can be continued takes at a time.
pub(super) const SLICE: Duration = Duration::from_secs(240);
/// Apps of users that waited so long for storage within [`WINDOW`] need it.
const WAITED_US: u64 = 1_000_000;
const WINDOW: usize = 5;

/// The most that all tries of a part may write to a device of this capacity: for settings a 32nd of it, 2 to 32 GiB,
/// which is a hundred-thousandth of what flash of 3,000 cycles lasts, and four times as much for costs.
pub(super) fn written_bytes_max(part: Measurement, capacity_bytes: u64) -> u64 {
    let share = (capacity_bytes / 32).clamp(2 * GIB, 32 * GIB);
    match part {
        Measurement::Speeds => 2 * GIB,
        Measurement::Settings => share,
        Measurement::Costs => 4 * share,
    }
}

/// What ends a measurement early. Pure.
#[derive(Debug, Default)]
struct Waits {
    /// Totals of the last samples, the oldest first.
    totals_us: Vec<u64>,
}

impl Waits {
    /// Whether apps need the device, by the total that they have waited for storage.
    fn is_needed(&mut self, total_us: u64) -> bool {
        self.totals_us.push(total_us);
        if self.totals_us.len() > WINDOW + 1 {
            self.totals_us.remove(0);
        }
        self.totals_us.first().is_some_and(|first_us| total_us.saturating_sub(*first_us) >= WAITED_US)
    }
}

/// Status of a measurement, why it was ended early, and its last word.
pub(super) type Ran = (ExitStatus, Option<(Ended, String)>, Option<String>);

/// The limits of a part on a device.
pub(super) struct Watch<'a> {
    sense: &'a Sense,
    disk: String,
    /// The group of users' apps, where this process is not in it.
    apps: Option<PathBuf>,
    written_before_bytes: u64,
    written_bytes_max: u64,
    slice: Option<Duration>,
    is_step: bool,
}

/// Waits for a measurement, and has it end when `limit` says why, or when this command is to stop: a signal that ends
/// this process alone does not reach it.
pub(super) fn until<T>(
    child: &mut Child,
    stop: &AtomicBool,
    mut limit: impl FnMut() -> Option<T>,
) -> std::io::Result<(ExitStatus, Option<T>)> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, None));
        }
        let why = limit();
        if why.is_some() || stop.load(Ordering::Relaxed) {
            if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                // It may have ended by itself.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
            }
            return Ok((child.wait()?, why));
        }
        std::thread::sleep(EVERY);
    }
}

impl<'a> Watch<'a> {
    /// Watches for others and for wear, as the service does (`is_step`), or for wear alone.
    pub(super) fn begin(
        sense: &'a Sense,
        device: &str,
        part: Measurement,
        capacity_bytes: u64,
        used_bytes: u64,
        is_step: bool,
    ) -> Self {
        let mut watch = Self {
            sense,
            apps: if is_step { apps(sense) } else { None },
            written_before_bytes: 0,
            written_bytes_max: written_bytes_max(part, capacity_bytes).saturating_sub(used_bytes),
            slice: (is_step && part == Measurement::Costs).then_some(SLICE),
            disk: sysfs_name(device),
            is_step,
        };
        watch.written_before_bytes = watch.total_bytes();
        watch
    }

    fn total_bytes(&self) -> u64 {
        let disk = self.sense.disk_stats_of(&self.disk).ok().flatten();
        disk.map_or(0, |disk| disk.write.bytes)
    }

    pub(super) fn written_bytes(&self) -> u64 {
        self.total_bytes().saturating_sub(self.written_before_bytes)
    }

    /// Runs the measurement: its status, why it was ended if it was, and its last word if the service runs it, whose
    /// journal has all of them.
    pub(super) fn run(&self, command: &mut Command, stop: &AtomicBool) -> std::io::Result<Ran> {
        let mut child = if self.is_step { command.stderr(Stdio::piped()).spawn()? } else { command.spawn()? };
        let said = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let lines = BufReader::new(stderr).lines().map_while(Result::ok);
                lines.inspect(|line| brisk_program::notice!("{line}")).filter(|line| !line.trim().is_empty()).last()
            })
        });
        let (begun, mut waits) = (Instant::now(), Waits::default());
        let (status, why) = until(&mut child, stop, || self.limit(begun.elapsed(), &mut waits))?;
        let said = said.and_then(|said| said.join().ok().flatten());
        // One that had ended all the same is complete.
        Ok((status, why.filter(|_| !status.success()), said.map(|said| said.trim_start_matches("brisk: ").to_owned())))
    }

    fn limit(&self, elapsed: Duration, waits: &mut Waits) -> Option<(Ended, String)> {
        if self.written_bytes() > self.written_bytes_max {
            let most = brisk_core::units::format_bytes(self.written_bytes_max);
            return Some((Ended::Failed, format!("more than {most} would be written for it")));
        }
        if let Some(apps) = &self.apps {
            let pressure = self.sense.cgroup_pressure(apps, Resource::Io).ok().flatten();
            if pressure.is_some_and(|pressure| waits.is_needed(pressure.some.total_us)) {
                return Some((Ended::Stopped, "apps need the storage".to_owned()));
            }
            if is_discharging(self.sense) {
                return Some((Ended::Stopped, "the device runs on its battery".to_owned()));
            }
        }
        self.slice.filter(|slice| elapsed >= *slice).map(|_| (Ended::Partly, "its time was over".to_owned()))
    }
}

/// The group of all apps of users under systemd.
fn apps(sense: &Sense) -> Option<PathBuf> {
    let dir = sense.cgroups().ok()?.v2?.mount_point.join("user.slice");
    sense.cgroup_pressure(&dir, Resource::Io).ok().flatten().map(|_| dir)
}

/// Whether a battery is in use.
pub(super) fn is_discharging(sense: &Sense) -> bool {
    let supplies = sense.power_supplies().unwrap_or_default();
    supplies.iter().any(|one| one.kind == "Battery" && one.status.as_deref() == Some("Discharging"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wear_is_a_small_share_of_what_flash_lasts() {
        let of = |part| [4, 64, 256, 4_096].map(|gib| written_bytes_max(part, gib * GIB) / GIB);
        assert_eq!(of(Measurement::Settings), [2, 2, 8, 32]);
        assert_eq!(of(Measurement::Costs), [8, 8, 32, 128]);
        assert_eq!(of(Measurement::Speeds), [2; 4]);
    }

    #[test]
    fn waits_of_apps_end_a_step_and_short_ones_do_not() {
        let ended = |totals_us: &[u64]| {
            let mut waits = Waits::default();
            totals_us.iter().position(|total_us| waits.is_needed(*total_us))
        };
        assert_eq!(ended(&[5_000_000, 5_100_000, 5_200_000]), None);
        // An app that is launched.
        assert_eq!(ended(&[0, 600_000, 1_300_000]), Some(2));
        // A second in all, and not within the window.
        assert_eq!(ended(&[0, 190_000, 380_000, 570_000, 760_000, 950_000, 1_140_000]), None);
    }
}
