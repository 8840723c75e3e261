//! A document for the eyes in front of a shell: one sentence and what supports it, then warnings, then tables, then
//! what else came out, device and run.

use crate::results::{Document, Header};

use crate::facts::{device_name, facts};
use crate::format::{DEFAULT_WIDTH, wrap};
use crate::kind::together;
use crate::section::{Figure, Section};
use crate::{format, warnings};

/// What a part of a text means, where a terminal may show that in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The title.
    Heading,
    /// A reason to doubt the figures.
    Warning,
    /// A verdict: changed for the better.
    Improved,
    /// A verdict: changed for the worse.
    Regressed,
}

/// How a terminal shows a text.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// Columns; without it tables take what they need.
    pub width: Option<u16>,
    /// The text with the style of its meaning, as wide as it was; without it all is plain.
    pub style: Option<fn(Meaning, &str) -> String>,
}

impl From<Option<u16>> for View {
    fn from(width: Option<u16>) -> Self {
        Self { width, style: None }
    }
}

impl View {
    /// The width for sentences.
    fn columns(self) -> usize {
        self.width.map_or(DEFAULT_WIDTH, usize::from).max(20)
    }

    /// The lines with the style of a meaning.
    pub(crate) fn styled(self, meaning: Meaning, lines: &str) -> String {
        match self.style {
            Some(style) => lines.lines().map(|line| style(meaning, line) + "\n").collect(),
            None => lines.to_owned(),
        }
    }
}

/// See [`crate::terminal`].
pub(crate) fn render(document: &Document, view: View) -> String {
    show(document.header(), &document.section(), view)
}

/// A section as text.
pub(crate) fn show(header: &Header, section: &Section, view: View) -> String {
    let columns = view.columns();
    // Styles are escape sequences, which no text of a document may hold.
    let wrapped = |text: &str, lead: &str| wrap(&format::harmless(text), columns, lead);
    let title = format!("{} · {}", section.title, device_name(header, section));
    let mut out = view.styled(Meaning::Heading, &wrapped(&title, ""));
    out.push_str(&"━".repeat(title.chars().count().min(columns)));
    out.push('\n');
    out.push_str(&wrapped(&section.lead, ""));
    out.extend(section.points.iter().map(|sentence| wrapped(sentence, "· ")));
    out.push('\n');
    let found = header.warnings.iter().map(|warning| match warnings::meaning(&warning.code) {
        Some(meaning) => format!("{}: {meaning}. {}", warning.code, warning.text),
        None => format!("{}: {}", warning.code, warning.text),
    });
    let found: Vec<String> = found.chain(section.doubts(header)).collect();
    if !found.is_empty() {
        let count = format::plural(found.len() as u64, "warning");
        let head = format!("!! {count} before you believe these numbers:\n");
        let warnings: String = found.iter().map(|text| wrapped(text, "!! ")).collect();
        out.push_str(&view.styled(Meaning::Warning, &(head + &warnings)));
        out.push('\n');
    }
    for table in section.figures.iter().flat_map(|f| &f.tables).filter(|t| t.in_terminal) {
        out.push_str(&format::harmless(&table.title));
        out.push('\n');
        out.push_str(&table.text(view));
        out.extend(table.note.iter().map(|note| wrapped(note, " ")));
        out.push('\n');
    }
    out.extend(section.notes.iter().map(|sentence| wrapped(sentence, "· ")));
    if !section.notes.is_empty() {
        out.push('\n');
    }
    out.extend(facts(header, section).iter().map(|(word, value)| wrapped(value, &format!("{word:<12}"))));
    out
}

/// See [`crate::together`].
pub(crate) fn of_several(documents: &[Document], view: View) -> Vec<String> {
    together(&documents.iter().collect::<Vec<_>>()).iter().map(|figure| figure_text(figure, view)).collect()
}

fn figure_text(figure: &Figure, view: View) -> String {
    let title = view.styled(Meaning::Heading, &format!("{}\n", format::harmless(&figure.title)));
    let tables: String = figure.tables.iter().map(|table| table.text(view)).collect();
    let caption = wrap(&format::harmless(&figure.caption), view.columns(), " ");
    format!("{title}{}\n{tables}{caption}", "━".repeat(figure.title.chars().count()))
}
