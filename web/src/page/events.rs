//! What happened since this program began to listen, newest first, and the last actions on apps.

use brisk_api::render;
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
                span { (view.english(&with_ids(&event.text, machine))) }
            }
        };
        Block::new(id, html)
    };
    parts.lists.push(("event-list", seen.events.iter().map(line).collect()));
    let actions: Vec<String> =
        machine.status.actions.iter().rev().map(|of| with_ids(&render::action(of), machine)).collect();
    parts.block(
        "actions",
        html! {
            div id="actions" { @if !actions.is_empty() {
                details.events id="actions-all" {
                    summary { (view.say(texts::ACTIONS)) }
                    ol { @for text in &actions { li { span { (view.english(text)) } } } }
                }
            } }
        },
    );
}

/// The text with ids of apps in place of the names of their groups.
fn with_ids(text: &str, machine: &Machine) -> String {
    let known = machine.status.apps.iter().filter(|app| !app.id.is_empty() && text.contains(&app.group));
    known.fold(text.to_owned(), |text, app| text.replace(&app.group, &app.id))
}
