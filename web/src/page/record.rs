//! The page of a record: a slider over decisions, and of each what was seen, what was decided, and what was written.
//! Nothing on it changes anything.

use std::collections::BTreeMap;

use brisk_api::render;
use brisk_core::state::SettingState;
use brisk_core::trial::{Arm, LeftOut, Subject};
use maud::{Markup, html};

use super::{Block, Parts, View, id_of, page, pressure};
use crate::record::{AppUse, Moment, Recorded};
use crate::texts::{self, Text};

/// What is new at a moment is marked against the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) recorded: &'a Recorded,
    pub(crate) number: usize,
}

impl At<'_> {
    fn moment(&self) -> Option<&Moment> {
        self.recorded.moments.get(self.number)
    }
}

/// The changing parts.
pub(crate) fn parts(view: &View<'_>, at: &At<'_>) -> Parts {
    let mut parts = Parts::default();
    let Some(moment) = at.moment() else { return parts };
    parts.block("moment", head(view, at, moment));
    parts.blocks.extend(pressure::blocks(view));
    parts.lists.push(("use-list", moment.apps().iter().map(|app| line_of_app(view, app)).collect()));
    if let Ok(machine) = &view.seen.daemon {
        super::events::add(view, machine, &mut parts);
        let before = at.number.checked_sub(1).and_then(|before| at.recorded.moments.get(before));
        let rows = machine.status.settings.iter().map(|of| decision(view, of, is_new(of, before)));
        parts.lists.push(("decided-list", rows.collect()));
        parts.block("decided-rest", rest(view, moment, &machine.status.notes));
    }
    parts.block("written", written(view, moment));
    parts
}

fn is_new(of: &SettingState, before: Option<&Moment>) -> bool {
    let known = before.and_then(|before| before.decided.as_ref()).map_or(&[][..], |decided| &decided.settings);
    !known.iter().any(|known| known.knob() == of.knob() && known.resolved.what.value == of.resolved.what.value)
}

fn head(view: &View<'_>, at: &At<'_>, moment: &Moment) -> Markup {
    let session = &moment.session;
    let count = at.recorded.moments.len();
    html! {
        div id="moment" {
            p.lead role="status" {
                (view.language.fill(texts::MOMENT, &[&exactly(moment.at_unix_ms), &(at.number + 1), &count]))
            }
            p.how {
                @let (machine, kernel) = (&session.machine, &session.kernel_release);
                (view.language.fill(texts::MOMENT_OF, &[&session.brisk_version, machine, kernel]))
            }
            @if at.recorded.is_damaged { p.caution { (view.say(texts::RECORD_DAMAGED)) } }
            @if at.recorded.left_out > 0 {
                p.caution { (view.language.fill(texts::RECORD_TOO_MUCH, &[&at.recorded.left_out])) }
            }
        }
    }
}

/// Date and time to the second, in local time.
fn exactly(unix_ms: u64) -> String {
    let at = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(|| "–".to_owned(), |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%F %T").to_string())
}

fn line_of_app(view: &View<'_>, app: &AppUse) -> Block {
    let id = id_of("use", &app.group);
    let language = view.language;
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "–".to_owned(), |bytes| language.bytes(bytes >> 16 << 16));
    let state = match app {
        AppUse { is_launching: true, .. } => Some(texts::LAUNCHING),
        AppUse { is_in_front: true, .. } => Some(texts::IN_FRONT),
        _ => None,
    };
    let cell = |head: Text, class: &str, inside: &str| {
        html! { td class=[(!class.is_empty()).then_some(class)] data-head=(view.say(head)) { (inside) } }
    };
    let html = html! {
        tr id=(id) data-name=(app.name.to_lowercase()) {
            th scope="row" title=(app.group) { (app.name) }
            (cell(texts::HAS_MEMORY, "n", &bytes(app.memory_bytes)))
            (cell(texts::IN_SWAP, "n", &bytes(app.swap_bytes)))
            (cell(texts::PROCESSOR, "n", &app.cpu_percent.map_or("–".to_owned(), |percent| language.percent(percent))))
            (cell(texts::ROLE, "", state.map_or("", |state| view.say(state))))
        }
    };
    Block::new(id, html)
}

fn by(view: &View<'_>, engine: &str) -> String {
    match engine {
        brisk_core::arbiter::CONFIG => view.say(texts::CONFIGURATION).to_owned(),
        engine => view.language.engine(engine).0,
    }
}

fn decision(view: &View<'_>, of: &SettingState, is_new: bool) -> Block {
    let id = id_of("decided", &of.knob().text());
    let resolved = &of.resolved;
    let cell = |head: Text, class: &str, inside: Markup| {
        html! { td class=[(!class.is_empty()).then_some(class)] data-head=(view.say(head)) { (inside) } }
    };
    let html = html! {
        tr id=(id) {
            th scope="row" { (of.knob()) @if is_new { " " span.new { (view.say(texts::NEW)) } } }
            (cell(texts::VALUE, "", html! { (resolved.what.value) }))
            (cell(texts::BEFORE, "", html! { (of.original.as_deref().unwrap_or("–")) }))
            (cell(texts::BY, "", html! {
                (by(view, &resolved.engine))
                @for over in &resolved.over { ", " s { (by(view, &over.engine)) ": " (over.value) } }
            }))
            (cell(texts::WHY, "long", html! {
                (view.reason(&resolved.reason)) "; " (view.said(&render::rule(resolved.rule)))
            }))
            (cell(texts::OUTCOME, "long", view.said(&render::outcome(&of.outcome))))
        }
    };
    Block::new(id, html)
}

/// Actions, notes, and what trials left out.
fn rest(view: &View<'_>, moment: &Moment, notes: &[brisk_core::decision::Note]) -> Markup {
    let actions = moment.decided.as_ref().map_or(&[][..], |decided| &decided.actions);
    let left_out = moment.left_out();
    html! {
        div id="decided-rest" {
            @if actions.is_empty() && moment.decided.as_ref().is_none_or(|decided| decided.settings.is_empty()) {
                p { (view.say(texts::NOTHING_DECIDED)) }
            }
            @if !actions.is_empty() {
                h3 { (view.say(texts::ACTIONS)) }
                ul { @for action in actions { li { (view.said(&render::action(action))) } } }
            }
            @if !notes.is_empty() {
                h3 { (view.say(texts::NOTES)) }
                ul { @for note in notes { li { (by(view, &note.engine)) ": " (view.reason(&note.reason)) } } }
            }
            @if !left_out.is_empty() {
                h3 { (view.say(texts::LEFT_OUT)) }
                ul { @for ((engine, arm), names) in left(view, left_out) {
                    li { (engine) ": " (arm) @if !names.is_empty() { " (" (names.join(", ")) ")" } }
                } }
            }
        }
    }
}

/// Apps and disks by engine and why its requests for them are left out.
fn left<'a>(view: &View<'_>, left_out: &'a [LeftOut]) -> BTreeMap<(String, &'static str), Vec<&'a str>> {
    let mut by_arm: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for one in left_out {
        let arm = match one.arm {
            Arm::HeldOut => texts::ARM_HELD_OUT,
            Arm::Observing => texts::OBSERVING,
            Arm::Resting => texts::RESTING,
            Arm::Off => texts::OFF,
            Arm::On => texts::ACTING,
        };
        let names = by_arm.entry((by(view, &one.engine), view.say(arm))).or_default();
        match &one.subject {
            Some(Subject::App(owned_id)) => names.push(brisk_core::app::id_of(owned_id)),
            Some(Subject::Disk(name)) => names.push(name),
            Some(Subject::Machine) | None => {}
        }
    }
    by_arm
}

fn written(view: &View<'_>, moment: &Moment) -> Markup {
    let settings = moment.decided.as_ref().map_or(&[][..], |decided| &decided.settings);
    let resolved =
        |knob: &brisk_core::knob::Knob| settings.iter().find(|state| state.knob() == knob).map(|state| &state.resolved);
    html! {
        div id="written" {
            @if moment.written().is_empty() { p { (view.say(texts::NOTHING_WRITTEN)) } }
            ul { @for (knob, outcome) in moment.written() {
                li { (view.said(&render::setting(knob, outcome, resolved(knob)))) }
            } }
        }
    }
}

/// The whole page.
pub(crate) fn whole(view: &View<'_>, at: &At<'_>) -> String {
    let parts = parts(view, at);
    let count = at.recorded.moments.len();
    let section = |id: &str, title: Text, inside: Markup| {
        html! { section.part id=(id) aria-labelledby=(format!("{id}-title")) {
            h2 id=(format!("{id}-title")) { (view.say(title)) }
            (inside)
        } }
    };
    let table = |id: &'static str, title: Text, heads: &[(Text, &str)]| {
        html! {
            div.scroll tabindex="0" role="group" aria-label=(view.say(title)) { table.stacks {
                thead { tr { @for (head, class) in heads {
                    th scope="col" class=[(!class.is_empty()).then_some(*class)] { (view.say(*head)) }
                } } }
                tbody.first[id == "use-list"] id=(id) { (parts.items(id)) }
            } }
            @if id == "use-list" {
                p.more { button type="button" data-shows=(id) { (view.say(texts::ALL_APPS)) } }
            }
        }
    };
    let apps =
        [(texts::APP, ""), (texts::HAS_MEMORY, "n"), (texts::IN_SWAP, "n"), (texts::PROCESSOR, "n"), (texts::ROLE, "")];
    let settings = [
        (texts::SETTING, ""),
        (texts::VALUE, ""),
        (texts::BEFORE, ""),
        (texts::BY, ""),
        (texts::WHY, "long"),
        (texts::OUTCOME, "long"),
    ];
    let last = count.saturating_sub(1);
    let slider = html! {
        form.moments method="get" action="/" {
            label for="moment-number" { (view.say(texts::DECISIONS)) }
            input id="moment-number" name="n" type="range" min="0" max=(last) value=(at.number) step="1"
                data-moments="" aria-describedby="moment";
            div.buttons {
                button type="button" data-step="-1" { (view.say(texts::EARLIER)) }
                button type="button" data-step="1" { (view.say(texts::LATER)) }
                button.go { (view.say(texts::SHOW)) }
            }
        }
    };
    let content = html! {
        @if count == 0 {
            p.lead { (view.say(texts::EMPTY_RECORD)) }
        } @else {
            section.summary.record aria-labelledby="page-title" { (parts.html("moment")) (slider) }
            (section("seen", texts::SEEN, html! {
                (parts.html("now"))
                div.columns { (parts.html("minutes")) (parts.html("day")) }
                (table("use-list", texts::APPS, &apps))
                (parts.html("events-head"))
                div.events tabindex="0" role="group" aria-label=(view.say(texts::EVENTS)) {
                    ol id="event-list" { (parts.items("event-list")) }
                }
            }))
            (section("decided", texts::DECIDED, html! {
                (table("decided-list", texts::DECIDED, &settings))
                (parts.html("decided-rest"))
            }))
            (section("written-part", texts::WRITTEN, parts.html("written")))
        }
    };
    let body = html! {
        a.skip href="#content" { (view.say(texts::SKIP)) }
        header {
            h1.brand id="page-title" { b { "brisk" } " " span.how { (at.recorded.name) } }
            a.language href=(format!("/?lang={}", view.language.other())) lang=(view.language.other())
                hreflang=(view.language.other()) { (view.say(texts::OTHER_LANGUAGE)) }
        }
        p.offline id="offline" role="alert" hidden { (view.say(texts::OFFLINE)) }
        main id="content" tabindex="-1" data-record="" { (content) }
        p.said id="said" role="status" {}
        footer { p { (view.say(texts::LOCAL)) } }
    };
    page(view.language, view.say(texts::TITLE_RECORD), Some("86400"), &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Sent;
    use crate::record::tests::sample;
    use crate::texts::Language;

    #[test]
    fn a_moment_shows_what_was_seen_decided_and_written() {
        let recorded = sample();
        let seen = recorded.seen(&recorded.moments[1]);
        for (language, event) in
            [(Language::English, "org.a is being launched"), (Language::German, "org.a wird gestartet")]
        {
            let view = View { seen: &seen, language, token: "", now_unix_ms: 104_000, is_record: true };
            let at = At { recorded: &recorded, number: 1 };
            let page = whole(&view, &at);
            for part in ["org.a", "102", event, "max=\"1\"", "id=\"written\""] {
                assert!(page.contains(part), "{part}: {page}");
            }
            assert!(!page.contains("<form class=\"act\""), "nothing is changed by it: {page}");
            let patch = Sent::default().patch(&parts(&view, &at)).expect("all of it");
            assert!(patch.contains("use-list"), "{patch}");
        }
        let none = Recorded::default();
        let view = View { seen: &seen, language: Language::English, token: "", now_unix_ms: 0, is_record: true };
        assert!(whole(&view, &At { recorded: &none, number: 0 }).contains("nothing in it"));
    }
}
