//! Response time of an app to each input, step by step, against the limits of patience.

pub(crate) mod arguments;
mod columns;
mod page;
pub(crate) mod result;
mod run;

pub(crate) use run::*;

use self::columns::*;
use self::result::*;
use crate::study::shown::launches;
use brisk_report::declare::*;
use brisk_report::format;

impl Kind for LatencyReport {
    const RANK: Rank = Rank::App;

    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let app = |step: &str| Row::at(APP, self.app.trim()).by(SCRIPT, self.script.trim()).by(STEP, step.trim());
        let runs = |step: &LatencyStep, of: fn(&LatencyRun) -> Option<f64>| -> Vec<brisk_report::declare::Run> {
            runs(step.runs.iter().filter_map(of))
        };
        let steps = self.steps.iter().map(|step| {
            app(&step.name)
                .put(LATENCY, runs(step, |run| Some(run.latency_ms)))
                .put(FIRST_CHANGE, runs(step, |run| run.first_change_ms))
        });
        let events = self.runtime_delay.iter().map(|delay| {
            let step = format!("{} with seed {}", format::plural(delay.events, "event"), delay.seed);
            app(&step).put(TIME_OF_ALL_EVENTS, delay.total_ms)
        });
        steps.chain(events).collect()
    }

    fn mode(&self) -> Facts {
        vec![("Command", format::shorten(&self.command.join(" "), 120)), launches::screen(&self.screen)]
    }

    fn setting(&self) -> Facts {
        self.phone.as_ref().map(launches::phone).unwrap_or_default()
    }
}
