//! `brisk study heap`: how well the memory needs of apps are predicted, and what thresholds cover (dissertation 5.4).

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{HEAD_ROOM, TIME_COVERED};
use crate::results::Header;

/// The table that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeapTable {
    /// Name of the file.
    pub name: String,
    /// What its columns are: `growth`, `dumpsys` or `rss`.
    pub columns: String,
    /// Median time between two samples of a run.
    pub sampled_s: f64,
    /// Time between two values that were evaluated; the last sample before each is held.
    pub interval_s: f64,
    /// Runs with too few values to be evaluated.
    pub short_runs: u64,
}

/// The error of one pair of orders of equation 5.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeapOrder {
    /// p: values of the run.
    pub past: u32,
    /// q: values of an earlier run.
    pub historical: u32,
    /// Root of the mean squared error (5.2) by cross-validation; absent for p = q = 0.
    pub rmse_bytes: Option<f64>,
    /// The same from the fourth value on, which all orders predict.
    pub rmse_common_bytes: Option<f64>,
}

/// What equation 5.3 covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeapAlpha {
    /// Multiple of the error.
    pub alpha: f64,
    /// Values that it was evaluated on.
    pub values: u64,
    /// Share of the time for which the need was not above the threshold.
    #[schemars(extend("measure" = TIME_COVERED))]
    pub covered_percent: f64,
    /// Median of threshold / need - 1.
    pub head_room_percent_median: f64,
}

/// What the thresholds of one rule cover, and cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeapThreshold {
    /// The rule: `fixed`, `persistence`, `paper`, `adaptive` or `hindsight`.
    pub rule: String,
    /// Values that it was evaluated on.
    pub values: u64,
    /// Share of the time for which the need was not above the threshold.
    #[schemars(extend("measure" = TIME_COVERED))]
    pub covered_percent: f64,
    /// Median of threshold / need - 1.
    pub head_room_percent_median: f64,
    /// Mean of the same. A need of almost nothing, as in the first second of a launch, dominates it.
    pub head_room_percent_mean: f64,
    /// Sum of all thresholds over the sum of all needs, less 1: memory that is set aside and not needed.
    #[schemars(extend("measure" = HEAD_ROOM))]
    pub head_room_percent_of_sum: f64,
    /// The most by which a need was above the threshold.
    pub shortfall_bytes_max: f64,
    /// Runs of apps that were judged.
    #[serde(default)]
    pub runs: u64,
    /// Those in which the need was ever above the threshold: as a hard limit it would have ended the app.
    #[serde(default)]
    pub runs_beyond: u64,
}

/// Coverage and head-room of a rule for one aim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeapAim {
    /// The rule.
    pub rule: String,
    /// Coverage that was asked for.
    pub aim_percent: f64,
    /// Coverage that was found.
    #[schemars(extend("measure" = TIME_COVERED))]
    pub covered_percent: f64,
    /// Median of threshold / need - 1.
    pub head_room_percent_median: f64,
    /// Sum of all thresholds over the sum of all needs, less 1.
    #[schemars(extend("measure" = HEAD_ROOM))]
    pub head_room_percent_of_sum: f64,
}

/// One app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeapApp {
    /// The app.
    pub app: String,
    /// Its runs.
    pub runs: u64,
    /// The most that it needed in any run.
    pub need_bytes_max: u64,
    /// Correlations of the first ten values of each run with those of the one before (figure 5.5).
    pub begin_correlation: Option<Summary>,
    /// Errors by orders; none for fewer than three runs.
    pub orders: Vec<HeapOrder>,
    /// Equation 5.3 with the orders of the least error; none for fewer than three runs.
    pub alphas: Vec<HeapAlpha>,
    /// Thresholds; none for a single run.
    pub thresholds: Vec<HeapThreshold>,
}

/// `brisk study heap`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeapStudyReport {
    /// Head.
    #[serde(flatten)]
    pub header: Header,
    /// The table.
    pub table: HeapTable,
    /// Apps in the order of the table.
    pub apps: Vec<HeapApp>,
    /// Equation 5.3 over all apps.
    pub alphas: Vec<HeapAlpha>,
    /// Thresholds over all apps.
    pub thresholds: Vec<HeapThreshold>,
    /// What other aims cost, over all apps.
    pub aims: Vec<HeapAim>,
}
