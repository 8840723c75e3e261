//! Settings that are not the system's own, with value, value before, who and why; and the disks.

use brisk_api::{Said, render};
use brisk_core::state::SettingState;
use maud::{Markup, html};

use super::{Block, Parts, View, id_of};
use crate::feed::Machine;
use crate::texts::{self, Text};

/// Whether the value stands in the knob, and differs from what the system had.
fn is_changed(of: &SettingState) -> bool {
    of.is_in_force() && of.original.as_ref() != Some(&of.resolved.what.value)
}

pub(super) fn add(view: &View<'_>, machine: &Machine, parts: &mut Parts) {
    // What is requested and not in force is shown too: with its outcome.
    let is_shown = |of: &&SettingState| is_changed(of) || !of.is_in_force();
    let shown: Vec<&SettingState> = machine.status.settings.iter().filter(is_shown).collect();
    parts.block(
        "settings-head",
        html! {
            div id="settings-head" { @if shown.is_empty() { p { (view.say(texts::NO_SETTINGS)) } } }
        },
    );
    let rows = shown.into_iter().map(|of| {
        let id = id_of("setting", &of.knob().text());
        let html = line(view, of, &id);
        Block::new(id, html)
    });
    parts.lists.push(("setting-list", rows.collect()));
    parts.block("disks", disks(view, machine));
}

pub(super) fn table(view: &View<'_>, parts: &Parts) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label=(view.say(texts::SETTINGS)) { table.stacks {
            thead { tr {
                th scope="col" { (view.say(texts::SETTING)) }
                th scope="col" { (view.say(texts::VALUE)) }
                th scope="col" { (view.say(texts::BEFORE)) }
                th scope="col" { (view.say(texts::SINCE_HEAD)) }
                th scope="col" { (view.say(texts::BY)) }
                th.long scope="col" { (view.say(texts::WHY)) }
            } }
            tbody id="setting-list" { (parts.items("setting-list")) }
        } }
    }
}

fn line(view: &View<'_>, of: &SettingState, id: &str) -> Markup {
    let by = match of.resolved.engine.as_str() {
        brisk_core::arbiter::CONFIG => view.say(texts::CONFIGURATION).to_owned(),
        engine => view.language.engine(engine).0,
    };
    let cell = |head: Text, class: &str, inside: Markup| {
        html! { td class=[(!class.is_empty()).then_some(class)] data-head=(view.say(head)) { (inside) } }
    };
    html! {
        tr id=(id) {
            th scope="row" { (of.knob()) }
            (cell(texts::VALUE, "", html! {
                (of.resolved.what.value)
                @if !of.is_in_force() { " (" (view.said(&render::outcome(&of.outcome))) ")" }
            }))
            (cell(texts::BEFORE, "", html! { (of.original.as_deref().unwrap_or("–")) }))
            (cell(texts::SINCE_HEAD, "", html! { (view.moment(of.since_unix_ms)) }))
            (cell(texts::BY, "", html! { (by) }))
            (cell(texts::WHY, "long", view.reason(&of.resolved.reason)))
        }
    }
}

fn disks(view: &View<'_>, machine: &Machine) -> Markup {
    let (managed, others) = (&machine.status.devices, &machine.status.left_alone);
    html! {
        div id="disks" {
            h3 { (view.say(texts::DEVICES)) }
            dl.facts.disks {
                @for disk in managed {
                    dt { (disk.name) " " span.how { (disk.model) } }
                    dd {
                        (view.say(texts::MANAGED)) "; "
                        @if disk.measured.is_empty() { (view.say(texts::NOT_MEASURED)) }
                        @else { (view.language.fill(texts::MEASURED, &[&disk.measured.join(", ")])) }
                    }
                }
                @for disk in others {
                    dt { (disk.name) }
                    dd { (view.say(texts::LEFT_ALONE)) ": " (view.said(&Said::new(disk.why.text(), Vec::new()))) }
                }
            }
        }
    }
}
