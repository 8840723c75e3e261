//! Counters of the server: requests by size and kind, requests in flight, and the lateness of replies.

use brisk_profile::lab_client::Lateness;

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
    fn nothing_recorded_is_no_lateness() {
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
