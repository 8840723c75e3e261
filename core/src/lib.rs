//! The words that all parts of brisk share.
//!
//! Nothing here reads a file, a clock or the environment: what enters is a value, what leaves is a value.
//!
//! - [`causes`]: an error with what led to it.
//! - [`snapshot`]: one moment of the machine, and the rates between two.
//! - [`units`]: sizes, durations and rates as people write and read them.
//! - [`stats`]: the few statistics that brisk reports, each with its interval.

pub mod causes;
pub mod snapshot;
pub mod stats;
pub mod units;
