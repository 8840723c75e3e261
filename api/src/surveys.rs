//! What engines make of apps, as `org.brisk.Daemon.varlink` describes it.

pub use brisk_iram::{Row as AppMemory, Survey as MemorySurvey};
pub use brisk_mars::{Row as AppPages, Survey as PagesSurvey};
use serde::{Deserialize, Serialize};

/// What the memory engine makes of each app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Apps {
    /// Whether the engine runs: otherwise nothing is taken from any app, and nothing was learned.
    pub active: bool,
    /// Memory and apps.
    #[serde(flatten)]
    pub survey: MemorySurvey,
}

/// Where the pages of apps are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pages {
    /// Whether the engine for swap runs: otherwise nothing was learned, and nothing is written out or read back.
    pub active: bool,
    /// Memory and apps.
    #[serde(flatten)]
    pub survey: PagesSurvey,
}

/// What the engine for launch prefetch knows of an app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AppLaunches {
    /// Its id.
    pub id: String,
    /// Its launches so far.
    pub launches: u64,
    /// Those of them that were learned.
    pub learned: u64,
    /// Whether the pages that it uses are known exactly.
    pub exact: bool,
    /// Files that its next launch is expected to use.
    pub files: u64,
    /// What is read ahead of its next launch, where memory is not short.
    pub planned_bytes: u64,
    /// What of that is of files that other apps use as well.
    pub shared_bytes: u64,
    /// `unknown`, `gains` or `left_alone`.
    pub verdict: String,
    /// Since when it is left alone, by the wall clock.
    pub left_alone_since_unix_ms: Option<u64>,
    /// Launches with reading ahead that are compared.
    pub launches_with: u64,
    /// The same without.
    pub launches_without: u64,
    /// Wait for storage with reading ahead as a multiple of that without, and its interval of 95 %; `None` with fewer than
    /// two of each.
    pub wait_ratio: Option<f64>,
    /// Lower end.
    pub wait_ratio_low: Option<f64>,
    /// Upper end.
    pub wait_ratio_high: Option<f64>,
    /// Bytes that were asked for.
    pub asked_bytes: u64,
    /// What of them the device read.
    pub read_bytes: u64,
    /// What of those asked for launches used.
    pub used_bytes: u64,
}

/// What the engine for launch prefetch knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Launches {
    /// Whether the engine runs: otherwise nothing is read ahead and nothing is learned.
    pub active: bool,
    /// The apps, by id.
    pub apps: Vec<AppLaunches>,
}

impl From<brisk_prefetch::AppSurvey> for AppLaunches {
    fn from(app: brisk_prefetch::AppSurvey) -> Self {
        use brisk_prefetch::proof::Verdict;
        let (verdict, left_alone_since_unix_ms) = match app.verdict {
            Verdict::Unknown => ("unknown", None),
            Verdict::Gains => ("gains", None),
            Verdict::LeftAlone { since_unix_ms } => ("left_alone", Some(since_unix_ms)),
        };
        Self {
            id: app.id,
            launches: app.launches,
            learned: app.learned,
            exact: app.exact,
            files: app.files,
            planned_bytes: app.planned_bytes,
            shared_bytes: app.shared_bytes,
            verdict: verdict.to_owned(),
            left_alone_since_unix_ms,
            launches_with: app.compared_launches.0,
            launches_without: app.compared_launches.1,
            wait_ratio: app.wait_ratio.map(|of| of.ratio),
            wait_ratio_low: app.wait_ratio.map(|of| of.low),
            wait_ratio_high: app.wait_ratio.map(|of| of.high),
            asked_bytes: app.tally.asked_bytes,
            read_bytes: app.tally.read_bytes,
            used_bytes: app.tally.used_bytes,
        }
    }
}
