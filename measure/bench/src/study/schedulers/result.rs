//! The result of `brisk study schedulers`.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::TIME_OF_THE_MIX;
use crate::results::{Header, Pattern};
use brisk_report::vocabulary::{READ_LATENCY, WRITE_LATENCY};

/// One point of the scheduler study: dissertation 4.5.3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerPoint {
    /// The I/O scheduler.
    pub scheduler: String,
    /// `nr_requests` that was asked for; absent for what each scheduler brings. Points are compared by this.
    #[serde(default)]
    pub wanted_depth_requests: Option<u32>,
    /// `nr_requests` that the kernel showed during the point: schedulers bring different ones.
    pub queue_depth_requests: u32,
    /// Requests that the load keeps in flight.
    pub depth_requests: u32,
    /// Order of addresses.
    pub pattern: Pattern,
    /// Share of reads in the mix.
    pub read_percent: u32,
    /// Time until the whole mix was done.
    #[schemars(extend("measure" = TIME_OF_THE_MIX))]
    pub response_s: Summary,
    /// Mean response time of a read in the mix; absent without reads.
    #[schemars(extend("measure" = READ_LATENCY))]
    pub read_us: Option<Summary>,
    /// Mean response time of a write in the mix; absent without writes.
    #[schemars(extend("measure" = WRITE_LATENCY))]
    pub write_us: Option<Summary>,
    /// Read time over that of the mix without writes, same scheduler and depth.
    pub read_slowdown: Option<f64>,
    /// Write time over that of the mix without reads, same scheduler and depth.
    pub write_slowdown: Option<f64>,
}

/// `brisk study schedulers`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulersReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// Size of a request.
    pub block_bytes: u64,
    /// Bytes of a mix.
    pub mix_bytes: u64,
    /// All points.
    pub points: Vec<SchedulerPoint>,
    /// Whether scheduler and depth stand as they did before.
    pub restored: bool,
}
