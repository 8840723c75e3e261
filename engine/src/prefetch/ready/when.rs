//! When sets may be read before they are asked for: nobody waits for the device, memory is free, the day has a rest of
//! its budget.
//!
//! Storage is quiet when no app was launched or came to the foreground, no app waited for storage, and the devices
//! wrote and read less than [`BUSY_BYTES_PER_S`], for [`QUIET_NS`]. What is read for this engine is not told from what
//! others read, so that reads count only while it reads nothing itself.

use brisk_core::decision::Observed;
use brisk_core::event::EventKind;
use brisk_core::reason::Reason;
use brisk_core::snapshot::{Interval, Snapshot};
use serde::{Deserialize, Serialize};

use super::SHORT_LOOK_NS;
use super::cache::{self, Cache};
use crate::kit::S_NS;
use crate::kit::check::share_bytes;
use crate::prefetch::config::Config;
use crate::prefetch::launches;

/// So long storage has to be quiet.
pub(super) const QUIET_NS: u64 = 5 * S_NS;
/// A device that reads or writes more is busy: a journal commits less.
pub(super) const BUSY_BYTES_PER_S: f64 = 1e6;
/// What little is moved within a short interval is no load.
const BUSY_BYTES: f64 = 256e3;
/// An app that waits for storage for this share of the time is not to wait longer.
const STALL_PERCENT: f64 = 10.0;
/// A part of all memory that stays free, and as much page cache that stays: more than the kernel keeps in reserve by
/// itself (its high watermarks; with huge pages 66 MiB of 1 GiB).
const RESERVE_PART: u64 = 10;
/// And no more than this.
const RESERVE_MAX_BYTES: u64 = 256 << 20;
/// Less room than this is not worth opening a set.
const ROOM_MIN_BYTES: u64 = 1 << 20;

/// Since when storage is quiet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Quiet {
    /// `None`: not yet.
    since_ns: Option<u64>,
    /// What made it busy last.
    by: Option<Reason>,
    /// When this engine read last.
    read_ns: Option<u64>,
}

impl Quiet {
    /// This engine has read until now.
    pub(super) fn read(&mut self, at_ns: u64) {
        self.read_ns = Some(at_ns);
    }

    pub(super) fn take(&mut self, observed: &Observed<'_>, is_reading: bool) {
        let now = observed.now;
        if is_reading {
            self.read(now.at_ns);
        }
        let Some(previous) = observed.previous else {
            (self.since_ns, self.by) = (None, Some(Reason::rule("what_goes_on_is_not_known_yet")));
            return;
        };
        let reads_count = self.read_ns.is_none_or(|read_ns| read_ns < previous.at_ns);
        let busy = event_in_front(observed).or_else(|| load(observed, now.since(previous).as_ref(), reads_count));
        match busy {
            Some(by) => (self.since_ns, self.by) = (None, Some(by)),
            None => self.since_ns = self.since_ns.or(Some(previous.at_ns)),
        }
    }

    /// How long it is quiet for.
    fn is_for_ns(&self, now_ns: u64) -> u64 {
        self.since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }
}

/// Somebody does something that an app may wait for.
fn event_in_front(observed: &Observed<'_>) -> Option<Reason> {
    observed.events.iter().find_map(|event| match &event.kind {
        EventKind::LaunchBegan { .. } | EventKind::LaunchEnded { .. } => Some(Reason::rule("an_app_is_launched")),
        EventKind::Focused { .. } | EventKind::Returned { .. } => Some(Reason::rule("an_app_came_to_the_foreground")),
        EventKind::Pressure { resource } if resource == "memory" => Some(Reason::rule("memory_is_short")),
        EventKind::Resumed { .. } => Some(Reason::rule("what_goes_on_is_not_known_yet")),
        _ => None,
    })
}

/// What others do to the devices, or wait for.
fn load(observed: &Observed<'_>, interval: Option<&Interval>, reads_count: bool) -> Option<Reason> {
    let interval = interval?;
    let elapsed_s = interval.elapsed_ns as f64 / 1e9;
    let is_managed = |name: &str| observed.devices.iter().any(|device| device.name == name);
    let busy = |rate: f64| rate >= BUSY_BYTES_PER_S && rate * elapsed_s >= BUSY_BYTES;
    for disk in interval.disks.iter().filter(|disk| is_managed(&disk.name)) {
        if busy(disk.write.bytes_per_s) || (reads_count && busy(disk.read.bytes_per_s)) {
            let mb_per_s = (disk.write.bytes_per_s + disk.read.bytes_per_s) / 1e6;
            return Some(Reason::rule("storage_is_busy").number("mb_per_s", mb_per_s));
        }
    }
    let stall = |app: &brisk_core::snapshot::AppRates| app.io_pressure.map_or(0.0, |stall| stall.some_percent);
    let waits = interval.apps.iter().find(|app| stall(app) >= STALL_PERCENT);
    waits.map(|app| Reason::rule("an_app_waits_for_storage").number("percent", stall(app)))
}

/// Why nothing may be read now by what goes on, and when to look again.
pub(super) fn waits(observed: &Observed<'_>, quiet: &Quiet, is_launching: bool) -> Option<(Reason, u64)> {
    if is_launching {
        return Some((Reason::rule("an_app_is_launched"), QUIET_NS));
    }
    if let Some(why) = launches::shortage(observed) {
        return Some((why, SHORT_LOOK_NS));
    }
    let for_ns = quiet.is_for_ns(observed.now.at_ns);
    if for_ns >= QUIET_NS {
        return None;
    }
    let by = quiet.by.clone().unwrap_or_else(|| Reason::rule("storage_is_not_quiet_for_long"));
    Some((by, QUIET_NS - for_ns))
}

/// What may be read from the device now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) bytes: u64,
    /// The kernel drops other pages for it.
    pub(super) is_of_cache: bool,
}

/// What may be read now, where sets have `kept_bytes` in memory and so much was read today; or else why nothing may be,
/// and when to look again.
pub(super) fn room(
    config: &Config,
    now: &Snapshot,
    kept_bytes: u64,
    day_bytes: u64,
    cache: &Cache,
) -> Result<Room, (Reason, u64)> {
    let mib = |bytes: u64| (bytes >> 20) as f64;
    let day_bytes_left = config.ready_mib_per_day.saturating_mul(1 << 20).saturating_sub(day_bytes);
    if day_bytes_left < ROOM_MIN_BYTES {
        return Err((Reason::rule("enough_was_read_today").number("mib", mib(day_bytes)), SHORT_LOOK_NS));
    }
    let free_bytes = free_room_bytes(config, now, kept_bytes);
    if free_bytes >= ROOM_MIN_BYTES {
        return Ok(Room { bytes: free_bytes.min(day_bytes_left), is_of_cache: false });
    }
    let cache_bytes = cache_room_bytes(config, now, kept_bytes);
    if cache_bytes < ROOM_MIN_BYTES {
        return Err((
            Reason::rule("little_memory_is_free").number("free_mib", mib(now.memory.free_bytes)),
            SHORT_LOOK_NS,
        ));
    }
    match cache.waits(now.at_ns) {
        Some(wait) => Err(wait),
        None => Ok(Room { bytes: cache_bytes.min(day_bytes_left).min(cache::STEP_BYTES), is_of_cache: true }),
    }
}

/// The share is one of what was free before the first set was read: otherwise each set would take its share of the
/// rest.
fn free_room_bytes(config: &Config, now: &Snapshot, kept_bytes: u64) -> u64 {
    let free_bytes = beyond_reserve_bytes(now, now.memory.free_bytes);
    share_room_bytes(config, free_bytes, kept_bytes)
}

/// The same of what is free and of the page cache that the kernel would drop first: as much of it as the reserve is
/// left to others. What is read into free memory comes to be in that cache and is not counted twice.
fn cache_room_bytes(config: &Config, now: &Snapshot, kept_bytes: u64) -> u64 {
    let inactive_bytes = now.memory.inactive_file_bytes.unwrap_or(0).saturating_sub(kept_bytes);
    let free_bytes = beyond_reserve_bytes(now, now.memory.free_bytes);
    share_room_bytes(config, free_bytes.saturating_add(beyond_reserve_bytes(now, inactive_bytes)), kept_bytes)
}

fn beyond_reserve_bytes(now: &Snapshot, bytes: u64) -> u64 {
    bytes.saturating_sub((now.memory.total_bytes / RESERVE_PART).min(RESERVE_MAX_BYTES))
}

fn share_room_bytes(config: &Config, bytes: u64, kept_bytes: u64) -> u64 {
    let allowed_bytes = share_bytes(bytes.saturating_add(kept_bytes), config.ready_memory_percent);
    allowed_bytes.saturating_sub(kept_bytes).min(bytes)
}
