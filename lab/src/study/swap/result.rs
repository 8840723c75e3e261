//! `brisk swap`: the layout of recorded or synthetic swapping, and what another allocation of slots makes of it.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{LONGEST_SWAP_IN_LATENCY, MEAN_SWAP_IN_LATENCY, READ_IN_SEQUENCE, WAIT_OF_A_LAUNCH};
use crate::results::{Direction, Header};
use brisk_report::vocabulary::{READ_IN, THROUGHPUT, WRITTEN_OUT};

/// A trace of swapping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapTrace {
    /// Its file, or how it was made.
    pub name: String,
    /// Size of the swap area.
    pub area_bytes: u64,
    /// Apps in it.
    pub apps: u64,
    /// Launches in it.
    pub launches: u64,
    /// What was read in and written out.
    #[schemars(extend("measure" = READ_IN))]
    pub in_bytes: u64,
    /// What was written out.
    #[schemars(extend("measure" = WRITTEN_OUT))]
    pub out_bytes: u64,
    /// Time from its first to its last event.
    pub duration_s: f64,
}

/// An interval of time of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapBin {
    /// Where it begins.
    pub from_s: f64,
    /// Bytes a second read and written in it.
    #[schemars(extend("measure" = THROUGHPUT))]
    pub in_bytes_per_s: f64,
    /// Bytes a second written in it.
    pub out_bytes_per_s: f64,
    /// Mean length of what was read in sequence; absent where nothing was read.
    #[schemars(extend("measure" = READ_IN_SEQUENCE))]
    pub in_run_bytes: Option<f64>,
}

/// How sequential the recorded swapping was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapLayout {
    /// Length of an interval.
    pub interval_s: f64,
    /// Intervals in which something happened.
    pub bins: Vec<SwapBin>,
    /// Mean length of what was read in sequence.
    #[schemars(extend("measure" = READ_IN_SEQUENCE))]
    pub in_run_bytes: Option<f64>,
    /// Percent of what was read that an app used; the rest was read with a neighbour for nothing.
    #[serde(default)]
    pub used_percent: Option<f64>,
    /// Percent of what was read within 100 ms of a write.
    pub in_with_writes_percent: Option<f64>,
    /// Mean number of apps with pages in a cluster of 1 MiB at the end.
    pub apps_in_cluster: Option<f64>,
    /// Events without a slot, which are not counted.
    pub without_slot: u64,
}

/// A part of time and of the swap area in which pages were written or read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwapCell {
    /// Number of the interval of time.
    pub column: u32,
    /// Number of the part of the area.
    pub row: u32,
    /// Read or written.
    pub direction: Direction,
    /// Index into [`SwapMap::apps`]: the app with the most pages.
    pub app: u32,
    /// Pages of all apps.
    pub pages: u64,
}

/// What an app swapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwapApp {
    /// Its name.
    pub name: String,
    /// Bytes read from the area for it.
    #[schemars(extend("measure" = READ_IN))]
    pub in_bytes: u64,
    /// Bytes of its pages that it used from the area.
    pub used_bytes: u64,
    /// Bytes of its pages that were written.
    #[schemars(extend("measure" = WRITTEN_OUT))]
    pub out_bytes: u64,
}

/// Which parts of the swap area were written and read at which time, and for which app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapMap {
    /// Length of an interval.
    pub column_s: f64,
    /// Size of a part of the area.
    pub row_bytes: u64,
    /// The apps, in the order in which the trace has them.
    pub apps: Vec<SwapApp>,
    /// Where something happened.
    pub cells: Vec<SwapCell>,
}

/// All traces under one policy. Summaries are over the traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapReplay {
    /// Allocation of slots: `linux`, `extents` or `mars`.
    pub policy: String,
    /// What a fault reads: `window`, `extent` or `app`.
    pub swap_in: String,
    /// Bandwidth of swap-in while a read is pending.
    #[schemars(extend("measure" = THROUGHPUT))]
    pub in_bytes_per_s: Summary,
    /// Latency of a read request from the queue to its end: mean and longest of a trace.
    #[schemars(extend("measure" = MEAN_SWAP_IN_LATENCY))]
    pub read_ms_mean: Summary,
    /// The longest of a trace.
    #[schemars(extend("measure" = LONGEST_SWAP_IN_LATENCY))]
    pub read_ms_max: Summary,
    /// The same from when the device took it.
    pub device_ms_mean: Summary,
    /// The longest of a trace from when the device took it.
    pub device_ms_max: Summary,
    /// Time that a launch waited for swap-in: mean of a trace.
    #[schemars(extend("measure" = WAIT_OF_A_LAUNCH))]
    pub launch_wait_ms_mean: Summary,
    /// Size of a read request: mean of a trace.
    pub request_bytes_mean: Summary,
    /// Bytes that were read.
    #[schemars(extend("measure" = READ_IN))]
    pub in_bytes: Summary,
    /// Percent of them that an app used.
    pub used_percent: Summary,
    /// Bytes that were written.
    #[schemars(extend("measure" = WRITTEN_OUT))]
    pub out_bytes: Summary,
    /// Percent of the time of reading with a write in the device.
    pub with_writes_percent: Summary,
    /// Most bytes whose write was put off during a launch: memory that has to be free.
    pub reserve_bytes_max: Summary,
    /// Pages that got a slot outside of an extent of their app, since none was free.
    pub stray_pages: Summary,
    /// Pages that the trace reads without having written them, or that found no free slot.
    pub unknown_pages: Summary,
}

/// `brisk swap show` and `brisk swap replay`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapReport {
    /// Head.
    #[serde(flatten)]
    pub header: Header,
    /// The traces.
    pub traces: Vec<SwapTrace>,
    /// How the trace lay in the recorded system; absent for a replay.
    #[serde(default)]
    pub layout: Option<SwapLayout>,
    /// Where in the area that was, and for which app; absent for a replay.
    #[serde(default)]
    pub map: Option<SwapMap>,
    /// The flash of the replays.
    #[serde(default)]
    pub preset: Option<String>,
    /// Policies, in the order asked for.
    #[serde(default)]
    pub replays: Vec<SwapReplay>,
}
