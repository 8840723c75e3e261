//! Dimensions and measures of this kind.

use brisk_report::measures::unit::*;
use brisk_report::measures::{Dimension, Measure, dimension, lower, shown, words};

pub(super) const BEST: Dimension = dimension("best");
pub(super) const ALL_SETTINGS: Measure = shown("all settings", TIMES);
pub(super) const DELAY: Measure = shown("delay", US);
pub(super) const DELAY_OVER_OWN: Measure = shown("delay over own", TIMES).leaves();
pub(super) const ENERGY_OVER_OWN: Measure = shown("energy over own", TIMES).leaves();
pub(super) const ENERGY_PER_REQUEST: Measure = lower("energy/request", ENERGY);
pub(super) const READ: Measure = shown("read", US);
pub(super) const UJ_PER_REQUEST: Measure = shown("uJ/request", NUMBER);
pub(super) const WRITE: Measure = shown("write", US);
pub(super) const BY_THIS_PROFILE: Measure = words("by this profile");
pub(super) const ITS_ENERGY_OVER_THE_BEST: Measure = shown("its energy over the best", TIMES);
pub(super) const BY_THE_PUBLISHED_TABLE: Measure = words("by the published table");
pub(super) const ENERGY_OF_THE_TABLES: Measure = shown("energy of the table's", TIMES);
pub(super) const ONE_SETTING_FOR_ALL: Measure = words("one setting for all");
pub(super) const ENERGY_OF_THE_ONE: Measure = shown("energy of the one", TIMES);
pub(super) const THE_DEVICES_OWN: Measure = words("the device's own");
pub(super) const ENERGY_OF_THE_OWN: Measure = shown("energy of the own", TIMES);
