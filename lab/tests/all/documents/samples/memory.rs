//! Returns to apps under memory pressure.

use brisk_core::stats::{Summary, ratio_of_sums, sum_of_medians};
use brisk_lab::results::{Cause, RelaunchReport};
use serde_json::{Value, json};

use super::{header, report, summary};

const APPS: [(&str, f64); 3] = [("evince", 5_200.0), ("gimp", 6_500.0), ("chromium", 12_400.0)];

fn visit(app: &str, round: u32, state: &str, ms: f64, ended: &[&str]) -> Value {
    let before = (state != "killed")
        .then(|| json!({ "anonymous_bytes": 1u64 << 20, "file_bytes": 2u64 << 20, "swapped_bytes": 40u64 << 20 }));
    let touched = (state == "swapped")
        .then(|| json!({ "swapped_bytes": 8u64 << 20, "file_bytes": 5u64 << 20, "new_bytes": 1u64 << 20 }));
    let part = |cause: Cause, share: f64| json!({ "cause": cause, "time_ms": ms * share, "events": 100 });
    let answered = ms < 12_000.0;
    json!({
        "app": app, "round": round,
        "run": {
            "state": state,
                "ending": if answered { json!({ "ending": "settled" }) } else { json!({ "ending": "still_working" }) },
            "end_ms": ms, "screen_ms": ms / 20.0, "first_change_ms": 12.0,
            "split": { "method": "bpf", "wall_ms": ms, "parts": [
                part(Cause::UserCpu, 0.05), part(Cause::SystemCpu, 0.02), part(Cause::Reclaim, 0.13),
                part(Cause::SwapIn, 0.5), part(Cause::StorageRead, 0.25), part(Cause::Sleep, 0.05),
            ], "lost_events": 0 },
            "storage": null, "before": before, "after": before, "touched": touched,
        },
        "flash_read_bytes": 15_000_000, "flash_written_bytes": 4_000_000, "flash_busy_ms": ms * 0.8,
        "ended": ended.iter().map(|app| json!({ "app": app, "by": "brisk" })).collect::<Vec<_>>(),
    })
}

fn times(factor: f64, app: usize) -> Vec<f64> {
    (0..6).map(|n| summary(factor * APPS[app].1, 30.0, 7 + n).median).collect()
}

fn policy(name: &str, text: &str, state: &str, factor: f64, base: f64) -> Value {
    let app = |n: usize| {
        let times = times(factor, n);
        let ended: &[&str] = if state == "killed" { &["balloon"] } else { &[] };
        let visits: Vec<Value> =
            times.iter().zip(0..).map(|(ms, round)| visit(APPS[n].0, round, state, *ms, ended)).collect();
        json!({ "app": APPS[n].0, "visits": visits, "end_ms": Summary::of(&times) })
    };
    let counted: Vec<Vec<f64>> = (0..3).map(|n| times(factor, n)).collect();
    let slow: Vec<Vec<f64>> = (0..3).map(|n| times(base, n)).collect();
    fn slices(all: &[Vec<f64>]) -> Vec<&[f64]> {
        all.iter().map(Vec::as_slice).collect()
    }
    let ratio = (factor != base).then(|| ratio_of_sums(&slices(&counted), &slices(&slow))).flatten();
    json!({
        "policy": name, "text": text, "apps": [app(0), app(1), app(2)], "sum_ms": sum_of_medians(&slices(&counted)),
        "ratio": ratio,
        "read_bytes": 31e6 * factor, "written_bytes": 8e6 * factor, "busy_ms": 9_000.0 * factor,
    })
}

pub fn relaunch() -> RelaunchReport {
    report(
        &header(None),
        json!({
            "phone": super::apps::phone(), "memory": { "limit_bytes": 600u64 << 20, "swap_bytes": 1200u64 << 20 },
            "limit_ms": 40_000.0,
            "policies": [
                policy("no brisk", "brisk does not run", "swapped", 1.0, 1.0),
                policy("brisk", "brisk and brisk-session run as their packages come", "swapped", 0.12, 1.0),
                policy("brisk (iram)", "brisk runs with iram named, and brisk-session", "killed", 0.7, 1.0),
            ],
        }),
    )
}

/// With too few returns and a hostile name.
pub fn ugly(head: &brisk_lab::results::Header, hostile: &str) -> RelaunchReport {
    let mut report = relaunch();
    report.header = head.clone();
    report.phone.preset = hostile.into();
    let policies = &mut report.policies;
    policies[0].policy = hostile.into();
    policies[0].apps[0].app = hostile.into();
    policies[1].apps.clear();
    policies[2].sum_ms = None;
    policies[2].apps[0].visits.truncate(1);
    report
}
