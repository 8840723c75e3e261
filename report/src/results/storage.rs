//! What results of storage share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Order of the addresses of a stream of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each request begins where the one before ended.
    Sequential,
    /// Each address is drawn uniformly, without repeats until the range is used up.
    Random,
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// What energy was counted with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileMeter {
    /// `rapl`, `battery` or `modelled`.
    pub name: String,
    /// What it counts.
    pub what: String,
    /// How well.
    pub uncertainty: String,
}
