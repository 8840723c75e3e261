//! Reads before writes, while the foreground waits for reads.
//!
//! A foreground read queues behind background writes: on one device tested, its latency was up to 28 times that on an
//! idle device (dissertation 4.2.3). The paper's SmartIO is a kernel scheduler; this engine configures the schedulers
//! of the stock kernel for it: while an app is launched, or a foreground app stalls on reads, concurrently with writes
//! to the same device, it requests the device's `waiting` [`QueueSettings`] and I/O priorities; otherwise it requests
//! the `calm` settings, by default none, or the kernel scheduler `smartio` where the device has it.
//!
//! Terms: the `waiting` settings of a device model are found by search (`brisk study frontier`) and stored as a
//! [`Profile`]; a device without one gets the default of its kind ([`shipped`]), and the reason says so. A *need* is a
//! launch or stalled reads, concurrent with writes. Settings stay in force for the minimum dwell time `dwell_ms`, and
//! for the hold-off `hold_ms` after the last need. Whether they pay on a device is tried by [`brisk_core::trial`].
//!
//! A need takes evidence that *writes* compete (`writes.rs`) and that the app *reads from this device*
//! (`foreground.rs`). The first reads of a launch come before any evidence of them, so they are presumed where its disk
//! is not known to be another one: such a need ends with the dwell time when no read follows. A launch without writes
//! changes nothing: it would cost time and gain none.
//!
//! Properties, each with a test of the same name:
//! - `nothing_is_requested_without_a_foreground_request`, and `without_writes_nothing_is_requested`;
//! - `a_launch_during_writes_gets_its_priority_before_its_first_reads`, and
//!   `a_launch_that_meets_writes_later_is_protected_by_the_next_sample`;
//! - `apps_on_other_disks_change_nothing`; `without_knowledge_of_the_app_the_reads_of_the_device_decide`;
//! - `a_launch_that_only_writes_is_not_waited_for`; `a_launch_that_reads_nothing_is_held_for_three_seconds_at_most`;
//! - `no_knob_changes_faster_than_the_dwell`;
//! - `the_same_inputs_give_the_same_decision`;
//! - `no_scheduler_is_requested_that_the_device_lacks`;
//! - `writes_that_stand_still_end_it`: whatever the kernel makes of the settings, writes are not starved for good.

mod adaptive;
mod config;
mod foreground;
mod hunted;
mod hysteresis;
mod paper;
mod place;
mod profile;
mod requests;
mod writes;

use std::collections::{BTreeMap, BTreeSet};

use crate::kit::Engine;
use brisk_core::decision::{Decision, Observed};
use brisk_core::knob::Knob;
use brisk_core::trial::{Figure, Plan, Scope, Span};
use serde::{Deserialize, Serialize};

pub use config::{Config, Mode};
pub use foreground::{LastRead, Launch};
pub use hysteresis::Hysteresis;
pub use profile::{Evidence, Profile, QueueSettings, file_name, shipped};

/// The kernel scheduler that does in the kernel what this engine approximates: where a device has it and is of a kind
/// for which it was measured (`hunted.rs`), it replaces the `waiting` and `calm` settings.
pub const KERNEL_SCHEDULER: &str = "smartio";

/// Name of this engine in configurations and records.
pub const NAME: &str = "smartio";

/// State between two calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// By kernel name of the device.
    pub devices: BTreeMap<String, DeviceState>,
    /// Groups whose priority is raised or was, by name.
    pub groups: BTreeMap<String, Hysteresis>,
    /// Whether any is raised: then the priority of background groups is lowered.
    pub others: Hysteresis,
    /// Background groups whose priority is lowered or was, by name.
    pub lowered: BTreeMap<String, Hysteresis>,
    /// Launches that go on, by group.
    pub launches: BTreeMap<String, Launch>,
    /// Knobs that the kernel refused: not requested for again until the configuration is another one.
    pub refused: BTreeSet<Knob>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceState {
    /// Whether its `waiting` settings are requested.
    pub hold: Hysteresis,
}

#[derive(Debug)]
pub struct Smartio;

impl Engine for Smartio {
    const NAME: &'static str = NAME;
    type Config = Config;
    type State = State;
    type Learned = ();
    type Measured = Profile;

    fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
        match config.mode {
            Mode::Adaptive => adaptive::decide(config, state, observed),
            Mode::Paper => paper::decide(state, observed),
        }
    }

    fn trial(config: &Config) -> Option<Plan> {
        let (span, figure) = (Span::Load { most_s: 30 }, Figure::StorageShare);
        let plan = Plan { scope: Scope::Disk, span, figure, learn: 1 };
        (config.mode == Mode::Adaptive).then_some(plan)
    }

    fn measured(config: &mut Config, profile: Profile) -> Result<(), String> {
        // What stands in the configuration goes before what was measured.
        config.profiles.entry(profile.model.clone()).or_insert(profile);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
