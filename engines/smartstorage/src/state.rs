//! What the engine keeps from one sample to the next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::adaptive::DeviceState;
use crate::paper::PaperState;

/// What the engine keeps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pub(crate) next_look_ns: Option<u64>,
    pub(crate) paper: PaperState,
    pub(crate) devices: BTreeMap<String, DeviceState>,
}

impl State {
    /// When the next sample is due at the latest, CLOCK_MONOTONIC.
    #[must_use]
    pub fn next_look_ns(&self) -> Option<u64> {
        self.next_look_ns
    }
}
