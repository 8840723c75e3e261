//! Wear: how many bytes a day all engines together write to swap, as a token bucket of the machine.
//!
//! The bucket holds a quarter of a day's bytes at most, so that a busy hour may write more than its share and a day may
//! not. It is kept over restarts, and counts by the wall clock: a clock that is set back gives nothing, one that is set
//! ahead no more than a full bucket. What the kernel swaps by itself is not counted: it cannot be held. An empty bucket
//! stops page-outs and reclaim, never reads; compressed memory alone (zram) has no limit.
//!
//! An action is counted when it is requested, and what of it was not written is given back when its outcome comes. What
//! reclaim frees of pages that a page-out has written is not counted again.
//!
//! Properties: `no_day_writes_more_than_the_budget_and_a_full_bucket`;
//! `a_clock_that_is_set_gives_no_more_than_a_full_bucket`; `what_was_not_written_is_given_back`;
//! `written_pages_that_are_reclaimed_count_once`.

use std::collections::{BTreeMap, VecDeque};

use brisk_core::action::Once;
use brisk_core::event::{Event, EventKind};
use brisk_core::outcome::Outcome;
use brisk_core::survey::SwapWrites;
use serde::{Deserialize, Serialize};

use super::Version;

/// Folder of its file among those of engines.
pub const NAME: &str = "wear";

const DAY_MS: u64 = 24 * 3_600 * 1_000;
/// Part of a day's bytes that may be written at once.
const BURST_PART: u64 = 4;
/// Actions of which no outcome came are forgotten beyond this number, and stay counted.
const UNDER_WAY_MAX: usize = 64;

/// The budget of the machine, and what of it is under way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wear {
    /// First, so that a later form is refused for its version.
    version: Version<1>,
    budget: Budget,
    /// Whether the bucket is limited at present.
    #[serde(skip)]
    is_limited: bool,
    /// Counted, and without an outcome yet.
    #[serde(skip)]
    under_way: VecDeque<(Once, u64)>,
    /// Bytes that page-outs of a group have written, until reclaim frees them.
    #[serde(skip)]
    written: BTreeMap<String, u64>,
}

impl Wear {
    /// Takes in what became of actions, and what has come since the last call, at so many MiB a day; 0 is no limit,
    /// nor is there any where no swap is on flash.
    pub fn refill(&mut self, mib_per_day: u64, is_on_flash: bool, now_unix_ms: u64, events: &[Event]) {
        self.is_limited = mib_per_day > 0 && is_on_flash;
        self.budget.refill(mib_per_day.saturating_mul(1 << 20), now_unix_ms);
        for event in events {
            match &event.kind {
                EventKind::Performed { once, outcome } => self.take(once, outcome),
                EventKind::AppGone { group } => drop(self.written.remove(group)),
                _ => {}
            }
        }
    }

    fn take(&mut self, once: &Once, outcome: &Outcome) {
        let is_it = |(other, _): &(Once, u64)| other.name() == once.name() && other.group() == once.group();
        // Outcomes of actions that are alike come in the order of requests.
        let Some(place) = self.under_way.iter().position(is_it) else { return };
        let Some((_, bytes)) = self.under_way.remove(place) else { return };
        let not_written = match outcome {
            Outcome::Done => 0,
            Outcome::Cancelled { done_bytes } => bytes.saturating_sub(*done_bytes),
            _ => bytes,
        };
        self.budget.refund(not_written);
        if matches!(once, Once::PageOut { .. }) {
            let of = self.written.entry(once.group().to_owned()).or_default();
            *of = of.saturating_add(bytes - not_written);
        }
    }

    /// Counts an action that is requested, where it writes; `all_bytes` is what the app has, for an action that is
    /// about all of it.
    pub fn spend(&mut self, once: &Once, all_bytes: Option<u64>) {
        let bytes = match once {
            Once::PageOut { ranges, .. } if ranges.is_empty() => all_bytes.unwrap_or(0),
            Once::PageOut { ranges, .. } => ranges.iter().map(|range| range.size_bytes).fold(0, u64::saturating_add),
            Once::Reclaim { size_bytes, group } => size_bytes.saturating_sub(self.written.remove(group).unwrap_or(0)),
            _ => return,
        };
        self.budget.spend(bytes);
        self.under_way.push_back((once.in_short(), bytes));
        if self.under_way.len() > UNDER_WAY_MAX {
            self.under_way.pop_front();
        }
    }

    /// What was written and what may still be.
    #[must_use]
    pub fn shown(&self) -> SwapWrites {
        let left_bytes = self.is_limited.then_some(self.budget.left_bytes);
        SwapWrites { written_bytes: self.budget.written_bytes, left_bytes }
    }

    /// Whether anything was written since it is counted: before, there is nothing to keep.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.budget.written_bytes > 0
    }
}

/// What may be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Budget {
    /// When it was counted last, by the wall clock; `None`: not yet.
    counted_unix_ms: Option<u64>,
    /// What could be written then.
    left_bytes: u64,
    /// Part of a byte that has come since, as bytes times milliseconds of a day.
    rest: u64,
    /// What was written since it is counted.
    written_bytes: u64,
}

impl Budget {
    /// Counts what has come since the last call, at `per_day_bytes`; 0 is no limit. Returns what may be written now.
    fn refill(&mut self, per_day_bytes: u64, now_unix_ms: u64) -> u64 {
        if per_day_bytes == 0 {
            return u64::MAX;
        }
        let burst_bytes = (per_day_bytes / BURST_PART).max(1);
        let Some(counted_unix_ms) = self.counted_unix_ms else {
            (self.counted_unix_ms, self.left_bytes) = (Some(now_unix_ms), burst_bytes);
            return self.left_bytes;
        };
        let elapsed_ms = now_unix_ms.saturating_sub(counted_unix_ms).min(DAY_MS);
        let come = u128::from(per_day_bytes) * u128::from(elapsed_ms) + u128::from(self.rest);
        let come_bytes = u64::try_from(come / u128::from(DAY_MS)).unwrap_or(u64::MAX);
        // Below DAY_MS, which fits.
        self.rest = (come % u128::from(DAY_MS)) as u64;
        self.counted_unix_ms = Some(now_unix_ms);
        self.left_bytes = self.left_bytes.saturating_add(come_bytes).min(burst_bytes);
        self.left_bytes
    }

    /// Writes so much.
    fn spend(&mut self, bytes: u64) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.written_bytes = self.written_bytes.saturating_add(bytes);
    }

    /// What was asked for was not written.
    fn refund(&mut self, bytes: u64) {
        self.left_bytes = self.left_bytes.saturating_add(bytes);
        self.written_bytes = self.written_bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const BEGIN_MS: u64 = 1_795_312_800_000;

    #[test]
    fn a_clock_that_is_set_gives_no_more_than_a_full_bucket() {
        let mut budget = Budget::default();
        assert_eq!(budget.refill(400 * MIB, BEGIN_MS), 100 * MIB);
        budget.spend(100 * MIB);
        assert_eq!(budget.refill(400 * MIB, BEGIN_MS - 1_000_000_000), 0);
        assert_eq!(budget.refill(400 * MIB, BEGIN_MS + 1_000_000_000_000), 100 * MIB);
        assert_eq!(budget.refill(0, BEGIN_MS), u64::MAX, "no limit");
        assert_eq!(budget.written_bytes, 100 * MIB);
    }

    #[test]
    fn frequent_counts_lose_nothing() {
        let mut budget = Budget::default();
        budget.refill(1_000, BEGIN_MS);
        budget.spend(250);
        for step in 1..=DAY_MS / 10_000 {
            budget.refill(1_000, BEGIN_MS + step * 1_000);
        }
        assert_eq!(budget.left_bytes, 100, "a tenth of a day");
    }

    fn page_out(mib: u64) -> Once {
        let range = brisk_core::action::AddressRange { pid: 7, start: 0, size_bytes: mib * MIB };
        Once::PageOut { group: "a".to_owned(), ranges: vec![range] }
    }

    fn reclaim(mib: u64) -> Once {
        Once::Reclaim { group: "a".to_owned(), size_bytes: mib * MIB }
    }

    fn event(once: Once, outcome: Outcome) -> Event {
        Event { at_ns: 1, kind: EventKind::Performed { once: once.in_short(), outcome } }
    }

    #[test]
    fn what_was_not_written_is_given_back() {
        let mut wear = Wear::default();
        let left_mib = |wear: &Wear| wear.shown().left_bytes.map(|bytes| bytes / MIB);
        wear.refill(400, true, BEGIN_MS, &[]);
        assert_eq!(left_mib(&wear), Some(100));
        for once in [page_out(16), reclaim(20), page_out(8)] {
            wear.spend(&once, None);
        }
        // All of an app is what it has.
        wear.spend(&Once::PageOut { group: "b".to_owned(), ranges: Vec::new() }, Some(30 * MIB));
        wear.spend(&Once::Freeze { group: "a".to_owned() }, Some(MIB));
        assert_eq!(left_mib(&wear), Some(26));
        wear.refill(400, true, BEGIN_MS, &[event(page_out(16), Outcome::Cancelled { done_bytes: 4 * MIB })]);
        assert_eq!(left_mib(&wear), Some(38));
        wear.refill(400, true, BEGIN_MS, &[event(page_out(8), Outcome::Done), event(reclaim(20), Outcome::Dropped)]);
        assert_eq!((left_mib(&wear), wear.shown().written_bytes), (Some(58), 42 * MIB));
        // Compressed memory does not wear.
        wear.refill(400, false, BEGIN_MS, &[]);
        assert_eq!(left_mib(&wear), None);
        wear.refill(0, true, BEGIN_MS, &[]);
        assert_eq!(left_mib(&wear), None);
        let kept: Wear = serde_json::from_str(&serde_json::to_string(&wear).expect("JSON")).expect("the same");
        assert_eq!(kept.budget, wear.budget);
    }

    #[test]
    fn written_pages_that_are_reclaimed_count_once() {
        let mut wear = Wear::default();
        wear.refill(400, true, BEGIN_MS, &[]);
        wear.spend(&page_out(16), None);
        wear.refill(400, true, BEGIN_MS, &[event(page_out(16), Outcome::Done)]);
        wear.spend(&reclaim(16), None);
        assert_eq!(wear.shown().written_bytes, 16 * MIB);
        wear.spend(&reclaim(16), None);
        assert_eq!(wear.shown().written_bytes, 32 * MIB);
    }

    proptest! {
        #[test]
        fn no_day_writes_more_than_the_budget_and_a_full_bucket(
            steps in prop::collection::vec((0_u64..3_600_000, 0_u64..80 * MIB), 1..300),
        ) {
            let (mut budget, per_day_bytes) = (Budget::default(), 400 * MIB);
            let (mut now_ms, mut written): (u64, Vec<(u64, u64)>) = (BEGIN_MS, Vec::new());
            for (step_ms, wish_bytes) in steps {
                now_ms += step_ms;
                let bytes = budget.refill(per_day_bytes, now_ms).min(wish_bytes);
                budget.spend(bytes);
                written.push((now_ms, bytes));
                let last_day = written.iter().filter(|(at_ms, _)| now_ms - at_ms < DAY_MS);
                let last_day: u64 = last_day.map(|(_, bytes)| bytes).sum();
                prop_assert!(last_day <= per_day_bytes + per_day_bytes / BURST_PART);
            }
        }
    }
}
