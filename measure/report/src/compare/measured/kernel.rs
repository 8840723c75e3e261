//! The kernel lab; and a comparison, which has nothing to compare.

use brisk_results::{ComparisonReport, KernelMeasure, KernelReport, KernelRow, KernelScenario};

use super::Measured;
use crate::format;
use crate::rows::{BANDWIDTH, Row, S, TIMES, US};
use crate::section::Facts;

impl Measured for KernelReport {
    fn measured(&self) -> Vec<Row> {
        let sides = |scenario: &KernelScenario, row: &KernelRow, measure: &KernelMeasure| -> Vec<Row> {
            let tuned = if row.tuned { ", tuned" } else { "" };
            let sides = measure.sides.iter().map(|side| {
                Row::at("scenario", scenario.name.clone())
                    .by("load", measure.load.clone())
                    .by("scheduler", format!("{}{tuned}", row.scheduler))
                    .by("side", side.side.clone())
                    .put("mean latency", US, side.delay_us_mean)
                    .put("p99 latency", US, side.delay_us_p99)
                    .put("longest latency", US, side.delay_us_max)
                    .put("throughput", BANDWIDTH, side.bytes_per_s)
                    .put("time of a job", S, side.job_s)
                    .put("slowdown", TIMES, side.slowdown)
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

impl Measured for ComparisonReport {
    fn measured(&self) -> Vec<Row> {
        Vec::new()
    }

    fn mode(&self) -> Facts {
        Vec::new()
    }
}
