//! Decisions of a running daemon on a free loop device: what is dropped and why, and what its own writes cause. As
//! root; skipped with the reason elsewhere. A program of its own: times are not measured beside other
//! tests.

#[path = "../all/harness/mod.rs"]
mod harness;
mod journals;
mod launches;
mod memory;

use crate::harness::{Briskd, Loop, place, turn};
use brisk_core::arbiter::Rule;
use brisk_core::outcome::Outcome;
use rustix::process::Signal;

#[test]
fn a_tunable_without_its_scheduler_is_explained() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let other = if device.get("scheduler") == "bfq" { "kyber" } else { "bfq" };
    let knob = format!("queue/{}/{other}/low_latency", device.name());
    let daemon =
        Briskd::start(place(&[device.name()], &format!("[engines]\norder = []\n[fixed]\n\"{knob}\" = 0\n")), &[]);
    let setting = daemon.setting(&knob);
    assert_eq!((setting.resolved.rule, setting.outcome), (Rule::TunableWithoutScheduler, Outcome::Dropped));
    assert_eq!(daemon.status().counts.writes, 0);
    assert!(daemon.end(Signal::TERM).0.success());
}

#[test]
fn own_writes_cause_no_scan_of_devices_and_external_ones_do() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let wanted = if device.get("read_ahead_kb") == "256" { "512" } else { "256" };
    let rest = format!("[engines]\norder = []\n[fixed]\n\"queue/{}/read_ahead_kb\" = \"{wanted}\"\n", device.name());
    let daemon = Briskd::start(place(&[device.name()], &rest), &[]);
    // Longer than settings settle and than two scans are apart.
    let status = daemon.status_when(|status| status.at_unix_ms >= status.started_unix_ms + 3_000);
    assert_eq!((status.counts.writes, status.counts.device_scans), (1, 1));
    // The value that it has: the write alone is announced.
    device.set("nomerges", &device.get("nomerges"));
    let status = daemon.status_when(|status| status.counts.device_scans > 1);
    assert_eq!(status.counts.writes, 1);
    assert!(daemon.end(Signal::TERM).0.success());
}
