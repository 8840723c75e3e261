//! Reads before writes, where somebody waits for them.
//!
//! A read that a person waits for stands behind writes that nobody waits for: on one device tested, up to 28 times
//! longer than alone (dissertation 4.2.3). The paper's SmartIO is a kernel scheduler; this engine has the schedulers of
//! the stock kernel do what they can: while an app is launched, or an app in front reads, beside writes to the same
//! device, it wishes for that device's `waiting` [`Setup`] and for I/O priorities; when nobody waits any more it wishes
//! nothing, and everything is as before.
//!
//! Terms: the `waiting` set-up of a model of device is found by search (`brisk study frontier`) and kept as a
//! [`Profile`]; a device without one gets the default of its kind ([`shipped`]), which says so. A *need* is a launch
//! or stalled reads beside writes; what follows a need *dwells*: it stands for `dwell_ms` at least, and for `hold_ms`
//! after the last need. *Backing off* is to leave a device alone for some time because the set-up did not help there.
//!
//! Properties, each with a test of the same name:
//! - `nothing_is_wished_while_nobody_waits`;
//! - `no_knob_changes_faster_than_the_dwell`;
//! - `the_same_inputs_give_the_same_decision`;
//! - `no_scheduler_is_wished_that_the_device_lacks`;
//! - `what_does_not_help_is_left_alone_and_remembered`;
//! - `writes_that_stand_still_end_it`: whatever the kernel makes of a set-up, writes cannot be held back for good.

mod adaptive;
mod config;
mod effect;
mod hold;
mod paper;
mod place;
mod setup;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::decision::{Decision, Observed};
use serde::{Deserialize, Serialize};

pub use config::{Config, Mode};
pub use effect::Effect;
pub use hold::Hold;
pub use setup::{Concurrency, Evidence, Profile, Setup, file_name, shipped};

/// The kernel scheduler that does in the kernel what this engine approximates: where a device has it, it is all that is
/// wished for.
pub const KERNEL_SCHEDULER: &str = "smartio";

/// Name of this engine in configurations and records.
pub const NAME: &str = "smartio";

/// What is kept between two looks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// When it was made, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// When it wants to be asked again at the latest.
    pub look_ns: Option<u64>,
    /// By kernel name of the device.
    pub devices: BTreeMap<String, DeviceState>,
    /// Groups whose priority is raised or was, by name.
    pub groups: BTreeMap<String, Hold>,
    /// Whether any is: then the priority of those for whom nobody waits is lowered.
    pub others: Hold,
    /// Knobs that the kernel refused: not wished for again until the configuration is another one.
    pub refused: BTreeSet<String>,
}

/// What is kept of one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceState {
    /// Whether its `waiting` set-up is wished for.
    pub hold: Hold,
    /// What that did.
    pub effect: Effect,
}

impl State {
    /// When the engine wants to be asked again at the latest, CLOCK_MONOTONIC.
    #[must_use]
    pub fn next_look_ns(&self) -> Option<u64> {
        self.look_ns
    }
}

/// Decides. Same inputs, same decision.
#[must_use]
pub fn decide(config: &Config, state: &State, observed: &Observed<'_>) -> Decision<State> {
    match config.mode {
        Mode::Adaptive => adaptive::decide(config, state, observed),
        Mode::Paper => paper::decide(state, observed),
    }
}

#[cfg(test)]
mod tests;
