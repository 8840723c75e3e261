//! Dimensions and measures of this kind.

use crate::measures::unit::*;
use crate::measures::{Dimension, Measure, dimension, shown, words};

pub(super) const BASELINE_PLACE: Dimension = dimension("baseline");
pub(super) const COMPARED_PLACE: Dimension = dimension("compared");
pub(super) const MEASURE: Dimension = dimension("measure");
pub(super) const NOT_IN: Dimension = dimension("not in");
pub(super) const ONLY_IN: Dimension = dimension("only in");
pub(super) const WHAT: Dimension = dimension("what");
pub(super) const BASELINE: Measure = shown("baseline", NUMBER);
pub(super) const BETTER: Measure = words("better");
pub(super) const COMPARED: Measure = shown("compared", NUMBER);
pub(super) const LARGEST_RATIO: Measure = shown("largest ratio", TIMES);
pub(super) const LEAST_RATIO: Measure = shown("least ratio", TIMES);
pub(super) const LOG_RATIO: Measure = shown("log ratio", NUMBER);
pub(super) const MEASURES: Measure = shown("measures", TALLY);
pub(super) const RATIO: Measure = words("ratio");
pub(super) const WHY: Measure = words("why");
