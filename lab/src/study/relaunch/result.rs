//! Return to an app that runs: how long until it answers, and what memory it needed.

use brisk_core::stats::{Bootstrapped, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::WRITTEN_TO_STORAGE;
use crate::results::{AppState, EndedApp, Ending, Header, MemoryCensus, PhoneFacts, PhoneMemory, Split, StorageUse};
use brisk_report::vocabulary::READ_FROM_STORAGE;

/// What a return used that was not in memory before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    /// In swap before, in memory after.
    pub swapped_bytes: u64,
    /// Pages of files that were not mapped before.
    pub file_bytes: u64,
    /// Anonymous pages that are new.
    pub new_bytes: u64,
}

/// One return to an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelaunchRun {
    /// Where the app was.
    pub state: AppState,
    /// How it ended.
    pub ending: Ending,
    /// From the request to bring it to the front until it has answered the input: the last of screen change, storage
    /// wait and work.
    pub end_ms: f64,
    /// The last change of the screen alone, which is too early where an app is painted before it has come back.
    pub screen_ms: Option<f64>,
    /// The first change of the screen.
    pub first_change_ms: Option<f64>,
    /// When the input was sent, once the window had the keys; absent for a launch.
    #[serde(default)]
    pub input_ms: Option<f64>,
    /// What the time until the end went to.
    pub split: Option<Split>,
    /// What it read and wrote until the end.
    pub storage: Option<StorageUse>,
    /// Memory before the return and after it; absent for a killed app.
    pub before: Option<MemoryCensus>,
    /// Memory after it.
    pub after: Option<MemoryCensus>,
    /// What it used.
    pub touched: Option<Touched>,
}

/// A return to an app on the phone, whatever state it was in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppVisit {
    /// The app.
    pub app: String,
    /// Round of the measurement, from 0.
    pub round: u64,
    /// Time and memory.
    pub run: RelaunchRun,
    /// What the phone's flash read until it was over, swap and files of all.
    #[schemars(extend("measure" = READ_FROM_STORAGE))]
    pub flash_read_bytes: u64,
    /// What it wrote.
    #[schemars(extend("measure" = WRITTEN_TO_STORAGE))]
    pub flash_written_bytes: u64,
    /// Time in which it had a request, in the model.
    pub flash_busy_ms: f64,
    /// Apps that were ended meanwhile.
    pub ended: Vec<EndedApp>,
}

impl AppVisit {
    /// Whether the app answered before a time limit.
    #[must_use]
    pub fn answered(&self) -> bool {
        self.run.ending == Ending::Settled
    }

    /// The time that it counts with: the time limit, in ms, where the app ended or showed no window.
    #[must_use]
    pub fn counted_ms(&self, limit_ms: f64) -> f64 {
        match self.run.ending {
            Ending::Settled | Ending::StillWorking | Ending::Animating => self.run.end_ms,
            _ => self.run.end_ms.max(limit_ms),
        }
    }
}

/// All returns to one app under one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppReturns {
    /// The app.
    pub app: String,
    /// In the order in which they were measured.
    pub visits: Vec<AppVisit>,
    /// Time until it answered ([`AppVisit::counted_ms`]).
    pub end_ms: Option<Summary>,
}

/// One policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyReturns {
    /// Name of the policy.
    pub policy: String,
    /// The policy in a sentence.
    pub text: String,
    /// By app.
    pub apps: Vec<AppReturns>,
    /// Sum of the apps' medians. Absent with fewer than three returns of an app.
    pub sum_ms: Option<Bootstrapped>,
    /// That sum as a multiple of the first policy's.
    pub ratio: Option<Bootstrapped>,
    /// Sum of the medians of what was read.
    pub read_bytes: f64,
    /// Sum of the medians of what was written.
    pub written_bytes: f64,
    /// Sum of the medians of the flash's busy time.
    pub busy_ms: f64,
}

/// `brisk phone returns`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelaunchReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// Its memory.
    pub memory: PhoneMemory,
    /// Time limit of one return.
    pub limit_ms: f64,
    /// Policies, the baseline first.
    pub policies: Vec<PolicyReturns>,
}
