//! Engines: what each is for, its state, since when and why, what it gains with the evidence, and its switch.

use brisk_api::{EngineTrial, Ladder, Phase, SubjectTrial};
use maud::{Markup, html};

use super::summary::change;
use super::{Block, Parts, View};
use crate::feed::Machine;
use crate::texts;

/// Subjects in a list of evidence: those with most comparisons.
const SUBJECTS_MAX: usize = 30;

pub(super) fn add(view: &View<'_>, machine: &Machine, parts: &mut Parts) {
    let card = |of: &EngineTrial| {
        let id = format!("engine-{}", of.engine);
        let html = card(view, of, &id, machine.trials.on);
        Block::new(id, html)
    };
    parts.lists.push(("engine-list", machine.trials.engines.iter().map(card).collect()));
}

fn card(view: &View<'_>, of: &EngineTrial, id: &str, is_on: bool) -> Markup {
    let (title, purpose) = view.language.engine(&of.engine);
    let is_tried = is_on && of.tried;
    let (state, tone) = match () {
        () if of.ladder == Ladder::Off => (view.say(texts::OFF), "rests"),
        () if !is_tried => (view.say(texts::UNTRIED), "acts"),
        () => match of.phase {
            Phase::Acting => (view.language.phase(of.phase), "acts"),
            Phase::Resting => (view.language.phase(of.phase), "rests"),
            Phase::OnTrial | Phase::Observing => (view.language.phase(of.phase), "tries"),
        },
    };
    let since = match of.since_unix_ms {
        _ if of.ladder == Ladder::Off => view.say(texts::WHY_PERSON).to_owned(),
        Some(since) => view.language.fill(texts::SINCE, &[&view.moment(since), &view.language.why(of.why)]),
        None => view.say(texts::HAD_NOTHING).to_owned(),
    };
    html! {
        article.card id=(id) aria-labelledby=(format!("{id}-title")) {
            div.card-head {
                h3 id=(format!("{id}-title")) { (title) }
                span class=(format!("state {tone}")) { (state) }
            }
            p.how { (purpose) }
            dl.facts {
                dt { (view.say(texts::STATE)) } dd { (since) }
                dt { (view.say(texts::GAIN)) } dd { (gain(view, of)) }
            }
            (evidence(view, of, id))
            (switch(view, of, &title))
        }
    }
}

fn gain(view: &View<'_>, of: &EngineTrial) -> Markup {
    let language = view.language;
    let Some(effect) = of.effect else { return html! { (view.say(texts::NOT_KNOWN)) } };
    let number = |value: f64| language.number(&format!("{value:.2}"));
    match change(language, of) {
        Some(words) => html! {
            span.verdict class=(if effect.high < 1.0 { "better" } else { "worse" }) { (words) }
            "; " (language.fill(texts::PAIRS, &[&effect.pairs]))
        },
        None => html! {
            (language.fill(texts::NO_DIFFERENCE, &[&number(effect.low), &number(effect.high), &effect.pairs]))
        },
    }
}

/// Each app or disk that it is tried on, folded away.
fn evidence(view: &View<'_>, of: &EngineTrial, id: &str) -> Markup {
    let mut subjects: Vec<&SubjectTrial> = of.subjects.iter().collect();
    subjects.sort_by_key(|of| (std::cmp::Reverse(of.pairs), of.subject.clone()));
    let number = |value: f64| view.language.number(&format!("{value:.2}"));
    html! {
        @if !subjects.is_empty() {
            details id=(format!("{id}-evidence")) {
                summary { (view.language.fill(texts::EVIDENCE_OF, &[&subjects.len()])) }
                div.scroll tabindex="0" role="group" aria-label=(view.say(texts::EVIDENCE)) { table {
                    thead { tr {
                        th scope="col" { (view.say(texts::SUBJECT)) }
                        th scope="col" { (view.say(texts::STATE)) }
                        th scope="col" { (view.say(texts::GAIN)) }
                        th.n scope="col" { (view.say(texts::EPISODES)) }
                    } }
                    tbody { @for one in subjects.iter().take(SUBJECTS_MAX) { tr {
                        th scope="row" { (one.subject) }
                        td { (view.language.phase(one.phase)) ", " (view.language.why(one.why)) }
                        td { @match one.effect {
                            Some(of) => { (number(of.ratio)) " (" (number(of.low)) "–" (number(of.high)) ")" }
                            None => { (view.say(texts::NOT_KNOWN)) }
                        } }
                        td.n { (one.acted.episodes) ", " (one.held_out.episodes) }
                    } } }
                } }
            }
        }
    }
}

fn switch(view: &View<'_>, of: &EngineTrial, title: &str) -> Markup {
    let now = match of.ladder {
        Ladder::Auto | Ladder::Named => "auto",
        Ladder::On => "on",
        Ladder::Off => "off",
    };
    let buttons = html! {
        div.switch role="group" aria-label=(view.language.fill(texts::SWITCH, &[&title])) {
            @for (to, text) in [("auto", texts::SWITCH_AUTO), ("on", texts::SWITCH_ON), ("off", texts::SWITCH_OFF)] {
                button name="to" value=(to) aria-pressed=(if now == to { "true" } else { "false" }) { (view.say(text)) }
            }
        }
    };
    view.form(&[("do", "engine"), ("engine", of.engine.as_str())], None, &buttons)
}
