//! Measures of swap replays.

use super::Measured;
use crate::rows::{BANDWIDTH, BYTES, MS, Row};
use crate::section::Facts;
use brisk_results::SwapReport;

impl Measured for SwapReport {
    fn measured(&self) -> Vec<Row> {
        let row = |replay: &brisk_results::SwapReplay| {
            Row::at("policy", replay.policy.clone())
                .by("swap-in", replay.swap_in.clone())
                .put("throughput", BANDWIDTH, replay.in_bytes_per_s)
                .put("mean swap-in latency", MS, replay.read_ms_mean)
                .put("longest swap-in latency", MS, replay.read_ms_max)
                .put("wait of a launch", MS, replay.launch_wait_ms_mean)
                .put("read in", BYTES, replay.in_bytes)
                .put("written out", BYTES, replay.out_bytes)
        };
        let recorded = self.layout.iter();
        let recorded =
            recorded.map(|layout| Row::at("policy", "recorded").put("read in sequence", BYTES, layout.in_run_bytes));
        self.replays.iter().map(row).chain(recorded).collect()
    }

    fn mode(&self) -> Facts {
        vec![("Traces", self.traces.iter().map(|trace| trace.name.clone()).collect::<Vec<_>>().join(", "))]
    }

    fn setting(&self) -> Facts {
        vec![("Flash of the replay", self.preset.clone().unwrap_or_default())]
    }
}
