//! The emulated phone, and what ran on it under which conditions.

use std::collections::BTreeMap;

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
    /// The whole device, where it ran in virtual time and not as a part of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_time: Option<VirtualTime>,
}

/// A phone that is a whole emulated device, whose clock counts instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualTime {
    /// Hash of the content of its flash before each start.
    pub image: String,
    /// Its memory.
    pub memory_bytes: u64,
    /// Where it swaps to, such as `zram, 300 MiB`.
    pub swap: String,
    /// Time of an instruction.
    pub instruction_ns: u32,
    /// How brisk ran, where it did: as its package comes, or with which engines from the start.
    pub brisk: String,
    /// How long after a start with nothing in memory apps were launched; absent where caches were dropped right before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_start_s: Option<f64>,
    /// Starts, each with what it counted.
    pub starts: Vec<VirtualStart>,
}

/// A start of such a phone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualStart {
    /// The condition or policy.
    pub name: String,
    /// Seed of all that differs between two starts.
    pub seed: u64,
    /// What the phone counted until its end, by name: of its flash, its memory, the service.
    pub counters: BTreeMap<String, f64>,
    /// What `brisk trial` said at the end.
    pub trials: Vec<VirtualTrial>,
}

/// What a trial had found by the end of a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualTrial {
    /// The engine.
    pub engine: String,
    /// What it was tried on, such as `app evince`.
    pub subject: String,
    /// Such as `on trial` or `acting`.
    pub phase: String,
    /// Pairs of episodes with it and without.
    pub pairs: u64,
    /// Outcome with it as a multiple of that without, and the interval; absent while it is not known.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// Lower end.
    #[serde(default)]
    pub ratio_low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub ratio_high: Option<f64>,
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
