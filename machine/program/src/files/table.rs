//! Tables that a user names: comma-separated values in the forms in which programs and people write them. One reader
//! for all commands, so that what one command accepts, all accept.
//!
//! Columns are found by their names in the heading. Accepted:
//! - commas, semicolons or tabs between cells (told by the heading, or by a line `sep=;` before it), blanks around
//!   cells, quotes;
//! - columns in any order, names in capitals or small letters, further columns;
//! - lines that are empty or begin with `#`, also before the heading, or a `#` before the heading itself;
//! - a byte order mark, lines that end in CR LF, lines that lack cells at their end or have empty ones too many;
//! - whole numbers with a fraction of zero, and, where no comma separates cells, a decimal comma.
//!
//! Refused, with line and column: a column that is missing or occurs twice, more cells than columns, a quote that does
//! not end.

mod source;

use std::borrow::Cow;
use std::io::Cursor;
use std::ops::RangeInclusive;
use std::rc::Rc;

use thiserror::Error;

pub use source::read;

/// Columns of a kind of table.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub needed: &'static [&'static str],
    pub optional: &'static [&'static str],
}

impl Layout {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.needed.iter().chain(self.optional).copied()
    }

    fn words(&self) -> String {
        let needed = self.needed.join(", ");
        if self.optional.is_empty() { needed } else { format!("{needed} (and {})", self.optional.join(", ")) }
    }
}

/// Why a text is no such table. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    #[error("it is empty: line 1 is to name the columns {expected}")]
    Empty { expected: String },
    #[error("line {line} names no column '{missing}': it has {found}; expected are {expected}")]
    Missing { line: u64, missing: String, found: String, expected: String },
    #[error("line {line} names the column '{column}' twice: remove one")]
    Twice { line: u64, column: String },
    #[error("line {line}{}: {reason}", column.as_ref().map_or_else(String::new, |name| format!(", column {name}")))]
    Line {
        line: u64,
        /// The column; `None` where the line as a whole is wrong.
        column: Option<&'static str>,
        reason: String,
    },
}

/// A text as a source of bytes: the one that was given, or one with blanks removed.
#[derive(Debug, Clone)]
enum Bytes<'t> {
    Given(&'t str),
    Made(Rc<str>),
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Given(text) => text.as_bytes(),
            Self::Made(text) => text.as_bytes(),
        }
    }
}

/// A table that is being read.
#[derive(Debug)]
pub struct Table<'t> {
    layout: Layout,
    /// Where the names of the layout are; `None` for an optional column that is absent.
    places: Vec<(&'static str, Option<usize>)>,
    heading: Vec<String>,
    comments: Vec<&'t str>,
    separator: u8,
    /// The lines below the heading, and the number of the first of them.
    body: Bytes<'t>,
    first_line: u64,
    reader: csv::Reader<Cursor<Bytes<'t>>>,
    record: csv::StringRecord,
}

#[derive(Debug)]
pub struct Row<'a> {
    /// Its number, from 1.
    pub line: u64,
    table: &'a [(&'static str, Option<usize>)],
    record: &'a csv::StringRecord,
    separator: u8,
}

impl<'t> Table<'t> {
    /// Reads the heading of `text`; the table is of the first of `layouts` whose needed columns it has. Returns its
    /// index too.
    ///
    /// # Errors
    /// When there is no heading, or it lacks a needed column or has one twice.
    ///
    /// # Panics
    /// When `layouts` is empty.
    pub fn begin(text: &'t str, layouts: &[Layout]) -> Result<(Self, usize), TableError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let expected = || layouts.iter().map(Layout::words).collect::<Vec<_>>().join("; or ");
        let (mut rest, mut line, mut comments, mut asked) = (text, 0, Vec::new(), None);
        let (heading, separator) = loop {
            if rest.is_empty() {
                return Err(TableError::Empty { expected: expected() });
            }
            let (whole, after) = rest.split_once('\n').unwrap_or((rest, ""));
            (rest, line) = (after, line + 1);
            // Tabs stay: a first or last column may have no name.
            let whole = whole.trim_matches([' ', '\r']);
            if let Some(comment) = whole.strip_prefix('#') {
                let (heading, separator) = split(comment, asked, layouts);
                if layouts.iter().any(|layout| missing(layout, &heading).is_none()) {
                    break (heading, separator);
                }
                comments.push(whole);
            } else if let Some([separator]) = whole.strip_prefix("sep=").map(str::as_bytes) {
                asked = Some(*separator);
            } else if !whole.trim().is_empty() {
                break split(whole, asked, layouts);
            }
        };
        let fits = |layout: &Layout| missing(layout, &heading).is_none();
        let Some(index) = layouts.iter().position(fits) else {
            // Of several layouts the one that fits best is meant.
            let known = |layout: &&Layout| layout.names().filter(|name| heading.iter().any(|one| one == name)).count();
            let nearest = layouts.iter().rev().max_by_key(known).expect("there is a layout");
            return Err(TableError::Missing {
                line,
                missing: missing(nearest, &heading).unwrap_or_default().to_owned(),
                found: shortened(&heading.join(", ")),
                expected: expected(),
            });
        };
        let layout = layouts[index];
        for name in layout.names() {
            if heading.iter().filter(|one| *one == name).count() > 1 {
                return Err(TableError::Twice { line, column: name.to_owned() });
            }
        }
        let places = layout.names().map(|name| (name, heading.iter().position(|one| one == name))).collect();
        let first_line = line + 1;
        let body = match without_blanks_before_quotes(rest, separator, first_line)? {
            Cow::Borrowed(text) => Bytes::Given(text),
            Cow::Owned(text) => Bytes::Made(text.into()),
        };
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(separator).comment(Some(b'#'));
        let reader = builder.from_reader(Cursor::new(body.clone()));
        let record = csv::StringRecord::new();
        Ok((Self { layout, places, heading, comments, separator, body, first_line, reader, record }, index))
    }

    /// Comments before the heading, with their `#`.
    #[must_use]
    pub fn comments(&self) -> &[&'t str] {
        &self.comments
    }

    /// Columns that are not of the layout.
    #[must_use]
    pub fn ignored(&self) -> Vec<&str> {
        let is_unknown = |name: &&String| !name.is_empty() && !self.layout.names().any(|known| known == name.as_str());
        self.heading.iter().filter(is_unknown).map(String::as_str).collect()
    }

    /// The next line that is not empty; `None` at the end.
    ///
    /// # Errors
    /// When it has more cells than the heading has columns.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, TableError> {
        loop {
            let (byte, line) = (self.reader.position().byte(), self.reader.position().line());
            let read = self.reader.read_record(&mut self.record);
            let line = self.first_line + line - 1 + skipped_lines(self.body.as_ref(), byte);
            match read {
                Ok(false) => return Ok(None),
                Err(error) => return Err(TableError::Line { line, column: None, reason: error.to_string() }),
                Ok(true) if self.record.iter().all(|cell| cell.trim().is_empty()) => {}
                Ok(true) => {
                    let columns = self.heading.len();
                    let cells = self.record.len();
                    if self.record.iter().skip(columns).any(|cell| !cell.trim().is_empty()) {
                        let reason = format!(
                            "it has {cells} cells, and the heading {columns} columns: put a cell with a '{}' in quotes",
                            char::from(self.separator).escape_default()
                        );
                        return Err(TableError::Line { line, column: None, reason });
                    }
                    let Self { places, record, separator, .. } = self;
                    return Ok(Some(Row { line, table: places, record, separator: *separator }));
                }
            }
        }
    }
}

impl<'a> Row<'a> {
    /// The cell of a column of the layout without blanks around it; empty where the table or the line has none.
    #[must_use]
    pub fn text(&self, column: &str) -> &'a str {
        let place = self.table.iter().find(|(name, _)| *name == column).and_then(|(_, place)| *place);
        place.and_then(|place| self.record.get(place)).unwrap_or_default().trim()
    }

    /// As [`Row::text`], of a column that has to be filled.
    ///
    /// # Errors
    /// When it is empty.
    pub fn filled(&self, column: &'static str) -> Result<&'a str, TableError> {
        match self.text(column) {
            "" => Err(self.wrong(column, "it is empty")),
            text => Ok(text),
        }
    }

    /// A number of a column.
    ///
    /// # Errors
    /// When it is no number, or not in `range`.
    pub fn number(&self, column: &'static str, range: RangeInclusive<f64>) -> Result<f64, TableError> {
        let text = self.text(column);
        let point = |text: &str| if self.separator == b',' { None } else { Some(text.replacen(',', ".", 1)) };
        let number =
            text.parse::<f64>().ok().or_else(|| point(text)?.parse().ok()).filter(|number| range.contains(number));
        number.ok_or_else(|| {
            self.wrong(column, format!("'{text}' is no number from {} to {:e}", range.start(), range.end()))
        })
    }

    /// A whole number of a column; a fraction of zero, as some programs write one, is none.
    ///
    /// # Errors
    /// When it is no whole number.
    pub fn whole(&self, column: &'static str) -> Result<u64, TableError> {
        let text = self.text(column);
        let digits = text.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|zero| zero == b'0'));
        let digits = digits.map_or(text, |(digits, _)| digits);
        digits.parse().map_err(|_| self.wrong(column, format!("'{text}' is no whole number")))
    }

    /// The error that a cell of this line is wrong.
    pub fn wrong(&self, column: &'static str, reason: impl Into<String>) -> TableError {
        TableError::Line { line: self.line, column: Some(column), reason: reason.into() }
    }
}

/// A cell for a table with commas, in quotes where it needs them.
#[must_use]
pub fn quoted(cell: &str) -> Cow<'_, str> {
    if cell.starts_with('#') || cell.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(cell)
    }
}

/// The names in a heading, and the separator that it has: the one with which most names are known.
fn split(line: &str, asked: Option<u8>, layouts: &[Layout]) -> (Vec<String>, u8) {
    let names_by = |separator: u8| {
        let line = without_blanks_before_quotes(line, separator, 1).unwrap_or(Cow::Borrowed(line));
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(separator);
        let mut record = csv::StringRecord::new();
        // A text in memory can be read.
        let _ = builder.from_reader(line.as_bytes()).read_record(&mut record);
        record.iter().map(|name| name.trim().to_lowercase().replace([' ', '-'], "_")).collect::<Vec<_>>()
    };
    let is_known = |name: &&String| layouts.iter().any(|layout| layout.names().any(|known| known == name.as_str()));
    let all = asked.map_or_else(|| b"\t;,".to_vec(), |separator| vec![separator]);
    let best = all.into_iter().map(|separator| (names_by(separator), separator));
    best.max_by_key(|(names, _)| (names.iter().filter(is_known).count(), names.len())).unwrap_or_default()
}

/// The first needed column that a heading lacks.
fn missing(layout: &Layout, heading: &[String]) -> Option<&'static str> {
    layout.needed.iter().find(|name| !heading.iter().any(|one| one == *name)).copied()
}

/// A text whose quotes begin at the begin of their cells: a quote after blanks would be a part of its cell.
fn without_blanks_before_quotes(text: &str, separator: u8, first_line: u64) -> Result<Cow<'_, str>, TableError> {
    if !text.contains('"') {
        return Ok(Cow::Borrowed(text));
    }
    let bytes = text.as_bytes();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t') && *byte != separator;
    let (mut made, mut kept, mut at) = (String::new(), 0, 0);
    let (mut line, mut begins_line, mut begins_cell) = (first_line, true, true);
    while at < bytes.len() {
        if begins_line && bytes[at] == b'#' {
            at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
        }
        if begins_cell {
            let blanks = bytes[at..].iter().take_while(|byte| is_blank(byte)).count();
            if bytes.get(at + blanks) == Some(&b'"') {
                if blanks > 0 {
                    made.push_str(&text[kept..at]);
                    (kept, at) = (at + blanks, at + blanks);
                }
                // To the quote that ends it: one that no other follows.
                let opened = line;
                at += 1;
                loop {
                    match bytes.get(at) {
                        Some(b'"') if bytes.get(at + 1) == Some(&b'"') => at += 2,
                        Some(b'"') => break,
                        Some(byte) => {
                            line += u64::from(*byte == b'\n');
                            at += 1;
                        }
                        None => {
                            let reason = "a quote begins here and does not end".to_owned();
                            return Err(TableError::Line { line: opened, column: None, reason });
                        }
                    }
                }
            }
        }
        let byte = bytes.get(at).copied().unwrap_or(b'\n');
        line += u64::from(byte == b'\n');
        begins_line = byte == b'\n';
        begins_cell = begins_line || byte == separator;
        at += 1;
    }
    if kept == 0 {
        return Ok(Cow::Borrowed(text));
    }
    made.push_str(&text[kept..]);
    Ok(Cow::Owned(made))
}

/// Lines that a reader at `byte` passes over before its next record: empty ones and comments.
fn skipped_lines(text: &[u8], byte: u64) -> u64 {
    let mut at = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    let mut lines = 0;
    loop {
        match text.get(at) {
            Some(b'\n') => (at, lines) = (at + 1, lines + 1),
            Some(b'\r') => at += 1,
            Some(b'#') => at += text[at..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len() - at),
            _ => return lines,
        }
    }
}

/// At most 80 letters, none of which could change a terminal.
fn shortened(text: &str) -> String {
    let mut letters = text.chars().filter(|letter| !letter.is_control());
    let start: String = letters.by_ref().take(80).collect();
    if letters.next().is_some() { format!("{start}...") } else { start }
}

#[cfg(test)]
mod tests;
