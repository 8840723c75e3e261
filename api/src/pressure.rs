//! Pressure on storage and memory, now and over the last day, as `org.brisk.Daemon.varlink` describes it.

use serde::{Deserialize, Serialize};

/// Pressure at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Time since boot for which some task waited for storage; `None` where the kernel does not count it.
    pub storage_us: Option<u64>,
    /// The same of memory.
    pub memory_us: Option<u64>,
    /// Memory of the machine.
    pub total_bytes: u64,
    /// What of it is available; `None` where the kernel does not say.
    pub available_bytes: Option<u64>,
    pub swap_total_bytes: u64,
    pub swap_free_bytes: u64,
    /// The last day, oldest first, where it is asked for.
    #[serde(default)]
    pub day: Vec<PressureSpan>,
}

/// A stretch of the last day; between two of them the machine was suspended, or could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PressureSpan {
    /// Its end.
    pub until_unix_ms: u64,
    pub length_s: f64,
    /// Share of it in which some task waited for storage; `None` where the kernel does not count that.
    pub storage_percent: Option<f64>,
    /// The same of memory.
    pub memory_percent: Option<f64>,
    /// The least memory that was available in it.
    pub available_bytes_min: Option<u64>,
}
