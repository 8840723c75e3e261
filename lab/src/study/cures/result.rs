//! Run time of app workloads under solutions for slow storage.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::RUN_TIME;
use crate::results::Header;

/// An app whose storage work was carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CureWorkload {
    /// `webbench` or `facebook`.
    pub name: String,
    /// Pages of a run.
    pub pages: u32,
    /// Pages of a whole run.
    pub pages_whole: u32,
    /// Time without storage in a run.
    pub think_s: f64,
    /// What a whole run of the paper wrote in sequence, times the share of the pages (table V).
    pub published_sequential_bytes: f64,
    /// The same at random.
    pub published_random_bytes: f64,
}

/// An app on a card under a solution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CureRow {
    /// Name of the workload.
    pub workload: String,
    /// Preset of the card.
    pub preset: String,
    /// Name of the solution; `baseline` is what others are compared with.
    pub solution: String,
    /// The solution in a sentence.
    pub text: String,
    /// What it risks.
    pub risk: String,
    /// Run time over the seeds.
    #[schemars(extend("measure" = RUN_TIME))]
    pub run_s: Option<Summary>,
    /// Run time of the baseline over this one, seed by seed: the factor by which it is faster.
    pub gain: Option<Summary>,
    /// Time in the app's calls for files and databases.
    pub storage_s: Option<Summary>,
    /// Written in sequence, to all devices.
    pub sequential_bytes: Option<Summary>,
    /// Written at random, to all devices.
    pub random_bytes: Option<Summary>,
    /// Lowest factor that the paper states.
    pub published_gain_low: Option<f64>,
    /// Highest; absent where it has no bound.
    pub published_gain_high: Option<f64>,
    /// Where the paper states it.
    pub published_place: Option<String>,
    /// Why there are no figures.
    pub failure: Option<String>,
}

/// A part of an app's data over all power cuts under a solution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CureCrashPart {
    /// `files` of the cache, the database `index` of the cache, or the database `kept`.
    pub part: String,
    /// `durable`, `ordered`, `whole` or `nothing`: what holds after a power cut.
    pub promise: String,
    /// Of `ordered`: the most time before the cut whose transactions may be lost.
    pub bound_s: Option<f64>,
    /// Transactions that were acknowledged before a cut.
    pub acknowledged: u64,
    /// Of these, lost.
    pub lost: u64,
    /// Cuts in which some were lost.
    pub cuts_with_loss: u32,
    /// The longest time from the acknowledgement of a lost one to the cut.
    pub oldest_s: f64,
    /// Cuts after which it was damaged.
    pub damaged: u32,
    /// Cuts in which the promise was broken.
    pub broken: u32,
}

/// Power cuts under a solution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CureCrash {
    /// Preset of the card.
    pub preset: String,
    /// Name of the solution.
    pub solution: String,
    /// Cuts in which a device lost pages of its volatile cache.
    pub cuts: u32,
    /// Further cuts, which found nothing at risk.
    pub without_risk: u32,
    /// Pages that were lost.
    pub lost_pages: u64,
    /// Cuts after which a file system did not mount.
    pub unmountable: u32,
    /// Cuts after which the check of a file system found errors.
    pub unclean: u32,
    /// Whether all file systems have a program that checks them.
    pub is_checked: bool,
    /// Cuts of one device of a stripe alone, after which the others were read.
    pub pulled: u32,
    /// Pages that were read then and right.
    pub pulled_right: u64,
    /// Pages and files whose read failed.
    pub pulled_errors: u64,
    /// Pages that were read and wrong.
    pub pulled_wrong: u64,
    /// The parts of the data.
    pub parts: Vec<CureCrashPart>,
    /// The first finding, in words.
    pub example: Option<String>,
    /// Why there are fewer cuts than asked for.
    pub failure: Option<String>,
}

impl CureCrash {
    /// Whether a promise was broken, a file system was not whole, wrong data was read, or cuts are missing.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.failure.is_some()
            || self.unmountable > 0
            || self.unclean > 0
            || self.pulled_wrong > 0
            || self.parts.iter().any(|part| part.broken > 0)
    }
}

/// `brisk study cures`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CuresReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// Seeds of each row.
    pub seeds: u32,
    /// The apps.
    pub workloads: Vec<CureWorkload>,
    /// Each app on each card under each solution.
    pub rows: Vec<CureRow>,
    /// Power cuts under each solution, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<CureCrash>,
}
