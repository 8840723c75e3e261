//! The footprint study (Revisiting storage, figure 15): random-write throughput over the range that the writes fall
//! into.

mod page;
pub(crate) mod result;
mod run;

pub use run::*;

use brisk_core::units::format_bytes;

use self::result::*;
use brisk_report::declare::*;
use brisk_report::storage;

impl Kind for FootprintReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let row = |point: &crate::results::FootprintPoint| {
            Row::at(LOAD, "random write")
                .by(RANGE, within(point.range_bytes))
                .put(THROUGHPUT, point.bandwidth_bytes_per_s)
        };
        self.points.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        let mut mode = storage::sizes(self.block_bytes, ("Written before a point", self.precondition_bytes));
        mode.push(("Requests of a point", self.requests.to_string()));
        mode
    }
}

/// A range of addresses as a place.
fn within(bytes: u64) -> Place {
    Place { text: format!("within {}", format_bytes(bytes)), number: Some(bytes as f64) }
}
