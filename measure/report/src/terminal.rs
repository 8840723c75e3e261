//! A document for the eyes in front of a shell: one sentence and what supports it, then warnings, then tables, then
//! what else came out, device and run.

use std::fmt::Write as _;

use brisk_results::{Document, Header};

use crate::facts::{device_name, facts};
use crate::format::{DEFAULT_WIDTH, wrap};
use crate::kinds::{self, compare};
use crate::section::Section;
use crate::{format, warnings};

/// See [`crate::terminal`].
pub(crate) fn render(document: &Document, width: Option<u16>) -> String {
    show(document.header(), &kinds::section(document), width)
}

/// A section as text.
pub(crate) fn show(header: &Header, section: &Section, width: Option<u16>) -> String {
    let columns = width.map_or(DEFAULT_WIDTH, usize::from).max(20);
    let mut out = String::new();
    let title = format!("{} · {}", section.title, device_name(header, section));
    out.push_str(&wrap(&title, columns, ""));
    let _ = writeln!(out, "{}", "━".repeat(title.chars().count().min(columns)));
    out.push_str(&wrap(&section.lead, columns, ""));
    for sentence in &section.points {
        out.push_str(&wrap(sentence, columns, "· "));
    }
    out.push('\n');
    let found = header.warnings.iter().map(|warning| match warnings::meaning(&warning.code) {
        Some(meaning) => format!("{}: {meaning}. {}", warning.code, warning.text),
        None => format!("{}: {}", warning.code, warning.text),
    });
    let found: Vec<String> = found.chain(section.doubts(header)).collect();
    if !found.is_empty() {
        let _ = writeln!(out, "!! {} before you believe these numbers:", format::plural(found.len() as u64, "warning"));
        for text in found {
            out.push_str(&wrap(&text, columns, "!! "));
        }
        out.push('\n');
    }
    for table in section.figures.iter().flat_map(|f| &f.tables).filter(|t| t.in_terminal) {
        let _ = write!(out, "{}\n{}", table.title, table.text(width));
        if let Some(note) = &table.note {
            out.push_str(&wrap(note, columns, " "));
        }
        out.push('\n');
    }
    for sentence in &section.notes {
        out.push_str(&wrap(sentence, columns, "· "));
    }
    if !section.notes.is_empty() {
        out.push('\n');
    }
    for (word, value) in facts(header, section) {
        out.push_str(&wrap(&value, columns, &format!("{word:<12}")));
    }
    format::harmless(&out)
}

/// See [`crate::comparison`].
pub(crate) fn comparison(documents: &[Document], width: Option<u16>) -> Option<String> {
    let figure = compare::figure(&documents.iter().collect::<Vec<_>>())?;
    let columns = width.map_or(DEFAULT_WIDTH, usize::from).max(20);
    let mut out = format!("{}\n{}\n", figure.title, "━".repeat(figure.title.chars().count()));
    for table in &figure.tables {
        out.push_str(&table.text(width));
    }
    out.push_str(&wrap(&figure.caption, columns, " "));
    Some(format::harmless(&out))
}
