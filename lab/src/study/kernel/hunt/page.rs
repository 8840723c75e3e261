//! Its page.

use std::collections::BTreeMap;

use crate::results::{HuntBound, HuntLoad, HuntReport};

use super::columns::*;
use crate::study::shown::facts::fidelity;
use brisk_report::declare::*;
use brisk_report::format::{self, plural, shorten};

/// A ratio near one tells by its third digit.
pub(super) const RATIO: Unit = unit::of("ratio", ratio, format::tick);
/// Loads that the terminal shows.
const SHOWN_MAX: usize = 12;
/// Characters of a load's words in a table of the terminal.
const WORDS_MAX: usize = 100;

pub(super) fn section(report: &HuntReport) -> Section {
    let question = format!("Under which loads is {} worse than others?", name(report));
    let environment = &report.header.environment;
    let cpus = plural(environment.cpus.into(), "CPU");
    let machine = format!("virtual, {}, {cpus}, time counted in instructions", environment.architecture);
    let on = shorten(&format!("Linux {}, drawn devices", report.series), 60);
    Section {
        machine: Some(vec![("Machine", machine), ("Kernel", shorten(&environment.kernel, 80))]),
        ..Section::new("Hunt for worst cases", question, verdict(report))
    }
    .on(Some(on))
    .facts(vec![("Peers", shorten(&report.peers.join(", "), 80))])
    .figures([bounds(report)])
    .figures(by_kind(report))
    .figures([missed(report)])
    .figures((!report.found.is_empty()).then(|| found(report)))
}

fn name(report: &HuntReport) -> String {
    match shorten(report.scheduler.trim(), 40) {
        name if name.is_empty() => "the scheduler".to_owned(),
        name => name,
    }
}

fn ratio(value: f64) -> String {
    if value.is_finite() && value.abs() < 10.0 { format!("{value:.2}x") } else { format::times(value) }
}

fn measured(report: &HuntReport) -> impl Iterator<Item = &HuntLoad> {
    report.loads.iter().filter(|load| load.refused.is_none())
}

fn misses(load: &HuntLoad) -> bool {
    load.ratios.iter().any(|of| !of.holds)
}

/// How far the worst ratio of a load is beyond its bound: ratio over bound.
fn excess(report: &HuntReport, load: &HuntLoad) -> f64 {
    let at_most = |bound: &str| report.bounds.iter().find(|of| of.bound == bound).map_or(1.0, |of| of.at_most);
    load.ratios.iter().filter(|of| !of.holds).map(|of| of.ratio.median / at_most(&of.bound)).fold(0.0, f64::max)
}

fn verdict(report: &HuntReport) -> Vec<String> {
    let drawn = measured(report).filter(|load| load.drawn).count();
    if drawn == 0 {
        return vec!["No load has figures.".to_owned()];
    }
    let mut said = vec![format!(
        "In {} of {}, {} holds all bounds.",
        report.hold,
        plural(drawn as u64, "drawn load"),
        name(report),
    )];
    let share = |bound: &HuntBound| f64::from(bound.hold) / f64::from(bound.loads.max(1));
    let worst = report.bounds.iter().filter(|bound| bound.loads > bound.hold);
    if let Some(worst) = worst.min_by(|a, b| share(a).total_cmp(&share(b))) {
        said.push(format!(
            "The bound missed most often: {} (at most {}), held in {} of {} to which it applies.",
            shorten(&worst.words, 80),
            ratio(worst.at_most),
            worst.hold,
            plural(worst.loads.into(), "load"),
        ));
    }
    let refused = report.loads.iter().filter(|load| load.refused.is_some()).count();
    if refused > 0 {
        said.push(format!("{} without figures.", plural(refused as u64, "load")));
    }
    said
}

fn bounds(report: &HuntReport) -> Figure {
    let rows: Vec<Row> = report
        .bounds
        .iter()
        .map(|bound| {
            let worst = bound.ratio.map(|of| of.max);
            let share = (bound.loads > 0).then(|| f64::from(bound.hold) / f64::from(bound.loads) * 100.0);
            Row::at(BOUND, shorten(&bound.words, 80))
                .put(AT_MOST, bound.at_most)
                .put(LOADS, f64::from(bound.loads))
                .put(HOLD, f64::from(bound.hold))
                .put(SHARE_MEASURE, share)
                .put(MEDIAN, bound.ratio.map(|of| of.median))
                .put(WORST, worst)
        })
        .collect();
    Figure::new(
        "Bounds",
        format!(
            "Ratios of costs over those of another scheduler, with defaults where no settings are named, so that less \
             is better; of drawn loads, with {}. {}",
            plural(report.seeds.len() as u64, "seed"),
            fidelity(&report.fidelity)
        ),
    )
    .table(Table::of("Bounds", &rows, columns![BOUND, AT_MOST, LOADS, HOLD, SHARE_MEASURE, MEDIAN, WORST]))
    .open()
}

/// In how many drawn loads of each kind of device no stock scheduler is better in both: what briskd decides by. Absent
/// where no load has a kind.
fn by_kind(report: &HuntReport) -> Option<Figure> {
    let mut kinds: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for load in measured(report).filter(|load| load.drawn) {
        let found = load.kind.as_deref().zip(load.ratios.iter().find(|of| of.bound == "dominated"));
        if let Some((kind, ratio)) = found {
            let (loads, hold) = kinds.entry(kind).or_default();
            *loads += 1;
            *hold += u32::from(ratio.holds);
        }
    }
    let rows: Vec<Row> = kinds
        .into_iter()
        .map(|(kind, (loads, hold))| {
            Row::at(DEVICE, shorten(kind, 40))
                .put(LOADS, f64::from(loads))
                .put(NOT_DOMINATED, f64::from(hold))
                .put(SHARE_MEASURE, f64::from(hold) / f64::from(loads) * 100.0)
        })
        .collect();
    (!rows.is_empty()).then(|| {
        Figure::new(
            "Kinds of devices",
            "Drawn loads with reads and writes; dominated: a stock scheduler is better in read mean and in write \
             throughput at once.",
        )
        .table(Table::of("Kinds of devices", &rows, columns![DEVICE, LOADS, NOT_DOMINATED, SHARE_MEASURE]))
    })
}

/// A row for each missed bound of a load.
fn rows_of(load: &HuntLoad, words_max: usize) -> impl Iterator<Item = Row> + '_ {
    let own = load.rows.first();
    load.ratios.iter().filter(|of| !of.holds).map(move |of| {
        let peer = load.rows.iter().find(|row| row.scheduler == of.against);
        let kind = if load.drawn { "drawn" } else { "search" };
        Row::at(LOAD, format!("{kind} {}", load.number))
            .by(BOUND, of.bound.clone())
            .put(JOBS_AND_DEVICE, shorten(&load.words, words_max))
            .put(RATIO_MEASURE, of.ratio)
            .put(AGAINST, of.against.as_str())
            .put(READ_MEAN, own.and_then(|row| row.read_us_mean))
            .put(ITS, peer.and_then(|row| row.read_us_mean))
            .put(WRITES, own.and_then(|row| row.write_bytes_per_s))
            .put(ITS_WRITES, peer.and_then(|row| row.write_bytes_per_s))
            .put(COMMIT_P99, own.and_then(|row| row.commit_us_p99))
    })
}

fn missed(report: &HuntReport) -> Figure {
    let mut loads: Vec<&HuntLoad> = measured(report).filter(|load| misses(load)).collect();
    loads.sort_by(|a, b| excess(report, b).total_cmp(&excess(report, a)));
    let short: Vec<Row> = loads.iter().take(SHOWN_MAX).flat_map(|load| rows_of(load, WORDS_MAX)).collect();
    let all: Vec<Row> = loads.iter().flat_map(|load| rows_of(load, 400)).collect();
    let all_rows: Vec<Row> = measured(report)
        .flat_map(|load| load.rows.iter().map(move |row| (load, row)))
        .map(|(load, row)| {
            Row::at(LOAD, format!("{} {}", if load.drawn { "drawn" } else { "search" }, load.number))
                .by(SCHEDULER, row.scheduler.clone())
                .put(JOBS_AND_DEVICE, shorten(&load.words, 400))
                .put(READ_MEAN, row.read_us_mean)
                .put(READ_P99, row.read_us_p99)
                .put(COMMIT_P99, row.commit_us_p99)
                .put(WRITE_MEAN, row.write_us_mean)
                .put(WRITES, row.write_bytes_per_s)
                .put(DISCARDS_PER_S, row.discards_per_s)
                .put(STARVED, if row.starved { "yes" } else { "" })
        })
        .collect();
    let columns =
        columns![LOAD, BOUND, JOBS_AND_DEVICE, RATIO_MEASURE, AGAINST, READ_MEAN, ITS, WRITES, ITS_WRITES, COMMIT_P99];
    Figure::new("Loads that do not hold", "The worst first, by the ratio over its bound.")
        .table(
            Table::of(format!("The worst {}", plural(loads.len().min(SHOWN_MAX) as u64, "load")), &short, columns)
                .dispensable(columns![COMMIT_P99, ITS_WRITES, ITS, WRITES, READ_MEAN]),
        )
        .table(Table::of("All of them", &all, columns).page_only())
        .table(
            Table::of(
                "Every load under every scheduler",
                &all_rows,
                columns![
                    LOAD,
                    SCHEDULER,
                    JOBS_AND_DEVICE,
                    READ_MEAN,
                    READ_P99,
                    COMMIT_P99,
                    WRITE_MEAN,
                    WRITES,
                    DISCARDS_PER_S,
                    STARVED,
                ],
            )
            .page_only()
            .noted(
                "Percentiles are those of the slowest job. Where a side finished no request, its latencies are at \
                    least those given.",
            ),
        )
}

fn found(report: &HuntReport) -> Figure {
    let rows: Vec<Row> = report
        .found
        .iter()
        .map(|of| {
            Row::at(BOUND, of.bound.clone())
                .by(SMALLEST_LOAD, shorten(&of.words, 120))
                .put(RATIO_MEASURE, of.ratio)
                .put(AGAINST, of.against.as_str())
                .put(BEFORE, of.from_ratio)
                .put(TRIED, f64::from(of.tried))
                .put(CONFIRMED, if of.confirmed { "yes" } else { "no" })
                .put(FILE, of.file.as_deref().map(|file| shorten(file, 100)))
        })
        .collect();
    Figure::new(
        "Worst cases, shrunk",
        "The ratio is that of other seeds than the hunt's; before is that of the load before shrinking.",
    )
    .table(
        Table::of(
            "Worst cases, shrunk",
            &rows,
            columns![BOUND, SMALLEST_LOAD, RATIO_MEASURE, AGAINST, BEFORE, TRIED, CONFIRMED, FILE],
        )
        .dispensable(columns![TRIED, FILE, BEFORE]),
    )
}
