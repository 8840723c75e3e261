//! The profile of a device: what each setting costs for each workload, and how well settings are chosen by it.

mod columns;
mod made;
mod page;
pub(crate) mod result;

pub use made::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;
use brisk_report::format;

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

    fn form() -> Option<Form<Self>> {
        let form = Form::new()
            .warnings()
            .word("meter", "`rapl`, `battery` or `modelled`.", |report: &Self| &report.meter.name)
            .count("rounds", "Rounds.", 100_000, |report| u64::from(report.rounds).clamp(1, 100_000))
            .list("best", "Workload by workload.", 128, best_form(), Self::best_cells);
        Some(form)
    }
}

/// A setting in words; it tells cells of a workload apart.
fn setting(setting: &ProfileSetting) -> String {
    let read_ahead = setting.read_ahead_kb.map_or_else(String::new, |kb| format!(", read-ahead {kb} KiB"));
    let throttling = setting.wbt_lat_usec.map_or_else(String::new, |us| format!(", throttling {us} us"));
    format!("{}, depth {}{read_ahead}{throttling}", setting.scheduler, setting.queue_depth_requests)
}

impl ProfileReport {
    /// The best cell of each workload that has one, with the workload's place in the list.
    fn best_cells(&self) -> Vec<(u32, ProfileCell)> {
        let best =
            |workload: &ProfileWorkload| workload.cells.iter().find(|cell| cell.setting == workload.best).cloned();
        (0..).zip(&self.workloads).filter_map(|(place, workload)| Some((place, best(workload)?))).collect()
    }
}

/// What of the setting of least energy of a workload may leave the device. Names of workloads are the user's own.
fn best_form() -> Form<(u32, ProfileCell)> {
    type Best = (u32, ProfileCell);
    Form::new()
        .place("workload", "Its place in the list of workloads of the document.", 1000, |(place, _): &Best| *place)
        .word("scheduler", "The I/O scheduler.", |(_, cell)| &cell.setting.scheduler)
        .count("queue_depth_requests", "`nr_requests`.", 100_000, |(_, cell)| cell.setting.queue_depth_requests.into())
        .figure("energy_ratio", ENERGY_OVER_OWN, |(_, cell)| cell.energy_ratio)
        .figure("delay_ratio", DELAY_OVER_OWN, |(_, cell)| cell.delay_ratio)
}
