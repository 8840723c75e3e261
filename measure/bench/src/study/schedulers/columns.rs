//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown, words};

pub(super) const GROUP: Dimension = dimension("group");
pub(super) const LARGEST_OVER_THE_MIXES: Dimension = dimension("largest over the mixes");
pub(super) const LINE: Dimension = dimension("line");
pub(super) const STANDS_IN: Dimension = dimension("stands in");
pub(super) const WORST_OF: Dimension = dimension("worst of");
pub(super) const HERE_DEEPEST_LOAD: Measure = shown("here, deepest load", S);
pub(super) const PAPER: Measure = words("paper");
pub(super) const PAPER_FOR_THIS_SIZE_OF_MIX: Measure = shown("paper, for this size of mix", S);
pub(super) const SLOWDOWN_OF_READS: Measure = shown("slowdown of reads", TIMES);
pub(super) const SLOWDOWN_OF_WRITES: Measure = shown("slowdown of writes", TIMES);
pub(super) const TIME_MEASURE: Measure = shown("time", S);
pub(super) const TIME_OF_THE_MIX: Measure = lower("time of the mix", S);
