//! A page that needs nothing from outside: style, drawings and numbers in one file.
//!
//! It is written so that it is well-formed XML too: tests can parse it, and so can programs that collect results. Colours are
//! variables of the stylesheet, set for light, dark and paper; words and numbers never depend on them.

use brisk_results::{Document, Warning};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::facts::{self, device_name};
use crate::kinds::{self, compare};
use crate::section::{Figure, Glyph, Key, Section};
use crate::svg::dots::run_mark;
use crate::svg::{Marker, px};
use crate::table::Table;
use crate::{format, warnings};

const STYLE: &str = include_str!("style.css");

/// Void elements closed as XML wants them, which HTML allows.
const META: &str = concat!(
    "<meta charset=\"utf-8\"/>",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>",
    "<meta name=\"referrer\" content=\"no-referrer\"/>"
);

/// See [`crate::html`].
pub(crate) fn render(documents: &[Document]) -> String {
    let sections: Vec<Section> = documents.iter().map(kinds::section).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (PreEscaped(META))
                title { (title(documents, &sections)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                p.brand { b { "brisk" } " report" }
                main {
                    @if documents.is_empty() { h1 { "No documents" } p { "There is nothing to show." } }
                    @if documents.len() > 1 { (contents(documents, &sections)) }
                    @if let Some(figure) = compare::figure(documents) { article { h1 { (figure.title) } (figure_body(&figure, "compare")) } }
                    @for (i, document) in documents.iter().enumerate() {
                        (article(document, &sections[i], i, i.checked_sub(1).map(|j| &documents[j])))
                    }
                }
                footer {
                    p {
                        "Values are medians. Whiskers and ± show the interval of the median, from order statistics: no \
                         assumption about the distribution. Ratios are taken pair by pair over interleaved runs. Sizes are \
                         powers of 1024, MB/s are 1,000,000 bytes a second."
                    }
                }
            }
        }
    };
    format::harmless(&page.into_string())
}

fn title(documents: &[Document], sections: &[Section]) -> String {
    match (documents, sections) {
        ([document], [section]) => format!("{} · {} · brisk", section.title, device_name(document.header(), section)),
        _ => format!("{} · brisk", format::plural(documents.len() as u64, "result")),
    }
}

/// What is on a page of several documents, with the first sentence of each: many readers need no more.
fn contents(documents: &[Document], sections: &[Section]) -> Markup {
    html! {
        nav aria-label="Contents" { ol { @for (i, (document, section)) in documents.iter().zip(sections).enumerate() {
            li {
                a href=(format!("#d{i}")) { (section.title) " · " (device_name(document.header(), section)) }
                @if let Some(first) = section.verdict.first() { ": " span { (first) } }
                @let found = document.header().warnings.len() as u64;
                @if found > 0 { " " b.alert { (format::plural(found, "warning")) } }
            }
        } } }
    }
}

fn article(document: &Document, section: &Section, index: usize, before: Option<&Document>) -> Markup {
    // Only the run differs between two documents of one session: say the rest once.
    let same = before.is_some_and(|before| before.header().environment == document.header().environment);
    html! {
        article id=(format!("d{index}")) {
            h1 { (section.title) " " span { (device_name(document.header(), section)) } }
            p.question { (format::tight(&section.question)) }
            div.verdict {
                @if let Some((lead, rest)) = section.verdict.split_first() {
                    p.lead { (format::tight(lead)) }
                    @if !rest.is_empty() { ul { @for sentence in rest { li { (format::tight(sentence)) } } } }
                }
            }
            (banner(&document.header().warnings))
            @for (i, figure) in section.figures.iter().enumerate() {
                section { h2 { (figure.title) } (figure_body(figure, &format!("d{index}f{i}"))) }
            }
            section {
                h2 { "Device and run" }
                @if same { p.same { "Same machine, device and settings as above. " (format::instant(&document.header().started)) "." } }
                @if same { (fact_list(&section.facts)) } @else { (fact_list(&facts::facts(document.header(), section))) }
            }
        }
    }
}

fn fact_list(facts: &[(&'static str, String)]) -> Markup {
    html! { @if !facts.is_empty() { dl.facts { @for (word, value) in facts { dt { (word) } dd { (value) } } } } }
}

fn banner(found: &[Warning]) -> Markup {
    html! { @if !found.is_empty() {
        aside.warnings role="note" aria-label="Warnings" {
            h2 { (format::plural(found.len() as u64, "warning")) " before you believe these numbers" }
            ul { @for warning in found { li {
                @if let Some(meaning) = warnings::meaning(&warning.code) { b { (format::sentence(meaning)) ". " } }
                (warning.text) " " code { (warning.code) }
            } } }
        }
    } }
}

fn figure_body(figure: &Figure, id: &str) -> Markup {
    let panels = &figure.panels;
    let tables: Vec<&Table> = figure.tables.iter().filter(|table| table.in_page).collect();
    html! {
        p.caption { (format::tight(&figure.caption)) }
        @if !panels.is_empty() {
            @if !figure.keys.is_empty() { ul.keys { @for key in &figure.keys { li { (glyph(key)) (key.words) } } } }
            div.panels { @for (i, panel) in panels.iter().enumerate() {
                div.panel { h3 { (panel.title) } (panel.chart.draw(&format!("{id}p{i}"))) }
            } }
        }
        @if figure.tables_open || panels.is_empty() {
            @for table in tables { (table.markup(&figure.title)) }
        } @else if !tables.is_empty() {
            details { summary { "All numbers" } @for table in tables { (table.markup("")) } }
        }
    }
}

/// The mark that a legend explains; a screen reader needs only the words next to it.
fn glyph(key: &Key) -> Markup {
    let class = key.tone.class();
    html! {
        svg viewBox="0 0 30 16" aria-hidden="true" {
            @match key.glyph {
                Glyph::Point(marker) => {
                    path class=(format!("line {class}")) d="M2 8H28" {}
                    path class=(format!("point {class}")) d=(marker.path(15.0, 8.0, 4.2)) {}
                }
                Glyph::Published => path class=(format!("point published {class}")) d=(Marker::Diamond.path(15.0, 8.0, 4.4)) {},
                Glyph::Solid => path class=(format!("line {class}")) d="M2 8H28" {},
                Glyph::Dashed => path class=(format!("line dashed {class}")) d="M2 8H28" {},
                Glyph::Part(texture) => (texture.face(key.tone, [3.0, 1.5, 24.0, 13.0], "")),
                Glyph::Run => (run_mark(15.0, 8.0, false, &class)),
                Glyph::Outlier => (run_mark(15.0, 8.0, true, &class)),
                Glyph::Bar(fill) => path class=(format!("bar {class} {}", fill.class())) d=(format!("M{} 2h12v12h-12z", px(9.0))) {},
            }
        }
    }
}
