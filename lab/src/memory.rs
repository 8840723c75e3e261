//! Memory of apps on a phone: a day of use, prediction of the next app, and what returns to apps cost.
//!
//! Files: `answers` has the keys that apps answer; [`day`] replays a usage trace; `returns` sums up returns to apps;
//! [`prediction`] scores predictors of the next app on a trace; [`heap`] evaluates predictors of memory needs on a
//! table of recorded runs.

mod answers;
pub mod day;
pub mod heap;
pub mod prediction;
mod returns;

pub use answers::{Answer, NoAnswer};
pub use returns::{against_first, policy_returns};
