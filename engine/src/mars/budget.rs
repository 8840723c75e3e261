//! Wear: how many bytes a day are written to swap by this engine's wish, as a token bucket.
//!
//! The bucket holds a quarter of a day's bytes at most, so that a busy hour may write more than its share and a day may
//! not. It is kept over restarts, and counts by the wall clock: a clock that is set back gives nothing, one that is set
//! ahead no more than a full bucket. What the kernel swaps by itself is not counted: it cannot be held. An empty bucket
//! stops page-outs, never reads.
//!
//! Properties: `no_day_writes_more_than_the_budget_and_a_full_bucket`;
//! `a_clock_that_is_set_gives_no_more_than_a_full_bucket`.

use serde::{Deserialize, Serialize};

const DAY_MS: u64 = 24 * 3_600 * 1_000;
/// Part of a day's bytes that may be written at once.
const BURST_PART: u64 = 4;

/// What may be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// When it was counted last, by the wall clock; `None`: not yet.
    counted_unix_ms: Option<u64>,
    /// What could be written then.
    left_bytes: u64,
    /// Part of a byte that has come since, as bytes times milliseconds of a day.
    rest: u64,
    /// What was written since the engine began to count.
    pub written_bytes: u64,
}

impl Budget {
    /// Counts what has come since the last call, at `per_day_bytes`; 0 is no limit. Gives what may be written now.
    pub fn refill(&mut self, per_day_bytes: u64, now_unix_ms: u64) -> u64 {
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
    pub fn spend(&mut self, bytes: u64) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.written_bytes = self.written_bytes.saturating_add(bytes);
    }

    /// What was asked for was not written.
    pub fn refund(&mut self, bytes: u64) {
        self.left_bytes = self.left_bytes.saturating_add(bytes);
        self.written_bytes = self.written_bytes.saturating_sub(bytes);
    }

    /// What may be written, as of the last call of [`Budget::refill`].
    #[must_use]
    pub fn left_bytes(&self) -> u64 {
        self.left_bytes
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
        assert_eq!(budget.left_bytes(), 100, "a tenth of a day");
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
