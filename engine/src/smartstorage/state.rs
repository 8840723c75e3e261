//! What the engine keeps from one sample to the next.

use std::collections::BTreeMap;

use brisk_core::reason::Reason;
use serde::{Deserialize, Serialize};

use crate::smartstorage::pattern::{Answer, Pattern, Window};
use crate::smartstorage::setting::Setting;

/// What the engine keeps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pub(crate) paper: PaperState,
    pub(crate) devices: BTreeMap<String, DeviceState>,
}

/// What is kept of the current minute, and what the last one gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PaperState {
    pub(crate) began_ns: Option<u64>,
    pub(crate) reads: f64,
    pub(crate) writes: f64,
    /// The setting of the last minute with I/O, and why.
    pub(crate) chosen: Option<(Setting, Reason)>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceState {
    /// What was seen since pattern or setting last changed.
    pub(crate) window: Window,
    /// The requested setting, and the reason; absent: the device's own.
    pub(crate) chosen: Option<(Setting, Reason)>,
    /// When settings were switched, as far as the dwell time asks.
    pub(crate) switched_ns: Vec<u64>,
    /// The last switch, as long as it is not judged.
    pub(crate) trial: Option<Trial>,
    /// What is not tried again.
    pub(crate) remembered: Vec<Remembered>,
    /// An app is being launched.
    pub(crate) urgent: bool,
    /// The device's queue was changed externally: it is left alone until the configuration is read again.
    #[serde(rename = "taken")]
    pub(crate) changed_externally: bool,
    /// Rule of the last note: no note is repeated.
    #[serde(rename = "told")]
    pub(crate) last_note: String,
}

/// A switch that is to be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trial {
    pub(crate) from: Option<(Setting, Reason)>,
    pub(crate) pattern: Pattern,
    pub(crate) answer: Answer,
    pub(crate) began_ns: u64,
}

/// A setting that regressed or was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) setting: Setting,
    /// With which pattern; absent: the kernel refused it, so with any.
    pub(crate) pattern: Option<Pattern>,
    pub(crate) until_ns: u64,
}
