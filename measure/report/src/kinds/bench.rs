//! StoreBench: what the storage under a path delivers, by block size, by depth, and for durable writes.

use brisk_core::units::{KIB, format_bytes};
use brisk_results::{BenchReport, CacheVerdict, Direction, JobResult, Latency, Pattern};

use crate::declare::*;
use crate::format;
use crate::papers::{Published, Topic};

impl Kind for BenchReport {
    fn section(&self) -> Section {
        let known = published(&self.header);
        let work = if self.work_bytes > 0 { format_bytes(self.work_bytes) } else { String::new() };
        let question = format!("What does the storage under this path deliver? ({} run)", self.budget);
        let by_size = Sweep { title: "Bandwidth by size of a request", along: "size", measure: "MB/s" };
        let by_depth = Sweep { title: "Requests per second by depth", along: "depth", measure: "requests/s" };
        Section::new("Storage benchmark", question, verdict(self))
            .facts(vec![("Cache", self.cache.text.clone()), ("Work file", work)])
            .figures([
                jobs(&self.jobs),
                by_size.figure(&self.block_sweep, known),
                by_depth.figure(&self.depth_sweep, None),
                percentiles(&self.jobs),
                syncs(self),
            ])
            .figures(known.map(|known| paper(self, known)))
    }
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
        .by("size", size(job.block_bytes))
        .by("depth", job.depth_requests)
        .put("MB/s", MB_PER_S, job.bandwidth_bytes_per_s)
        .put("requests/s", COUNT, job.requests_per_s)
        .put("CPU/request", US, job.cpu_us_per_request)
        .put("iowait", PERCENT, job.iowait_percent)
        .put("CPUs busy", PERCENT, job.cpu_busy_percent);
    times(row, &job.latency)
}

fn load(p: Pattern, d: Direction) -> Row {
    let row = Row::at("load", format::load(p, d)).by("side", format!("{}s", format::direction(d)));
    row.by("order", format::pattern(p)).look(Look::load(p, d))
}

fn times(row: Row, latency: &Latency) -> Row {
    row.put("requests", TALLY, latency.count)
        .put("mean", US, latency.mean_us)
        .put("p50", US, latency.p50_us)
        .put("p95", US, latency.p95_us)
        .put("p99", US, latency.p99_us)
        .put("max", US, latency.max_us)
}

fn jobs(jobs: &[JobResult]) -> Figure {
    let rows: Vec<Row> = jobs.iter().map(row).collect();
    let (title, column) = match places(&rows, "size").as_slice() {
        [one] => (format!("Requests of {one}"), ""),
        _ => ("Base loads".to_owned(), "size | "),
    };
    let columns =
        format!("load | {column}depth | MB/s | requests/s | p50 | p95 | p99 | max | CPU/request | iowait | CPUs busy");
    let table = Table::of(title.clone(), &rows, &columns)
        .dispensable("CPUs busy | iowait | p95 | max | CPU/request | requests/s");
    Figure::new(title, "Response times are over all requests of all runs.").table(table).open()
}

/// What a sweep varies and what it shows.
struct Sweep {
    title: &'static str,
    along: &'static str,
    measure: &'static str,
}

impl Sweep {
    fn figure(&self, jobs: &[JobResult], known: Option<&'static Published>) -> Figure {
        let mut jobs: Vec<&JobResult> = jobs.iter().collect();
        jobs.sort_by_key(|job| (job.block_bytes, job.depth_requests, job.direction, job.pattern));
        let mut rows: Vec<Row> = jobs.into_iter().map(row).collect();
        let table = Table::across(format!("{}, {}", self.title, self.measure), &rows, self.along, "load", self.measure);
        let table = table.with_shapes(&rows, "load", self.measure);
        let law = law_for(rows.iter().filter_map(|row| row.number(self.measure)));
        let fixed = match (self.along, places(&rows, "depth").as_slice(), places(&rows, "size").as_slice()) {
            ("size", [depth], _) => format!("Requests in flight: {depth}. "),
            ("depth", _, [size]) => format!("Requests of {size}. "),
            _ => String::new(),
        };
        rows.extend(known.iter().flat_map(|known| known.bandwidths).filter_map(|rate| {
            let row = load(rate.pattern, rate.direction).by("size", size(rate.block_bytes?));
            let look = row.look.published();
            Some(row.put("MB/s", MB_PER_S, rate.bytes_per_s).look(look))
        }));
        let printed = known.filter(|_| rows.iter().any(|row| row.look.published));
        let caption = format!("{fixed}Solid sequential, dashed random; whiskers are the interval of the median.");
        Figure::new(self.title, caption)
            .published(printed.map(|known| format!("published for the {}", known.device)))
            .table(table)
            .charts(&rows, "side", |side, rows| {
                let tick = if self.along == "size" { |v| format_bytes(v as u64) } else { format::tick };
                let y = if self.measure == "MB/s" { MB_PER_S } else { COUNT }.tick;
                let axes = [Axis::new(self.along, Law::Log2, tick), Axis::new(self.measure, law, y)];
                let lines =
                    Lines { x: self.along, y: self.measure, series: "load", named: "order", ..Lines::default() };
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
                .by("depth", job.depth_requests)
                .by("percentile", Place { text, number: Some(nines(percent, job.latency.count)) })
                .put("time", US, us)
        })
        .collect();
    let figure = Figure::new(
        "Response times by percentile",
        "Over all requests of all runs, both axes logarithmic: from the median on the left to the rare slow requests \
         on the right, which a user notices.",
    )
    .key(Tone::Plain, Glyph::Solid, "sequential")
    .key(Tone::Plain, Glyph::Dashed, "random")
    .table(Table::of("Response times", &rows, "load | depth | requests | mean | p50 | p95 | p99 | max").page_only());
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
        let lines = Lines { x: "percentile", y: "time", series: "load", named: "load", ..Lines::default() };
        let axes = [x, Axis::new("response time", Law::Log10, format::us_tick)];
        figure.chart(
            format!("{} in flight", format::plural(depth.into(), "request")),
            lines.draw("Response times by percentile", axes, &only(&points, "depth", &depth.to_string())),
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
            let row = Row::at("call", sync.call.clone()).by("size", size(sync.block_bytes));
            times(row.by("name", format!("{} {bytes}", sync.call)).look(Look::side(Direction::Write)), &sync.latency)
        })
        .collect();
    let dots = Dots { name: "name", value: "p50", below: "p99", strokes: &["p95", "p99", "max"], ..Dots::default() };
    let x = Axis::new("time of write and call", Law::Log10, format::us_tick);
    Figure::new(
        "Durable writes",
        "The cost of a database commit: mark at the median, strokes at the 95th and 99th percentile and at the longest.",
    )
    .chart("Write and call", dots.draw("Time to write and make durable", x, &rows))
    .table(Table::of("Write and make durable", &rows, "call | size | requests | mean | p50 | p95 | p99 | max"))
}

/// Published figures of the same device and ours.
fn paper(report: &BenchReport, known: &'static Published) -> Figure {
    let at_depth_1 = |p, d, size| {
        let mut jobs = report.jobs.iter().chain(&report.block_sweep);
        jobs.find(|j| (j.pattern, j.direction, j.block_bytes, j.depth_requests) == (p, d, size, 1))
    };
    let times = known.alone.iter().map(|time| {
        let ours = at_depth_1(time.pattern, time.direction, 4 * KIB).map(|job| job.latency.mean_us);
        Row::at("figure", format!("mean time of a {}", format::load(time.pattern, time.direction)))
            .by("size", "4 KiB")
            .put("paper", US, time.mean_us)
            .put("here", US, ours)
            .put("here / paper", NUMBER, ours.map(|ours| ours / time.mean_us))
    });
    let largest = report.block_sweep.iter().map(|j| j.block_bytes).max().unwrap_or(0);
    let rates = known.bandwidths.iter().map(|rate| {
        let ours = at_depth_1(rate.pattern, rate.direction, rate.block_bytes.unwrap_or(largest));
        let ours = ours.map(|job| &job.bandwidth_bytes_per_s);
        Row::at("figure", format!("{}, MB/s", format::load(rate.pattern, rate.direction)))
            .by("size", rate.block_bytes.map_or_else(|| Place::from("not given"), size))
            .put("paper", MB_PER_S, rate.bytes_per_s)
            .put("here", MB_PER_S, ours)
            .put("here / paper", NUMBER, ours.map(|ours| ours.median / rate.bytes_per_s))
    });
    let rows: Vec<Row> = times.chain(rates).collect();
    let table =
        Table::of(format!("Published for the {}", known.device), &rows, "figure | size | paper | here | here / paper");
    Figure::new("Compared with published figures", "Ours at one request in flight.")
        .table(table.noted(known.note(Some(Topic::Bandwidth))))
        .open()
}
