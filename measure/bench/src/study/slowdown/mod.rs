//! The slowdown study (dissertation 4.2.3 and 4.2.4, figure 4.3): response times in mixed load over those alone.

mod columns;
mod page;
pub(crate) mod result;
mod run;

pub use run::*;

use brisk_core::stats::Summary;

use self::columns::*;
use self::result::*;
use crate::results::Direction;
use brisk_report::declare::*;
use brisk_report::storage;

impl Kind for SlowdownReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let at = |row: &SlowdownRow, direction| {
            let streams = Place { text: format!("{0} + {0}", row.streams), number: Some(f64::from(row.streams)) };
            storage::load(row.pattern, direction).by(STREAMS, streams)
        };
        let sides = |row: &SlowdownRow| {
            let runs = &row.runs;
            let peers = |of: fn(&SlowdownRun) -> Option<f64>, peers: Option<Summary>| {
                peers.map(|peers| storage::single(runs, of, peers))
            };
            [
                at(row, Direction::Read)
                    .put(LATENCY_ALONE, storage::single(runs, |run| Some(run.read_alone_us), row.read_alone_us))
                    .put(LATENCY_AMONG_PEERS, peers(|run| run.read_peers_us, row.read_peers_us))
                    .put(
                        LATENCY_IN_MIXED_LOAD,
                        storage::single(runs, |run| Some(run.read_beside_us), row.read_beside_us),
                    )
                    .put(SLOWDOWN, row.read_slowdown),
                at(row, Direction::Write)
                    .put(LATENCY_ALONE, storage::single(runs, |run| Some(run.write_alone_us), row.write_alone_us))
                    .put(LATENCY_AMONG_PEERS, peers(|run| run.write_peers_us, row.write_peers_us))
                    .put(
                        LATENCY_IN_MIXED_LOAD,
                        storage::single(runs, |run| Some(run.write_beside_us), row.write_beside_us),
                    )
                    .put(SLOWDOWN, row.write_slowdown),
            ]
        };
        self.rows.iter().flat_map(sides).collect()
    }

    fn mode(&self) -> Facts {
        storage::sizes(self.block_bytes, ("Bytes of a stream", self.stream_bytes))
    }

    fn form() -> Option<Form<Self>> {
        let row = Form::new()
            .choice("pattern", "Order of addresses of both sides.", |row: &SlowdownRow| row.pattern)
            .count("streams", "Reading streams, and as many writing streams.", 4096, |row| row.streams.into())
            .figure("read_alone_us", LATENCY_ALONE, |row| row.read_alone_us)
            .figure("write_alone_us", LATENCY_ALONE, |row| row.write_alone_us)
            .figure("read_slowdown", SLOWDOWN, |row| row.read_slowdown)
            .figure("write_slowdown", SLOWDOWN, |row| row.write_slowdown);
        let form = Form::new()
            .warnings()
            .count("block_bytes", "Size of a request.", 1 << 30, |report: &Self| report.block_bytes)
            .list("rows", "By pattern and number of streams.", 16, row, |report| report.rows.clone());
        Some(form)
    }
}
