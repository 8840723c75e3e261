//! Return to an app that runs: how long until it answers, and what memory it needed.

use serde::{Deserialize, Serialize};

use crate::launch::{Ending, Split, StorageUse};

/// Where an app was when the person came back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppState {
    /// In memory, but for less than a tenth of its heap.
    Hot,
    /// A tenth of its heap or more was in swap.
    Swapped,
    /// Ended before: the return is a launch.
    Killed,
}

/// Memory of an app at one moment. Pages that several of its processes map count once for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCensus {
    /// Anonymous pages in memory: heaps and stacks.
    pub anonymous_bytes: u64,
    /// Pages of files and shared memory that are mapped and in memory.
    pub file_bytes: u64,
    /// Pages in swap.
    pub swapped_bytes: u64,
}

impl MemoryCensus {
    /// The state of an app with this memory.
    #[must_use]
    pub fn state(&self) -> AppState {
        let heap_bytes = self.anonymous_bytes.saturating_add(self.swapped_bytes);
        if self.swapped_bytes > 0 && self.swapped_bytes >= heap_bytes / 10 { AppState::Swapped } else { AppState::Hot }
    }
}

/// What a return used that was not in memory before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// In swap before, in memory after.
    pub swapped_bytes: u64,
    /// Pages of files that were not mapped before.
    pub file_bytes: u64,
    /// Anonymous pages that are new.
    pub new_bytes: u64,
}

/// One return to an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelaunchRun {
    /// Where the app was.
    pub state: AppState,
    /// How it ended.
    pub ending: Ending,
    /// From the request to bring it to the front until it has answered the input: the last of screen change, storage wait and
    /// work.
    pub end_ms: f64,
    /// The last change of the screen alone, which is too early where an app is painted before it has come back.
    pub screen_ms: Option<f64>,
    /// The first change of the screen.
    pub first_change_ms: Option<f64>,
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
