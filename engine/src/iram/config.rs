//! Configuration of this engine.

pub use crate::kit::Mode;
use crate::kit::{Invalid, Section, check};
use brisk_core::action::Ends;
use brisk_core::survey::SwapWrites;
use serde::{Deserialize, Serialize};

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Adaptive: a mixture of experts for the next app, launch curves with a margin that keeps the share of misses for
    /// thresholds. Paper: as dissertation 5.3 to 5.5 says: prediction by partial matching; ARX, and twice its error as
    /// margin.
    pub mode: Mode,
    /// Number of likely next apps from which nothing is taken (dissertation 5.6.3: 9).
    pub protected_apps: usize,
    /// Adaptive: share of the memory that protected apps may have together; the least likely of them lose the
    /// protection.
    pub protected_max_percent: f64,
    /// Adaptive: share of the memory that is kept available, whatever is expected.
    pub reserve_min_percent: f64,
    /// Adaptive: largest share of the memory that is freed before it is needed.
    pub reserve_max_percent: f64,
    /// Adaptive: memory is short when tasks stalled on it for this share of the time.
    pub stall_min_percent: f64,
    /// Adaptive: whether caches and other memory of background apps are reclaimed.
    pub reclaim: bool,
    /// Adaptive: whether background apps may be frozen.
    pub freeze: bool,
    /// Whether background apps may be ended.
    pub ends: Ends,
    /// Number of apps that are ended within a minute at most: a third of them at once, the rest evenly.
    pub ends_per_minute: u32,
    /// Time that an app has to end by itself. Adaptive: at most 200 ms for a launch that will not fit
    /// ([`crate::iram::launch::GRACE_MS`]).
    pub end_grace_ms: u64,
    /// Adaptive: whether control groups get limits while memory is short.
    pub limits: bool,
    /// Adaptive: back-off after freeing did not help; doubled each time, up to an hour.
    pub retry_after_s: u64,
    /// Paper: which processes are ended: 1 Empty and Background, 2 these and caches, 3 all below Foreground and caches.
    pub aggression_level: u8,
    /// Paper: memory below this share is freed (MIN_MEM).
    pub free_min_percent: f64,
    /// Paper: interval between checks while the screen is on.
    pub period_s: u64,
    /// Paper: interval between checks while the screen is off.
    pub period_screen_off_s: u64,
    /// What all engines have written to swap, and what may still be.
    #[serde(skip)]
    pub wear: SwapWrites,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Adaptive,
            protected_apps: crate::kit::predict::NEXT_APPS,
            protected_max_percent: 40.0,
            reserve_min_percent: 4.0,
            reserve_max_percent: 25.0,
            stall_min_percent: 10.0,
            reclaim: true,
            freeze: false,
            ends: Ends::Auto,
            ends_per_minute: 6,
            end_grace_ms: 5_000,
            limits: true,
            retry_after_s: 30,
            aggression_level: 1,
            free_min_percent: 60.0,
            period_s: 20,
            period_screen_off_s: 60,
            wear: SwapWrites::default(),
        }
    }
}

impl Section for Config {
    fn check(&self) -> Result<(), Invalid> {
        check::shares(&[
            ("protected_max_percent", self.protected_max_percent),
            ("stall_min_percent", self.stall_min_percent),
            ("free_min_percent", self.free_min_percent),
        ])?;
        check::reserve(self.reserve_min_percent, self.reserve_max_percent)?;
        let levels = "1 (empty and background), 2 (and caches) or 3 (all below the foreground)";
        Invalid::unless((1..=3).contains(&self.aggression_level), "aggression_level", self.aggression_level, levels)?;
        let periods = [("period_s", self.period_s), ("period_screen_off_s", self.period_screen_off_s)];
        periods.into_iter().try_for_each(|(key, value)| Invalid::unless(value > 0, key, value, "at least one second"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_can_be_used_and_other_values_are_checked() {
        check::assert_defaults_hold::<Config>();
        let complaint = check::complaint::<Config>;
        assert!(complaint("stall_min_percent = 101").starts_with("stall_min_percent = 101: write a number from 0 to"));
        assert!(complaint("free_min_percent = nan").starts_with("free_min_percent = NaN"));
        assert!(complaint("aggression_level = 4").starts_with("aggression_level = 4: write 1 (empty"));
        assert!(complaint("period_s = 0").starts_with("period_s = 0"));
        assert!(complaint("reserve_min_percent = 30").contains("no more than reserve_max_percent = 25"));
    }
}
