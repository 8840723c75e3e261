//! StoreBench: what the storage under a path delivers, by block size, by depth, and for durable writes.

mod latency;
mod sweep;

use brisk_core::units::{KIB, format_bytes};
use brisk_results::{BenchReport, CacheVerdict, Direction};

use crate::format;
use crate::papers::Topic;
use crate::section::{Figure, Section, published};
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// The section of this document.
pub(crate) fn section(report: &BenchReport) -> Section {
    let known = published(&report.header);
    let figures = [
        jobs(report),
        sweep::figure(&sweep::BY_SIZE, &report.block_sweep, known),
        sweep::figure(&sweep::BY_DEPTH, &report.depth_sweep, None),
        latency::percentiles(report),
        latency::syncs(report),
        paper(report),
    ];
    let mut verdict = report.verdict.clone();
    if verdict.is_empty() {
        verdict.push(if report.jobs.is_empty() {
            "Nothing was measured: the document has no jobs.".to_owned()
        } else {
            "The document brings no verdict; the numbers below are what there is.".to_owned()
        });
    }
    // Whose numbers these are comes first when they are not the storage's; doubts are among the warnings.
    let not_storage = matches!(report.cache.verdict, CacheVerdict::Memory | CacheVerdict::Lying);
    if not_storage && !verdict.contains(&report.cache.text) {
        verdict.insert(0, report.cache.text.clone());
    }
    Section {
        title: "Storage benchmark".to_owned(),
        question: format!("What does the storage under this path deliver? ({} run)", report.budget),
        verdict,
        figures: figures.into_iter().flatten().collect(),
    }
}

fn tone(direction: Direction) -> (Tone, Marker) {
    match direction {
        Direction::Read => (Tone::Read, Marker::Circle),
        Direction::Write => (Tone::Write, Marker::Square),
    }
}

/// The base jobs in one table: on a page this is shown, not folded away.
fn jobs(report: &BenchReport) -> Option<Figure> {
    if report.jobs.is_empty() {
        return None;
    }
    let sizes: Vec<u64> = report.jobs.iter().map(|j| j.block_bytes).collect();
    let one_size = sizes.iter().all(|s| *s == sizes[0]);
    let title = if one_size { format!("Requests of {}", format_bytes(sizes[0])) } else { "Base loads".to_owned() };
    let mut table = Table::new(
        title.clone(),
        &[
            ("load", Kind::Words),
            ("size", Kind::Numbers),
            ("depth", Kind::Numbers),
            ("MB/s", Kind::Numbers),
            ("requests/s", Kind::Numbers),
            ("p50", Kind::Numbers),
            ("p95", Kind::Numbers),
            ("p99", Kind::Numbers),
            ("max", Kind::Numbers),
            ("CPU/request", Kind::Numbers),
            ("iowait", Kind::Numbers),
            ("CPUs busy", Kind::Numbers),
        ],
    )
    .dispensable(&[11, 10, 6, 8, 9, 4]);
    for job in &report.jobs {
        table.rows.push(vec![
            format::load(job.pattern, job.direction).into(),
            if one_size { Cell::Empty } else { format_bytes(job.block_bytes).into() },
            job.depth_requests.to_string().into(),
            Cell::measure(&job.bandwidth_bytes_per_s, format::mb_per_s),
            Cell::measure(&job.requests_per_s, format::count),
            format::us(job.latency.p50_us).into(),
            format::us(job.latency.p95_us).into(),
            format::us(job.latency.p99_us).into(),
            format::us(job.latency.max_us).into(),
            format::us(job.cpu_us_per_request).into(),
            format::percent(job.iowait_percent).into(),
            format::percent(job.cpu_busy_percent).into(),
        ]);
    }
    let note = format::interval_note(report.jobs.iter().map(|j| &j.bandwidth_bytes_per_s));
    Some(Figure {
        title,
        caption: "Response times are over all requests of all runs.".to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table.with_note(note)],
        tables_open: true,
    })
}

/// Published figures of the same device beside ours.
fn paper(report: &BenchReport) -> Option<Figure> {
    let known = published(&report.header)?;
    let mut table = Table::new(
        format!("Published for the {}", known.device),
        &[
            ("figure", Kind::Words),
            ("size", Kind::Numbers),
            ("paper", Kind::Numbers),
            ("here", Kind::Numbers),
            ("here / paper", Kind::Numbers),
        ],
    );
    let at_depth_1 = |p, d, size| {
        report
            .jobs
            .iter()
            .chain(&report.block_sweep)
            .find(|j| (j.pattern, j.direction, j.block_bytes, j.depth_requests) == (p, d, size, 1))
    };
    let ratio = |ours: f64, theirs: f64| Cell::Text(format::number(ours / theirs));
    for time in known.alone {
        let ours = at_depth_1(time.pattern, time.direction, 4 * KIB);
        table.rows.push(vec![
            format!("mean time of a {}", format::load(time.pattern, time.direction)).into(),
            "4 KiB".into(),
            format::us(time.mean_us).into(),
            ours.map_or(Cell::Empty, |j| format::us(j.latency.mean_us).into()),
            ours.map_or(Cell::Empty, |j| ratio(j.latency.mean_us, time.mean_us)),
        ]);
    }
    for rate in known.bandwidths {
        let largest = report.block_sweep.iter().map(|j| j.block_bytes).max().unwrap_or(0);
        let ours = at_depth_1(rate.pattern, rate.direction, rate.block_bytes.unwrap_or(largest));
        table.rows.push(vec![
            format!("{}, MB/s", format::load(rate.pattern, rate.direction)).into(),
            rate.block_bytes.map_or_else(|| Cell::Text("not given".to_owned()), |b| format_bytes(b).into()),
            format::mb_per_s(rate.bytes_per_s).into(),
            ours.map_or(Cell::Empty, |j| Cell::measure(&j.bandwidth_bytes_per_s, format::mb_per_s)),
            ours.map_or(Cell::Empty, |j| ratio(j.bandwidth_bytes_per_s.median, rate.bytes_per_s)),
        ]);
    }
    (!table.rows.is_empty()).then(|| Figure {
        title: "Beside what was published".to_owned(),
        caption: "Ours at one request in flight.".to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table.with_note(Some(known.note(Some(Topic::Bandwidth))))],
        tables_open: true,
    })
}
