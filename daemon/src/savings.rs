//! Latency and energy that brisk's settings have saved since the daemon started, by the kernel's counters.
//!
//! For each device, intervals between two rounds are kept apart by *pattern* and by *whose settings were in force*:
//! none of brisk's, or those of one or several engines. Like is compared with like: the mean time of a read under an
//! engine's settings with that under none, at the same pattern; times the reads that were served, that is what was
//! saved. Writes alike; and the time that the device was busy for each request gives energy.
//!
//! - A *pattern* is, for times, the powers of two nearest to the bytes written a second and to the size of a request:
//!   how often something is asked depends on how fast it is answered, where an app waits for each answer. For busy time
//!   it is also both rates, since a mix with more cheap reads in it is another mix.
//! - An *interval* counts if nothing was switched on the device since it began. Intervals are weighed by their
//!   requests.
//! - *Uncertainty*: the 95 % interval of the difference of two means (Welch), added up over patterns by squares.
//!   Intervals that follow each other count as independent, which is an approximation.
//! - *Energy is modelled*: busy time saved, times [`AWAKE_MW`]; the device's own energy for equal work counts as equal.
//!
//! This is what was observed and no experiment: whatever else was different while brisk's settings stood is in the
//! figures. `brisk phone launch` is the experiment. Where a pattern was not seen often enough both with and without,
//! nothing is said of it; what share of the requests could be compared is part of the outcome.
//!
//! Properties, each with a test: `nothing_is_said_before_enough_was_seen`; `like_is_compared_with_like`;
//! `what_got_slower_is_a_negative_saving`; `nothing_grows_without_bound`.

mod tally;

use std::collections::BTreeMap;

use brisk_api::{Estimate, Saved};
use brisk_core::energy::AWAKE_MW;
use brisk_core::snapshot::{DiskRates, Interval, IoRates};

use tally::{Difference, Tally};

/// How the estimates are made, for `brisk status`.
pub const METHOD: &str = "observed, no experiment: mean time of a request by the kernel's counters with brisk's \
     settings and without, at the same rate and size of writes; in brackets the 95 % interval and the share of \
     requests that could be compared; energy is modelled: reduction of the busy time of the device, times 14.8 mW of \
     an awake processor";

/// An interval shorter than this says nothing: the kernel counts in ms, and busy time in ticks of a few ms ...
const INTERVAL_S_MIN: f64 = 0.05;
/// ... and one longer than this, which is a little more than the paper's minute, mixes patterns.
const INTERVAL_S_MAX: f64 = 75.0;
/// Fewer requests in an interval have no mean time worth having.
const REQUESTS_MIN: f64 = 4.0;
/// Patterns of a device that are kept at most; what comes later is counted and not compared.
const PATTERNS_MAX: usize = 256;
/// Writes below this rate in bytes a second are none.
const WRITES_BYTES_FLOOR: f64 = 16_384.0;
/// Rates are distinguished from here on, in requests a second.
const RATE_FLOOR: f64 = 5.0;

/// Engines whose settings are in force on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnginesInForce {
    /// None of brisk's, or only fixed ones.
    NoEngine,
    /// Those of these engines, joined by `+`.
    Engines(String),
    /// Unknown: something else is not as before brisk, such as the priority of an app. No baseline.
    Unclear,
}

/// Which times: what is kept apart by pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Read,
    Write,
    Busy,
}

/// Powers of two; see the module.
type Pattern = (Kind, [i8; 4]);

/// What was seen of one pattern.
#[derive(Debug, Default)]
struct PatternTally {
    without: Tally,
    with: BTreeMap<String, Tally>,
}

/// What was seen of one device.
#[derive(Debug, Default)]
struct Account {
    seen: BTreeMap<Pattern, PatternTally>,
    /// By engines: everything under their settings, whether it can be compared or not.
    totals: BTreeMap<String, Totals>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    elapsed_s: f64,
    reads: f64,
    writes: f64,
}

/// The account of all devices, over the daemon's life.
#[derive(Debug, Default)]
pub struct Savings {
    devices: BTreeMap<String, Account>,
}

impl Savings {
    /// Adds an interval; `under` names the engines whose settings were in force on a device all the time. Other devices
    /// are left out.
    pub fn add_interval(&mut self, interval: &Interval, under: &BTreeMap<String, EnginesInForce>) {
        let seconds = interval.elapsed_ns as f64 / 1e9;
        if !(INTERVAL_S_MIN..=INTERVAL_S_MAX).contains(&seconds) {
            return;
        }
        for disk in &interval.disks {
            match under.get(&disk.name) {
                None | Some(EnginesInForce::Unclear) => {}
                Some(EnginesInForce::NoEngine) => {
                    self.devices.entry(disk.name.clone()).or_default().add(disk, seconds, None)
                }
                Some(EnginesInForce::Engines(engines)) => {
                    self.devices.entry(disk.name.clone()).or_default().add(disk, seconds, Some(engines));
                }
            }
        }
    }

    /// Forgets a device that went: the next of that name is another one.
    pub fn forget(&mut self, device: &str) {
        self.devices.remove(device);
    }

    /// Savings by device and engines.
    #[must_use]
    pub fn estimates(&self) -> Vec<Saved> {
        let of_device = |(device, account): (&String, &Account)| {
            account
                .totals
                .iter()
                .map(|(engines, totals)| account.estimates(device, engines, totals))
                .collect::<Vec<_>>()
        };
        self.devices.iter().flat_map(of_device).collect()
    }
}

impl Account {
    fn add(&mut self, disk: &DiskRates, seconds: f64, engines: Option<&String>) {
        let (reads, writes) = (disk.read.requests_per_s * seconds, disk.write.requests_per_s * seconds);
        if let Some(engines) = engines {
            let totals = self.totals.entry(engines.clone()).or_default();
            totals.elapsed_s += seconds;
            totals.reads += reads;
            totals.writes += writes;
        }
        for (kind, io, count) in [(Kind::Read, &disk.read, reads), (Kind::Write, &disk.write, writes)] {
            if let Some(ms) = io.latency_ms_mean.filter(|ms| ms.is_finite() && count >= REQUESTS_MIN) {
                let pattern = [octave(disk.write.bytes_per_s, WRITES_BYTES_FLOOR), size_octave(io), 0, 0];
                self.count((kind, pattern), engines, ms, count);
            }
        }
        let requests = reads + writes;
        if requests >= REQUESTS_MIN {
            let rate = |io: &IoRates| octave(io.requests_per_s, RATE_FLOOR);
            let pattern = [rate(&disk.read), rate(&disk.write), size_octave(&disk.read), size_octave(&disk.write)];
            let busy_ms = disk.busy_percent * 10.0 * seconds;
            self.count((Kind::Busy, pattern), engines, busy_ms / requests, requests);
        }
    }

    fn count(&mut self, pattern: Pattern, engines: Option<&String>, ms: f64, requests: f64) {
        if self.seen.len() >= PATTERNS_MAX && !self.seen.contains_key(&pattern) {
            return;
        }
        let seen = self.seen.entry(pattern).or_default();
        match engines {
            None => seen.without.add(ms, requests),
            Some(engines) => seen.with.entry(engines.clone()).or_default().add(ms, requests),
        }
    }

    fn estimates(&self, device: &str, engines: &str, totals: &Totals) -> Saved {
        let of = |kind| self.difference(kind, engines);
        let (reads, writes, busy) = (of(Kind::Read), of(Kind::Write), of(Kind::Busy));
        // ms are 1000 us; mW times ms is uJ.
        Saved {
            device: device.to_owned(),
            engines: engines.to_owned(),
            elapsed_s: totals.elapsed_s as u64,
            reads: totals.reads.round() as u64,
            reads_compared: reads.requests.round() as u64,
            read_delay_us: estimate(&reads, 1000.0),
            writes: totals.writes.round() as u64,
            writes_compared: writes.requests.round() as u64,
            write_delay_us: estimate(&writes, 1000.0),
            energy_uj: estimate(&busy, AWAKE_MW),
            energy_requests_compared: busy.requests.round() as u64,
        }
    }

    /// Time saved in ms, over all patterns of a kind that were seen often enough.
    fn difference(&self, kind: Kind, engines: &str) -> Difference {
        let of_kind = self.seen.iter().filter(|((of, _), _)| *of == kind);
        let pairs = of_kind.filter_map(|(_, seen)| Some((&seen.without, seen.with.get(engines)?)));
        pairs.filter_map(|(without, with)| tally::saved(without, with)).fold(Difference::default(), Difference::plus)
    }
}

fn octave(value: f64, floor: f64) -> i8 {
    (value + floor).max(1.0).log2().round() as i8
}

fn size_octave(io: &IoRates) -> i8 {
    io.size_bytes_mean.map_or(0, |bytes| octave(bytes, 0.0))
}

fn estimate(difference: &Difference, unit: f64) -> Option<Estimate> {
    let whole = |ms: f64| (ms * unit).round() as i64;
    (difference.requests > 0.0).then(|| Estimate {
        value: whole(difference.saved),
        low: whole(difference.saved - difference.half_width()),
        high: whole(difference.saved + difference.half_width()),
    })
}

#[cfg(test)]
mod tests;
