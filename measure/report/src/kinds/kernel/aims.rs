//! Aims and how far they are reached: the worst load of each, and all of them on the page.

use brisk_results::{KernelAim, KernelFigure, KernelVerdict};

use crate::declare::*;
use crate::format;

/// A ratio near one tells by its third digit.
const RATIO: Unit = Unit { show: ratio, tick: format::tick };

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
        KernelFigure::DelayMean | KernelFigure::DelayP99 | KernelFigure::DelayMax => US,
        KernelFigure::Requests => TALLY,
        KernelFigure::Slowdown => Unit { show: ratio, ..TIMES },
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
        let row = Row::at("aim", aim.words.clone()).by("scenario", aim.scenario.clone()).by("load", load);
        row.judge("verdict", effect(verdict), words).put("at most", bound(aim), aim.at_most)
    };
    let short = aims.iter().map(|aim| {
        let reached = aim.loads.iter().filter(|load| load.verdict == KernelVerdict::Reached).count();
        let measured = aim.loads.iter().filter(|load| load.value.is_some());
        let worst = measured.max_by(|a, b| a.value.unwrap_or_default().total_cmp(&b.value.unwrap_or_default()));
        let why = aim.loads.iter().find_map(|load| load.why.clone()).unwrap_or_default();
        row(aim, worst.map_or(why, |load| load.load.clone()), state(aim), word(state(aim)))
            .say("loads", format!("{reached} of {}", aim.loads.len()))
            .put("worst", bound(aim), worst.and_then(|load| load.value))
            .say("against", worst.and_then(|load| load.peer.clone()))
    });
    let all = aims.iter().flat_map(|aim| aim.loads.iter().map(move |load| (aim, load))).map(|(aim, load)| {
        row(aim, load.load.clone(), load.verdict, load.why.as_deref().unwrap_or_else(|| word(load.verdict)))
            .say("settings", load.settings.as_str())
            .put("found", unit(aim.figure), load.found)
            .say("against", load.peer.clone())
            .put("its", unit(aim.figure), load.peer_found)
            .put("value", bound(aim), load.value)
            .put("at worst", bound(aim), load.value_worst)
    });
    let (short, all): (Vec<Row>, Vec<Row>) = (short.collect(), all.collect());
    let every = "aim | scenario | load | verdict | settings | found | against | its | value | at worst | at most";
    Figure::new(
        "Aims",
        "Judged are medians over the seeds. A ratio is the figure over that of the best peer, or for rates the peer's \
         over it, so that less is better.",
    )
    .table(
        Table::of("Aims", &short, "aim | scenario | verdict | loads | at most | worst | load | against")
            .dispensable("against | load | loads"),
    )
    .table(
        Table::of("Every aim in every load", &all, every)
            .page_only()
            .noted("At worst is the value at the worse ends of both intervals."),
    )
    .open()
}
