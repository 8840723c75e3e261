//! Tidy rows: what a study gives to the renderers.
//!
//! A [`Row`] is one place of a study: its *dimensions* (load, depth, app, ...) and, for each *measure* (name and unit),
//! what was found there: a summary with its interval, a number, a word, the runs, or the parts of a time. Tables and
//! charts are declared by dimensions and measures (`measures`), which the compiler knows; how a value reads follows
//! from its unit.

use crate::results::{Direction, Pattern, Split};
use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;

use crate::effect::Effect;
use crate::format;
use crate::measures::{Column, Dimension, Measure, Unit};
use crate::svg::bars::Fill;
use crate::svg::dots::Run;
use crate::svg::{Marker, Tone};

/// What was found of a measure.
#[derive(Debug, Clone)]
pub enum Value {
    /// Over runs, with an interval.
    Summary(Summary),
    /// Without an interval.
    Number(f64),
    /// A word.
    Words(String),
    /// What a change means, and the word for it.
    Verdict(Effect, String),
    /// A value and its addition as they read.
    Shown(String, String),
    /// Several values of one place: runs, or figures of several papers.
    Runs(Vec<Run>),
    /// A time by cause, and what a bar of full length stands for.
    Split(Split, f64),
}

/// What can be put into a row; nothing is put where there is nothing.
pub trait IntoValue {
    /// The value.
    fn value(self) -> Option<Value>;
}

impl IntoValue for Value {
    fn value(self) -> Option<Value> {
        Some(self)
    }
}

impl IntoValue for f64 {
    fn value(self) -> Option<Value> {
        Some(Value::Number(self))
    }
}

impl IntoValue for u64 {
    fn value(self) -> Option<Value> {
        Some(Value::Number(self as f64))
    }
}

impl IntoValue for &Summary {
    fn value(self) -> Option<Value> {
        Some(Value::Summary(*self))
    }
}

impl IntoValue for Summary {
    fn value(self) -> Option<Value> {
        Some(Value::Summary(self))
    }
}

impl IntoValue for &str {
    fn value(self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::Words(self.to_owned()))
    }
}

impl IntoValue for String {
    fn value(self) -> Option<Value> {
        self.as_str().value()
    }
}

impl IntoValue for Vec<Run> {
    fn value(self) -> Option<Value> {
        (!self.is_empty()).then_some(Value::Runs(self))
    }
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn value(self) -> Option<Value> {
        self.and_then(IntoValue::value)
    }
}

/// A place along a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// As it reads.
    pub text: String,
    /// Where it lies on an axis, if it can.
    pub number: Option<f64>,
}

impl From<&str> for Place {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), number: None }
    }
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        Self { text, number: None }
    }
}

impl From<u32> for Place {
    fn from(number: u32) -> Self {
        Self { text: number.to_string(), number: Some(f64::from(number)) }
    }
}

/// A size in bytes as a place.
pub fn size(bytes: u64) -> Place {
    Place { text: format_bytes(bytes), number: Some(bytes as f64) }
}

impl Default for Look {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// How a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colour.
    pub tone: Tone,
    /// Shape of its points.
    pub marker: Marker,
    /// Whether its line is dashed: random loads are.
    pub dashed: bool,
    /// Whether a paper published it.
    pub published: bool,
    /// Whether its points are not joined: single episodes.
    pub scattered: bool,
    /// How its bar is filled.
    pub fill: Fill,
}

impl Look {
    /// What has no side.
    pub const PLAIN: Self = Self {
        tone: Tone::Plain,
        marker: Marker::Circle,
        dashed: false,
        published: false,
        scattered: false,
        fill: Fill::Full,
    };

    /// The n-th of many.
    pub fn nth(n: usize) -> Self {
        Self { tone: Tone::Nth(n), marker: Marker::nth(n), ..Self::PLAIN }
    }

    /// Reads or writes.
    pub fn side(direction: Direction) -> Self {
        match direction {
            Direction::Read => Self { tone: Tone::Read, ..Self::PLAIN },
            Direction::Write => Self { tone: Tone::Write, marker: Marker::Square, ..Self::PLAIN },
        }
    }

    /// Reads or writes; random ones dashed.
    pub fn load(pattern: Pattern, direction: Direction) -> Self {
        Self::side(direction).dashed(pattern == Pattern::Random)
    }

    /// The same, dashed or not.
    pub fn dashed(self, dashed: bool) -> Self {
        Self { dashed, ..self }
    }

    /// The same with points that are not joined.
    pub fn scattered(self) -> Self {
        Self { scattered: true, ..self }
    }

    /// The same as a published figure.
    pub fn published(self) -> Self {
        Self { published: true, marker: Marker::Diamond, ..self }
    }
}

/// One place of a study and what was found there.
#[derive(Debug, Clone, Default)]
pub struct Row {
    at: Vec<(Dimension, Place)>,
    found: Vec<(Measure, Unit, Value)>,
    /// How it is drawn.
    pub look: Look,
}

impl Row {
    /// The row of a place along a dimension.
    pub fn at(dimension: Dimension, place: impl Into<Place>) -> Self {
        Self { at: vec![(dimension, place.into())], found: Vec::new(), look: Look::PLAIN }
    }

    /// The same at a place along one more dimension.
    pub fn by(mut self, dimension: Dimension, place: impl Into<Place>) -> Self {
        self.at.push((dimension, place.into()));
        self
    }

    /// The same with a measure, where there is a value.
    pub fn put(self, measure: Measure, value: impl IntoValue) -> Self {
        self.put_in(measure, measure.unit, value)
    }

    /// The same with a measure whose values have another unit in this row.
    pub fn put_in(mut self, measure: Measure, unit: Unit, value: impl IntoValue) -> Self {
        self.found.extend(value.value().map(|value| (measure, unit, value)));
        self
    }

    /// The same with a verdict, which has a sign and a colour.
    pub fn judge(self, measure: Measure, effect: Effect, words: &str) -> Self {
        self.put(measure, Value::Verdict(effect, words.to_owned()))
    }

    /// The same with a figure that has its own form.
    pub fn figure(self, measure: Measure, text: impl Into<Option<String>>) -> Self {
        let text: Option<String> = text.into();
        self.put(measure, text.map(|text| Value::Shown(text, String::new())))
    }

    /// The same, drawn so.
    pub fn look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// Its place along a dimension.
    pub fn place(&self, column: impl Into<Column>) -> Option<&Place> {
        let Column::Dimension(dimension) = column.into() else { return None };
        self.at.iter().find(|(one, _)| *one == dimension).map(|(_, place)| place)
    }

    /// What was found of a measure.
    pub fn get(&self, column: impl Into<Column>) -> Option<(Unit, &Value)> {
        let Column::Measure(measure) = column.into() else { return None };
        self.found.iter().find(|(one, ..)| *one == measure).map(|(_, unit, value)| (*unit, value))
    }

    /// Its dimensions with its places along them.
    pub fn dimensions(&self) -> impl Iterator<Item = (Dimension, &Place)> {
        self.at.iter().map(|(dimension, place)| (*dimension, place))
    }

    /// Its measures with what was found.
    pub fn measures(&self) -> impl Iterator<Item = (Measure, &Value)> {
        self.found.iter().map(|(measure, _, value)| (*measure, value))
    }

    /// The summary of a measure.
    pub fn summary(&self, column: impl Into<Column>) -> Option<&Summary> {
        if let (_, Value::Summary(summary)) = self.get(column)? { Some(summary) } else { None }
    }

    /// A place, or the middle of a measure, as a number.
    pub fn number(&self, column: impl Into<Column>) -> Option<f64> {
        let column = column.into();
        match self.get(column) {
            Some((_, Value::Summary(summary))) => Some(summary.median),
            Some((_, Value::Number(number))) => Some(*number),
            Some(_) => None,
            None => self.place(column)?.number,
        }
    }

    /// All numbers of a measure.
    pub fn numbers(&self, column: impl Into<Column>) -> Vec<f64> {
        let column = column.into();
        match self.get(column) {
            Some((_, Value::Runs(runs))) => runs.iter().map(|run| run.value).collect(),
            _ => self.number(column).into_iter().collect(),
        }
    }

    /// The interval of a measure, where more than one run gives one.
    pub fn range(&self, column: impl Into<Column>) -> Option<(f64, f64)> {
        let s = self.summary(column)?;
        (s.count > 1 && s.low.is_finite() && s.high.is_finite()).then_some((s.low, s.high))
    }

    /// A place or a measure as it reads, without a spread; empty where there is none.
    pub fn text(&self, column: impl Into<Column>) -> String {
        let column = column.into();
        if let Some(place) = self.place(column) {
            return place.text.clone();
        }
        match self.get(column) {
            Some((unit, Value::Summary(summary))) => (unit.show)(summary.median),
            Some((unit, Value::Number(number))) => (unit.show)(*number),
            Some((_, Value::Words(words) | Value::Shown(words, _))) => words.clone(),
            Some((_, Value::Verdict(effect, words))) => effect.signed(words),
            Some((unit, Value::Runs(runs))) => {
                runs.iter().map(|run| (unit.show)(run.value)).collect::<Vec<_>>().join(", ")
            }
            Some((_, Value::Split(..))) | None => String::new(),
        }
    }

    /// A measure with its spread.
    pub fn label(&self, column: impl Into<Column>) -> String {
        let column = column.into();
        match self.get(column) {
            Some((unit, Value::Summary(summary))) => {
                format!("{} {}", self.text(column), format::spread_or_ends(summary, unit.show))
            }
            Some((_, Value::Shown(value, addition))) => format!("{value} {addition}"),
            _ => self.text(column),
        }
    }
}

/// Those rows that lie at a place of a dimension.
pub fn only(rows: &[Row], dimension: Dimension, text: &str) -> Vec<Row> {
    rows.iter().filter(|row| row.place(dimension).is_some_and(|place| place.text == text)).cloned().collect()
}

/// The places along a dimension in the order in which they first come.
pub fn places(rows: &[Row], along: impl Into<Column>) -> Vec<String> {
    let along = along.into();
    let mut found: Vec<String> = Vec::new();
    for place in rows.iter().filter_map(|row| row.place(along)) {
        if !found.contains(&place.text) {
            found.push(place.text.clone());
        }
    }
    found
}

/// The schedulers in the order of the kernel's own list, others after them by name.
pub fn schedulers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let rank = |name: &str| ["none", "mq-deadline", "kyber", "bfq"].iter().position(|n| *n == name).unwrap_or(4);
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| (rank(name), *name));
    names.dedup();
    names
}
