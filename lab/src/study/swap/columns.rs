//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Measure, higher, lower, shown};

pub(super) const LAUNCH_WAITS: Measure = shown("launch waits", MS);
pub(super) const LONGEST_IN_DEVICE: Measure = shown("longest in device", MS);
pub(super) const LONGEST_READ: Measure = shown("longest read", MS);
pub(super) const LONGEST_SWAP_IN_LATENCY: Measure = lower("longest swap-in latency", MS);
pub(super) const MEAN_IN_DEVICE: Measure = shown("mean in device", MS);
pub(super) const MEAN_READ: Measure = shown("mean read", MS);
pub(super) const MEAN_SWAP_IN_LATENCY: Measure = lower("mean swap-in latency", MS);
pub(super) const PIECE: Measure = shown("piece", BYTES);
pub(super) const PUBLISHED_LONGEST: Measure = shown("published longest", MS);
pub(super) const PUBLISHED_MEAN: Measure = shown("published mean", MS);
pub(super) const PUBLISHED_SWAP_IN: Measure = shown("published swap-in", BANDWIDTH);
pub(super) const READ: Measure = shown("read", BYTES);
pub(super) const READ_IN_SEQUENCE: Measure = higher("read in sequence", BYTES);
pub(super) const REQUEST: Measure = shown("request", BYTES);
pub(super) const RESERVE: Measure = shown("reserve", BYTES);
pub(super) const SWAP_IN_MEASURE: Measure = shown("swap-in", BANDWIDTH);
pub(super) const USED: Measure = shown("used", BYTES);
pub(super) const WAIT_OF_A_LAUNCH: Measure = lower("wait of a launch", MS);
pub(super) const WITH_WRITES: Measure = shown("with writes", SHARE);
pub(super) const WRITTEN: Measure = shown("written", BYTES);
