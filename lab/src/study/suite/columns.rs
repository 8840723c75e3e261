//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Measure, shown};

pub(super) const LESS_CPU_WAIT: Measure = shown("less CPU wait", TIMES);
pub(super) const PAIRS: Measure = shown("pairs", TALLY);
