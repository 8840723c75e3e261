//! Documents of the same kind compared, measure by measure.
//!
//! ```text
//! Document ─> Kind::rows ─> [Row] ─┐
//!                                ├─ join by dimensions ─> Estimate ─> LogRatio ─> level of all ─> verdict
//! Document ─> Kind::rows ─> [Row] ─┘     (pooled over documents)  (log_ratio)   (false_alarms)
//! ```
//!
//! - `rows` of each [`Kind`](crate::Kind): what is compared; `measures`: which way each measure improves.
//! - `log_ratio`: ratio, p value and interval of one measure.
//! - `false_alarms`: the level at which a measure counts as changed, given all of them.
//! - `circumstances`: in what the conditions differ.
//!
//! Properties, each with a test of the same name (`lab/tests/all/documents/compare.rs`):
//! - swapped conditions invert ratios and verdicts;
//! - a document compared with itself has no change;
//! - scaling both conditions changes no ratio;
//! - equal conditions raise a false alarm in no more cases than promised.

mod circumstances;
mod false_alarms;
mod log_ratio;

use std::collections::{HashMap, HashSet};

use crate::results::{
    Better, ChangeVerdict, ComparedCondition, ComparedDocument, ComparedMeasure, ComparedValue, ComparisonReport,
    Document, Header, SCHEMA_VERSION, UnmatchedMeasure, Warning,
};
use thiserror::Error;

use crate::format;
use crate::measures::Measure;
use crate::rows::Row;
use log_ratio::{Estimate, LogRatio};

/// Documents that were measured under the same condition: repeats of each other where they are of one kind and device.
#[derive(Debug, Clone)]
pub struct Condition {
    /// A name that no other condition has.
    pub name: String,
    /// Documents, each with the name of its file.
    pub documents: Vec<(String, Document)>,
}

impl Condition {
    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Document> {
        self.documents.iter().map(|(_, document)| document).filter(move |document| document.kind() == kind)
    }

    /// Its kinds, each once.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<&'static str> = Vec::new();
        for (_, document) in &self.documents {
            if !kinds.contains(&document.kind()) {
                kinds.push(document.kind());
            }
        }
        kinds
    }
}

/// Why documents cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// Fewer than two conditions.
    #[error("one condition has nothing to be compared with: name two files, folders or lists of files")]
    OneCondition,
    /// The result of a comparison.
    #[error("{file} is a comparison itself: compare the documents that it was made of")]
    Comparison {
        /// Its file.
        file: String,
    },
    /// No kind in common.
    #[error(
        "{baseline} has documents of kind {baseline_kinds}, {condition} of kind {kinds}: only documents of the same \
         kind compare"
    )]
    DifferentKinds {
        /// The baseline.
        baseline: String,
        /// Its kinds.
        baseline_kinds: String,
        /// The condition.
        condition: String,
        /// Its kinds.
        kinds: String,
    },
    /// The same kind, and not one place in common.
    #[error(
        "{baseline} and {condition} have no measure in common: {baseline} has, for one, {in_baseline}; {condition} has \
         {in_condition}"
    )]
    NothingInCommon {
        /// The baseline.
        baseline: String,
        /// The condition.
        condition: String,
        /// What the baseline has.
        in_baseline: String,
        /// What the condition has.
        in_condition: String,
    },
    /// A pattern that selects nothing.
    #[error(
        "--only {pattern:?} selects none of the {measures} measures, such as {example:?}: use a part of such a name, \
         with * for any text"
    )]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// How many there are.
        measures: usize,
        /// One of them.
        example: String,
    },
}

/// A measure of a place: what joins two documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: &'static str,
    place: Vec<(String, String)>,
    measure: &'static str,
}

/// A measure under one condition.
#[derive(Debug, Clone)]
struct Found {
    key: Key,
    measure: Measure,
    /// One for each document that has it; `None` where the value is not positive.
    estimates: Vec<Option<Estimate>>,
}

/// All measures of a condition, in the order of its documents, and where each is among them.
#[derive(Debug, Default)]
struct All {
    found: Vec<Found>,
    at: HashMap<Key, usize>,
}

impl All {
    fn get(&self, key: &Key) -> Option<&Found> {
        self.at.get(key).map(|at| &self.found[*at])
    }

    fn add(&mut self, key: &Key, measure: Measure, estimate: Option<Estimate>) {
        let next = self.found.len();
        let at = *self.at.entry(key.clone()).or_insert(next);
        if at == next {
            self.found.push(Found { key: key.clone(), measure, estimates: Vec::new() });
        }
        self.found[at].estimates.push(estimate);
    }
}

/// `baseline` and then others, each held against it. `only` are patterns of the measures to compare, all of them where
/// it is empty; `now` is the time of the comparison in RFC 3339, and `version` that of brisk.
///
/// # Errors
/// When there is nothing to compare.
pub fn compare(
    conditions: &[Condition],
    only: &[String],
    (now, version): (&str, &str),
) -> Result<ComparisonReport, CompareError> {
    let [baseline, others @ ..] = conditions else { return Err(CompareError::OneCondition) };
    if others.is_empty() {
        return Err(CompareError::OneCondition);
    }
    let is_comparison = |(_, document): &&(String, Document)| document.get::<ComparisonReport>().is_some();
    if let Some((file, _)) = conditions.iter().flat_map(|condition| &condition.documents).find(is_comparison) {
        return Err(CompareError::Comparison { file: file.clone() });
    }
    let devices = several_devices(conditions);
    let of_baseline = found(baseline, &devices);
    let (mut measures, mut unmatched, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let (mut differences, mut warnings) = (Vec::new(), Vec::new());
    let mut compared_kinds: Vec<&'static str> = Vec::new();
    for condition in others {
        let kinds: Vec<&'static str> =
            condition.kinds().into_iter().filter(|kind| baseline.kinds().contains(kind)).collect();
        if kinds.is_empty() {
            return Err(CompareError::DifferentKinds {
                baseline: baseline.name.clone(),
                baseline_kinds: baseline.kinds().join(", "),
                condition: condition.name.clone(),
                kinds: condition.kinds().join(", "),
            });
        }
        let of_condition = found(condition, &devices);
        let (joined, lone) = join((baseline, &of_baseline), (condition, &of_condition));
        if joined.is_empty() {
            let first = |all: &All| {
                let of_kind = all.found.iter().find(|one| kinds.contains(&one.key.kind));
                let named = of_kind.map(|one| words(&one.key.place, one.key.measure));
                named.map_or_else(|| "none".to_owned(), |named| format::harmless(&named))
            };
            return Err(CompareError::NothingInCommon {
                baseline: baseline.name.clone(),
                condition: condition.name.clone(),
                in_baseline: first(&of_baseline),
                in_condition: first(&of_condition),
            });
        }
        all.extend(joined.iter().map(|(one, _)| full_words(&one.kind, &one.place, &one.measure)));
        measures.extend(joined);
        unmatched.extend(lone);
        let (found, doubtful) = circumstances::differences(baseline, condition, &kinds);
        differences.extend(found);
        warnings.extend(doubtful);
        warnings.extend(circumstances::mixed(condition, &kinds));
        compared_kinds.extend(kinds);
        compared_kinds.sort_unstable();
        compared_kinds.dedup();
    }
    warnings.extend(circumstances::mixed(baseline, &compared_kinds));
    warnings.extend(circumstances::of_documents(conditions, &compared_kinds));
    if let Some(pattern) = only.iter().find(|pattern| !all.iter().any(|one| selects(pattern, one))) {
        let example = all.first().map(|one| format::harmless(one)).unwrap_or_default();
        return Err(CompareError::NoMatch { pattern: pattern.clone(), measures: all.len(), example });
    }
    let is_selected = |kind: &str, place: &[(String, String)], measure: &str| {
        only.is_empty() || only.iter().any(|pattern| selects(pattern, &full_words(kind, place, measure)))
    };
    measures.retain(|(one, _)| is_selected(&one.kind, &one.place, &one.measure));
    unmatched.retain(|one: &UnmatchedMeasure| is_selected(&one.kind, &one.place, &one.measure));
    let (measures, level) = judge(measures);
    Ok(ComparisonReport {
        header: head(baseline, (now, version), warnings),
        conditions: conditions.iter().map(listed).collect(),
        differences,
        only: only.to_vec(),
        false_discovery_percent: false_alarms::RATE * 100.0,
        interval_percent: (1.0 - level) * 100.0,
        fail_on_regression_percent: None,
        measures,
        unmatched,
    })
}

/// The head of the result: the circumstances are those of the baseline.
fn head(baseline: &Condition, (now, version): (&str, &str), warnings: Vec<Warning>) -> Header {
    let (_, first) = baseline.documents.first().expect("a condition that has a kind has a document of it");
    let mut environment = first.header().environment.clone();
    version.clone_into(&mut environment.brisk_version);
    Header {
        schema_version: SCHEMA_VERSION,
        started: now.to_owned(),
        duration_s: 0.0,
        environment,
        io_engine: None,
        seed: 0,
        written_bytes: 0,
        warnings,
    }
}

fn listed(condition: &Condition) -> ComparedCondition {
    let documents = condition.documents.iter().map(|(file, document)| ComparedDocument {
        file: file.clone(),
        kind: document.kind().to_owned(),
        started: document.header().started.clone(),
    });
    ComparedCondition { name: condition.name.clone(), documents: documents.collect() }
}

/// The kinds of which a condition has documents of several devices: their measures are told apart by the device.
/// Otherwise a device is a circumstance, and two may be compared.
fn several_devices(conditions: &[Condition]) -> Vec<&'static str> {
    let has_several = |condition: &Condition, kind: &str| {
        let mut devices: Vec<String> = condition.of_kind(kind).map(circumstances::device).collect();
        devices.sort();
        devices.dedup();
        devices.len() > 1
    };
    let several = |kind: &&&'static str| conditions.iter().any(|condition| has_several(condition, kind));
    let mut kinds: Vec<&'static str> = conditions.iter().flat_map(Condition::kinds).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.iter().filter(several).copied().collect()
}

/// All measures of a condition.
fn found(condition: &Condition, several_devices: &[&'static str]) -> All {
    let mut all = All::default();
    for (_, document) in &condition.documents {
        let kind = document.kind();
        let device = several_devices.contains(&kind).then(|| ("device".to_owned(), circumstances::device(document)));
        // Base loads are points of the sweeps too: the first counts.
        let mut of_document: HashSet<Key> = HashSet::new();
        for row in document.rows() {
            for (key, measure, estimate) in measures_of(kind, device.as_ref(), &row) {
                if of_document.insert(key.clone()) {
                    all.add(&key, measure, estimate);
                }
            }
        }
    }
    all
}

fn measures_of<'a>(
    kind: &'static str,
    device: Option<&'a (String, String)>,
    row: &'a Row,
) -> impl Iterator<Item = (Key, Measure, Option<Estimate>)> + 'a {
    row.measures().map(move |(measure, value)| {
        debug_assert!(measure.better.is_some(), "{} is not declared to be compared", measure.name);
        let place = row.dimensions().filter(|(_, place)| !place.text.is_empty());
        let place = place.map(|(dimension, place)| (dimension.name.to_owned(), place.text.clone()));
        let place = device.cloned().into_iter().chain(place).collect();
        (Key { kind, place, measure: measure.name }, measure, Estimate::of(value))
    })
}

/// A comparison whose verdict waits for all others.
type Joined = (ComparedMeasure, Option<LogRatio>);

/// What both have, and what only one has of the kinds of which the other has a document.
fn join(
    (baseline, of_baseline): (&Condition, &All),
    (condition, of_condition): (&Condition, &All),
) -> (Vec<Joined>, Vec<UnmatchedMeasure>) {
    let lone = |one: &Found, only_in: &Condition, not_in: &Condition| UnmatchedMeasure {
        only_in: only_in.name.clone(),
        not_in: not_in.name.clone(),
        kind: one.key.kind.to_owned(),
        place: one.key.place.clone(),
        measure: one.key.measure.to_owned(),
    };
    let (mut joined, mut unmatched) = (Vec::new(), Vec::new());
    for one in &of_condition.found {
        match of_baseline.get(&one.key) {
            Some(base) => joined.push(measure(&condition.name, base, one)),
            None => unmatched.push(lone(one, condition, baseline)),
        }
    }
    let lacks = |one: &&Found| of_condition.get(&one.key).is_none();
    unmatched.extend(of_baseline.found.iter().filter(lacks).map(|one| lone(one, baseline, condition)));
    (joined, unmatched)
}

/// One measure of both, without its verdict.
fn measure(condition: &str, baseline: &Found, compared: &Found) -> Joined {
    let estimate = |found: &Found| {
        let all: Option<Vec<Estimate>> = found.estimates.iter().copied().collect();
        all.and_then(|all| log_ratio::pooled(&all))
    };
    let (base, other) = (estimate(baseline), estimate(compared));
    let value = |estimate: Option<Estimate>, found: &Found| ComparedValue {
        // A value that is no positive number is zero here: nothing else is measured.
        centre: estimate.map_or(0.0, |estimate| estimate.log.exp()),
        runs: estimate.map_or(0, |estimate| estimate.runs),
        documents: found.estimates.len() as u64,
    };
    let ratio = base.zip(other).map(|(base, other)| LogRatio::of(&other, &base));
    let (key, measure) = (&compared.key, compared.measure);
    let found = ComparedMeasure {
        condition: condition.to_owned(),
        kind: key.kind.to_owned(),
        place: key.place.clone(),
        measure: measure.name.to_owned(),
        unit: measure.unit.name.to_owned(),
        better: measure.better.unwrap_or(Better::Neither),
        baseline: value(base, baseline),
        compared: value(other, compared),
        ratio: ratio.map(|ratio| ratio.log.exp()).filter(|ratio| ratio.is_finite() && *ratio > 0.0),
        ratio_low: None,
        ratio_high: None,
        p_value: ratio.and_then(|ratio| ratio.p_value()),
        verdict: ChangeVerdict::NoRatio,
    };
    (found, ratio)
}

/// All verdicts, and the level that they have in common: the chance that an interval misses its ratio.
fn judge(measures: Vec<Joined>) -> (Vec<ComparedMeasure>, f64) {
    let judged = measures.iter().filter(|(one, _)| one.better != Better::Neither);
    let p_values: Vec<f64> = judged.filter_map(|(one, _)| one.p_value).collect();
    let level = false_alarms::level(&p_values);
    let complete = |(mut one, ratio): Joined| {
        if let Some((low, high)) = ratio.and_then(|ratio| ratio.interval(level)) {
            (one.ratio_low, one.ratio_high) = (Some(low), Some(high));
        }
        one.verdict = verdict(&one, level);
        one
    };
    let mut measures: Vec<ComparedMeasure> = measures.into_iter().map(complete).collect();
    // The sort is stable: equals stay in the order of the documents.
    measures.sort_by(|a, b| a.verdict.cmp(&b.verdict).then_with(|| certain_change(b).total_cmp(&certain_change(a))));
    (measures, level)
}

fn verdict(one: &ComparedMeasure, level: f64) -> ChangeVerdict {
    let (base, other) = (&one.baseline, &one.compared);
    let Some(ratio) = one.ratio else {
        let both_zero = base.centre == 0.0 && other.centre == 0.0;
        return if both_zero { ChangeVerdict::NoChange } else { ChangeVerdict::NoRatio };
    };
    match (one.better, one.p_value) {
        (Better::Neither, _) => ChangeVerdict::NotJudged,
        (_, None) if base.runs < 2 || other.runs < 2 => ChangeVerdict::OneRun,
        (_, None) => ChangeVerdict::TooFewRuns,
        (_, Some(p)) if p > level || ratio == 1.0 => ChangeVerdict::NoChange,
        (better, Some(_)) if (ratio > 1.0) == (better == Better::Higher) => ChangeVerdict::Improved,
        _ => ChangeVerdict::Regressed,
    }
}

/// By how much it has changed for certain, as a logarithm: the end of the interval that is nearest to 1; where that is
/// unknown or includes 1, less than any certain change, and larger ratios first.
fn certain_change(one: &ComparedMeasure) -> f64 {
    let log = |ratio: Option<f64>| ratio.map_or(0.0, f64::ln);
    let (low, high) = (log(one.ratio_low), log(one.ratio_high));
    let nearest = low.max(-high);
    if nearest > 0.0 { 1e6 + nearest } else { log(one.ratio).abs() }
}

/// A place and its measure as they read: `random read, 4 KiB, depth 32: throughput`.
pub(crate) fn words(place: &[(String, String)], measure: &str) -> String {
    // A number needs the name of its dimension.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b" +".contains(&byte));
    let word = |(dimension, text): &(String, String)| match text.as_str() {
        text if is_number(text) => format!("{dimension} {text}"),
        "its own" => format!("its own {dimension}"),
        text => text.to_owned(),
    };
    let words: Vec<String> = place.iter().map(word).collect();
    format!("{}: {measure}", format::joined(words.iter().map(String::as_str)))
}

/// The same behind the kind: what patterns select by.
fn full_words(kind: &str, place: &[(String, String)], measure: &str) -> String {
    format!("{kind}: {}", words(place, measure))
}

/// Whether a pattern is part of a text, in either case of letters; `*` stands for any text.
fn selects(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut rest = text.as_str();
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}
