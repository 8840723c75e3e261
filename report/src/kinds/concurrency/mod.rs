//! The concurrency study (dissertation 4.2.5, figure 4.6): the number of concurrent streams with the largest speed-up.

mod columns;
mod page;
mod result;

pub use result::*;

use self::columns::*;
use crate::declare::*;
use crate::storage;

impl Kind for ConcurrencyReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let row = |point: &crate::results::ConcurrencyPoint| {
            storage::load(point.pattern, point.direction)
                .by(STREAMS, point.streams)
                .put(SERIAL_TIME, point.serial_s)
                .put(CONCURRENT_TIME, point.concurrent_s)
                .put(SPEED_UP, point.speedup)
        };
        self.points.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        storage::sizes(self.block_bytes, ("Bytes of a stream", self.stream_bytes))
    }
}
