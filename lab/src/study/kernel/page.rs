//! Its page.

use crate::results::{KernelMeasure, KernelReport, KernelRow, KernelScenario, KernelSide};
use brisk_core::units::format_bytes;

use super::aims;
use super::columns::*;
use crate::study::shown::facts::fidelity;
use brisk_report::declare::*;
use brisk_report::format::{self, plural, shorten};

/// Foreground sides, most urgent first: their response times count.
const FOREGROUND: [&str; 2] = ["sync", "read"];
/// Where more loads are alike, the chart says it.
const LOADS_IN_WORDS: usize = 6;

pub(super) fn section(report: &KernelReport) -> Section {
    let environment = &report.header.environment;
    let question = match report.scenarios.as_slice() {
        [one] => one.question.clone(),
        _ => "What do I/O schedulers make of mixed load on flash?".to_owned(),
    };
    let judged = !report.aims.is_empty();
    let mut verdict = aims::verdict(&report.aims);
    verdict.extend(report.scenarios.iter().filter(|_| !judged).flat_map(scenario_lines));
    for scenario in &report.scenarios {
        let said = |(name, why): &(String, String)| {
            format!("{name} has no figures in {}: {}.", scenario.name, why.trim_end_matches('.'))
        };
        verdict.extend(scenario.refused.iter().map(said));
    }
    let mut presets: Vec<&str> = report.scenarios.iter().map(|scenario| scenario.device.preset.as_str()).collect();
    presets.dedup();
    let device = shorten(&format!("Linux {}, {}", report.series, presets.join(", ")), 60);
    let cpus = plural(environment.cpus.into(), "CPU");
    let machine = format!("virtual, {}, {cpus}, time counted in instructions", environment.architecture);
    let scenarios = report.scenarios.iter().map(|scenario| {
        let mut figure = figure(scenario);
        if judged {
            // On a terminal the aims tell enough of many scenarios.
            figure.tables.iter_mut().for_each(|table| table.in_terminal = false);
            figure.tables_open = false;
        }
        figure
    });
    Section {
        // A virtual machine has no disk of its own, and nothing of the host shows in it.
        machine: Some(vec![("Machine", machine), ("Kernel", shorten(&environment.kernel, 80))]),
        ..Section::new("Kernel lab", question, verdict)
    }
    .on(Some(device))
    .figures(judged.then(|| aims::figure(&report.aims)))
    .figures(scenarios)
}

/// The foreground side, or the only one.
fn foreground(measure: &KernelMeasure) -> Option<&KernelSide> {
    FOREGROUND.iter().find_map(|name| measure.side(name)).or(measure.sides.first())
}

/// What runs concurrently with it.
fn background<'a>(measure: &'a KernelMeasure, foreground: &KernelSide) -> Option<&'a KernelSide> {
    measure.sides.iter().find(|side| side.side != foreground.side)
}

/// A scheduler and whether it was tuned.
fn label(row: &KernelRow) -> String {
    if row.tuned { format!("{}, tuned", row.scheduler) } else { row.scheduler.clone() }
}

/// A side in the plural.
fn plural_side(side: &str) -> &str {
    match side {
        "read" => "reads",
        "write" => "writes",
        "trim" => "discards",
        other => other,
    }
}

/// The best scheduler of each load.
fn scenario_lines(scenario: &KernelScenario) -> Vec<String> {
    if scenario.loads.len() > LOADS_IN_WORDS {
        return Vec::new();
    }
    let best = |(place, load): (usize, &crate::results::KernelLoad)| {
        let measured: Vec<_> = scenario
            .rows
            .iter()
            .filter_map(|row| {
                let measure = row.loads.get(place)?;
                let front = foreground(measure)?;
                Some((row, front, background(measure, front)))
            })
            .collect();
        let alone = measured.iter().all(|(_, _, back)| back.is_none());
        let (row, front, back) = if alone {
            measured.iter().max_by(|a, b| a.1.bytes_per_s.median.total_cmp(&b.1.bytes_per_s.median))
        } else {
            measured.iter().min_by(|a, b| a.1.delay_us_mean.median.total_cmp(&b.1.delay_us_mean.median))
        }?;
        let (load, scheduler) = (format::sentence(&load.name), label(row));
        Some(match back {
            Some(back) => format!(
                "{load}: {} latency is lowest under {scheduler}, {} on average and {} at the 99th percentile, while \
                 {} reach {}.",
                front.side,
                format::us(front.delay_us_mean.median),
                format::us(front.delay_us_p99.median),
                plural_side(&back.side),
                format::bandwidth(back.bytes_per_s.median),
            ),
            None => format!(
                "{load}: throughput is highest under {scheduler}, {}.",
                format::bandwidth(front.bytes_per_s.median)
            ),
        })
    };
    scenario.loads.iter().enumerate().filter_map(best).collect()
}

/// The part of a load's name before its share of reads, and the share.
fn mix(name: &str) -> Option<(&str, f64)> {
    let (pattern, share) = name.rsplit_once(", ")?;
    Some((pattern, share.strip_suffix(" % reads")?.trim().parse().ok()?))
}

/// A row for each side of each load under each setting; `short` for the foreground with what the background reaches.
fn rows(scenario: &KernelScenario, schedulers: &[String], short: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (place, load) in scenario.loads.iter().enumerate() {
        for row in &scenario.rows {
            let Some(measure) = row.loads.get(place) else { continue };
            let Some(front) = foreground(measure) else { continue };
            let nth = schedulers.iter().position(|name| *name == row.scheduler).unwrap_or_default();
            let settings: Vec<String> = row.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
            for side in measure.sides.iter().filter(|side| !short || side.side == front.side) {
                let back = background(measure, side);
                let (pattern, share) = mix(&load.name).map_or((None, None), |(p, share)| (Some(p), Some(share)));
                rows.push(
                    Row::at(LOAD, load.name.clone())
                        .by(SCHEDULER, label(row))
                        .by(NAME, row.scheduler.clone())
                        .by(SETTINGS_PLACE, settings.join(" "))
                        .by(SIDE, side.side.clone())
                        .by(PATTERN, pattern.unwrap_or_default())
                        .by(READS, Place { text: share.map_or_else(String::new, format::percent), number: share })
                        .look(Look::nth(nth))
                        .put(JOBS_MEASURE, f64::from(side.jobs))
                        .put(MEAN, side.delay_us_mean)
                        .put(P50, side.delay_us_p50)
                        .put(P99, side.delay_us_p99)
                        .put(LONGEST, side.delay_us_max)
                        .put(REQUESTS_PER_S_MEASURE, side.requests_per_s)
                        .put(THROUGHPUT, side.bytes_per_s)
                        .put(A_JOB_TOOK, side.job_s)
                        .put(SLOWDOWN, side.slowdown)
                        .put(BACKGROUND, back.unwrap_or(side).bytes_per_s)
                        .put(ITS_SLOWDOWN, back.and_then(|back| back.slowdown))
                        .put(OF_MEASURE, back.map(|back| plural_side(&back.side))),
                );
            }
        }
    }
    rows
}

fn figure(scenario: &KernelScenario) -> Figure {
    let mut schedulers: Vec<String> = Vec::new();
    for row in &scenario.rows {
        if !schedulers.contains(&row.scheduler) {
            schedulers.push(row.scheduler.clone());
        }
    }
    let tuning = if scenario.rows.iter().any(|row| row.tuned) {
        format!(
            " A line leads from a scheduler's defaults to its best settings: least delay with at least {} of the \
             write throughput of the best default.",
            format::percent(scenario.write_min_percent)
        )
    } else {
        String::new()
    };
    let front = rows(scenario, &schedulers, true);
    let loads: Vec<String> = scenario.loads.iter().map(|load| format!("{}: {}", load.name, load.words)).collect();
    let short = columns![LOAD, SCHEDULER, SETTINGS_PLACE, MEAN, P50, P99, SLOWDOWN, BACKGROUND, ITS_SLOWDOWN];
    let long = columns![
        LOAD,
        SCHEDULER,
        SIDE,
        JOBS_MEASURE,
        MEAN,
        P50,
        P99,
        LONGEST,
        REQUESTS_PER_S_MEASURE,
        THROUGHPUT,
        A_JOB_TOOK,
        SLOWDOWN
    ];
    let mut figure =
        Figure::new(scenario.title.clone(), format!("{}{tuning} {}", device(scenario), fidelity(&scenario.fidelity)))
            .named(schedulers.iter().map(String::as_str))
            .table(
                Table::of(scenario.title.clone(), &front, short)
                    .dispensable(columns![P50, ITS_SLOWDOWN, SLOWDOWN, SETTINGS_PLACE])
                    .noted(
                        "Response times are those of the foreground (commits, else reads); background is the \
                         throughput of the other side, or that of the load itself where it has one side.",
                    ),
            )
            .table(
                Table::of("Every side of every load", &rows(scenario, &schedulers, false), long)
                    .page_only()
                    .noted(format!("Percentiles are those of the slowest job. {}.", loads.join(". "))),
            )
            .open();
    for pattern in places(&front, PATTERN).into_iter().filter(|pattern| !pattern.is_empty()) {
        let mixes = only(&front, PATTERN, &pattern).into_iter();
        let mixes: Vec<Row> = mixes
            .map(|row| {
                let look = row.look.dashed(row.text(SCHEDULER) != row.text(NAME));
                row.look(look)
            })
            .collect();
        let lines = Lines {
            x: READS.into(),
            y: REQUESTS_PER_S_MEASURE.into(),
            series: SCHEDULER.into(),
            named: SCHEDULER.into(),
            ..Lines::default()
        };
        let axes = [
            Axis::new("reads, %", Law::Window, format::tick),
            Axis::new("requests a second", Law::Window, format::tick),
        ];
        figure = figure.chart(
            format::sentence(&pattern),
            lines.draw(format!("Requests a second of {pattern} mixes"), axes, &mixes),
        );
    }
    for load in places(&front, LOAD) {
        let of: Vec<Row> =
            only(&front, LOAD, &load).into_iter().filter(|row| !row.text(OF_MEASURE).is_empty()).collect();
        let Some(first) = of.first() else { continue };
        let lines =
            Lines { x: BACKGROUND.into(), y: MEAN.into(), series: NAME.into(), named: NAME.into(), ..Lines::default() };
        let axes = [
            Axis::new(format!("{}, MB/s", first.text(OF_MEASURE)), Law::Window, unit::BANDWIDTH.tick),
            Axis::new(
                format!("mean {} delay", first.text(SIDE)),
                law_for(of.iter().filter_map(|row| row.number(MEAN))),
                format::us_tick,
            ),
        ];
        figure = figure.chart(load.clone(), lines.draw(format!("{load}: delay against throughput"), axes, &of));
    }
    figure
}

fn device(scenario: &KernelScenario) -> String {
    let device = &scenario.device;
    let queues =
        if device.queues == 1 { String::new() } else { format!(", {}", plural(device.queues.into(), "queue")) };
    let on = device.file_system.as_ref().map(|kind| format!(", {kind} on it")).unwrap_or_default();
    let scale = if (scenario.scale - 1.0).abs() < 1e-9 {
        String::new()
    } else {
        format!(" Loads are {} as long as in the file.", format::times(scenario.scale))
    };
    format!(
        "{} of {}, {} in flight{queues}{on}; {}.{scale}",
        device.preset,
        format_bytes(device.size_bytes),
        plural(device.depth_requests.into(), "request"),
        plural(scenario.seeds.len() as u64, "seed"),
    )
}
