//! Kinds of devices on which the kernel scheduler `smartio` is used: those for which `brisk kernel hunt` drew loads and
//! found few in which a stock scheduler is better in read latency and in write throughput at the same time.
//!
//! On other devices the scheduler that is there stays, and the settings of profiles are used. Properties, each with a
//! test: `a_kind_without_loads_or_with_too_many_dominated_ones_keeps_its_scheduler`,
//! `a_kind_that_is_dominated_too_often_keeps_its_scheduler`.

use brisk_core::device::Device;
use brisk_core::reason::Reason;

use crate::smartio::KERNEL_SCHEDULER;

/// Loads of the hunt for one kind of device.
#[derive(Debug, Clone, Copy)]
struct Hunted {
    /// As in [`Device::kind`].
    kind: &'static str,
    /// Loads with reads and writes.
    loads: u32,
    /// Those in which a stock scheduler is better in both by more than 5 percent.
    dominated: u32,
    /// Largest part of the loads, in percent, in which it may be dominated.
    percent_max: u32,
}

/// `brisk kernel hunt` on Linux 6.12, one run each: 54 loads of seeds 20261201 and 20261202 on any kind of device,
/// before turns of holds were longer and overlapping reads counted as reads that go on; after that 24 of seed 20261127
/// (`--kinds ufs`), 16 of seed 20261130 (`--kinds emmc`), and 12 of each kind of seeds 2026112801 (UFS), 2026112802
/// (eMMC), 2026112803 (SD) and 2026112804 (dies), before what a cache programs later was charged to writes; after that
/// those on eMMC once more, with the same count, and 5 of seed 2026112807 (SD); and with the module as it is 20 each of
/// seeds 2026112806 (eMMC) and 2026112805 (UFS), and 12 of 2026112808 (dies). Devices made of dies stand for virtual
/// ones. On UFS, which interrupts writes for reads by itself and is so fast that the cost of any scheduler shows, there
/// is less to gain, and an SD card has one unit that a scheduler cannot keep free: both have to be better proven. What
/// the hunt does not draw (disks, NVMe with many hardware queues, USB bridges) is not here.
const HUNTED: [Hunted; 4] = [
    Hunted { kind: "emmc", loads: 41, dominated: 1, percent_max: 10 },
    Hunted { kind: "ufs", loads: 45, dominated: 8, percent_max: 3 },
    Hunted { kind: "sd", loads: 13, dominated: 1, percent_max: 3 },
    Hunted { kind: "virtual", loads: 42, dominated: 3, percent_max: 10 },
];

/// Why the kernel scheduler is not used for a device that has it; `None` where it is.
pub(crate) fn objection(device: &Device) -> Option<Reason> {
    if !device.has_scheduler(KERNEL_SCHEDULER) {
        return None;
    }
    let found = HUNTED.iter().find(|hunted| hunted.kind == device.kind).copied();
    of_kind(found).map(|reason| {
        let kind = if device.kind.is_empty() { "unknown" } else { &device.kind };
        reason.word("device", &device.name).word("kind", kind)
    })
}

fn of_kind(found: Option<Hunted>) -> Option<Reason> {
    let Some(Hunted { loads, dominated, percent_max, .. }) = found else {
        return Some(Reason::rule("kernel_scheduler_smartio_was_not_measured_on_such_devices"));
    };
    (100 * dominated > percent_max * loads).then(|| {
        let reason = Reason::rule("kernel_scheduler_smartio_is_dominated_on_such_devices");
        reason.number("dominated_loads", dominated.into()).number("loads", loads.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: &str, schedulers: &[&str]) -> Device {
        let schedulers = schedulers.iter().map(|&name| name.to_owned()).collect();
        Device { name: "a0".to_owned(), kind: kind.to_owned(), schedulers, ..Device::default() }
    }

    #[test]
    fn a_kind_without_loads_or_with_too_many_dominated_ones_keeps_its_scheduler() {
        for (kind, why) in [
            ("emmc", None),
            ("virtual", None),
            ("sd", Some("dominated_loads 1, loads 13")),
            ("ufs", Some("dominated_loads 8, loads 45")),
            ("nvme", Some("not measured")),
            ("disk", Some("not measured")),
            ("", Some("not measured")),
        ] {
            let found = objection(&device(kind, &["none", "smartio"])).map(|reason| reason.to_string());
            assert_eq!(found.is_some(), why.is_some(), "{kind}");
            assert!(why.is_none_or(|why| found.as_ref().is_some_and(|found| found.contains(why))), "{kind}: {found:?}");
        }
        assert_eq!(objection(&device("nvme", &["none"])), None, "a device without it needs no reason");
    }

    #[test]
    fn a_kind_that_is_dominated_too_often_keeps_its_scheduler() {
        let of = |loads, dominated| of_kind(Some(Hunted { kind: "emmc", loads, dominated, percent_max: 10 }));
        assert_eq!(of(20, 2), None);
        let reason = of(20, 3).expect("more than a tenth").to_string();
        assert!(reason.contains("dominated_loads 3, loads 20"), "{reason}");
    }
}
