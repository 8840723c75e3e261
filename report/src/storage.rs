//! What is compared of loads of storage.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;

use crate::declare::*;
use crate::results::{Direction, Pattern};
use crate::{chart, format};

pub fn load(pattern: Pattern, direction: Direction) -> Row {
    Row::at(LOAD, format::load(pattern, direction))
}

/// The single runs, or their summary where a document has no runs.
pub fn single<T>(runs: &[T], of: impl Fn(&T) -> Option<f64>, summary: Summary) -> Value {
    match chart::runs(runs.iter().filter_map(of)) {
        none if none.is_empty() => Value::Summary(summary),
        runs => Value::Runs(runs),
    }
}

/// Sizes of requests and streams.
pub fn sizes(block_bytes: u64, work: (&'static str, u64)) -> Facts {
    vec![("Request size", format_bytes(block_bytes)), (work.0, format_bytes(work.1))]
}
