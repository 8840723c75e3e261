//! How far the kernel lab can be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the virtual machine can be believed: every run was refused that was worse than the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFidelity {
    /// Largest mean lateness of the device's timer over the runs.
    pub lateness_ns_mean: f64,
    /// Beyond this a run is refused.
    pub lateness_ns_bound: f64,
    /// Largest difference between the requests of a case and of its repeat within a boot.
    pub repeat_percent: f64,
    /// Beyond this a run is refused: more where the same case differs more with another seed.
    pub repeat_percent_bound: f64,
    /// The same for equal jobs alone: where they finish few requests, this is what chance makes of them, and not
    /// bounded.
    pub repeat_percent_of_jobs: f64,
    /// Boots behind the figures.
    pub boots: u32,
    /// Cases behind the figures, search included.
    pub cases: u32,
    /// Of those, cases that an earlier run had measured.
    #[serde(default)]
    pub kept: u32,
}
