//! What measuring needs: the benchmark, the laboratory, the energy meters.

use brisk_sense::KernelVersion;

use super::{Need, Needs, REFUSED_TO_ROOT, State};
use crate::doctor::facts::Facts;
use crate::doctor::probe::Answer;

/// A release, and what it brought.
type Since = (KernelVersion, &'static str);

/// The first long-term kernel whose block layer has multi-queue schedulers (they came with 4.12).
const BENCH_KERNEL: Since =
    (KernelVersion { major: 4, minor: 14 }, "it is older than the multi-queue block layer with its schedulers");

/// The storage benchmark and the studies.
pub(super) fn bench(facts: &Facts, mut needs: Needs<'_>) {
    kernel(facts, &mut needs, BENCH_KERNEL);
    let why = "without it brisk does not know which device it measures, nor whether a cache answered";
    if let Some(devices) = needs.known(State::Missing, "/proc", &facts.counted_devices, why) {
        needs.ok("/proc", format!("counters of {} devices", devices.len()));
    }
    if let Some(queues) = needs.known(State::Missing, "/sys", &facts.queues, why) {
        match queues.len() {
            0 => needs.lacks(
                State::Degraded,
                "/sys",
                "no disk that queues requests",
                "there is nothing here but memory and network to measure",
                "attach a disk, or measure on an emulated phone (brisk phone)",
            ),
            count => needs.ok("/sys", format!("settings of {count} {}", plural(count, "disk"))),
        }
    }
    if let Some(home) = needs.known(State::Degraded, "home", &facts.home, "by default the disk under it is measured") {
        let path = home.path.display();
        match &home.disk {
            Some(disk) => needs.ok("home", format!("{path} is {} on {disk}", home.fs_type)),
            None => needs.lacks(
                State::Degraded,
                "home",
                format!("{path} is {}, no single disk under it", home.fs_type),
                "bytes cannot be checked against a disk's counters, so a cache may go unnoticed",
                "name a directory on a disk: brisk bench PATH",
            ),
        }
    }
    let disabled = facts.io_uring_disabled.as_deref().is_some_and(|value| value != "0");
    let need = Need {
        works: "rings can be made",
        lacking: "not in this kernel",
        state: State::Degraded,
        reason: "requests are issued by plain calls, one thread each, which costs more CPU time and some depth",
        remedy: "use Linux 5.1 or newer with CONFIG_IO_URING",
        refused_to_root: if disabled { "sysctl kernel.io_uring_disabled=0" } else { REFUSED_TO_ROOT },
    };
    match (&facts.io_uring, &facts.io_uring_disabled) {
        (Answer::Refused, Some(value)) if disabled => needs.lacks(
            State::Degraded,
            "io_uring",
            format!("refused, kernel.io_uring_disabled is {value}"),
            need.reason,
            "as root: sysctl kernel.io_uring_disabled=0",
        ),
        (answer, _) => needs.answer(facts, "io_uring", answer, &need),
    }
    let why = "without the pressure on processors brisk cannot tell a disturbed measurement from a quiet one";
    if needs.known(State::Degraded, "cpu pressure", &facts.pressure_cpu, why).is_some() {
        needs.ok("cpu pressure", "reported by the kernel (PSI)");
    }
    processors(facts, &mut needs, "the load and the kernel's work for it disturb each other");
}

fn kernel(facts: &Facts, needs: &mut Needs<'_>, (oldest, reason): Since) {
    let why = "what the kernel can do depends on its release";
    let Some(release) = needs.known(State::Degraded, "kernel", &facts.kernel_release, why) else { return };
    match KernelVersion::of(release) {
        Some(version) if version >= oldest => needs.ok("kernel", format!("Linux {release}")),
        Some(_) => needs.lacks(
            State::Missing,
            "kernel",
            format!("Linux {release}"),
            reason,
            format!("use Linux {oldest} or newer"),
        ),
        None => needs.lacks(
            State::Degraded,
            "kernel",
            format!("'{release}'"),
            "this is not a release of Linux that brisk can read",
            format!("use Linux {oldest} or newer"),
        ),
    }
}

fn processors(facts: &Facts, needs: &mut Needs<'_>, reason: &str) {
    let Some(&count) = needs.known(State::Degraded, "processors", &facts.cpus, "measuring takes two of them") else {
        return;
    };
    if count >= 2 {
        needs.ok("processors", format!("{count} online"));
    } else {
        needs.lacks(
            State::Degraded,
            "processors",
            format!("{count} online"),
            reason,
            "give the machine a second processor, or trust ratios more than single figures",
        );
    }
}

/// Emulated phones, launches and the kernel lab.
pub(super) fn lab(facts: &Facts, mut needs: Needs<'_>) {
    match &facts.lab_program {
        Some(program) => needs.ok("brisk-lab", format!("{} is installed", program.display())),
        None => needs.lacks(
            State::Missing,
            "brisk-lab",
            "not installed",
            "emulated phones, launches and the kernel lab are a program of their own, which devices do not need",
            "install the package brisk-lab, or in a source tree run: make build",
        ),
    }
}

pub(super) fn energy(facts: &Facts, mut needs: Needs<'_>) {
    let why = "the energy counters of the processor are one of two meters";
    let zones = needs.known(State::Degraded, "powercap", &facts.powercap, why).map_or(&[][..], Vec::as_slice);
    let why = "the battery is one of two meters";
    let supplies = needs.known(State::Degraded, "battery", &facts.supplies, why).map_or(&[][..], Vec::as_slice);
    let names = |names: Vec<&str>| names.join(", ");
    let readable: Vec<_> =
        zones.iter().filter(|zone| zone.energy_uj.is_some()).map(|zone| zone.name.as_str()).collect();
    let batteries: Vec<_> = supplies
        .iter()
        .filter(|supply| supply.kind == "Battery" && supply.measures_power())
        .map(|supply| supply.name.as_str())
        .collect();
    if !readable.is_empty() {
        needs.ok("meter", format!("energy counters of {}", names(readable)));
    } else if !batteries.is_empty() {
        needs.ok("meter", format!("current and voltage of {}", names(batteries)));
    } else if zones.is_empty() {
        needs.lacks(
            State::Missing,
            "meter",
            "neither energy counters of the processor (RAPL) nor a battery that reports its power",
            "what a change costs in energy can only be computed from the device model, not measured",
            "measure on a machine with a meter; a virtual machine rarely passes its host's on",
        );
    } else {
        needs.lacks(
            State::Degraded,
            "meter",
            format!(
                "energy counters of {}, not readable",
                names(zones.iter().map(|zone| zone.name.as_str()).collect())
            ),
            "the kernel shows them to root only",
            "run brisk as root (sudo brisk ...)",
        );
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}
