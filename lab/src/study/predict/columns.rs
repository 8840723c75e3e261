//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, higher, lower, shown};

pub(super) const PREDICTED_APPS: Dimension = dimension("predicted apps");
pub(super) const APPS: Measure = shown("apps", TALLY);
pub(super) const CALIBRATION_ERROR: Measure = lower("calibration error", PERCENT);
pub(super) const HITS: Measure = shown("hits", PERCENT);
pub(super) const LAUNCHES: Measure = shown("launches", TALLY);
pub(super) const LAUNCHES_PREDICTED_BY_NINE_APPS: Measure = higher("launches predicted by nine apps", PERCENT);
pub(super) const MEDIAN_UPDATE: Measure = shown("median update", US);
pub(super) const OBSERVED: Measure = shown("observed", PERCENT);
pub(super) const P99_OF_UPDATES: Measure = shown("p99 of updates", US);
pub(super) const PREDICTED: Measure = shown("predicted", PERCENT);
pub(super) const PREDICTIONS: Measure = shown("predictions", TALLY);
pub(super) const STORED: Measure = shown("stored", BYTES);
pub(super) const TIME_OF_AN_UPDATE: Measure = lower("time of an update", US);
pub(super) const OF_1_APP: Measure = shown("1 app", PERCENT);
pub(super) const OF_3_APPS: Measure = shown("3 apps", PERCENT);
pub(super) const OF_5_APPS: Measure = shown("5 apps", PERCENT);
pub(super) const OF_9_APPS: Measure = shown("9 apps", PERCENT);
pub(super) const OF_10_APPS: Measure = shown("10 apps", PERCENT);
pub(super) const ADAPTIVE: Measure = shown("adaptive", PERCENT);
pub(super) const PAPER: Measure = shown("paper", PERCENT);
pub(super) const LRU: Measure = shown("lru", PERCENT);
pub(super) const FREQUENCY: Measure = shown("frequency", PERCENT);
pub(super) const NEXT: Measure = shown("next", PERCENT);
pub(super) const WITHIN_10_MIN: Measure = shown("within 10 min", PERCENT);
pub(super) const WITHIN_1_H: Measure = shown("within 1 h", PERCENT);
