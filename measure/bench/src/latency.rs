//! Response times of requests, and their summary.

use std::time::Instant;

use hdrhistogram::Histogram;

use crate::results::Latency;

/// Significant digits of the histograms: each time is exact to 0.1 %.
const DIGITS: u8 = 3;

/// Nanoseconds since its creation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        // 2^64 ns are 584 years.
        self.0.elapsed().as_nanos() as u64
    }
}

/// Response times, from submission to completion, of the requests of one direction.
#[derive(Debug, Clone)]
pub struct Times {
    histogram: Histogram<u64>,
    total_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        // Auto-resizing: each of the many threads of a deep load needs 100 KiB, not a megabyte.
        let histogram = Histogram::new(DIGITS).expect("three digits are within the histogram's limits");
        Self { histogram, total_ns: 0 }
    }
}

impl Times {
    #[inline]
    pub fn add_ns(&mut self, time_ns: u64) {
        self.total_ns += time_ns;
        // An auto-resizing histogram refuses no value.
        let _ = self.histogram.record(time_ns);
    }

    /// Adds all times of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.total_ns += other.total_ns;
        // Only a histogram of fixed size can refuse another.
        let _ = self.histogram.add(&other.histogram);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Mean response time in microseconds: total response time over requests (dissertation, 4.2.3). `None` without
    /// requests.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.total_ns as f64 / self.count() as f64 / 1e3)
    }

    /// The given quantile (0 to 1) of the response times, in microseconds.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        self.histogram.value_at_quantile(quantile) as f64 / 1e3
    }

    /// Summary for results; `None` without requests.
    #[must_use]
    pub fn report(&self) -> Option<Latency> {
        let mean_us = self.mean_us()?;
        Some(Latency {
            count: self.count(),
            mean_us,
            p50_us: self.quantile_us(0.50),
            p95_us: self.quantile_us(0.95),
            p99_us: self.quantile_us(0.99),
            max_us: self.histogram.max() as f64 / 1e3,
            percentiles_us: DRAWN_PERCENTILES.iter().map(|p| (*p, self.quantile_us(p / 100.0))).collect(),
        })
    }
}

/// Percentiles of the distribution in results: dense at the tail.
const DRAWN_PERCENTILES: [f64; 22] = [
    0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 95.0, 97.0, 98.0, 99.0, 99.5,
    99.9, 99.99, 100.0,
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_requests_give_no_summary() {
        assert_eq!(Times::default().report(), None);
    }

    #[test]
    fn the_mean_is_exact_not_that_of_the_histogram() {
        let mut times = Times::default();
        times.add_ns(1_000_001);
        times.add_ns(3_000_002);
        assert_eq!(times.mean_us(), Some(2_000.001_5));
    }

    proptest! {
        #[test]
        fn percentiles_ascend_and_are_exact_to_a_thousandth(values in prop::collection::vec(1u64..10_000_000_000,
            1..200)) {
            let mut times = Times::default();
            values.iter().for_each(|v| times.add_ns(*v));
            let report = times.report().expect("values");
            prop_assert!(report.percentiles_us.windows(2).all(|w| w[0].1 <= w[1].1));
            let max = *values.iter().max().expect("values") as f64 / 1e3;
            prop_assert!((report.max_us - max).abs() <= max * 1e-3 + 1e-3);
            prop_assert_eq!(report.count as usize, values.len());
        }

        #[test]
        fn merged_times_equal_times_added_together(a in prop::collection::vec(1u64..1_000_000_000, 1..50),
                                                     b in prop::collection::vec(1u64..1_000_000_000, 1..50)) {
            let of = |v: &[u64]| { let mut t = Times::default(); v.iter().for_each(|x| t.add_ns(*x)); t };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged.report(), of(&[a, b].concat()).report());
        }
    }
}
