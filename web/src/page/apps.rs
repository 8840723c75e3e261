//! Apps: memory, swapped part, the chance to be next, what would be taken from first and why.

use brisk_api::{AppMemory, Ladder, Phase};
use brisk_core::app::EndOrder;
use brisk_core::survey::{Importance, Step};
use brisk_core::units::three_digits;
use brisk_program::users;
use maud::{Markup, html};

use super::{Block, Parts, View, id_of};
use crate::feed::Machine;
use crate::texts::{self, Text};

pub(super) fn add(view: &View<'_>, machine: &Machine, parts: &mut Parts) {
    let survey = &machine.apps.survey;
    let (shown, others): (Vec<&AppMemory>, Vec<&AppMemory>) =
        survey.apps.iter().partition(|row| row.memory_bytes.is_some());
    let is_iram = |of: &&brisk_api::EngineTrial| of.engine == "iram";
    let iram = machine.trials.engines.iter().find(is_iram);
    let acts = machine.apps.active
        && !machine.status.paused
        && iram.is_some_and(|of| {
            of.ladder != Ladder::Off && (!machine.trials.on || !of.tried || of.phase > Phase::Observing)
        })
        && iram.is_none_or(|of| of.phase != Phase::Resting);
    parts.block(
        "apps-head",
        html! {
            div id="apps-head" {
                p.how { (view.say(texts::APPS_HOW)) }
                @if shown.is_empty() { p { (view.say(texts::NO_APPS)) } }
                @else if !acts { p.caution { (view.say(texts::APPS_IDLE)) } }
            }
        },
    );
    parts.block(
        "apps-foot",
        html! {
            p.how id="apps-foot" {
                @if !others.is_empty() { (view.language.fill(texts::OTHER_GROUPS, &[&others.len()])) }
            }
        },
    );
    let shared = survey.shared_ids();
    let rows = shown.iter().enumerate().map(|(place, row)| {
        let id = id_of("app", &row.group);
        let user = row.user.filter(|_| shared.contains(row.id.as_str())).map(users::called);
        let html = line(view, row, place, (&id, user.as_deref()), &wish(view, machine, row));
        Block::new(id, html)
    });
    parts.lists.push(("app-list", rows.collect()));
}

pub(super) fn table(view: &View<'_>, parts: &Parts) -> Markup {
    html! {
        p.filter { label for="app-filter" { (view.say(texts::FILTER)) } " "
            input id="app-filter" type="search" data-filters="app-list" autocomplete="off"; }
        div.scroll tabindex="0" role="group" aria-label=(view.say(texts::APPS)) { table.stacks {
            thead { tr {
                th scope="col" { (view.say(texts::APP)) }
                th.n scope="col" { (view.say(texts::HAS_MEMORY)) }
                th.n scope="col" { (view.say(texts::IN_SWAP)) }
                th.n scope="col" { (view.say(texts::NEXT)) }
                th scope="col" { (view.say(texts::ROLE)) }
                th scope="col" { (view.say(texts::TAKEN)) }
                th.long scope="col" { (view.say(texts::WHY)) }
                @if !view.is_record { th scope="col" { (view.say(texts::WISH)) } }
            } }
            tbody.first id="app-list" { (parts.items("app-list")) }
        } }
        p.more { button type="button" data-shows="app-list" { (view.say(texts::ALL_APPS)) } }
    }
}

/// What a person may choose of an app, with what is chosen.
fn wish(view: &View<'_>, machine: &Machine, row: &AppMemory) -> Markup {
    if row.id.is_empty() {
        return html! {};
    }
    let app = machine.status.apps.iter().find(|app| app.group == row.group);
    let activity = app.map(|app| &app.activity);
    let is_protected = activity.is_some_and(|of| of.protected.is_some());
    let ends_first = activity.and_then(|of| of.preference.as_ref()).is_some_and(|of| of.order == EndOrder::First);
    let buttons = html! {
        div.switch.small role="group" aria-label=(view.language.fill(texts::WISH_FOR, &[&row.id])) {
            @for (to, text, is_so) in
                [("protect", texts::PROTECT, is_protected), ("end_first", texts::END_FIRST, ends_first)]
            {
                button name="to" value=(if is_so { "none" } else { to }) aria-pressed=(is_so.to_string()) {
                    (view.say(text))
                }
            }
        }
    };
    view.form(&[("do", "app"), ("app", row.id.as_str())], None, &buttons)
}

/// `user` is the name of the app's user where another user has an app of that id.
fn line(view: &View<'_>, row: &AppMemory, place: usize, (id, user): (&str, Option<&str>), wish: &Markup) -> Markup {
    let language = view.language;
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "–".to_owned(), |bytes| language.bytes(bytes >> 16 << 16));
    let (taken, why) = match &row.protected {
        Some(reason) => (view.say(texts::NEVER).to_owned(), view.reason(reason)),
        None if row.steps.is_empty() => ("–".to_owned(), html! { (view.say(texts::NOTHING_TO_TAKE)) }),
        None => {
            let steps: Vec<&str> = row.steps.iter().map(|step| view.say(step_text(*step))).collect();
            let cost = language.number(&three_digits(row.cost_s_per_mib * 100.0));
            let why = language.fill(texts::STEPS, &[&steps.join(", "), &cost]);
            (language.fill(texts::NUMBER, &[&(place + 1)]), html! { (why) })
        }
    };
    let name = if row.id.is_empty() { brisk_core::group::name(&row.group) } else { &row.id };
    let cell = |head: Text, class: &str, inside: &Markup| {
        html! { td class=[(!class.is_empty()).then_some(class)] data-head=(view.say(head)) { (inside) } }
    };
    html! {
        tr id=(id) data-name=(name.to_lowercase()) {
            th scope="row" title=(row.group) { (name) @if let Some(user) = user { " (" (user) ")" } }
            (cell(texts::HAS_MEMORY, "n", &html! { (bytes(row.memory_bytes)) }))
            (cell(texts::IN_SWAP, "n", &html! { (bytes(row.swap_bytes)) }))
            (cell(texts::NEXT, "n", &html! { (language.percent(row.chance * 100.0)) }))
            (cell(texts::ROLE, "", &html! {
                (view.say(importance(row.importance)))
                @if row.frozen { ", " (view.say(texts::FROZEN)) }
            }))
            (cell(texts::TAKEN, "", &html! { (taken) }))
            (cell(texts::WHY, "long", &why))
            @if !view.is_record { (cell(texts::WISH, "", wish)) }
        }
    }
}

fn importance(importance: Importance) -> Text {
    match importance {
        Importance::System => texts::IMPORTANCE_SYSTEM,
        Importance::Persistent => texts::IMPORTANCE_PERSISTENT,
        Importance::Foreground => texts::IMPORTANCE_FOREGROUND,
        Importance::Visible => texts::IMPORTANCE_VISIBLE,
        Importance::Perceptible => texts::IMPORTANCE_PERCEPTIBLE,
        Importance::Service => texts::IMPORTANCE_SERVICE,
        Importance::Background => texts::IMPORTANCE_BACKGROUND,
        Importance::Empty => texts::IMPORTANCE_EMPTY,
    }
}

fn step_text(step: Step) -> Text {
    match step {
        Step::FreeCaches => texts::STEP_FREE_CACHES,
        Step::Reclaim => texts::STEP_RECLAIM,
        Step::PageOut => texts::STEP_PAGE_OUT,
        Step::Freeze => texts::STEP_FREEZE,
        Step::End => texts::STEP_END,
    }
}
