//! Results as a table for programs: CSV with one line for each value.
//!
//! Columns are the same whatever the documents are, so that tables of many results can be joined line by line:
//!
//! - where it comes from: `document` (its number in the input), `kind`, `started` (RFC 3339, UTC), `brisk_version`,
//!   `commit`, `kernel`, `architecture`, `device`, `scheduler`, `file_system`;
//! - the place of the study: a column for each of [`DIMENSIONS`], empty where a kind has no such dimension;
//! - the value: `measure`, `unit` (`us`, `bytes_per_s`, `ratio`, ...), `statistic`, `run`, `runs`, `value`. A statistic
//!   is `run` (one run, whose number is in `run`), `value` (one number for all runs), or, where a document keeps no
//!   runs, `median`, `low` and `high` (ends of the interval of the median), `min` and `max`. `runs` is the number of
//!   runs behind it;
//! - of a comparison also `compared` (the condition), `compared_kind` and `verdict`; its statistics are `baseline`,
//!   `compared`, `ratio`, `ratio_low`, `ratio_high` and `p_value`.
//!
//! Numbers have a point and no other signs; what is not known is empty. The rows are those that documents are compared
//! by ([`crate::compare()`]).

use std::collections::HashSet;

use crate::results::{ComparedMeasure, ComparisonReport, Document};
use brisk_core::stats::Summary;

use crate::facts::device_name;
use crate::measures::{Dimension, Measure, Type};
use crate::rows::{Place, Row, Value};
use crate::vocabulary::DIMENSIONS;

const FROM: [&str; 10] = [
    "document",
    "kind",
    "started",
    "brisk_version",
    "commit",
    "kernel",
    "architecture",
    "device",
    "scheduler",
    "file_system",
];
const FOUND: [&str; 9] =
    ["measure", "unit", "statistic", "run", "runs", "value", "compared", "compared_kind", "verdict"];

/// One value with what says which one it is.
struct Line {
    places: Vec<String>,
    found: [String; 9],
}

/// See [`crate::csv`].
pub(crate) fn csv(documents: &[Document]) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    let heads = FROM.into_iter().chain(DIMENSIONS.iter().filter_map(|one| Some(one.csv?.0))).chain(FOUND);
    let mut written = table.write_record(heads);
    for (i, document) in documents.iter().enumerate() {
        let from = origin(i + 1, document);
        for line in lines(document) {
            let record = from.iter().chain(&line.places).chain(&line.found);
            written = written.and(table.write_record(record.map(|text| crate::format::harmless(text))));
        }
    }
    written.expect("all records have as many fields, and memory takes them");
    let bytes = table.into_inner().expect("memory takes all that is written");
    String::from_utf8(bytes).expect("it was written from text")
}

fn origin(number: usize, document: &Document) -> [String; 10] {
    let header = document.header();
    let environment = &header.environment;
    let device = environment.device.as_ref();
    [
        number.to_string(),
        document.kind().to_owned(),
        header.started.clone(),
        environment.brisk_version.clone(),
        environment.commit.clone().unwrap_or_default(),
        environment.kernel.clone(),
        environment.architecture.clone(),
        device_name(header, &document.section()),
        device.and_then(|device| device.scheduler.clone()).unwrap_or_default(),
        environment.file_system.clone().unwrap_or_default(),
    ]
}

/// The values of a document, each place and statistic once.
fn lines(document: &Document) -> Vec<Line> {
    let mut lines: Vec<Line> = match document.get() {
        Some(report) => compared(report),
        None => document.rows().iter().flat_map(values).collect(),
    };
    let mut known = HashSet::new();
    lines.retain(|line| {
        let [measure, _, statistic, run, _, _, compared, kind, _] = line.found.clone();
        known.insert((line.places.clone(), measure, statistic, run, compared, kind))
    });
    lines
}

/// A number as programs read it; empty where it is none.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { String::new() }
}

fn values(row: &Row) -> Vec<Line> {
    debug_assert!(row.dimensions().all(|(one, _)| DIMENSIONS.contains(&one)), "{row:?}");
    let places = places(|dimension| row.place(dimension).cloned());
    let line = |measure: Measure, statistic: &str, run: String, runs: String, value: f64| {
        let found =
            [measure.name, measure.unit.name, statistic, &run, &runs, &number(value), "", "", ""].map(str::to_owned);
        Line { places: places.clone(), found }
    };
    let mut lines = Vec::new();
    for (measure, value) in row.measures() {
        match value {
            Value::Runs(runs) => lines.extend(
                runs.iter()
                    .enumerate()
                    .map(|(i, run)| line(measure, "run", (i + 1).to_string(), runs.len().to_string(), run.value)),
            ),
            Value::Summary(summary) => {
                let Summary { count, median, low, high, min, max, .. } = *summary;
                let all = [("median", median), ("low", low), ("high", high), ("min", min), ("max", max)];
                lines.extend(all.map(|(what, value)| line(measure, what, String::new(), count.to_string(), value)));
            }
            Value::Number(value) => lines.push(line(measure, "value", String::new(), String::new(), *value)),
            Value::Words(_) | Value::Verdict(..) | Value::Shown(..) | Value::Split(..) => {}
        }
    }
    lines
}

/// The columns of the dimensions, where `of` finds them.
fn places(of: impl Fn(Dimension) -> Option<Place>) -> Vec<String> {
    let column = |dimension: &Dimension| match (of(*dimension), dimension.csv?.1) {
        (None, _) => Some(String::new()),
        (Some(place), Type::Text) => Some(place.text),
        (Some(place), Type::Integer) => Some(place.number.map_or_else(String::new, |number| format!("{number:.0}"))),
    };
    DIMENSIONS.iter().filter_map(column).collect()
}

fn compared(report: &ComparisonReport) -> Vec<Line> {
    report.measures.iter().flat_map(compared_lines).collect()
}

fn compared_lines(one: &ComparedMeasure) -> Vec<Line> {
    let place = |dimension: Dimension| {
        let (_, text) = one.place.iter().find(|(name, _)| name == dimension.name)?;
        Some(Place { text: text.clone(), number: quantity(text) })
    };
    let places = places(place);
    let verdict = serde_json::to_value(one.verdict).ok();
    let verdict = verdict.as_ref().and_then(|word| word.as_str()).unwrap_or_default();
    let line = |statistic: &str, unit: &str, runs: String, value: f64| {
        let value = number(value);
        let found =
            [&one.measure, unit, statistic, "", &runs, &value, &one.condition, &one.kind, verdict].map(str::to_owned);
        Line { places: places.clone(), found }
    };
    let values = [("baseline", one.baseline), ("compared", one.compared)];
    let values = values.map(|(what, value)| line(what, &one.unit, value.runs.to_string(), value.centre));
    let ratios = [("ratio", one.ratio), ("ratio_low", one.ratio_low), ("ratio_high", one.ratio_high)];
    let ratios = ratios.into_iter().filter_map(|(what, ratio)| Some(line(what, "ratio", String::new(), ratio?)));
    let chance = one.p_value.map(|p| line("p_value", "probability", String::new(), p));
    values.into_iter().chain(ratios).chain(chance).collect()
}

/// The number that the words of a place begin with or end in: `4 KiB`, `within 8 MiB`, `1 + 1`, `32`.
fn quantity(text: &str) -> Option<f64> {
    let text = text.trim_start_matches("within ");
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let value: f64 = first.parse().ok()?;
    let factor = match rest {
        "" | "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        rest if rest.starts_with('+') => 1.0,
        _ => return None,
    };
    Some(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_in_words_is_its_number() {
        let all = ["4 KiB", "within 8 MiB", "1 + 1", "32", "its own", "1.5 GiB"].map(quantity);
        assert_eq!(
            all,
            [
                Some(4096.0),
                Some(8.0 * 1024.0 * 1024.0),
                Some(1.0),
                Some(32.0),
                None,
                Some(1.5 * 1024.0 * 1024.0 * 1024.0)
            ]
        );
    }
}
