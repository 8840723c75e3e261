//! How long an app takes to launch and to answer an input, and what the time was spent on.
//!
//! Times are milliseconds since the launch or the input began, as a person would stop them.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::Split;

/// A moment in the launch of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The program's own image runs (exec returned).
    FirstProcess,
    /// A window of the app is on the screen.
    FirstWindow,
    /// Something was drawn into it.
    FirstFrame,
    /// The last change of the screen that is not periodic: nothing more comes without input.
    Settled,
    /// The app's work is done: processor below the threshold and no storage or network outstanding. For an app that
    /// ended by itself: its end.
    Idle,
}

/// When a stage was reached, and what the time up to there went to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageTime {
    /// Which one.
    pub stage: Stage,
    /// Since the launch began.
    pub at_ms: f64,
    /// Resolution of `at_ms`, where it is known: the stage may have been reached up to so much earlier.
    #[serde(default)]
    pub resolution_ms: Option<f64>,
    /// From the beginning up to here; absent where no split was asked for or possible.
    #[serde(default)]
    pub split: Option<Split>,
}

/// How a launch or a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    /// The screen settled and the work was done.
    Settled,
    /// The screen settled; the app still worked when the cap came.
    StillWorking,
    /// The screen still changed when the cap came: the time is that of the cap.
    Animating,
    /// No window came up before the cap.
    NoWindow,
    /// The app ended by itself.
    Exited {
        /// Exit status, absent after a signal.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// The display server went away.
    DisplayLost,
    /// A program without windows that keeps running, watched without a screen: it was idle for
    /// `LaunchReport::idle_limit_ms`.
    Headless,
}

/// Whether the app's pages were in memory when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Temperature {
    /// Evicted, and verified.
    Cold,
    /// Launched once before, pages left where they were.
    Warm,
}

/// The evidence that a launch was cold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColdCheck {
    /// Files that belong to the app, as far as known from earlier launches and its executable's libraries.
    pub files: u64,
    /// Their pages that were in memory before the eviction.
    pub cached_before_bytes: u64,
    /// Their pages that stayed.
    pub cached_after_bytes: u64,
    /// Whether all caches of the machine were dropped too (inodes and directories among them).
    pub dropped_all: bool,
    /// What stayed and why, largest first.
    pub stayed: Vec<StayedCached>,
}

/// A file that could not be evicted whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StayedCached {
    /// The file.
    pub path: String,
    /// Bytes of it still in memory.
    pub cached_bytes: u64,
    /// Why, such as `mapped by Xvfb (812)`.
    pub reason: String,
}

/// What a process tree asked of the storage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageUse {
    /// Reads of files.
    pub read: StorageFlow,
    /// Reads from swap.
    pub swap_in: StorageFlow,
    /// Writes of the app's own threads.
    pub write: StorageFlow,
    /// Time in which at least one of its requests was at the device.
    pub in_flight_ms: f64,
    /// Files by bytes read, largest first, at most 50.
    pub files: Vec<FileRead>,
    /// Files that were read, all of them.
    pub files_count: u64,
}

/// Requests of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageFlow {
    /// Bytes.
    pub bytes: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that began where the one before on that device ended.
    pub sequential_requests: u64,
    /// Requests by size: (largest size of the class in bytes, requests), classes that occurred, ascending.
    pub by_size_bytes: Vec<(u64, u64)>,
}

/// What a launch read of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileRead {
    /// Its path, or device and inode where the path is not known.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// Requests.
    pub requests: u64,
    /// When the first of them was made.
    pub first_ms: f64,
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchRun {
    /// How it ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// Stages that were reached, in order of time.
    pub stages: Vec<StageTime>,
    /// Settled less the time in which it waited for a processor: what a less busy machine would show.
    pub settled_less_cpu_wait_ms: Option<f64>,
    /// What was read and written; absent without eBPF.
    pub storage: Option<StorageUse>,
    /// For cold launches.
    pub cold: Option<ColdCheck>,
    /// Processes and threads of the tree, at most at once; absent without eBPF.
    pub threads_max: Option<u32>,
    /// Processor time of brisk itself while it watched, in percent of one core; without that of setting probes up
    /// before the launch and taking them down after its end.
    pub watch_cpu_percent: f64,
    /// Far from the others of its set (beyond 1.5 times the quartiles' distance): shown, and part of the summaries.
    pub outlier: bool,
}

impl LaunchRun {
    /// When `stage` was reached.
    #[must_use]
    pub fn at_ms(&self, stage: Stage) -> Option<f64> {
        self.stages.iter().find(|time| time.stage == stage).map(|time| time.at_ms)
    }

    /// The split of the time up to `stage`.
    #[must_use]
    pub fn split(&self, stage: Stage) -> Option<&Split> {
        self.stages.iter().find(|time| time.stage == stage).and_then(|time| time.split.as_ref())
    }
}

/// The launches under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchSet {
    /// The condition, such as `idle`, `writers`, or the command of `--vs`.
    pub label: String,
    /// Cold or warm.
    pub temperature: Temperature,
    /// Each launch, in the order in which they ran.
    pub runs: Vec<LaunchRun>,
    /// Stages over the runs that reached them.
    pub stages: Vec<StageSummary>,
    /// Median of each part of the time until settled, scaled to add up to the median of that time.
    pub split: Option<Split>,
    /// [`LaunchRun::settled_less_cpu_wait_ms`] over the runs.
    pub settled_less_cpu_wait_ms: Option<Summary>,
}

impl LaunchSet {
    /// Summary of when `stage` was reached.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<&Summary> {
        self.stages.iter().find(|summary| summary.stage == stage).map(|summary| &summary.at_ms)
    }
}

/// One stage over all runs of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    /// Which one.
    pub stage: Stage,
    /// Over the runs that reached it.
    pub at_ms: Summary,
}

/// Two sets against each other, pair by pair of interleaved runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchComparison {
    /// Label of the set in the numerator.
    pub label: String,
    /// Label of the set in the denominator.
    pub base: String,
    /// Cold or warm.
    pub temperature: Temperature,
    /// Settled over settled.
    pub settled_ratio: Summary,
    /// The same after the wait for a processor was subtracted from both.
    pub settled_less_cpu_wait_ratio: Option<Summary>,
}

/// What can be said of the screen that was watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenFacts {
    /// `x11`, `wayland` or `none`.
    pub protocol: String,
    /// Such as `:99` or `wayland-1`.
    pub display: String,
    /// Width and height.
    pub size_px: (u32, u32),
}
