//! `brisk predict eval`: how well the next app of a usage trace is predicted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::TIME_OF_AN_UPDATE;
use crate::results::Header;

/// Which uses count as launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PredictionWay {
    /// All: an app may follow itself.
    Uncollapsed,
    /// Those of another app than the one in front, which is never predicted.
    Collapsed,
}

impl PredictionWay {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Uncollapsed, Self::Collapsed];

    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncollapsed => "uncollapsed",
            Self::Collapsed => "collapsed",
        }
    }
}

/// Hits of one predictor with one user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionUser {
    /// The user.
    pub user: String,
    /// Launches, each predicted before it was learned; an app never used before is a miss.
    pub launches: u64,
    /// Apps used.
    pub apps: u64,
    /// Launches whose app was among the predicted ones, for each number of predicted apps.
    pub hits: Vec<u64>,
}

/// Predictions of about the same chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationBin {
    /// How many.
    pub count: u64,
    /// Mean of the predicted chances.
    pub predicted_percent: f64,
    /// Share of those that came true.
    pub observed_percent: f64,
}

/// Whether what has a predicted chance of 30 % comes true in 30 % of cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// What was predicted: `next`, or the return of an app within a time, such as `within 10 min`.
    pub event: String,
    /// Expected calibration error: mean distance between predicted and observed, weighted by the count of each bin.
    pub error_percent: f64,
    /// Bins with at least one prediction, ascending.
    pub bins: Vec<CalibrationBin>,
}

/// What predicting costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionCost {
    /// Median wall time of one update: predict a launch, and learn it.
    #[schemars(extend("measure" = TIME_OF_AN_UPDATE))]
    pub update_us_p50: f64,
    /// The time that 99 of 100 updates stay below.
    pub update_us_p99: f64,
    /// Largest size of what is stored for a user.
    pub state_bytes_max: u64,
}

/// One predictor, one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionResult {
    /// Its name: `adaptive`, `paper`, `lru`, `frequency`.
    pub predictor: String,
    /// Which uses count.
    pub way: PredictionWay,
    /// Users in the order of the trace.
    pub users: Vec<PredictionUser>,
    /// Of predictors that give chances.
    pub calibration: Vec<Calibration>,
    /// Absent for the baselines.
    #[serde(default)]
    pub cost: Option<PredictionCost>,
}

impl PredictionResult {
    /// Share of all launches that are hits, for the `nth` number of predicted apps.
    #[must_use]
    pub fn pooled_percent(&self, nth: usize) -> Option<f64> {
        let hits: f64 = self.users.iter().map(|user| user.hits.get(nth).map_or(0.0, |hits| *hits as f64)).sum();
        let launches: f64 = self.users.iter().map(|user| user.launches as f64).sum();
        (launches > 0.0).then(|| hits / launches * 100.0)
    }

    /// Mean of the shares of the users.
    #[must_use]
    pub fn mean_percent(&self, nth: usize) -> Option<f64> {
        let shares: Vec<f64> = self.users.iter().filter_map(|user| user.percent(nth)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

impl PredictionUser {
    /// Share of the launches that are hits.
    #[must_use]
    pub fn percent(&self, nth: usize) -> Option<f64> {
        let hits = *self.hits.get(nth)?;
        (self.launches > 0).then(|| hits as f64 / self.launches as f64 * 100.0)
    }
}

/// The trace, and how it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionTrace {
    /// Its file.
    pub name: String,
    /// File of context events, where one was given.
    #[serde(default)]
    pub context: Option<String>,
    /// Unlocks and notifications that were used.
    pub context_events: u64,
    /// Rows that were joined with an earlier row of the same app.
    pub joined_rows: u64,
    /// Users whose time zone was given.
    pub users_with_offset: u64,
}

/// `brisk predict eval`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The trace.
    pub trace: PredictionTrace,
    /// Numbers of predicted apps that hits are counted for.
    pub predicted_apps: Vec<u32>,
    /// All predictors, uncollapsed before collapsed.
    pub results: Vec<PredictionResult>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_count_alike_in_the_mean_and_launches_in_the_pool() {
        let user = |launches, hits| PredictionUser { user: "u".to_owned(), launches, apps: 3, hits: vec![hits] };
        let of = |users| PredictionResult {
            predictor: "lru".to_owned(),
            way: PredictionWay::Collapsed,
            users,
            calibration: Vec::new(),
            cost: None,
        };
        let result = of(vec![user(100, 90), user(10, 1), user(0, 0)]);
        assert_eq!(result.mean_percent(0), Some(50.0));
        assert!((result.pooled_percent(0).expect("launches") - 82.727).abs() < 0.001);
        assert_eq!((of(vec![]).mean_percent(0), of(vec![user(0, 0)]).pooled_percent(0)), (None, None));
    }
}
