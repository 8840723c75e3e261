//! Model of energy: counted operations times assumed energies, plus CPU time.
//!
//! energy = device + busy time x `awake_mw` + CPU time x `cpu_mw`
//!
//! - *device*: for the flash of an emulated machine, the energy that its flash model counted for
//!   commands, transfers, reads, programs and erases (each preset names the source of its energies; most are 165 mW of
//!   array current times the operation's time). For any other device, its completed requests and bytes, times the
//!   figures of the preset `galaxy-s5-emmc`.
//! - *busy time*: as long as a request is in flight the processors stay awake, in their idle loop.
//! - *CPU time*: of this process, which issues the requests, and its io_uring workers: the cost of a scheduler and its
//!   queue there. Kernel threads and interrupts are not included.
//!
//! Only differences between settings on one device are meaningful, as far as the constants hold.

use std::time::Duration;

use brisk_core::energy::AWAKE_MW;
use brisk_core::snapshot::DiskTotals;
use brisk_sense::Sense;
use serde::{Deserialize, Serialize};

use super::{About, Meter, MeterKind, Work, guest_flash};
use crate::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// One core at work: the 200 mA that Android's description of power profiles gives as the example for the slowest
    /// speed of a cluster (source.android.com/docs/core/power/values), at 3.8 V.
    pub cpu_mw: f64,
    /// Processors in their idle loop rather than suspended ([`AWAKE_MW`]).
    pub awake_mw: f64,
    /// A command (preset `galaxy-s5-emmc`, `command_nj`).
    pub command_uj: f64,
    /// A page of 4 KiB read: transfer and array (the same, `bus_page_nj` and `read_page_nj`).
    pub read_page_uj: f64,
    /// A page of 4 KiB written: transfer and array (the same, `bus_page_nj` and `program_page_nj`).
    pub write_page_uj: f64,
}

impl Default for Constants {
    fn default() -> Self {
        Self { cpu_mw: 760.0, awake_mw: AWAKE_MW, command_uj: 1.0, read_page_uj: 22.8, write_page_uj: 33.8 }
    }
}

/// What the device has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Totals {
    device_uj: f64,
    busy_ms: f64,
}

#[derive(Debug)]
enum Source {
    Guest(Sense),
    Counters(Sense),
}

#[derive(Debug)]
pub struct Modelled {
    source: Source,
    disk: String,
    constants: Constants,
    began: Totals,
}

impl Modelled {
    /// Of the flash device of the kernel lab's guest.
    #[must_use]
    pub fn of_guest(sense: Sense, disk: &str) -> Self {
        let source = Source::Guest(sense);
        Self { source, disk: disk.to_owned(), constants: Constants::default(), began: Totals::default() }
    }

    /// Of any device, by the kernel's counters.
    #[must_use]
    pub fn of_counters(sense: Sense, disk: &str) -> Self {
        let source = Source::Counters(sense);
        Self { source, disk: disk.to_owned(), constants: Constants::default(), began: Totals::default() }
    }

    fn totals(&self) -> Result<Totals> {
        match &self.source {
            Source::Guest(sense) => {
                let gone = || MeterKind::Modelled.unusable(format!("the guest has no flash device {}", self.disk));
                let counted = guest_flash::read(sense, &self.disk)?.ok_or_else(gone)?;
                Ok(Totals { device_uj: counted.energy_nj as f64 / 1e3, busy_ms: counted.busy_ns as f64 / 1e6 })
            }
            Source::Counters(sense) => {
                let gone = || MeterKind::Modelled.unusable(format!("the kernel counts nothing for {}", self.disk));
                let stats = sense.disk_stats_of(&self.disk)?.ok_or_else(gone)?;
                Ok(counted(&self.constants, &stats))
            }
        }
    }
}

fn counted(constants: &Constants, stats: &DiskTotals) -> Totals {
    let pages = |bytes: u64| bytes as f64 / 4096.0;
    let commands = (stats.read.requests + stats.write.requests) as f64;
    Totals {
        device_uj: commands * constants.command_uj
            + pages(stats.read.bytes) * constants.read_page_uj
            + pages(stats.write.bytes) * constants.write_page_uj,
        busy_ms: stats.busy_ms as f64,
    }
}

/// The formula above.
fn energy_uj(constants: &Constants, began: &Totals, ended: &Totals, cpu_ns: u64) -> f64 {
    // mW times ms is uJ.
    let busy_ms = (ended.busy_ms - began.busy_ms).max(0.0);
    (ended.device_uj - began.device_uj).max(0.0) + busy_ms * constants.awake_mw + cpu_ns as f64 / 1e6 * constants.cpu_mw
}

impl Meter for Modelled {
    fn about(&self) -> About {
        let Constants { cpu_mw, awake_mw, .. } = self.constants;
        let (device, uncertainty) = match self.source {
            Source::Guest(_) => (
                "in virtual time, the emulated device's operations by its preset's energies",
                "assumed energies, and a nanosecond an instruction",
            ),
            Source::Counters(_) => ("completed requests by an eMMC's assumed energies", "another device's energies"),
        };
        About {
            kind: MeterKind::Modelled,
            what: format!(
                "modelled, not measured: {device}, {awake_mw} mW while busy, {cpu_mw} mW for each processor at work"
            ),
            uncertainty: format!("{uncertainty}, so good for comparing settings only, and on a quiet machine"),
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.began = self.totals()?;
        Ok(())
    }

    fn end(&mut self, work: &Work) -> Result<f64> {
        Ok(energy_uj(&self.constants, &self.began, &self.totals()?, work.cpu_ns))
    }

    fn cell_min(&self) -> Duration {
        Duration::from_millis(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::IoTotals;

    #[test]
    fn the_formula_adds_device_busy_and_processor() {
        let constants = Constants { cpu_mw: 1_000.0, awake_mw: 10.0, ..Constants::default() };
        let began = Totals { device_uj: 5.0, busy_ms: 1.0 };
        let ended = Totals { device_uj: 105.0, busy_ms: 3.0 };
        // 100 uJ, 2 ms at 10 mW, 0.5 ms at 1 W.
        assert_eq!(energy_uj(&constants, &began, &ended, 500_000), 100.0 + 20.0 + 500.0);
    }

    #[test]
    fn counters_are_weighed_by_kind_and_size() {
        let constants = Constants::default();
        let io = |requests, bytes| IoTotals { requests, bytes, time_ms: 0 };
        let stats = DiskTotals { read: io(2, 8192), write: io(1, 4096), ..DiskTotals::default() };
        let totals = counted(&constants, &stats);
        assert!((totals.device_uj - (3.0 + 2.0 * 22.8 + 33.8)).abs() < 1e-9, "{totals:?}");
    }

    #[test]
    fn the_constants_of_the_preset_are_those_of_the_preset() {
        let preset = brisk_lab::flash::Preset::builtin("galaxy-s5-emmc").expect("built in");
        let value = |name: &str| {
            let all = preset.parameters();
            let found = all.iter().find(|p| p.name == name).expect(name);
            found.value.parse::<f64>().expect("a number") / 1e3
        };
        let constants = Constants::default();
        assert_eq!(constants.command_uj, value("command_nj"));
        assert_eq!(constants.read_page_uj, value("bus_page_nj") + value("read_page_nj"));
        assert_eq!(constants.write_page_uj, value("bus_page_nj") + value("program_page_nj"));
    }
}
