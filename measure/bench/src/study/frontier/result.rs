//! `brisk study frontier`: latency of foreground reads and throughput of concurrent writes under each setting
//! of a block queue.

use std::collections::BTreeMap;

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{LONGEST_WRITE, P99_READ_LATENCY};
use crate::results::Header;
use brisk_report::vocabulary::{READ_LATENCY, WRITE_THROUGHPUT};

/// One load of the study: foreground readers concurrent with writers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontierLoad {
    /// A few words.
    pub name: String,
    /// Threads that read, one request at a time.
    pub readers: u32,
    /// Interval between the due times of a reader's requests: reads that are served in time take the same share of the
    /// device under every setting.
    pub read_interval_us: f64,
    /// Median time of a read without any writer, under the settings found.
    pub read_alone_us: f64,
    /// The concurrent writes.
    pub writers: String,
}

/// What one setting made of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontierMeasure {
    /// Mean response time of a read, over the trials.
    #[schemars(extend("measure" = READ_LATENCY))]
    pub read_us: Summary,
    /// 99th percentile of a trial, over the trials.
    #[schemars(extend("measure" = P99_READ_LATENCY))]
    pub read_us_p99: Summary,
    /// What the device wrote, by its own count.
    #[schemars(extend("measure" = WRITE_THROUGHPUT))]
    pub write_bytes_per_s: Summary,
    /// Longest of the small durable or direct writes of a trial, over the trials: what no write waited beyond.
    #[schemars(extend("measure" = LONGEST_WRITE))]
    pub write_us_max: Summary,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontierPoint {
    /// It in words; unique.
    pub label: String,
    /// The I/O scheduler.
    pub scheduler: String,
    /// What was set, in the words of `brisk`'s knobs (`scheduler`, `nr_requests`, `mq-deadline/fifo_batch`, ...); empty
    /// for the settings that were found.
    pub settings: BTreeMap<String, String>,
    /// Readers had the I/O priority best effort 0.
    pub priorities: bool,
    /// In the order of the report's loads.
    pub loads: Vec<FrontierMeasure>,
    /// Mean read time over that with the settings found: geometric mean over the loads of ratios of medians.
    pub read_ratio: f64,
    /// Write throughput in percent of that with the settings found: geometric mean over the loads.
    pub write_percent: f64,
    /// No other setting has both faster reads and faster writes.
    pub on_frontier: bool,
}

/// `brisk study frontier`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontierReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// Size of reads and of direct writes.
    pub block_bytes: u64,
    /// Length of a trial of one load.
    pub trial_s: f64,
    /// Write throughput that the chosen setting had to leave, in percent.
    pub write_min_percent: f64,
    /// The loads.
    pub loads: Vec<FrontierLoad>,
    /// All settings that were tried, fewest trials for those that fell out first.
    pub points: Vec<FrontierPoint>,
    /// Label of the settings that were found.
    pub found: String,
    /// Label of the setting that won; absent when none is better than those found.
    pub chosen: Option<String>,
    /// Settings that this kernel or device refused, and why.
    pub refused: Vec<(String, String)>,
    /// Whether everything stands as before.
    pub restored: bool,
}

impl FrontierReport {
    /// The point with this label.
    #[must_use]
    pub fn point(&self, label: &str) -> Option<&FrontierPoint> {
        self.points.iter().find(|point| point.label == label)
    }
}
