//! The memory study (dissertation 5.2 with figures 5.1, 5.2, 5.5 and table 5.1; MARS figure 14): what apps take of a phone's
//! memory, and with how little they start.

mod free;
mod growth;
mod limits;
mod sets;

use brisk_core::units::format_bytes;
use brisk_results::MemoryStudyReport;

use crate::declare::*;
use crate::format;

/// Mebibytes.
const MIB: Unit = Unit { show: |mib| format::bytes(mib * BYTES_PER_MIB), tick: format::tick };
const BYTES_PER_MIB: f64 = 1_048_576.0;

fn mib(bytes: impl Into<f64>) -> f64 {
    bytes.into() / BYTES_PER_MIB
}

impl Kind for MemoryStudyReport {
    fn section(&self) -> Section {
        let apps = format::plural(self.apps.len() as u64, "app");
        let question = format!(
            "What do {apps} take of {} of memory, and with how little does each start?",
            format_bytes(self.limit_bytes)
        );
        let sentences: Vec<String> =
            [free::verdict(self), limits::verdict(self), growth::verdict(self), sets::verdict(self)]
                .into_iter()
                .flatten()
                .collect();
        let sentences = if sentences.is_empty() {
            vec!["Nothing was measured: the document has no figures of any part.".to_owned()]
        } else {
            sentences
        };
        let took = |part: &brisk_results::MemoryPartDone| {
            let swap = match part.swap.as_str() {
                "none" => String::new(),
                swap => format!(", swap: {}", swap.replace('_', " + ")),
            };
            format!("{} ({}{swap})", part.part.name(), format::seconds(part.took_s))
        };
        let parts: Vec<String> = self.parts.iter().map(took).collect();
        let phone = &self.phone;
        let facts = vec![
            ("Phone", format!("{}, {}", phone.preset, format_bytes(phone.size_bytes))),
            ("Memory", format_bytes(self.limit_bytes)),
            ("Apps", self.apps.join(", ")),
            ("Parts", parts.join(", ")),
        ];
        let failures = self.failures.iter().map(|failure| {
            format!("No figures of {} in the part '{}': {}.", failure.app, failure.part.name(), failure.reason)
        });
        let figures = [free::figure(self), limits::figure(self), growth::figure(self), sets::figure(self)];
        Section::new("Memory study", question, sentences)
            .cautions(failures)
            .facts(facts)
            .on(Some(phone.preset.clone()))
            .figures(figures.into_iter().flatten())
    }
}
