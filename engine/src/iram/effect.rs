//! Whether freeing helps at this moment: a guard within seconds, so that no shortage becomes a storm of reclaim.
//!
//! It is no trial: it asks whether these pages of this minute could be freed, not whether the engine pays, and it must
//! not wait for episodes to compare. Whether the engine pays, [`brisk_core::trial`] finds out.
//!
//! Two to sixty seconds after memory was taken, available memory is compared with what it would be without (the value
//! then, carried on by its trend), and refaults with those before. Freeing *did not help* when less than a quarter of
//! the expected memory was gained, and *hurt* when twice as many pages as before, and 200 a second more, came back that
//! had been reclaimed. Both begin a back-off, which doubles each time, up to an hour, and which a success ends.
//! Refaults during a launch are those of the app that is launched, and are not judged. (Measured: when memory is merely
//! tight, the kernel keeps working sets by itself, and paging them out costs ten times the time.)
//!
//! Properties: `what_frees_memory_goes_on`; `what_frees_nothing_is_left_alone_for_longer_each_time`;
//! `what_is_read_back_is_left_alone`; `refaults_of_a_launch_are_not_judged`.

use crate::kit::{BackOff, S_NS};
use brisk_core::reason::Reason;
use brisk_core::snapshot::PagingTotals;
use serde::{Deserialize, Serialize};

/// Time after which an effect shows, and after which it cannot be told any more.
const SHOWS_NS: u64 = 2 * S_NS;
const STALE_NS: u64 = 60 * S_NS;
/// Part of the expected memory that has to be gained.
const HELPED_SHARE: f64 = 0.25;
/// Refaults that hurt: as a multiple of those before, and more than these beyond.
const REFAULTS_TIMES: f64 = 2.0;
const REFAULTS_MORE_PER_S: f64 = 200.0;
/// Longest back-off.
const LEFT_ALONE_MAX_S: u64 = 3_600;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effect {
    watched: Option<Watched>,
    /// Refaults a second while nothing was freed, a mean.
    calm_refaults_per_s: f64,
    /// Freeing is left alone, as long as this is on.
    pub back_off: BackOff,
}

/// The machine when memory was taken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Watched {
    at_ns: u64,
    available_bytes: u64,
    expected_bytes: u64,
    falls_bytes_per_s: f64,
    refault_pages: Option<u64>,
}

/// What the engine sees of memory at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sight {
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    pub available_bytes: u64,
    pub falls_bytes_per_s: f64,
    /// Pages that came back after reclaim, since boot.
    pub refault_pages: Option<u64>,
    /// The same a second, in the last interval.
    pub refaults_per_s: Option<f64>,
    /// An app is being launched.
    pub launching: bool,
}

/// Pages of both kinds that came back after reclaim; `None` where the kernel does not count them.
#[must_use]
pub fn refault_pages(paging: &PagingTotals) -> Option<u64> {
    let file = paging.refault_file_pages?;
    Some(file.saturating_add(paging.refault_anon_pages.unwrap_or(0)))
}

impl Effect {
    /// Whether an effect is still waited for.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watched.is_some()
    }

    /// Memory of that size is taken now. Steps that follow each other are judged together.
    pub fn took(&mut self, sight: &Sight, expected_bytes: u64) {
        match &mut self.watched {
            Some(watched) => watched.expected_bytes = watched.expected_bytes.saturating_add(expected_bytes),
            None => {
                self.watched = Some(Watched {
                    at_ns: sight.at_ns,
                    available_bytes: sight.available_bytes,
                    expected_bytes,
                    falls_bytes_per_s: sight.falls_bytes_per_s,
                    refault_pages: sight.refault_pages,
                });
            }
        }
    }

    /// Nothing was taken: there is nothing to judge.
    pub fn was_not_taken(&mut self) {
        self.watched = None;
    }

    /// Judges what was taken, once that shows. Returns a reason when a back-off begins.
    pub fn judge(&mut self, retry_after_s: u64, sight: &Sight) -> Option<Reason> {
        let Some(watched) = self.watched else {
            if let Some(now_per_s) = sight.refaults_per_s.filter(|_| !sight.launching) {
                self.calm_refaults_per_s += 0.25 * (now_per_s - self.calm_refaults_per_s);
            }
            return None;
        };
        let elapsed_ns = sight.at_ns.checked_sub(watched.at_ns)?;
        if elapsed_ns < SHOWS_NS {
            return None;
        }
        self.watched = None;
        if elapsed_ns > STALE_NS {
            return None;
        }
        let elapsed_s = elapsed_ns as f64 / 1e9;
        let without_bytes = watched.available_bytes as f64 - watched.falls_bytes_per_s.max(0.0) * elapsed_s;
        let gained_bytes = sight.available_bytes as f64 - without_bytes;
        let back = watched.refault_pages.zip(sight.refault_pages).map(|(then, now)| now.saturating_sub(then));
        let back_per_s = back.map_or(0.0, |pages| pages as f64 / elapsed_s);
        let refaults = !sight.launching
            && back_per_s > self.calm_refaults_per_s * REFAULTS_TIMES
            && back_per_s > self.calm_refaults_per_s + REFAULTS_MORE_PER_S;
        let rule = match () {
            () if refaults => "reclaimed_memory_is_read_back",
            () if gained_bytes < watched.expected_bytes as f64 * HELPED_SHARE => "freeing_does_not_help",
            () => {
                self.back_off.helped();
                return None;
            }
        };
        let left_alone_s = self.back_off.begin(sight.at_ns, retry_after_s, LEFT_ALONE_MAX_S);
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        let reason = Reason::rule(rule)
            .number("gained_mib", mib(gained_bytes))
            .number("expected_mib", mib(watched.expected_bytes as f64))
            .number("refaults_per_s", back_per_s)
            .number("refaults_before_per_s", self.calm_refaults_per_s)
            .number("left_alone_s", left_alone_s as f64);
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn sight(at_s: u64, available_mib: u64, refault_pages: u64) -> Sight {
        Sight {
            at_ns: at_s * S_NS,
            available_bytes: available_mib * MIB,
            refault_pages: Some(refault_pages),
            refaults_per_s: Some(0.0),
            ..Sight::default()
        }
    }

    #[test]
    fn what_frees_memory_goes_on() {
        let mut effect = Effect { back_off: BackOff { times: 3, until_ns: None }, ..Effect::default() };
        effect.took(&sight(10, 50, 0), 64 * MIB);
        assert_eq!(effect.judge(30, &sight(11, 50, 0)), None, "too early");
        assert!(effect.is_watched());
        assert_eq!(effect.judge(30, &sight(12, 100, 300)), None);
        assert_eq!((effect.back_off.times, effect.back_off.is_on(12 * S_NS), effect.is_watched()), (0, false, false));
        // The front app took what was freed: without that, memory would have fallen to 10.
        let falls = Sight { falls_bytes_per_s: 20.0 * MIB as f64, ..sight(20, 50, 0) };
        effect.took(&falls, 64 * MIB);
        assert_eq!(effect.judge(30, &sight(22, 50, 0)), None);
        effect.took(&falls, 64 * MIB);
        assert_eq!(effect.judge(30, &sight(200, 50, 0)), None, "too late to tell");
        assert!(!effect.is_watched());
    }

    #[test]
    fn what_frees_nothing_is_left_alone_for_longer_each_time() {
        let mut effect = Effect::default();
        for wait_s in [30, 60] {
            effect.took(&sight(10, 50, 0), 64 * MIB);
            let reason = effect.judge(30, &sight(12, 55, 0)).expect("a back-off");
            assert_eq!(reason.rule, "freeing_does_not_help");
            assert_eq!(effect.back_off.until_ns, Some((12 + wait_s) * S_NS));
        }
    }

    #[test]
    fn what_was_not_taken_is_not_judged() {
        let mut effect = Effect::default();
        effect.took(&sight(10, 50, 0), 64 * MIB);
        effect.was_not_taken();
        assert_eq!((effect.is_watched(), effect.judge(30, &sight(12, 55, 0))), (false, None));
    }

    #[test]
    fn what_is_read_back_is_left_alone() {
        let rule_after = |calm_per_s: f64, back_pages: u64| {
            let mut effect = Effect { calm_refaults_per_s: calm_per_s, ..Effect::default() };
            effect.took(&sight(10, 50, 1_000), 64 * MIB);
            effect.judge(30, &sight(12, 114, 1_000 + back_pages)).map(|reason| reason.rule.into_owned())
        };
        assert_eq!(rule_after(0.0, 500).as_deref(), Some("reclaimed_memory_is_read_back"));
        assert_eq!(rule_after(0.0, 300), None, "150 a second");
        assert_eq!(rule_after(1_000.0, 3_900), None, "not twice as many as before");
        assert_eq!(rule_after(1_000.0, 4_100).as_deref(), Some("reclaimed_memory_is_read_back"));
    }

    #[test]
    fn refaults_of_a_launch_are_not_judged() {
        let mut effect = Effect::default();
        effect.took(&sight(10, 50, 0), 64 * MIB);
        assert_eq!(effect.judge(30, &Sight { launching: true, ..sight(12, 114, 100_000) }), None);
    }

    #[test]
    fn refaults_before_are_those_of_calm_moments() {
        let mut effect = Effect::default();
        (0..40).for_each(|second| {
            let now = Sight { refaults_per_s: Some(400.0), ..sight(second, 50, 0) };
            assert_eq!(effect.judge(30, &now), None);
        });
        assert!((395.0..=400.0).contains(&effect.calm_refaults_per_s), "{}", effect.calm_refaults_per_s);
    }
}
