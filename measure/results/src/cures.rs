//! Run time of app workloads under solutions for slow storage.

use brisk_core::stats::Summary;
use serde::{Deserialize, Serialize};

use crate::Header;

/// An app whose storage work was carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// `brisk suite cures`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}
