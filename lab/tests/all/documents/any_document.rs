//! No document makes the views panic, print `NaN`, or break a page: numbers here are any bit pattern of a double.

use crate::documents::samples;
use std::sync::LazyLock;

use brisk_lab::results::{ALL_KINDS, Document};
use brisk_report::Condition;
use proptest::prelude::*;
use roxmltree::ParsingOptions;
use toml::Value;

/// The samples as values of TOML, which has `nan` and `inf` where JSON has not. Three apps are as good as ten.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut samples: Vec<Value> =
        samples::all().iter().map(|document| Value::try_from(document).expect("TOML")).collect();
    for apps in samples.iter_mut().filter_map(|sample| sample.get_mut("apps")?.as_array_mut()) {
        apps.truncate(3);
    }
    samples
});

/// Fields whose words and numbers mean something to serde.
const FIXED: [&str; 19] = [
    "better",
    "kind",
    "part",
    "schema_version",
    "pattern",
    "direction",
    "temperature",
    "stage",
    "cause",
    "method",
    "ending",
    "limit",
    "verdict",
    "code",
    "signal",
    "figure",
    "state",
    "by",
    "way",
];
/// Counts of 64 bits; all others have 32.
const LONG: [&str; 9] =
    ["count", "requests", "sequential_requests", "files", "files_count", "events", "lost_events", "seed", "bytes"];
/// Fields that may be absent in every kind that has them.
const OPTIONAL: [&str; 36] = [
    "bound_s",
    "crashes",
    "run_s",
    "gain",
    "published_gain_low",
    "published_gain_high",
    "ratio_low",
    "ratio_high",
    "p_value",
    "latency_ms",
    "split",
    "storage",
    "settled_less_cpu_wait_ms",
    "loaded_ratio",
    "idle_ratio",
    "slowdown",
    "job_s",
    "read_peers_us",
    "write_peers_us",
    "value",
    "value_worst",
    "peer",
    "peer_found",
    "cold",
    "phone",
    "gone_percent",
    "added_ms",
    "writer",
    "failure",
    "io_engine",
    "runtime_delay",
    "touched",
    "sum_ms",
    "screen_ms",
    "context",
    "cost",
];

/// What replaces the good values of the samples: all numbers, and some names and optional fields.
#[derive(Debug, Clone)]
struct Noise {
    numbers: Vec<f64>,
    counts: Vec<u64>,
    text: String,
    kept: usize,
}

fn any_noise() -> impl Strategy<Value = Noise> {
    let numbers = prop::collection::vec(any::<f64>(), 1..9);
    (numbers, prop::collection::vec(any::<u64>(), 1..6), any::<String>(), 0usize..20)
        .prop_map(|(numbers, counts, text, kept)| Noise { numbers, counts, text, kept })
}

impl Noise {
    /// Replaces what is in `value`, the `nth` of its document.
    fn spoil(&self, key: &str, value: &mut Value, nth: &mut usize) {
        *nth += 1;
        let count = self.counts[*nth % self.counts.len()];
        match value {
            _ if FIXED.contains(&key) && !value.is_array() => {}
            Value::Float(number) => *number = self.numbers[*nth % self.numbers.len()],
            // A summary of none or few runs has words of its own.
            Value::Integer(number) if key == "count" && nth.is_multiple_of(2) => *number = (count % 9) as i64,
            Value::Integer(number) if key.ends_with("_bytes") && !key.starts_with("logical") || LONG.contains(&key) => {
                *number = (count >> 1) as i64
            }
            Value::Integer(number) => *number = (count >> 32) as i64,
            Value::String(text) if nth.is_multiple_of(3) => text.clone_from(&self.text),
            Value::Array(items) => {
                // Pairs are arrays too.
                if items.iter().all(Value::is_table) {
                    items.truncate(self.kept);
                }
                items.iter_mut().for_each(|item| self.spoil(key, item, nth));
            }
            Value::Table(fields) => {
                // What can run on this machine too may have no phone; suites always have one, and no screen in their
                // reports.
                let needs_phone = !fields.contains_key("screen");
                fields.retain(|name, field| {
                    *nth += 1;
                    // A repetition has its latency, a step may lack one.
                    let optional = OPTIONAL.contains(&name)
                        && (name != "latency_ms" || field.is_table())
                        && !(name == "phone" && needs_phone);
                    !(optional && nth.is_multiple_of(4))
                });
                fields.iter_mut().for_each(|(name, field)| self.spoil(name, field, nth));
            }
            _ => {}
        }
    }

    /// The samples with this noise in all numbers and some names.
    fn documents(&self) -> Vec<Document> {
        let spoiled = |(i, sample): (usize, &Value)| {
            let (mut value, mut nth) = (sample.clone(), i);
            self.spoil("", &mut value, &mut nth);
            document(value)
        };
        SAMPLES.iter().enumerate().map(spoiled).collect()
    }
}

fn document(value: Value) -> Document {
    let kind = value["kind"].as_str().expect("a kind").to_owned();
    ALL_KINDS.read_value(&kind, value).expect("still a document").expect("a known kind")
}

/// `NaN` and `inf` as a number would print them, not as part of a word.
fn is_number_gone_wrong(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).trim_end_matches('x');
    ["NaN", "inf"].contains(&bare)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_document_makes_the_views_panic_or_print_nan(noise in any_noise(), width in prop::option::of(0u16..200)) {
        let mut documents = noise.documents();
        // One good document with its spoiled twin: any, over the cases.
        let nth = (noise.kept + noise.numbers.len()) % SAMPLES.len();
        let one = |name: &str, document: Document| Condition {
            name: name.to_owned(),
            documents: vec![(format!("{name}.json"), document)],
        };
        let good = document(SAMPLES[nth].clone());
        let pair = [one("good", good), one(&noise.text, documents[nth].clone())];
        if let Ok(found) = brisk_report::compare(&pair, &[], ("2026-11-24T07:00:00Z", "0.1.0")) {
            documents.push(Document::from(found));
        }
        let mut shown: Vec<String> = documents.iter().map(|d| brisk_report::terminal(d, width)).collect();
        shown.extend(brisk_report::together(&documents, width));
        let page = brisk_report::html(&documents);
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let xml = roxmltree::Document::parse_with_options(&page, options);
        prop_assert!(xml.is_ok(), "{}", xml.err().map_or_else(String::new, |e| e.to_string()));
        shown.push(page);
        for text in shown {
            prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
            if !["NaN", "inf"].iter().any(|word| noise.text.contains(word)) {
                let mut words = text.split(|c: char| c.is_whitespace() || "\"<>,();:".contains(c));
                let wrong = words.find(|word| is_number_gone_wrong(word));
                prop_assert!(wrong.is_none(), "{:?}", wrong);
            }
        }
    }
}

#[test]
fn every_kind_that_is_written_is_read() {
    let mut kinds: Vec<&str> = Vec::new();
    for document in samples::all() {
        let value = serde_json::to_value(&document).expect("JSON");
        let read = brisk_report::parse(ALL_KINDS, value.to_string().as_bytes()).expect("read");
        assert_eq!(read.as_slice(), std::slice::from_ref(&document));
        assert_eq!(value["kind"], document.kind());
        kinds.push(document.kind());
    }
    let mut known = ALL_KINDS.names();
    kinds.sort_unstable();
    known.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, known, "a kind has no sample");
}
