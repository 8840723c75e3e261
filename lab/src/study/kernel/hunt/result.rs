//! `brisk kernel hunt`: under which loads an I/O scheduler is worse than others.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{Header, KernelFidelity};

/// What the scheduler shall hold in every load, and in how many it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HuntBound {
    /// Stable word: `dominated`, `read-mean`, `read-p99`, `commit-p99`, `sync-write`, `reads-only`, `writes-only`,
    /// `discards`.
    pub bound: String,
    /// In words.
    pub words: String,
    /// The largest ratio that holds.
    pub at_most: f64,
    /// Drawn loads with figures to which it applies.
    pub loads: u32,
    /// Of those, loads that hold.
    pub hold: u32,
    /// Ratios over these loads; absent without loads.
    pub ratio: Option<Summary>,
}

/// Ratio of costs in a load: the scheduler's over that of another one; more is worse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HuntRatio {
    /// The bound, as in [`HuntBound::bound`].
    pub bound: String,
    /// The ratio over the seeds.
    pub ratio: Summary,
    /// The scheduler of the other figure.
    pub against: String,
    /// Whether the median is within the bound.
    pub holds: bool,
}

/// Figures of one scheduler in a load: medians over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HuntRow {
    /// The I/O scheduler, with its defaults.
    pub scheduler: String,
    /// Mean response time of reads.
    pub read_us_mean: Option<f64>,
    /// 99th percentile of reads, of the slowest job.
    pub read_us_p99: Option<f64>,
    /// 99th percentile of commits, of the slowest job.
    pub commit_us_p99: Option<f64>,
    /// Mean response time of writes.
    pub write_us_mean: Option<f64>,
    /// Bytes written; for copies of a fixed amount until the last one was durable.
    pub write_bytes_per_s: Option<f64>,
    /// Discards.
    pub discards_per_s: Option<f64>,
    /// Whether a side finished no request: its latencies are then at least, and its throughput at most, those given.
    pub starved: bool,
}

/// One load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HuntLoad {
    /// Its number among the loads of the seed; the changed ones have numbers of their own.
    pub number: u32,
    /// Whether it was drawn at random; otherwise the search made it from a worse one, and shares do not count it.
    pub drawn: bool,
    /// Jobs and device, in words.
    pub words: String,
    /// Kind of the device: `emmc`, `ufs`, `sd`, or `virtual` for one made of dies; absent in documents of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The scheduler first, then the stock ones.
    pub rows: Vec<HuntRow>,
    /// The bounds that apply to it.
    pub ratios: Vec<HuntRatio>,
    /// Why it has no figures.
    pub refused: Option<String>,
}

/// A worst case, shrunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HuntFound {
    /// The bound that does not hold.
    pub bound: String,
    /// The smallest load that was found to show it.
    pub words: String,
    /// The load that it was shrunk from.
    pub from: String,
    /// The ratio of that one, with the hunt's seeds.
    pub from_ratio: f64,
    /// The ratio of the shrunk load over seeds of its own.
    pub ratio: Summary,
    /// The scheduler of the other figure.
    pub against: String,
    /// Loads that were tried to shrink it.
    pub tried: u32,
    /// Whether the bound was missed with the other seeds too.
    pub confirmed: bool,
    /// Its scenario file; absent where it was not confirmed.
    pub file: Option<String>,
}

/// `brisk kernel hunt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HuntReport {
    /// Common head; its environment is that of the virtual machine, its seed that of the loads.
    #[serde(flatten)]
    pub header: Header,
    /// Series of kernels asked for, such as 6.12.
    pub series: String,
    /// The scheduler that the hunt is about, with its defaults.
    pub scheduler: String,
    /// The stock schedulers that it is held against.
    pub peers: Vec<String>,
    /// Seeds of the addresses of each load.
    pub seeds: Vec<u64>,
    /// Drawn loads with figures that hold all bounds that apply.
    pub hold: u32,
    /// The bounds, over the drawn loads.
    pub bounds: Vec<HuntBound>,
    /// All loads in the order of measuring.
    pub loads: Vec<HuntLoad>,
    /// The worst cases, shrunk.
    pub found: Vec<HuntFound>,
    /// How far to believe it.
    pub fidelity: KernelFidelity,
}
