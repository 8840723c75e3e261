//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown, words};

pub(super) const DOT: Dimension = dimension("dot");
pub(super) const ENGINE: Dimension = dimension("engine");
pub(super) const ADDED_LATENCY: Measure = shown("added latency", MS);
pub(super) const ALL_WITHOUT_LOAD: Measure = shown("all without load", TIMES);
pub(super) const ALL_WITH_WRITES: Measure = shown("all with writes", TIMES);
pub(super) const REMOVED: Measure = words("removed");
pub(super) const WITHOUT_LOAD: Measure = shown("without load", TIMES);
pub(super) const WITH_BRISK_OVER_WITHOUT: Measure = lower("with brisk over without", TIMES).leaves();
pub(super) const WITH_WRITES: Measure = shown("with writes", TIMES);
pub(super) const OPENED_WITHOUT: Measure = shown("without brisk", MS);
pub(super) const OPENED_WITH: Measure = shown("with brisk", MS);
