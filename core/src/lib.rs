//! The words that all parts of brisk share.
//!
//! Nothing here reads a file, a clock or the environment: what enters is a value, what leaves is a value.
//!
//! - [`app`]: apps, and how much delay each tolerates.
//! - [`arbiter`]: who gets a knob when several want it.
//! - [`causes`]: an error with what led to it.
//! - [`decision`]: what engines see, what they wish for, and why.
//! - [`energy`]: what is assumed of energy where nothing measures it.
//! - [`event`]: what happened on the machine.
//! - [`knob`]: what can be set, under one name each.
//! - [`snapshot`]: one moment of the machine, and the rates between two.
//! - [`token_bucket`]: a rate limit.
//! - [`units`]: sizes, durations and rates as people write and read them.
//! - [`stats`]: the few statistics that brisk reports, each with its interval.

pub mod app;
pub mod arbiter;
pub mod causes;
pub mod decision;
pub mod energy;
pub mod event;
pub mod knob;
pub mod snapshot;
pub mod stats;
pub mod token_bucket;
pub mod units;
