//! What measurements found: the structs whose serde form is the public JSON. Here is what kinds share; the result of a
//! kind is in the folder of its study.
//!
//! Names end in their unit (`_ms`, `_us`, `_bytes`, `_bytes_per_s`, `_percent`), statistics come after it. A change
//! that would break a reader raises [`SCHEMA_VERSION`]. Measurements fill these; pages read nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod better;
mod built;
mod split;
mod storage;

pub use crate::kind::Document;
pub use better::Better;
pub use built::{commit, set_commit};
pub use split::*;
pub use storage::*;

crate::kinds! {
    /// `brisk compare`.
    crate::comparison::result { ComparisonReport = "comparison" }
}

/// Version of every document below.
pub const SCHEMA_VERSION: u32 = 1;

/// Something that the reader of a result has to know to judge it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable word for programs: `cpu_pressure`, `not_direct`, `lab_late`, `few_repeats`, `write_limit`, `foreign_io`,
    /// ...
    pub code: String,
    /// A sentence for people, with the value that was seen and what to do.
    pub text: String,
}

/// The disk under a path, and its settings at the time of the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// Kernel name of the whole disk, such as `mmcblk0` or `loop3`.
    pub name: String,
    /// Its partition, where all that was measured is on a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Sort of device: `emmc`, `sd`, `ufs`, `nvme`, `usb`, `virtual` or `disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The maker's name for it, where the kernel knows.
    pub model: Option<String>,
    /// Revision of its firmware, where it tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Capacity.
    pub size_bytes: u64,
    /// Whether the kernel takes it for a rotating disk.
    pub rotational: bool,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Those that this kernel offers for it.
    pub schedulers_available: Vec<String>,
    /// `nr_requests`.
    pub queue_depth_requests: Option<u32>,
    /// `read_ahead_kb`.
    pub read_ahead_kib: Option<u32>,
    /// `max_sectors_kb`.
    pub max_request_kib: Option<u32>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Smallest unit that it addresses.
    pub logical_block_bytes: u32,
    /// The preset, when it is an emulated device.
    pub lab_preset: Option<String>,
}

/// What was measured, on what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Version of brisk.
    pub brisk_version: String,
    /// Commit that brisk was built from, where that is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Machine architecture.
    pub architecture: String,
    /// Processors online.
    pub cpus: u32,
    /// The directory or device measured.
    pub path: String,
    /// File system type under it, such as `ext4`; absent for a raw device.
    pub file_system: Option<String>,
    /// Its mount options.
    pub mount_options: Option<String>,
    /// The disk under the file system, where there is a single one.
    pub device: Option<BlockDevice>,
    /// Kernel names of the disks under it, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<String>,
}

/// Head of every document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Start in RFC 3339, UTC.
    pub started: String,
    /// Wall time of the whole run.
    pub duration_s: f64,
    /// The machine and the target.
    pub environment: Environment,
    /// `io_uring` or `calls`, and why it is not io_uring; absent where nothing drives the storage itself.
    #[serde(default)]
    pub io_engine: Option<String>,
    /// Seed of all random choices.
    pub seed: u64,
    /// What the run wrote, preparation included: its share in the device's wear.
    #[serde(default)]
    pub written_bytes: u64,
    /// What to know before believing the numbers.
    pub warnings: Vec<Warning>,
}
