//! Results that are made here, and what all results share.

pub use brisk_report::results::*;

brisk_report::kinds! {
    /// `brisk bench`.
    crate::storebench::result { BenchReport = "bench" }
    /// `brisk study slowdown`.
    crate::study::slowdown::result { SlowdownReport = "slowdown" }
    /// `brisk study concurrency`.
    crate::study::concurrency::result { ConcurrencyReport = "concurrency" }
    /// `brisk study schedulers`.
    crate::study::schedulers::result { SchedulersReport = "schedulers" }
    /// `brisk study footprint`.
    crate::study::footprint::result { FootprintReport = "footprint" }
    /// `brisk study frontier`.
    crate::study::frontier::result { FrontierReport = "frontier" }
}
