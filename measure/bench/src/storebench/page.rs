//! Its page.

use crate::results::{BenchReport, CacheVerdict, Direction, JobResult, Latency, Pattern};
use brisk_core::units::{KIB, format_bytes};

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;
use brisk_report::papers::{Published, Topic};

pub(super) fn section(report: &BenchReport) -> Section {
    let known = published(&report.header);
    let work = if report.work_bytes > 0 { format_bytes(report.work_bytes) } else { String::new() };
    let question = format!("What does the storage under this path deliver? ({} run)", report.budget);
    let by_size = Sweep { title: "Bandwidth by size of a request", along: SIZE, measure: MB_PER_S_COLUMN };
    let by_depth = Sweep { title: "Requests per second by depth", along: DEPTH, measure: REQUESTS_PER_S };
    Section::new("Storage benchmark", question, verdict(report))
        .facts(vec![("Cache", report.cache.text.clone()), ("Work file", work)])
        .figures([
            jobs(&report.jobs),
            by_size.figure(&report.block_sweep, known),
            by_depth.figure(&report.depth_sweep, None),
            percentiles(&report.jobs),
            syncs(report),
        ])
        .figures(known.map(|known| paper(report, known)))
}

fn verdict(report: &BenchReport) -> Vec<String> {
    let mut verdict = one_by_one(&report.verdict);
    if verdict.is_empty() {
        verdict.push(if report.jobs.is_empty() {
            "Nothing was measured: the document has no jobs.".to_owned()
        } else {
            "The document has no verdict; the figures below are all there is.".to_owned()
        });
    }
    // Figures of a cache are announced first; doubts are among the warnings.
    let not_storage = matches!(report.cache.verdict, CacheVerdict::Memory | CacheVerdict::Lying);
    if not_storage && !verdict.contains(&report.cache.text) {
        verdict.insert(0, report.cache.text.clone());
    }
    verdict
}

/// The sentences of a verdict one by one; what a cold start waits goes before what a read waits.
fn one_by_one(verdict: &[String]) -> Vec<String> {
    match verdict.first().and_then(|first| first.split_once(". A cold start")) {
        Some((read, start)) => {
            let lead = [format!("A cold start{start}"), format!("{read}.")];
            lead.into_iter().chain(verdict[1..].iter().cloned()).collect()
        }
        None => verdict.to_vec(),
    }
}

fn row(job: &JobResult) -> Row {
    let row = load(job.pattern, job.direction)
        .by(SIZE, size(job.block_bytes))
        .by(DEPTH, job.depth_requests)
        .put(MB_PER_S_COLUMN, job.bandwidth_bytes_per_s)
        .put(REQUESTS_PER_S, job.requests_per_s)
        .put(CPU_PER_REQUEST, job.cpu_us_per_request)
        .put(IOWAIT, job.iowait_percent)
        .put(CPUS_BUSY, job.cpu_busy_percent);
    times(row, &job.latency)
}

fn load(p: Pattern, d: Direction) -> Row {
    let row = Row::at(LOAD, format::load(p, d)).by(SIDE, format!("{}s", format::direction(d)));
    row.by(ORDER, format::pattern(p)).look(Look::load(p, d))
}

fn times(row: Row, latency: &Latency) -> Row {
    row.put(REQUESTS, latency.count)
        .put(MEAN, latency.mean_us)
        .put(P50, latency.p50_us)
        .put(P95, latency.p95_us)
        .put(P99, latency.p99_us)
        .put(MAX, latency.max_us)
}

fn jobs(jobs: &[JobResult]) -> Figure {
    let rows: Vec<Row> = jobs.iter().map(row).collect();
    let (title, places) = match places(&rows, SIZE).as_slice() {
        [one] => (format!("Requests of {one}"), columns![LOAD]),
        _ => ("Base loads".to_owned(), columns![LOAD, SIZE]),
    };
    let measured =
        columns![DEPTH, MB_PER_S_COLUMN, REQUESTS_PER_S, P50, P95, P99, MAX, CPU_PER_REQUEST, IOWAIT, CPUS_BUSY];
    let columns = [places, measured].concat();
    let table = Table::of(title.clone(), &rows, &columns).dispensable(columns![
        CPUS_BUSY,
        IOWAIT,
        P95,
        MAX,
        CPU_PER_REQUEST,
        REQUESTS_PER_S
    ]);
    Figure::new(title, "Response times are over all requests of all runs.").table(table).open()
}

/// What a sweep varies and what it shows.
struct Sweep {
    title: &'static str,
    along: Dimension,
    measure: Measure,
}

impl Sweep {
    fn figure(&self, jobs: &[JobResult], known: Option<&'static Published>) -> Figure {
        let mut jobs: Vec<&JobResult> = jobs.iter().collect();
        jobs.sort_by_key(|job| (job.block_bytes, job.depth_requests, job.direction, job.pattern));
        let mut rows: Vec<Row> = jobs.into_iter().map(row).collect();
        let table = Table::across(
            format!("{}, {}", self.title, self.measure.name),
            &rows,
            columns![self.along],
            LOAD,
            self.measure,
        );
        let table = table.with_shapes(&rows, LOAD, self.measure);
        let law = law_for(rows.iter().filter_map(|row| row.number(self.measure)));
        let fixed = match (places(&rows, DEPTH).as_slice(), places(&rows, SIZE).as_slice()) {
            ([depth], _) if self.along == SIZE => format!("Requests in flight: {depth}. "),
            (_, [size]) if self.along == DEPTH => format!("Requests of {size}. "),
            _ => String::new(),
        };
        rows.extend(known.iter().flat_map(|known| known.bandwidths).filter_map(|rate| {
            let row = load(rate.pattern, rate.direction).by(SIZE, size(rate.block_bytes?));
            let look = row.look.published();
            Some(row.put(MB_PER_S_COLUMN, rate.bytes_per_s).look(look))
        }));
        let printed = known.filter(|_| rows.iter().any(|row| row.look.published));
        let caption = format!("{fixed}Solid sequential, dashed random; whiskers are the interval of the median.");
        Figure::new(self.title, caption)
            .published(printed.map(|known| format!("published for the {}", known.device)))
            .table(table)
            .charts(&rows, SIDE, |side, rows| {
                let tick = if self.along == SIZE { |v| format_bytes(v as u64) } else { format::tick };
                let axes = [
                    Axis::new(self.along.name, Law::Log2, tick),
                    Axis::new(self.measure.name, law, self.measure.unit.tick),
                ];
                let lines = Lines {
                    x: self.along.into(),
                    y: self.measure.into(),
                    series: LOAD.into(),
                    named: ORDER.into(),
                    ..Lines::default()
                };
                lines.draw(format!("{}, {side}", self.title), axes, rows)
            })
    }
}

/// The abscissa is the number of nines, so that 90, 99 and 99.9 % are equally far apart.
fn nines(percent: f64, count: u64) -> f64 {
    let rest = (1.0 - percent / 100.0).max(0.5 / count.max(1) as f64);
    if rest.is_finite() { -rest.clamp(1e-9, 1.0).log10() } else { 0.0 }
}

/// Response times over percentiles, one panel for each depth of the base jobs.
fn percentiles(jobs: &[JobResult]) -> Figure {
    let rows: Vec<Row> = jobs.iter().map(row).collect();
    let points: Vec<Row> = jobs
        .iter()
        .flat_map(|job| job.latency.percentiles_us.iter().map(move |point| (job, *point)))
        .filter(|(_, (percent, _))| *percent >= 50.0)
        .map(|(job, (percent, us))| {
            let text = format!("{} %", format::number(percent));
            load(job.pattern, job.direction)
                .by(DEPTH, job.depth_requests)
                .by(PERCENTILE, Place { text, number: Some(nines(percent, job.latency.count)) })
                .put(TIME_MEASURE, us)
        })
        .collect();
    let figure = Figure::new(
        "Response times by percentile",
        "Over all requests of all runs, both axes logarithmic: from the median on the left to the rare slow requests \
         on the right, which a user notices.",
    )
    .key(Tone::Plain, Glyph::Solid, "sequential")
    .key(Tone::Plain, Glyph::Dashed, "random")
    .table(Table::of("Response times", &rows, columns![LOAD, DEPTH, REQUESTS, MEAN, P50, P95, P99, MAX]).page_only());
    let mut depths: Vec<u32> = jobs.iter().map(|job| job.depth_requests).collect();
    depths.sort_unstable();
    depths.dedup();
    depths.into_iter().fold(figure, |figure, depth| {
        let of = || jobs.iter().filter(|job| job.depth_requests == depth);
        let most = of().map(|job| job.latency.count).max().unwrap_or(1).max(10);
        let last = nines(100.0, most).clamp(2.0, 6.0);
        let mut x = Axis::new("percentile of requests", Law::Linear, |_| String::new());
        let ticks =
            [50.0, 90.0, 99.0, 99.9, 99.99, 99.999].map(|percent| (nines(percent, u64::MAX), percent.to_string()));
        x.fixed = ticks.into_iter().filter(|(place, _)| *place <= last).chain([(last, String::new())]).collect();
        let lines = Lines {
            x: PERCENTILE.into(),
            y: TIME_MEASURE.into(),
            series: LOAD.into(),
            named: LOAD.into(),
            ..Lines::default()
        };
        let axes = [x, Axis::new("response time", Law::Log10, format::us_tick)];
        figure.chart(
            format!("{} in flight", format::plural(depth.into(), "request")),
            lines.draw("Response times by percentile", axes, &only(&points, DEPTH, &depth.to_string())),
        )
    })
}

/// Durable writes: median, with the 95th and 99th percentile and the longest.
fn syncs(report: &BenchReport) -> Figure {
    let rows: Vec<Row> = report
        .syncs
        .iter()
        .map(|sync| {
            let bytes = format_bytes(sync.block_bytes);
            let row = Row::at(CALL, sync.call.clone()).by(SIZE, size(sync.block_bytes));
            times(row.by(NAME, format!("{} {bytes}", sync.call)).look(Look::side(Direction::Write)), &sync.latency)
        })
        .collect();
    let dots =
        Dots { name: NAME.into(), value: P50.into(), below: P99.into(), strokes: &[P95, P99, MAX], ..Dots::default() };
    let x = Axis::new("time of write and call", Law::Log10, format::us_tick);
    Figure::new(
        "Durable writes",
        "The cost of a database commit: mark at the median, strokes at the 95th and 99th percentile and at the \
         longest.",
    )
    .chart("Write and call", dots.draw("Time to write and make durable", x, &rows))
    .table(Table::of("Write and make durable", &rows, columns![CALL, SIZE, REQUESTS, MEAN, P50, P95, P99, MAX]))
}

/// Published figures of the same device and ours.
fn paper(report: &BenchReport, known: &'static Published) -> Figure {
    let at_depth_1 = |p, d, size| {
        let mut jobs = report.jobs.iter().chain(&report.block_sweep);
        jobs.find(|j| (j.pattern, j.direction, j.block_bytes, j.depth_requests) == (p, d, size, 1))
    };
    let times = known.alone.iter().map(|time| {
        let ours = at_depth_1(time.pattern, time.direction, 4 * KIB).map(|job| job.latency.mean_us);
        Row::at(FIGURE, format!("mean time of a {}", format::load(time.pattern, time.direction)))
            .by(SIZE, "4 KiB")
            .put(PAPER, time.mean_us)
            .put(HERE, ours)
            .put(HERE_OVER_PAPER, ours.map(|ours| ours / time.mean_us))
    });
    let largest = report.block_sweep.iter().map(|j| j.block_bytes).max().unwrap_or(0);
    let rates = known.bandwidths.iter().map(|rate| {
        let ours = at_depth_1(rate.pattern, rate.direction, rate.block_bytes.unwrap_or(largest));
        let ours = ours.map(|job| &job.bandwidth_bytes_per_s);
        Row::at(FIGURE, format!("{}, MB/s", format::load(rate.pattern, rate.direction)))
            .by(SIZE, rate.block_bytes.map_or_else(|| Place::from("not given"), size))
            .put_in(PAPER, unit::MB_PER_S, rate.bytes_per_s)
            .put_in(HERE, unit::MB_PER_S, ours)
            .put(HERE_OVER_PAPER, ours.map(|ours| ours.median / rate.bytes_per_s))
    });
    let rows: Vec<Row> = times.chain(rates).collect();
    let table = Table::of(
        format!("Published for the {}", known.device),
        &rows,
        columns![FIGURE, SIZE, PAPER, HERE, HERE_OVER_PAPER],
    );
    Figure::new("Compared with published figures", "Ours at one request in flight.")
        .table(table.noted(known.note(Some(Topic::Bandwidth))))
        .open()
}
