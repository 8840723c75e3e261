//! Configuration of this engine.

use brisk_core::action::Ends;
use serde::{Deserialize, Serialize};

/// How the engine works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By what is learned and observed: a mixture of experts for the next app, launch curves with a margin that keeps the share of
    /// misses for thresholds.
    #[default]
    Adaptive,
    /// As dissertation 5.3 to 5.5 says, with its constants: prediction by partial matching; ARX, and twice its error as margin.
    Paper,
}

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How it works.
    pub mode: Mode,
    /// Number of likely next apps from which nothing is taken (dissertation 5.6.3: 9).
    pub protected_apps: usize,
    /// Adaptive: share of the memory that protected apps may have together; the least likely of them lose the protection.
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
    /// Time that an app has to end by itself. Adaptive: at most 200 ms for a launch that will not fit ([`crate::launch::GRACE_MS`]).
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
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Adaptive,
            protected_apps: crate::predict::NEXT_APPS,
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
        }
    }
}

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Invalid {
    /// No share of a whole.
    #[error("{key} = {value} is not a share: write a number from 0 to 100")]
    Percent {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// No such level.
    #[error(
        "aggression_level = {0}: there are 1 (empty and background), 2 (and caches) and 3 (all below the foreground)"
    )]
    Aggression(u8),
    /// An interval of no time.
    #[error("{0} = 0: an interval takes at least a second")]
    Period(&'static str),
    /// The least is more than the most.
    #[error("reserve_min_percent = {min} is more than reserve_max_percent = {max}")]
    Reserve {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
}

impl Config {
    /// Whether all values can be used.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check(&self) -> Result<(), Invalid> {
        let shares = [
            ("protected_max_percent", self.protected_max_percent),
            ("reserve_min_percent", self.reserve_min_percent),
            ("reserve_max_percent", self.reserve_max_percent),
            ("stall_min_percent", self.stall_min_percent),
            ("free_min_percent", self.free_min_percent),
        ];
        if let Some((key, value)) = shares.into_iter().find(|(_, value)| !(0.0..=100.0).contains(value)) {
            return Err(Invalid::Percent { key, value });
        }
        if self.reserve_min_percent > self.reserve_max_percent {
            return Err(Invalid::Reserve { min: self.reserve_min_percent, max: self.reserve_max_percent });
        }
        if !(1..=3).contains(&self.aggression_level) {
            return Err(Invalid::Aggression(self.aggression_level));
        }
        let periods = [("period_s", self.period_s), ("period_screen_off_s", self.period_screen_off_s)];
        match periods.into_iter().find(|(_, period_s)| *period_s == 0) {
            Some((key, _)) => Err(Invalid::Period(key)),
            None => Ok(()),
        }
    }
}

/// A share of `total_bytes`.
pub(crate) fn share_bytes(total_bytes: u64, percent: f64) -> u64 {
    (total_bytes as f64 * percent / 100.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_can_be_used_and_other_values_are_checked() {
        assert_eq!(Config::default().check(), Ok(()));
        assert_eq!(toml::from_str::<Config>("").expect("empty is the default"), Config::default());
        let complaint = |text: &str| toml::from_str::<Config>(text).expect("TOML").check().expect_err(text).to_string();
        assert!(complaint("stall_min_percent = 101").starts_with("stall_min_percent = 101 is not a share"));
        assert!(complaint("free_min_percent = nan").contains("is not a share"));
        assert!(complaint("aggression_level = 4").starts_with("aggression_level = 4: there are 1"));
        assert!(complaint("period_s = 0").starts_with("period_s = 0"));
        assert!(complaint("reserve_min_percent = 30").contains("more than reserve_max_percent = 25"));
        assert!(toml::from_str::<Config>("agression_level = 1").is_err(), "unknown keys are refused");
    }
}
