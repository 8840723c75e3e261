//! Results of the laboratory, and what all results share.
//!
//! Here is what several studies have in common: launches, the emulated phone, its memory, fidelity of the kernel lab.
//! The result of a study is in its folder in `study`.

mod kernel;
mod launch;
mod memory;
mod phone;

use brisk_command::documents::OF_DEVICES;
use brisk_report::Kinds;

pub use brisk_bench::results::*;
pub use brisk_profile::results::*;

pub use kernel::*;
pub use launch::*;
pub use memory::*;
pub use phone::*;

brisk_report::kinds! {
    /// `brisk launch`.
    crate::study::launch::result { LaunchReport = "launch" }
    /// `brisk latency`.
    crate::study::latency::result { LatencyReport = "latency" }
    /// `brisk phone launch`.
    crate::study::prove::result { ProveReport = "prove" }
    /// `brisk phone returns`.
    crate::study::relaunch::result { RelaunchReport = "relaunch" }
    /// `brisk phone day`.
    crate::study::day::result { DayReport = "day" }
    /// `brisk study cures`.
    crate::study::cures::result { CuresReport = "cures" }
    /// `brisk study heap`.
    crate::study::heap_study::result { HeapStudyReport = "heap_study" }
    /// `brisk predict eval`.
    crate::study::predict::result { PredictionReport = "prediction" }
    /// `brisk swap show` and `brisk swap replay`.
    crate::study::swap::result { SwapReport = "swap" }
    /// `brisk kernel`.
    crate::study::kernel::result { KernelReport = "kernel" }
    /// `brisk kernel hunt`.
    crate::study::kernel::hunt::result { HuntReport = "kernel_hunt" }
}

/// The kinds of documents that `brisk-lab` knows: those that it makes, and those of devices.
pub const ALL_KINDS: Kinds = {
    let [bench, profile, comparison] = OF_DEVICES else { panic!("three lists") };
    Kinds(&[*bench, *profile, *comparison, KINDS])
};
