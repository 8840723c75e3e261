//! How often to look at a connection while much is drawn.
//!
//! Each look costs a context switch and a few system calls, about 20 us. An app that draws without a pause would cause
//! thousands a second, so looks are rationed: a burst is free, so that single changes are dated exactly, and in the long run
//! there is one look in [`INTERVAL_NS`].

/// Time between looks in the long run; less than a frame at 60 Hz.
pub(crate) const INTERVAL_NS: u64 = 12_000_000;
/// Looks that may follow each other at once after a quiet time.
const BURST_LOOKS: u64 = 16;

/// A ration of looks.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    /// When the ration would be full again; ahead of now by one interval for each look taken.
    full_at_ns: u64,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { full_at_ns: 0 }
    }

    /// How long to wait at `now_ns` before the next look.
    pub(crate) fn wait_ns(&self, now_ns: u64) -> u64 {
        self.full_at_ns.saturating_sub(now_ns + (BURST_LOOKS - 1) * INTERVAL_NS)
    }

    /// Counts a look that found something.
    pub(crate) fn looked(&mut self, now_ns: u64) {
        let latest = now_ns + BURST_LOOKS * INTERVAL_NS;
        self.full_at_ns = (self.full_at_ns.max(now_ns) + INTERVAL_NS).min(latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_looks_come_at_intervals() {
        let mut pace = Pace::new();
        let start = 1_000_000_000;
        for _ in 0..BURST_LOOKS {
            assert_eq!(pace.wait_ns(start), 0);
            pace.looked(start);
        }
        assert_eq!(pace.wait_ns(start), INTERVAL_NS);
        assert_eq!(pace.wait_ns(start + INTERVAL_NS), 0);
        pace.looked(start + INTERVAL_NS);
        assert_eq!(pace.wait_ns(start + INTERVAL_NS), INTERVAL_NS);
    }

    #[test]
    fn a_busy_second_has_few_looks_and_a_quiet_one_restores_the_burst() {
        let mut pace = Pace::new();
        let (mut now, mut looks) = (0, 0);
        while now < 1_000_000_000 {
            now += pace.wait_ns(now) + 50_000;
            pace.looked(now);
            looks += 1;
        }
        assert!((80..=100).contains(&looks), "{looks} looks");
        assert_eq!(pace.wait_ns(now + BURST_LOOKS * INTERVAL_NS), 0);
    }
}
