//! A token bucket: so many pieces of work at once, and so many a second in the long run.

/// A bucket, kept as the time at which it will be full again.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    burst: u64,
    interval_ns: u64,
    full_at_ns: u64,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens, one more of which comes each `interval_ns`.
    #[must_use]
    pub fn new(burst: u64, interval_ns: u64) -> Self {
        Self { burst, interval_ns, full_at_ns: 0 }
    }

    /// When there is a token, now or later.
    #[must_use]
    pub fn ready_ns(&self) -> u64 {
        self.full_at_ns.saturating_sub((self.burst - 1) * self.interval_ns)
    }

    /// When there will be a token again; `None` when there is one.
    #[must_use]
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        Some(self.ready_ns()).filter(|ready_ns| *ready_ns > now_ns)
    }

    /// Takes a token, if there is one.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let is_ready = self.ready_ns() <= now_ns;
        if is_ready {
            self.spend(now_ns);
        }
        is_ready
    }

    /// Takes a token, or the next one that comes; the bucket owes no more than that.
    pub fn spend(&mut self, now_ns: u64) {
        let latest_ns = now_ns.saturating_add(self.burst * self.interval_ns);
        self.full_at_ns = self.full_at_ns.max(now_ns).saturating_add(self.interval_ns).min(latest_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_burst_is_free_and_the_rest_waits() {
        let mut bucket = TokenBucket::new(3, SECOND_NS / 2);
        assert_eq!((0..5).filter(|_| bucket.take(7 * SECOND_NS)).count(), 3);
        let ready_ns = bucket.ready_ns();
        assert_eq!(ready_ns, 7 * SECOND_NS + SECOND_NS / 2);
        assert!(!bucket.take(ready_ns - 1) && bucket.take(ready_ns));
        assert_eq!((bucket.next_ns(ready_ns), bucket.next_ns(100 * SECOND_NS)), (Some(ready_ns + SECOND_NS / 2), None));
    }

    #[test]
    fn who_spends_without_asking_owes_one_token() {
        let mut bucket = TokenBucket::new(2, 10);
        (0..9).for_each(|_| bucket.spend(100));
        assert_eq!(bucket.ready_ns(), 110);
    }

    proptest! {
        #[test]
        fn no_more_than_the_rate_in_the_long_run(steps_ns in prop::collection::vec(0..SECOND_NS, 1..200)) {
            let mut bucket = TokenBucket::new(5, SECOND_NS / 10);
            let mut now_ns = SECOND_NS;
            let mut granted = 0;
            for step_ns in steps_ns {
                now_ns += step_ns;
                granted += u64::from(bucket.take(now_ns));
                prop_assert!(granted <= 5 + (now_ns - SECOND_NS) * 10 / SECOND_NS);
            }
        }
    }
}
