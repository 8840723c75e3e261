//! Aims and how far they are reached: the worst load of each, and all of them on the page.

use crate::results::{KernelAim, KernelFigure, KernelVerdict};

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;

/// A ratio near one tells by its third digit.
const RATIO: Unit = unit::of("ratio", ratio, format::tick);

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

fn effect(verdict: KernelVerdict) -> Effect {
    match verdict {
        KernelVerdict::Reached => Effect::Improved,
        KernelVerdict::Missed => Effect::Regressed,
        KernelVerdict::Unknown => Effect::NotJudged,
    }
}

fn ratio(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}x") } else { format::times(value) }
}

fn unit(figure: KernelFigure) -> Unit {
    match figure {
        KernelFigure::DelayMean | KernelFigure::DelayP99 | KernelFigure::DelayMax => unit::US,
        KernelFigure::Requests => unit::TALLY,
        KernelFigure::Slowdown => Unit { show: ratio, ..unit::TIMES },
    }
}

/// The unit of what is held against the bound.
fn bound(aim: &KernelAim) -> Unit {
    // Older results do not say which bounds are relative; those have a peer.
    let relative = aim.relative || aim.loads.iter().any(|load| load.peer.is_some());
    if relative { RATIO } else { unit(aim.figure) }
}

/// The figure of all aims: the worst load of each, and all of them on the page.
pub(super) fn figure(aims: &[KernelAim]) -> Figure {
    let row = |aim: &KernelAim, load: String, verdict: KernelVerdict, words: &str| {
        let row = Row::at(AIM, aim.words.clone()).by(SCENARIO, aim.scenario.clone()).by(LOAD, load);
        row.judge(VERDICT, effect(verdict), words).put_in(AT_MOST, bound(aim), aim.at_most)
    };
    let short = aims.iter().map(|aim| {
        let reached = aim.loads.iter().filter(|load| load.verdict == KernelVerdict::Reached).count();
        let measured = aim.loads.iter().filter(|load| load.value.is_some());
        let worst = measured.max_by(|a, b| a.value.unwrap_or_default().total_cmp(&b.value.unwrap_or_default()));
        let why = aim.loads.iter().find_map(|load| load.why.clone()).unwrap_or_default();
        row(aim, worst.map_or(why, |load| load.load.clone()), state(aim), word(state(aim)))
            .put(LOADS, format!("{reached} of {}", aim.loads.len()))
            .put_in(WORST, bound(aim), worst.and_then(|load| load.value))
            .put(AGAINST, worst.and_then(|load| load.peer.clone()))
    });
    let all = aims.iter().flat_map(|aim| aim.loads.iter().map(move |load| (aim, load))).map(|(aim, load)| {
        row(aim, load.load.clone(), load.verdict, load.why.as_deref().unwrap_or_else(|| word(load.verdict)))
            .put(SETTINGS, load.settings.as_str())
            .put_in(FOUND, unit(aim.figure), load.found)
            .put(AGAINST, load.peer.clone())
            .put_in(ITS, unit(aim.figure), load.peer_found)
            .put_in(VALUE, bound(aim), load.value)
            .put_in(AT_WORST, bound(aim), load.value_worst)
    });
    let (short, all): (Vec<Row>, Vec<Row>) = (short.collect(), all.collect());
    let every = columns![AIM, SCENARIO, LOAD, VERDICT, SETTINGS, FOUND, AGAINST, ITS, VALUE, AT_WORST, AT_MOST];
    Figure::new(
        "Aims",
        "Judged are medians over the seeds. A ratio is the figure over that of the best peer, or for rates the peer's \
         over it, so that less is better.",
    )
    .table(
        Table::of("Aims", &short, columns![AIM, SCENARIO, VERDICT, LOADS, AT_MOST, WORST, LOAD, AGAINST])
            .dispensable(columns![AGAINST, LOAD, LOADS]),
    )
    .table(
        Table::of("Every aim in every load", &all, every)
            .page_only()
            .noted("At worst is the value at the worse ends of both intervals."),
    )
    .open()
}
