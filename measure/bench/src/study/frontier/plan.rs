//! Number of settings in each round, so that the search keeps its time budget.
//!
//! The cost of a plan is counted in *turns*: one trial of each load for one setting. A plan that is too long is scaled
//! down, all rounds alike, to a minimum; below that, rounds between the first and the last are skipped.

/// Number of rounds between the first and the last.
pub(super) const BETWEEN: usize = 3;

/// A round between the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Between {
    /// Best settings that are kept.
    pub(super) keep: usize,
    /// Best settings whose neighbours join.
    pub(super) parents: usize,
    /// Neighbours that join.
    pub(super) fresh: usize,
}

/// All rounds. The baseline takes part in each, and is not in these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Settings of the first round.
    pub(super) beginning: usize,
    /// The middle rounds; `None` for a skipped one.
    pub(super) between: [Option<Between>; BETWEEN],
    /// Settings of the last rounds.
    pub(super) finalists: usize,
    pub(super) last: usize,
}

const ROUNDS: [Between; BETWEEN] = [
    Between { keep: 10, parents: 4, fresh: 12 },
    Between { keep: 8, parents: 3, fresh: 8 },
    Between { keep: 6, parents: 2, fresh: 5 },
];
/// Settings in the last rounds.
const FINALISTS: usize = 4;
/// Steps of scaling a plan down.
const STEPS: usize = 20;
/// Minimum of each middle round: at least two settings.
const LEAST: Between = Between { keep: 2, parents: 1, fresh: 1 };
/// Minimum of the last rounds: two repetitions of the two best.
const LEAST_LAST: usize = 2;

impl Plan {
    /// The full plan for a number of initial settings and `last` repetitions of the finalists.
    pub(super) fn full(beginning: usize, last: usize) -> Self {
        Self { beginning, between: ROUNDS.map(Some), finalists: FINALISTS, last }
    }

    /// Turns from round `from` on; the first round is 0, the last ones count as one.
    pub(super) fn turns(&self, from: usize) -> usize {
        let first = if from == 0 { self.beginning + 1 } else { 0 };
        let middle = self.between.iter().skip(from.saturating_sub(1)).flatten();
        first + middle.map(|round| round.keep + round.fresh + 1).sum::<usize>() + self.last * (self.finalists + 1)
    }

    /// The plan, scaled down from round `from` on to at most `turns`, or to the minimum; the first round keeps at least
    /// `schedulers` settings.
    pub(super) fn within(&self, turns: usize, from: usize, schedulers: usize) -> Self {
        let thinned = (0..=STEPS).rev().map(|share| self.thinned(share, schedulers));
        let without = (0..BETWEEN).map(|left_out| {
            let mut thinnest = self.thinned(0, schedulers);
            thinnest.between[..=left_out].fill(None);
            thinnest
        });
        let mut all = thinned.chain(without).collect::<Vec<_>>();
        let fits = all.iter().position(|plan| plan.turns(from) <= turns).unwrap_or(all.len() - 1);
        all.swap_remove(fits)
    }

    fn thinned(&self, share: usize, schedulers: usize) -> Self {
        let of = |all: usize, least: usize| (all * share / STEPS).max(least.min(all));
        let round = |round: Between| Between {
            keep: of(round.keep, LEAST.keep),
            parents: of(round.parents, LEAST.parents),
            fresh: of(round.fresh, LEAST.fresh),
        };
        Self {
            beginning: of(self.beginning, schedulers),
            between: self.between.map(|between| between.map(round)),
            finalists: of(self.finalists, LEAST_LAST),
            last: of(self.last, LEAST_LAST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plan_that_fits_stays_as_it_is() {
        let plan = Plan::full(35, 6);
        let all = plan.turns(0);
        assert_eq!(all, 36 + (23 + 17 + 12) + 6 * 5);
        assert_eq!(plan.within(all, 0, 4), plan);
        assert_eq!(plan.turns(4), 6 * 5);
    }

    #[test]
    fn a_plan_without_time_tries_each_scheduler_once_and_the_two_best_again() {
        let plan = Plan::full(35, 6).within(0, 0, 4);
        let least = Plan { beginning: 4, between: [None; BETWEEN], finalists: 2, last: 2 };
        assert_eq!(plan, least);
        // A single requested repetition stays one.
        assert_eq!(Plan::full(35, 1).within(0, 0, 4).last, 1);
    }

    proptest! {
        #[test]
        fn a_plan_needs_no_more_turns_than_available(beginning in 4usize..60, last in 1usize..20, turns in 0usize..300,
            from in 0usize..5) {
            let plan = Plan::full(beginning, last);
            let within = plan.within(turns, from, 4);
            let least = plan.within(0, from, 4);
            prop_assert!(within.turns(from) <= turns || within == least, "{:?}", within);
            prop_assert!(within.turns(0) <= plan.turns(0));
            // More time never means fewer turns.
            prop_assert!(plan.within(turns + 10, from, 4).turns(from) >= within.turns(from));
        }
    }
}
