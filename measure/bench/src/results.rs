//! Results that are made here, and what all results share.

pub use brisk_report::results::*;

pub use crate::storebench::result::*;
pub use crate::study::concurrency::result::*;
pub use crate::study::footprint::result::*;
pub use crate::study::frontier::result::*;
pub use crate::study::jobs::result::*;
pub use crate::study::schedulers::result::*;
pub use crate::study::slowdown::result::*;

brisk_report::kinds! {
    /// `brisk bench`.
    BenchReport = "bench",
    /// `brisk study slowdown`.
    SlowdownReport = "slowdown",
    /// `brisk study concurrency`.
    ConcurrencyReport = "concurrency",
    /// `brisk study schedulers`.
    SchedulersReport = "schedulers",
    /// `brisk study footprint`.
    FootprintReport = "footprint",
    /// `brisk study frontier`.
    FrontierReport = "frontier",
}
