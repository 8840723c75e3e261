//! A measurement that the daemon has run for a client, as `org.brisk.Daemon.varlink` describes it.

use serde::{Deserialize, Serialize};

/// The socket in the run directory behind which a measurement is run, where a service manager does that.
pub const JOB_SOCKET: &str = "job.sock";

/// What can be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// What is not known yet of a device: `brisk tune`.
    #[default]
    Tune,
    /// How fast its storage is: `brisk bench --quick`.
    Bench,
    /// What each scheduler and depth costs: `brisk profile`.
    Profile,
}

impl JobKind {
    /// All.
    pub const ALL: [Self; 3] = [Self::Tune, Self::Bench, Self::Profile];

    /// The one of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name: that of the command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Bench => "bench",
            Self::Profile => "profile",
        }
    }
}

/// How a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// It is complete.
    Done,
    /// It could not be made, or not all of it.
    Failed,
    /// A person stopped it; settings are as before.
    Stopped,
}

/// A measurement that runs, or ran last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What is measured.
    pub job: JobKind,
    /// Of which device; `None`: all that are managed, or where data of the system lies.
    pub device: Option<String>,
    /// When it began.
    pub started_unix_ms: u64,
    /// How far its present part is.
    pub done_percent: Option<f64>,
    /// What it does at present.
    pub doing: String,
    /// What it said, a line each: the last ones.
    pub said: Vec<String>,
    /// When it ended.
    pub ended_unix_ms: Option<u64>,
    /// How.
    pub end: Option<JobEnd>,
}
