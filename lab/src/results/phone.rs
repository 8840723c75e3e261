//! The emulated phone, and what ran on it under which conditions.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{LaunchComparison, LaunchSet};

/// The emulated phone that a suite ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhoneFacts {
    /// Preset of its flash.
    pub preset: String,
    /// Its block device, such as `/dev/loop3`.
    pub device: String,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that the device accepts at once.
    pub driver_tags: Option<u32>,
    /// Size of its file system.
    pub size_bytes: u64,
    /// File system and mount options, such as `ext4 rw,relatime`.
    pub file_system: String,
}

/// Load in the background of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriterLoad {
    /// What it stands for, such as `app install and mail sync`.
    pub text: String,
    /// What it set out to write.
    pub target_bytes_per_s: f64,
    /// What it wrote while apps launched, over the launches.
    pub reached_bytes_per_s: Option<Summary>,
    /// Its fsyncs, over the launches.
    pub syncs_per_s: Option<Summary>,
}

/// One condition of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// `idle`, `writers`, or a variant of what-if such as `all_in_ram`.
    pub name: String,
    /// In a sentence.
    pub text: String,
    /// Background load.
    pub writer: Option<WriterLoad>,
}

/// One app of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteApp {
    /// Short name, such as `evince`.
    pub name: String,
    /// Its group, such as `reader`.
    pub group: String,
    /// Program and arguments inside the phone.
    pub command: Vec<String>,
    /// One for each condition (the set's label) and temperature.
    pub sets: Vec<LaunchSet>,
    /// Each condition against the first, by temperature.
    pub comparisons: Vec<LaunchComparison>,
    /// Why there is nothing, when it could not be measured.
    pub failure: Option<String>,
}

/// Names of the four conditions: what the load is, and who is at work.
pub mod conditions {
    /// Nothing happens, the kernel's own settings.
    pub const IDLE: &str = "idle";
    /// Nothing happens, brisk at work.
    pub const IDLE_BRISK: &str = "idle_with_brisk";
    /// A writer, the kernel's own settings.
    pub const WRITERS: &str = "writers";
    /// A writer, brisk at work.
    pub const WRITERS_BRISK: &str = "writers_with_brisk";

    /// The name of a condition: a load, and who is at work, `brisk` for all of its engines or one of them.
    #[must_use]
    pub fn with(load: &str, who: &str) -> String {
        format!("{load}_with_{who}")
    }

    /// Load and what is at work, from the name of a condition; `None` for one in which brisk is not.
    #[must_use]
    pub fn parts(name: &str) -> Option<(&str, &str)> {
        name.split_once("_with_")
    }
}
