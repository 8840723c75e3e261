//! What the subcommands of `brisk-lab` run.

pub(crate) mod briskd;
pub(crate) mod candidates;
pub(crate) mod display;
pub(crate) mod heap_study;
pub(crate) mod kernel;
pub(crate) mod latency;
pub(crate) mod launch;
pub(crate) mod memory_study;
pub(crate) mod on_phone;
pub(crate) mod other_daemons;
pub(crate) mod predict;
pub(crate) mod prefetch;
pub(crate) mod profile;
pub(crate) mod prove;
pub(crate) mod shown;
pub(crate) mod suite;
pub(crate) mod swap;
pub(crate) mod usage_trace;

/// The results of all studies.
pub(crate) mod results {
    pub use super::heap_study::result::*;
    pub use super::kernel::hunt::result::*;
    pub use super::kernel::result::*;
    pub use super::latency::result::*;
    pub use super::launch::result::*;
    pub use super::memory_study::result::*;
    pub use super::predict::result::*;
    pub use super::prove::result::*;
    pub use super::suite::cures::result::*;
    pub use super::suite::day::result::*;
    pub use super::suite::relaunch::result::*;
    pub use super::suite::result::*;
    pub use super::suite::whatif::result::*;
    pub use super::swap::result::*;
}

brisk_report::kinds! {
    /// `brisk launch`.
    results::LaunchReport = "launch",
    /// `brisk latency`.
    results::LatencyReport = "latency",
    /// `brisk suite run`.
    results::SuiteReport = "suite",
    /// `brisk suite whatif`.
    results::WhatIfReport = "what_if",
    /// `brisk prove`.
    results::ProveReport = "prove",
    /// `brisk suite relaunch`.
    results::RelaunchReport = "relaunch",
    /// `brisk suite day`.
    results::DayReport = "day",
    /// `brisk suite cures`.
    results::CuresReport = "cures",
    /// `brisk study memory`.
    results::MemoryStudyReport = "memory_study",
    /// `brisk study heap`.
    results::HeapStudyReport = "heap_study",
    /// `brisk predict eval`.
    results::PredictionReport = "prediction",
    /// `brisk swap show` and `brisk swap replay`.
    results::SwapReport = "swap",
    /// `brisk kernel`.
    results::KernelReport = "kernel",
    /// `brisk kernel hunt`.
    results::HuntReport = "kernel_hunt",
}
