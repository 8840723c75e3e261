//! One table, two renderings: aligned text for a terminal, markup for a page.
//!
//! A measured number is a value with its spread; values align on their right end, spreads on their left, so that a
//! column of `187 us ±2 %` can be read down. A bar column exists in the terminal only, where there are no charts.

use comfy_table::{CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, TableStyle};
use maud::{Markup, html};

use crate::effect::Effect;
use crate::format;
use crate::measures::Column;
use crate::terminal::{Meaning, View};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words, on the left.
    Words,
    /// Numbers, on the right.
    Numbers,
    /// A bar of the share of the largest value: terminal only.
    Bars,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words or a plain number.
    Text(String),
    /// What a change means, and the word for it.
    Verdict(Effect, String),
    /// A number and its spread.
    Measure(String, String),
    /// The value of a bar, relative to the largest in its column.
    Bar(f64),
    /// The parts of a bar, each with its letter, and the value that a bar of full length stands for. Terminal only.
    Stack(Vec<(char, f64)>, f64),
    /// The shape of the column above as a line of text: terminal only, and only in a last row.
    Shape(String),
    /// Nothing to say.
    Empty,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A table with its heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads and kinds.
    pub columns: Vec<(String, Kind)>,
    /// Cells, as many in a row as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader needs to know below it.
    pub note: Option<String>,
    /// Whether it is short enough for a terminal.
    pub in_terminal: bool,
    /// Whether a page shows it; it does not where a chart says the same.
    pub in_page: bool,
    /// Rows that a terminal shows; a page shows all.
    pub terminal_rows: usize,
    /// Columns that a narrow terminal can do without, the most dispensable first; bars go before them.
    pub dispensable: Vec<usize>,
    /// The fewest runs behind an interval that holds the true median with less than 95 %, and what it holds it with.
    pub weakest: Option<(usize, f64)>,
}

impl Table {
    /// A table without rows yet.
    pub fn new(title: impl Into<String>, columns: Vec<(String, Kind)>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: Vec::new(),
            note: None,
            in_terminal: true,
            in_page: true,
            terminal_rows: usize::MAX,
            dispensable: Vec::new(),
            weakest: None,
        }
    }

    /// The same with a further note.
    pub fn noted(mut self, more: impl Into<String>) -> Self {
        let more = more.into();
        self.note = match self.note {
            Some(note) if !more.is_empty() => Some(format!("{note} {more}")),
            None if !more.is_empty() => Some(more),
            note => note,
        };
        self
    }

    /// The same for pages only.
    pub fn page_only(mut self) -> Self {
        self.in_terminal = false;
        self
    }

    /// The same for terminals only.
    pub fn terminal_only(mut self) -> Self {
        self.in_page = false;
        self
    }

    /// The same with no more than `rows` rows in a terminal.
    pub fn first_in_terminal(mut self, rows: usize) -> Self {
        self.terminal_rows = rows;
        self
    }

    /// The same with columns that a narrow terminal can do without, the most dispensable first.
    pub fn dispensable(mut self, columns: &[Column]) -> Self {
        let at = |column: &Column| self.columns.iter().position(|(head, _)| head == column.head());
        self.dispensable = columns.iter().filter_map(at).collect();
        self
    }

    /// Aligned text, at most `width` columns wide where words can be wrapped.
    pub fn text(&self, view: View) -> String {
        let width = view.width;
        let columns: Vec<Vec<String>> = (0..self.columns.len()).map(|i| self.column_text(i)).collect();
        let (kept, left_out) = self.columns_that_fit(&columns, width);
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        if let Some(width) = width {
            // comfy-table needs room for a character and the padding of each column.
            let least = u16::try_from(kept.len() * 4).unwrap_or(u16::MAX);
            table.set_width(width.max(least)).set_content_arrangement(ContentArrangement::Dynamic);
        }
        table.set_header(kept.iter().map(|i| format::harmless(&self.columns[*i].0)));
        for (row, _) in self.rows.iter().enumerate().take(self.terminal_rows) {
            let cell =
                |i: &usize| self.rows[row].get(*i).map_or_else(String::new, |cell| marked(cell, &columns[*i][row]));
            table.add_row(kept.iter().map(cell));
        }
        for (column, i) in table.column_iter_mut().zip(&kept) {
            if self.columns[*i].1 == Kind::Numbers {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut text: String =
            table.lines().map(|line| coloured(line.replace('\u{a0}', " ").trim_end(), view) + "\n").collect();
        if self.rows.len() > self.terminal_rows {
            text.push_str(&format!(" (and {} more)\n", self.rows.len() - self.terminal_rows));
        }
        if !left_out.is_empty() {
            let columns = width.map_or(format::DEFAULT_WIDTH, usize::from).max(20);
            text.push_str(&format::wrap(
                &format::harmless(&format!("(too narrow for: {})", left_out.join(", "))),
                columns,
                " ",
            ));
        }
        text
    }

    /// Which columns to print, and the heads of those without room. An empty column is not printed either.
    fn columns_that_fit(&self, columns: &[Vec<String>], width: Option<u16>) -> (Vec<usize>, Vec<&str>) {
        let mut kept: Vec<usize> = (0..columns.len())
            .filter(|i| self.rows.is_empty() || columns[*i].iter().any(|text| !text.is_empty()))
            .collect();
        let Some(width) = width.map(usize::from) else { return (kept, Vec::new()) };
        let room = |i: &usize| {
            let widest = columns[*i].iter().map(|text| text.chars().count()).max().unwrap_or(0);
            widest.max(self.columns[*i].0.chars().count()) + 2
        };
        let bars = (0..columns.len()).filter(|i| self.columns[*i].1 == Kind::Bars);
        let mut left_out = Vec::new();
        for candidate in bars.chain(self.dispensable.iter().copied()) {
            if kept.iter().map(room).sum::<usize>() <= width {
                break;
            }
            kept.retain(|i| *i != candidate);
            if let Some((head, kind)) = self.columns.get(candidate)
                && *kind != Kind::Bars
            {
                left_out.push(head.as_str());
            }
        }
        (kept, left_out)
    }

    fn column_text(&self, index: usize) -> Vec<String> {
        let cells: Vec<&Cell> =
            self.rows.iter().take(self.terminal_rows).map(|row| row.get(index).unwrap_or(&Cell::Empty)).collect();
        let widest = |part: fn(&Cell) -> usize| cells.iter().map(|c| part(c)).max().unwrap_or(0);
        let value_width = widest(|c| if let Cell::Measure(value, _) = c { value.chars().count() } else { 0 });
        let spread_width = widest(|c| if let Cell::Measure(_, spread) = c { spread.chars().count() } else { 0 });
        let largest = cells.iter().fold(0.0f64, |most, c| if let Cell::Bar(v) = c { most.max(*v) } else { most });
        cells
            .iter()
            .map(|cell| match cell {
                // No-break spaces, so that neither wrapping nor trimming takes a number apart.
                Cell::Measure(value, spread) => {
                    format!("{value:>value_width$} {spread:<spread_width$}").replace(' ', "\u{a0}")
                }
                // Before widths are counted: an escape sequence would have none, and what replaces it has one.
                Cell::Text(text) | Cell::Shape(text) => crate::format::harmless(text),
                Cell::Verdict(effect, words) => format::harmless(&effect.signed(words)),
                Cell::Bar(value) => bar(value / largest),
                Cell::Stack(parts, full) => stack(parts, *full),
                Cell::Empty => String::new(),
            })
            .collect()
    }

    /// Markup, without the bars, and without a caption that repeats the heading above.
    pub(crate) fn markup(&self, heading_above: &str) -> Markup {
        let used = |i: usize| self.rows.iter().any(|row| !matches!(row.get(i), None | Some(Cell::Empty)));
        let shown = || self.columns.iter().enumerate().filter(|(i, (_, kind))| *kind != Kind::Bars && used(*i));
        html! {
            @if self.title != heading_above { p.title { (self.title) } }
            // Wide tables scroll on a phone; a keyboard has to reach them for that.
            div.scroll role="region" aria-label=(self.title) tabindex="0" {
                table {
                    thead { tr { @for (_, (head, kind)) in shown() {
                        th scope="col" class=[(*kind == Kind::Numbers).then_some("n")] { (head) }
                    } } }
                    tbody { @for row in self.rows.iter().filter(|r| !matches!(r.first(),
                        Some(Cell::Shape(_)))) { tr { @for (i, (_, kind)) in shown() {
                        // The first words of a line are its heading: screen readers repeat them with each number.
                        @if i == 0 && *kind == Kind::Words {
                            th scope="row" class=[cell_class(*kind,
                                row.get(i))] { (cell_markup(row.get(i).unwrap_or(&Cell::Empty))) }
                        } @else {
                            td class=[cell_class(*kind,
                                row.get(i))] { (cell_markup(row.get(i).unwrap_or(&Cell::Empty))) }
                        }
                    } } } }
                }
            }
            @if let Some(note) = &self.note { p.note { (note) } }
        }
    }
}

/// Numbers stand on the right; sentences may take several lines.
fn cell_class(kind: Kind, cell: Option<&Cell>) -> Option<&'static str> {
    match (kind, cell) {
        (Kind::Numbers, _) => Some("n"),
        (Kind::Words, Some(Cell::Text(text))) if text.contains(' ') && text.chars().count() > 36 => Some("long"),
        _ => None,
    }
}

fn cell_markup(cell: &Cell) -> Markup {
    html! {
        @match cell {
            Cell::Text(text) => (text),
            Cell::Verdict(effect, words) => span class=(format!("verdict {}",
                effect.tone().class())) { (effect.signed(words)) },
            Cell::Measure(value, spread) => { (value) span.spread { " " (spread) } },
            Cell::Bar(_) | Cell::Stack(..) | Cell::Shape(_) | Cell::Empty => {},
        }
    }
}

/// What begins and ends a verdict while a table is laid out: invisible signs without a width, which texts do not hold
/// ([`format::harmless`]).
const IMPROVED: char = '\u{2061}';
const REGRESSED: char = '\u{2062}';
const VERDICT_END: char = '\u{2060}';

/// The text of a cell, between signs where it is a verdict with a colour.
fn marked(cell: &Cell, text: &str) -> String {
    match cell {
        Cell::Verdict(Effect::Improved, _) => format!("{IMPROVED}{text}{VERDICT_END}"),
        Cell::Verdict(Effect::Regressed, _) => format!("{REGRESSED}{text}{VERDICT_END}"),
        _ => text.to_owned(),
    }
}

/// A line with its verdicts in their style, and without signs. What is wrapped has the style in its first line.
fn coloured(line: &str, view: View) -> String {
    let mut parts = line.split([IMPROVED, REGRESSED]);
    let mut out = parts.next().unwrap_or_default().replace(VERDICT_END, "");
    let meanings = line.chars().filter_map(|sign| match sign {
        IMPROVED => Some(Meaning::Improved),
        REGRESSED => Some(Meaning::Regressed),
        _ => None,
    });
    for (meaning, part) in meanings.zip(parts) {
        let (verdict, rest) = part.split_once(VERDICT_END).unwrap_or((part, ""));
        out.push_str(&view.style.map_or_else(|| verdict.to_owned(), |style| style(meaning, verdict)));
        out.push_str(rest);
    }
    out.trim_end().to_owned()
}

/// A line below the heads, two spaces between columns, nothing else.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─'))
    .content_lines(ContentLineStyle::none());

/// A bar of at most twelve characters in steps of an eighth of one.
pub(crate) fn bar(share: f64) -> String {
    const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * 96.0).round() as usize).max(1);
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(EIGHTHS[eighths % 8 - 1]);
    }
    text
}

/// Width of the longest bar of parts.
const STACK: f64 = 36.0;

/// A bar of letters, one for each part, at most [`STACK`] characters long. A part too short for a letter of its own
/// adds to where the next one begins, so that the whole is right.
fn stack(parts: &[(char, f64)], full: f64) -> String {
    let (mut end, mut text) = (0.0, String::new());
    let mut drawn = 0;
    for (letter, value) in parts {
        end += length(*value);
        let until = (end / full * STACK).round();
        let until = if until.is_finite() { until.clamp(0.0, STACK) as usize } else { 0 };
        text.extend(std::iter::repeat_n(*letter, until.saturating_sub(drawn)));
        drawn = drawn.max(until);
    }
    text
}

/// What a value takes of a bar: nothing, where it is none.
fn length(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// A curve in one line of text, from the smallest to the largest value.
pub(crate) fn sparkline(values: &[f64]) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    values
        .iter()
        .map(|v| {
            let share = (v / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            if share.is_finite() { STEPS[(share * 7.0).round() as usize] } else { STEPS[0] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let columns = [("load", Kind::Words), ("time", Kind::Numbers), ("", Kind::Bars)];
        let mut table = Table::new("T", columns.map(|(head, kind)| (head.to_owned(), kind)).into());
        table.rows.push(vec!["read".into(), Cell::Measure("72 us".into(), "±12 %".into()), Cell::Bar(1.0)]);
        table.rows.push(vec!["write <b>".into(), Cell::Measure("1.9 ms".into(), "±2 %".into()), Cell::Bar(2.0)]);
        table
    }

    #[test]
    fn values_align_right_and_spreads_left() {
        let text = sample().text(None.into());
        assert!(text.contains(" 72 us ±12 %"), "{text}");
        assert!(text.contains("1.9 ms ±2 % "), "{text}");
    }

    #[test]
    fn a_page_has_no_bars_and_escapes_words() {
        let markup = sample().markup("").into_string();
        assert!(!markup.contains('█'));
        assert!(markup.contains("write &lt;b&gt;"));
        assert_eq!(markup.matches("<th scope=\"col\"").count(), 2);
        assert_eq!(markup.matches("<th scope=\"row\"").count(), 2);
    }

    #[test]
    fn a_narrow_terminal_loses_bars_first_and_says_what_else_it_lost() {
        let table = sample().dispensable(&[crate::measures::shown("time", crate::measures::unit::MS).into()]);
        assert!(table.text(Some(80).into()).contains('█'));
        assert!(!table.text(Some(28).into()).contains('█'));
        assert!(table.text(Some(28).into()).contains("us"));
        let narrow = table.text(Some(16).into()).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(narrow.contains("too narrow for: time"), "{narrow}");
    }

    #[test]
    fn no_width_is_too_small() {
        for width in 0..120 {
            let _ = sample().text(Some(width).into());
        }
    }

    #[test]
    fn bars_and_sparklines_bear_any_number() {
        assert_eq!(bar(1.0), "████████████");
        assert_eq!(bar(0.5 + 1.0 / 96.0), "██████▏");
        assert_eq!(bar(f64::NAN), "");
        assert_eq!(bar(-1.0), "");
        assert_eq!(stack(&[('u', 1.0), ('R', 3.0)], 4.0), format!("{}{}", "u".repeat(9), "R".repeat(27)));
        assert_eq!(stack(&[('u', f64::NAN), ('R', -3.0), ('w', f64::INFINITY)], 0.0), "");
        assert_eq!(stack(&[('u', f64::MAX), ('R', f64::MAX)], f64::MAX).len(), 36);
        assert_eq!(sparkline(&[0.0, 0.5, 1.0]), "▁▅█");
        assert_eq!(sparkline(&[1.0, 1.0]), "▁▁");
        assert_eq!(sparkline(&[f64::MAX, f64::MIN, f64::NAN]), "█▁▁");
    }
}
