//! What happened since this program began to listen, newest first, and the last actions on apps.

use brisk_api::{Part, Said, render};
use maud::html;

use super::{Block, Parts, View};
use crate::feed::{Event, Machine};
use crate::texts;

pub(super) fn add(view: &View<'_>, machine: &Machine, parts: &mut Parts) {
    let seen = view.seen;
    let since = match view.is_record {
        true => view.say(texts::EVENTS_BEFORE).to_owned(),
        false => view.language.fill(texts::EVENTS_SINCE, &[&view.moment(seen.events_since_unix_ms)]),
    };
    parts.block(
        "events-head",
        html! {
            div id="events-head" {
                p.how { (since) }
                @if seen.events.is_empty() { p { (view.say(texts::NO_EVENTS)) } }
            }
        },
    );
    let line = |event: &Event| {
        let id = format!("event-{}", event.number);
        let html = html! {
            li id=(id) {
                time { (view.moment(event.at_unix_ms)) }
                span { (view.said(&with_ids(&event.said, machine))) }
            }
        };
        Block::new(id, html)
    };
    parts.lists.push(("event-list", seen.events.iter().map(line).collect()));
    let actions: Vec<Said> =
        machine.status.actions.iter().rev().map(|of| with_ids(&render::action(of), machine)).collect();
    parts.block(
        "actions",
        html! {
            div id="actions" { @if !actions.is_empty() {
                details.events id="actions-all" {
                    summary { (view.say(texts::ACTIONS)) }
                    ol { @for said in &actions { li { span { (view.said(said)) } } } }
                }
            } }
        },
    );
}

/// The sentence with ids of apps in place of the names of their groups.
fn with_ids(said: &Said, machine: &Machine) -> Said {
    let part = |part: &Part| match part {
        Part::Text(text) => {
            let app = machine
                .status
                .apps
                .iter()
                .find(|app| brisk_core::group::name(&app.group) == *text && !app.id.is_empty());
            Part::Text(app.map_or(text, |app| &app.id).clone())
        }
        Part::Said(said) => Part::Said(with_ids(said, machine)),
        Part::Reason(reason) => Part::Reason(reason.clone()),
    };
    Said { form: said.form.clone(), values: said.values.iter().map(part).collect() }
}
