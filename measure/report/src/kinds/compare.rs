//! Benchmarks beside each other: the same load on two or more devices, kernels or settings.

use brisk_core::units::format_bytes;
use brisk_results::{BenchReport, Document, JobResult};

use crate::format;
use crate::section::Figure;
use crate::table::{Cell, Kind, Table};

/// What of two jobs has to be equal to compare them.
type Load<'a> = (&'a JobResult, [u64; 4]);

fn load_of(job: &JobResult) -> Load<'_> {
    (job, [job.pattern as u64, job.direction as u64, job.block_bytes, job.depth_requests.into()])
}

/// A table of all loads that every benchmark among the documents has; `None` with fewer than two, or nothing in common.
pub(crate) fn figure(documents: &[Document]) -> Option<Figure> {
    let benches: Vec<&BenchReport> =
        documents.iter().filter_map(|d| if let Document::Bench(b) = d { Some(b.as_ref()) } else { None }).collect();
    let (first, others) = benches.split_first()?;
    if others.is_empty() {
        return None;
    }
    let heads: Vec<String> = benches.iter().enumerate().map(|(i, b)| format!("{}: {}", letter(i), name(b))).collect();
    let ratio_heads: Vec<String> = (1..benches.len()).map(|i| format!("{} / A", letter(i))).collect();
    let mut columns = vec![("load", Kind::Words), ("size", Kind::Numbers), ("depth", Kind::Numbers)];
    columns.extend(heads.iter().map(|h| (h.as_str(), Kind::Numbers)));
    columns.extend(ratio_heads.iter().map(|h| (h.as_str(), Kind::Numbers)));
    let mut table = Table::new("MB/s, same loads", &columns);
    let mut loads: Vec<Load<'_>> = all(first).map(load_of).collect();
    loads.sort_by_key(|(_, key)| *key);
    // The base loads are points of the sweeps too.
    loads.dedup_by_key(|(_, key)| *key);
    for (job, key) in loads {
        let rest: Vec<&JobResult> =
            others.iter().filter_map(|b| all(b).map(load_of).find(|(_, k)| *k == key)).map(|(j, _)| j).collect();
        if rest.len() < others.len() {
            continue;
        }
        let mut row = vec![
            Cell::Text(format::load(job.pattern, job.direction)),
            format_bytes(job.block_bytes).into(),
            job.depth_requests.to_string().into(),
            Cell::measure(&job.bandwidth_bytes_per_s, format::mb_per_s),
        ];
        row.extend(rest.iter().map(|j| Cell::measure(&j.bandwidth_bytes_per_s, format::mb_per_s)));
        row.extend(rest.iter().map(|j| {
            let (a, b) = (&job.bandwidth_bytes_per_s, &j.bandwidth_bytes_per_s);
            let ratio = format::times(b.median / a.median);
            Cell::Text(if format::apart(a, b) { ratio } else { format!("({ratio})") })
        }));
        table.rows.push(row);
    }
    (!table.rows.is_empty()).then(|| Figure {
        title: "Side by side".to_owned(),
        caption:
            "Every load that all these benchmarks have. A ratio in brackets may be noise: the intervals overlap, or come \
             from fewer than six runs."
                .to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table],
        tables_open: true,
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
