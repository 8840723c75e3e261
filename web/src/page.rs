//! The page: values in, markup out.
//!
//! It is made of *blocks*, elements with an id of their own, and *lists* of blocks. A browser gets the whole page once,
//! and then only the blocks that differ ([`Sent`]); its script patches the elements that it has (`assets/page.js`), so
//! that focus, selection and scroll position stay.
//!
//! It leads with one sentence, which says whether brisk works and what it gains, and one picture. Only what the daemon
//! knows is shown. Text of the machine (names of apps, reasons) is escaped by maud, and marked as English.

mod apps;
pub(crate) mod config;
mod engines;
mod events;
mod measure;
mod pressure;
pub(crate) mod record;
mod settings;
mod summary;

use std::collections::BTreeMap;

use brisk_api::Said;
use brisk_core::reason::Reason;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::json;

use crate::feed::Seen;
use crate::german;
use crate::texts::{self, Language, Text};

/// What a page is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) seen: &'a Seen,
    pub(crate) language: Language,
    /// What its forms send.
    pub(crate) token: &'a str,
    pub(crate) now_unix_ms: u64,
    /// It is of a record: nothing can be changed.
    pub(crate) is_record: bool,
}

/// An element with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    id: String,
    html: String,
}

/// The changing parts of a page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    blocks: Vec<Block>,
    lists: Vec<(&'static str, Vec<Block>)>,
}

/// What a browser has of them.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    blocks: BTreeMap<String, u64>,
    orders: BTreeMap<&'static str, Vec<String>>,
}

impl Block {
    fn new(id: impl Into<String>, html: Markup) -> Self {
        Self { id: id.into(), html: html.into_string() }
    }
}

impl Parts {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let mut parts = Self::default();
        parts.blocks.extend(summary::blocks(view));
        parts.blocks.extend(pressure::blocks(view));
        if let Ok(machine) = &view.seen.daemon {
            engines::add(view, machine, &mut parts);
            apps::add(view, machine, &mut parts);
            settings::add(view, machine, &mut parts);
            measure::add(view, machine, &mut parts);
            events::add(view, machine, &mut parts);
        }
        parts
    }

    fn block(&mut self, id: &'static str, html: Markup) {
        self.blocks.push(Block::new(id, html));
    }

    /// A block as it stands in a page.
    fn html(&self, id: &str) -> Markup {
        let block = self.blocks.iter().find(|block| block.id == id);
        // One that comes later has its place already.
        block.map_or_else(|| html! { div id=(id) {} }, |block| PreEscaped(block.html.clone()))
    }

    /// The blocks of a list.
    fn items(&self, id: &str) -> Markup {
        let items = self.lists.iter().find(|(name, _)| *name == id).map_or(&[][..], |(_, items)| items);
        PreEscaped(items.iter().map(|block| block.html.as_str()).collect())
    }
}

impl Sent {
    /// What a browser with these parts lacks, as JSON: `blocks` by id, and the `lists` whose order differs; `None` when
    /// it has everything.
    pub(crate) fn patch(&mut self, parts: &Parts) -> Option<String> {
        let (mut blocks, mut lists) = (BTreeMap::new(), BTreeMap::new());
        let mut known = BTreeMap::new();
        for block in parts.blocks.iter().chain(parts.lists.iter().flat_map(|(_, items)| items)) {
            let hash = rapidhash::v3::rapidhash_v3(block.html.as_bytes());
            if self.blocks.get(&block.id) != Some(&hash) {
                blocks.insert(block.id.as_str(), block.html.as_str());
            }
            known.insert(block.id.clone(), hash);
        }
        self.blocks = known;
        for (id, items) in &parts.lists {
            let order: Vec<String> = items.iter().map(|block| block.id.clone()).collect();
            if self.orders.get(id) != Some(&order) {
                lists.insert(*id, order.clone());
                self.orders.insert(id, order);
            }
        }
        (!blocks.is_empty() || !lists.is_empty()).then(|| json!({ "blocks": blocks, "lists": lists }).to_string())
    }
}

impl View<'_> {
    fn say(&self, text: Text) -> &'static str {
        self.language.say(text)
    }

    fn moment(&self, unix_ms: u64) -> String {
        self.language.moment(unix_ms, self.now_unix_ms)
    }

    /// Text of the daemon, which is English.
    fn english(&self, text: &str) -> Markup {
        match self.language {
            Language::English => html! { (text) },
            Language::German => html! { span lang="en" { (text) } },
        }
    }

    /// A reason of an engine.
    fn reason(&self, reason: &Reason) -> Markup {
        match self.language {
            Language::German if german::rule(&reason.rule).is_some() => html! { (self.language.reason(reason)) },
            _ => self.english(&reason.to_string()),
        }
    }

    /// A sentence of the daemon.
    fn said(&self, said: &Said) -> Markup {
        match self.language {
            Language::German if german::form(&said.form).is_some() => html! { (self.language.said(said)) },
            _ => self.english(&said.to_string()),
        }
    }

    /// A form that asks for a change; `fields` say which, and `inside` has its buttons.
    fn form(&self, fields: &[(&str, &str)], ask: Option<Text>, inside: &Markup) -> Markup {
        html! {
            form.act method="post" action="/act" data-ask=[ask.map(|ask| self.say(ask))] {
                input type="hidden" name="token" value=(self.token);
                @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
                (inside)
            }
        }
    }

    /// A command that a person may copy.
    fn command(&self, command: &str) -> Markup {
        html! {
            span.command {
                code { (command) }
                button.copy type="button" data-copy=(command) data-copied=(self.say(texts::COPIED)) {
                    (self.say(texts::COPY))
                }
            }
        }
    }
}

/// An id that any name of the machine makes.
fn id_of(kind: &str, name: &str) -> String {
    format!("{kind}-{:016x}", rapidhash::v3::rapidhash_v3(name.as_bytes()))
}

/// Sections after the summary: id, heading, and what links call it.
const SECTIONS: [(&str, Text, Text); 6] = [
    ("pressure", texts::PRESSURE, texts::PRESSURE),
    ("engines", texts::ENGINES, texts::ENGINES),
    ("apps", texts::APPS, texts::APPS),
    ("settings", texts::SETTINGS, texts::SETTINGS_SHORT),
    ("measure", texts::MEASURE, texts::MEASURE),
    ("events", texts::EVENTS, texts::EVENTS_SHORT),
];

/// The whole page.
pub(crate) fn whole(view: &View<'_>, parts: &Parts) -> String {
    let other = view.language.other();
    let section = |id: &str, title: Text, inside: Markup| {
        html! { section.part id=(id) aria-labelledby=(format!("{id}-title")) {
            h2 id=(format!("{id}-title")) { (view.say(title)) }
            (inside)
        } }
    };
    let bodies = [
        html! { div.columns { (parts.html("minutes")) (parts.html("day")) } },
        html! { p.how { (view.say(texts::ENGINES_HOW)) } div.cards id="engine-list" { (parts.items("engine-list")) } },
        html! { (parts.html("apps-head")) (apps::table(view, parts)) (parts.html("apps-foot")) },
        html! { (parts.html("settings-head")) (settings::table(view, parts)) (parts.html("disks"))
            @if !view.is_record { p { a href="/config" { (view.say(texts::CONFIG_EDIT)) } } }
        },
        html! { (parts.html("job")) (parts.html("job-start")) },
        html! {
            (parts.html("events-head"))
            div.events tabindex="0" role="group" aria-label=(view.say(texts::EVENTS)) {
                ol id="event-list" { (parts.items("event-list")) }
            }
            (parts.html("actions"))
        },
    ];
    let mut sections = SECTIONS.into_iter().zip(bodies).map(|((id, title, _), body)| section(id, title, body));
    let content = html! {
        section.summary aria-labelledby="page-title" { (parts.html("lead")) (parts.html("picture")) }
        (parts.html("attention"))
        (parts.html("now"))
        // Side by side where there is room.
        div.halves {
            div { @for section in sections.by_ref().take(2) { (section) } }
            div { @for section in sections { (section) } (parts.html("back")) }
        }
    };
    let body = html! {
        a.skip href="#content" { (view.say(texts::SKIP)) }
        header {
            h1.brand id="page-title" { b { "brisk" } }
            nav aria-label=(view.say(texts::CONTENTS)) { ul {
                @for (id, _, short) in SECTIONS { li { a href=(format!("#{id}")) { (view.say(short)) } } }
            } }
            a.language href=(format!("/?lang={other}")) lang=(other) hreflang=(other) {
                (view.say(texts::OTHER_LANGUAGE))
            }
        }
        p.offline id="offline" role="alert" hidden { (view.say(texts::OFFLINE)) }
        main id="content" tabindex="-1" { (content) }
        p.said id="said" role="status" {}
        noscript { p.how { (view.say(texts::NO_SCRIPT)) } }
        dialog id="ask" aria-labelledby="ask-text" {
            form method="dialog" {
                p id="ask-text" {}
                button value="no" { (view.say(texts::CANCEL)) } " "
                button.strong value="yes" id="ask-yes" {}
            }
        }
        footer { (parts.html("cost")) p { (view.say(texts::LOCAL)) } }
    };
    page(view.language, view.say(texts::TITLE), Some("10"), &body)
}

/// The page for a browser that was not let in.
pub(crate) fn denied(language: Language) -> String {
    let body = html! {
        header { h1.brand { b { "brisk" } } }
        main { p.lead { (language.say(texts::DENIED)) } p { (language.say(texts::DENIED_HOW)) } }
    };
    page(language, language.say(texts::DENIED), None, &body)
}

/// The page between a link and the page: the script, or a person, goes on.
pub(crate) fn entered(language: Language) -> String {
    let body = html! { main { p.lead { a href="/" id="enter" { (language.say(texts::TITLE)) } } } };
    page(language, language.say(texts::TITLE), Some("10"), &body)
}

/// With `live` a script and, without scripts, a reload after so many seconds.
fn page(language: Language, title: &str, live: Option<&str>, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang=(language.code()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/page.css";
                @if let Some(reload) = live {
                    noscript { meta http-equiv="refresh" content=(reload); }
                    script src="/page.js" defer {}
                }
            }
            body { (body) }
        }
    };
    page.into_string()
}

#[cfg(test)]
pub(crate) mod tests;
