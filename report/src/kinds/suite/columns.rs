//! Dimensions and measures of this kind.

use crate::measures::unit::*;
use crate::measures::{Measure, shown};

pub(super) const LESS_CPU_WAIT: Measure = shown("less CPU wait", TIMES);
pub(super) const PAIRS: Measure = shown("pairs", TALLY);
