//! Rate limit of frames requested from a compositor.
//!
//! Each frame costs the compositor a copy of the screen, about a millisecond. A token bucket limits the requests: bursts are
//! not delayed, so that single changes have exact times; in the long run there is one frame in [`INTERVAL_NS`].

/// Time between frames in the long run.
pub(crate) const INTERVAL_NS: u64 = 40_000_000;
/// Size of the bucket in frames.
const BURST_FRAMES: u64 = 16;

/// The token bucket.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    /// Time when the bucket is full again; each frame moves it by one interval.
    full_at_ns: u64,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { full_at_ns: 0 }
    }

    /// Time of the next frame.
    pub(crate) fn next_ns(&self) -> u64 {
        self.full_at_ns.saturating_sub((BURST_FRAMES - 1) * INTERVAL_NS)
    }

    /// Counts a frame.
    pub(crate) fn took(&mut self, now_ns: u64) {
        let latest = now_ns + BURST_FRAMES * INTERVAL_NS;
        self.full_at_ns = (self.full_at_ns.max(now_ns) + INTERVAL_NS).min(latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_not_delayed_and_then_frames_come_at_intervals() {
        let mut pace = Pace::new();
        let start = 1_000_000_000;
        for _ in 0..BURST_FRAMES {
            assert!(pace.next_ns() <= start);
            pace.took(start);
        }
        assert_eq!(pace.next_ns(), start + INTERVAL_NS);
        pace.took(start + INTERVAL_NS);
        assert_eq!(pace.next_ns(), start + 2 * INTERVAL_NS);
    }

    #[test]
    fn a_busy_second_has_few_frames_and_a_quiet_one_restores_the_burst() {
        let mut pace = Pace::new();
        let (mut now, mut frames) = (0, 0);
        while now < 1_000_000_000 {
            now = pace.next_ns().max(now) + 50_000;
            pace.took(now);
            frames += 1;
        }
        assert!((35..=42).contains(&frames), "{frames} frames");
        let later = now + BURST_FRAMES * INTERVAL_NS;
        for _ in 0..BURST_FRAMES {
            assert!(pace.next_ns() <= later);
            pace.took(later);
        }
        assert!(pace.next_ns() > later);
    }
}
