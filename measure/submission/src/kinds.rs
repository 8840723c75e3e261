//! The results of a submission, by kind: what of each document is taken.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use brisk_report::results::{CacheVerdict, Direction, Pattern, Temperature};

use crate::text::Word;

/// One document, reduced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Submitted {
    /// Of `brisk bench`.
    Bench(Bench),
    /// Of `brisk study slowdown`.
    Slowdown(Slowdown),
    /// Of `brisk study concurrency`.
    Concurrency(Concurrency),
    /// Of `brisk study frontier`.
    Frontier(Frontier),
    /// Of `brisk profile`.
    Profile(Profile),
    /// Of `brisk launch`.
    Launch(Launch),
    /// Of `brisk prove`.
    Prove(Prove),
}

/// Median of repeated measurements, and its interval of at most 95 %, in the unit of the field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Repetitions.
    #[cfg_attr(test, schemars(range(min = 1, max = 100_000)))]
    pub count: u32,
    /// The middle value.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub median: f64,
    /// Lower end of its interval.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub low: f64,
    /// Upper end of its interval.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub high: f64,
}

/// One kind of load alone on the device (dissertation 4.2.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Order of addresses.
    #[cfg_attr(test, schemars(with = "crate::schema::Pattern"))]
    pub pattern: Pattern,
    /// Read or write.
    #[cfg_attr(test, schemars(with = "crate::schema::Direction"))]
    pub direction: Direction,
    /// Size of a request.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_073_741_824)))]
    pub block_bytes: u64,
    /// Requests in flight.
    #[cfg_attr(test, schemars(range(min = 1, max = 4096)))]
    pub depth_requests: u32,
    /// Bandwidth over the repetitions.
    pub bandwidth_bytes_per_s: Spread,
    /// Median response time of a request.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub latency_us_p50: f64,
    /// 95th percentile.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub latency_us_p95: f64,
    /// 99th percentile.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub latency_us_p99: f64,
    /// Share of the processors' time that was idle with storage requests outstanding.
    #[cfg_attr(test, schemars(range(min = 0, max = 100)))]
    pub iowait_percent: f64,
}

/// Time of a durable write of `block_bytes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sync {
    /// `fsync` or `fdatasync`.
    pub call: Word,
    /// Bytes written before each call.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_073_741_824)))]
    pub block_bytes: u64,
    /// Median of write and call together.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub latency_us_p50: f64,
    /// 99th percentile.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e15)))]
    pub latency_us_p99: f64,
}

/// The benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// `quick`, `normal` or `full`; `model` for model time.
    pub budget: Word,
    /// Whether the figures are the storage's.
    #[cfg_attr(test, schemars(with = "crate::schema::CacheVerdict"))]
    pub cache: CacheVerdict,
    /// Codes of warnings.
    #[cfg_attr(test, schemars(length(max = 32)))]
    pub warnings: Vec<Word>,
    /// Loads at the base block size.
    #[cfg_attr(test, schemars(length(max = 64)))]
    pub jobs: Vec<Job>,
    /// Durable writes.
    #[cfg_attr(test, schemars(length(max = 8)))]
    pub syncs: Vec<Sync>,
}

/// Reads concurrent with writes, over each alone (dissertation 4.2.3, 4.2.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlowdownRow {
    /// Order of addresses of both sides.
    #[cfg_attr(test, schemars(with = "crate::schema::Pattern"))]
    pub pattern: Pattern,
    /// Reading streams, and as many writing streams.
    #[cfg_attr(test, schemars(range(min = 1, max = 4096)))]
    pub streams: u32,
    /// Response time of a read alone.
    pub read_alone_us: Spread,
    /// Response time of a write alone.
    pub write_alone_us: Spread,
    /// Response time of a read concurrent with writes over that alone.
    pub read_slowdown: Spread,
    /// Response time of a write concurrent with reads over that alone.
    pub write_slowdown: Spread,
}

/// The study of mixed load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Slowdown {
    /// Codes of warnings.
    #[cfg_attr(test, schemars(length(max = 32)))]
    pub warnings: Vec<Word>,
    /// Size of a request.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_073_741_824)))]
    pub block_bytes: u64,
    /// By pattern and number of streams.
    #[cfg_attr(test, schemars(length(max = 16)))]
    pub rows: Vec<SlowdownRow>,
}

/// One number of streams (dissertation 4.2.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ConcurrencyPoint {
    /// Order of addresses.
    #[cfg_attr(test, schemars(with = "crate::schema::Pattern"))]
    pub pattern: Pattern,
    /// Read or write.
    #[cfg_attr(test, schemars(with = "crate::schema::Direction"))]
    pub direction: Direction,
    /// Streams at once.
    #[cfg_attr(test, schemars(range(min = 1, max = 4096)))]
    pub streams: u32,
    /// Time one after the other over time at once.
    pub speedup: Spread,
}

/// The study of concurrent streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Concurrency {
    /// Codes of warnings.
    #[cfg_attr(test, schemars(length(max = 32)))]
    pub warnings: Vec<Word>,
    /// Size of a request.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_073_741_824)))]
    pub block_bytes: u64,
    /// All points.
    #[cfg_attr(test, schemars(length(max = 64)))]
    pub points: Vec<ConcurrencyPoint>,
}

/// What one setting of a block queue gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrontierPoint {
    /// The I/O scheduler.
    pub scheduler: Word,
    /// Knobs of the queue with their values; empty for the settings that were found.
    #[cfg_attr(test, schemars(length(max = 16)))]
    pub settings: BTreeMap<Word, Word>,
    /// Readers had the real-time I/O class.
    pub priorities: bool,
    /// Read time over that with the settings found.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e6)))]
    pub read_ratio: f64,
    /// Write throughput in percent of that with the settings found.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e6)))]
    pub write_percent: f64,
    /// Fewest trials of a load.
    #[cfg_attr(test, schemars(range(min = 1, max = 100_000)))]
    pub trials: u32,
    /// The setting that the search chose.
    pub chosen: bool,
}

/// The search for settings: those on the frontier, and those found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frontier {
    /// Codes of warnings.
    #[cfg_attr(test, schemars(length(max = 32)))]
    pub warnings: Vec<Word>,
    /// Write throughput that the chosen setting had to leave, in percent.
    #[cfg_attr(test, schemars(range(min = 0, max = 100)))]
    pub write_min_percent: f64,
    /// The settings.
    #[cfg_attr(test, schemars(length(max = 64)))]
    pub points: Vec<FrontierPoint>,
}

/// The setting of least energy of one workload, over the device's own setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProfileBest {
    /// Its place in the list of workloads of the document: names are the user's own.
    #[cfg_attr(test, schemars(range(min = 0, max = 1000)))]
    pub workload: u32,
    /// The I/O scheduler.
    pub scheduler: Word,
    /// `nr_requests`.
    #[cfg_attr(test, schemars(range(min = 1, max = 100_000)))]
    pub queue_depth_requests: u32,
    /// Energy over that under the device's own setting.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e6)))]
    pub energy_ratio: f64,
    /// Delay over that under the device's own setting.
    #[cfg_attr(test, schemars(range(min = 0, max = 1e6)))]
    pub delay_ratio: f64,
}

/// The profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Codes of warnings.
    #[cfg_attr(test, schemars(length(max = 32)))]
    pub warnings: Vec<Word>,
    /// `rapl`, `battery` or `modelled`.
    pub meter: Word,
    /// Rounds.
    #[cfg_attr(test, schemars(range(min = 1, max = 100_000)))]
    pub rounds: u32,
    /// Workload by workload.
    #[cfg_attr(test, schemars(length(max = 128)))]
    pub best: Vec<ProfileBest>,
}

/// One condition of launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LaunchSet {
    /// Cold or warm.
    #[cfg_attr(test, schemars(with = "crate::schema::Temperature"))]
    pub temperature: Temperature,
    /// Time until the screen was settled.
    pub settled_ms: Spread,
    /// Median of it that was spent on storage; absent without a split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "f64", range(min = 0, max = 1e9)))]
    pub storage_ms: Option<f64>,
}

/// Launches of an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Codes of warnings.
    #[cfg_attr(test, schemars(length(max = 32)))]
    pub warnings: Vec<Word>,
    /// One of the apps of the emulated phone; `other` for any other program, whose name stays on the device.
    pub app: Word,
    /// Cold and warm, of launches without a condition of the user's own.
    #[cfg_attr(test, schemars(length(max = 8)))]
    pub sets: Vec<LaunchSet>,
}

/// One app with brisk and without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// One of the apps of the emulated phone, or `other`.
    pub app: Word,
    /// Cold or warm.
    #[cfg_attr(test, schemars(with = "crate::schema::Temperature"))]
    pub temperature: Temperature,
    /// Settled time with brisk over that without, with writers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Spread"))]
    pub loaded_ratio: Option<Spread>,
    /// The same without load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Spread"))]
    pub idle_ratio: Option<Spread>,
}

/// The proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Prove {
    /// Codes of warnings.
    #[cfg_attr(test, schemars(length(max = 32)))]
    pub warnings: Vec<Word>,
    /// App by app.
    #[cfg_attr(test, schemars(length(max = 64)))]
    pub gains: Vec<Gain>,
}
