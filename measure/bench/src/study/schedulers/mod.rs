//! The scheduler study (dissertation 4.5.3, figure 4.11): how long a mix of reads and writes takes under each
//! scheduler.

mod columns;
mod page;
pub(crate) mod result;
mod run;

pub use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;
use brisk_report::{format, storage};

impl Kind for SchedulersReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        // Documents from before `wanted_depth_requests`: when a scheduler has several depths, they were asked for.
        let several = |x: &SchedulerPoint| {
            let differs = |y: &SchedulerPoint| y.queue_depth_requests != x.queue_depth_requests;
            self.points.iter().any(|y| y.scheduler == x.scheduler && differs(y))
        };
        let row = |x: &SchedulerPoint| {
            let asked = x.wanted_depth_requests.or_else(|| several(x).then_some(x.queue_depth_requests));
            Row::at(SCHEDULER, x.scheduler.clone())
                .by(MIX, format!("{} % {} reads", x.read_percent, format::pattern(x.pattern)))
                .by(QUEUE_DEPTH, asked.map_or_else(|| "its own".into(), Place::from))
                .by(LOAD_DEPTH, x.depth_requests)
                .put(TIME_OF_THE_MIX, x.response_s)
                .put(READ_LATENCY, x.read_us)
                .put(WRITE_LATENCY, x.write_us)
        };
        self.points.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        storage::sizes(self.block_bytes, ("Bytes of a mix", self.mix_bytes))
    }
}
