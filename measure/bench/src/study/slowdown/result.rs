//! The result of `brisk study slowdown`.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{LATENCY_ALONE, LATENCY_AMONG_PEERS, LATENCY_IN_MIXED_LOAD};
use crate::results::{Header, Pattern};
use brisk_report::vocabulary::SLOWDOWN;

/// One row of the slowdown study: dissertation 4.2.3 and 4.2.4.
///
/// Alone means one stream and nothing else on the device, for 4 + 4 too: only so do the paper's figures for 4 + 4 (28
/// against 6.2 for 1 + 1) make sense. What the streams of one side cost each other is in the `peers` fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowdownRow {
    /// Order of addresses of both sides.
    pub pattern: Pattern,
    /// Reading streams and as many writing streams.
    pub streams: u32,
    /// Mean response time of a read of one stream that has the device to itself, per repetition.
    #[schemars(extend("measure" = LATENCY_ALONE))]
    pub read_alone_us: Summary,
    /// The same concurrent with as many writers.
    #[schemars(extend("measure" = LATENCY_IN_MIXED_LOAD))]
    pub read_beside_us: Summary,
    /// Mean response time of a write of one stream that has the device to itself.
    #[schemars(extend("measure" = LATENCY_ALONE))]
    pub write_alone_us: Summary,
    /// The same concurrent with as many readers.
    #[schemars(extend("measure" = LATENCY_IN_MIXED_LOAD))]
    pub write_beside_us: Summary,
    /// Concurrent over alone, pair by pair.
    #[schemars(extend("measure" = SLOWDOWN))]
    pub read_slowdown: Summary,
    /// Concurrent over alone, pair by pair.
    #[schemars(extend("measure" = SLOWDOWN))]
    pub write_slowdown: Summary,
    /// Mean response time of a read when all reading streams run and no writer; absent with one stream.
    #[serde(default)]
    #[schemars(extend("measure" = LATENCY_AMONG_PEERS))]
    pub read_peers_us: Option<Summary>,
    /// Mean response time of a write when all writing streams run and no reader; absent with one stream.
    #[serde(default)]
    #[schemars(extend("measure" = LATENCY_AMONG_PEERS))]
    pub write_peers_us: Option<Summary>,
    /// Each repetition, in the order in which they ran.
    #[serde(default)]
    pub runs: Vec<SlowdownRun>,
}

/// One repetition of a row of the slowdown study: mean response times, as in [`SlowdownRow`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowdownRun {
    /// A read of one stream alone.
    #[schemars(extend("measure" = LATENCY_ALONE))]
    pub read_alone_us: f64,
    /// A read concurrent with as many writers.
    #[schemars(extend("measure" = LATENCY_IN_MIXED_LOAD))]
    pub read_beside_us: f64,
    /// A write of one stream alone.
    #[schemars(extend("measure" = LATENCY_ALONE))]
    pub write_alone_us: f64,
    /// A write concurrent with as many readers.
    #[schemars(extend("measure" = LATENCY_IN_MIXED_LOAD))]
    pub write_beside_us: f64,
    /// A read when all reading streams run and no writer; absent with one stream.
    #[serde(default)]
    #[schemars(extend("measure" = LATENCY_AMONG_PEERS))]
    pub read_peers_us: Option<f64>,
    /// A write when all writing streams run and no reader; absent with one stream.
    #[serde(default)]
    #[schemars(extend("measure" = LATENCY_AMONG_PEERS))]
    pub write_peers_us: Option<f64>,
}

/// `brisk study slowdown`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowdownReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// Size of a request.
    pub block_bytes: u64,
    /// Bytes that each stream moves in a repetition.
    pub stream_bytes: u64,
    /// 1 + 1 and 4 + 4, sequential and random.
    pub rows: Vec<SlowdownRow>,
}
