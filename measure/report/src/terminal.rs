//! A document for the eyes in front of a shell: verdict in words, then warnings, then tables.

use std::fmt::Write as _;

use brisk_results::Document;

use crate::facts::{device_name, facts};
use crate::kinds::compare;
use crate::section::Section;
use crate::{format, warnings};

/// Where lines end when nobody says how wide the terminal is.
pub(crate) const DEFAULT_WIDTH: usize = 100;

/// See [`crate::terminal`].
pub(crate) fn render(document: &Document, width: Option<u16>) -> String {
    let section = Section::of(document);
    let columns = width.map_or(DEFAULT_WIDTH, usize::from).max(20);
    let mut out = String::new();
    let title = format!("{} · {}", section.title, device_name(document));
    out.push_str(&wrap(&title, columns, ""));
    let _ = writeln!(out, "{}", "━".repeat(title.chars().count().min(columns)));
    for (i, sentence) in section.verdict.iter().enumerate() {
        // The first is the answer; the others support it.
        out.push_str(&wrap(sentence, columns, if i == 0 { "" } else { "· " }));
    }
    out.push('\n');
    let found = &document.header().warnings;
    if !found.is_empty() {
        let _ = writeln!(out, "!! {} before you believe these numbers:", format::plural(found.len() as u64, "warning"));
        for warning in found {
            let text = match warnings::meaning(&warning.code) {
                Some(meaning) => format!("{}: {meaning}. {}", warning.code, warning.text),
                None => format!("{}: {}", warning.code, warning.text),
            };
            out.push_str(&wrap(&text, columns, "!! "));
        }
        out.push('\n');
    }
    for (word, value) in facts(document) {
        out.push_str(&wrap(&value, columns, &format!("{word:<12}")));
    }
    for table in section.figures.iter().flat_map(|f| &f.tables).filter(|t| t.in_terminal && !t.rows.is_empty()) {
        let _ = write!(out, "\n{}\n{}", table.title, table.text(width));
        if let Some(note) = &table.note {
            out.push_str(&wrap(note, columns, " "));
        }
    }
    format::harmless(&out)
}

/// See [`crate::comparison`].
pub(crate) fn comparison(documents: &[Document], width: Option<u16>) -> Option<String> {
    let figure = compare::figure(documents)?;
    let columns = width.map_or(DEFAULT_WIDTH, usize::from).max(20);
    let mut out = format!("{}\n{}\n", figure.title, "━".repeat(figure.title.chars().count()));
    for table in &figure.tables {
        out.push_str(&table.text(width));
    }
    out.push_str(&wrap(&figure.caption, columns, " "));
    Some(format::harmless(&out))
}

/// `text` in lines of at most `columns`, the first behind `lead`, the others indented as far.
pub(crate) fn wrap(text: &str, columns: usize, lead: &str) -> String {
    let indent = lead.chars().count();
    let room = columns.saturating_sub(indent).max(12);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if !line.is_empty() && line.chars().count() + 1 + word.len() > room {
            lines.push(std::mem::take(&mut line));
        }
        // A word wider than the terminal, such as a path: broken where the line ends.
        while word.len() > room {
            let rest = word.split_off(room);
            lines.push(word.into_iter().collect());
            word = rest;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word);
    }
    lines.push(line);
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let front = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
        out.push_str(format!("{front}{line}").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_indent() {
        assert_eq!(wrap("one two three four", 15, "· "), "· one two three\n  four\n");
        assert_eq!(wrap("", 20, "a"), "a\n");
    }

    #[test]
    fn a_word_wider_than_the_terminal_is_broken() {
        let text = wrap(&"x".repeat(50), 20, "");
        assert!(text.lines().all(|l| l.len() <= 20), "{text}");
        assert_eq!(text.replace('\n', "").len(), 50);
    }
}
