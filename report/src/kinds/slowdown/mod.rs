//! The slowdown study (dissertation 4.2.3 and 4.2.4, figure 4.3): response times in mixed load over those alone.

mod columns;
mod page;
mod result;

pub use result::*;

use brisk_core::stats::Summary;

use self::columns::*;
use crate::declare::*;
use crate::results::Direction;
use crate::storage;

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
}
