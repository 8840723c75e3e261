//! With and without brisk: apps beside a load and without one, a verdict for each, and readers beside writers.

mod storage;

use brisk_results::{Gain, ProveReport, Temperature};

use super::apps;
use crate::section::{Chart, Figure, Panel, Section, range};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};
use crate::{facts, format, ratio, sets};

/// Published for SmartIO: cold launches of 40 apps got shorter by so many percent on average, and at the most (dissertation
/// 4.5.4, which names no load beside them).
const PUBLISHED_PERCENT: (f64, f64) = (20.5, 37.8);

/// The section of this document.
pub(crate) fn section(report: &ProveReport) -> Section {
    let figures = [
        ratios(report),
        apps::stacks(&report.apps, "Where launches spend their time"),
        verdicts(report),
        storage::figure(report),
        apps::table(&report.apps, brisk_results::prove::conditions::IDLE, ("of idle", apps::slowdown_cell)),
        apps::conditions(&report.conditions),
        settings(report),
        apps::failures(&report.apps),
    ];
    Section {
        title: "Proof".to_owned(),
        question:
            "What does brisk change for the person who launches apps on this device, with a load in the background and \
                   without one?"
                .to_owned(),
        verdict: verdict(report),
        figures: figures.into_iter().flatten().collect(),
    }
}

fn verdict(report: &ProveReport) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for (word, loaded) in [("Beside the writer", true), ("Without load", false)] {
        said.extend(overall(report, word, loaded));
    }
    said.extend(gone(report));
    said.extend(storage::verdict(report));
    if said.is_empty() {
        said.push("Nothing can be said: no app has launches both with and without brisk.".to_owned());
    }
    said.extend(apps::writers(&report.conditions));
    said.extend(apps::doubts(&report.apps));
    said
}

fn ratio_of(gain: &Gain, loaded: bool) -> Option<&brisk_core::stats::Summary> {
    if loaded { gain.loaded_ratio.as_ref() } else { gain.idle_ratio.as_ref() }
}

/// All apps together, and who got slower: told as plainly as who got faster.
fn overall(report: &ProveReport, word: &str, loaded: bool) -> Option<String> {
    let found: Vec<(&Gain, _)> = report.gains.iter().filter_map(|gain| Some((gain, ratio_of(gain, loaded)?))).collect();
    let (mean, count) = ratio::geometric_mean(found.iter().map(|(_, r)| r.median))?;
    let names = |judgement: ratio::Judgement| -> Vec<String> {
        found.iter().filter(|(_, r)| ratio::judge(r) == judgement).map(|(gain, _)| name(gain)).collect()
    };
    let (slower, faster) = (names(ratio::Judgement::Longer), names(ratio::Judgement::Shorter));
    let paper = if loaded {
        let (mean, most) = PUBLISHED_PERCENT;
        format!(" (published for SmartIO: {mean} % less on average, {most} % at the most)")
    } else {
        String::new()
    };
    let change = if mean <= 1.0 {
        format!("{} less", format::share(1.0 - mean, 1.0))
    } else {
        format!("{} more", format::share(mean - 1.0, 1.0))
    };
    // With few pairs an interval promises little.
    let sure = found.iter().all(|(_, r)| format::sure(r));
    let told = |names: &[String], word: &str| match (names.len(), sure) {
        (0, true) => format!("none is {word} for certain"),
        (0, false) => format!("none seems {word}"),
        (1, true) => format!("1 is {word} for certain ({})", format::list(names)),
        (1, false) => format!("1 seems {word} ({})", format::list(names)),
        (n, true) => format!("{n} are {word} for certain ({})", format::list(names)),
        (n, false) => format!("{n} seem {word} ({})", format::list(names)),
    };
    Some(format!(
        "{word}, launches with brisk take {change} time than without: geometric mean of {}{paper}. Of these {} and {}.",
        format::plural(count, "app"),
        told(&faster, "faster"),
        told(&slower, "slower"),
    ))
}

/// How much of what the writer adds is gone.
fn gone(report: &ProveReport) -> Option<String> {
    let mut found: Vec<(&Gain, f64)> =
        report.gains.iter().filter_map(|gain| Some((gain, gain.gone_percent?))).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least, middle) = (found.first()?, brisk_core::stats::median(&found.iter().map(|f| f.1).collect::<Vec<_>>())?);
    let half = found.iter().filter(|(_, percent)| *percent >= 50.0).count();
    Some(format!(
        "Of the time that the writer adds, {} is gone at the median, {} for {} at the least; at least half is gone for {half} \
         of {}.",
        format::percent(middle),
        format::percent(least.1),
        name(least.0),
        format::plural(found.len() as u64, "app")
    ))
}

fn name(gain: &Gain) -> String {
    facts::shorten(gain.app.trim(), 32)
}

/// Apps by what brisk did for them.
fn verdicts(report: &ProveReport) -> Option<Figure> {
    let mut table = Table::new(
        "What brisk does",
        &[
            ("app", Kind::Words),
            ("start", Kind::Words),
            ("writer adds", Kind::Numbers),
            ("of that gone", Kind::Numbers),
            ("with writer", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("without load", Kind::Numbers),
            ("verdict", Kind::Words),
        ],
    )
    .dispensable(&[5]);
    for gain in &report.gains {
        let times = |r: Option<&brisk_core::stats::Summary>| r.map_or(Cell::Empty, |r| format::times(r.median).into());
        table.rows.push(vec![
            name(gain).into(),
            sets::temperature(gain.temperature).into(),
            gain.added_ms.map_or(Cell::Empty, |ms| format::ms(ms).into()),
            gain.gone_percent.map_or_else(|| "-".into(), |percent| format::percent(percent).into()),
            times(gain.loaded_ratio.as_ref()),
            gain.loaded_ratio.as_ref().map_or(Cell::Empty, |r| format::interval(r, format::number).into()),
            times(gain.idle_ratio.as_ref()),
            words(gain).into(),
        ]);
    }
    let all = report.gains.iter().flat_map(|gain| [gain.loaded_ratio.as_ref(), gain.idle_ratio.as_ref()]).flatten();
    let note =
        format::interval_note(all).map(|note| format!("{note} Ratios are of time with brisk over time without."));
    (!table.rows.is_empty()).then(|| Figure {
        title: "App by app".to_owned(),
        caption: "With brisk over without, pair by pair of interleaved cold launches.".to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table.with_note(note)],
        tables_open: true,
    })
}

/// The verdict of one app in a word or two; worse goes before better.
fn words(gain: &Gain) -> &'static str {
    use ratio::Judgement::{Longer, NoDifference, Shorter};
    let judged = |loaded| ratio_of(gain, loaded).map(ratio::judge);
    match (judged(true), judged(false)) {
        (Some(Longer), _) => "slower beside the writer",
        (_, Some(Longer)) => "slower without load",
        (Some(Shorter), _) => "faster",
        (_, Some(Shorter)) => "faster without load",
        (Some(NoDifference), _) | (_, Some(NoDifference)) => "no difference to be seen",
        _ => "too few runs",
    }
}

/// Apps as dots: time with brisk over time without.
fn ratios(report: &ProveReport) -> Option<Figure> {
    let panels: Vec<Panel> = [(true, "Beside the writer"), (false, "Without load")]
        .into_iter()
        .filter_map(|(loaded, title)| {
            let shown: Vec<_> = report.gains.iter().filter_map(|gain| Some((gain, ratio_of(gain, loaded)?))).collect();
            let rows: Vec<Row> = shown
                .iter()
                .filter(|(_, r)| ratio::judge(r) != ratio::Judgement::Nothing)
                .map(|(gain, r)| Row {
                    name: match gain.temperature {
                        Temperature::Cold => name(gain),
                        Temperature::Warm => format!("{}, warm", name(gain)),
                    },
                    value: r.median,
                    range: range(r),
                    label: format!("{} {}", format::times(r.median), format::spread(r)),
                    below: String::new(),
                    tone: if loaded { Tone::Nth(0) } else { Tone::Nth(1) },
                    marker: if loaded { Marker::Circle } else { Marker::Square },
                    published: Vec::new(),
                    strokes: Vec::new(),
                    runs: Vec::new(),
                })
                .collect();
            (!rows.is_empty()).then(|| Panel {
                title: title.to_owned(),
                chart: Chart::Dots(DotChart {
                    title: format!("{title}: time with brisk over time without"),
                    description: rows.iter().map(|r| format!("{}: {}.", r.name, r.label)).collect::<Vec<_>>().join(" "),
                    x: Axis::new("time with brisk over time without", Law::Window, format::tick),
                    levels: vec![(1.0, "no change".to_owned())],
                    holds: shown.iter().flat_map(|(_, r)| [r.median, r.low, r.high]).chain([1.0]).collect(),
                    rows,
                }),
            })
        })
        .collect();
    (!panels.is_empty()).then(|| Figure {
        title: "With brisk over without".to_owned(),
        caption:
            "Left of 1 brisk saves time, right of it brisk costs time; an interval that holds 1 shows no difference."
                .to_owned(),
        keys: Vec::new(),
        panels,
        tables: Vec::new(),
        tables_open: false,
    })
}

/// What brisk set meanwhile.
fn settings(report: &ProveReport) -> Option<Figure> {
    let mut table =
        Table::new("Settings", &[("setting", Kind::Words), ("before", Kind::Words), ("with brisk", Kind::Words)]);
    for setting in &report.settings {
        table.rows.push(vec![
            facts::shorten(&setting.knob, 60).into(),
            facts::shorten(&setting.before, 40).into(),
            facts::shorten(&setting.values.join(", then "), 80).into(),
        ]);
    }
    (!table.rows.is_empty()).then(|| Figure {
        title: "What brisk set".to_owned(),
        caption: "Settings that brisk changed while apps launched; after each launch they were as before.".to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table],
        tables_open: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::stats::Summary;

    fn gain(loaded: &[f64], idle: &[f64]) -> Gain {
        Gain {
            app: "x".to_owned(),
            temperature: Temperature::Cold,
            loaded_ratio: Summary::of(loaded),
            idle_ratio: Summary::of(idle),
            added_ms: Some(100.0),
            gone_percent: Some(60.0),
        }
    }

    #[test]
    fn worse_is_told_before_better() {
        let (less, same, more) = (&[0.5, 0.6][..], &[0.9, 1.1][..], &[1.2, 1.3][..]);
        for (loaded, idle, verdict) in [
            (less, same, "faster"),
            (less, more, "slower without load"),
            (more, less, "slower beside the writer"),
            (same, same, "no difference to be seen"),
            (same, less, "faster without load"),
            (&[0.5][..], &[0.5][..], "too few runs"),
            (&[][..], &[][..], "too few runs"),
        ] {
            assert_eq!(words(&gain(loaded, idle)), verdict, "{loaded:?} {idle:?}");
        }
    }
}
