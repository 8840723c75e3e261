//! The app suite: many apps on an emulated phone, cold and warm, with and without a load in the background.

use brisk_core::stats::{self, Summary};
use brisk_results::{SuiteApp, SuiteReport, Temperature};

use super::apps::{self, TEMPERATURES};
use crate::papers::apps as published;
use crate::section::{Chart, Figure, Panel, Section, range};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};
use crate::{causes, facts, format, ratio, sets};

/// Settled times that spread by at most so much count as repeatable.
const STEADY: f64 = 0.10;
/// Runs from which on a spread says anything.
const FEWEST_RUNS: usize = 3;
/// Ratios beyond this need logarithms.
const LARGEST_EVEN: f64 = 5.0;

/// The section of this document.
pub(crate) fn section(report: &SuiteReport) -> Section {
    let figures = [
        apps::stacks(&report.apps, "Where launches spend their time"),
        ratios(report),
        apps::table(&report.apps, base(report), ("slowdown", apps::slowdown_cell)),
        apps::conditions(&report.conditions),
        apps::failures(&report.apps),
    ];
    Section {
        title: "App suite".to_owned(),
        question: "How long until the screens of everyday apps are final, and what does a load in the background add?"
            .to_owned(),
        verdict: verdict(report),
        figures: figures.into_iter().flatten().collect(),
    }
}

/// The condition that others are compared with.
fn base(report: &SuiteReport) -> &str {
    report.conditions.first().map_or("", |condition| condition.name.as_str())
}

/// Conditions other than the base, at each temperature.
fn loaded(report: &SuiteReport) -> impl Iterator<Item = (&str, Temperature)> {
    report
        .conditions
        .iter()
        .skip(1)
        .flat_map(|condition| TEMPERATURES.into_iter().map(move |temperature| (condition.name.as_str(), temperature)))
}

/// Usable ratios of a condition.
fn ratios_of<'a>(
    report: &'a SuiteReport,
    condition: &str,
    temperature: Temperature,
) -> Vec<(&'a SuiteApp, &'a Summary)> {
    report
        .apps
        .iter()
        .filter_map(|app| Some((app, &apps::comparison(app, condition, temperature)?.settled_ratio)))
        .filter(|(_, ratio)| ratio::judge(ratio) != ratio::Judgement::Nothing)
        .collect()
}

fn verdict(report: &SuiteReport) -> Vec<String> {
    let mut said: Vec<String> = loaded(report).filter_map(|(c, t)| slowdown(report, c, t)).collect();
    said.extend(TEMPERATURES.into_iter().filter_map(|t| times(report, t)));
    if said.is_empty() {
        said.push(match report.apps.len() {
            0 => "Nothing was measured: the document has no apps.".to_owned(),
            n => format!("Nothing was measured: none of {} has a launch with a time.", format::plural(n as u64, "app")),
        });
    }
    said.extend(warm(report));
    said.extend(steady(report));
    said.extend(checked(report));
    said.extend(apps::writers(&report.conditions));
    said.extend(apps::doubts(&report.apps));
    said
}

/// What a condition adds, over all apps.
fn slowdown(report: &SuiteReport, condition: &str, temperature: Temperature) -> Option<String> {
    let found = ratios_of(report, condition, temperature);
    let (mean, count) = ratio::geometric_mean(found.iter().map(|(_, r)| r.median))?;
    let middle = stats::median(&found.iter().map(|(_, r)| r.median).collect::<Vec<_>>())?;
    let slower = found.iter().filter(|(_, r)| ratio::judge(r) == ratio::Judgement::Longer).count();
    let (worst, most) = found.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let (start, name) = (sets::temperature(temperature), sets::label_words(condition));
    let base = sets::label_words(base(report));
    let over = format::plural(count, "app");
    if slower == 0 {
        return Some(format!(
            "{} launches with {name} show no difference to {base} that can be seen in any of {over}: {} times (geometric mean).",
            format::sentence(start),
            format::number(mean)
        ));
    }
    Some(format!(
        "{} launches take {} times as long with {name} as {base}: geometric mean of {over}, median {}. Worst is {} with {}; \
         in {slower} of {count} the interval leaves no doubt that it is slower.",
        format::sentence(start),
        format::number(mean),
        format::number(middle),
        apps::name(worst),
        ratio::words(most)
    ))
}

/// How far apart the two counts of the storage's time may be.
const AGREE: f64 = 0.05;
/// A device that was busy for less says nothing: one late reply weighs too much.
const BUSY_AT_LEAST_MS: f64 = 20.0;

/// Whether the time at the device is what the device counted itself, over launches that had it to themselves.
fn checked(report: &SuiteReport) -> Option<String> {
    let alone = |name: &str| report.conditions.iter().any(|c| c.name == name && c.writer.is_none());
    let sets = report.apps.iter().flat_map(|app| &app.sets).filter(|set| alone(&set.label));
    let times = sets.flat_map(|set| &set.runs).filter_map(|run| run.device.as_ref());
    let ratios: Vec<f64> = times
        .filter(|time| time.busy_ms >= BUSY_AT_LEAST_MS && time.in_flight_ms.is_finite())
        .map(|time| time.in_flight_ms / time.busy_ms)
        .collect();
    let ratio = Summary::of(&ratios)?;
    let agree = (1.0 - AGREE..=1.0 + AGREE).contains(&ratio.median);
    Some(format!(
        "{}: over {} of apps without load, requests were at the device for {:.3} times as long as the emulated device counted \
         itself (from {:.3} to {:.3}).",
        if agree { "The time at the storage is checked" } else { "The time at the storage is in doubt" },
        format::plural(ratio.count as u64, "start"),
        ratio.median,
        ratio.min,
        ratio.max
    ))
}

/// How long launches take in the base condition, and how much of it is the storage's.
fn times(report: &SuiteReport, temperature: Temperature) -> Option<String> {
    let mut found: Vec<(&SuiteApp, f64)> =
        report.apps.iter().filter_map(|app| Some((app, apps::settled_ms(app, base(report), temperature)?))).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ((first, quick), (last, slow)) = (*found.first()?, *found.last()?);
    let start = format::sentence(sets::temperature(temperature));
    let shares: Vec<f64> = report
        .apps
        .iter()
        .filter_map(|app| apps::set(app, base(report), temperature)?.split.as_ref())
        .filter_map(|split| Some(causes::storage_ms(split)? / split.wall_ms))
        .collect();
    let storage = stats::median(&shares).map_or_else(String::new, |share| {
        format!("; the median app waits for storage {} of it", format::share(share, 1.0))
    });
    if found.len() == 1 {
        return Some(format!("{start}, {} settles after {}{storage}.", apps::name(first), format::ms(slow)));
    }
    let middle = stats::median(&found.iter().map(|f| f.1).collect::<Vec<_>>())?;
    Some(format!(
        "{start}, {} apps settle after {} at the median, from {} ({}) to {} ({}){storage}.",
        found.len(),
        format::ms(middle),
        format::ms(quick),
        apps::name(first),
        format::ms(slow),
        apps::name(last)
    ))
}

/// What warm launches save, beside what was published.
fn warm(report: &SuiteReport) -> Option<String> {
    let saved: Vec<f64> = report
        .apps
        .iter()
        .filter_map(|app| {
            let of = |temperature| apps::settled_ms(app, base(report), temperature);
            Some(1.0 - of(Temperature::Warm)? / of(Temperature::Cold)?)
        })
        .filter(|share| share.is_finite())
        .collect();
    let middle = stats::median(&saved)?;
    let paper = if report.phone.preset == published::WARM_PRESET {
        format!(" (published for 40 Android apps on this phone: {} %)", format::number(published::WARM_SAVES_PERCENT))
    } else {
        String::new()
    };
    let (share, word) = if middle >= 0.0 { (middle, "less") } else { (-middle, "more") };
    Some(format!(
        "Warm launches take {} {word} time than cold ones, median of {}{paper}.",
        format::share(share, 1.0),
        format::plural(saved.len() as u64, "app")
    ))
}

/// For how many apps the times repeat.
fn steady(report: &SuiteReport) -> Option<String> {
    let spreads: Vec<f64> = report
        .apps
        .iter()
        .filter_map(|app| {
            let set = apps::set(app, base(report), Temperature::Cold).or_else(|| app.sets.first())?;
            set.settled_less_cpu_wait_ms.as_ref()
        })
        .filter(|s| s.count >= FEWEST_RUNS && s.variation.is_finite())
        .map(|s| s.variation)
        .collect();
    let few = spreads.iter().filter(|v| **v <= STEADY).count();
    (!spreads.is_empty()).then(|| {
        format!(
            "Less the wait for a processor, settled times spread by at most {} in {few} of {}.",
            format::share(STEADY, 1.0),
            format::plural(spreads.len() as u64, "app")
        )
    })
}

/// One chart for each condition and temperature: apps against the base.
fn ratios(report: &SuiteReport) -> Option<Figure> {
    let base = sets::label_words(base(report));
    let all: Vec<f64> = loaded(report)
        .flat_map(|(c, t)| ratios_of(report, c, t))
        .flat_map(|(_, r)| [r.median, r.low, r.high])
        .collect();
    let largest = all.iter().copied().fold(0.0, f64::max);
    let mut table = Table::new(
        "Slowdown with its interval",
        &[
            ("app", Kind::Words),
            ("launch", Kind::Words),
            ("slowdown", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("less CPU wait", Kind::Numbers),
            ("pairs", Kind::Numbers),
        ],
    )
    .page_only();
    let mut panels = Vec::new();
    for (condition, temperature) in loaded(report) {
        let launch = format!("{}, {}", sets::temperature(temperature), sets::label_words(condition));
        let rows: Vec<Row> = ratios_of(report, condition, temperature)
            .into_iter()
            .map(|(app, settled)| {
                let less =
                    apps::comparison(app, condition, temperature).and_then(|c| c.settled_less_cpu_wait_ratio.as_ref());
                table.rows.push(vec![
                    apps::name(app).into(),
                    launch.clone().into(),
                    format::times(settled.median).into(),
                    format::interval(settled, format::number).into(),
                    less.map_or(Cell::Empty, |r| Cell::measure(r, format::times)),
                    settled.count.to_string().into(),
                ]);
                Row {
                    name: apps::name(app),
                    value: settled.median,
                    range: range(settled),
                    label: format!("{} {}", format::times(settled.median), format::spread(settled)),
                    below: String::new(),
                    tone: if temperature == Temperature::Cold { Tone::Nth(0) } else { Tone::Nth(1) },
                    marker: if temperature == Temperature::Cold { Marker::Circle } else { Marker::Square },
                    published: Vec::new(),
                    strokes: Vec::new(),
                    runs: Vec::new(),
                }
            })
            .collect();
        if rows.is_empty() {
            continue;
        }
        panels.push(Panel {
            title: format::sentence(&launch),
            chart: Chart::Dots(DotChart {
                title: format!("Time with {} over time {base}", sets::label_words(condition)),
                description: rows.iter().map(|r| format!("{}: {}.", r.name, r.label)).collect::<Vec<_>>().join(" "),
                x: Axis::new(
                    format!("time over that of {}", facts::shorten(&base, 20)),
                    if largest > LARGEST_EVEN { Law::Log10 } else { Law::Window },
                    format::tick,
                ),
                levels: vec![(1.0, format!("as {}", facts::shorten(&base, 20)))],
                holds: all.clone(),
                rows,
            }),
        });
    }
    (!panels.is_empty()).then(|| Figure {
        title: "What the load in the background adds".to_owned(),
        caption: "Time until settled over that of the base condition, pair by pair of interleaved launches; an interval that \
                  holds 1 shows no difference."
            .to_owned(),
        keys: Vec::new(),
        panels,
        tables: vec![table],
        tables_open: false,
    })
}
