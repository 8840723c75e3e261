//! With and without brisk: apps with background load and without, a verdict for each, and readers concurrent with
//! writers.

pub(crate) mod arguments;
mod changes;
mod columns;
mod gist;
mod input;
mod jobs;
mod page;
pub(crate) mod result;
mod run;
mod storage;
mod variants;

pub(crate) use run::*;

use brisk_core::units::format_bytes;

use self::columns::*;
use self::result::*;
use crate::results::{ProveJobs, conditions};
use crate::study::shown::{apps, launches, sets};
use brisk_report::declare::*;
use brisk_report::format;

impl Kind for ProveReport {
    const RANK: Rank = Rank::Proof;

    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let gains = self.gains.iter().flat_map(|gain: &Gain| {
            let row = |condition: &str, ratio| {
                Row::at(APP, gain.app.trim())
                    .by(START, sets::temperature(gain.temperature))
                    .by(CONDITION, sets::label_words(condition))
                    .put(WITH_BRISK_OVER_WITHOUT, ratio)
            };
            [row(conditions::WRITERS, gain.loaded_ratio), row(conditions::IDLE, gain.idle_ratio)]
        });
        let jobs = self.storage.iter().flat_map(|storage| storage.jobs.iter()).flat_map(jobs);
        launches::suite(&self.apps).chain(gains).chain(jobs).chain(launches::writers(&self.conditions)).collect()
    }

    fn mode(&self) -> Facts {
        let mut mode = vec![launches::background_load(&self.conditions)];
        let sizes = |storage: &crate::results::ProveStorage| {
            let streams = storage.jobs.iter().map(|jobs| format_bytes(jobs.stream_bytes)).collect::<Vec<_>>();
            format!("{} of {}, energy {}", streams.join(", "), format_bytes(storage.block_bytes), storage.meter.name)
        };
        mode.extend(self.storage.as_ref().map(|storage| ("Streams", sizes(storage))));
        mode
    }

    fn setting(&self) -> Facts {
        launches::phone(&self.phone).into_iter().chain([("Profile", self.set_ups.join("; "))]).collect()
    }

    fn verdict(documents: &[&Self], warnings: u64) -> Vec<String> {
        gist::sentences(documents, warnings)
    }

    fn form() -> Option<Form<Self>> {
        let gain = Form::new()
            .word("app", apps::SUBMITTED, |gain: &Gain| apps::submitted(&gain.app))
            .choice("temperature", "Cold or warm.", |gain| gain.temperature)
            .figure("loaded_ratio", WITH_BRISK_OVER_WITHOUT, |gain| gain.loaded_ratio)
            .figure("idle_ratio", WITH_BRISK_OVER_WITHOUT, |gain| gain.idle_ratio);
        let form = Form::new().warnings().list("gains", "App by app.", 64, gain, |report: &Self| report.gains.clone());
        Some(form)
    }
}

/// Readers concurrent with writers, without brisk and with it.
fn jobs(jobs: &ProveJobs) -> [Row; 2] {
    let both = [
        (READ_LATENCY, &jobs.read_us),
        (WRITE_LATENCY, &jobs.write_us),
        (THROUGHPUT, &jobs.bytes_per_s),
        (ENERGY_COLUMN, &jobs.energy_uj),
    ];
    ["without brisk", "with brisk"].map(|condition| {
        let row = Row::at(JOBS, format!("{} {1} + {1}", format::pattern(jobs.pattern), jobs.streams));
        both.iter().fold(row.by(CONDITION, condition), |row, (measure, found)| {
            row.put(*measure, if condition == "with brisk" { found.with } else { found.without })
        })
    })
}
