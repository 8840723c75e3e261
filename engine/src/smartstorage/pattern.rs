//! What a device is asked for, and how it answers: from the kernel's counters alone.
//!
//! A [`Window`] adds up intervals for as long as they look alike. Its [`Pattern`] is what patterns are matched by, its
//! [`Answer`] what settings are compared by.
//!
//! How far two patterns are from each other is a sum over the logarithms of rates, sizes, depth and time in the queue,
//! since twice as many requests are as far from as many as half as many are. A rate below about five a second counts as
//! none: there is nothing to gain from it, and few requests say little about their rate.

use brisk_core::snapshot::DiskRates;
use serde::{Deserialize, Serialize};

/// Lower rates count as alike, in requests a second.
const RATE_FLOOR: f64 = 5.0;
/// Share of the requests from which on a direction has a size worth comparing.
const DIRECTION_SHARE_MIN: f64 = 0.05;
/// A window that is longer than this forgets half of what it holds, so that it follows a pattern that drifts.
const WINDOW_S_MAX: f64 = 8.0;
/// An interval differs when its counts are so many standard deviations of a Poisson process away ...
const DEVIATIONS: f64 = 4.0;
/// ... and its rates by so many powers of two ...
const RATE_STEP: f64 = 0.7;
/// ... or its sizes by so many.
const SIZE_STEP: f64 = 1.0;
/// Sizes of fewer requests say nothing.
const SIZED_REQUESTS_MIN: f64 = 8.0;

/// What a device is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    /// Mean size; 0 without reads.
    pub read_bytes_mean: f64,
    /// Mean size; 0 without writes.
    pub write_bytes_mean: f64,
    pub flushes_per_s: f64,
    /// Mean number of requests that wait or are served.
    pub depth_requests_mean: f64,
    /// Share of the time with at least one request, 0 to 1.
    pub busy_share: f64,
    /// Share of the requests asked for that became part of others since they continued them, 0 to 1: what the kernel's
    /// counters tell of the order of addresses. Mean sizes tell the rest. `None` where it is not known, as in models of
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_share: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// From queueing to completion.
    pub read_ms_mean: Option<f64>,
    /// From queueing to completion.
    pub write_ms_mean: Option<f64>,
    /// Time with at least one request in flight, for each request.
    pub busy_ms_per_request: f64,
}

impl Pattern {
    fn requests_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }

    /// Mean time of a request in queue and device (Little's law); 0 where nothing is known of it.
    fn wait_s(&self) -> f64 {
        rate(self.depth_requests_mean, self.requests_per_s())
    }

    /// Pairs of sizes of the directions that both have.
    fn sizes(&self, other: &Self) -> impl Iterator<Item = (f64, f64)> {
        let has = |pattern: &Self, rate: f64| rate > DIRECTION_SHARE_MIN * pattern.requests_per_s();
        let reads = has(self, self.reads_per_s) && has(other, other.reads_per_s);
        let writes = has(self, self.writes_per_s) && has(other, other.writes_per_s);
        let pair = |both: bool, a: f64, b: f64| (both && a > 0.0 && b > 0.0).then_some((a, b));
        [
            pair(reads, self.read_bytes_mean, other.read_bytes_mean),
            pair(writes, self.write_bytes_mean, other.write_bytes_mean),
        ]
        .into_iter()
        .flatten()
    }

    /// How far they are from each other, in powers of two: 1 is one of their properties being twice as large.
    #[must_use]
    pub fn distance(&self, other: &Self) -> f64 {
        let ratio = |a: f64, b: f64, floor: f64| ((a + floor) / (b + floor)).log2();
        let plain = [
            ratio(self.reads_per_s, other.reads_per_s, RATE_FLOOR),
            ratio(self.writes_per_s, other.writes_per_s, RATE_FLOOR),
            0.5 * ratio(self.flushes_per_s, other.flushes_per_s, RATE_FLOOR),
            0.5 * ratio(self.depth_requests_mean, other.depth_requests_mean, 0.25),
            2.0 * (self.busy_share - other.busy_share),
        ];
        let sizes = self.sizes(other).map(|(a, b)| (a / b).log2());
        // Of two devices, or of two orders of addresses, that are asked the same, one answers later.
        let waits = [self.wait_s(), other.wait_s()];
        let waits = (waits.iter().all(|wait| *wait > 0.0)).then(|| 0.5 * (waits[0] / waits[1]).log2());
        let merged = self.merged_share.zip(other.merged_share).map(|(a, b)| 2.0 * (a - b));
        plain.into_iter().chain(sizes).chain(waits).chain(merged).map(|step| step * step).sum::<f64>().sqrt()
    }

    /// Whether answers to both can be compared: the same mix of the same sizes at a rate of the same order.
    #[must_use]
    pub fn alike(&self, other: &Self) -> bool {
        let mix = |pattern: &Self| ((pattern.reads_per_s + 1.0) / (pattern.writes_per_s + 1.0)).log2();
        let rate = (self.requests_per_s() + 1.0) / (other.requests_per_s() + 1.0);
        (mix(self) - mix(other)).abs() < 0.75
            && rate.log2().abs() < 1.0
            && self.sizes(other).all(|(a, b)| (a / b).log2().abs() < 0.5)
    }
}

impl Answer {
    /// Whether this is worse than `before` by more than `share`: reads took longer, or writes where hardly anything is
    /// read; and, with `and_work`, or the device was busy for longer for each request, which is what its energy
    /// follows.
    #[must_use]
    pub fn is_worse_than(&self, before: &Self, pattern: &Pattern, share: f64, and_work: bool) -> bool {
        // The kernel counts in ms; a difference below a tenth of one is none.
        const SLACK_MS: f64 = 0.1;
        let longer = |now: Option<f64>, then: Option<f64>| {
            now.zip(then).is_some_and(|(now, then)| now > then * (1.0 + share) + SLACK_MS)
        };
        let reads = pattern.reads_per_s > DIRECTION_SHARE_MIN * pattern.requests_per_s();
        let slower = if reads {
            longer(self.read_ms_mean, before.read_ms_mean)
        } else {
            longer(self.write_ms_mean, before.write_ms_mean)
        };
        slower || and_work && longer(Some(self.busy_ms_per_request), Some(before.busy_ms_per_request))
    }
}

/// Intervals that look alike, added up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    pub seconds: f64,
    pub intervals: u32,
    reads: f64,
    writes: f64,
    flushes: f64,
    read_bytes: f64,
    write_bytes: f64,
    read_ms: f64,
    write_ms: f64,
    busy_s: f64,
    queue_s: f64,
    merged: f64,
    /// Whether all intervals know what was merged.
    merged_known: bool,
}

impl Window {
    #[must_use]
    pub fn of(rates: &DiskRates, seconds: f64) -> Self {
        let (reads, writes) = (rates.read.requests_per_s * seconds, rates.write.requests_per_s * seconds);
        Self {
            seconds,
            intervals: 1,
            reads,
            writes,
            flushes: rates.flush.map_or(0.0, |flush| flush.requests_per_s) * seconds,
            read_bytes: rates.read.bytes_per_s * seconds,
            write_bytes: rates.write.bytes_per_s * seconds,
            read_ms: rates.read.latency_ms_mean.unwrap_or(0.0) * reads,
            write_ms: rates.write.latency_ms_mean.unwrap_or(0.0) * writes,
            busy_s: rates.busy_percent / 100.0 * seconds,
            queue_s: rates.depth_requests_mean.unwrap_or(0.0) * seconds,
            merged: rates.merged_per_s().unwrap_or(0.0) * seconds,
            merged_known: rates.merged_per_s().is_some(),
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.merged_known = other.merged_known && (self.merged_known || self.intervals == 0);
        self.intervals = self.intervals.saturating_add(other.intervals);
        let more_sums = other.clone().sums().map(|sum| *sum);
        for (sum, more) in self.sums().into_iter().zip(more_sums) {
            *sum += more;
        }
        if self.seconds > WINDOW_S_MAX {
            self.sums().into_iter().for_each(|sum| *sum /= 2.0);
        }
    }

    #[must_use]
    pub fn requests(&self) -> f64 {
        self.reads + self.writes
    }

    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        rate(self.requests(), self.seconds)
    }

    #[must_use]
    pub fn pattern(&self) -> Pattern {
        Pattern {
            reads_per_s: rate(self.reads, self.seconds),
            writes_per_s: rate(self.writes, self.seconds),
            read_bytes_mean: rate(self.read_bytes, self.reads),
            write_bytes_mean: rate(self.write_bytes, self.writes),
            flushes_per_s: rate(self.flushes, self.seconds),
            depth_requests_mean: rate(self.queue_s, self.seconds),
            busy_share: rate(self.busy_s, self.seconds),
            merged_share: self.merged_known.then(|| rate(self.merged, self.merged + self.requests())),
        }
    }

    #[must_use]
    pub fn answer(&self) -> Answer {
        let mean = |sum: f64, of: f64| (of >= 1.0).then(|| sum / of);
        Answer {
            read_ms_mean: mean(self.read_ms, self.reads),
            write_ms_mean: mean(self.write_ms, self.writes),
            busy_ms_per_request: rate(self.busy_s * 1e3, self.requests()),
        }
    }

    /// Whether `fresh` shows another pattern: counts too far away for chance, and rates or sizes too far away to matter
    /// little. An empty window differs from nothing.
    #[must_use]
    pub fn differs(&self, fresh: &Self) -> bool {
        if self.intervals == 0 {
            return false;
        }
        let counts = [(self.reads, fresh.reads), (self.writes, fresh.writes)];
        let by_rate = counts.into_iter().any(|(all, count)| {
            let expected = rate(all, self.seconds) * fresh.seconds;
            let far = (count - expected).abs() > DEVIATIONS * count.max(expected).sqrt();
            far && ((count + 2.0) / (expected + 2.0)).log2().abs() > RATE_STEP
        });
        let bytes = [
            (self.reads, self.read_bytes, fresh.reads, fresh.read_bytes),
            (self.writes, self.write_bytes, fresh.writes, fresh.write_bytes),
        ];
        let by_size = bytes.into_iter().any(|(count, bytes, fresh_count, fresh_bytes)| {
            count.min(fresh_count) >= SIZED_REQUESTS_MIN
                && bytes.min(fresh_bytes) > 0.0
                && (bytes / count * fresh_count / fresh_bytes).log2().abs() > SIZE_STEP
        });
        by_rate || by_size
    }

    fn sums(&mut self) -> [&mut f64; 11] {
        [
            &mut self.seconds,
            &mut self.reads,
            &mut self.writes,
            &mut self.flushes,
            &mut self.read_bytes,
            &mut self.write_bytes,
            &mut self.read_ms,
            &mut self.write_ms,
            &mut self.busy_s,
            &mut self.queue_s,
            &mut self.merged,
        ]
    }
}

fn rate(sum: f64, over: f64) -> f64 {
    if over > 0.0 { sum / over } else { 0.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use brisk_core::snapshot::IoRates;
    use proptest::prelude::*;

    /// Rates of 4 KiB reads and writes that take `latency_ms` each.
    pub(crate) fn rates(reads_per_s: f64, writes_per_s: f64, latency_ms: f64) -> DiskRates {
        let io = |requests_per_s: f64| IoRates {
            requests_per_s,
            bytes_per_s: requests_per_s * 4096.0,
            size_bytes_mean: (requests_per_s > 0.0).then_some(4096.0),
            latency_ms_mean: (requests_per_s > 0.0).then_some(latency_ms),
        };
        let depth = (reads_per_s + writes_per_s) * latency_ms / 1e3;
        DiskRates {
            name: "mmcblk0".to_owned(),
            read: io(reads_per_s),
            write: io(writes_per_s),
            busy_percent: (depth * 100.0).min(100.0),
            depth_requests_mean: Some(depth),
            ..DiskRates::default()
        }
    }

    fn window(reads_per_s: f64, writes_per_s: f64, seconds: f64) -> Window {
        Window::of(&rates(reads_per_s, writes_per_s, 0.2), seconds)
    }

    #[test]
    fn chance_does_not_change_a_pattern_and_a_step_does() {
        let steady = window(200.0, 20.0, 1.0);
        for (reads, writes, changed) in [
            (200.0, 20.0, false),
            (240.0, 26.0, false),
            (160.0, 14.0, false),
            (400.0, 20.0, true),
            (60.0, 20.0, true),
            (200.0, 200.0, true),
            (0.0, 0.0, true),
        ] {
            assert_eq!(steady.differs(&window(reads, writes, 0.5)), changed, "{reads} {writes}");
        }
        // Of nine a second, four or fourteen in half a second say nothing yet.
        assert!(!window(9.0, 1.0, 4.0).differs(&window(28.0, 2.0, 0.5)));
        assert!(!Window::default().differs(&steady));
    }

    #[test]
    fn other_sizes_are_another_pattern() {
        let steady = window(200.0, 20.0, 1.0);
        let mut larger = window(200.0, 20.0, 0.5);
        larger.read_bytes *= 3.0;
        assert!(steady.differs(&larger));
    }

    #[test]
    fn the_same_requests_that_wait_longer_are_another_pattern() {
        let waiting = |latency_ms| Window::of(&rates(100.0, 0.0, latency_ms), 1.0).pattern();
        let (soon, late) = (waiting(0.2), waiting(1.6));
        let busier = ((0.02f64 + 0.25) / (0.16 + 0.25)).log2() * 0.5;
        let share = 2.0 * (0.16 - 0.02);
        // Three powers of two in the queue, each for a half.
        assert!((soon.distance(&late) - (1.5f64.powi(2) + busier.powi(2) + share * share).sqrt()).abs() < 1e-6);
        let unknown = Pattern { depth_requests_mean: 0.0, ..soon };
        assert!(soon.distance(&unknown) < 0.1, "{}", soon.distance(&unknown));
    }

    #[test]
    fn merged_requests_tell_sequential_from_random_where_both_know_them() {
        let with = |merged_reads_per_s: Option<f64>| {
            let merged_writes_per_s = Some(0.0);
            Window::of(&DiskRates { merged_reads_per_s, merged_writes_per_s, ..rates(200.0, 0.0, 0.2) }, 1.0)
        };
        let (random, sequential, unknown) = (with(Some(0.0)), with(Some(600.0)), with(None));
        assert_eq!(sequential.pattern().merged_share, Some(0.75));
        assert_eq!(random.pattern().distance(&sequential.pattern()), 1.5);
        assert_eq!(unknown.pattern().distance(&sequential.pattern()), 0.0);
        let mut both = sequential.clone();
        both.add(&random);
        assert_eq!(both.pattern().merged_share, Some(0.6));
        both.add(&unknown);
        assert_eq!(both.pattern().merged_share, None);
        let mut first = Window::default();
        first.add(&sequential);
        assert_eq!(first.pattern(), sequential.pattern());
    }

    #[test]
    fn a_window_follows_what_drifts() {
        let mut all = window(100.0, 0.0, 1.0);
        for _ in 0..40 {
            all.add(&window(130.0, 0.0, 1.0));
        }
        assert!(all.seconds <= WINDOW_S_MAX + 1.0);
        assert!((all.pattern().reads_per_s - 130.0).abs() < 1.0);
    }

    #[test]
    fn slower_reads_are_worse_and_slower_writes_only_without_reads() {
        let answer = |read, write, busy| Answer {
            read_ms_mean: Some(read),
            write_ms_mean: Some(write),
            busy_ms_per_request: busy,
        };
        let before = answer(1.0, 5.0, 1.0);
        let mixed = window(100.0, 100.0, 1.0).pattern();
        let writes = window(0.0, 100.0, 1.0).pattern();
        for (now, pattern, work, worse) in [
            (answer(1.15, 5.0, 1.0), mixed, true, false),
            (answer(1.5, 5.0, 1.0), mixed, false, true),
            (answer(0.5, 50.0, 1.0), mixed, true, false),
            (answer(0.5, 50.0, 1.0), writes, true, true),
            (answer(0.5, 5.0, 2.0), mixed, true, true),
            (answer(0.5, 5.0, 2.0), mixed, false, false),
        ] {
            assert_eq!(now.is_worse_than(&before, &pattern, 0.1, work), worse, "{now:?}");
        }
    }

    proptest! {
        #[test]
        fn distance_is_a_distance(a in (0.0f64..5e3, 0.0f64..5e3), b in (0.0f64..5e3, 0.0f64..5e3)) {
            let (a, b) = (window(a.0, a.1, 1.0).pattern(), window(b.0, b.1, 1.0).pattern());
            prop_assert_eq!(a.distance(&a), 0.0);
            prop_assert!((a.distance(&b) - b.distance(&a)).abs() < 1e-9);
            prop_assert!(a.distance(&b).is_finite() && a.distance(&b) >= 0.0);
        }

        #[test]
        fn two_halves_are_the_whole(reads in 1.0f64..5e3, writes in 0.0f64..5e3) {
            let mut halves = window(reads, writes, 1.0);
            halves.add(&window(reads, writes, 1.0));
            let (two, one) = (halves.pattern(), window(reads, writes, 2.0).pattern());
            prop_assert!(two.distance(&one) < 1e-6);
        }
    }
}
