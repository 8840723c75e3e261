//! `brisk kernel`: I/O schedulers under mixed load, on an emulated flash device in a virtual machine.

use std::collections::BTreeMap;

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::TIME_OF_A_JOB;
use crate::results::{Header, KernelFidelity};
use brisk_report::vocabulary::{LONGEST_LATENCY, MEAN_LATENCY, P99_LATENCY, SLOWDOWN, THROUGHPUT};

/// The flash device of the virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelDevice {
    /// Preset of the timing model.
    pub preset: String,
    /// What the scenario changed of it, by the preset's names.
    #[serde(default)]
    pub changed: BTreeMap<String, String>,
    /// Capacity.
    pub size_bytes: u64,
    /// Requests that its driver takes at once.
    pub depth_requests: u32,
    /// Hardware queues.
    pub queues: u32,
    /// File system on it; absent for the raw device.
    pub file_system: Option<String>,
}

/// What all jobs of one kind in a load saw: the readers together, the writers together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelSide {
    /// `read`, `write`, `sync`, `trim` or `mixed`.
    pub side: String,
    /// Jobs of this kind.
    pub jobs: u32,
    /// Mean response time, over the seeds.
    #[schemars(extend("measure" = MEAN_LATENCY))]
    pub delay_us_mean: Summary,
    /// Median response time of a run (of its slowest job), over the seeds.
    pub delay_us_p50: Summary,
    /// 99th percentile of a run (of its slowest job), over the seeds.
    #[schemars(extend("measure" = P99_LATENCY))]
    pub delay_us_p99: Summary,
    /// Longest response time of a run, over the seeds.
    #[schemars(extend("measure" = LONGEST_LATENCY))]
    pub delay_us_max: Summary,
    /// Requests.
    pub requests_per_s: Summary,
    /// Bytes moved.
    #[schemars(extend("measure" = THROUGHPUT))]
    pub bytes_per_s: Summary,
    /// Time of a job of fixed length; absent for jobs that run until they are stopped.
    #[schemars(extend("measure" = TIME_OF_A_JOB))]
    pub job_s: Option<Summary>,
    /// Concurrent with the other side over alone, seed by seed: time of a job of fixed length, else mean response time.
    /// Absent where alone was not measured.
    #[schemars(extend("measure" = SLOWDOWN))]
    pub slowdown: Option<Summary>,
}

/// One load under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelMeasure {
    /// In the order of the scenario's loads.
    pub load: String,
    /// What each kind of jobs saw.
    pub sides: Vec<KernelSide>,
}

impl KernelMeasure {
    /// The side of that name.
    #[must_use]
    pub fn side(&self, name: &str) -> Option<&KernelSide> {
        self.sides.iter().find(|side| side.side == name)
    }
}

/// One scheduler with one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelRow {
    /// The I/O scheduler.
    pub scheduler: String,
    /// Whether the settings are the best that a search found, rather than those that it comes with.
    pub tuned: bool,
    /// What was changed: `nr_requests` and the scheduler's tunables; empty for its defaults.
    pub settings: BTreeMap<String, String>,
    /// Settings that the search tried; 0 where none was made.
    pub tried: u32,
    /// In the order of the scenario's loads.
    pub loads: Vec<KernelMeasure>,
}

/// What a load does, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelLoad {
    /// Unique name.
    pub name: String,
    /// Its jobs.
    pub words: String,
}

/// One scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelScenario {
    /// Its file's name.
    pub name: String,
    /// In a few words.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// The device.
    pub device: KernelDevice,
    /// Seeds of the runs behind each summary.
    pub seeds: Vec<u64>,
    /// Lengths of its loads over those in its file.
    pub scale: f64,
    /// Write throughput that tuned settings had to leave, in percent of the best of all defaults.
    pub write_min_percent: f64,
    /// What was run.
    pub loads: Vec<KernelLoad>,
    /// Schedulers in the order asked for, each by default and then tuned.
    pub rows: Vec<KernelRow>,
    /// Schedulers that could not be measured, and why.
    pub refused: Vec<(String, String)>,
    /// How far to believe it.
    pub fidelity: KernelFidelity,
}

/// What an aim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelFigure {
    /// Mean response time.
    DelayMean,
    /// 99th percentile of response times.
    DelayP99,
    /// Longest response time.
    DelayMax,
    /// Requests a second.
    Requests,
    /// Concurrent with the others over alone.
    Slowdown,
}

impl KernelFigure {
    /// It, of a side: microseconds, requests a second, or times. Absent where alone was not measured.
    #[must_use]
    pub fn of(self, side: &KernelSide) -> Option<Summary> {
        match self {
            Self::DelayMean => Some(side.delay_us_mean),
            Self::DelayP99 => Some(side.delay_us_p99),
            Self::DelayMax => Some(side.delay_us_max),
            Self::Requests => Some(side.requests_per_s),
            Self::Slowdown => side.slowdown,
        }
    }
}

/// How a figure stands to what was aimed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelVerdict {
    /// It is there.
    Reached,
    /// It is not.
    Missed,
    /// There is no figure.
    Unknown,
}

/// One load's figure and its aim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelAimed {
    /// The load.
    pub load: String,
    /// Settings of the judged scheduler, in words; empty for its defaults.
    pub settings: String,
    /// Its figure, over the seeds.
    pub found: Option<Summary>,
    /// Whom it is held against, with his settings in words; absent for an aim by itself.
    pub peer: Option<String>,
    /// His figure.
    pub peer_found: Option<Summary>,
    /// What is held against the bound: the figure, or its cost over the peer's (a rate's cost is its inverse). Of
    /// medians.
    pub value: Option<f64>,
    /// The same at the worse ends of the figures' intervals.
    pub value_worst: Option<f64>,
    /// How it stands.
    pub verdict: KernelVerdict,
    /// Why there is no figure.
    pub why: Option<String>,
}

/// What was aimed at, and where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelAim {
    /// In words.
    pub words: String,
    /// The scenario.
    pub scenario: String,
    /// The judged scheduler.
    pub scheduler: String,
    /// Of which side.
    pub side: String,
    /// Which figure.
    pub figure: KernelFigure,
    /// The bound of [`KernelAimed::value`].
    pub at_most: f64,
    /// Whether the bound is a ratio to a peer's figure, and not one in the figure's own unit.
    #[serde(default)]
    pub relative: bool,
    /// Load by load.
    pub loads: Vec<KernelAimed>,
}

/// `brisk kernel compare`, `brisk kernel run` and `brisk kernel bench`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelReport {
    /// Common head; its environment is that of the virtual machine.
    #[serde(flatten)]
    pub header: Header,
    /// Series of kernels asked for, such as 6.12.
    pub series: String,
    /// In the order asked for.
    pub scenarios: Vec<KernelScenario>,
    /// What was aimed at; empty where nothing was.
    #[serde(default)]
    pub aims: Vec<KernelAim>,
}
