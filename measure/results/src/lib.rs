//! What a measurement found: the structs whose serde form is the public JSON.
//!
//! Names end in their unit (`_ms`, `_us`, `_bytes`, `_bytes_per_s`, `_percent`), statistics come after it. A change that
//! would break a reader raises [`SCHEMA_VERSION`]. Measurements fill these; reports read nothing else.
//!
//! - [`comparison`]: what changed between documents of the same kind.
//! - [`cures`]: run time of app workloads under solutions for slow storage.
//! - [`frontier`]: settings under mixed load.
//! - [`heap_study`]: how well memory needs are predicted, and what thresholds cover.
//! - [`hunt`]: loads under which an I/O scheduler is worse than others.
//! - [`kernel`]: what I/O schedulers do in the virtual machine.
//! - [`storage`]: the benchmark and the studies of block storage.
//! - [`launch`]: how long an app takes to launch and to answer, and where the time went.
//! - [`memory_study`]: what apps take of memory, and with how little they start.
//! - [`relaunch`]: the return to an app that runs.
//! - [`suite`]: many apps under several conditions on an emulated phone.
//! - [`profile`]: what each setting of a device costs.
//! - [`day`]: a day of use on a phone with little memory.
//! - [`prediction`]: how well next apps are predicted.
//! - [`swap`]: layout of swapping, and its replay under other policies.

#![warn(missing_docs)]

use serde::{Deserialize, Serialize};

mod built;
pub mod comparison;
pub mod cures;
pub mod day;
pub mod frontier;
pub mod heap_study;
pub mod hunt;
pub mod kernel;
pub mod launch;
pub mod memory_study;
pub mod prediction;
pub mod profile;
pub mod prove;
pub mod relaunch;
pub mod storage;
pub mod suite;
pub mod swap;

pub use built::{commit, set_commit};
pub use comparison::*;
pub use cures::*;
pub use day::*;
pub use frontier::*;
pub use heap_study::*;
pub use hunt::*;
pub use kernel::*;
pub use launch::*;
pub use memory_study::*;
pub use prediction::*;
pub use profile::*;
pub use prove::{BothWays, ChangedSetting, EngineGain, Gain, ProveJobs, ProveReport, ProveStorage};
pub use relaunch::*;
pub use storage::*;
pub use suite::*;
pub use swap::*;

/// Version of every document below.
pub const SCHEMA_VERSION: u32 = 1;

/// Something that the reader of a result has to know to judge it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable word for programs: `cpu_pressure`, `not_direct`, `lab_late`, `few_repeats`, `write_limit`, `foreign_io`, ...
    pub code: String,
    /// A sentence for people, with the value that was seen and what to do.
    pub text: String,
}

/// The disk under a path, and its settings at the time of the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The preset, when it is an emulated device of `brisk lab`.
    pub lab_preset: Option<String>,
}

/// What was measured, on what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// The one table of kinds of documents: variant, report and name in JSON. Reading, heads and what shows them derive from it;
/// a new kind is a line here and a file in `measure/report/src/kinds`.
macro_rules! documents {
    ($($(#[$doc:meta])* $kind:ident($report:ident) = $name:literal,)+) => {
        /// Any document that brisk writes.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Document {
            $($(#[$doc])* #[serde(rename = $name)] $kind(Box<$report>),)+
        }

        impl Document {
            /// The names of all kinds, as they stand in the field `kind`.
            pub const KINDS: &'static [&'static str] = &[$($name),+];

            /// The document of this `kind` in `input`; `None` when the kind is unknown. Unlike the general deserialization, which
            /// has to keep everything that stands before the kind, it takes no memory beyond the document's own.
            ///
            /// # Errors
            /// When `input` is not a report of that kind.
            pub fn of_kind<'de, D: serde::Deserializer<'de>>(kind: &str, input: D) -> Result<Option<Self>, D::Error> {
                match kind {
                    $($name => $report::deserialize(input).map(|report| Some(Self::$kind(Box::new(report)))),)+
                    _ => Ok(None),
                }
            }

            /// The head that all documents have.
            #[must_use]
            pub fn header(&self) -> &Header {
                match self { $(Self::$kind(report) => &report.header,)+ }
            }

            /// The same, to be completed by a caller that knows more of the machine.
            pub fn header_mut(&mut self) -> &mut Header {
                match self { $(Self::$kind(report) => &mut report.header,)+ }
            }

            /// Its name among [`Self::KINDS`].
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)+ }
            }
        }

        /// What `$body` gives for the report in a document, which it knows as `$with`.
        #[macro_export]
        macro_rules! with_report {
            ($document:expr, $with:ident => $body:expr) => {
                match $document { $($crate::Document::$kind($with) => $body,)+ }
            };
        }
    };
}

documents! {
    /// `brisk bench`.
    Bench(BenchReport) = "bench",
    /// `brisk study slowdown`.
    Slowdown(SlowdownReport) = "slowdown",
    /// `brisk study concurrency`.
    Concurrency(ConcurrencyReport) = "concurrency",
    /// `brisk study schedulers`.
    Schedulers(SchedulersReport) = "schedulers",
    /// `brisk study footprint`.
    Footprint(FootprintReport) = "footprint",
    /// `brisk study frontier`.
    Frontier(FrontierReport) = "frontier",
    /// `brisk study memory`.
    MemoryStudy(MemoryStudyReport) = "memory_study",
    /// `brisk study heap`.
    HeapStudy(HeapStudyReport) = "heap_study",
    /// `brisk launch`.
    Launch(LaunchReport) = "launch",
    /// `brisk latency`.
    Latency(LatencyReport) = "latency",
    /// `brisk suite run`.
    Suite(SuiteReport) = "suite",
    /// `brisk suite whatif`.
    WhatIf(WhatIfReport) = "what_if",
    /// `brisk prove`.
    Prove(ProveReport) = "prove",
    /// `brisk profile`.
    Profile(ProfileReport) = "profile",
    /// `brisk compare`.
    Comparison(ComparisonReport) = "comparison",
    /// `brisk kernel`.
    Kernel(KernelReport) = "kernel",
    /// `brisk kernel hunt`.
    Hunt(HuntReport) = "kernel_hunt",
    /// `brisk suite relaunch`.
    Relaunch(RelaunchReport) = "relaunch",
    /// `brisk swap show` and `brisk swap replay`.
    Swap(SwapReport) = "swap",
    /// `brisk suite day`.
    Day(DayReport) = "day",
    /// `brisk predict eval`.
    Prediction(PredictionReport) = "prediction",
    /// `brisk suite cures`.
    Cures(CuresReport) = "cures",
}
