//! StoreBench: what the storage under a path delivers, by block size, by depth, and for durable writes.

mod columns;
mod page;
mod result;
pub(crate) mod several;

pub use result::*;

use brisk_core::units::format_bytes;

use self::columns::*;
use crate::declare::*;
use crate::storage;

impl Kind for BenchReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let jobs = self.jobs.iter().chain(&self.block_sweep).chain(&self.depth_sweep).map(|job| {
            storage::load(job.pattern, job.direction)
                .by(SIZE, size(job.block_bytes))
                .by(DEPTH, job.depth_requests)
                .put(
                    THROUGHPUT,
                    storage::single(&job.runs, |run| Some(run.bandwidth_bytes_per_s), job.bandwidth_bytes_per_s),
                )
                .put(MEAN_LATENCY, job.latency.mean_us)
                .put(P99_LATENCY, job.latency.p99_us)
                .put(LONGEST_LATENCY, job.latency.max_us)
                .put(CPU_PER_REQUEST, job.cpu_us_per_request)
                .put(CPUS_BUSY, job.cpu_busy_percent)
        });
        let syncs = self.syncs.iter().map(|sync| {
            Row::at(CALL, sync.call.clone())
                .by(SIZE, size(sync.block_bytes))
                .put(P50_LATENCY, sync.latency.p50_us)
                .put(P99_LATENCY, sync.latency.p99_us)
                .put(LONGEST_LATENCY, sync.latency.max_us)
        });
        jobs.chain(syncs).collect()
    }

    fn mode(&self) -> Facts {
        vec![("Budget", self.budget.clone()), ("Work file", format_bytes(self.work_bytes))]
    }
}
