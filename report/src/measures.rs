//! What rows are made of: dimensions and measures, each declared once.
//!
//! A kind declares its own in its folder (`columns.rs`); those that several kinds have are in `vocabulary`. The
//! declaration of a measure says its name, its unit, which way it improves if documents are compared by it, and whether
//! it may leave the device. Rows, tables, charts, comparisons, CSV, the JSON Schema and submissions use the
//! declaration, so a name that is not declared does not compile.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::format;
use crate::results::Better;

/// How values of a measure read, in a table and as a tick.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// In documents; empty for plain numbers and words.
    pub name: &'static str,
    /// With its unit.
    pub show: fn(f64) -> String,
    /// As a tick of an axis.
    pub tick: fn(f64) -> String,
}

/// The units.
pub mod unit {
    use super::{Unit, format};

    pub const fn of(name: &'static str, show: fn(f64) -> String, tick: fn(f64) -> String) -> Unit {
        Unit { name, show, tick }
    }

    /// Microseconds.
    pub const US: Unit = of("us", format::us, format::us_tick);
    /// Milliseconds.
    pub const MS: Unit = of("ms", format::ms, format::ms_tick);
    /// Seconds.
    pub const S: Unit = of("s", format::seconds, format::tick);
    /// Bytes.
    pub const BYTES: Unit = of("bytes", format::bytes, format::bytes);
    /// Bytes a second, in MB/s.
    pub const BANDWIDTH: Unit = of("bytes_per_s", format::bandwidth, |v| format::tick(v / 1e6));
    /// Bytes a second, in MB/s that the name of the measure says.
    pub const MB_PER_S: Unit = of("bytes_per_s", format::mb_per_s, |v| format::tick(v / 1e6));
    /// Counts and rates of requests.
    pub const COUNT: Unit =
        of("per_s", format::count, |v| if v < 1_000.0 { format::tick(v) } else { format::count(v) });
    /// Whole things.
    pub const TALLY: Unit = of("", format::tally, format::tick);
    /// Plain numbers.
    pub const NUMBER: Unit = of("", format::number, format::tick);
    /// Ratios.
    pub const TIMES: Unit = of("ratio", format::times, format::tick);
    /// Ratios as a paper prints them.
    pub const PRINTED: Unit = of("ratio", format::printed, format::tick);
    /// Percent with three digits.
    pub const PERCENT: Unit = of("percent", format::percent, format::tick);
    /// Whole percent.
    pub const SHARE: Unit = of("percent", |percent| format::share(percent, 100.0), format::tick);
    /// Microjoules.
    pub const ENERGY: Unit = of("uj", format::energy, format::tick);

    /// The unit with this name in documents.
    pub fn named(name: &str) -> Unit {
        let all = [US, MS, S, BYTES, BANDWIDTH, COUNT, ENERGY, TIMES, PERCENT];
        all.into_iter().find(|unit| unit.name == name).unwrap_or(NUMBER)
    }
}

/// A measure: what was found at a place of a study.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// In tables, comparisons and CSV.
    pub name: &'static str,
    /// How its values read, and its unit in documents.
    pub unit: Unit,
    /// Which way it improves; `None` for what pages alone show.
    pub better: Option<Better>,
    /// Whether its values may leave the device.
    leaves: bool,
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A measure of which less is better.
pub const fn lower(name: &'static str, unit: Unit) -> Measure {
    Measure { name, unit, better: Some(Better::Lower), leaves: false }
}

/// A measure of which more is better.
pub const fn higher(name: &'static str, unit: Unit) -> Measure {
    Measure { name, unit, better: Some(Better::Higher), leaves: false }
}

/// A measure that is compared and not judged.
pub const fn neither(name: &'static str, unit: Unit) -> Measure {
    Measure { name, unit, better: Some(Better::Neither), leaves: false }
}

/// A measure that pages alone show.
pub const fn shown(name: &'static str, unit: Unit) -> Measure {
    Measure { name, unit, better: None, leaves: false }
}

/// Words that pages alone show.
pub const fn words(name: &'static str) -> Measure {
    shown(name, unit::NUMBER)
}

impl Measure {
    /// The same, and its values may leave the device.
    pub const fn leaves(self) -> Self {
        Self { leaves: true, ..self }
    }

    /// Whether its values may leave the device.
    #[must_use]
    pub(crate) const fn may_leave(self) -> bool {
        self.leaves
    }

    /// A column of the interval of its summary.
    pub const fn interval(self) -> Column {
        Column::Interval(self)
    }

    /// A column of the spread of its summary.
    pub const fn spread(self) -> Column {
        Column::Spread(self)
    }

    /// A column of bars, for terminals.
    pub const fn bar(self) -> Column {
        Column::Bar(self)
    }
}

/// What the JSON Schema says of a measured field.
impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("unit", self.unit.name)?;
        map.serialize_entry("better", &self.better)?;
        map.serialize_entry("leaves_device", &self.leaves)?;
        map.end()
    }
}

/// What a column of places holds in CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// The place as it reads.
    Text,
    /// Its number.
    Integer,
}

/// A dimension: what tells places of a study apart.
#[derive(Debug, Clone, Copy)]
pub struct Dimension {
    /// In tables and comparisons.
    pub name: &'static str,
    /// Its column in CSV, where documents are compared by it.
    pub csv: Option<(&'static str, Type)>,
}

impl PartialEq for Dimension {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A dimension of pages alone.
pub const fn dimension(name: &'static str) -> Dimension {
    Dimension { name, csv: None }
}

impl Dimension {
    /// The same with a column in CSV.
    pub const fn column(self, name: &'static str, of: Type) -> Self {
        Self { csv: Some((name, of)), ..self }
    }
}

/// What stands in a column of a table, or where a chart takes its values from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Column {
    /// Nothing.
    #[default]
    Absent,
    /// Places.
    Dimension(Dimension),
    /// Values.
    Measure(Measure),
    /// Intervals of summaries.
    Interval(Measure),
    /// Spreads of summaries.
    Spread(Measure),
    /// Bars.
    Bar(Measure),
}

impl Column {
    /// Its head in a table.
    pub fn head(self) -> &'static str {
        match self {
            Self::Dimension(dimension) => dimension.name,
            Self::Measure(measure) => measure.name,
            Self::Interval(_) => "interval",
            Self::Spread(_) => "spread",
            Self::Bar(_) | Self::Absent => "",
        }
    }
}

impl From<Dimension> for Column {
    fn from(dimension: Dimension) -> Self {
        Self::Dimension(dimension)
    }
}

impl From<Measure> for Column {
    fn from(measure: Measure) -> Self {
        Self::Measure(measure)
    }
}

/// Columns of a table: dimensions, measures, and what is made of measures.
#[doc(hidden)]
#[macro_export]
macro_rules! __columns {
    ($($column:expr),+ $(,)?) => { &[$($crate::measures::Column::from($column)),+] as &[$crate::measures::Column] };
}
pub use __columns as columns;
