//! `brisk study memory`: what apps take of a phone's memory, and with how little they start (dissertation 5.2, MARS
//! figure 14).

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{
    FILES_TOUCHED_BY_A_RETURN, HEAP_TOUCHED_BY_A_RETURN, RESIDENT_BY_SHARE, TIME_OF_A_RETURN, USED_IN_A_SECOND,
};
use crate::results::{Header, PhoneFacts};

/// A part of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPart {
    /// Free memory while apps are launched one after another (figure 5.1).
    Free,
    /// Memory of each app after its launch (figures 5.2 and 5.5).
    Growth,
    /// Limits under which each app starts (table 5.1).
    Limits,
    /// What is resident, what a second uses, and what a return needs (MARS figure 14).
    Sets,
}

impl MemoryPart {
    /// All parts.
    pub const ALL: [Self; 4] = [Self::Free, Self::Growth, Self::Limits, Self::Sets];

    /// Its name in documents and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Growth => "growth",
            Self::Limits => "limits",
            Self::Sets => "sets",
        }
    }
}

/// A part that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPartDone {
    /// Which.
    pub part: MemoryPart,
    /// Where the phone swapped to: `none`, `flash`, `zram` or `zram_flash`.
    pub swap: String,
    /// How long it took.
    pub took_s: f64,
}

/// Why an app has no figures in a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFailure {
    /// The part.
    pub part: MemoryPart,
    /// The app.
    pub app: String,
    /// In a sentence.
    pub reason: String,
}

/// Memory of the phone at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeSample {
    /// Since the begin.
    pub at_s: f64,
    /// Charged to no process or file.
    pub free_bytes: u64,
    /// The same and the page cache of files, which can be freed: what a new app can get without swap, as MemAvailable.
    pub available_bytes: u64,
}

/// Something that a person did with an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeStep {
    /// Since the begin.
    pub at_s: f64,
    /// The app.
    pub app: String,
    /// Which round: 1 launches the apps, each later one goes back to them.
    pub round: u32,
    /// Whether it was launched, also in a later round: the kernel had ended it before.
    pub launched: bool,
}

/// Free memory while apps are launched one after another and put in the background.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeMemory {
    /// Time between two samples.
    pub interval_ms: f64,
    /// How long each app is in front.
    pub dwell_s: f64,
    /// All samples.
    pub samples: Vec<FreeSample>,
    /// All steps.
    pub steps: Vec<FreeStep>,
    /// Apps that ran in the end.
    pub alive: Vec<String>,
    /// Processes that the kernel ended for lack of memory.
    pub oom_kills: u64,
}

/// Memory of an app at one moment: sums over its processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthSample {
    /// Since the launch.
    pub at_ms: f64,
    /// Anonymous pages: heaps and stacks.
    pub anonymous_bytes: u64,
    /// Pages of files and shared memory that are mapped.
    pub file_bytes: u64,
    /// Pages in swap.
    pub swapped_bytes: u64,
}

/// One run of an app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthRun {
    /// When its window was settled.
    pub settled_ms: Option<f64>,
    /// Inputs that it got.
    pub inputs: u32,
    /// Samples, ascending.
    pub samples: Vec<GrowthSample>,
}

impl GrowthRun {
    /// The most heap that it had, swapped pages included.
    #[must_use]
    pub fn heap_bytes_max(&self) -> Option<u64> {
        self.samples.iter().map(GrowthSample::heap_bytes).max()
    }

    /// The last sample at or before a time since the launch.
    #[must_use]
    pub fn at(&self, at_ms: f64) -> Option<&GrowthSample> {
        self.samples.iter().rev().find(|sample| sample.at_ms <= at_ms)
    }
}

impl GrowthSample {
    /// Heap: anonymous pages in memory and in swap.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.anonymous_bytes.saturating_add(self.swapped_bytes)
    }
}

/// Memory of an app after its launch, in several runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppGrowth {
    /// The app.
    pub app: String,
    /// The runs; no other app runs meanwhile.
    pub runs: Vec<GrowthRun>,
    /// Most heap, over the runs.
    pub heap_bytes_max: Summary,
    /// Mean correlation of the heaps of two runs over the first ten seconds; absent for a single run or a heap that
    /// stays.
    pub correlation: Option<f64>,
}

/// Launches of an app under a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitCell {
    /// The app.
    pub app: String,
    /// Limit of the memory of its processes and of the page cache that they fill.
    pub limit_bytes: u64,
    /// Launches that settled before the timeout, with all processes alive.
    pub started: u32,
    /// Launches of which the kernel ended a process for lack of memory.
    pub killed: u32,
    /// Launches that had not settled at the timeout.
    pub slow: u32,
    /// Launches that ended by themselves.
    pub ended: u32,
    /// Time of those that started.
    pub settled_ms: Option<Summary>,
}

impl LimitCell {
    /// All launches.
    #[must_use]
    pub fn tries(&self) -> u32 {
        [self.started, self.killed, self.slow, self.ended].iter().fold(0, |sum, part| sum.saturating_add(*part))
    }
}

/// Which limit lets which app start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartLimits {
    /// After this time a launch is slow.
    pub timeout_s: f64,
    /// Tries of each app under each limit that were asked for.
    pub tries: u32,
    /// All cells, by app, ascending limits.
    pub cells: Vec<LimitCell>,
}

/// What an app has in memory, and what of it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppSets {
    /// The app.
    pub app: String,
    /// In memory when it is settled; shared pages count for each process.
    pub resident_bytes: Summary,
    /// The same, where a page that several processes map counts by its share: the figure of MARS.
    #[schemars(extend("measure" = RESIDENT_BY_SHARE))]
    pub proportional_bytes: Summary,
    /// Accessed in the first second of a return with everything in memory.
    #[schemars(extend("measure" = USED_IN_A_SECOND))]
    pub working_bytes: Summary,
    /// Heap that a return brought back from swap.
    #[schemars(extend("measure" = HEAP_TOUCHED_BY_A_RETURN))]
    pub swapped_touched_bytes: Summary,
    /// Pages of files that a return mapped again.
    #[schemars(extend("measure" = FILES_TOUCHED_BY_A_RETURN))]
    pub file_touched_bytes: Summary,
    /// Heap in swap before that return.
    pub swapped_bytes: Summary,
    /// Time of that return.
    #[schemars(extend("measure" = TIME_OF_A_RETURN))]
    pub return_ms: Summary,
}

impl AppSets {
    /// What a return touched that was not in memory: median of swapped and file pages.
    #[must_use]
    pub fn touched_bytes(&self) -> f64 {
        self.swapped_touched_bytes.median + self.file_touched_bytes.median
    }
}

/// `brisk study memory`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryStudyReport {
    /// Head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// Memory for all that runs in it.
    pub limit_bytes: u64,
    /// The apps, in the order of their launches.
    pub apps: Vec<String>,
    /// Parts that were done.
    pub parts: Vec<MemoryPartDone>,
    /// Free memory.
    #[serde(default)]
    pub free: Option<FreeMemory>,
    /// Memory after the launch, by app.
    #[serde(default)]
    pub growth: Vec<AppGrowth>,
    /// Limits.
    #[serde(default)]
    pub limits: Option<StartLimits>,
    /// Sets, by app.
    #[serde(default)]
    pub sets: Vec<AppSets>,
    /// Apps without figures in a part.
    #[serde(default)]
    pub failures: Vec<MemoryFailure>,
}
