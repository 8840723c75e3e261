//! StoreBench: what the storage under a path delivers, by block size, by depth, and for durable writes.

mod columns;
mod gist;
mod page;
pub(crate) mod result;
mod run;
mod several;

pub use run::*;

use brisk_core::units::format_bytes;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;
use brisk_report::storage;

impl Kind for BenchReport {
    const RANK: Rank = Rank::Benchmark;

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

    fn together(documents: &[&Self]) -> Option<Figure> {
        several::figure(documents)
    }

    fn verdict(documents: &[&Self], _warnings: u64) -> Vec<String> {
        vec![gist::sentence(documents)]
    }

    fn form() -> Option<Form<Self>> {
        let form = Form::new()
            .word("budget", "`quick`, `normal` or `full`; `model` for model time.", |report: &Self| &report.budget)
            .choice("cache", "Whether the figures are the storage's.", |report| report.cache.verdict)
            .warnings()
            .list("jobs", "Loads at the base block size.", 64, job(), |report| report.jobs.clone())
            .list("syncs", "Durable writes.", 8, sync(), |report| report.syncs.clone());
        Some(form)
    }
}

/// What of a load may leave the device.
fn job() -> Form<JobResult> {
    Form::new()
        .choice("pattern", "Order of addresses.", |job: &JobResult| job.pattern)
        .choice("direction", "Read or write.", |job| job.direction)
        .count("block_bytes", "Size of a request.", 1 << 30, |job| job.block_bytes)
        .count("depth_requests", "Requests in flight.", 4096, |job| job.depth_requests.into())
        .figure("bandwidth_bytes_per_s", THROUGHPUT, |job| job.bandwidth_bytes_per_s)
        .figure("latency_us_p50", P50_LATENCY, |job| job.latency.p50_us)
        .figure("latency_us_p95", P95, |job| job.latency.p95_us)
        .figure("latency_us_p99", P99_LATENCY, |job| job.latency.p99_us)
        // Counters of /proc/stat may be a tick apart.
        .figure("iowait_percent", IOWAIT, |job| job.iowait_percent.clamp(0.0, 100.0))
}

/// What of durable writes may leave the device.
fn sync() -> Form<SyncResult> {
    Form::new()
        .word("call", "`fsync` or `fdatasync`.", |sync: &SyncResult| &sync.call)
        .count("block_bytes", "Bytes written before each call.", 1 << 30, |sync| sync.block_bytes)
        .figure("latency_us_p50", P50_LATENCY, |sync| sync.latency.p50_us)
        .figure("latency_us_p99", P99_LATENCY, |sync| sync.latency.p99_us)
}
