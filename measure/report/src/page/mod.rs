//! A page that needs nothing from outside: style, drawings and numbers in one file.
//!
//! It leads with one sentence and one picture; then at most three sentences that support it, warnings, figures with their tables,
//! and last what else came out, the device and the run. Proofs come first, then studies, then benchmarks. What is said of one
//! document holds for the page: a warning that several documents share is explained once.
//!
//! A page is written so that it is well-formed XML too: tests can parse it, and so can programs that collect results. Colours are
//! variables of the stylesheet, set for light, dark and paper; words and numbers never depend on them.

mod article;
pub(crate) mod index;

use brisk_results::Document;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::facts::device_name;
use crate::kinds::{self, compare};
use crate::section::Section;
use crate::{Link, MARK, format};
use article::Told;

const STYLE: &str = include_str!("style.css");

/// Void elements closed as XML wants them, which HTML allows.
const META: &str = concat!(
    "<meta charset=\"utf-8\"/>",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>",
    "<meta name=\"referrer\" content=\"no-referrer\"/>",
);

/// See [`crate::html`].
pub(crate) fn render(documents: &[Document], links: &[Link]) -> String {
    let documents = ordered(documents);
    let sections: Vec<Section> = documents.iter().map(|document| kinds::section(document)).collect();
    let mut told = Told::default();
    let articles: Vec<Markup> = documents
        .iter()
        .zip(&sections)
        .enumerate()
        .map(|(i, (document, section))| {
            article::draw(document, section, i, i.checked_sub(1).map(|before| documents[before]), &mut told)
        })
        .collect();
    let compared = compare::figure(&documents);
    let content = html! {
        @if documents.is_empty() { h2 { "No documents" } p { "There is nothing to show." } }
        @for article in &articles { (article) }
        @if let Some(figure) = compared { article id="compared" {
            h2.kind { (figure.title) } (article::figure_body(&figure, "compare"))
        } }
    };
    let footer = html! {
        p {
            "Values are medians. Whiskers and ± show the interval of the median, from order statistics: no \
             assumption about the distribution. Ratios are taken pair by pair over interleaved runs. Sizes are \
             powers of 1024, MB/s are 1,000,000 bytes a second."
        }
    };
    let subject = subject(&documents, &sections);
    frame(&title(&documents, &sections), &subject, &navigation(&documents, &sections, links), &content, &footer)
}

/// A whole page around its content, with a first link for those who move by keyboard.
fn frame(title: &str, subject: &str, navigation: &Markup, content: &Markup, footer: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (PreEscaped(META)) (PreEscaped(MARK))
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header { h1.brand { b { "brisk" } " report " (subject) } (navigation) }
                main id="content" tabindex="-1" { (content) }
                footer { (footer) }
            }
        }
    };
    format::harmless(&page.into_string())
}

/// Proofs first, then what is about apps, then studies, then benchmarks; equals in the order in which they are given.
fn ordered(documents: &[Document]) -> Vec<&Document> {
    let mut ordered: Vec<&Document> = documents.iter().collect();
    ordered.sort_by_key(|document| match document {
        Document::Prove(_) => 0,
        Document::Suite(_) | Document::WhatIf(_) | Document::Launch(_) | Document::Latency(_) => 1,
        Document::Bench(_) => 3,
        _ => 2,
    });
    ordered
}

fn title(documents: &[&Document], sections: &[Section]) -> String {
    match (documents, sections, subject(documents, sections)) {
        ([document], [section], _) => {
            format!("{} · {} · brisk", section.title, device_name(document.header(), section))
        }
        (.., subject) if subject.is_empty() => format!("{} · brisk", format::plural(documents.len() as u64, "result")),
        (.., subject) => format!("{} · {subject} · brisk", format::plural(documents.len() as u64, "result")),
    }
}

/// The device that all results of the page are of, if it is one.
fn subject(documents: &[&Document], sections: &[Section]) -> String {
    let mut names = documents.iter().zip(sections).map(|(document, section)| device_name(document.header(), section));
    let first = names.next().unwrap_or_default();
    if documents.len() > 1 && names.all(|name| name == first) { first } else { String::new() }
}

/// Where a reader can go: the results of this page, and other pages.
fn navigation(documents: &[&Document], sections: &[Section], links: &[Link]) -> Markup {
    let own = || documents.iter().zip(sections).enumerate();
    let same = !subject(documents, sections).is_empty();
    html! {
        @if documents.len() > 1 || !links.is_empty() { nav aria-label="Contents" {
            @if documents.len() > 1 {
                ul aria-label="On this page" { @for (i, (document, section)) in own() {
                    li { a href=(format!("#d{i}")) { (section.title) @if !same { " " span { (device_name(document.header(), section)) } } } }
                } }
            }
            @if !links.is_empty() {
                ul aria-label="Other pages" { @for link in links { li { a href=(link.href) { (link.words) } } } }
            }
        } }
    }
}
