//! Pressure on storage and memory over the last day, in spans of five minutes, from the snapshots that rounds take
//! anyway: it causes no wake-up, and costs 12 KiB of memory.
//!
//! Properties: `shares_are_those_of_the_time_that_was_seen`; `a_day_is_kept_and_no_more`;
//! `what_was_not_seen_is_no_part_of_a_span`.

use std::collections::VecDeque;

use brisk_api::PressureSpan;
use brisk_core::snapshot::{Interval, Part, Snapshot, StallShares};

const SPAN_S: f64 = 300.0;
const DAY_MS: u64 = 24 * 3_600_000;
/// A wall clock that moved further than time did: the machine was suspended, or its clock was set.
const STEP_MS: u64 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Day {
    spans: VecDeque<PressureSpan>,
    open: Sums,
}

/// The span that is not complete yet.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    until_unix_ms: u64,
    length_s: f64,
    storage_s: Option<f64>,
    memory_s: Option<f64>,
    available_bytes_min: Option<u64>,
}

impl Sums {
    fn span(&self) -> Option<PressureSpan> {
        let percent = |stalled_s: Option<f64>| Some(100.0 * stalled_s? / self.length_s);
        (self.length_s > 0.0).then(|| PressureSpan {
            until_unix_ms: self.until_unix_ms,
            length_s: self.length_s,
            storage_percent: percent(self.storage_s),
            memory_percent: percent(self.memory_s),
            available_bytes_min: self.available_bytes_min,
        })
    }
}

impl Day {
    /// Adds the interval that ends with `now`.
    pub(crate) fn add(&mut self, interval: &Interval, now: &Snapshot) {
        if interval.wall_step_ms.unsigned_abs() > STEP_MS {
            self.close();
            return;
        }
        let length_s = interval.elapsed_ns as f64 / 1e9;
        let add = |sum: &mut Option<f64>, share: Option<StallShares>| {
            if let Some(share) = share {
                *sum = Some(sum.unwrap_or(0.0) + length_s * share.some_percent / 100.0);
            }
        };
        add(&mut self.open.storage_s, interval.pressure.io);
        add(&mut self.open.memory_s, interval.pressure.memory);
        self.open.length_s += length_s;
        self.open.until_unix_ms = now.wall_unix_ms;
        let available = now.memory.available_bytes.filter(|_| !now.unread.has(Part::Memory));
        self.open.available_bytes_min = [self.open.available_bytes_min, available].into_iter().flatten().min();
        if self.open.length_s >= SPAN_S {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(span) = std::mem::take(&mut self.open).span() else { return };
        self.spans.push_back(span);
        let is_old = |old: &PressureSpan| old.until_unix_ms.saturating_add(DAY_MS) < span.until_unix_ms;
        while self.spans.front().is_some_and(is_old) {
            self.spans.pop_front();
        }
    }

    /// All spans, oldest first; the last one may be short.
    #[must_use]
    pub(crate) fn spans(&self) -> Vec<PressureSpan> {
        self.spans.iter().copied().chain(self.open.span()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::PressureShares;

    fn interval(length_s: u64, storage_percent: f64) -> Interval {
        let share = |some_percent| Some(StallShares { some_percent, full_percent: None });
        let pressure = PressureShares { io: share(storage_percent), memory: None, cpu: None };
        Interval { elapsed_ns: length_s * 1_000_000_000, pressure, ..Interval::default() }
    }

    fn at(wall_unix_ms: u64, available_bytes: u64) -> Snapshot {
        let mut now = Snapshot { wall_unix_ms, ..Snapshot::default() };
        now.memory.available_bytes = Some(available_bytes);
        now
    }

    #[test]
    fn shares_are_those_of_the_time_that_was_seen() {
        let mut day = Day::default();
        day.add(&interval(100, 50.0), &at(100_000, 9));
        day.add(&interval(300, 10.0), &at(400_000, 5));
        day.add(&interval(60, 1.0), &at(460_000, 7));
        let spans = day.spans();
        let lengths: Vec<f64> = spans.iter().map(|span| span.length_s).collect();
        assert_eq!(lengths, [400.0, 60.0]);
        assert_eq!((spans[0].storage_percent, spans[0].memory_percent), (Some(20.0), None));
        assert_eq!((spans[0].until_unix_ms, spans[0].available_bytes_min), (400_000, Some(5)));
        assert_eq!(spans[1].storage_percent, Some(1.0));
    }

    #[test]
    fn a_day_is_kept_and_no_more() {
        let mut day = Day::default();
        for span in 1..=400_u64 {
            day.add(&interval(300, 0.0), &at(span * 300_000, 1));
        }
        let spans = day.spans();
        assert_eq!(spans.len(), 289);
        assert_eq!(spans.last().map(|span| span.until_unix_ms), Some(120_000_000));
    }

    #[test]
    fn what_was_not_seen_is_no_part_of_a_span() {
        let mut day = Day::default();
        day.add(&interval(100, 50.0), &at(100_000, 9));
        day.add(&Interval { wall_step_ms: 7_200_000, ..interval(10, 100.0) }, &at(7_400_000, 1));
        day.add(&interval(100, 0.0), &at(7_500_000, 9));
        let ends: Vec<_> = day.spans().iter().map(|span| (span.until_unix_ms, span.storage_percent)).collect();
        assert_eq!(ends, [(100_000, Some(50.0)), (7_500_000, Some(0.0))]);
    }
}
