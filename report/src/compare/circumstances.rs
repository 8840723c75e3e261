//! In what two conditions differ before anything is compared: device, kernel, versions, and how it was measured.

use crate::results::{ConditionDifference, Document, Header, Warning};

use super::Condition;
use crate::facts::device_name;
use crate::format;

/// A circumstance of a document.
struct Circumstance {
    what: &'static str,
    value: String,
    /// Whether it says how it was measured, and not on what.
    is_mode: bool,
}

/// The device in a few words, for headings and to tell documents of one kind apart.
pub(super) fn device(document: &Document) -> String {
    device_name(document.header(), &document.section())
}

fn circumstances(document: &Document) -> Vec<Circumstance> {
    let environment = &document.header().environment;
    let block = environment.device.as_ref();
    let tags = |of: Option<u32>, unit: &str| of.map_or_else(String::new, |number| format!("{number}{unit}"));
    let found = [
        ("Device", device(document)),
        ("Size of the device", block.map_or_else(String::new, |device| format::bytes(device.size_bytes as f64))),
        ("Scheduler", block.and_then(|device| device.scheduler.clone()).unwrap_or_default()),
        ("Queue depth", tags(block.and_then(|device| device.queue_depth_requests), "")),
        ("Read-ahead", tags(block.and_then(|device| device.read_ahead_kib), " KiB")),
        ("Write cache", block.and_then(|device| device.write_cache.clone()).unwrap_or_default()),
        ("File system", environment.file_system.clone().unwrap_or_default()),
        ("Mount options", environment.mount_options.clone().unwrap_or_default()),
        ("Kernel", environment.kernel.clone()),
        ("Machine", format!("{}, {}", environment.architecture, format::plural(environment.cpus.into(), "CPU"))),
        ("brisk", environment.brisk_version.clone()),
        ("I/O engine", engine(document.header())),
    ];
    let found = found.into_iter().chain(document.setting());
    let machine = found.map(|(what, value)| Circumstance { what, value, is_mode: false });
    let mode = document.mode().into_iter();
    machine.chain(mode.map(|(what, value)| Circumstance { what, value, is_mode: true })).collect()
}

/// The engine without the reason for it.
fn engine(header: &Header) -> String {
    let whole = header.io_engine.as_deref().unwrap_or_default();
    whole.split(':').next().unwrap_or_default().to_owned()
}

/// Each circumstance of the documents of a kind, with its values: several where the documents differ.
fn of_kind(condition: &Condition, kind: &str) -> Vec<(Circumstance, Vec<String>)> {
    let mut found: Vec<(Circumstance, Vec<String>)> = Vec::new();
    for document in condition.of_kind(kind) {
        for one in circumstances(document) {
            let value = one.value.split_whitespace().collect::<Vec<_>>().join(" ");
            match found.iter_mut().find(|(known, _)| known.what == one.what) {
                Some((_, values)) if values.contains(&value) => {}
                Some((_, values)) => values.push(value),
                None => found.push((one, vec![value])),
            }
        }
    }
    found
}

/// Values in words, whatever their order.
fn words(values: &[String]) -> String {
    let mut values: Vec<String> = values.iter().map(|one| format::shorten(one, 80)).collect();
    values.iter_mut().filter(|one| one.is_empty()).for_each(|one| "unknown".clone_into(one));
    values.sort();
    format::list(&values)
}

/// In what `condition` differs from `baseline`, over the kinds that both have, and what of it makes ratios doubtful.
pub(super) fn differences(
    baseline: &Condition,
    condition: &Condition,
    kinds: &[&'static str],
) -> (Vec<ConditionDifference>, Vec<Warning>) {
    let (mut differences, mut warnings): (Vec<ConditionDifference>, Vec<Warning>) = (Vec::new(), Vec::new());
    for kind in kinds {
        let base = of_kind(baseline, kind);
        for (one, values) in of_kind(condition, kind) {
            let Some((_, known)) = base.iter().find(|(known, _)| known.what == one.what) else { continue };
            let (before, after) = (words(known), words(&values));
            if before == after {
                continue;
            }
            let what =
                if kinds.len() > 1 && one.is_mode { format!("{} of {kind}", one.what) } else { one.what.to_owned() };
            if one.is_mode {
                let text = format!(
                    "{}, {}: {before} in {}, {after} in {}. Measure both in the same way to compare them.",
                    format::sentence(kind),
                    one.what.to_lowercase(),
                    baseline.name,
                    condition.name
                );
                warnings.push(Warning { code: "different_modes".into(), text });
            }
            let (condition, baseline, compared) = (condition.name.clone(), before, after);
            let found = ConditionDifference { condition, what, baseline, compared };
            if !differences.contains(&found) {
                differences.push(found);
            }
        }
    }
    (differences, warnings)
}

/// What a reader has to know of one condition by itself: documents that were not measured alike.
pub(super) fn mixed(condition: &Condition, kinds: &[&'static str]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for kind in kinds {
        for (one, values) in of_kind(condition, kind).into_iter().filter(|(_, values)| values.len() > 1) {
            let text = format!(
                "{}, {}: {} among the {kind} documents, which are pooled as repeats all the same.",
                condition.name,
                one.what,
                words(&values)
            );
            warnings.push(Warning { code: "mixed_condition".into(), text });
        }
    }
    warnings
}

/// The warnings of the documents themselves, by their codes.
pub(super) fn of_documents(conditions: &[Condition], kinds: &[&'static str]) -> Option<Warning> {
    let documents = conditions.iter().flat_map(|condition| &condition.documents);
    let of_document = |(file, document): &(String, Document)| {
        let mut codes: Vec<String> = document.header().warnings.iter().map(|one| one.code.clone()).collect();
        codes.dedup();
        let is_compared = kinds.contains(&document.kind());
        (is_compared && !codes.is_empty()).then(|| format!("{file}: {}", format::list(&codes)))
    };
    let found: Vec<String> = documents.filter_map(of_document).collect();
    let text = format!("{}. `brisk report` has their values.", found.join("; "));
    (!found.is_empty()).then(|| Warning { code: "document_warnings".into(), text })
}
