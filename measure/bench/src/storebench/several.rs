//! Benchmarks compared: the same load on two or more devices, kernels or settings.

use crate::results::{BenchReport, JobResult};
use brisk_core::stats::Summary;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;

/// Which jobs are of the same load.
fn load_of(job: &JobResult) -> [u64; 4] {
    [job.pattern as u64, job.direction as u64, job.block_bytes, job.depth_requests.into()]
}

/// A table of all loads that every benchmark has; `None` with fewer than two, or nothing in common.
pub(super) fn figure(benches: &[&BenchReport]) -> Option<Figure> {
    let (first, others) = benches.split_first()?;
    let mut loads: Vec<&JobResult> = all(first).collect();
    loads.sort_by_key(|job| load_of(job));
    // The base loads are points of the sweeps too.
    loads.dedup_by_key(|job| load_of(job));
    let mut rows: Vec<Row> = Vec::new();
    for job in loads {
        let same = others.iter().filter_map(|bench| all(bench).find(|other| load_of(other) == load_of(job)));
        let rates: Vec<&Summary> = same.map(|job| &job.bandwidth_bytes_per_s).collect();
        if rates.len() < others.len() || others.is_empty() {
            continue;
        }
        let row = |head: String| {
            let row = Row::at(LOAD, format::load(job.pattern, job.direction)).by(SIZE, size(job.block_bytes));
            row.by(DEPTH, job.depth_requests).by(HEAD, head)
        };
        let base = &job.bandwidth_bytes_per_s;
        let heads = benches.iter().enumerate().map(|(i, bench)| format!("{}: {}", letter(i), name(bench)));
        rows.extend(
            heads
                .zip([base].into_iter().chain(rates.iter().copied()))
                .map(|(head, rate)| row(head).put(MB_PER_S_COLUMN, rate)),
        );
        rows.extend(rates.iter().enumerate().map(|(i, rate)| {
            let ratio = format::times(rate.median / base.median);
            let ratio = if format::apart(base, rate) { ratio } else { format!("({ratio})") };
            row(format!("{} / A", letter(i + 1))).figure(MB_PER_S_COLUMN, ratio)
        }));
    }
    (!rows.is_empty()).then(|| {
        let caption = "Every load that all these benchmarks have. A ratio in brackets may be noise: the intervals \
                       overlap, or come from fewer than six runs.";
        let table = Table::across("MB/s, same loads", &rows, columns![LOAD, SIZE, DEPTH], HEAD, MB_PER_S_COLUMN);
        Figure::new("Benchmarks compared", caption).table(table).open()
    })
}

fn all(bench: &BenchReport) -> impl Iterator<Item = &JobResult> {
    bench.jobs.iter().chain(&bench.block_sweep).chain(&bench.depth_sweep)
}

fn letter(index: usize) -> char {
    char::from(b'A' + u8::try_from(index % 26).unwrap_or(0))
}

fn name(bench: &BenchReport) -> String {
    let environment = &bench.header.environment;
    environment.device.as_ref().map_or_else(
        || environment.path.clone(),
        |d| d.lab_preset.clone().or_else(|| d.model.clone()).unwrap_or_else(|| d.name.clone()),
    )
}
