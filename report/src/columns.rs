//! Tables declared over rows: a column for each name.

use crate::causes;
use crate::format::{self, interval_note};
use crate::measures::{Column, Dimension, Unit, unit};
use crate::rows::{Row, Value, places};
use crate::table::{Cell, Kind, Table, sparkline};

impl Table {
    /// A table with a line for each row. What the intervals are is noted below it.
    pub fn of(title: impl Into<String>, rows: &[Row], columns: &[Column]) -> Self {
        let heads = columns.iter().map(|column| match kind(rows, *column) {
            Kind::Bars => (String::new(), Kind::Bars),
            kind => (column.head().to_owned(), kind),
        });
        let mut table = Self::new(title, heads.collect());
        table.rows = rows.iter().map(|row| columns.iter().map(|column| cell(row, *column)).collect()).collect();
        let shown = || rows.iter().flat_map(|row| columns.iter().filter_map(|column| row.summary(*column)));
        table.note = interval_note(shown());
        table.weakest = format::weakest(shown());
        table
    }

    /// A table with a line for each place along the dimensions `down` and a column for each place along `across`: one
    /// measure.
    pub fn across(
        title: impl Into<String>,
        rows: &[Row],
        down: &[Column],
        across: Dimension,
        measure: impl Into<Column>,
    ) -> Self {
        let (heads, measure) = (places(rows, across), measure.into());
        let line = |row: &Row| -> Vec<String> { down.iter().map(|column| row.text(*column)).collect() };
        let mut lines: Vec<Vec<String>> = Vec::new();
        for row in rows.iter().map(line) {
            if !lines.contains(&row) {
                lines.push(row);
            }
        }
        let columns = down.iter().map(|column| (column.head().to_owned(), kind(rows, *column)));
        let measured = heads.iter().map(|head| (head.clone(), kind(rows, measure)));
        let mut table = Self::new(title, columns.chain(measured).collect());
        for places in lines {
            let at = |head: &String| rows.iter().find(|row| row.text(across) == *head && line(row) == places);
            let cells = heads.iter().map(|head| at(head).map_or(Cell::Empty, |row| cell(row, measure)));
            table.rows.push(places.iter().cloned().map(Cell::Text).chain(cells).collect());
        }
        table.note = interval_note(rows.iter().filter_map(|row| row.summary(measure)));
        table.weakest = format::weakest(rows.iter().filter_map(|row| row.summary(measure)));
        table
    }

    /// The same with the shape of each column below it.
    pub fn with_shapes(mut self, rows: &[Row], across: Dimension, measure: impl Into<Column>) -> Self {
        let measure = measure.into();
        if self.rows.len() > 2 {
            let shape = |head: &str| {
                let of = rows.iter().filter(|row| row.text(across) == head);
                Cell::Shape(sparkline(&of.filter_map(|row| row.number(measure)).collect::<Vec<_>>()))
            };
            let shapes = self.columns.iter().skip(1).map(|(head, _)| shape(head));
            self.rows.push(std::iter::once(Cell::Shape(String::new())).chain(shapes).collect());
        }
        self
    }

    /// The same with lines and columns changed over.
    pub fn turned(mut self) -> Self {
        let Some((first, others)) = self.columns.split_first() else { return self };
        let head = |row: &Vec<Cell>| match row.first() {
            Some(Cell::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let mut columns = vec![(first.0.clone(), Kind::Words)];
        columns.extend(self.rows.iter().map(|row| (head(row), Kind::Numbers)));
        let line = |(i, (name, _)): (usize, &(String, Kind))| {
            let cells = self.rows.iter().map(|row| row.get(i + 1).cloned().unwrap_or(Cell::Empty));
            std::iter::once(Cell::Text(name.clone())).chain(cells).collect()
        };
        self.rows = others.iter().enumerate().map(line).collect();
        self.columns = columns;
        self
    }
}

impl Cell {
    /// A value as it reads, with its spread.
    fn of(unit: Unit, value: &Value) -> Self {
        let show = unit.show;
        match value {
            Value::Summary(summary) if summary.max == 0.0 => Self::Measure(show(summary.median), String::new()),
            Value::Summary(summary) => Self::Measure(show(summary.median), format::spread_or_ends(summary, show)),
            Value::Number(number) => Self::Text(show(*number)),
            Value::Words(words) => Self::Text(words.clone()),
            Value::Verdict(effect, words) => Self::Verdict(*effect, words.clone()),
            Value::Shown(value, addition) if addition.is_empty() => Self::Text(value.clone()),
            Value::Shown(value, addition) => Self::Measure(value.clone(), addition.clone()),
            Value::Runs(runs) => Self::Text(runs.iter().map(|run| show(run.value)).collect::<Vec<_>>().join(", ")),
            Value::Split(split, full) => Self::Stack(causes::letters(split), *full),
        }
    }
}

/// Whether a column holds words or numbers.
fn kind(rows: &[Row], column: Column) -> Kind {
    let is_words = |row: &Row| match (row.get(column), row.place(column)) {
        (Some((_, value)), _) => matches!(value, Value::Words(_) | Value::Verdict(..)),
        (None, Some(place)) => place.number.is_none(),
        (None, None) => false,
    };
    let is_split = |row: &Row| matches!(row.get(column), Some((_, Value::Split(..))));
    match column {
        Column::Bar(_) => Kind::Bars,
        _ if rows.iter().any(is_split) => Kind::Bars,
        _ if rows.iter().any(is_words) => Kind::Words,
        _ => Kind::Numbers,
    }
}

/// What stands in a column.
fn cell(row: &Row, column: Column) -> Cell {
    match column {
        Column::Interval(measure) => row.get(measure).map_or(Cell::Empty, |(unit, value)| match value {
            Value::Summary(summary) => {
                // The value next to it has the unit of a ratio.
                let show = if (unit.show)(1.0).ends_with('x') { unit::NUMBER.show } else { unit.show };
                Cell::Text(format::interval(summary, show))
            }
            _ => Cell::Empty,
        }),
        Column::Spread(measure) => {
            row.summary(measure).map_or(Cell::Empty, |summary| Cell::Text(format::variation(summary)))
        }
        Column::Bar(measure) => row.number(measure).map_or(Cell::Empty, Cell::Bar),
        column => match (row.place(column), row.get(column)) {
            (Some(place), _) => Cell::Text(place.text.clone()),
            (None, Some((unit, value))) => Cell::of(unit, value),
            (None, None) => Cell::Empty,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::unit::{MS, TIMES};
    use crate::measures::{Measure, columns, shown};
    use crate::vocabulary::{APP, START};
    use brisk_core::stats::Summary;

    const DURATION: Measure = shown("time", MS);
    const RATIO: Measure = shown("ratio", TIMES);
    const ELSEWHERE: Measure = shown("elsewhere", MS);

    fn rows() -> Vec<Row> {
        let row = |app: &str, start: &str, ms: f64| {
            let time = Summary::of(&[ms, ms, ms * 1.1]).expect("finite");
            Row::at(APP, app).by(START, start).put(DURATION, time).put(RATIO, ms / 100.0)
        };
        vec![row("a", "cold", 200.0), row("a", "warm", 100.0), row("b", "cold", 400.0)]
    }

    fn heads(table: &Table) -> Vec<&str> {
        table.columns.iter().map(|(head, _)| head.as_str()).collect()
    }

    #[test]
    fn a_declaration_names_dimensions_measures_and_what_follows_from_them() {
        let table =
            Table::of("T", &rows(), columns![APP, DURATION, DURATION.interval(), RATIO, RATIO.bar(), ELSEWHERE]);
        assert_eq!(heads(&table), ["app", "time", "interval", "ratio", "", "elsewhere"]);
        let cells = &table.rows[0];
        assert_eq!(cells[..2], ["a".into(), Cell::Measure("200 ms".into(), "±5 %".into())]);
        assert_eq!(cells[2..], ["200 to 220 ms".into(), "2.00x".into(), Cell::Bar(2.0), Cell::Empty]);
        assert!(table.note.is_some_and(|note| note.contains("Medians of 3 runs")));
    }

    #[test]
    fn one_measure_goes_across_a_dimension_and_lacks_where_it_was_not_measured() {
        let table = Table::across("T", &rows(), columns![APP], START, RATIO);
        assert_eq!(heads(&table), ["app", "cold", "warm"]);
        assert_eq!(
            table.rows,
            [["a".into(), "2.00x".into(), "1.00x".into()], ["b".into(), "4.00x".into(), Cell::Empty]]
        );
    }

    #[test]
    fn a_turned_table_has_its_lines_as_columns() {
        let table = Table::across("T", &rows(), columns![APP], START, RATIO).turned();
        assert_eq!(heads(&table), ["app", "a", "b"]);
        assert_eq!(table.rows[1], ["warm".into(), "1.00x".into(), Cell::Empty]);
    }
}
