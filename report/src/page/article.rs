//! One document on a page.

use crate::results::{Document, Header, Warning};
use maud::{Markup, html};

use crate::facts::{self, device_name};
use crate::section::{Figure, Glyph, Key, Panel, Section};
use crate::svg::dots::{before_mark, run_mark};
use crate::svg::{Canvas, Marker, WIDE, px};
use crate::table::Table;
use crate::{format, warnings};

/// What the page has said already, and does not repeat.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Codes of warnings whose meaning was explained.
    meanings: Vec<String>,
    /// Warnings that were given, word for word.
    texts: Vec<String>,
}

impl Told {
    /// Whether `text` was not said before; it is from now on.
    fn is_new(said: &mut Vec<String>, text: &str) -> bool {
        let new = !said.iter().any(|known| known == text);
        if new {
            said.push(text.to_owned());
        }
        new
    }
}

/// The article of a document; `before` is the document above it.
pub(super) fn draw(
    document: &Document,
    section: &Section,
    index: usize,
    before: Option<&Document>,
    told: &mut Told,
) -> Markup {
    let header = document.header();
    // Only the run differs between two documents of one session: say the rest once.
    let same = before.is_some_and(|before| before.header().environment == header.environment);
    let run = html! { section {
        h3 { "Device and run" }
        @if same { p.same { "Same machine, device and settings as above. " (format::instant(&header.started)) "." } }
        @if same { (fact_list(&section.facts)) } @else { (fact_list(&facts::facts(header, section))) }
    } };
    body(section, index, &name(header, section), &doubts(header, section, told), &run)
}

/// The article of what no measurement made: the state of a service.
pub(super) fn of_section(section: &Section, index: usize) -> Markup {
    let facts = html! { @if !section.facts.is_empty() { section { (fact_list(&section.facts)) } } };
    body(section, index, &html! { (section.title) }, &html! {}, &facts)
}

fn body(section: &Section, index: usize, name: &Markup, doubts: &Markup, facts: &Markup) -> Markup {
    let (picture, figures) = section.pictured();
    html! {
        article id=(format!("d{index}")) {
            div.head {
                h2.kind { (name) }
                p.question { (format::tight(&section.question)) }
            }
            p.lead { (format::tight(&section.lead)) }
            @if let Some(figure) = picture {
                section.picture { (drawings(&heading(figure), figure, &format!("d{index}p")))
                    @if !figure.tables_open { (tables(figure, true)) }
                }
            }
            @if !section.points.is_empty() {
                ul.points { @for sentence in &section.points { li { (format::tight(sentence)) } } }
            }
            (doubts)
            @if let Some(figure) = picture.filter(|figure| figure.tables_open && figure.has_tables_in_page()) {
                section { h3 { (figure.title) ": numbers" } (tables(figure, true)) }
            }
            @for (i, figure) in figures.into_iter().enumerate() {
                section { (figure_body(&heading(figure), figure, &format!("d{index}f{i}"))) }
            }
            @if !section.notes.is_empty() {
                section.notes {
                    h3 { "Also found" }
                    @for sentence in &section.notes { p { (format::tight(sentence)) } }
                }
            }
            (facts)
        }
    }
}

fn name(header: &Header, section: &Section) -> Markup {
    html! { (section.title) " " span { (device_name(header, section)) } }
}

fn fact_list(facts: &[(&'static str, String)]) -> Markup {
    html! { @if !facts.is_empty() { dl.facts { @for (word, value) in facts { dt { (word) } dd { (value) } } } } }
}

/// Warnings of the measurement and doubts that follow from its figures: each once on a page.
fn doubts(header: &Header, section: &Section, told: &mut Told) -> Markup {
    let doubts = section.doubts(header);
    let count = header.warnings.len() + doubts.len();
    let mut repeated = 0usize;
    let mut entries: Vec<Markup> = Vec::new();
    for Warning { code, text } in &header.warnings {
        let unexplained = Told::is_new(&mut told.meanings, code);
        if !Told::is_new(&mut told.texts, &format!("{code}: {text}")) {
            repeated += 1;
            continue;
        }
        let meaning = warnings::meaning(code).filter(|_| unexplained);
        entries.push(html! {
            @if let Some(meaning) = meaning { b { (format::sentence(meaning)) ". " } }
            (text) " " code { (code) }
        });
    }
    for text in &doubts {
        if Told::is_new(&mut told.texts, text) {
            entries.push(html! { (format::tight(text)) });
        } else {
            repeated += 1;
        }
    }
    html! { @if count > 0 {
        aside.warnings role="note" aria-label="Warnings" {
            @if entries.is_empty() {
                p { "The warnings above hold here too." }
            } @else {
                h3 { (format::plural(entries.len() as u64, "warning")) " before you believe these numbers" }
                ul { @for entry in &entries { li { (entry) } } }
                @if repeated > 0 { p { (repeated) " of the warnings above hold here too." } }
            }
        }
    } }
}

/// The heading of a figure.
pub(super) fn heading(figure: &Figure) -> Markup {
    html! { h3 { (figure.title) } }
}

/// A figure under its heading.
pub(super) fn figure_body(heading: &Markup, figure: &Figure, id: &str) -> Markup {
    html! {
        (drawings(heading, figure, id))
        (tables(figure, !figure.panels.is_empty()))
    }
}

/// The tables of a figure, folded away below `drawn` charts unless they are part of the story.
fn tables(figure: &Figure, drawn: bool) -> Markup {
    let tables: Vec<&Table> = figure.tables.iter().filter(|table| table.in_page).collect();
    html! {
        @if figure.tables_open || !drawn {
            @for table in tables { (table.markup(&figure.title)) }
        } @else if !tables.is_empty() {
            details { summary { "All numbers" } @for table in tables { (table.markup(&figure.title)) } }
        }
    }
}

/// How to read the charts of a figure, and the charts: one block under its heading, which paper does not divide.
pub(super) fn drawings(heading: &Markup, figure: &Figure, id: &str) -> Markup {
    let panels = &figure.panels;
    html! { div class=[(!panels.is_empty()).then_some("drawn")] {
        (heading)
        p.caption { (format::tight(&figure.caption)) }
        @if !panels.is_empty() {
            @if !figure.keys.is_empty() {
                ul.keys { @for key in &figure.keys { li { (glyph(key)) span { (key.words) } } } }
            }
            div.panels { @for (i, panel) in panels.iter().enumerate() {
                (panel_body(panel, &format!("{id}p{i}"), panels.len() % 2 == 1 && i + 1 == panels.len()))
            } }
        }
    } }
}

/// A chart under its heading. Without a neighbour in its row it is drawn for both widths, and the stylesheet shows one
/// of them.
pub(super) fn panel_body(panel: &Panel, id: &str, alone: bool) -> Markup {
    html! {
        div.panel.alone[alone] {
            @if !panel.title.is_empty() { h4 { (panel.title) } }
            (panel.chart.draw(id.into()))
            @if alone { (panel.chart.draw(Canvas { id: &format!("{id}w"), width: WIDE })) }
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
                Glyph::Single => path class=(format!("point {class}")) d=(Marker::Circle.path(15.0, 8.0, 3.6)) {},
                Glyph::Before => (before_mark(15.0, 8.0, &class)),
                Glyph::Stroke => path class=(format!("whisker {class}")) d="M15 3v10" {},
                Glyph::Published => path class=(format!("point published {class}")) d=(Marker::Diamond.path(15.0, 8.0,
                    4.4)) {},
                Glyph::Solid => path class=(format!("line {class}")) d="M2 8H28" {},
                Glyph::Dashed => path class=(format!("line dashed {class}")) d="M2 8H28" {},
                Glyph::Part(texture) => (texture.face(key.tone, [3.0, 1.5, 24.0, 13.0], "")),
                Glyph::Run => (run_mark(15.0, 8.0, false, &class)),
                Glyph::Outlier => (run_mark(15.0, 8.0, true, &class)),
                Glyph::Bar(fill) => path class=(format!("bar {class} {}", fill.class())) d=(format!("M{} \
                    2h12v12h-12z", px(9.0))) {},
            }
        }
    }
}
