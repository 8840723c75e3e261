//! The result of `brisk study concurrency`.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{CONCURRENT_TIME, SERIAL_TIME, SPEED_UP};
use crate::results::{Direction, Header, Pattern};

/// One point of the concurrency study: dissertation 4.2.5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcurrencyPoint {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// Streams, one after the other and at the same time.
    pub streams: u32,
    /// Time of the streams one after the other.
    #[schemars(extend("measure" = SERIAL_TIME))]
    pub serial_s: Summary,
    /// Time of the slowest of them when all run at once.
    #[schemars(extend("measure" = CONCURRENT_TIME))]
    pub concurrent_s: Summary,
    /// Serial over concurrent, pair by pair.
    #[schemars(extend("measure" = SPEED_UP))]
    pub speedup: Summary,
}

/// The fewest streams that gain as much as any number: a parameter of SmartIO.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcurrencyParameter {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// The fewest streams whose speed-up is within noise of the best.
    pub streams: u32,
    /// Their median speed-up.
    #[schemars(extend("measure" = SPEED_UP))]
    pub speedup: f64,
}

/// `brisk study concurrency`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcurrencyReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// Size of a request.
    pub block_bytes: u64,
    /// Bytes of each stream.
    pub stream_bytes: u64,
    /// All points.
    pub points: Vec<ConcurrencyPoint>,
    /// The four parameters.
    pub parameters: Vec<ConcurrencyParameter>,
}
