//! The same loads over sizes or depths: bandwidth and requests per second.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{Direction, JobResult, Pattern};

use super::tone;
use crate::format;
use crate::papers::Published;
use crate::section::{Chart, Figure, Key, Panel, point};
use crate::svg::Marker;
use crate::svg::frame::Axis;
use crate::svg::lines::{LineChart, Names, Point, Series};
use crate::svg::scale::{Law, law_for};
use crate::table::{Cell, Kind, Table, sparkline};

const LOADS: [(Pattern, Direction); 4] = [
    (Pattern::Sequential, Direction::Read),
    (Pattern::Random, Direction::Read),
    (Pattern::Sequential, Direction::Write),
    (Pattern::Random, Direction::Write),
];

/// What a sweep varies and what it shows.
pub(super) struct Sweep {
    title: &'static str,
    /// What varies, in words.
    along: &'static str,
    /// The place of a job along it, and how that reads.
    place: fn(&JobResult) -> (f64, String),
    place_tick: fn(f64) -> String,
    /// The unit of what is shown.
    unit: &'static str,
    of: fn(&JobResult) -> &Summary,
    show: fn(f64) -> String,
    tick: fn(f64) -> String,
}

/// Bandwidth over sizes.
pub(super) const BY_SIZE: Sweep = Sweep {
    title: "Bandwidth by size of a request",
    along: "size of a request",
    place: |job| (job.block_bytes as f64, format_bytes(job.block_bytes)),
    place_tick: |bytes| format_bytes(bytes as u64),
    unit: "MB/s",
    of: |job| &job.bandwidth_bytes_per_s,
    show: format::mb_per_s,
    tick: |v| format::tick(v / 1e6),
};

/// Requests per second over depths.
pub(super) const BY_DEPTH: Sweep = Sweep {
    title: "Requests per second by depth",
    along: "requests in flight",
    place: |job| (f64::from(job.depth_requests), job.depth_requests.to_string()),
    place_tick: format::tick,
    unit: "requests per second",
    of: |job| &job.requests_per_s,
    show: format::count,
    tick: |v| if v < 1_000.0 { format::tick(v) } else { format::count(v) },
};

/// Reads in one panel, writes in the other; sequential solid, random dashed.
pub(super) fn figure(sweep: &Sweep, jobs: &[JobResult], known: Option<&'static Published>) -> Option<Figure> {
    if jobs.is_empty() {
        return None;
    }
    let law = law_for(jobs.iter().map(|j| (sweep.of)(j).median));
    let known = known.filter(|k| k.bandwidths.iter().any(|b| b.block_bytes.is_some()));
    let panels = [Direction::Read, Direction::Write]
        .into_iter()
        .filter(|d| jobs.iter().any(|j| j.direction == *d))
        .map(|d| {
            let mut series: Vec<Series> = Vec::new();
            let mut words = Vec::new();
            for p in [Pattern::Sequential, Pattern::Random] {
                let points = curve(sweep, jobs, (p, d));
                if let (Some(first), Some(last)) = (points.first(), points.last()) {
                    words.push(format!("{}; {}.", first.words, last.words));
                    let (tone, marker) = tone(d);
                    series.push(Series {
                        name: format::pattern(p).to_owned(),
                        tone,
                        marker,
                        dashed: p == Pattern::Random,
                        published: false,
                        points,
                    });
                }
                series.extend(known.and_then(|k| published_curve(k, p, d)));
            }
            Panel {
                title: format::sentence(&format!("{}s", format::direction(d))),
                chart: Chart::Lines(LineChart {
                    title: format!("{}, {}s", sweep.title, format::direction(d)),
                    description: words.join(" "),
                    x: Axis::new(sweep.along, Law::Log2, sweep.place_tick),
                    y: Axis::new(sweep.unit, law, sweep.tick),
                    series,
                    levels: Vec::new(),
                    events: Vec::new(),
                    names: Names::Last,
                }),
            }
        })
        .collect();
    let depths: Vec<u32> = jobs.iter().map(|j| j.depth_requests).collect();
    let sizes: Vec<u64> = jobs.iter().map(|j| j.block_bytes).collect();
    let fixed = if depths.iter().all(|d| *d == depths[0]) {
        format!("{} in flight.", format::plural(depths[0].into(), "request"))
    } else if sizes.iter().all(|s| *s == sizes[0]) {
        format!("Requests of {}.", format_bytes(sizes[0]))
    } else {
        String::new()
    };
    Some(Figure {
        title: sweep.title.to_owned(),
        caption: format!("{fixed} Solid sequential, dashed random; whiskers are the interval of the median.")
            .trim()
            .to_owned(),
        keys: known.map(|k| Key::published(format!("published for the {}", k.device))).into_iter().collect(),
        panels,
        tables: vec![table(sweep, jobs)],
        tables_open: false,
    })
}

fn of_load<'a>(sweep: &Sweep, jobs: &'a [JobResult], (p, d): (Pattern, Direction)) -> Vec<&'a JobResult> {
    let mut of: Vec<&JobResult> = jobs.iter().filter(|j| j.pattern == p && j.direction == d).collect();
    of.sort_by(|a, b| (sweep.place)(a).0.total_cmp(&(sweep.place)(b).0));
    of
}

fn curve(sweep: &Sweep, jobs: &[JobResult], load: (Pattern, Direction)) -> Vec<Point> {
    of_load(sweep, jobs, load)
        .into_iter()
        .map(|job| {
            let (x, name) = (sweep.place)(job);
            let summary = (sweep.of)(job);
            let words = format!(
                "{} at {name}: {} {}",
                format::load(job.pattern, job.direction),
                (sweep.show)(summary.median),
                sweep.unit
            );
            point(x, summary, words)
        })
        .collect()
}

fn published_curve(known: &'static Published, p: Pattern, d: Direction) -> Option<Series> {
    let points: Vec<Point> = known
        .bandwidths
        .iter()
        .filter(|b| b.pattern == p && b.direction == d)
        .filter_map(|b| {
            let words = format!("published: {} {}", format::load(p, d), format::bandwidth(b.bytes_per_s));
            Some(Point { x: b.block_bytes? as f64, y: b.bytes_per_s, range: None, words, mark: None })
        })
        .collect();
    (!points.is_empty()).then(|| Series {
        name: String::new(),
        tone: tone(d).0,
        marker: Marker::Diamond,
        dashed: p == Pattern::Random,
        published: true,
        points,
    })
}

fn table(sweep: &Sweep, jobs: &[JobResult]) -> Table {
    let loads: Vec<(Pattern, Direction)> =
        LOADS.into_iter().filter(|(p, d)| jobs.iter().any(|j| j.pattern == *p && j.direction == *d)).collect();
    let heads: Vec<String> = loads.iter().map(|(p, d)| format::load(*p, *d)).collect();
    let mut columns = vec![(sweep.along, Kind::Numbers)];
    columns.extend(heads.iter().map(|h| (h.as_str(), Kind::Numbers)));
    let mut table = Table::new(
        // A title may say the unit already.
        if sweep.title.to_lowercase().starts_with(sweep.unit) {
            sweep.title.to_owned()
        } else {
            format!("{}, {}", sweep.title, sweep.unit)
        },
        &columns,
    );
    let mut places: Vec<(f64, String)> = jobs.iter().map(sweep.place).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.dedup();
    for (x, name) in &places {
        let mut row = vec![Cell::Text(name.clone())];
        row.extend(loads.iter().map(|load| {
            let job = of_load(sweep, jobs, *load).into_iter().find(|j| (sweep.place)(j).0 == *x);
            job.map_or(Cell::Empty, |j| Cell::measure((sweep.of)(j), sweep.show))
        }));
        table.rows.push(row);
    }
    if places.len() > 2 {
        let mut row = vec![Cell::Shape(String::new())];
        row.extend(loads.iter().map(|load| {
            let medians: Vec<f64> = of_load(sweep, jobs, *load).into_iter().map(|j| (sweep.of)(j).median).collect();
            Cell::Shape(sparkline(&medians))
        }));
        table.rows.push(row);
    }
    table
}
