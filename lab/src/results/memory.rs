//! What results of a phone with little memory share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an app was when the person came back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Who ended an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The kernel, since memory had run out.
    Kernel,
    /// The memory engine of brisk.
    Brisk,
    /// No other: it crashed, or ended on purpose.
    Itself,
}

/// An app that ended in the background or while another was in front.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndedApp {
    /// Its name; `balloon` is the process that fills memory.
    pub app: String,
    /// Who ended it.
    pub by: EndedBy,
}

/// Memory of a phone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhoneMemory {
    /// Memory for all that runs in it.
    pub limit_bytes: u64,
    /// Size of each swap area.
    pub swap_bytes: u64,
}
