//! Measures of a day of use: of the whole day, since a measure for each switch would take power from all others.

use brisk_core::stats;
use brisk_core::units::format_bytes;
use brisk_results::{DayPolicy, DayReport, DayRun, DayState};

use super::apps::phone;
use super::{ENERGY, Measured};
use crate::chart::runs;
use crate::format;
use crate::rows::{BYTES, MS, Row, TIMES};
use crate::section::Facts;

impl Measured for DayReport {
    fn measured(&self) -> Vec<Row> {
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
        phone(&self.phone).into_iter().chain(memory.map(|(word, bytes)| (word, format_bytes(bytes)))).collect()
    }
}

fn row(policy: &DayPolicy) -> Row {
    let over = |of: &dyn Fn(&DayRun) -> Option<f64>| {
        let measured = policy.runs.iter().filter(|run| !run.switches.is_empty());
        runs(measured.filter_map(of))
    };
    let killed = |run: &DayRun| run.count(DayState::Killed) as f64 / run.switches.len() as f64;
    Row::at("policy", policy.name.trim())
        .put("sum of waits", MS, over(&|run| Some(run.wait_ms())))
        .put("median wait", MS, over(&|run| stats::median(&run.switches.iter().map(|s| s.wait_ms).collect::<Vec<_>>())))
        .put("switches to killed apps", TIMES, over(&|run| Some(killed(run))))
        .put("read in", BYTES, over(&|run| Some(run.swapped_bytes().0 as f64)))
        .put("written out", BYTES, over(&|run| Some(run.swapped_bytes().1 as f64)))
        .put("programmed", BYTES, over(&|run| Some(run.costs.programmed_bytes as f64)))
        .put("energy", ENERGY, over(&|run| run.costs.energy_uj))
        .put("processor time", MS, over(&|run| run.costs.cpu_ms))
}
