//! Swapping: how sequential it was (MARS figures 8 to 10), and what another allocation of slots makes of it.

pub(crate) mod arguments;
mod columns;
mod page;
mod record;
pub(crate) mod result;
mod run;

pub(crate) use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;

impl Kind for SwapReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let row = |replay: &crate::results::SwapReplay| {
            Row::at(POLICY, replay.policy.clone())
                .by(SWAP_IN, replay.swap_in.clone())
                .put(THROUGHPUT, replay.in_bytes_per_s)
                .put(MEAN_SWAP_IN_LATENCY, replay.read_ms_mean)
                .put(LONGEST_SWAP_IN_LATENCY, replay.read_ms_max)
                .put(WAIT_OF_A_LAUNCH, replay.launch_wait_ms_mean)
                .put(READ_IN, replay.in_bytes)
                .put(WRITTEN_OUT, replay.out_bytes)
        };
        let recorded = self.layout.iter();
        let recorded = recorded.map(|layout| Row::at(POLICY, "recorded").put(READ_IN_SEQUENCE, layout.in_run_bytes));
        self.replays.iter().map(row).chain(recorded).collect()
    }

    fn mode(&self) -> Facts {
        vec![("Traces", self.traces.iter().map(|trace| trace.name.clone()).collect::<Vec<_>>().join(", "))]
    }

    fn setting(&self) -> Facts {
        vec![("Flash of the replay", self.preset.clone().unwrap_or_default())]
    }
}
