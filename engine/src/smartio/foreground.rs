//! Which device a foreground app reads from, as far as it is known.
//!
//! | evidence | known from | where it is missing |
//! |---|---|---|
//! | disks that its requests may go to ([`App::may_use`]) | program, open files, io.stat | every managed disk |
//! | bytes that it read and wrote | io.stat, /proc/PID/io | the disk's own reads decide |
//! | that the disk completed reads at all | the disk's counters | - |
//!
//! An app that wrote much more than it read only writes. A launch counts as reading for [`READ_WITHIN_NS`] after its
//! last read; its first reads come before the next sample, so it counts as reading for that time from its beginning on.

use std::collections::BTreeMap;

use brisk_core::app::App;
use brisk_core::device::Device;
use brisk_core::snapshot::{AppRates, DiskRates, Interval, Snapshot};
use serde::{Deserialize, Serialize};

use crate::smartio::config::Config;
use crate::smartio::hysteresis::Need;

/// A launch that has not read for this time does not wait for storage.
const READ_WITHIN_NS: u64 = 1_000_000_000;
/// An app that wrote more than so many times what it read only writes: a program that begins to write was read itself.
const WRITTEN_TIMES_MAX: f64 = 16.0;

/// A foreground app with what it did since the last sample.
pub(crate) struct Foreground<'a> {
    pub(crate) app: &'a App,
    rates: Option<&'a AppRates>,
    stall_percent: f64,
}

impl<'a> Foreground<'a> {
    pub(crate) fn new(app: &'a App, now: &Snapshot, interval: Option<&'a Interval>) -> Self {
        let rates = interval.and_then(|interval| interval.apps.iter().find(|rates| rates.name == app.group));
        // That of the whole machine where groups have no counters. A group that is new has, and has not waited yet.
        let counts = now.apps.iter().any(|totals| totals.name == app.group && totals.io_pressure.is_some());
        let of_machine = interval.and_then(|interval| interval.pressure.io).filter(|_| !counts);
        let stall = rates.and_then(|rates| rates.io_pressure).or(of_machine);
        Self { app, rates, stall_percent: stall.map_or(0.0, |stall| stall.some_percent) }
    }

    /// Whether it waited for storage for this share of the time, and for reads from the device; `rates` are the
    /// device's.
    pub(crate) fn waits(
        &self,
        config: &Config,
        device: &Device,
        rates: Option<&DiskRates>,
        limit_percent: f64,
    ) -> bool {
        self.stall_percent >= limit_percent && !self.only_writes() && self.has_read(config, device, rates)
    }

    /// Whether it is known to have written, and to have read little or nothing for it.
    pub(crate) fn only_writes(&self) -> bool {
        let moved = self.rates.and_then(|rates| rates.read_bytes_per_s.zip(rates.write_bytes_per_s));
        moved.is_some_and(|(read, written)| written > read * WRITTEN_TIMES_MAX)
    }

    /// Whether it has read from the device since the last sample; `rates` are the device's.
    fn has_read(&self, config: &Config, device: &Device, rates: Option<&DiskRates>) -> bool {
        let device_per_s = rates.map_or(0.0, |rates| rates.read.requests_per_s);
        if !self.app.may_use(&device.name) {
            return false;
        }
        match self.rates.and_then(|rates| rates.read_bytes_per_s) {
            Some(read) => read > 0.0 && (self.app.disks.is_some() || device_per_s > 0.0),
            None => device_per_s > 0.0 && device_per_s >= config.reads_min_per_s,
        }
    }
}

/// A launch as this engine follows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Launch {
    /// Its last read from each device, by kernel name.
    pub reads: BTreeMap<String, LastRead>,
}

/// The last read of a launch from a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRead {
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Whether it was seen, or is presumed of the beginning of the launch.
    pub seen: bool,
}

impl Launch {
    /// Follows what the app has read from the device; `begins` with the launch.
    pub(crate) fn follow(
        &mut self,
        config: &Config,
        of: &Foreground<'_>,
        device: &Device,
        rates: Option<&DiskRates>,
        begins: bool,
        now_ns: u64,
    ) {
        if !of.app.may_use(&device.name) || (of.only_writes() && !begins) {
            self.reads.remove(&device.name);
        } else if begins || of.has_read(config, device, rates) {
            // The interval before it begins tells nothing of it.
            self.reads.insert(device.name.clone(), LastRead { at_ns: now_ns, seen: !begins });
        }
    }

    /// How much it needs fast reads from the device.
    pub(crate) fn need(&self, device: &str, now_ns: u64) -> Need {
        match self.reads.get(device) {
            Some(read) if now_ns.saturating_sub(read.at_ns) > READ_WITHIN_NS => Need::No,
            Some(read) if read.seen => Need::Seen,
            Some(_) => Need::Presumed,
            None => Need::No,
        }
    }
}
