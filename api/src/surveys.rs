//! What engines make of apps, as `org.brisk.Daemon.varlink` describes it.

pub use brisk_core::survey::{AppLaunches, AppMemory, AppPages, MemorySurvey, PagesSurvey, Readiness};
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

/// What the engine for launch prefetch knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Launches {
    /// Whether the engine runs: otherwise nothing is read ahead and nothing is learned.
    pub active: bool,
    /// The apps, by id.
    pub apps: Vec<AppLaunches>,
}
