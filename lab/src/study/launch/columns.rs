//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, shown, words};

pub(super) const AGAINST_PLACE: Dimension = dimension("against");
pub(super) const FILE: Dimension = dimension("file");
pub(super) const NUMBER_PLACE: Dimension = dimension("number");
pub(super) const PAIR: Dimension = dimension("pair");
pub(super) const STAGE: Dimension = dimension("stage");
pub(super) const STAYED_PLACE: Dimension = dimension("stayed");
pub(super) const UNIT: Dimension = dimension("unit");
pub(super) const UP_TO: Dimension = dimension("up to");
pub(super) const AT_THE_DEVICE: Measure = shown("at the device", MS);
pub(super) const BYTES_MEASURE: Measure = shown("bytes", BYTES);
pub(super) const EACH_RUN: Measure = shown("each run", MS);
pub(super) const FILES: Measure = shown("files", TALLY);
pub(super) const FIRST_AT: Measure = shown("first at", MS);
pub(super) const IN_MEMORY_BEFORE: Measure = shown("in memory before", BYTES);
pub(super) const LESS_CPU_WAIT: Measure = shown("less CPU wait", MS);
pub(super) const MEAN_SIZE: Measure = shown("mean size", BYTES);
pub(super) const MONITORING: Measure = shown("monitoring", PERCENT);
pub(super) const OTHER_CACHES: Measure = words("other caches");
pub(super) const RATIO: Measure = shown("ratio", TIMES);
pub(super) const READ: Measure = shown("read", BYTES);
pub(super) const RUNS_CHECKED: Measure = words("runs checked");
pub(super) const SHARE_MEASURE: Measure = words("share");
pub(super) const STAYED: Measure = shown("stayed", BYTES);
pub(super) const THREADS: Measure = shown("threads", TALLY);
pub(super) const TIME_MEASURE: Measure = shown("time", MS);
