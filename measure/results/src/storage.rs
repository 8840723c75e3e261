//! Storage: `brisk bench` and the studies.
//!
//! Times of single requests are microseconds, as in the papers' tables.

use brisk_core::stats::Summary;
use serde::{Deserialize, Serialize};

use crate::Header;

/// Order of the addresses of a stream of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each request begins where the one before ended.
    Sequential,
    /// Each address is drawn uniformly, without repeats until the range is used up.
    Random,
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// Response times of single requests, from an HDR histogram with three digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Requests.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    #[serde(rename = "latency_us_p50")]
    pub p50_us: f64,
    /// 95th percentile.
    #[serde(rename = "latency_us_p95")]
    pub p95_us: f64,
    /// 99th percentile.
    #[serde(rename = "latency_us_p99")]
    pub p99_us: f64,
    /// Longest.
    #[serde(rename = "latency_us_max")]
    pub max_us: f64,
    /// The distribution for drawing: (percentile 0 to 100, microseconds), ascending.
    pub percentiles_us: Vec<(f64, f64)>,
}

/// One kind of load, alone on the device, over all its repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub bandwidth_bytes_per_s: Summary,
    /// Over the repetitions.
    pub requests_per_s: Summary,
    /// All requests of all repetitions.
    pub latency: Latency,
    /// CPU time, user and system of this process and the kernel on its behalf, per request.
    pub cpu_us_per_request: f64,
    /// Share of the CPUs' time that was idle with storage requests outstanding (iowait of /proc/stat), in percent.
    pub iowait_percent: f64,
    /// Share of the CPUs' time in which anything ran, the kernel's own threads included, in percent.
    #[serde(default)]
    pub cpu_busy_percent: f64,
    /// Each repetition, in the order in which they ran.
    #[serde(default)]
    pub runs: Vec<JobRun>,
}

/// One repetition of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JobRun {
    /// What it moved.
    pub bandwidth_bytes_per_s: f64,
    /// Requests that it finished.
    pub requests_per_s: f64,
}

/// Latency of making a small write durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncResult {
    /// `fsync` or `fdatasync`.
    pub call: String,
    /// Bytes written before each call.
    pub block_bytes: u64,
    /// Time of write and call together.
    pub latency: Latency,
}

/// Whether the numbers are the storage's or a cache's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// One row of the slowdown study: dissertation 4.2.3 and 4.2.4.
///
/// Alone means one stream and nothing else on the device, for 4 + 4 too: only so do the paper's figures for 4 + 4 (28
/// against 6.2 for 1 + 1) make sense. What the streams of one side cost each other is in the `peers` fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowdownRow {
    /// Order of addresses of both sides.
    pub pattern: Pattern,
    /// Reading streams and as many writing streams.
    pub streams: u32,
    /// Mean response time of a read of one stream that has the device to itself, per repetition.
    pub read_alone_us: Summary,
    /// The same concurrent with as many writers.
    pub read_beside_us: Summary,
    /// Mean response time of a write of one stream that has the device to itself.
    pub write_alone_us: Summary,
    /// The same concurrent with as many readers.
    pub write_beside_us: Summary,
    /// Concurrent over alone, pair by pair.
    pub read_slowdown: Summary,
    /// Concurrent over alone, pair by pair.
    pub write_slowdown: Summary,
    /// Mean response time of a read when all reading streams run and no writer; absent with one stream.
    #[serde(default)]
    pub read_peers_us: Option<Summary>,
    /// Mean response time of a write when all writing streams run and no reader; absent with one stream.
    #[serde(default)]
    pub write_peers_us: Option<Summary>,
    /// Each repetition, in the order in which they ran.
    #[serde(default)]
    pub runs: Vec<SlowdownRun>,
}

/// One repetition of a row of the slowdown study: mean response times, as in [`SlowdownRow`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SlowdownRun {
    /// A read of one stream alone.
    pub read_alone_us: f64,
    /// A read concurrent with as many writers.
    pub read_beside_us: f64,
    /// A write of one stream alone.
    pub write_alone_us: f64,
    /// A write concurrent with as many readers.
    pub write_beside_us: f64,
    /// A read when all reading streams run and no writer; absent with one stream.
    #[serde(default)]
    pub read_peers_us: Option<f64>,
    /// A write when all writing streams run and no reader; absent with one stream.
    #[serde(default)]
    pub write_peers_us: Option<f64>,
}

/// `brisk study slowdown`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// One point of the concurrency study: dissertation 4.2.5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConcurrencyPoint {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// Streams, one after the other and at the same time.
    pub streams: u32,
    /// Time of the streams one after the other.
    pub serial_s: Summary,
    /// Time of the slowest of them when all run at once.
    pub concurrent_s: Summary,
    /// Serial over concurrent, pair by pair.
    pub speedup: Summary,
}

/// The fewest streams that gain as much as any number: a parameter of SmartIO.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConcurrencyParameter {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// The fewest streams whose speed-up is within noise of the best.
    pub streams: u32,
    /// Their median speed-up.
    pub speedup: f64,
}

/// `brisk study concurrency`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// One point of the scheduler study: dissertation 4.5.3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub response_s: Summary,
    /// Mean response time of a read in the mix; absent without reads.
    pub read_us: Option<Summary>,
    /// Mean response time of a write in the mix; absent without writes.
    pub write_us: Option<Summary>,
    /// Read time over that of the mix without writes, same scheduler and depth.
    pub read_slowdown: Option<f64>,
    /// Write time over that of the mix without reads, same scheduler and depth.
    pub write_slowdown: Option<f64>,
}

/// `brisk study schedulers`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// One point of the footprint study: Revisiting storage, figure 15.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FootprintPoint {
    /// Random writes fell into the first so many bytes.
    pub range_bytes: u64,
    /// Throughput.
    pub bandwidth_bytes_per_s: Summary,
}

/// Where throughput falls for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FootprintDrop {
    /// Last range before the fall.
    pub after_range_bytes: u64,
    /// Throughput before over after.
    pub factor: f64,
}

/// `brisk study footprint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
