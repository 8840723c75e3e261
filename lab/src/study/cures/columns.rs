//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown, words};

pub(super) const DATA: Dimension = dimension("data");
pub(super) const ACKNOWLEDGED: Measure = shown("acknowledged", TALLY);
pub(super) const AT_RANDOM: Measure = shown("at random", BYTES);
pub(super) const BROKEN: Measure = shown("broken", TALLY);
pub(super) const CUTS: Measure = shown("cuts", TALLY);
pub(super) const DAMAGED: Measure = shown("damaged", TALLY);
pub(super) const GAIN: Measure = shown("gain", TIMES);
pub(super) const IN_STORAGE: Measure = shown("in storage", S);
pub(super) const LOST: Measure = shown("lost", TALLY);
pub(super) const NOTHING_AT_RISK: Measure = shown("nothing at risk", TALLY);
pub(super) const NOT_CLEAN: Measure = shown("not clean", TALLY);
pub(super) const NOT_MOUNTED: Measure = shown("not mounted", TALLY);
pub(super) const OLDEST_LOST: Measure = shown("oldest lost", S);
pub(super) const PAGES_LOST: Measure = shown("pages lost", TALLY);
pub(super) const PAGES_RIGHT: Measure = shown("pages right", TALLY);
pub(super) const PAGES_WRONG: Measure = shown("pages wrong", TALLY);
pub(super) const PROMISE: Measure = words("promise");
pub(super) const PUBLISHED: Measure = words("published");
pub(super) const READ_ERRORS: Measure = shown("read errors", TALLY);
pub(super) const RISK: Measure = words("risk");
pub(super) const RUN_TIME: Measure = lower("run time", S);
pub(super) const TABLE_V_AT_RANDOM: Measure = shown("table V, at random", BYTES);
pub(super) const TABLE_V_IN_SEQUENCE: Measure = shown("table V, in sequence", BYTES);
