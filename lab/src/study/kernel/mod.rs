//! The kernel lab: what schedulers make of mixed load in the virtual machine, scenario by scenario.

mod aims;
pub(crate) mod arguments;
mod columns;
mod found;
pub(crate) mod hunt;
mod measure;
mod page;
pub(crate) mod result;
mod run;
mod test;

pub(crate) use measure::header;
pub(crate) use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;
use brisk_report::format;

impl Kind for KernelReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let sides = |scenario: &KernelScenario, row: &KernelRow, measure: &KernelMeasure| -> Vec<Row> {
            let tuned = if row.tuned { ", tuned" } else { "" };
            let sides = measure.sides.iter().map(|side| {
                Row::at(SCENARIO, scenario.name.clone())
                    .by(LOAD, measure.load.clone())
                    .by(SCHEDULER, format!("{}{tuned}", row.scheduler))
                    .by(SIDE, side.side.clone())
                    .put(MEAN_LATENCY, side.delay_us_mean)
                    .put(P99_LATENCY, side.delay_us_p99)
                    .put(LONGEST_LATENCY, side.delay_us_max)
                    .put(THROUGHPUT, side.bytes_per_s)
                    .put(TIME_OF_A_JOB, side.job_s)
                    .put(SLOWDOWN, side.slowdown)
            });
            sides.collect()
        };
        let loads = |scenario: &KernelScenario, row: &KernelRow| -> Vec<Row> {
            row.loads.iter().flat_map(|measure| sides(scenario, row, measure)).collect()
        };
        let rows = self.scenarios.iter().flat_map(|scenario| scenario.rows.iter().map(move |row| (scenario, row)));
        rows.flat_map(|(scenario, row)| loads(scenario, row)).collect()
    }

    fn mode(&self) -> Facts {
        let mut lengths: Vec<String> = self.scenarios.iter().map(|scenario| format::times(scenario.scale)).collect();
        lengths.dedup();
        let changed = self.scenarios.iter().flat_map(|scenario| {
            scenario.device.changed.iter().map(|(name, value)| format!("{}: {name}={value}", scenario.name))
        });
        vec![("Length of loads", lengths.join(", ")), ("Changes of the device", changed.collect::<Vec<_>>().join("; "))]
    }

    fn setting(&self) -> Facts {
        vec![("Kernel of the lab", self.series.clone())]
    }
}
