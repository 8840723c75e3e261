//! Readers concurrent with writers, with a daemon and without: part of the result of `brisk prove`.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::Pattern;

/// One quantity without brisk and with it, over repetitions in turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BothWays {
    /// Without.
    pub without: Summary,
    /// With.
    pub with: Summary,
    /// With over without, pair by pair.
    pub ratio: Summary,
}

/// Readers and writers at the same time: an app that reads, and something in the background that writes. All are
/// *finite jobs*, as fio runs them: they begin together, each moves the same number of bytes, one request at a time and
/// past the page cache, and ends. So who is served first ends first, and the work and its energy are the same with
/// brisk and without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProveJobs {
    /// Order of addresses of all of them.
    pub pattern: Pattern,
    /// Readers, and as many writers.
    pub streams: u32,
    /// What each of them moves.
    pub stream_bytes: u64,
    /// Mean response time of a read of one reader alone, without brisk.
    pub read_alone_us: Summary,
    /// Mean response time of a write of one writer alone, without brisk.
    pub write_alone_us: Summary,
    /// Mean response time of a read concurrent with the other streams.
    pub read_us: BothWays,
    /// Mean response time of a write concurrent with the other streams.
    pub write_us: BothWays,
    /// Mean response time of a read concurrent with the other streams over that alone without brisk, repetition by
    /// repetition.
    pub read_slowdown: BothWays,
    /// The same of a write.
    pub write_slowdown: BothWays,
    /// Bytes of all readers over the time until the last of them ended.
    pub read_bytes_per_s: BothWays,
    /// The same of the writers.
    pub write_bytes_per_s: BothWays,
    /// Bytes of all over the time until the last of all ended.
    pub bytes_per_s: BothWays,
    /// Energy of all of it, what brisk itself took included, by the meter of the report.
    pub energy_uj: BothWays,
}
