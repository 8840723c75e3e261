//! What was aimed at, and where it is: the load that stands worst for each aim, and all of them on the page.

use brisk_results::{KernelAim, KernelAimed, KernelFigure, KernelVerdict};

use crate::format;
use crate::section::Figure;
use crate::table::{Cell, Kind, Table};

/// The figure of all aims.
pub(super) fn figure(aims: &[KernelAim]) -> Figure {
    Figure {
        title: "Aims".to_owned(),
        caption:
            "Judged are medians over the seeds. A ratio is the figure over that of the peer who does best, or for \
                  rates the peer's over it, so that less is better."
                .to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![short(aims), all(aims)],
        tables_open: true,
    }
}

/// One sentence: how many are reached.
pub(super) fn verdict(aims: &[KernelAim]) -> Vec<String> {
    if aims.is_empty() {
        return Vec::new();
    }
    let missed: Vec<String> = aims
        .iter()
        .filter(|aim| state(aim) == KernelVerdict::Missed)
        .map(|aim| format!("{} ({})", aim.words, aim.scenario))
        .collect();
    let of = |state_is: KernelVerdict| aims.iter().filter(|aim| state(aim) == state_is).count();
    let mut said = format!("{} of {} reached", of(KernelVerdict::Reached), format::plural(aims.len() as u64, "aim"));
    match of(KernelVerdict::Unknown) {
        0 => {}
        count => said.push_str(&format!(", {count} without figures")),
    }
    if missed.is_empty() { vec![format!("{said}.")] } else { vec![format!("{said}; missed: {}.", missed.join("; "))] }
}

/// An aim is reached when all its loads reach it.
fn state(aim: &KernelAim) -> KernelVerdict {
    let any = |verdict: KernelVerdict| aim.loads.iter().any(|load| load.verdict == verdict);
    if any(KernelVerdict::Missed) {
        KernelVerdict::Missed
    } else if aim.loads.is_empty() || any(KernelVerdict::Unknown) {
        KernelVerdict::Unknown
    } else {
        KernelVerdict::Reached
    }
}

fn word(verdict: KernelVerdict) -> &'static str {
    match verdict {
        KernelVerdict::Reached => "reached",
        KernelVerdict::Missed => "missed",
        KernelVerdict::Unknown => "unknown",
    }
}

/// A ratio near one tells by its third digit.
fn ratio(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}x") } else { format::times(value) }
}

fn figure_of(aim: &KernelAim) -> fn(f64) -> String {
    match aim.figure {
        KernelFigure::DelayMean | KernelFigure::DelayP99 | KernelFigure::DelayMax => format::us,
        KernelFigure::Requests => format::tally,
        KernelFigure::Slowdown => ratio,
    }
}

/// The value in its unit.
fn value(aim: &KernelAim, value: f64) -> String {
    // Results of before this was told apart know it by the peer.
    let relative = aim.relative || aim.loads.iter().any(|load| load.peer.is_some());
    if relative { ratio(value) } else { figure_of(aim)(value) }
}

fn worst(aim: &KernelAim) -> Option<&KernelAimed> {
    let measured = aim.loads.iter().filter(|load| load.value.is_some());
    measured.max_by(|a, b| a.value.unwrap_or_default().total_cmp(&b.value.unwrap_or_default()))
}

fn short(aims: &[KernelAim]) -> Table {
    let columns = [
        ("aim", Kind::Words),
        ("scenario", Kind::Words),
        ("", Kind::Words),
        ("loads", Kind::Numbers),
        ("at most", Kind::Numbers),
        ("worst", Kind::Numbers),
        ("of load", Kind::Words),
        ("against", Kind::Words),
    ];
    let mut table = Table::new("Aims", &columns).dispensable(&[7, 6, 3]);
    for aim in aims {
        let reached = aim.loads.iter().filter(|load| load.verdict == KernelVerdict::Reached).count();
        let worst = worst(aim);
        let why = aim.loads.iter().find_map(|load| load.why.clone());
        table.rows.push(vec![
            aim.words.as_str().into(),
            aim.scenario.as_str().into(),
            word(state(aim)).into(),
            format!("{reached} of {}", aim.loads.len()).into(),
            value(aim, aim.at_most).into(),
            worst.and_then(|load| load.value).map_or(Cell::Empty, |of| value(aim, of).into()),
            worst.map_or_else(|| why.unwrap_or_default(), |load| load.load.clone()).into(),
            worst.and_then(|load| load.peer.clone()).unwrap_or_default().into(),
        ]);
    }
    table
}

fn all(aims: &[KernelAim]) -> Table {
    let columns = [
        ("aim", Kind::Words),
        ("scenario", Kind::Words),
        ("load", Kind::Words),
        ("", Kind::Words),
        ("settings", Kind::Words),
        ("found", Kind::Numbers),
        ("against", Kind::Words),
        ("its", Kind::Numbers),
        ("value", Kind::Numbers),
        ("at worst", Kind::Numbers),
        ("at most", Kind::Numbers),
    ];
    let mut table = Table::new("Every aim in every load", &columns).page_only();
    for aim in aims {
        let mut words = aim.words.as_str();
        for load in &aim.loads {
            let show = |of: Option<f64>| of.map_or(Cell::Empty, |of| value(aim, of).into());
            let measure = |of: &Option<brisk_core::stats::Summary>| {
                of.as_ref().map_or(Cell::Empty, |of| Cell::measure(of, figure_of(aim)))
            };
            table.rows.push(vec![
                std::mem::take(&mut words).into(),
                aim.scenario.as_str().into(),
                load.load.as_str().into(),
                load.why.clone().unwrap_or_else(|| word(load.verdict).to_owned()).into(),
                load.settings.as_str().into(),
                measure(&load.found),
                load.peer.clone().unwrap_or_default().into(),
                measure(&load.peer_found),
                show(load.value),
                show(load.value_worst),
                value(aim, aim.at_most).into(),
            ]);
        }
    }
    table.with_note(Some("At worst is the value at the worse ends of both intervals.".to_owned()))
}
