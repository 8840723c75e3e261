//! Dimensions and measures of this kind.

use super::page::RATIO;
use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, higher, shown, words};

pub(super) const SMALLEST_LOAD: Dimension = dimension("smallest load");
pub(super) const AT_MOST: Measure = shown("at most", RATIO);
pub(super) const BEFORE: Measure = shown("before", RATIO);
pub(super) const COMMIT_P99: Measure = shown("commit p99", US);
pub(super) const CONFIRMED: Measure = words("confirmed");
pub(super) const DISCARDS_PER_S: Measure = shown("discards/s", TALLY);
pub(super) const FILE: Measure = words("file");
pub(super) const HOLD: Measure = shown("hold", TALLY);
pub(super) const ITS: Measure = shown("its", US);
pub(super) const ITS_WRITES: Measure = shown("its writes", BANDWIDTH);
pub(super) const JOBS_AND_DEVICE: Measure = words("jobs and device");
pub(super) const LOADS_THAT_HOLD: Measure = higher("loads that hold", PERCENT);
pub(super) const MEDIAN: Measure = shown("median", RATIO);
pub(super) const NOT_DOMINATED: Measure = shown("not dominated", TALLY);
pub(super) const RATIO_MEASURE: Measure = shown("ratio", RATIO);
pub(super) const READ_MEAN: Measure = shown("read mean", US);
pub(super) const SHARE_MEASURE: Measure = shown("share", SHARE);
pub(super) const STARVED: Measure = words("starved");
pub(super) const TRIED: Measure = shown("tried", TALLY);
pub(super) const WORST: Measure = shown("worst", RATIO);
pub(super) const WRITE_MEAN: Measure = shown("write mean", US);
