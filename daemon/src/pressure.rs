//! Pressure on storage and memory over the last day, in spans of five minutes, from the snapshots that rounds take
//! anyway: it causes no wake-up, and costs 14 KiB of memory. Spans have their age by the clock of the boot, and their
//! times by it and the wall clock of the caller: a wall clock that is years ahead at the start is set at some time.
//!
//! Properties: `shares_are_those_of_the_time_that_was_seen`; `a_day_is_kept_and_no_more`;
//! `what_was_not_seen_is_no_part_of_a_span`; `a_clock_that_is_set_moves_spans_and_keeps_none_too_long`.

use std::collections::VecDeque;

use brisk_api::PressureSpan;
use brisk_core::snapshot::{Interval, Part, Snapshot, StallShares};

use crate::clocks::Reading;

const SPAN_S: f64 = 300.0;
const DAY_NS: u64 = 24 * 3_600_000_000_000;
/// A wall clock that moved further than time did: the machine was suspended, or its clock was set.
const STEP_MS: u64 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Day {
    spans: VecDeque<Span>,
    open: Sums,
}

/// A span, whose time by the wall clock is not told yet.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// CLOCK_BOOTTIME.
    until_ns: u64,
    of: PressureSpan,
}

/// The span that is not complete yet.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    /// CLOCK_BOOTTIME.
    until_ns: u64,
    length_s: f64,
    storage_s: Option<f64>,
    memory_s: Option<f64>,
    available_bytes_min: Option<u64>,
}

impl Sums {
    fn span(&self) -> Option<Span> {
        let percent = |stalled_s: Option<f64>| Some(100.0 * stalled_s? / self.length_s);
        let of = PressureSpan {
            until_unix_ms: 0,
            length_s: self.length_s,
            storage_percent: percent(self.storage_s),
            memory_percent: percent(self.memory_s),
            available_bytes_min: self.available_bytes_min,
        };
        (self.length_s > 0.0).then_some(Span { until_ns: self.until_ns, of })
    }
}

impl Day {
    /// Adds the interval that ends with `now`, which is `boot_ns` after the boot (CLOCK_BOOTTIME).
    pub(crate) fn add(&mut self, interval: &Interval, now: &Snapshot, boot_ns: u64) {
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
        self.open.until_ns = boot_ns;
        let available = now.memory.available_bytes.filter(|_| !now.unread.has(Part::Memory));
        self.open.available_bytes_min = [self.open.available_bytes_min, available].into_iter().flatten().min();
        if self.open.length_s >= SPAN_S {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(span) = std::mem::take(&mut self.open).span() else { return };
        self.spans.push_back(span);
        let is_old = |old: &Span| old.until_ns.saturating_add(DAY_NS) < span.until_ns;
        while self.spans.front().is_some_and(is_old) {
            self.spans.pop_front();
        }
    }

    /// All spans at this moment, oldest first; the last one may be short.
    #[must_use]
    pub(crate) fn spans(&self, now: Reading) -> Vec<PressureSpan> {
        let told = |span: Span| {
            let ago_ms = now.boot_ns.saturating_sub(span.until_ns) / 1_000_000;
            PressureSpan { until_unix_ms: now.wall_unix_ms().saturating_sub(ago_ms), ..span.of }
        };
        self.spans.iter().copied().chain(self.open.span()).map(told).collect()
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

    const MS: u64 = 1_000_000;

    fn with(available_bytes: u64) -> Snapshot {
        let mut now = Snapshot::default();
        now.memory.available_bytes = Some(available_bytes);
        now
    }

    /// So long after the boot, which was in 1970.
    fn reading(boot_ms: u64) -> Reading {
        Reading { monotonic_ns: 0, boot_ns: boot_ms * MS, wall_ns: boot_ms * MS }
    }

    #[test]
    fn shares_are_those_of_the_time_that_was_seen() {
        let mut day = Day::default();
        day.add(&interval(100, 50.0), &with(9), 100_000 * MS);
        day.add(&interval(300, 10.0), &with(5), 400_000 * MS);
        day.add(&interval(60, 1.0), &with(7), 460_000 * MS);
        let spans = day.spans(reading(500_000));
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
            day.add(&interval(300, 0.0), &with(1), span * 300_000 * MS);
        }
        let spans = day.spans(reading(400 * 300_000));
        assert_eq!(spans.len(), 289);
        assert_eq!(spans.last().map(|span| span.until_unix_ms), Some(120_000_000));
    }

    #[test]
    fn what_was_not_seen_is_no_part_of_a_span() {
        let mut day = Day::default();
        day.add(&interval(100, 50.0), &with(9), 100_000 * MS);
        day.add(&Interval { wall_step_ms: 7_200_000, ..interval(10, 100.0) }, &with(1), 7_400_000 * MS);
        day.add(&interval(100, 0.0), &with(9), 7_500_000 * MS);
        let spans = day.spans(reading(7_600_000));
        let ends: Vec<_> = spans.iter().map(|span| (span.until_unix_ms, span.storage_percent)).collect();
        assert_eq!(ends, [(100_000, Some(50.0)), (7_500_000, Some(0.0))]);
    }

    #[test]
    fn a_clock_that_is_set_moves_spans_and_keeps_none_too_long() {
        const YEARS_MS: u64 = 10 * 365 * 24 * 3_600_000;
        let mut day = Day::default();
        day.add(&interval(300, 0.0), &with(1), 300_000 * MS);
        let ahead = |boot_ms: u64| Reading { wall_ns: (boot_ms + YEARS_MS) * MS, ..reading(boot_ms) };
        assert_eq!(day.spans(ahead(300_000))[0].until_unix_ms, YEARS_MS + 300_000);
        // The clock is set right.
        day.add(&Interval { wall_step_ms: -i64::try_from(YEARS_MS).expect("small"), ..interval(10, 0.0) }, &with(1), 0);
        let ends: Vec<u64> = day.spans(reading(400_000)).iter().map(|span| span.until_unix_ms).collect();
        assert_eq!(ends, [300_000]);
        for span in 2..=400_u64 {
            day.add(&interval(300, 0.0), &with(1), span * 300_000 * MS);
        }
        assert_eq!(day.spans(reading(400 * 300_000)).len(), 289);
    }
}
