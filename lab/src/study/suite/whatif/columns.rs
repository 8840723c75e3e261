//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, higher, shown, words};

pub(super) const CHANGE_PLACE: Dimension = dimension("change");
pub(super) const HERE: Dimension = dimension("here");
pub(super) const PHONE: Dimension = dimension("phone");
pub(super) const APPS: Measure = shown("apps", SHARE);
pub(super) const MEDIAN: Measure = shown("median", SHARE);
pub(super) const MOST: Measure = words("most");
pub(super) const OVER_UNCHANGED: Measure = shown("over unchanged", TIMES);
pub(super) const PAPER: Measure = shown("paper", PRINTED);
pub(super) const PRINTED_MEASURE: Measure = words("printed");
pub(super) const SAVED: Measure = words("saved");
pub(super) const TIME_SAVED: Measure = shown("time saved", PERCENT);
pub(super) const TRANSACTIONS_PER_S: Measure = higher("transactions/s", COUNT);
