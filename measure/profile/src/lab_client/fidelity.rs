//! How far the times of a device can be believed, and what that rests on.

use serde::{Deserialize, Serialize};

/// What the lab itself costs, measured on the finished device before it is handed out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Median time of a 4 KiB random read whose model time is zero.
    pub read_at_zero_us_p50: f64,
    /// Median overhead of a timed read: it is subtracted from each request.
    pub overhead_us_p50: f64,
    /// From the 25th to the 75th percentile of all rounds.
    pub overhead_us_spread: f64,
    /// Reads that were timed.
    pub count: u64,
}

/// How busy the processors were while the counters ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuPressure {
    /// Share of the time since the reset of the counters in which a task waited for a processor; within the first
    /// seconds the kernel's average over the last 10 s.
    pub percent_since_reset: f64,
    /// The kernel's average over the last 10 s.
    pub percent_avg10: f64,
}

/// Whether to believe the device's times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fidelity {
    /// No reason against it.
    pub reliable: bool,
    pub reasons: Vec<String>,
    /// What to know all the same.
    pub notes: Vec<String>,
}
