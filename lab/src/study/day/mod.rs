//! A day of use on a phone with little memory: a strip of switches for each policy, what the waits went to, memory by
//! app over time, and the sums of the day.

pub(crate) mod arguments;
mod columns;
mod memory;
mod page;
mod plan;
pub(crate) mod result;

pub(crate) use plan::{planned, trace};

use brisk_core::stats;
use brisk_core::units::format_bytes;

use self::columns::*;
use self::result::*;
use crate::study::shown::launches;
use brisk_report::declare::*;
use brisk_report::format;

impl Kind for DayReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        self.policies.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        let trace = &self.trace;
        let apps = trace.apps.iter().map(|one| one.app.as_str()).collect::<Vec<_>>().join(", ");
        vec![
            ("Trace", format!("{}, {}, from {} on", trace.name, trace.user, format::seconds(trace.from_s))),
            ("Switches", format!("{} between {apps}", trace.switches)),
            (
                "Dwell",
                format!(
                    "over {}, {} to {}",
                    format::number(trace.speed),
                    format::ms(trace.dwell_ms_min),
                    format::ms(trace.dwell_ms_max)
                ),
            ),
        ]
    }

    fn setting(&self) -> Facts {
        let memory = [("Memory of the phone", self.memory.limit_bytes), ("Swap area", self.memory.swap_bytes)];
        launches::phone(&self.phone)
            .into_iter()
            .chain(memory.map(|(word, bytes)| (word, format_bytes(bytes))))
            .collect()
    }
}

fn row(policy: &DayPolicy) -> Row {
    let over = |of: &dyn Fn(&DayRun) -> Option<f64>| {
        let measured = policy.runs.iter().filter(|run| !run.switches.is_empty());
        runs(measured.filter_map(of))
    };
    let killed = |run: &DayRun| run.count(DayState::Killed) as f64 / run.switches.len() as f64;
    Row::at(POLICY, policy.name.trim())
        .put(SUM_OF_WAITS, over(&|run| Some(run.wait_ms())))
        .put(MEDIAN_WAIT, over(&|run| stats::median(&run.switches.iter().map(|s| s.wait_ms).collect::<Vec<_>>())))
        .put(SWITCHES_TO_KILLED_APPS, over(&|run| Some(killed(run))))
        .put(READ_IN, over(&|run| Some(run.swapped_bytes().0 as f64)))
        .put(WRITTEN_OUT, over(&|run| Some(run.swapped_bytes().1 as f64)))
        .put(PROGRAMMED, over(&|run| Some(run.costs.programmed_bytes as f64)))
}
