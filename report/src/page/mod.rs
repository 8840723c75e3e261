//! A page that needs nothing from outside: style, drawings and numbers in one file.
//!
//! It leads with one sentence and one picture; then at most three sentences that support it, warnings, figures with
//! their tables, and last what else came out, the device and the run. Proofs come first, then studies, then benchmarks.
//! What is said of one document holds for the page: a warning that several documents share is explained once.
//!
//! A page is written so that it is well-formed XML too: tests can parse it, and so can programs that collect results.
//! Colours are variables of the stylesheet, set for light, dark and paper; words and numbers never depend on them.

mod article;
pub(crate) mod index;

use crate::results::Document;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::facts::device_name;
use crate::kind::together;
use crate::section::{Chart, Panel, Section};
use crate::{Link, MARK, format};
use article::Told;

pub(crate) const STYLE: &str = include_str!("style.css");

/// Void elements closed as XML wants them, which HTML allows.
const META: &str = concat!(
    "<meta charset=\"utf-8\"/>",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>",
    "<meta name=\"referrer\" content=\"no-referrer\"/>",
);

/// See [`crate::html`].
pub(crate) fn render(documents: &[Document], links: &[Link]) -> String {
    let documents = ordered(documents);
    let sections: Vec<Section> = documents.iter().map(|document| document.section()).collect();
    let mut told = Told::default();
    let articles: Vec<Markup> = documents
        .iter()
        .zip(&sections)
        .enumerate()
        .map(|(i, (document, section))| {
            article::draw(document, section, i, i.checked_sub(1).map(|before| documents[before]), &mut told)
        })
        .collect();
    let compared = together(&documents);
    let content = html! {
        @if documents.is_empty() { h2 { "No documents" } p { "There is nothing to show." } }
        @for article in &articles { (article) }
        @for figure in &compared { article id="compared" {
            section { (article::figure_body(&html! { h2.kind { (figure.title) } }, figure, "compare")) }
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

/// See [`crate::html_of_state`].
pub(crate) fn of_state(title: &str, sections: &[Section], footer: &str) -> String {
    let content = html! {
        @for (i, section) in sections.iter().enumerate() { (article::of_section(section, i)) }
    };
    let navigation = html! { @if sections.len() > 1 { nav aria-label="Contents" {
        ul aria-label="On this page" {
            @for (i, section) in sections.iter().enumerate() { li { a href=(format!("#d{i}")) { (section.title) } } }
        }
    } } };
    let title = format!("{title} · brisk");
    frame(&title, "", &navigation, &content, &html! { p { (footer) } })
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
    ordered.sort_by_key(|document| document.rank());
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

/// See [`crate::chart()`].
pub(crate) fn panel(chart: &Chart, id: &str) -> Markup {
    let panel = Panel { title: String::new(), chart: chart.clone() };
    html! { div.panels { (article::panel_body(&panel, id, true)) } }
}

/// Where a reader can go: the results of this page, and other pages.
fn navigation(documents: &[&Document], sections: &[Section], links: &[Link]) -> Markup {
    let own = || documents.iter().zip(sections).enumerate();
    let same = !subject(documents, sections).is_empty();
    html! {
        @if documents.len() > 1 || !links.is_empty() { nav aria-label="Contents" {
            @if documents.len() > 1 {
                ul aria-label="On this page" { @for (i, (document, section)) in own() {
                    li { a href=(format!("#d{i}")) {
                        (section.title)
                        @if !same { " " span { (device_name(document.header(), section)) } }
                    } }
                } }
            }
            @if !links.is_empty() {
                ul aria-label="Other pages" { @for link in links { li { a href=(link.href) { (link.words) } } } }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::STYLE;

    /// Red, green and blue of a variable in the n-th theme of the stylesheet: light, dark, paper. Linear, 0 to 1.
    fn colour(name: &str, theme: usize) -> [f64; 3] {
        let text = STYLE.split(&format!("--{name}: #")).nth(theme + 1).expect("each theme has it");
        let digits: String = text.chars().take_while(char::is_ascii_hexdigit).collect();
        let digits = if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits };
        [0, 2, 4].map(|at| {
            let byte = u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
            let value = f64::from(byte) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// The colour as seen without one kind of cones (Machado, Oliveira and Fernandes 2009, severity 1).
    fn seen(colour: [f64; 3], matrix: [[f64; 3]; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(colour).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0))
    }

    /// CIE L*a*b* of a linear colour, white point D65.
    fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
        let xyz = [
            (0.412_4 * r + 0.357_6 * g + 0.180_5 * b) / 0.950_5,
            0.212_6 * r + 0.715_2 * g + 0.072_2 * b,
            (0.019_3 * r + 0.119_2 * g + 0.950_5 * b) / 1.089,
        ];
        let [x, y, z] = xyz.map(|t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_of_verdicts_differ_for_all_eyes_and_stand_out_from_the_page() {
        let cones: [[[f64; 3]; 3]; 4] = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ];
        let light = |[r, g, b]: [f64; 3]| 0.212_6 * r + 0.715_2 * g + 0.072_2 * b + 0.05;
        for theme in 0..3 {
            let paper = light(colour("paper", theme));
            for name in ["better", "worse", "unclear"] {
                let ink = light(colour(name, theme));
                assert!(paper.max(ink) / paper.min(ink) >= 4.5, "{name} of theme {theme} is too pale");
            }
            for matrix in cones {
                for pair in [["better", "worse"], ["better", "unclear"], ["worse", "unclear"]] {
                    let [a, b] = pair.map(|name| lab(seen(colour(name, theme), matrix)));
                    let far = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    assert!(far >= 20.0, "{pair:?} are {far:.0} apart in theme {theme} for {matrix:?}");
                }
            }
        }
    }
}
