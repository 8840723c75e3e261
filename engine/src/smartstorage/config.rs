//! Configuration, and the models.

pub use crate::kit::Mode;
use crate::kit::{Invalid, Section, check};
use serde::{Deserialize, Serialize};

use crate::smartstorage::model::{Criteria, Model};

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Adaptive: by what was measured on this device, within seconds. Paper: as the dissertation does, with its
    /// constants.
    pub mode: Mode,
    /// What counts when nothing is launched: 0 is energy alone, 1 delay alone. While an app is launched, delay alone
    /// does.
    pub delay_share: f64,
    /// `paper`: how often the pattern is sampled.
    pub period_s: u64,
    /// `adaptive`: how often a device at work is sampled; one at rest half as often, one whose pattern has just changed
    /// twice as often.
    pub look_ms: u64,
    /// `adaptive`: how long a setting stays at least.
    pub dwell_ms: u64,
    /// `adaptive`: how long a setting stays at least when the engine went back and forth: the time doubles up to here.
    pub dwell_max_ms: u64,
    /// `adaptive`: what a switch has to save at least, as a share of the cost.
    pub gain_share_min: f64,
    /// `adaptive`: by how much reads may be slower than under the device's own setting, as a share, to save energy.
    pub slower_share_max: f64,
    /// `adaptive`: a switch that made reads slower by more than this share is rolled back.
    pub worse_share: f64,
    /// `adaptive`: for how long a setting that was rolled back is not tried again with the same pattern.
    pub remember_s: u64,
    /// `adaptive`: below this many requests a second a device is at rest, and its setting stays.
    pub rest_requests_per_s: f64,
    /// `adaptive`: how many nearest workloads of the model decide.
    pub neighbours: usize,
    /// `adaptive`: one measured model for each device. The loader of profiles fills it; it is no part of the file.
    #[serde(skip)]
    pub models: Vec<Model>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Adaptive,
            delay_share: 0.0,
            period_s: 60,
            look_ms: 500,
            dwell_ms: 3_000,
            dwell_max_ms: 60_000,
            gain_share_min: 0.01,
            slower_share_max: 0.01,
            worse_share: 0.10,
            remember_s: 3_600,
            rest_requests_per_s: 5.0,
            neighbours: 3,
            models: Vec::new(),
        }
    }
}

impl Config {
    /// The criteria for a choice from a model.
    #[must_use]
    pub fn criteria(&self) -> Criteria {
        Criteria { neighbours: self.neighbours, slower_share_max: self.slower_share_max }
    }
}

impl Section for Config {
    fn check(&self) -> Result<(), Invalid> {
        let day_s = 86_400.0;
        check::ranges(&[
            ("delay_share", self.delay_share, 0.0, 1.0),
            ("period_s", self.period_s as f64, 1.0, day_s),
            ("look_ms", self.look_ms as f64, 100.0, 60_000.0),
            ("dwell_ms", self.dwell_ms as f64, 1_000.0, 3_600_000.0),
            ("dwell_max_ms", self.dwell_max_ms as f64, self.dwell_ms as f64, day_s * 1e3),
            ("gain_share_min", self.gain_share_min, 0.0, 1.0),
            ("slower_share_max", self.slower_share_max, 0.0, 1.0),
            ("worse_share", self.worse_share, 0.0, 10.0),
            ("remember_s", self.remember_s as f64, 0.0, 365.0 * day_s),
            ("rest_requests_per_s", self.rest_requests_per_s, 0.0, 1e6),
            ("neighbours", self.neighbours as f64, 1.0, 16.0),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        check::assert_defaults_hold::<Config>();
        assert!(check::complaint::<Config>("models = []").contains("models"));
        let wrong = [
            Config { delay_share: 1.5, ..Config::default() },
            Config { delay_share: f64::NAN, ..Config::default() },
            Config { dwell_max_ms: 10, ..Config::default() },
            Config { neighbours: 0, ..Config::default() },
        ];
        for (config, key) in wrong.iter().zip(["delay_share", "delay_share", "dwell_max_ms", "neighbours"]) {
            assert_eq!(config.check().expect_err(key).key, key);
        }
    }
}
