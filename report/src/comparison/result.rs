//! `brisk compare`: what changed between documents of the same kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{Better, Header};

/// Documents that were measured under the same condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCondition {
    /// As it was named, or its file.
    pub name: String,
    /// Its documents.
    pub documents: Vec<ComparedDocument>,
}

/// One document of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedDocument {
    /// Where it was read from.
    pub file: String,
    /// Its kind.
    pub kind: String,
    /// Its start, in RFC 3339.
    pub started: String,
}

/// In what a condition differs from the baseline: device, kernel, version, mode, ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionDifference {
    /// The condition.
    pub condition: String,
    /// What differs, in a word or two.
    pub what: String,
    /// In the baseline.
    pub baseline: String,
    /// In the condition.
    pub compared: String,
}

/// What a comparison of one measure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeVerdict {
    /// The interval of the ratio excludes 1, on the worse side.
    Regressed,
    /// The interval of the ratio excludes 1, on the better side.
    Improved,
    /// The interval includes 1.
    NoChange,
    /// Fewer than three runs on one side.
    TooFewRuns,
    /// One side has a single value.
    OneRun,
    /// No direction is better.
    NotJudged,
    /// One side has a value that is not positive.
    NoRatio,
}

/// What one condition found of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedValue {
    /// In the measure's unit: the geometric mean of the runs, or the median where a document keeps no runs; of several
    /// documents their geometric mean.
    pub centre: f64,
    /// Runs behind it, over all documents.
    pub runs: u64,
    /// Documents that have it.
    pub documents: u64,
}

/// One measure of one place of a study, under a condition and under the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedMeasure {
    /// The condition that is held against the baseline.
    pub condition: String,
    /// Kind of the documents.
    pub kind: String,
    /// Dimensions and places along them, such as `["load", "random read"]`.
    pub place: Vec<(String, String)>,
    /// The measure.
    pub measure: String,
    /// Its unit: `us`, `ms`, `s`, `bytes`, `bytes_per_s`, `per_s`, `uj`, `ratio` or `percent`.
    pub unit: String,
    /// Which way it improves.
    pub better: Better,
    /// Under the baseline.
    pub baseline: ComparedValue,
    /// Under the condition.
    pub compared: ComparedValue,
    /// Condition over baseline; absent where one of them is not positive.
    pub ratio: Option<f64>,
    /// Lower end of its interval (see [`ComparisonReport::interval_percent`]); absent with a single value.
    pub ratio_low: Option<f64>,
    /// Upper end of it.
    pub ratio_high: Option<f64>,
    /// Chance of a ratio as far from 1 or farther when nothing has changed, for this measure alone.
    pub p_value: Option<f64>,
    /// What that shows.
    pub verdict: ChangeVerdict,
}

impl ComparedMeasure {
    /// How many times worse the condition is; below 1 where it is better. `None` without a ratio or a better direction.
    #[must_use]
    pub fn worse_ratio(&self) -> Option<f64> {
        match self.better {
            Better::Lower => self.ratio,
            Better::Higher => self.ratio.map(|ratio| 1.0 / ratio),
            Better::Neither => None,
        }
    }
}

/// A measure that only one of two conditions has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedMeasure {
    /// The condition that has it.
    pub only_in: String,
    /// The condition that lacks it.
    pub not_in: String,
    /// Kind of the documents.
    pub kind: String,
    /// Dimensions and places along them.
    pub place: Vec<(String, String)>,
    /// The measure.
    pub measure: String,
}

/// `brisk compare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonReport {
    /// Common head: start and duration of the comparison itself, and the environment of the baseline.
    #[serde(flatten)]
    pub header: Header,
    /// What was compared; the first is the baseline of all others.
    pub conditions: Vec<ComparedCondition>,
    /// In what the conditions differ.
    pub differences: Vec<ConditionDifference>,
    /// Patterns of the measures that were selected; empty for all.
    pub only: Vec<String>,
    /// Expected share of false ones among the measures that are called improved or regressed, at most.
    pub false_discovery_percent: f64,
    /// Level of each interval, adjusted for the number of measures: so that of the intervals of improved and regressed
    /// measures at least 100 - `false_discovery_percent` hold the true ratio.
    pub interval_percent: f64,
    /// Regressions beyond this fail the comparison; absent where that was not asked for.
    #[serde(default)]
    pub fail_on_regression_percent: Option<f64>,
    /// Regressions first, then improvements, each with the most certain and largest first; then all others.
    pub measures: Vec<ComparedMeasure>,
    /// What only one of two conditions has.
    pub unmatched: Vec<UnmatchedMeasure>,
}

impl ComparisonReport {
    /// The regressions that make the condition worse by more than `percent`: longer times and less throughput alike, as
    /// the ratio of the worse to the better value.
    pub fn regressions_beyond(&self, percent: f64) -> impl Iterator<Item = &ComparedMeasure> {
        let is_beyond = move |one: &&ComparedMeasure| {
            one.verdict == ChangeVerdict::Regressed
                && one.worse_ratio().is_some_and(|ratio| ratio > 1.0 + percent / 100.0)
        };
        self.measures.iter().filter(is_beyond)
    }
}
