//! The concurrency study (dissertation 4.2.5, figure 4.6): the number of concurrent streams with the largest speed-up.

mod columns;
mod page;
pub(crate) mod result;
mod run;

pub use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;
use brisk_report::storage;

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

    fn form() -> Option<Form<Self>> {
        let point = Form::new()
            .choice("pattern", "Order of addresses.", |point: &ConcurrencyPoint| point.pattern)
            .choice("direction", "Read or write.", |point| point.direction)
            .count("streams", "Streams at once.", 4096, |point| point.streams.into())
            .figure("speedup", SPEED_UP, |point| point.speedup);
        let form = Form::new()
            .warnings()
            .count("block_bytes", "Size of a request.", 1 << 30, |report: &Self| report.block_bytes)
            .list("points", "All points.", 64, point, |report| report.points.clone());
        Some(form)
    }
}
