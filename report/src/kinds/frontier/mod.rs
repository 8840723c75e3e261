//! The frontier study: what each setting of a block queue makes of reads concurrent with writes, and of the writes.

mod columns;
mod page;
mod result;

pub use result::*;

use brisk_core::units::format_bytes;

use self::columns::*;
use crate::declare::*;
use crate::format;

impl Kind for FrontierReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let points = self.points.iter().flat_map(|point| {
            self.loads.iter().zip(&point.loads).map(|(load, found)| {
                Row::at(LOAD, load.name.clone())
                    .by(SETTING, if point.label == self.found { "found" } else { &point.label })
                    .put(READ_LATENCY, found.read_us)
                    .put(P99_READ_LATENCY, found.read_us_p99)
                    .put(WRITE_THROUGHPUT, found.write_bytes_per_s)
                    .put(LONGEST_WRITE, found.write_us_max)
            })
        });
        points.collect()
    }

    fn mode(&self) -> Facts {
        vec![("Request size", format_bytes(self.block_bytes)), ("Length of a trial", format::seconds(self.trial_s))]
    }

    fn setting(&self) -> Facts {
        let found = self.point(&self.found).map_or(&self.found, |point| &point.scheduler);
        vec![("Scheduler found", found.clone())]
    }
}
