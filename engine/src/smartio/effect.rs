//! Whether settings help: read latency and throughput with them and without, at about the same rate of writes.
//!
//! A sample is one interval in which both reads and writes went to the device and no setting changed. Samples are
//! grouped by the octave of the write rate, with the settings and without, so that only similar loads are compared. The
//! kernel's read time begins when a request has got its tag, and does not include the wait for a tag: therefore more
//! reads a second count as help too.

use std::collections::BTreeMap;

use crate::kit::BackOff;
use brisk_core::reason::Reason;
use brisk_core::snapshot::DiskRates;
use serde::{Deserialize, Serialize};

use crate::smartio::config::Config;

/// Minimum number of samples without the settings, and with them, for a verdict.
const SAMPLES_WITHOUT: u32 = 4;
const SAMPLES_WITH: u32 = 8;
/// Smallest difference that counts.
const HELP_SHARE: f64 = 0.05;
/// Weight of the newest sample in a running mean.
const NEWEST: f64 = 0.25;
/// Longest back-off.
const LEFT_ALONE_MAX_S: u64 = 86_400;

/// Effect of the settings on one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effect {
    /// By octave of the write rate in bytes a second.
    pub octaves: BTreeMap<u8, Pair>,
    /// No settings are requested as long as this is on.
    pub back_off: BackOff,
}

/// Reads without and with the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub without: Tally,
    pub with: Tally,
}

/// Running means of some samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub samples: u32,
    pub read_ms: f64,
    pub reads_per_s: f64,
}

impl Tally {
    fn add(&mut self, read_ms: f64, reads_per_s: f64) {
        let weight = if self.samples == 0 { 1.0 } else { NEWEST };
        self.samples = self.samples.saturating_add(1);
        self.read_ms += weight * (read_ms - self.read_ms);
        self.reads_per_s += weight * (reads_per_s - self.reads_per_s);
    }
}

impl Effect {
    /// Adds an interval with the settings, or without. Gives a reason when they turn out not to help: then a back-off
    /// begins.
    pub(crate) fn learn(&mut self, config: &Config, rates: &DiskRates, with: bool, now_ns: u64) -> Option<Reason> {
        let read_ms = rates.read.latency_ms_mean.filter(|ms| ms.is_finite())?;
        let reads_per_s = rates.read.requests_per_s;
        if reads_per_s < config.reads_min_per_s || rates.write.requests_per_s < config.writes_min_per_s {
            return None;
        }
        let octave = rates.write.bytes_per_s.max(1.0).log2() as u8;
        let pair = self.octaves.entry(octave).or_default();
        let tally = if with { &mut pair.with } else { &mut pair.without };
        tally.add(read_ms, reads_per_s);
        let (with, without) = (pair.with, pair.without);
        if with.samples < SAMPLES_WITH || without.samples < SAMPLES_WITHOUT {
            return None;
        }
        let faster = with.read_ms < without.read_ms * (1.0 - HELP_SHARE);
        let more = with.reads_per_s > without.reads_per_s * (1.0 + HELP_SHARE);
        if faster || more {
            return None;
        }
        // Tried anew from the beginning when the time is over.
        pair.with = Tally::default();
        let left_alone_s = self.back_off.begin(now_ns, config.retry_after_s, LEFT_ALONE_MAX_S);
        let reason = Reason::rule("does_not_help")
            .number("read_ms_with", with.read_ms)
            .number("read_ms_without", without.read_ms)
            .number("write_mb_per_s", rates.write.bytes_per_s / 1e6)
            .number("left_alone_s", left_alone_s as f64);
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::IoRates;

    fn rates(read_ms: f64, reads_per_s: f64, write_bytes_per_s: f64) -> DiskRates {
        let io = |requests_per_s, bytes_per_s, ms| IoRates {
            requests_per_s,
            bytes_per_s,
            size_bytes_mean: None,
            latency_ms_mean: Some(ms),
        };
        DiskRates {
            read: io(reads_per_s, 4096.0 * reads_per_s, read_ms),
            write: io(100.0, write_bytes_per_s, 1.0),
            ..DiskRates::default()
        }
    }

    /// Without at 10 ms and 100 reads a second, then with: whether it was found not to help.
    fn judged(with_ms: f64, with_reads_per_s: f64, with_bytes_per_s: f64) -> bool {
        let (config, mut effect) = (Config::default(), Effect::default());
        for _ in 0..SAMPLES_WITHOUT {
            assert_eq!(effect.learn(&config, &rates(10.0, 100.0, 4e6), false, 0), None);
        }
        (0..SAMPLES_WITH)
            .any(|_| effect.learn(&config, &rates(with_ms, with_reads_per_s, with_bytes_per_s), true, 7).is_some())
    }

    #[test]
    fn like_is_compared_with_like() {
        for (with_ms, reads_per_s, bytes_per_s, useless) in [
            (2.0, 100.0, 4e6, false),
            (10.0, 100.0, 4e6, true),
            (12.0, 80.0, 4e6, true),
            // More reads a second: they do not wait for tags any more.
            (10.0, 200.0, 4e6, false),
            // Another octave of writes says nothing.
            (30.0, 80.0, 40e6, false),
        ] {
            assert_eq!(judged(with_ms, reads_per_s, bytes_per_s), useless, "{with_ms} {reads_per_s} {bytes_per_s}");
        }
    }

    #[test]
    fn each_time_it_is_left_alone_for_longer() {
        let (config, mut effect) = (Config::default(), Effect::default());
        let mut waits_s = Vec::new();
        for _ in 0..SAMPLES_WITHOUT {
            let _ = effect.learn(&config, &rates(10.0, 100.0, 4e6), false, 0);
        }
        for _ in 0..10 * SAMPLES_WITH {
            if effect.learn(&config, &rates(10.0, 100.0, 4e6), true, 0).is_some() {
                waits_s.push(effect.back_off.until_ns.expect("left alone") / 1_000_000_000);
            }
        }
        assert_eq!(waits_s[..3], [600, 1_200, 2_400]);
        assert_eq!(waits_s[8..], [86_400, 86_400]);
    }
}
