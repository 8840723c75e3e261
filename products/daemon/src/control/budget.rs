//! How much work strangers may cause: so many pieces at once, and so many a second in the long run.

const SECOND_NS: u64 = 1_000_000_000;

/// A budget of pieces of work.
#[derive(Debug)]
pub(super) struct Budget {
    burst: u64,
    per_s: u64,
    /// What is left, in parts of which a piece has a second's worth of nanoseconds.
    left: u64,
    at_ns: u64,
}

impl Budget {
    pub(super) fn new(burst: u64, per_s: u64) -> Self {
        Self { burst, per_s, left: burst * SECOND_NS, at_ns: 0 }
    }

    fn refill(&mut self, now_ns: u64) {
        let more = now_ns.saturating_sub(self.at_ns).saturating_mul(self.per_s);
        self.left = self.left.saturating_add(more).min(self.burst * SECOND_NS);
        self.at_ns = self.at_ns.max(now_ns);
    }

    /// Takes one piece, if there is one.
    pub(super) fn take(&mut self, now_ns: u64) -> bool {
        self.refill(now_ns);
        let enough = self.left >= SECOND_NS;
        if enough {
            self.left -= SECOND_NS;
        }
        enough
    }

    /// When there will be a piece again; `None` when there is one.
    pub(super) fn next_ns(&mut self, now_ns: u64) -> Option<u64> {
        self.refill(now_ns);
        let lacking = SECOND_NS.saturating_sub(self.left);
        (lacking > 0).then(|| now_ns.saturating_add(lacking.div_ceil(self.per_s)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_is_free_and_the_rest_waits() {
        let mut budget = Budget::new(3, 2);
        assert_eq!((0..5).filter(|_| budget.take(7 * SECOND_NS)).count(), 3);
        let next_ns = budget.next_ns(7 * SECOND_NS).expect("none is left");
        assert_eq!(next_ns, 7 * SECOND_NS + SECOND_NS / 2);
        assert!(!budget.take(next_ns - 1) && budget.take(next_ns));
        assert_eq!(budget.next_ns(100 * SECOND_NS), None);
    }

    proptest! {
        #[test]
        fn no_more_than_the_rate_in_the_long_run(steps_ns in prop::collection::vec(0..SECOND_NS, 1..200)) {
            let mut budget = Budget::new(5, 10);
            let mut now_ns = SECOND_NS;
            let mut taken = 0;
            for step_ns in steps_ns {
                now_ns += step_ns;
                taken += u64::from(budget.take(now_ns));
                prop_assert!(taken <= 5 + (now_ns - SECOND_NS) * 10 / SECOND_NS);
            }
        }
    }
}
