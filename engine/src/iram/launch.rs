//! Launches that go on without swap: whether one needs more than what is available, and how soon it runs out.
//!
//! The kernel's own killer is what happens otherwise: it ends the largest app, or the launch. So apps are ended for a
//! launch while there is time for that. How much a launch needs is known of an app that ran before. Of another one, the
//! needs of the other apps tell, as far as the launch has not passed them: of n of them, the next need is in each of
//! the n + 1 gaps with the same chance.
//!
//! ```text
//! chance = needs that are more than it has and what is available / (needs that it has not passed + 1)
//! ```
//!
//! A launch that has passed all that is known, by an eighth since needs vary, is judged by its *growth*. As long as it
//! takes less than what is available within the time of an end, the end can wait. Otherwise it *runs out*, and the
//! chance that it goes on so far is presumed to fall like the inverse of the need:
//!
//! ```text
//! chance      = what it has / (what it has + what is available)
//! time of end = a round + the grace time + the exit; 300 ms (measured: 50 ms + 0 to 200 ms + 10 ms for 35 MB)
//! ```
//!
//! Properties: `an_unknown_launch_is_judged_by_the_needs_that_it_has_not_passed`; `growth_beyond_what_is_known_counts`;
//! `growth_is_a_mean_that_follows_within_two_rounds`; `the_faster_a_launch_grows_the_less_grace_there_is`.

use serde::{Deserialize, Serialize};

use crate::iram::config::Config;
use crate::iram::heap;

/// Time to end by itself that an app has whose memory a launch needs now: enough for a handler of SIGTERM that writes
/// little, and less than most launches take to grow by what an app has (35 MB at 100 MB/s: 350 ms).
pub const GRACE_MS: u64 = 200;
/// Time between two rounds while a launch may not fit.
pub(crate) const ROUND_NS: u64 = 50_000_000;
/// From the decision until the memory of an app is there.
const END_NS: u64 = GRACE_MS * 1_000_000 + 2 * ROUND_NS;
/// Time constant of the mean of the growth.
const GROWTH_NS: f64 = 1e8;
/// What is known is passed by this part of it.
const VARIES: u64 = 8;

/// How the memory of a launch grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Growth {
    /// Memory at the last sample, and its time.
    last: Option<(u64, u64)>,
    /// What it takes in a second, a mean; `None` before the second sample.
    pub bytes_per_s: Option<u64>,
}

impl Growth {
    /// The launch has this much memory now.
    pub(crate) fn follow(&mut self, at_ns: u64, memory_bytes: u64) {
        if let Some((before_bytes, before_ns)) = self.last {
            let elapsed_ns = at_ns.saturating_sub(before_ns) as f64;
            if elapsed_ns <= 0.0 {
                return;
            }
            let now_per_s = memory_bytes.saturating_sub(before_bytes) as f64 / elapsed_ns * 1e9;
            let mean_per_s = self.bytes_per_s.map_or(now_per_s, |bytes_per_s| bytes_per_s as f64);
            let weight = (elapsed_ns / GROWTH_NS).min(1.0);
            self.bytes_per_s = Some((mean_per_s + weight * (now_per_s - mean_per_s)) as u64);
        }
        self.last = Some((memory_bytes, at_ns));
    }

    /// What it takes within this time, if it goes on like this.
    #[must_use]
    pub fn within(&self, span_ns: u64) -> u64 {
        (self.bytes_per_s.unwrap_or(0) as f64 * span_ns as f64 / 1e9) as u64
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Launch {
    /// What it has; 0 when unknown.
    pub(crate) memory_bytes: u64,
    /// The most that it is expected to need; `None` of an app of which no run is known.
    pub(crate) known_bytes: Option<u64>,
    pub(crate) growth: Growth,
}

impl Launch {
    fn has_passed(&self, need_bytes: u64) -> bool {
        self.memory_bytes >= need_bytes.saturating_add(need_bytes / VARIES)
    }

    /// Chance that it needs more than `available_bytes`, `planned_bytes` of which are being freed.
    fn chance(&self, needs: &[u64], available_bytes: u64, planned_bytes: u64) -> f64 {
        let reach_bytes = self.memory_bytes.saturating_add(available_bytes).saturating_add(planned_bytes);
        let known = self.known_bytes.as_slice();
        let needs = if known.is_empty() { needs } else { known };
        let ahead: Vec<u64> = needs.iter().copied().filter(|need| !self.has_passed(*need)).collect();
        let lacking = ahead.iter().filter(|need| **need > reach_bytes).count();
        // Beyond what is known an end at a time: how far it goes shows meanwhile.
        let runs_out = planned_bytes == 0 && self.growth.within(END_NS) > available_bytes;
        match () {
            () if self.known_bytes.is_some() && lacking > 0 => 1.0,
            () if ahead.is_empty() && runs_out => self.memory_bytes as f64 / reach_bytes.max(1) as f64,
            () => lacking as f64 / (ahead.len() + 1) as f64,
        }
    }

    /// What it is expected to take yet; beyond what is known no more than half of what it has.
    pub(crate) fn rest_bytes(&self, needs: &[u64]) -> u64 {
        let need_bytes = self.known_bytes.unwrap_or_else(|| median_bytes(needs));
        if self.has_passed(need_bytes) {
            return self.growth.within(END_NS).min(self.memory_bytes / 2);
        }
        need_bytes.saturating_sub(self.memory_bytes)
    }
}

/// What launches that go on mean for the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Danger {
    /// Those whose memory is known.
    pub(crate) launches: Vec<Launch>,
    /// Needs of other apps, or what is presumed.
    pub(crate) needs: Vec<u64>,
    pub(crate) available_bytes: u64,
    /// Whether apps may be ended for them.
    pub(crate) may_end: bool,
}

impl Danger {
    /// Chance that a launch needs more than what is available and `planned_bytes`, which are being freed.
    pub(crate) fn chance(&self, planned_bytes: u64) -> f64 {
        let of_launch = |one: &Launch| one.chance(&self.needs, self.available_bytes, planned_bytes);
        if self.may_end { self.launches.iter().map(of_launch).fold(0.0, f64::max) } else { 0.0 }
    }

    /// What the launch that grows fastest takes within this time.
    fn growth_within(&self, span_ns: u64) -> u64 {
        self.launches.iter().map(|one| one.growth.within(span_ns)).max().unwrap_or(0)
    }

    /// Whether growth has to be watched closely: less is available than twice what a launch is expected to take, or
    /// takes within twice the time of an end.
    pub(crate) fn is_watched(&self) -> bool {
        let soon_bytes =
            |one: &Launch| one.rest_bytes(&self.needs).saturating_mul(2).max(one.growth.within(2 * END_NS));
        self.launches.iter().any(|one| soon_bytes(one) > self.available_bytes)
    }

    /// Time to end by itself of an app that is ended for a launch: none when the launch takes what is available within
    /// it.
    pub(crate) fn grace_ms(&self, config: &Config) -> u64 {
        let runs_out = self.growth_within(GRACE_MS * 1_000_000 + ROUND_NS) > self.available_bytes;
        if runs_out { 0 } else { GRACE_MS.min(config.end_grace_ms) }
    }

    /// Whether a launch that needs more than what is available takes all of it before a deadline that is so far away.
    pub(crate) fn runs_out_within(&self, span_ns: u64) -> bool {
        self.chance(0) > 0.0 && self.growth_within(span_ns.saturating_add(ROUND_NS)) > self.available_bytes
    }
}

/// Need of an app of which no run is known: the median of those of the others.
fn median_bytes(needs: &[u64]) -> u64 {
    let mut needs = needs.to_vec();
    needs.sort_unstable();
    needs.get(needs.len() / 2).copied().unwrap_or(heap::DEFAULT_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const MS_NS: u64 = 1_000_000;

    fn launch(memory_mib: u64, mib_per_s: u64) -> Launch {
        let growth = Growth { bytes_per_s: Some(mib_per_s * MIB), ..Growth::default() };
        Launch { memory_bytes: memory_mib * MIB, known_bytes: None, growth }
    }

    #[test]
    fn an_unknown_launch_is_judged_by_the_needs_that_it_has_not_passed() {
        let needs = [30, 60, 90].map(|mib| mib * MIB);
        let chance = |memory_mib, available_mib| launch(memory_mib, 0).chance(&needs, available_mib * MIB, 0);
        // Begun with 50 MiB available: 60 and 90 are too much.
        assert_eq!(chance(0, 50), 2.0 / 4.0);
        // It has 40 of them by now, so that it is none of 30.
        assert_eq!((chance(40, 10), chance(70, 10), chance(70, 20)), (2.0 / 3.0, 1.0 / 2.0, 0.0));
        assert_eq!((chance(0, 100), chance(120, 0)), (0.0, 0.0));
        assert_eq!(launch(0, 0).chance(&needs, 50 * MIB, 30 * MIB), 1.0 / 4.0, "an end is under way");
        assert_eq!((launch(0, 0).rest_bytes(&needs), launch(0, 0).rest_bytes(&[])), (60 * MIB, heap::DEFAULT_BYTES));
    }

    #[test]
    fn growth_beyond_what_is_known_counts() {
        let needs = [30, 30].map(|mib| mib * MIB);
        let chance = |one: Launch, available_mib| one.chance(&needs, available_mib * MIB, 0);
        let known = |memory_mib, mib_per_s| Launch { known_bytes: Some(40 * MIB), ..launch(memory_mib, mib_per_s) };
        // 300 ms at 100 MiB a second.
        assert_eq!(chance(launch(36, 100), 12), 36.0 / 48.0);
        assert_eq!((chance(launch(36, 100), 31), chance(launch(36, 30), 12)), (0.0, 0.0));
        assert_eq!(chance(launch(32, 100), 12), 0.0, "as large as the others");
        assert_eq!((chance(known(36, 100), 12), chance(known(36, 100), 3)), (0.0, 1.0));
        assert_eq!(chance(known(48, 100), 16), 48.0 / 64.0);
        assert_eq!((launch(36, 100).rest_bytes(&needs), known(36, 100).rest_bytes(&needs)), (18 * MIB, 4 * MIB));
        assert_eq!(launch(36, 100).chance(&needs, 12 * MIB, MIB), 0.0, "an end at a time");
        let is_watched = |one: Launch, available_mib: u64| {
            let (needs, available_bytes) = (needs.to_vec(), available_mib * MIB);
            Danger { launches: vec![one], needs, available_bytes, may_end: false }.is_watched()
        };
        assert!(is_watched(launch(0, 0), 59) && !is_watched(launch(0, 0), 60));
        assert!(is_watched(launch(32, 100), 59) && !is_watched(launch(32, 100), 60));
        assert!(is_watched(known(30, 0), 19) && !is_watched(known(30, 0), 20));
        assert!(!Danger::default().is_watched());
    }

    #[test]
    fn growth_is_a_mean_that_follows_within_two_rounds() {
        let mut growth = Growth::default();
        let mut after = |ms: u64, memory_mib: u64| {
            growth.follow(ms * MS_NS, memory_mib * MIB);
            growth.within(1_000 * MS_NS) / MIB
        };
        assert_eq!((after(0, 10), after(50, 15)), (0, 100), "the first two samples give it");
        assert_eq!((after(100, 15), after(150, 15)), (50, 25));
        assert_eq!((after(150, 99), after(1_150, 35)), (25, 20), "of longer than its time constant alone");
        assert_eq!(after(1_250, 3), 0, "what is freed is no growth");
    }

    proptest! {
        #[test]
        fn the_faster_a_launch_grows_the_less_grace_there_is(
            a in 0u64..2_000,
            b in 0u64..2_000,
            available_mib in 0u64..200,
            end_grace_ms in 0u64..10_000,
        ) {
            let config = Config { end_grace_ms, ..Config::default() };
            let danger = |mib_per_s| {
                let (launches, available_bytes) = (vec![launch(10, mib_per_s)], available_mib * MIB);
                Danger { launches, needs: vec![5 * MIB], available_bytes, may_end: true }
            };
            let grace_ms = |mib_per_s| danger(mib_per_s).grace_ms(&config);
            prop_assert!(grace_ms(a.max(b)) <= grace_ms(a.min(b)) && grace_ms(a) <= end_grace_ms.min(GRACE_MS));
            prop_assert!((0.0..=1.0).contains(&danger(a).chance(0)));
        }
    }
}
