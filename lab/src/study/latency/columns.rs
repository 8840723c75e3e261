//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown, words};

pub(super) const INPUT: Dimension = dimension("input");
pub(super) const SEED: Dimension = dimension("seed");
pub(super) const AN_EVENT: Measure = shown("an event", MS);
pub(super) const EVENTS: Measure = shown("events", TALLY);
pub(super) const FIRST_CHANGE: Measure = lower("first change", MS);
pub(super) const LATENCY: Measure = lower("latency", MS);
pub(super) const LIMIT_MEASURE: Measure = words("limit");
pub(super) const READ: Measure = shown("read", BYTES);
pub(super) const REPETITIONS: Measure = shown("repetitions", MS);
pub(super) const TIME_MEASURE: Measure = shown("time", MS);
pub(super) const TIME_OF_ALL_EVENTS: Measure = lower("time of all events", MS);
pub(super) const WRITTEN: Measure = shown("written", BYTES);
