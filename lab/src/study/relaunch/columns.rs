//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown, words};

pub(super) const APP_AND_POLICY: Dimension = dimension("app and policy");
pub(super) const ANSWERED: Measure = shown("answered", MS);
pub(super) const ENDED_APPS: Measure = shown("ended apps", TALLY);
pub(super) const FIRST_DRAWN: Measure = shown("first drawn", MS);
pub(super) const FILE_READS: Measure = shown("file reads", MS);
pub(super) const IN_SWAP: Measure = shown("in swap", BYTES);
pub(super) const LAUNCHED_ANEW: Measure = shown("launched anew", TALLY);
pub(super) const NINE_OF_TEN: Measure = shown("nine of ten within", MS);
pub(super) const OVER_THE_FIRST: Measure = shown("over the first", TIMES);
pub(super) const READ: Measure = shown("read", BYTES);
pub(super) const RECLAIM: Measure = shown("reclaim", MS);
pub(super) const RETURNS: Measure = shown("returns", TALLY);
pub(super) const RETURNS_TO_EACH: Measure = shown("returns to each", TALLY);
pub(super) const RETURN_TO_AN_APP: Measure = lower("return to an app", MS);
pub(super) const SCREEN_ALONE: Measure = shown("screen alone", MS);
pub(super) const STATES: Measure = words("states");
pub(super) const SUM_OF_MEDIANS: Measure = shown("sum of medians", MS);
pub(super) const SWAP_IN_MEASURE: Measure = shown("swap-in", MS);
pub(super) const WHAT_IT_IS: Measure = words("what it is");
pub(super) const WRITTEN: Measure = shown("written", BYTES);
pub(super) const WRITTEN_TO_STORAGE: Measure = lower("written to storage", BYTES);
