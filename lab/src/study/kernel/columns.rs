//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown, words};

pub(super) const AIM: Dimension = dimension("aim");
pub(super) const PATTERN: Dimension = dimension("pattern");
pub(super) const SETTINGS_PLACE: Dimension = dimension("settings");
pub(super) const AT_MOST: Measure = shown("at most", NUMBER);
pub(super) const AT_WORST: Measure = shown("at worst", NUMBER);
pub(super) const A_JOB_TOOK: Measure = shown("a job took", S);
pub(super) const BACKGROUND: Measure = shown("background", BANDWIDTH);
pub(super) const FOUND: Measure = shown("found", NUMBER);
pub(super) const ITS: Measure = shown("its", NUMBER);
pub(super) const ITS_SLOWDOWN: Measure = shown("its slowdown", TIMES);
pub(super) const JOBS_MEASURE: Measure = shown("jobs", TALLY);
pub(super) const LONGEST: Measure = shown("longest", US);
pub(super) const OF_MEASURE: Measure = words("of");
pub(super) const REQUESTS_PER_S_MEASURE: Measure = shown("requests/s", TALLY);
pub(super) const SETTINGS: Measure = words("settings");
pub(super) const TIME_OF_A_JOB: Measure = lower("time of a job", S);
pub(super) const VALUE: Measure = shown("value", NUMBER);
pub(super) const WORST: Measure = shown("worst", NUMBER);
