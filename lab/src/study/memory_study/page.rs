//! Its page.

use crate::results::MemoryStudyReport;
use brisk_core::units::format_bytes;

use super::free;
use super::growth;
use super::limits;
use super::sets;
use brisk_report::declare::*;
use brisk_report::format;

/// Mebibytes.
pub(super) const MIB: Unit = unit::of("", |mib| format::bytes(mib * BYTES_PER_MIB), format::tick);
const BYTES_PER_MIB: f64 = 1_048_576.0;

pub(super) fn mib(bytes: impl Into<f64>) -> f64 {
    bytes.into() / BYTES_PER_MIB
}

pub(super) fn section(report: &MemoryStudyReport) -> Section {
    let apps = format::plural(report.apps.len() as u64, "app");
    let question = format!(
        "What do {apps} take of {} of memory, and with how little does each start?",
        format_bytes(report.limit_bytes)
    );
    let sentences: Vec<String> =
        [free::verdict(report), limits::verdict(report), growth::verdict(report), sets::verdict(report)]
            .into_iter()
            .flatten()
            .collect();
    let sentences = if sentences.is_empty() {
        vec!["Nothing was measured: the document has no figures of any part.".to_owned()]
    } else {
        sentences
    };
    let took = |part: &crate::results::MemoryPartDone| {
        let swap = match part.swap.as_str() {
            "none" => String::new(),
            swap => format!(", swap: {}", swap.replace('_', " + ")),
        };
        format!("{} ({}{swap})", part.part.name(), format::seconds(part.took_s))
    };
    let parts: Vec<String> = report.parts.iter().map(took).collect();
    let phone = &report.phone;
    let facts = vec![
        ("Phone", format!("{}, {}", phone.preset, format_bytes(phone.size_bytes))),
        ("Memory", format_bytes(report.limit_bytes)),
        ("Apps", report.apps.join(", ")),
        ("Parts", parts.join(", ")),
    ];
    let failures = report.failures.iter().map(|failure| {
        format!("No figures of {} in the part '{}': {}.", failure.app, failure.part.name(), failure.reason)
    });
    let figures = [free::figure(report), limits::figure(report), growth::figure(report), sets::figure(report)];
    Section::new("Memory study", question, sentences)
        .cautions(failures)
        .facts(facts)
        .on(Some(phone.preset.clone()))
        .figures(figures.into_iter().flatten())
}
