//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown};

pub(super) const OTHERS: Dimension = dimension("others");
pub(super) const PANEL: Dimension = dimension("panel");
pub(super) const AMONG_PEERS: Measure = shown("among peers", US);
pub(super) const LATENCY_ALONE: Measure = lower("latency alone", US).leaves();
pub(super) const LATENCY_AMONG_PEERS: Measure = lower("latency among peers", US);
pub(super) const LATENCY_IN_MIXED_LOAD: Measure = lower("latency in mixed load", US);
pub(super) const MIXED: Measure = shown("mixed", US);
pub(super) const PAPER: Measure = shown("paper", PRINTED);
