//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Measure, higher, lower, shown};

pub(super) const CONCURRENT: Measure = shown("concurrent", S);
pub(super) const CONCURRENT_TIME: Measure = lower("concurrent time", S);
pub(super) const PAPERS_SPEED_UP: Measure = shown("paper's speed-up", PRINTED);
pub(super) const PAPERS_STREAMS: Measure = shown("paper's streams", TALLY);
pub(super) const SERIAL: Measure = shown("serial", S);
pub(super) const SERIAL_TIME: Measure = lower("serial time", S);
pub(super) const SPEED_UP: Measure = higher("speed-up", TIMES).leaves();
