//! Counters of the server: requests by size and kind, requests in flight, and the lateness of replies.

use serde::{Deserialize, Serialize};

/// Requests of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindCount {
    /// Requests.
    pub requests: u64,
    /// Their bytes; zero for flushes.
    pub bytes: u64,
    /// Requests by size: (largest size of the class in bytes, requests), classes that occurred, ascending.
    pub by_size_bytes: Vec<(u64, u64)>,
}

impl KindCount {
    pub(crate) fn count(&mut self, len_bytes: u64) {
        self.requests += 1;
        self.bytes += len_bytes;
        let class = len_bytes.max(4096).next_power_of_two();
        match self.by_size_bytes.binary_search_by_key(&class, |&(size, _)| size) {
            Ok(found) => self.by_size_bytes[found].1 += 1,
            Err(place) => self.by_size_bytes.insert(place, (class, 1)),
        }
    }
}

/// Requests since the counters were reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Reads.
    pub read: KindCount,
    /// Writes.
    pub write: KindCount,
    /// Flushes.
    pub flush: KindCount,
    /// Discards, and zeroed ranges.
    pub discard: KindCount,
    /// Requests that waited in the server because the device's queue was full.
    pub parked: u64,
    /// Requests that failed, by fault or power cut.
    pub failed: u64,
    /// Most requests that the server held at once: the queue depth of the device.
    pub in_flight_max: u64,
    /// Busy time of the model.
    pub busy_ns: u64,
    /// Requests whose model time is shorter than the lab's own overhead, so that they are always late.
    pub faster_than_lab: u64,
}

/// Lateness of replies against the model's times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Timed replies.
    pub count: u64,
    /// Median.
    pub lateness_us_p50: f64,
    /// 99th percentile.
    pub lateness_us_p99: f64,
    /// Largest.
    pub lateness_us_max: f64,
    /// Mean model time of these requests, as a reference of the lateness.
    pub service_us_mean: f64,
}

/// Distribution of lateness: classes of 0.1 us up to a millisecond, and one class above.
#[derive(Debug)]
pub(crate) struct LatenessHistogram {
    classes: Vec<u64>,
    count: u64,
    max_ns: u64,
    service_ns: u64,
}

const CLASS_NS: u64 = 100;
const CLASSES: usize = 10_000;

impl Default for LatenessHistogram {
    fn default() -> Self {
        Self { classes: vec![0; CLASSES + 1], count: 0, max_ns: 0, service_ns: 0 }
    }
}

impl LatenessHistogram {
    pub(crate) fn record(&mut self, late_ns: u64, service_ns: u64) {
        let class = usize::try_from(late_ns / CLASS_NS).map_or(CLASSES, |class| class.min(CLASSES));
        self.classes[class] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(late_ns);
        self.service_ns = self.service_ns.saturating_add(service_ns);
    }

    pub(crate) fn reset(&mut self) {
        self.classes.fill(0);
        self.count = 0;
        self.max_ns = 0;
        self.service_ns = 0;
    }

    pub(crate) fn summary(&self) -> Lateness {
        Lateness {
            count: self.count,
            lateness_us_p50: self.percentile_us(50),
            lateness_us_p99: self.percentile_us(99),
            lateness_us_max: self.max_ns as f64 / 1e3,
            service_us_mean: self.service_ns as f64 / self.count.max(1) as f64 / 1e3,
        }
    }

    /// The middle of the percentile's class, at most the largest value.
    fn percentile_us(&self, percent: u64) -> f64 {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (class, &count) in self.classes.iter().enumerate().take(CLASSES) {
            seen += count;
            if seen >= rank {
                return ((class as u64 * CLASS_NS + CLASS_NS / 2).min(self.max_ns)) as f64 / 1e3;
            }
        }
        self.max_ns as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_fall_into_classes_of_powers_of_two() {
        let mut kind = KindCount::default();
        for len in [4096, 512, 131_072, 100_000, 0] {
            kind.count(len);
        }
        assert_eq!((kind.requests, kind.bytes), (5, 235_680));
        assert_eq!(kind.by_size_bytes, [(4096, 3), (131_072, 2)]);
    }

    #[test]
    fn no_replies_give_zero_lateness() {
        assert_eq!(LatenessHistogram::default().summary(), Lateness::default());
    }

    proptest! {
        #[test]
        fn percentiles_agree_with_sorting(mut values in prop::collection::vec(0u64..3_000_000, 1..200)) {
            let mut histogram = LatenessHistogram::default();
            values.iter().for_each(|&v| histogram.record(v, 1_000));
            values.sort_unstable();
            prop_assert_eq!(histogram.summary().service_us_mean, 1.0);
            let exact = values[(values.len() * 50).div_ceil(100) - 1];
            let ours = histogram.summary().lateness_us_p50;
            let last = *values.last().expect("not empty") as f64 / 1e3;
            prop_assert!((ours - exact as f64 / 1e3).abs() <= 0.1 || (exact >= 1_000_000 && ours == last));
        }
    }
}
