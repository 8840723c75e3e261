//! Whether writes compete with reads of a device: some were completed since the last sample, some are in flight, or
//! dirty pages wait for their write-back.

use brisk_core::reason::Reason;
use brisk_core::snapshot::{DiskRates, DiskTotals, MemoryLevels};

use crate::smartio::config::Config;

/// In an interval of less than a second a rate stands for so many writes at least, unless one is in flight: a commit of
/// the file system's journal has two or three.
const COMPLETED_MIN: f64 = 4.0;
/// So many writes in flight are a queue rather than a single commit.
const QUEUED_MIN: u64 = 2;

/// Writes that compete with reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Writes {
    Completed {
        requests_per_s: f64,
    },
    /// Issued and not completed.
    InFlight {
        requests: u64,
    },
    /// Still in memory, for some device.
    Pending {
        bytes: u64,
    },
}

impl Writes {
    /// Adds what was compared to a reason.
    pub(crate) fn facts(self, reason: Reason) -> Reason {
        match self {
            Self::Completed { requests_per_s } => reason.number("writes_per_s", requests_per_s),
            Self::InFlight { requests } => reason.number("in_flight_writes", requests as f64),
            Self::Pending { bytes } => reason.number("dirty_mib", bytes as f64 / f64::from(1 << 20)),
        }
    }
}

/// Writes on a device now; `rates` since the last sample, `elapsed_s` ago, and `totals` now. With the settings in force
/// (`on`) only completed writes count: otherwise writes that the settings starve would keep them in force.
pub(crate) fn on_device(
    config: &Config,
    on: bool,
    rates: Option<&DiskRates>,
    elapsed_s: f64,
    totals: Option<&DiskTotals>,
) -> Option<Writes> {
    let requests = totals.and_then(|totals| totals.in_flight_write_requests).unwrap_or(0);
    if let Some(requests_per_s) = rates.map(|rates| rates.write.requests_per_s)
        && requests_per_s >= config.writes_min_per_s
        && (on || elapsed_s >= 1.0 || requests > 0 || requests_per_s * elapsed_s >= COMPLETED_MIN)
    {
        return Some(Writes::Completed { requests_per_s });
    }
    (!on && requests >= QUEUED_MIN).then_some(Writes::InFlight { requests })
}

/// Dirty pages that are, or will soon be, written back, of all devices. Few of them may stay for 30 s
/// (vm.dirty_expire_centisecs), and every desktop has some; many are those of an install, of which the write-back
/// begins within seconds.
pub(crate) fn pending(config: &Config, memory: &MemoryLevels) -> Option<Writes> {
    let bytes = memory.dirty_bytes.saturating_add(memory.writeback_bytes);
    (config.dirty_min_mib > 0 && bytes >> 20 >= config.dirty_min_mib).then_some(Writes::Pending { bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::IoRates;

    #[test]
    fn a_single_commit_is_no_competition_and_a_queue_is() {
        let config = Config::default();
        let of = |on, writes: f64, elapsed_s: f64, in_flight: Option<u64>| {
            let write = IoRates { requests_per_s: writes / elapsed_s, ..IoRates::default() };
            let rates = DiskRates { write, ..DiskRates::default() };
            let totals = DiskTotals { in_flight_write_requests: in_flight, ..DiskTotals::default() };
            on_device(&config, on, Some(&rates), elapsed_s, Some(&totals)).is_some()
        };
        for (on, writes, elapsed_s, in_flight, competes) in [
            (false, 0.0, 0.25, Some(0), false),
            (false, 3.0, 0.25, Some(0), false),
            (false, 3.0, 0.25, None, false),
            (false, 3.0, 0.25, Some(1), true),
            (false, 4.0, 0.25, Some(0), true),
            (false, 4.0, 1.0, None, false),
            (false, 5.0, 1.0, None, true),
            (false, 0.0, 0.25, Some(1), false),
            (false, 0.0, 0.25, Some(2), true),
            // Starved by the settings.
            (true, 0.0, 0.25, Some(9), false),
            (true, 2.0, 0.25, Some(0), true),
        ] {
            assert_eq!(of(on, writes, elapsed_s, in_flight), competes, "{on} {writes} {elapsed_s} {in_flight:?}");
        }
        assert_eq!(on_device(&config, false, None, 0.0, None), None);
    }

    #[test]
    fn few_dirty_pages_are_nothing_to_wait_for() {
        let config = |dirty_min_mib| Config { dirty_min_mib, ..Config::default() };
        let of = |dirty_mib: u64, writeback_mib: u64| {
            let (dirty_bytes, writeback_bytes) = (dirty_mib << 20, writeback_mib << 20);
            let memory = MemoryLevels { dirty_bytes, writeback_bytes, ..MemoryLevels::default() };
            assert_eq!(pending(&config(0), &memory), None);
            pending(&config(32), &memory)
        };
        assert_eq!((of(31, 0), of(16, 16)), (None, Some(Writes::Pending { bytes: 32 << 20 })));
    }
}
