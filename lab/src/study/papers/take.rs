//! The value of a figure from a document, by the figure's figure. Pure.

use std::collections::BTreeMap;

use brisk_core::stats::Summary;
use brisk_report::Document;
use brisk_report::vocabulary::DIMENSIONS;
use thiserror::Error;

use super::table::{Figure, Fold, Found};

/// Between places of which any is meant.
const OR: char = '|';

/// Why a document has no value for a figure.
#[derive(Debug, Clone, PartialEq, Error)]
pub(super) enum TakeError {
    #[error("no value of '{measure}' at {place}: the run measured other things")]
    Nothing { measure: String, place: String },
    #[error("{count} rows have '{measure}' at {place}: the path has to name one, or a fold")]
    Several { measure: String, place: String, count: usize },
    #[error("nothing at {0}")]
    NoPointer(String),
    #[error("what it is divided by is zero")]
    Zero,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Value {
    value: f64,
    low: f64,
    high: f64,
    runs: Option<u64>,
}

/// The value at the figure's path. A ratio has the interval of its ends: the least over the greatest, and the reverse.
/// It is wider than one of pairs, as the document does not say which runs belong together. `other` is the document that
/// has what the value is over, where that is not the same one.
///
/// # Errors
/// When the document lacks it.
pub(super) fn take(
    figure: &Figure,
    document: &Document,
    other: Option<&Document>,
    from: &str,
) -> Result<Found, TakeError> {
    let one = |document, measure, place, pointer: Option<&String>| match pointer {
        Some(pointer) => pointed(document, pointer),
        None => placed(&values(document), figure, measure, place),
    };
    let mut value = one(document, &figure.measure, &figure.at, figure.pointer.as_ref())?;
    let has_place = !figure.over.is_empty() || figure.over_pointer.is_some();
    if has_place || other.is_some() {
        let (at, pointer) =
            if has_place { (&figure.over, &figure.over_pointer) } else { (&figure.at, &figure.pointer) };
        let measure = figure.over_measure.as_ref().unwrap_or(&figure.measure);
        let base = one(other.unwrap_or(document), measure, at, pointer.as_ref())?;
        if base.value == 0.0 || base.low == 0.0 {
            return Err(TakeError::Zero);
        }
        let runs = value.runs.zip(base.runs).map(|(one, other)| one.min(other));
        value =
            Value { value: value.value / base.value, low: value.low / base.high, high: value.high / base.low, runs };
    }
    let divide = figure.divide.unwrap_or(1.0);
    let end = |end: f64| (end != value.value).then(|| rounded(end / divide));
    let (low, high) = (end(value.low), end(value.high));
    // One end at the value is an end all the same.
    let or_value = |end: Option<f64>, other: Option<f64>| end.or(other.map(|_| rounded(value.value / divide)));
    Ok(Found {
        value: rounded(value.value / divide),
        low: or_value(low, high),
        high: or_value(high, low),
        runs: value.runs,
        from: from.to_owned(),
    })
}

/// Four digits: more would change with each run.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", usize::try_from(digits).unwrap_or(0));
    text.parse().unwrap_or(value)
}

fn pointed(document: &Document, pointer: &str) -> Result<Value, TakeError> {
    let none = || TakeError::NoPointer(pointer.to_owned());
    let json = serde_json::to_value(document).map_err(|_| none())?;
    let number = json.pointer(pointer).and_then(serde_json::Value::as_f64).ok_or_else(none)?;
    Ok(Value { value: number, low: number, high: number, runs: None })
}

/// A measure at a place of the document.
struct Placed {
    place: BTreeMap<String, String>,
    measure: String,
    value: Value,
}

/// A line of `--csv`.
struct Line {
    place: BTreeMap<String, String>,
    measure: String,
    statistic: String,
    value: f64,
    runs: Option<u64>,
}

/// The lines of the document that have a number.
fn lines(document: &Document) -> Vec<Line> {
    let text = brisk_report::csv(std::slice::from_ref(document));
    let columns: Vec<&str> = DIMENSIONS.iter().filter_map(|one| Some(one.csv?.0)).collect();
    let line = |record: BTreeMap<String, String>| {
        let of = |column: &str| record.get(column).cloned().unwrap_or_default();
        let filled = columns.iter().map(|column| ((*column).to_owned(), of(column)));
        Some(Line {
            place: filled.filter(|(_, text)| !text.is_empty()).collect(),
            measure: of("measure"),
            statistic: of("statistic"),
            value: of("value").parse().ok()?,
            runs: of("runs").parse().ok(),
        })
    };
    csv::Reader::from_reader(text.as_bytes()).into_deserialize().flatten().filter_map(line).collect()
}

/// Each measure at each place: single runs are summarised.
fn values(document: &Document) -> Vec<Placed> {
    let mut of_each: BTreeMap<(BTreeMap<String, String>, String), Vec<Line>> = BTreeMap::new();
    for line in lines(document) {
        of_each.entry((line.place.clone(), line.measure.clone())).or_default().push(line);
    }
    let one = |((place, measure), lines): ((BTreeMap<String, String>, String), Vec<Line>)| {
        let of = |statistic: &str| lines.iter().find(|line| line.statistic == statistic);
        let runs: Vec<f64> = lines.iter().filter(|line| line.statistic == "run").map(|line| line.value).collect();
        let value = if let Some(Summary { median, low, high, count, .. }) = Summary::of(&runs) {
            Value { value: median, low, high, runs: Some(count as u64) }
        } else if let Some(Line { value, runs, .. }) = of("median") {
            let end = |statistic| of(statistic).map_or(*value, |line| line.value);
            Value { value: *value, low: end("low"), high: end("high"), runs: *runs }
        } else {
            let Line { value, .. } = of("value")?;
            Value { value: *value, low: *value, high: *value, runs: None }
        };
        Some(Placed { place, measure, value })
    };
    of_each.into_iter().filter_map(one).collect()
}

fn placed(
    values: &[Placed],
    figure: &Figure,
    measure: &str,
    place: &BTreeMap<String, String>,
) -> Result<Value, TakeError> {
    let is = |one: &&Placed| {
        one.measure == measure
            && place.iter().all(|(column, text)| {
                one.place
                    .get(column)
                    .is_some_and(|at| text.split(OR).any(|text| text.split_whitespace().eq(at.split_whitespace())))
            })
    };
    let found: Vec<Value> = values.iter().filter(is).map(|one| one.value).collect();
    let place = || {
        let words = place.iter().map(|(column, text)| format!("{column} {text}"));
        words.collect::<Vec<_>>().join(", ")
    };
    let first = found.first().ok_or_else(|| TakeError::Nothing { measure: measure.to_owned(), place: place() })?;
    let sum = |of: fn(&Value) -> f64| found.iter().map(of).sum::<f64>();
    let max = |of: fn(&Value) -> f64| found.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let runs = found.iter().filter_map(|one| one.runs).min();
    let count = found.len() as f64;
    Ok(match figure.fold {
        None if found.len() == 1 => *first,
        None => {
            let (measure, count) = (measure.to_owned(), found.len());
            return Err(TakeError::Several { measure, place: place(), count });
        }
        Some(Fold::Sum) => Value { value: sum(|v| v.value), low: sum(|v| v.low), high: sum(|v| v.high), runs },
        Some(Fold::Mean) => {
            Value { value: sum(|v| v.value) / count, low: sum(|v| v.low) / count, high: sum(|v| v.high) / count, runs }
        }
        Some(Fold::Max) => Value { value: max(|v| v.value), low: max(|v| v.low), high: max(|v| v.high), runs },
    })
}
