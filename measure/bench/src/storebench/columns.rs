//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, neither, shown};

pub(super) const FIGURE: Dimension = dimension("figure");
pub(super) const HEAD: Dimension = dimension("head");
pub(super) const PERCENTILE: Dimension = dimension("percentile");
pub(super) const CPUS_BUSY: Measure = neither("CPUs busy", PERCENT);
pub(super) const CPU_PER_REQUEST: Measure = lower("CPU/request", US);
pub(super) const HERE: Measure = shown("here", US);
pub(super) const IOWAIT: Measure = shown("iowait", PERCENT).leaves();
pub(super) const MAX: Measure = shown("max", US);
pub(super) const P50_LATENCY: Measure = lower("p50 latency", US).leaves();
pub(super) const P95: Measure = shown("p95", US).leaves();
pub(super) const PAPER: Measure = shown("paper", US);
pub(super) const TIME_MEASURE: Measure = shown("time", US);
