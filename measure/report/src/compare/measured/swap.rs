//! Measures of swap replays, and of returns to apps.

use brisk_core::units::format_bytes;
use brisk_results::{AppVisit, RelaunchReport, SwapReport};

use super::Measured;
use crate::rows::{BANDWIDTH, BYTES, MS, Row};
use crate::section::Facts;

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

impl Measured for RelaunchReport {
    fn measured(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for regime in &self.regimes {
            for policy in &regime.policies {
                for app in policy.apps.iter().filter(|app| !app.visits.is_empty()) {
                    let runs = |of: &dyn Fn(&AppVisit) -> f64| crate::chart::runs(app.visits.iter().map(of));
                    rows.push(
                        Row::at("regime", regime.regime.name())
                            .by("policy", policy.policy.clone())
                            .by("app", app.app.clone())
                            .put("return to an app", MS, runs(&|visit| visit.counted_ms(self.limit_ms)))
                            .put("read from storage", BYTES, runs(&|visit| visit.flash_read_bytes as f64))
                            .put("written to storage", BYTES, runs(&|visit| visit.flash_written_bytes as f64)),
                    );
                }
            }
        }
        rows
    }

    fn mode(&self) -> Facts {
        vec![
            ("Memory", format_bytes(self.memory.limit_bytes)),
            ("Each swap area", format_bytes(self.memory.swap_bytes)),
            ("Time limit of a return", crate::format::ms(self.limit_ms)),
        ]
    }

    fn setting(&self) -> Facts {
        super::apps::phone(&self.phone)
    }
}
