//! The profile of a device: what each setting costs for each workload, and how well settings are chosen by it.

mod columns;
mod page;
mod result;

pub use result::*;

use self::columns::*;
use crate::declare::*;
use crate::format;

impl Kind for ProfileReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let cells = self.workloads.iter().flat_map(|workload| workload.cells.iter().map(move |cell| (workload, cell)));
        let row = |(workload, cell): (&crate::results::ProfileWorkload, &crate::results::ProfileCell)| {
            Row::at(WORKLOAD, workload.name.clone())
                .by(SETTING, setting(&cell.setting))
                .put(ENERGY_PER_REQUEST, cell.request_uj_mean)
                .put(READ_LATENCY, cell.read_us_mean)
                .put(WRITE_LATENCY, cell.write_us_mean)
                // Work arrives at a rate of its own.
                .put(REQUESTS_PER_S, cell.requests_per_s)
        };
        cells.map(row).collect()
    }

    fn mode(&self) -> Facts {
        vec![
            ("Meter", self.meter.name.clone()),
            ("Length of a cell", format::seconds(self.cell_s)),
            ("Rounds", self.rounds.to_string()),
        ]
    }

    fn setting(&self) -> Facts {
        vec![("Profile of", self.device_model.clone())]
    }
}

/// A setting in words; it tells cells of a workload apart.
fn setting(setting: &ProfileSetting) -> String {
    let read_ahead = setting.read_ahead_kb.map_or_else(String::new, |kb| format!(", read-ahead {kb} KiB"));
    let throttling = setting.wbt_lat_usec.map_or_else(String::new, |us| format!(", throttling {us} us"));
    format!("{}, depth {}{read_ahead}{throttling}", setting.scheduler, setting.queue_depth_requests)
}
