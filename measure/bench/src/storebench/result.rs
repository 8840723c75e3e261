//! The result of `brisk bench`. Times of single requests are microseconds, as in the papers' tables.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{CPU_PER_REQUEST, CPUS_BUSY, P50_LATENCY};
use crate::results::{Direction, Header, Pattern};
use brisk_report::vocabulary::{LONGEST_LATENCY, MEAN_LATENCY, P99_LATENCY, THROUGHPUT};

/// Response times of single requests, from an HDR histogram with three digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Requests.
    pub count: u64,
    /// Mean.
    #[schemars(extend("measure" = MEAN_LATENCY))]
    pub mean_us: f64,
    /// Median.
    #[serde(rename = "latency_us_p50")]
    #[schemars(extend("measure" = P50_LATENCY))]
    pub p50_us: f64,
    /// 95th percentile.
    #[serde(rename = "latency_us_p95")]
    pub p95_us: f64,
    /// 99th percentile.
    #[serde(rename = "latency_us_p99")]
    #[schemars(extend("measure" = P99_LATENCY))]
    pub p99_us: f64,
    /// Longest.
    #[serde(rename = "latency_us_max")]
    #[schemars(extend("measure" = LONGEST_LATENCY))]
    pub max_us: f64,
    /// The distribution for drawing: (percentile 0 to 100, microseconds), ascending.
    pub percentiles_us: Vec<(f64, f64)>,
}

/// One kind of load, alone on the device, over all its repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// Size of a request.
    pub block_bytes: u64,
    /// Requests kept in flight.
    pub depth_requests: u32,
    /// Over the repetitions.
    #[schemars(extend("measure" = THROUGHPUT))]
    pub bandwidth_bytes_per_s: Summary,
    /// Over the repetitions.
    pub requests_per_s: Summary,
    /// All requests of all repetitions.
    pub latency: Latency,
    /// CPU time, user and system of this process and the kernel on its behalf, per request.
    #[schemars(extend("measure" = CPU_PER_REQUEST))]
    pub cpu_us_per_request: f64,
    /// Share of the CPUs' time that was idle with storage requests outstanding (iowait of /proc/stat), in percent.
    pub iowait_percent: f64,
    /// Share of the CPUs' time in which anything ran, the kernel's own threads included, in percent.
    #[serde(default)]
    #[schemars(extend("measure" = CPUS_BUSY))]
    pub cpu_busy_percent: f64,
    /// Each repetition, in the order in which they ran.
    #[serde(default)]
    pub runs: Vec<JobRun>,
}

/// One repetition of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobRun {
    /// What it moved.
    #[schemars(extend("measure" = THROUGHPUT))]
    pub bandwidth_bytes_per_s: f64,
    /// Requests that it finished.
    pub requests_per_s: f64,
}

/// Latency of making a small write durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncResult {
    /// `fsync` or `fdatasync`.
    pub call: String,
    /// Bytes written before each call.
    pub block_bytes: u64,
    /// Time of write and call together.
    pub latency: Latency,
}

/// Whether the numbers are the storage's or a cache's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheVerdict {
    /// O_DIRECT accepted and verified: reads reached the device.
    Direct,
    /// O_DIRECT refused; files were evicted before reading, and the eviction was verified.
    Evicted,
    /// The file system lives in memory (tmpfs, ramfs, a RAM disk).
    Memory,
    /// O_DIRECT accepted, yet the device saw fewer bytes than were asked for: something caches.
    Lying,
    /// No counter of the device to verify with (network or stacked file system).
    Unverified,
}

/// The evidence for [`CacheVerdict`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheCheck {
    /// The verdict.
    pub verdict: CacheVerdict,
    /// Bytes that the check asked for.
    pub asked_bytes: u64,
    /// Bytes that the device's counter says it moved meanwhile.
    pub device_bytes: Option<u64>,
    /// The verdict in a sentence.
    pub text: String,
}

/// `brisk bench`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// `quick`, `normal` or `full`.
    pub budget: String,
    /// Size of the work file or of the part of the device that was used.
    #[serde(default)]
    pub work_bytes: u64,
    /// Whose numbers these are.
    pub cache: CacheCheck,
    /// Sequential and random, read and write at the base block size, depth 1 and the deepest.
    pub jobs: Vec<JobResult>,
    /// The same over block sizes at a fixed depth.
    pub block_sweep: Vec<JobResult>,
    /// The same over depths at the base block size.
    pub depth_sweep: Vec<JobResult>,
    /// Durable writes.
    pub syncs: Vec<SyncResult>,
    /// What it means, in sentences, most important first.
    pub verdict: Vec<String>,
}
