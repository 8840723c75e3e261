//! Tidy rows: what a study gives to the renderers.
//!
//! A [`Row`] is one place of a study: its *dimensions* (load, depth, app, ...) and, for each *measure* (name and unit), what was
//! found there: a summary with its interval, a number, a word, the runs, or the parts of a time. Tables and charts are
//! declared by the names of dimensions and measures; how a value reads follows from its unit.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{Direction, Pattern, Split};

use crate::effect::Effect;
use crate::format;
use crate::svg::bars::Fill;
use crate::svg::dots::Run;
use crate::svg::{Marker, Tone};

/// How values of a measure read, in a table and as a tick.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    /// With its unit.
    pub(crate) show: fn(f64) -> String,
    /// As a tick of an axis.
    pub(crate) tick: fn(f64) -> String,
}

const fn unit(show: fn(f64) -> String, tick: fn(f64) -> String) -> Unit {
    Unit { show, tick }
}

/// Microseconds.
pub(crate) const US: Unit = unit(format::us, format::us_tick);
/// Milliseconds.
pub(crate) const MS: Unit = unit(format::ms, format::ms_tick);
/// Seconds.
pub(crate) const S: Unit = unit(format::seconds, format::tick);
/// Bytes.
pub(crate) const BYTES: Unit = unit(format::bytes, format::bytes);
/// Bytes a second, in MB/s.
pub(crate) const BANDWIDTH: Unit = unit(format::bandwidth, |v| format::tick(v / 1e6));
/// Bytes a second, in MB/s that the name of the measure says.
pub(crate) const MB_PER_S: Unit = unit(format::mb_per_s, |v| format::tick(v / 1e6));
/// Counts and rates of requests.
pub(crate) const COUNT: Unit = unit(format::count, |v| if v < 1_000.0 { format::tick(v) } else { format::count(v) });
/// Whole things.
pub(crate) const TALLY: Unit = unit(format::tally, format::tick);
/// Plain numbers.
pub(crate) const NUMBER: Unit = unit(format::number, format::tick);
/// Ratios.
pub(crate) const TIMES: Unit = unit(format::times, format::tick);
/// Ratios as a paper prints them.
pub(crate) const PRINTED: Unit = unit(format::printed, format::tick);
/// Percent with three digits.
pub(crate) const PERCENT: Unit = unit(format::percent, format::tick);
/// Whole percent.
pub(crate) const SHARE: Unit = unit(|percent| format::share(percent, 100.0), format::tick);

/// What was found of a measure.
#[derive(Debug, Clone)]
pub(crate) enum Value {
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
pub(crate) trait IntoValue {
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
pub(crate) struct Place {
    /// As it reads.
    pub(crate) text: String,
    /// Where it lies on an axis, if it can.
    pub(crate) number: Option<f64>,
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
pub(crate) fn size(bytes: u64) -> Place {
    Place { text: format_bytes(bytes), number: Some(bytes as f64) }
}

impl Default for Look {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// How a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Colour.
    pub(crate) tone: Tone,
    /// Shape of its points.
    pub(crate) marker: Marker,
    /// Whether its line is dashed: random loads are.
    pub(crate) dashed: bool,
    /// Whether a paper published it.
    pub(crate) published: bool,
    /// How its bar is filled.
    pub(crate) fill: Fill,
}

impl Look {
    /// What has no side.
    pub(crate) const PLAIN: Self =
        Self { tone: Tone::Plain, marker: Marker::Circle, dashed: false, published: false, fill: Fill::Full };

    /// The n-th of many.
    pub(crate) fn nth(n: usize) -> Self {
        Self { tone: Tone::Nth(n), marker: Marker::nth(n), ..Self::PLAIN }
    }

    /// Reads or writes.
    pub(crate) fn side(direction: Direction) -> Self {
        match direction {
            Direction::Read => Self { tone: Tone::Read, ..Self::PLAIN },
            Direction::Write => Self { tone: Tone::Write, marker: Marker::Square, ..Self::PLAIN },
        }
    }

    /// Reads or writes; random ones dashed.
    pub(crate) fn load(pattern: Pattern, direction: Direction) -> Self {
        Self::side(direction).dashed(pattern == Pattern::Random)
    }

    /// The same, dashed or not.
    pub(crate) fn dashed(self, dashed: bool) -> Self {
        Self { dashed, ..self }
    }

    /// The same as a published figure.
    pub(crate) fn published(self) -> Self {
        Self { published: true, marker: Marker::Diamond, ..self }
    }
}

/// One place of a study and what was found there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    at: Vec<(&'static str, Place)>,
    found: Vec<(&'static str, Unit, Value)>,
    /// How it is drawn.
    pub(crate) look: Look,
}

impl Row {
    /// The row of a place along a dimension.
    pub(crate) fn at(dimension: &'static str, place: impl Into<Place>) -> Self {
        Self { at: vec![(dimension, place.into())], found: Vec::new(), look: Look::PLAIN }
    }

    /// The same at a place along one more dimension.
    pub(crate) fn by(mut self, dimension: &'static str, place: impl Into<Place>) -> Self {
        self.at.push((dimension, place.into()));
        self
    }

    /// The same with a measure, where there is a value.
    pub(crate) fn put(mut self, measure: &'static str, unit: Unit, value: impl IntoValue) -> Self {
        self.found.extend(value.value().map(|value| (measure, unit, value)));
        self
    }

    /// The same with a word.
    pub(crate) fn say(self, measure: &'static str, words: impl IntoValue) -> Self {
        self.put(measure, NUMBER, words)
    }

    /// The same with a verdict, which has a sign and a colour.
    pub(crate) fn judge(self, measure: &'static str, effect: Effect, words: &str) -> Self {
        self.put(measure, NUMBER, Value::Verdict(effect, words.to_owned()))
    }

    /// The same with a figure that has its own form.
    pub(crate) fn figure(self, measure: &'static str, text: impl Into<Option<String>>) -> Self {
        let text: Option<String> = text.into();
        self.put(measure, NUMBER, text.map(|text| Value::Shown(text, String::new())))
    }

    /// The same, drawn so.
    pub(crate) fn look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// Its place along a dimension.
    pub(crate) fn place(&self, dimension: &str) -> Option<&Place> {
        self.at.iter().find(|(name, _)| *name == dimension).map(|(_, place)| place)
    }

    /// What was found of a measure.
    pub(crate) fn get(&self, measure: &str) -> Option<(Unit, &Value)> {
        self.found.iter().find(|(name, ..)| *name == measure).map(|(_, unit, value)| (*unit, value))
    }

    /// Its dimensions with its places along them.
    pub(crate) fn dimensions(&self) -> impl Iterator<Item = (&'static str, &Place)> {
        self.at.iter().map(|(name, place)| (*name, place))
    }

    /// Its measures with what was found.
    pub(crate) fn measures(&self) -> impl Iterator<Item = (&'static str, Unit, &Value)> {
        self.found.iter().map(|(name, unit, value)| (*name, *unit, value))
    }

    /// The summary of a measure.
    pub(crate) fn summary(&self, measure: &str) -> Option<&Summary> {
        if let (_, Value::Summary(summary)) = self.get(measure)? { Some(summary) } else { None }
    }

    /// A place, or the middle of a measure, as a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some((_, Value::Summary(summary))) => Some(summary.median),
            Some((_, Value::Number(number))) => Some(*number),
            Some(_) => None,
            None => self.place(name)?.number,
        }
    }

    /// All numbers of a measure.
    pub(crate) fn numbers(&self, measure: &str) -> Vec<f64> {
        match self.get(measure) {
            Some((_, Value::Runs(runs))) => runs.iter().map(|run| run.value).collect(),
            _ => self.number(measure).into_iter().collect(),
        }
    }

    /// The interval of a measure, where more than one run gives one.
    pub(crate) fn range(&self, measure: &str) -> Option<(f64, f64)> {
        let s = self.summary(measure)?;
        (s.count > 1 && s.low.is_finite() && s.high.is_finite()).then_some((s.low, s.high))
    }

    /// A place or a measure as it reads, without a spread; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        if let Some(place) = self.place(name) {
            return place.text.clone();
        }
        match self.get(name) {
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
    pub(crate) fn label(&self, measure: &str) -> String {
        match self.get(measure) {
            Some((unit, Value::Summary(summary))) => {
                format!("{} {}", self.text(measure), format::spread_or_ends(summary, unit.show))
            }
            Some((_, Value::Shown(value, addition))) => format!("{value} {addition}"),
            _ => self.text(measure),
        }
    }
}

/// Those rows that lie at a place of a dimension.
pub(crate) fn only(rows: &[Row], dimension: &str, text: &str) -> Vec<Row> {
    rows.iter().filter(|row| row.place(dimension).is_some_and(|place| place.text == text)).cloned().collect()
}

/// The places along a dimension in the order in which they first come.
pub(crate) fn places(rows: &[Row], dimension: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for place in rows.iter().filter_map(|row| row.place(dimension)) {
        if !found.contains(&place.text) {
            found.push(place.text.clone());
        }
    }
    found
}

/// The schedulers in the order of the kernel's own list, others after them by name.
pub(crate) fn schedulers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let rank = |name: &str| ["none", "mq-deadline", "kyber", "bfq"].iter().position(|n| *n == name).unwrap_or(4);
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| (rank(name), *name));
    names.dedup();
    names
}
