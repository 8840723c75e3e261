//! Configuration, and the models.

use serde::{Deserialize, Serialize};

use crate::model::{Criteria, Model};

/// How settings are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As the dissertation does, with its constants.
    Paper,
    /// By what was measured on this device, within seconds.
    #[default]
    Adaptive,
}

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How settings are chosen.
    pub mode: Mode,
    /// What counts when nothing is launched: 0 is energy alone, 1 delay alone. While an app is launched, delay alone does.
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

/// A value that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{key} = {value} cannot be: use {allowed}")]
pub struct ConfigError {
    /// The key.
    pub key: &'static str,
    /// What stands there.
    pub value: f64,
    /// What may stand there.
    pub allowed: &'static str,
}

impl Config {
    /// The criteria for a choice from a model.
    #[must_use]
    pub fn criteria(&self) -> Criteria {
        Criteria { neighbours: self.neighbours, slower_share_max: self.slower_share_max }
    }

    /// Validates that no value is out of range.
    ///
    /// # Errors
    /// The first one that there is.
    pub fn check(&self) -> Result<(), ConfigError> {
        let share = "0 to 1";
        let checks: [(&'static str, f64, f64, f64, &'static str); 11] = [
            ("delay_share", self.delay_share, 0.0, 1.0, share),
            ("period_s", self.period_s as f64, 1.0, 86_400.0, "1 to 86400"),
            ("look_ms", self.look_ms as f64, 100.0, 60_000.0, "100 to 60000"),
            ("dwell_ms", self.dwell_ms as f64, 1_000.0, 3_600_000.0, "1000 to 3600000"),
            ("dwell_max_ms", self.dwell_max_ms as f64, self.dwell_ms as f64, 86_400_000.0, "dwell_ms to 86400000"),
            ("gain_share_min", self.gain_share_min, 0.0, 1.0, share),
            ("slower_share_max", self.slower_share_max, 0.0, 1.0, share),
            ("worse_share", self.worse_share, 0.0, 10.0, "0 to 10"),
            ("remember_s", self.remember_s as f64, 0.0, 31_536_000.0, "0 to 31536000"),
            ("rest_requests_per_s", self.rest_requests_per_s, 0.0, 1e6, "0 to 1000000"),
            ("neighbours", self.neighbours as f64, 1.0, 16.0, "1 to 16"),
        ];
        let wrong = checks.into_iter().find(|(_, value, low, high, _)| !(*low..=*high).contains(value));
        wrong.map_or(Ok(()), |(key, value, _, _, allowed)| Err(ConfigError { key, value, allowed }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        assert_eq!(Config::default().check(), Ok(()));
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

    #[test]
    fn an_unknown_key_is_refused() {
        let read = |text: &str| serde_json::from_str::<Config>(text);
        assert_eq!(read("{\"mode\": \"paper\"}").expect("known").mode, Mode::Paper);
        assert!(read("{\"modus\": \"paper\"}").expect_err("unknown").to_string().contains("modus"));
        assert!(read("{\"models\": []}").is_err());
    }
}
