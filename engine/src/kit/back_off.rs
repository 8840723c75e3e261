//! Back-off: what did not help is left alone for some time, for twice as long each time, up to a bound; a success ends
//! that.

use serde::{Deserialize, Serialize};

use crate::kit::S_NS;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackOff {
    /// Back-offs since the last success.
    pub times: u32,
    /// End of the last one, CLOCK_MONOTONIC.
    pub until_ns: Option<u64>,
}

impl BackOff {
    /// Begins one: `first_s` long, doubled for each one since the last success, up to `max_s`. Returns its length.
    pub fn begin(&mut self, now_ns: u64, first_s: u64, max_s: u64) -> u64 {
        let length_s = first_s.saturating_mul(1 << self.times.min(16)).min(max_s);
        self.times = self.times.saturating_add(1);
        self.until_ns = Some(now_ns.saturating_add(length_s.saturating_mul(S_NS)));
        length_s
    }

    #[must_use]
    pub fn is_on(&self, now_ns: u64) -> bool {
        self.until_ns.is_some_and(|until_ns| now_ns < until_ns)
    }

    /// It helped: the next one is as long as the first.
    pub fn helped(&mut self) {
        self.times = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_back_off_takes_twice_as_long_up_to_the_bound() {
        let mut back_off = BackOff::default();
        assert!(!back_off.is_on(0));
        let lengths: Vec<u64> = (0..9).map(|_| back_off.begin(S_NS, 30, 3_600)).collect();
        assert_eq!(lengths, [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
        assert!(back_off.is_on(3_600 * S_NS) && !back_off.is_on(3_601 * S_NS));
        back_off.helped();
        assert_eq!(back_off.begin(0, 30, 3_600), 30);
        back_off.times = u32::MAX;
        assert_eq!(back_off.begin(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }
}
