//! With and without brisk: apps with background load and without, a verdict for each, and readers concurrent with
//! writers.

mod columns;
mod page;
mod result;
mod storage;

pub use result::*;

use brisk_core::units::format_bytes;

use self::columns::*;
use crate::declare::*;
use crate::results::conditions;
use crate::{format, launches, sets};

impl Kind for ProveReport {
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
