//! When thrashing is worth an end: the wait that apps have paid for, against the wait that an end will cost.
//!
//! Without swap the kernel can take nothing but files of programs when memory is short. They count as available, and
//! are read again at each return, so that available memory tells nothing of it (measured on a phone of 600 MiB: returns
//! of 2 to 10 s with 30 to 60 MiB available, of 1 s with 130). What tells is the time for which tasks stall on memory.
//!
//! How long that will go on is unknown. The rule is that of renting or buying (ski rental): go on paying while less has
//! been paid than the purchase costs, then buy. But for what is forgotten and for the errors of
//! the chances it pays at most twice the best choice in hindsight.
//!
//! ```text
//! paid  = time stalled on memory since the last end; half of it is forgotten within a minute
//! price = chance that the app returns within the next ten switches x time of its relaunch
//!         x 2 for each app that came back at once
//! ```
//!
//! The kernel's own killer is the other cost: a launch that finds no memory fails, and the app in front is what is
//! ended. A launch that fails counts as [`FAILED_LAUNCH_S`], times the chance of it.
//!
//! Properties: `a_launch_that_will_not_fit_ends_apps_at_once`; `an_app_ends_once_the_stalls_cost_more`;
//! `what_was_paid_long_ago_is_forgotten`; `each_regret_doubles_the_price`; `a_likelier_app_costs_more`.

use serde::{Deserialize, Serialize};

use crate::iram::candidates::Candidate;

/// Time in which half of what was paid is forgotten.
const HALF_LIFE_S: f64 = 60.0;
/// Less is no thrashing: a launch alone can stall for as long.
const PAID_S_MIN: f64 = 0.3;
/// Wait that a failed launch stands for: the launch, to notice it, and the launch anew.
pub const FAILED_LAUNCH_S: f64 = 10.0;
/// Returns within so many switches count. A freed megabyte serves about as long before another launch takes it.
const SWITCHES: i32 = 10;
/// Chance that is assumed at the least.
const CHANCE_MIN: f64 = 0.001;
/// Each app that came back at once doubles prices, up to this often.
const REGRETS_MAX: u32 = 6;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Paid {
    pub stalled_s: f64,
}

impl Paid {
    /// `elapsed_s` went by, and tasks stalled on memory for `stalled_s` of it.
    pub fn take(&mut self, elapsed_s: f64, stalled_s: f64) {
        let kept = 0.5_f64.powf(elapsed_s.max(0.0) / HALF_LIFE_S);
        self.stalled_s = self.stalled_s * kept + stalled_s.max(0.0);
    }

    /// Whether so much was paid that it counts.
    #[must_use]
    pub fn is_thrashing(&self) -> bool {
        self.stalled_s >= PAID_S_MIN
    }
}

/// Expected wait that the end of this app costs, in seconds.
#[must_use]
pub fn price_s(one: &Candidate<'_>, regrets: u32) -> f64 {
    let away = (1.0 - one.chance.clamp(CHANCE_MIN, 1.0)).powi(SWITCHES);
    (1.0 - away) * one.relaunch_s * f64::from(1_u32 << regrets.min(REGRETS_MAX))
}

#[cfg(test)]
mod tests {
    use brisk_core::snapshot::MemoryLevels;
    use proptest::prelude::*;

    use super::*;
    use crate::iram::Config;
    use crate::iram::candidates::{self, Outlook};
    use crate::iram::tests::app;

    fn price(chance: f64, relaunch_s: f64, regrets: u32) -> f64 {
        let apps = [app("a", |_| ())];
        let outlook = |_: &str| Outlook { chance, rank: None, relaunch_s: Some(relaunch_s) };
        let all = candidates::all(&Config::default(), 0, &apps, &[], &MemoryLevels::default(), outlook);
        price_s(&all[0], regrets)
    }

    #[test]
    fn what_was_paid_long_ago_is_forgotten() {
        let mut paid = Paid::default();
        paid.take(1.0, 0.4);
        assert!(paid.is_thrashing());
        paid.take(60.0, 0.0);
        assert!(!paid.is_thrashing() && (paid.stalled_s - 0.2).abs() < 1e-9, "{paid:?}");
        paid.take(-1.0, -1.0);
        assert!((paid.stalled_s - 0.2).abs() < 1e-9, "a clock that runs backwards changes nothing");
    }

    #[test]
    fn each_regret_doubles_the_price() {
        let first = price(0.1, 4.0, 0);
        assert!((first - 4.0 * (1.0 - 0.9_f64.powi(10))).abs() < 1e-9, "{first}");
        assert_eq!((price(0.1, 4.0, 1), price(0.1, 4.0, 2)), (2.0 * first, 4.0 * first));
        assert_eq!(price(0.1, 4.0, 1_000), 64.0 * first);
    }

    proptest! {
        #[test]
        fn a_likelier_app_costs_more(a in 0.0..1.0_f64, b in 0.0..1.0_f64, relaunch_s in 0.0..60.0_f64) {
            let (less, more) = (price(a.min(b), relaunch_s, 0), price(a.max(b), relaunch_s, 0));
            prop_assert!(less <= more && more <= relaunch_s);
        }
    }
}
