//! A document as Markdown: for issues, notes and pages of a forge.
//!
//! The same sentences, warnings, tables and facts as in a terminal, without charts and bars. Text from the machine can
//! neither become markup nor end a cell of a table.

use std::fmt::Write as _;

use crate::results::Document;

use crate::facts::{device_name, facts};
use crate::kind::together;
use crate::section::{Figure, Section};
use crate::table::{Cell, Kind, Table};
use crate::{format, warnings};

/// See [`crate::markdown`].
pub(crate) fn render(documents: &[Document]) -> String {
    let mut out = documents.iter().map(one).collect::<Vec<_>>().join("\n");
    for figure in together(&documents.iter().collect::<Vec<_>>()) {
        let _ = write!(out, "\n## {}\n\n{}\n\n", text(&figure.title), text(&figure.caption));
        tables(&mut out, &figure);
    }
    format::harmless(&out)
}

fn one(document: &Document) -> String {
    let (header, section): (_, Section) = (document.header(), document.section());
    let title = format!("{} · {}", section.title, device_name(header, &section));
    let mut out = format!("# {}\n\n**{}**\n\n", text(&title), text(&section.lead));
    let list = |out: &mut String, items: &[String]| {
        for item in items {
            let _ = writeln!(out, "- {}", text(item));
        }
        if !items.is_empty() {
            out.push('\n');
        }
    };
    list(&mut out, &section.points);
    let found = header.warnings.iter().map(|warning| match warnings::meaning(&warning.code) {
        Some(meaning) => format!("{}: {meaning}. {}", warning.code, warning.text),
        None => format!("{}: {}", warning.code, warning.text),
    });
    for warning in found.chain(section.doubts(header)) {
        let _ = write!(out, "> ⚠ {}\n\n", text(&warning));
    }
    for figure in section.picture.iter().chain(&section.figures).filter(|figure| !figure.tables.is_empty()) {
        let _ = write!(out, "## {}\n\n", text(&figure.title));
        // The caption of a chart tells how to read it.
        if figure.panels.is_empty() && !figure.caption.is_empty() {
            let _ = write!(out, "{}\n\n", text(&figure.caption));
        }
        tables(&mut out, figure);
    }
    if !section.notes.is_empty() {
        out.push_str("## Also found\n\n");
        list(&mut out, &section.notes);
    }
    out.push_str("## Device and run\n\n| | |\n|---|---|\n");
    for (word, value) in facts(header, &section) {
        let _ = writeln!(out, "| {} | {} |", text(word), text(&value));
    }
    out
}

fn tables(out: &mut String, figure: &Figure) {
    for table in figure.tables.iter().filter(|table| table.in_page) {
        if table.title != figure.title {
            let _ = write!(out, "### {}\n\n", text(&table.title));
        }
        lines(out, table);
        if let Some(note) = &table.note {
            let _ = write!(out, "\n{}\n", text(note));
        }
        out.push('\n');
    }
}

fn lines(out: &mut String, table: &Table) {
    let used = |i: usize| table.rows.iter().any(|row| !matches!(row.get(i), None | Some(Cell::Empty)));
    let shown: Vec<usize> =
        (0..table.columns.len()).filter(|i| table.columns[*i].1 != Kind::Bars && used(*i)).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(shown.iter().map(|i| text(&table.columns[*i].0)).collect()));
    let rule = |i: &usize| if table.columns[*i].1 == Kind::Numbers { "---:" } else { "---" };
    out.push_str(&format!("|{}|\n", shown.iter().map(rule).collect::<Vec<_>>().join("|")));
    for row in table.rows.iter().filter(|row| !matches!(row.first(), Some(Cell::Shape(_)))) {
        let cell = |i: &usize| match row.get(*i) {
            Some(Cell::Text(words)) => text(words),
            Some(Cell::Verdict(effect, words)) => text(&effect.signed(words)),
            Some(Cell::Measure(value, spread)) => text(format!("{value} {spread}").trim_end()),
            Some(Cell::Bar(_) | Cell::Stack(..) | Cell::Shape(_) | Cell::Empty) | None => String::new(),
        };
        out.push_str(&line(shown.iter().map(cell).collect()));
    }
}

/// Text without what Markdown reads as markup.
fn text(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' => out.extend(['\\', c]),
            c if c.is_whitespace() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_machine_is_no_markup() {
        assert_eq!(text("a|b *c*\n<d> `e` a_b"), "a\\|b \\*c\\* \\<d\\> \\`e\\` a\\_b");
    }
}
