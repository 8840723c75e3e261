//! Dimensions and measures of this kind.

use super::page::FEW;
use brisk_report::measures::unit::*;
use brisk_report::measures::{Measure, lower, shown, words};

pub(super) const FRONTIER: Measure = words("frontier");
pub(super) const LONGEST_SMALL_WRITE: Measure = shown("longest small write", US);
pub(super) const LONGEST_WRITE: Measure = lower("longest write", US);
pub(super) const P99_READ_LATENCY: Measure = lower("p99 read latency", US);
pub(super) const READ: Measure = shown("read", US);
pub(super) const READS_TAKE: Measure = shown("reads take", FEW).leaves();
pub(super) const TRIALS: Measure = shown("trials", TALLY);
pub(super) const WRITES_REACH: Measure = shown("writes reach", FEW).leaves();
pub(super) const WRITES_KEPT: Measure = shown("writes that a choice has to keep", PERCENT).leaves();
pub(super) const WRITTEN: Measure = shown("written", BANDWIDTH);
