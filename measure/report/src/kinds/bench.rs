//! StoreBench: what the storage under a path delivers, by block size, by depth, and for durable writes.

use brisk_bench::results::{BenchReport, CacheVerdict, Direction, JobResult, Latency, Pattern};
use brisk_core::stats::Summary;
use brisk_core::units::{KIB, format_bytes};

use crate::format;
use crate::papers::{Published, Topic};
use crate::section::{Chart, Figure, Glyph, Key, Panel, Section, point, published};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::lines::{LineChart, Names, Point, Series};
use crate::svg::scale::{Law, law_for};
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table, sparkline};

const LOADS: [(Pattern, Direction); 4] = [
    (Pattern::Sequential, Direction::Read),
    (Pattern::Random, Direction::Read),
    (Pattern::Sequential, Direction::Write),
    (Pattern::Random, Direction::Write),
];

/// The section of this document.
pub(crate) fn section(report: &BenchReport) -> Section {
    let known = published(&report.header);
    let figures = [
        jobs(report),
        sweep(
            "Bandwidth by size of a request",
            &report.block_sweep,
            |job| (job.block_bytes as f64, format_bytes(job.block_bytes)),
            &Quantity {
                name: "MB/s",
                of: |job| &job.bandwidth_bytes_per_s,
                show: format::mb_per_s,
                tick: |v| format::tick(v / 1e6),
            },
            "size of a request",
            known,
        ),
        sweep(
            "Requests per second by depth",
            &report.depth_sweep,
            |job| (f64::from(job.depth_requests), job.depth_requests.to_string()),
            &Quantity {
                name: "requests per second",
                of: |job| &job.requests_per_s,
                show: format::count,
                tick: |v| if v < 1_000.0 { format::tick(v) } else { format::count(v) },
            },
            "requests in flight",
            None,
        ),
        percentiles(report),
        syncs(report),
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
    if report.cache.verdict != CacheVerdict::Direct && !verdict.contains(&report.cache.text) {
        verdict.insert(0, report.cache.text.clone());
    }
    Section {
        title: "Storage benchmark",
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

/// What a sweep shows.
struct Quantity {
    name: &'static str,
    of: fn(&JobResult) -> &Summary,
    show: fn(f64) -> String,
    tick: fn(f64) -> String,
}

/// The place of a job along a sweep, and how it reads.
type Place = fn(&JobResult) -> (f64, String);

/// Reads in one panel, writes in the other; sequential solid, random dashed.
fn sweep(
    title: &str,
    jobs: &[JobResult],
    place: Place,
    quantity: &Quantity,
    x_label: &str,
    known: Option<&'static Published>,
) -> Option<Figure> {
    if jobs.is_empty() {
        return None;
    }
    let law = law_for(jobs.iter().map(|j| (quantity.of)(j).median));
    let known = known.filter(|k| k.bandwidths.iter().any(|b| b.block_bytes.is_some()));
    let panels = [Direction::Read, Direction::Write]
        .into_iter()
        .filter(|d| jobs.iter().any(|j| j.direction == *d))
        .map(|d| {
            let mut series: Vec<Series> = Vec::new();
            let mut words = Vec::new();
            for p in [Pattern::Sequential, Pattern::Random] {
                let points = curve(jobs, (p, d), place, quantity);
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
                    title: format!("{title}, {}s", format::direction(d)),
                    description: words.join(" "),
                    x: x_axis(x_label),
                    y: Axis::new(quantity.name, law, quantity.tick),
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
        title: title.to_owned(),
        caption: format!("{fixed} Solid sequential, dashed random; whiskers are the interval of the median.")
            .trim()
            .to_owned(),
        keys: known.map(|k| Key::published(format!("published for the {}", k.device))).into_iter().collect(),
        panels,
        tables: vec![sweep_table(title, jobs, place, quantity, x_label)],
        tables_open: false,
    })
}

fn x_axis(label: &str) -> Axis {
    if label.starts_with("size") {
        Axis::new(label, Law::Log2, |v| format_bytes(v as u64))
    } else {
        Axis::new(label, Law::Log2, format::tick)
    }
}

fn of_load(jobs: &[JobResult], (p, d): (Pattern, Direction), place: Place) -> Vec<&JobResult> {
    let mut of: Vec<&JobResult> = jobs.iter().filter(|j| j.pattern == p && j.direction == d).collect();
    of.sort_by(|a, b| place(a).0.total_cmp(&place(b).0));
    of
}

fn curve(jobs: &[JobResult], load: (Pattern, Direction), place: Place, quantity: &Quantity) -> Vec<Point> {
    of_load(jobs, load, place)
        .into_iter()
        .map(|job| {
            let (x, name) = place(job);
            let summary = (quantity.of)(job);
            let words = format!(
                "{} at {name}: {} {}",
                format::load(job.pattern, job.direction),
                (quantity.show)(summary.median),
                quantity.name
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

fn sweep_table(title: &str, jobs: &[JobResult], place: Place, quantity: &Quantity, x_label: &str) -> Table {
    let loads: Vec<(Pattern, Direction)> =
        LOADS.into_iter().filter(|(p, d)| jobs.iter().any(|j| j.pattern == *p && j.direction == *d)).collect();
    let heads: Vec<String> = loads.iter().map(|(p, d)| format::load(*p, *d)).collect();
    let mut columns = vec![(x_label, Kind::Numbers)];
    columns.extend(heads.iter().map(|h| (h.as_str(), Kind::Numbers)));
    let mut table = Table::new(
        if title.starts_with("Requests") { title.to_owned() } else { format!("{title}, {}", quantity.name) },
        &columns,
    );
    let mut places: Vec<(f64, String)> = jobs.iter().map(place).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.dedup();
    for (x, name) in &places {
        let mut row = vec![Cell::Text(name.clone())];
        row.extend(loads.iter().map(|load| {
            let job = of_load(jobs, *load, place).into_iter().find(|j| place(j).0 == *x);
            job.map_or(Cell::Empty, |j| Cell::measure((quantity.of)(j), quantity.show))
        }));
        table.rows.push(row);
    }
    if places.len() > 2 {
        let mut row = vec![Cell::Shape(String::new())];
        row.extend(loads.iter().map(|load| {
            let medians: Vec<f64> = of_load(jobs, *load, place).into_iter().map(|j| (quantity.of)(j).median).collect();
            Cell::Shape(sparkline(&medians))
        }));
        table.rows.push(row);
    }
    table
}

/// Response times over percentiles, one panel for each depth of the base jobs.
fn percentiles(report: &BenchReport) -> Option<Figure> {
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
fn syncs(report: &BenchReport) -> Option<Figure> {
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
                published: None,
                strokes: vec![sync.latency.p95_us, sync.latency.max_us],
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
        level: None,
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
