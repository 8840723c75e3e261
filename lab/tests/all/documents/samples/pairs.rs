//! The same document from a device that is slower, for each kind; and a comparison.

use brisk_lab::results::{ALL_KINDS, ComparisonReport, Document, SlowdownReport};
use brisk_report::Condition;
use serde_json::Value;

use super::{footprint, header, schedulers, slowdown, summary};

/// What a document says of how it was measured, whatever its unit.
const ASKED: [&str; 6] =
    ["trial_s", "cell_s", "duration_s", "read_interval_us", "target_bytes_per_s", "lateness_ns_bound"];
/// Ends of the names of times and energies. A key that ends in none of these and in `_per_s` is no time.
const COSTS: [&str; 9] = ["_us", "_ms", "_s", "_uj", "_mean", "_p50", "_p95", "_p99", "_max"];

/// `document` as if all took `factor` times as long, and rates were as much lower.
pub fn slower(document: &Document, factor: f64) -> Document {
    let mut value = serde_json::to_value(document).expect("JSON");
    slow("", &mut value, factor);
    let kind = document.kind();
    ALL_KINDS.read(kind, &value.to_string()).expect("still a document").expect("a known kind")
}

fn slow(key: &str, value: &mut Value, factor: f64) {
    let of_key = match key {
        key if ASKED.contains(&key) => 1.0,
        key if key.ends_with("_per_s") => 1.0 / factor,
        "cpu_us_per_request" => factor,
        key if COSTS.iter().any(|end| key.ends_with(end)) => factor,
        _ => 1.0,
    };
    match value {
        Value::Number(number) if of_key != 1.0 && number.is_f64() => {
            *value = number.as_f64().map_or(Value::Null, |number| Value::from(number * of_key));
        }
        // A summary has the unit of its key.
        Value::Object(fields) if fields.contains_key("median") => {
            for (name, field) in
                fields.iter_mut().filter(|(name, _)| !["count", "confidence", "variation"].contains(&name.as_str()))
            {
                let number = field.as_f64().unwrap_or_else(|| panic!("{key}.{name}"));
                *field = Value::from(number * of_key);
            }
        }
        // What is done with and without something.
        Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| match name.as_str() {
            "with" | "without" => slow(key, field, factor),
            name => slow(name, field, factor),
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| slow(key, item, factor)),
        _ => {}
    }
}

/// A condition of these documents.
pub fn condition(name: &str, documents: &[Document]) -> Condition {
    let file = |(i, document): (usize, &Document)| (format!("{name}-{i}.json"), document.clone());
    Condition { name: name.to_owned(), documents: documents.iter().enumerate().map(file).collect() }
}

/// Three conditions of three studies: one slower, and one on another device that lacks a study.
pub fn comparison() -> ComparisonReport {
    let mut mixes = schedulers();
    mixes.points.truncate(6);
    let studies = [Document::from(slowdown()), Document::from(footprint()), Document::from(mixes)];
    let mut after = studies.clone().map(|document| slower(&document, 1.3));
    let mut report = after[0].get::<SlowdownReport>().expect("a slowdown").clone();
    report.header.environment.kernel = "6.12.1".into();
    report.stream_bytes *= 2;
    after[0] = Document::from(report);
    let mut other = slowdown();
    other.header = header(None);
    other.rows.truncate(2);
    for row in &mut other.rows {
        row.read_alone_us = summary(row.read_alone_us.median / 2.0, 3.0, 7);
        row.write_alone_us = summary(row.write_alone_us.median, 0.0, 1);
        row.read_beside_us = summary(row.read_beside_us.median, 5.0, 2);
    }
    let conditions =
        [condition("before", &studies), condition("after", &after), condition("other", &[Document::from(other)])];
    let found = brisk_report::compare(&conditions, &[], ("2026-11-24T07:00:00Z", "0.2.0")).expect("slowdowns");
    ComparisonReport { fail_on_regression_percent: Some(5.0), ..found }
}
