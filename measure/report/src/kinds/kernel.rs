//! The kernel lab: what schedulers make of reads beside writes in the virtual machine, scenario by scenario.

mod aims;

use brisk_core::units::format_bytes;
use brisk_results::{KernelMeasure, KernelReport, KernelRow, KernelScenario, KernelSide};

use crate::format;
use crate::section::{Chart, Figure, Glyph, Key, Panel, Section, range};
use crate::svg::frame::Axis;
use crate::svg::lines::{LineChart, Names, Point, Series};
use crate::svg::scale::{Law, law_for};
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// Sides that somebody waits for, most first.
const WAITS: [&str; 2] = ["sync", "read"];

/// The section of this document.
pub(crate) fn section(report: &KernelReport) -> Section {
    Section {
        title: "Kernel lab".to_owned(),
        question: match report.scenarios.as_slice() {
            [one] => one.question.clone(),
            _ => "What do I/O schedulers make of reads beside writes on flash?".to_owned(),
        },
        verdict: if report.aims.is_empty() {
            report.scenarios.iter().flat_map(verdict).collect()
        } else {
            let refused = report.scenarios.iter().flat_map(refusals);
            aims::verdict(&report.aims).into_iter().chain(refused).collect()
        },
        figures: if report.aims.is_empty() {
            report.scenarios.iter().flat_map(figures).collect()
        } else {
            // On a terminal the aims tell enough of many scenarios.
            let scenarios = report.scenarios.iter().flat_map(figures).map(|mut figure| {
                figure.tables.iter_mut().for_each(|table| table.in_terminal = false);
                figure.tables_open = false;
                figure
            });
            std::iter::once(aims::figure(&report.aims)).chain(scenarios).collect()
        },
    }
}

/// Schedulers without figures.
fn refusals(scenario: &KernelScenario) -> Vec<String> {
    let told = |(name, why): &(String, String)| {
        format!("{name} has no figures in {}: {}.", scenario.name, why.trim_end_matches('.'))
    };
    scenario.refused.iter().map(told).collect()
}

/// The side that somebody waits for beside others, or the only one.
fn waits(measure: &KernelMeasure) -> Option<&KernelSide> {
    WAITS.iter().find_map(|name| measure.side(name)).or(measure.sides.first())
}

/// What runs beside it.
fn rest<'a>(measure: &'a KernelMeasure, waiting: &KernelSide) -> Option<&'a KernelSide> {
    measure.sides.iter().find(|side| side.side != waiting.side)
}

/// A scheduler and whether it was tuned.
fn label(row: &KernelRow) -> String {
    if row.tuned { format!("{}, tuned", row.scheduler) } else { row.scheduler.clone() }
}

fn words(row: &KernelRow) -> String {
    let words: Vec<String> = row.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(" ")
}

fn verdict(scenario: &KernelScenario) -> Vec<String> {
    let mut said = Vec::new();
    for (place, load) in scenario.loads.iter().enumerate() {
        let measured = || {
            scenario.rows.iter().filter_map(move |row| {
                let measure = row.loads.get(place)?;
                Some((row, measure, waits(measure)?))
            })
        };
        // Where many loads are alike, the chart says it.
        if scenario.loads.len() > 6 {
            break;
        }
        let alone = measured().all(|(_, measure, waiting)| rest(measure, waiting).is_none());
        let sides = |waiting: &KernelSide| waiting.side.clone();
        let best = if alone {
            measured().max_by(|a, b| a.2.bytes_per_s.median.total_cmp(&b.2.bytes_per_s.median))
        } else {
            measured().min_by(|a, b| a.2.delay_us_mean.median.total_cmp(&b.2.delay_us_mean.median))
        };
        let Some((row, measure, waiting)) = best else { continue };
        said.push(match rest(measure, waiting) {
            Some(other) => format!(
                "{}: a {} waits least under {}, {} on average and {} at the 99th percentile, while {} move {}.",
                format::sentence(&load.name),
                sides(waiting),
                label(row),
                format::us(waiting.delay_us_mean.median),
                format::us(waiting.delay_us_p99.median),
                plural_side(&other.side),
                format::bandwidth(other.bytes_per_s.median),
            ),
            None => format!(
                "{}: most is moved under {}, {}.",
                format::sentence(&load.name),
                label(row),
                format::bandwidth(waiting.bytes_per_s.median)
            ),
        });
    }
    said.extend(refusals(scenario));
    said
}

/// A side in the plural.
fn plural_side(side: &str) -> String {
    match side {
        "read" => "reads".to_owned(),
        "write" => "writes".to_owned(),
        "trim" => "discards".to_owned(),
        other => other.to_owned(),
    }
}

fn figures(scenario: &KernelScenario) -> Vec<Figure> {
    let mut names: Vec<&str> = Vec::new();
    for row in &scenario.rows {
        if !names.contains(&row.scheduler.as_str()) {
            names.push(&row.scheduler);
        }
    }
    let keys: Vec<Key> = names
        .iter()
        .enumerate()
        .map(|(i, name)| Key { tone: Tone::Nth(i), glyph: Glyph::Point(Marker::nth(i)), words: (*name).to_owned() })
        .collect();
    let mut panels: Vec<Panel> = Vec::new();
    for pattern in mixes(scenario) {
        panels.push(Panel {
            title: format::sentence(&pattern),
            chart: Chart::Lines(mix_chart(scenario, &pattern, &names)),
        });
    }
    for (place, load) in scenario.loads.iter().enumerate() {
        if let Some(chart) = delay_chart(scenario, place, &names) {
            panels.push(Panel { title: load.name.clone(), chart: Chart::Lines(chart) });
        }
    }
    let is_tuned = scenario.rows.iter().any(|row| row.tuned);
    let tuning = if is_tuned {
        format!(
            " A line leads from a scheduler's defaults to its best settings: least delay with at least {} of the write \
             throughput of the best default.",
            format::percent(scenario.write_min_percent)
        )
    } else {
        String::new()
    };
    vec![Figure {
        title: scenario.title.clone(),
        caption: format!("{}{tuning} {}", device(scenario), fidelity(scenario)),
        keys,
        panels,
        tables: vec![short_table(scenario), all_table(scenario)],
        tables_open: true,
    }]
}

fn device(scenario: &KernelScenario) -> String {
    let device = &scenario.device;
    let queues =
        if device.queues == 1 { String::new() } else { format!(", {}", format::plural(device.queues.into(), "queue")) };
    let on = device.file_system.as_ref().map(|kind| format!(", {kind} on it")).unwrap_or_default();
    let scale = if (scenario.scale - 1.0).abs() < 1e-9 {
        String::new()
    } else {
        format!(" Loads are {} as long as in the file.", format::times(scenario.scale))
    };
    format!(
        "{} of {}, {} at once{queues}{on}; {}.{scale}",
        device.preset,
        format_bytes(device.size_bytes),
        format::plural(device.depth_requests.into(), "request"),
        format::plural(scenario.seeds.len() as u64, "seed"),
    )
}

fn fidelity(scenario: &KernelScenario) -> String {
    let of = &scenario.fidelity;
    format!(
        "The device's timer was {} late on average at most ({} allowed), a case and its repeat differed by {} of all \
         requests ({} allowed) and by {} of those of equal jobs, in {} of {}{}.",
        format::us(of.lateness_ns_mean / 1e3),
        format::us(of.lateness_ns_bound / 1e3),
        format::percent(of.repeat_percent),
        format::percent(of.repeat_percent_bound),
        format::percent(of.repeat_percent_of_jobs),
        format::plural(of.boots.into(), "boot"),
        format::plural(of.cases.into(), "case"),
        match of.kept {
            0 => String::new(),
            kept => format!(", {kept} of which an earlier run had measured"),
        }
    )
}

/// The part of a load's name before its share of reads, and the share.
fn mix(name: &str) -> Option<(&str, f64)> {
    let (pattern, share) = name.rsplit_once(", ")?;
    Some((pattern, share.strip_suffix(" % reads")?.trim().parse().ok()?))
}

/// Patterns of the loads that are mixes.
fn mixes(scenario: &KernelScenario) -> Vec<String> {
    let mut patterns: Vec<String> = Vec::new();
    for load in &scenario.loads {
        if let Some((pattern, _)) = mix(&load.name)
            && !patterns.iter().any(|known| known == pattern)
        {
            patterns.push(pattern.to_owned());
        }
    }
    patterns
}

/// Throughput against the share of reads.
fn mix_chart(scenario: &KernelScenario, pattern: &str, names: &[&str]) -> LineChart {
    let series = scenario.rows.iter().map(|row| {
        let points = scenario.loads.iter().zip(&row.loads).filter_map(|(load, measure)| {
            let (of, share) = mix(&load.name)?;
            let side = measure.sides.first().filter(|_| of == pattern)?;
            Some(Point {
                x: share,
                y: side.requests_per_s.median,
                range: range(&side.requests_per_s),
                words: format!(
                    "{}: {} with {} of reads",
                    label(row),
                    format::tally(side.requests_per_s.median),
                    format::percent(share)
                ),
                mark: None,
            })
        });
        let (tone, marker) = look(row, names);
        Series { name: label(row), tone, marker, dashed: row.tuned, published: false, points: points.collect() }
    });
    LineChart {
        title: format!("Requests a second of {pattern} mixes"),
        description: format!("Requests a second against the share of reads, {pattern}."),
        x: Axis::new("reads, %", Law::Window, format::tick),
        y: Axis::new("requests a second", Law::Window, format::tick),
        series: series.collect(),
        levels: Vec::new(),
        events: Vec::new(),
        names: Names::Last,
    }
}

fn look(row: &KernelRow, names: &[&str]) -> (Tone, Marker) {
    let place = names.iter().position(|name| *name == row.scheduler).unwrap_or_default();
    (Tone::Nth(place), Marker::nth(place))
}

/// Delay of what somebody waits for against the throughput of the rest; none where there are not both.
fn delay_chart(scenario: &KernelScenario, place: usize, names: &[&str]) -> Option<LineChart> {
    let load = scenario.loads.get(place)?;
    let mut words = None;
    let mut all = Vec::new();
    let mut series = Vec::new();
    for name in names {
        let mut points = Vec::new();
        for row in scenario.rows.iter().filter(|row| row.scheduler == *name) {
            let Some(measure) = row.loads.get(place) else { continue };
            let Some(waiting) = waits(measure) else { continue };
            let Some(other) = rest(measure, waiting) else { continue };
            words.get_or_insert((waiting.side.clone(), other.side.clone()));
            all.push(waiting.delay_us_mean.median);
            points.push(Point {
                x: other.bytes_per_s.median / 1e6,
                y: waiting.delay_us_mean.median,
                range: range(&waiting.delay_us_mean),
                words: format!(
                    "{}: {} {}, {} beside",
                    label(row),
                    waiting.side,
                    format::us(waiting.delay_us_mean.median),
                    format::bandwidth(other.bytes_per_s.median)
                ),
                mark: None,
            });
        }
        let (tone, marker) = names
            .iter()
            .position(|other| other == name)
            .map_or((Tone::Plain, Marker::Circle), |i| (Tone::Nth(i), Marker::nth(i)));
        let name = (*name).to_owned();
        series.push(Series { name, tone, marker, dashed: false, published: false, points });
    }
    let (waiting, other) = words?;
    Some(LineChart {
        title: format!("{}: delay against throughput", load.name),
        description: verdict(scenario).join(" "),
        x: Axis::new(format!("{}, MB/s", plural_side(&other)), Law::Window, format::tick),
        y: Axis::new(format!("mean {waiting} delay"), law_for(all), format::us_tick),
        series,
        levels: Vec::new(),
        events: Vec::new(),
        names: Names::Last,
    })
}

/// A row for each load and setting.
fn short_table(scenario: &KernelScenario) -> Table {
    let mut table = Table::new(
        scenario.title.as_str(),
        &[
            ("load", Kind::Words),
            ("scheduler", Kind::Words),
            ("settings", Kind::Words),
            ("mean", Kind::Numbers),
            ("p50", Kind::Numbers),
            ("p99", Kind::Numbers),
            ("slowdown", Kind::Numbers),
            ("beside", Kind::Numbers),
            ("its slowdown", Kind::Numbers),
        ],
    )
    .dispensable(&[4, 8, 6, 2]);
    let mut all = Vec::new();
    for (place, load) in scenario.loads.iter().enumerate() {
        let mut name = load.name.as_str();
        for row in &scenario.rows {
            let Some(measure) = row.loads.get(place) else { continue };
            let Some(waiting) = waits(measure) else { continue };
            let other = rest(measure, waiting);
            all.push(&waiting.delay_us_mean);
            // A load that nobody waits in shows what it moves itself.
            let moved = &other.unwrap_or(waiting).bytes_per_s;
            let slowdown = |side: Option<&KernelSide>| {
                side.and_then(|side| side.slowdown.as_ref())
                    .map_or(Cell::Empty, |summary| Cell::measure(summary, format::times))
            };
            table.rows.push(vec![
                std::mem::take(&mut name).into(),
                label(row).into(),
                words(row).into(),
                Cell::measure(&waiting.delay_us_mean, format::us),
                Cell::measure(&waiting.delay_us_p50, format::us),
                Cell::measure(&waiting.delay_us_p99, format::us),
                slowdown(Some(waiting)),
                Cell::measure(moved, format::bandwidth),
                slowdown(other),
            ]);
        }
    }
    let note = "Response times are those of what somebody waits for (commits, else reads); beside it stands what the others \
                move, or what it moves itself when it runs alone.";
    let interval = format::interval_note(all).map(|note| format!(" {note}")).unwrap_or_default();
    table.with_note(Some(format!("{note}{interval}")))
}

/// Everything.
fn all_table(scenario: &KernelScenario) -> Table {
    let mut table = Table::new(
        "Every side of every load",
        &[
            ("load", Kind::Words),
            ("scheduler", Kind::Words),
            ("side", Kind::Words),
            ("jobs", Kind::Numbers),
            ("mean", Kind::Numbers),
            ("p50", Kind::Numbers),
            ("p99", Kind::Numbers),
            ("longest", Kind::Numbers),
            ("requests/s", Kind::Numbers),
            ("moved", Kind::Numbers),
            ("a job took", Kind::Numbers),
            ("slowdown", Kind::Numbers),
        ],
    )
    .page_only();
    for (place, load) in scenario.loads.iter().enumerate() {
        for row in &scenario.rows {
            for side in row.loads.get(place).map_or(&[][..], |measure| &measure.sides) {
                let optional = |value: &Option<brisk_core::stats::Summary>, show: fn(f64) -> String| {
                    value.as_ref().map_or(Cell::Empty, |summary| Cell::measure(summary, show))
                };
                table.rows.push(vec![
                    load.name.as_str().into(),
                    label(row).into(),
                    side.side.as_str().into(),
                    side.jobs.to_string().into(),
                    Cell::measure(&side.delay_us_mean, format::us),
                    Cell::measure(&side.delay_us_p50, format::us),
                    Cell::measure(&side.delay_us_p99, format::us),
                    Cell::measure(&side.delay_us_max, format::us),
                    Cell::measure(&side.requests_per_s, format::tally),
                    Cell::measure(&side.bytes_per_s, format::bandwidth),
                    optional(&side.job_s, format::seconds),
                    optional(&side.slowdown, format::times),
                ]);
            }
        }
    }
    let loads: Vec<String> = scenario.loads.iter().map(|load| format!("{}: {}", load.name, load.words)).collect();
    table.with_note(Some(format!("Percentiles are those of the slowest job. {}.", loads.join(". "))))
}
