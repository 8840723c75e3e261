//! Response times: by percentile for the base loads, and for durable writes.

use brisk_core::units::format_bytes;
use brisk_results::{BenchReport, JobResult, Latency, Pattern};

use super::tone;
use crate::format;
use crate::section::{Chart, Figure, Glyph, Key, Panel};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::lines::{LineChart, Names, Point, Series};
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// Response times over percentiles, one panel for each depth of the base jobs.
pub(super) fn percentiles(report: &BenchReport) -> Option<Figure> {
    let mut depths: Vec<u32> =
        report.jobs.iter().filter(|j| !j.latency.percentiles_us.is_empty()).map(|j| j.depth_requests).collect();
    depths.sort_unstable();
    depths.dedup();
    if depths.is_empty() {
        return None;
    }
    let panels = depths
        .iter()
        .map(|depth| {
            let jobs: Vec<&JobResult> = report.jobs.iter().filter(|j| j.depth_requests == *depth).collect();
            Panel {
                title: format!("{} in flight", format::plural((*depth).into(), "request")),
                chart: Chart::Lines(percentile_chart(&jobs)),
            }
        })
        .collect();
    let mut table = Table::new(
        "Response times",
        &[
            ("load", Kind::Words),
            ("depth", Kind::Numbers),
            ("requests", Kind::Numbers),
            ("mean", Kind::Numbers),
            ("p50", Kind::Numbers),
            ("p95", Kind::Numbers),
            ("p99", Kind::Numbers),
            ("max", Kind::Numbers),
        ],
    )
    .page_only();
    for job in &report.jobs {
        let mut row = vec![Cell::Text(format::load(job.pattern, job.direction)), job.depth_requests.to_string().into()];
        row.extend(latency_cells(&job.latency));
        table.rows.push(row);
    }
    Some(Figure {
        title: "Response times by percentile".to_owned(),
        caption: "Over all requests of all runs, both axes stretched: from the median on the left to the rare slow requests that \
                  people notice on the right."
            .to_owned(),
        keys: [(Glyph::Solid, "sequential"), (Glyph::Dashed, "random")]
            .map(|(glyph, words)| Key { tone: Tone::Plain, glyph, words: words.to_owned() })
            .into(),
        panels,
        tables: vec![table],
        tables_open: false,
    })
}

fn latency_cells(latency: &Latency) -> Vec<Cell> {
    let mut cells = vec![Cell::Text(format::count(latency.count as f64))];
    cells.extend(
        [latency.mean_us, latency.p50_us, latency.p95_us, latency.p99_us, latency.max_us]
            .map(|us| Cell::Text(format::us(us))),
    );
    cells
}

fn percentile_chart(jobs: &[&JobResult]) -> LineChart {
    // The abscissa is the number of nines, so that 90, 99 and 99.9 % are equally far apart.
    let nines = |percent: f64, count: u64| {
        let rest = (1.0 - percent / 100.0).max(0.5 / count.max(1) as f64);
        if rest.is_finite() { -rest.clamp(1e-9, 1.0).log10() } else { 0.0 }
    };
    let most = jobs.iter().map(|j| j.latency.count).max().unwrap_or(1).max(10);
    let last = nines(100.0, most).clamp(2.0, 6.0);
    let mut x = Axis::new("percentile of requests", Law::Linear, |_| String::new());
    x.fixed = [(50.0, "50"), (90.0, "90"), (99.0, "99"), (99.9, "99.9"), (99.99, "99.99"), (99.999, "99.999")]
        .into_iter()
        .map(|(percent, text)| (nines(percent, u64::MAX), text.to_owned()))
        .filter(|(place, _)| *place <= last)
        .collect();
    x.fixed.push((last, String::new()));
    let series = jobs
        .iter()
        .map(|job| {
            let load = format::load(job.pattern, job.direction);
            let (tone, marker) = tone(job.direction);
            Series {
                name: format!(
                    "{} {}",
                    if job.pattern == Pattern::Sequential { "seq." } else { "rand." },
                    format::direction(job.direction)
                ),
                tone,
                marker,
                dashed: job.pattern == Pattern::Random,
                published: false,
                points: job
                    .latency
                    .percentiles_us
                    .iter()
                    .filter(|(percent, _)| *percent >= 50.0)
                    .map(|(percent, us)| Point {
                        x: nines(*percent, job.latency.count),
                        y: *us,
                        range: None,
                        words: format!("{load}, {} %: {}", format::number(*percent), format::us(*us)),
                        mark: None,
                    })
                    .collect(),
            }
        })
        .collect();
    LineChart {
        title: "Response times by percentile".to_owned(),
        description: jobs
            .iter()
            .map(|j| {
                format!(
                    "{}: median {}, 99 % within {}.",
                    format::sentence(&format::load(j.pattern, j.direction)),
                    format::us(j.latency.p50_us),
                    format::us(j.latency.p99_us)
                )
            })
            .collect::<Vec<_>>()
            .join(" "),
        x,
        y: Axis::new("response time", Law::Log10, format::us_tick),
        series,
        levels: Vec::new(),
        events: Vec::new(),
        names: Names::Last,
    }
}

/// Durable writes: median, with the 95th and 99th percentile and the longest.
pub(super) fn syncs(report: &BenchReport) -> Option<Figure> {
    if report.syncs.is_empty() {
        return None;
    }
    let mut table = Table::new(
        "Write and make durable",
        &[
            ("call", Kind::Words),
            ("size", Kind::Numbers),
            ("calls", Kind::Numbers),
            ("mean", Kind::Numbers),
            ("p50", Kind::Numbers),
            ("p95", Kind::Numbers),
            ("p99", Kind::Numbers),
            ("max", Kind::Numbers),
        ],
    );
    let rows: Vec<Row> = report
        .syncs
        .iter()
        .map(|sync| {
            let mut row = vec![Cell::Text(sync.call.clone()), format_bytes(sync.block_bytes).into()];
            row.extend(latency_cells(&sync.latency));
            table.rows.push(row);
            Row {
                name: format!("{} {}", sync.call, format_bytes(sync.block_bytes)),
                value: sync.latency.p50_us,
                range: Some((sync.latency.p50_us, sync.latency.p99_us)),
                label: format::us(sync.latency.p50_us),
                below: format!("p99 {}", format::us(sync.latency.p99_us)),
                tone: Tone::Write,
                marker: Marker::Square,
                published: Vec::new(),
                strokes: vec![sync.latency.p95_us, sync.latency.max_us],
                runs: Vec::new(),
            }
        })
        .collect();
    let chart = DotChart {
        title: "Time to write and make durable".to_owned(),
        description: rows
            .iter()
            .map(|r| format!("{}: median {}, {}.", r.name, r.label, r.below))
            .collect::<Vec<_>>()
            .join(" "),
        x: Axis::new("time of write and call", Law::Log10, format::us_tick),
        levels: Vec::new(),
        holds: Vec::new(),
        rows,
    };
    Some(Figure {
        title: "Durable writes".to_owned(),
        caption: "What a database pays for a commit: mark at the median, line to the 99th percentile, strokes at the 95th and \
                  at the longest."
            .to_owned(),
        keys: Vec::new(),
        panels: vec![Panel { title: "Write and call".to_owned(), chart: Chart::Dots(chart) }],
        tables: vec![table],
        tables_open: false,
    })
}
