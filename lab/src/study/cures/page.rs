//! Its page.

use crate::results::{CureCrash, CureRow, CuresReport};
use brisk_core::units::three_digits;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format::{self, plural, shorten};
use brisk_report::ratio;

const BASELINE: &str = "baseline";

pub(super) fn section(report: &CuresReport) -> Section {
    let question = "Which solution makes apps on slow storage how much faster, and at which risk?";
    let facts = vec![("Seeds", report.seeds.to_string()), ("Kernel", shorten(&report.header.environment.kernel, 60))];
    let mut figures = Vec::new();
    if !report.rows.is_empty() {
        figures.extend([gains(report), times(report), written(report)]);
    }
    if !report.crashes.is_empty() {
        figures.extend([left(report), cuts(report)]);
    }
    let section = Section::new("Cures of slow storage", question, verdict(report)).facts(facts).figures(figures);
    Section { machine: Some(vec![("Machine", "a virtual machine, in virtual time".to_owned())]), ..section }
}

fn name(text: &str) -> String {
    match shorten(text.trim(), 40) {
        name if name.is_empty() => "unnamed".to_owned(),
        name => name.replace('_', " "),
    }
}

/// Apps and cards, in order.
fn places(report: &CuresReport) -> Vec<(&str, &str)> {
    let mut places: Vec<(&str, &str)> = Vec::new();
    for row in &report.rows {
        if !places.contains(&(row.workload.as_str(), row.preset.as_str())) {
            places.push((&row.workload, &row.preset));
        }
    }
    places
}

fn of_place<'a>(report: &'a CuresReport, place: (&str, &str)) -> Vec<&'a CureRow> {
    report.rows.iter().filter(|row| (row.workload.as_str(), row.preset.as_str()) == place).collect()
}

fn verdict(report: &CuresReport) -> Vec<String> {
    let mut said: Vec<String> =
        places(report).into_iter().filter_map(|place| sentence(place, &of_place(report, place))).collect();
    if said.is_empty() && report.crashes.is_empty() {
        said.push("Nothing was compared: no solution has figures beside the baseline.".to_owned());
    }
    said.extend(selective(report));
    said.extend(contradictions(report));
    said.extend(power_cuts(report));
    said
}

/// What power cuts said about the promises, and the check that can fail.
fn power_cuts(report: &CuresReport) -> Option<String> {
    let crashes = &report.crashes;
    if crashes.is_empty() {
        return None;
    }
    let cuts: u64 = crashes.iter().map(|crash| u64::from(crash.cuts)).sum();
    let acknowledged = |crash: &CureCrash| -> u64 {
        crash.parts.iter().filter(|part| part.promise == "durable").map(|part| part.acknowledged).sum()
    };
    let durable: u64 = crashes.iter().map(acknowledged).sum();
    let broken: Vec<String> =
        crashes.iter().filter(|crash| crash.is_broken()).map(|crash| name(&crash.solution)).collect();
    let damaged: u64 = crashes
        .iter()
        .flat_map(|crash| &crash.parts)
        .filter(|part| part.promise == "nothing")
        .map(|part| u64::from(part.damaged))
        .sum();
    let verdict = if broken.is_empty() {
        "no promise was broken".to_owned()
    } else {
        shorten(&format!("a promise was broken, or cuts are missing, under {}", broken.join(", ")), 300)
    };
    Some(format!(
        "In {} under {} with {} acknowledged as durable {verdict}; data without a promise was damaged in {}.",
        plural(cuts, "power cut"),
        plural(crashes.len() as u64, "solution"),
        plural(durable, "transaction"),
        plural(damaged, "check"),
    ))
}

/// The bound, and the best that keeps what the app was told is durable.
fn sentence((app, card): (&str, &str), rows: &[&CureRow]) -> Option<String> {
    let times = |gain: f64| format!("{}x", three_digits(gain));
    let best = rows
        .iter()
        .filter(|row| row.solution != BASELINE && row.risk.starts_with("none"))
        .filter_map(|row| Some((*row, row.gain?.median)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let bound = rows.iter().find(|row| row.solution == "all_in_ram").and_then(|row| row.gain);
    let bound =
        bound.map_or_else(String::new, |bound| format!("; all data in memory, the bound, {}", times(bound.median)));
    Some(format!(
        "For {} on {} the fastest solution without a risk is {}, {} as fast as the baseline{bound}.",
        format::sentence(&name(app)),
        name(card),
        name(&best.0.solution),
        times(best.1)
    ))
}

/// Selective sync beside its bound, the database of class cache in memory.
fn selective(report: &CuresReport) -> Option<String> {
    let mut ratios = Vec::new();
    for place in places(report) {
        let rows = of_place(report, place);
        let run_s = |solution: &str| rows.iter().find(|row| row.solution == solution)?.run_s.map(|of| of.median);
        if let (Some(selective_s), Some(bound_s)) = (run_s("selective_sync"), run_s("index_in_ram"))
            && bound_s > 0.0
        {
            ratios.push(selective_s / bound_s);
        }
    }
    let worst = ratios.iter().copied().filter(|ratio| ratio.is_finite()).max_by(f64::total_cmp)?;
    Some(format!(
        "Selective sync takes at most {}x as long as with the database of class cache in memory, its bound.",
        three_digits(worst)
    ))
}

/// Gains outside of what the paper states.
fn contradictions(report: &CuresReport) -> Option<String> {
    let outside = |row: &&CureRow| {
        let (Some(gain), Some(low)) = (row.gain.as_ref(), row.published_gain_low) else { return false };
        // The text rounds: 5 % on each side are no contradiction.
        gain.median < 0.95 * low || row.published_gain_high.is_some_and(|high| gain.median > 1.05 * high)
    };
    let stated = report.rows.iter().filter(|row| row.published_gain_low.is_some() && row.gain.is_some()).count();
    let outside = report.rows.iter().filter(outside).count();
    (stated > 0).then(|| format!("Of {stated} gains that the paper states, {outside} differ here by more than 5 %."))
}

fn published(row: &CureRow) -> Option<String> {
    let low = row.published_gain_low?;
    Some(match row.published_gain_high {
        None => format!("more than {}x", three_digits(low)),
        Some(high) if (high - low).abs() < 1e-9 => format!("{}x", three_digits(low)),
        Some(high) => format!("{} to {}x", three_digits(low), three_digits(high)),
    })
}

/// What the gain of a row means.
fn effect(row: &CureRow) -> Effect {
    row.gain.as_ref().map_or(Effect::NotJudged, |gain| ratio::judge(gain).effect_of_gain())
}

/// The words below a mark: what the gain means, and what was published.
fn said(row: &CureRow) -> String {
    let words = match effect(row) {
        Effect::Improved => "faster",
        Effect::Regressed => "slower",
        Effect::Unclear => "no significant difference",
        Effect::NotJudged => "one run",
    };
    let published = published(row).map_or_else(String::new, |words| format!("; published: {words}"));
    format!("{}{published}", effect(row).signed(words))
}

/// A chart for each app and card.
fn gains(report: &CuresReport) -> Figure {
    let figure = Figure::new(
        "Gain of each solution",
        "Run time of the baseline over that under the solution, seed by seed. Whiskers are the interval of the median.",
    );
    let shown = report.rows.iter().filter(|row| row.solution != BASELINE && row.gain.is_some());
    let figure = figure.effects(shown.map(effect));
    places(report).into_iter().fold(figure, |figure, place| {
        let rows: Vec<Row> = of_place(report, place)
            .into_iter()
            .filter(|row| row.solution != BASELINE)
            .map(|row| {
                Row::at(SOLUTION, name(&row.solution)).look(effect(row).look()).put(GAIN, row.gain).put(SAID, said(row))
            })
            .collect();
        let (app, card) = (name(place.0), name(place.1));
        let dots = Dots {
            name: SOLUTION.into(),
            value: GAIN.into(),
            below: SAID.into(),
            levels: level(1.0, "baseline"),
            ..Dots::default()
        };
        let x = Axis::new("times as fast as the baseline", Law::Log2, format::tick);
        let title = format!("Gain of each solution, {app} on {card}");
        figure.chart(format!("{} on {card}", format::sentence(&app)), dots.draw(title, x, &rows))
    })
}

fn times(report: &CuresReport) -> Figure {
    let rows: Vec<Row> = report
        .rows
        .iter()
        .map(|row| {
            Row::at(APP, name(&row.workload))
                .by(CARD, name(&row.preset))
                .by(SOLUTION, name(&row.solution))
                .put(RUN_TIME, row.run_s)
                .put(IN_STORAGE, row.storage_s)
                .put(GAIN, row.gain)
                .put(PUBLISHED, published(row))
                .put(RISK, Some(shorten(row.risk.trim(), 120)))
                .put(REMARK, row.failure.as_ref().map(|why| shorten(why.trim(), 120)))
        })
        .collect();
    let columns = columns![APP, CARD, SOLUTION, RUN_TIME, IN_STORAGE, GAIN, PUBLISHED, RISK, REMARK];
    let places: Vec<String> = report
        .rows
        .iter()
        .filter_map(|row| Some(format!("{} for {}", row.published_place.as_deref()?.trim(), name(&row.solution))))
        .collect();
    let mut named: Vec<String> = Vec::new();
    places.into_iter().for_each(|place| {
        if !named.contains(&place) {
            named.push(place);
        }
    });
    let note = if named.is_empty() {
        String::new()
    } else {
        shorten(&format!("Published in Revisiting Storage for Smartphones: {}.", named.join("; ")), 900)
    };
    Figure::new(
        "Gain of each solution: numbers",
        "Run time under each solution: medians over the seeds, with the time in calls for files and databases.",
    )
    .table(Table::of("Run time under each solution", &rows, columns).noted(note))
}

/// What the baseline writes, beside the paper's table V.
fn written(report: &CuresReport) -> Figure {
    let mut rows = Vec::new();
    for row in report.rows.iter().filter(|row| row.solution == BASELINE) {
        let Some(of) = report.workloads.iter().find(|of| of.name == row.workload) else { continue };
        rows.push(
            Row::at(APP, name(&row.workload))
                .by(CARD, name(&row.preset))
                .put(IN_SEQUENCE, row.sequential_bytes)
                .put(TABLE_V_IN_SEQUENCE, of.published_sequential_bytes)
                .put(AT_RANDOM, row.random_bytes)
                .put(TABLE_V_AT_RANDOM, of.published_random_bytes),
        );
    }
    let columns = columns![APP, CARD, IN_SEQUENCE, TABLE_V_IN_SEQUENCE, AT_RANDOM, TABLE_V_AT_RANDOM];
    Figure::new(
        "What the baseline writes",
        "Bytes that reached the device, and those of table V of the paper for as many pages. A page is written in \
         sequence where it follows the one written before it.",
    )
    .table(Table::of("What the baseline writes", &rows, columns))
}

/// What each part of the data promised, and what was left of it.
fn left(report: &CuresReport) -> Figure {
    let mut rows = Vec::new();
    for crash in &report.crashes {
        for part in &crash.parts {
            let bound = part.bound_s.map_or_else(String::new, |bound_s| format!(", {} s", three_digits(bound_s)));
            let oldest_s = (part.lost > 0).then_some(part.oldest_s);
            rows.push(
                Row::at(SOLUTION, name(&crash.solution))
                    .by(DATA, name(&part.part))
                    .put(PROMISE, Some(format!("{}{bound}", shorten(part.promise.trim(), 20))))
                    .put(ACKNOWLEDGED, part.acknowledged)
                    .put(LOST, part.lost)
                    .put(OLDEST_LOST, oldest_s)
                    .put(DAMAGED, f64::from(part.damaged))
                    .put(BROKEN, f64::from(part.broken)),
            );
        }
    }
    let columns = columns![SOLUTION, DATA, PROMISE, ACKNOWLEDGED, LOST, OLDEST_LOST, DAMAGED, BROKEN];
    Figure::new(
        "What power cuts leave",
        "Transactions that were acknowledged before the cuts, and of these lost; cuts after which the data was \
         damaged, and in which its promise was broken. Durable: all that was acknowledged is there; ordered: a prefix, \
         no older than the bound; whole: a prefix of any age.",
    )
    .table(Table::of("What power cuts leave", &rows, columns))
}

/// The cuts themselves, and the file systems.
fn cuts(report: &CuresReport) -> Figure {
    let rows: Vec<Row> = report
        .crashes
        .iter()
        .map(|crash| {
            let is_pulled = crash.pulled > 0;
            let unclean = crash.is_checked.then_some(f64::from(crash.unclean));
            Row::at(SOLUTION, name(&crash.solution))
                .by(DEVICE, name(&crash.preset))
                .put(CUTS, f64::from(crash.cuts))
                .put(NOTHING_AT_RISK, f64::from(crash.without_risk))
                .put(PAGES_LOST, crash.lost_pages)
                .put(NOT_MOUNTED, f64::from(crash.unmountable))
                .put(NOT_CLEAN, unclean)
                .put(PAGES_RIGHT, is_pulled.then_some(crash.pulled_right))
                .put(READ_ERRORS, is_pulled.then_some(crash.pulled_errors))
                .put(PAGES_WRONG, is_pulled.then_some(crash.pulled_wrong))
                .put(REMARK, crash.failure.as_ref().or(crash.example.as_ref()).map(|why| shorten(why.trim(), 120)))
        })
        .collect();
    let columns = columns![
        SOLUTION,
        DEVICE,
        CUTS,
        NOTHING_AT_RISK,
        PAGES_LOST,
        NOT_MOUNTED,
        NOT_CLEAN,
        PAGES_RIGHT,
        READ_ERRORS,
        PAGES_WRONG,
        REMARK
    ];
    Figure::new(
        "Power cuts",
        "Cuts in which the device lost pages of its volatile cache; file systems that did not mount afterwards, or \
         whose check found errors. Of a stripe one device alone was cut now and then: pages right, read errors and \
         pages wrong are those that were read from the other one.",
    )
    .table(Table::of("Power cuts", &rows, columns))
}
