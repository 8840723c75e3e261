//! Dimensions and measures of this kind.

use super::page::COVERED;
use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, higher, lower, shown, words};

pub(super) const ALPHA: Dimension = dimension("alpha");
pub(super) const P: Dimension = dimension("p");
pub(super) const AIM_MEASURE: Measure = shown("aim", COVERED);
pub(super) const COVERED_MEASURE: Measure = shown("covered", COVERED);
pub(super) const ERROR_OF_PREDICTIONS: Measure = lower("error of predictions", BYTES);
pub(super) const HEAD_ROOM: Measure = lower("head-room", PERCENT);
pub(super) const LARGEST_SHORTFALL: Measure = shown("largest shortfall", BYTES);
pub(super) const LEAST: Measure = shown("least", BYTES);
pub(super) const MEAN_HEAD_ROOM: Measure = shown("mean head-room", PERCENT);
pub(super) const MEDIAN_HEAD_ROOM: Measure = shown("median head-room", PERCENT);
pub(super) const PUBLISHED_MEASURE: Measure = shown("published", COVERED);
pub(super) const RUNS_BEYOND_IT: Measure = words("runs beyond it");
pub(super) const TIME_COVERED: Measure = higher("time covered", PERCENT);
pub(super) const VALUES: Measure = shown("values", TALLY);
/// Errors by the values of an earlier run.
pub(super) const Q: [Measure; 5] =
    [shown("q = 0", BYTES), shown("q = 1", BYTES), shown("q = 2", BYTES), shown("q = 3", BYTES), shown("q = 4", BYTES)];
