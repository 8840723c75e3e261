//! The result of `brisk study footprint`.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::Header;
use brisk_report::vocabulary::THROUGHPUT;

/// One point of the footprint study: Revisiting storage, figure 15.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FootprintPoint {
    /// Random writes fell into the first so many bytes.
    pub range_bytes: u64,
    /// Throughput.
    #[schemars(extend("measure" = THROUGHPUT))]
    pub bandwidth_bytes_per_s: Summary,
}

/// Where throughput falls for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FootprintDrop {
    /// Last range before the fall.
    pub after_range_bytes: u64,
    /// Throughput before over after.
    pub factor: f64,
}

/// `brisk study footprint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FootprintReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// Size of a request.
    pub block_bytes: u64,
    /// Requests of a point.
    pub requests: u64,
    /// Bytes written in sequence before each point, so that no point inherits the one before.
    pub precondition_bytes: u64,
    /// All points by range.
    pub points: Vec<FootprintPoint>,
    /// Changes of regime.
    pub drops: Vec<FootprintDrop>,
}
