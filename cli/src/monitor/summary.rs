//! A session in a few numbers: least, median and most of every value, and the sums of what moved.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brisk_core::snapshot::{Interval, IoRates, Snapshot};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::export::metric::{self, Key};

/// Values are kept in hundredths, with two digits of precision.
const SCALE: f64 = 100.0;

#[derive(Debug, Default)]
pub(super) struct Collector {
    previous: Option<Snapshot>,
    elapsed_ns: u64,
    samples: u64,
    spreads: BTreeMap<Key, Tally>,
    disks: BTreeMap<String, DiskSums>,
    nets: BTreeMap<String, NetSums>,
    apps: BTreeMap<String, AppSums>,
}

/// The values of one name. The median is from a histogram, so that a year takes no more memory than a minute.
#[derive(Debug)]
struct Tally {
    min: f64,
    max: f64,
    values: Histogram<u32>,
}

/// Least, median and most of one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Spread {
    /// `cpu`, `disk`, ...
    pub(super) kind: &'static str,
    /// Which one; empty for the machine.
    #[serde(rename = "of")]
    pub(super) part: String,
    pub(super) name: Cow<'static, str>,
    /// Number of intervals that have it.
    pub(super) count: u64,
    pub(super) min: f64,
    /// Within 1 %.
    pub(super) median: f64,
    pub(super) max: f64,
}

/// What one disk moved. Rates are added up, so the time between samples that were missed is not in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct DiskSums {
    pub(super) read_requests: f64,
    pub(super) read_bytes: f64,
    pub(super) write_requests: f64,
    pub(super) write_bytes: f64,
    pub(super) discard_bytes: f64,
    pub(super) flush_requests: f64,
    pub(super) busy_s: f64,
}

/// What one interface moved.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct NetSums {
    pub(super) receive_bytes: f64,
    pub(super) transmit_bytes: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct AppSums {
    pub(super) cpu_s: f64,
    pub(super) io_stall_s: f64,
    pub(super) memory_bytes_max: u64,
}

/// What monitoring itself took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct OwnCost {
    /// Processor time, user and system.
    pub(super) cpu_us: u64,
    /// Over the time of the session; 100 is one processor in full.
    pub(super) cpu_percent: f64,
    /// In memory at the end.
    pub(super) rss_bytes: u64,
}

/// A session in a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Summary {
    /// From the first sample to the last, without gaps.
    pub(super) elapsed_s: f64,
    pub(super) samples: u64,
    pub(super) spreads: Vec<Spread>,
    pub(super) disks: BTreeMap<String, DiskSums>,
    pub(super) nets: BTreeMap<String, NetSums>,
    pub(super) apps: BTreeMap<String, AppSums>,
}

impl Summary {
    /// The spread of one value of the machine or of a part of it.
    pub(super) fn spread(&self, kind: &str, part: &str, name: &str) -> Option<&Spread> {
        self.spreads.iter().find(|one| (one.kind, one.part.as_str(), &*one.name) == (kind, part, name))
    }
}

impl Tally {
    fn of(value: f64) -> Self {
        let values = Histogram::new(2).expect("two digits are within what it takes");
        let mut tally = Self { min: value, max: value, values };
        tally.add(value);
        tally
    }

    fn add(&mut self, value: f64) {
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
        // A cast of a float stays within the integer; what the histogram cannot hold counts as the largest that it can.
        let value = (value * SCALE).round() as u64;
        if self.values.record(value).is_err() {
            self.values.saturating_record(value);
        }
    }
}

impl Collector {
    /// Takes the next sample; gives the interval that it ends, if it ends one.
    pub(super) fn add(&mut self, now: Snapshot) -> Option<Interval> {
        self.samples += 1;
        let previous = self.previous.replace(now);
        let now = self.previous.as_ref()?;
        let interval = now.since(&previous?)?;
        self.elapsed_ns = self.elapsed_ns.saturating_add(interval.elapsed_ns);
        for metric in metric::of(now, &interval) {
            match self.spreads.get_mut(&metric.key) {
                Some(tally) => tally.add(metric.value),
                None => drop(self.spreads.insert(metric.key, Tally::of(metric.value))),
            }
        }
        let elapsed_s = interval.elapsed_ns as f64 / 1e9;
        for disk in &interval.disks {
            let sums = self.disks.entry(disk.name.clone()).or_default();
            sums.read_requests += disk.read.requests_per_s * elapsed_s;
            sums.read_bytes += disk.read.bytes_per_s * elapsed_s;
            sums.write_requests += disk.write.requests_per_s * elapsed_s;
            sums.write_bytes += disk.write.bytes_per_s * elapsed_s;
            sums.discard_bytes += disk.discard.map_or(0.0, |discard: IoRates| discard.bytes_per_s) * elapsed_s;
            sums.flush_requests += disk.flush.map_or(0.0, |flush| flush.requests_per_s) * elapsed_s;
            sums.busy_s += disk.busy_percent / 100.0 * elapsed_s;
        }
        for net in &interval.nets {
            let sums = self.nets.entry(net.name.clone()).or_default();
            sums.receive_bytes += net.receive_bytes_per_s * elapsed_s;
            sums.transmit_bytes += net.transmit_bytes_per_s * elapsed_s;
        }
        for app in &interval.apps {
            let sums = self.apps.entry(app.name.clone()).or_default();
            sums.cpu_s += app.cpu_percent.unwrap_or(0.0) / 100.0 * elapsed_s;
            sums.io_stall_s += app.io_pressure.map_or(0.0, |stall| stall.some_percent) / 100.0 * elapsed_s;
            sums.memory_bytes_max = sums.memory_bytes_max.max(app.memory_bytes.or(app.rss_bytes).unwrap_or(0));
        }
        Some(interval)
    }

    /// The sample that was taken last.
    pub(super) fn last(&self) -> Option<&Snapshot> {
        self.previous.as_ref()
    }

    /// Time that was watched so far.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Samples taken so far.
    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) fn summary(&self) -> Summary {
        let spread = |((part, name), tally): (&Key, &Tally)| Spread {
            kind: part.kind,
            part: part.name.clone(),
            name: name.clone(),
            count: tally.values.len(),
            min: tally.min,
            median: (tally.values.value_at_quantile(0.5) as f64 / SCALE).clamp(tally.min, tally.max),
            max: tally.max,
        };
        Summary {
            elapsed_s: self.elapsed_ns as f64 / 1e9,
            samples: self.samples,
            spreads: self.spreads.iter().map(spread).collect(),
            disks: self.disks.clone(),
            nets: self.nets.clone(),
            apps: self.apps.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::{DiskTotals, IoTotals};

    fn sample(second: u64, requests: u64) -> Snapshot {
        let write = IoTotals { requests, bytes: requests * 4096, time_ms: 0 };
        let disk = DiskTotals { name: "vda".into(), write, ..DiskTotals::default() };
        Snapshot { at_ns: second * 1_000_000_000, disks: vec![disk], ..Snapshot::default() }
    }

    #[test]
    fn sums_and_spreads_are_those_of_the_samples() {
        let mut collector = Collector::default();
        // 10, 30, 20 and 40 requests in a second each; then the disk is another one.
        for (second, requests) in [(0, 5), (1, 15), (2, 45), (3, 65), (4, 105), (5, 3)] {
            collector.add(sample(second, requests));
        }
        let summary = collector.summary();
        assert_eq!((summary.elapsed_s, summary.samples), (5.0, 6));
        let sums = &summary.disks["vda"];
        assert!((sums.write_requests - 100.0).abs() < 1e-9 && (sums.write_bytes - 409_600.0).abs() < 1e-6);
        let spread = summary.spread("disk", "vda", "write_requests_per_s").expect("known");
        assert_eq!((spread.count, spread.min, spread.max), (4, 10.0, 40.0));
        assert!((20.0..=20.3).contains(&spread.median), "{spread:?}");
        assert_eq!(summary.spread("disk", "vda", "write_latency_ms_mean").map(|one| one.max), Some(0.0));
        assert_eq!(summary.spread("disk", "vda", "read_latency_ms_mean"), None);
    }

    #[test]
    fn values_beyond_the_histogram_are_kept_as_the_largest() {
        let mut tally = Tally::of(1e30);
        tally.add(0.0);
        assert_eq!((tally.min, tally.max, tally.values.len()), (0.0, 1e30, 2));
    }
}
