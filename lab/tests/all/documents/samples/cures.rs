//! Cures of slow storage.

use brisk_lab::results::CuresReport;
use serde_json::{Value, json};

use super::{header, report, summary};

const APPS: [(&str, u32, f64, f64); 2] = [("webbench", 50, 32.0, 64.0), ("facebook", 8, 5.0, 5.0)];

/// A solution: its name, the part of the storage time that it leaves, its risk.
const SOLUTIONS: [(&str, f64, &str); 6] = [
    ("baseline", 1.0, "none: what an app was told is durable is"),
    ("databases_in_ram", 0.01, "a bound, no cure: the data is lost when the device is switched off"),
    ("all_in_ram", 0.0, "a bound, no cure: the data is lost when the device is switched off"),
    ("index_in_ram", 0.24, "the index of the cache is made anew after each start"),
    ("selective_sync", 0.25, "a power cut can damage the index of the cache, which is then made anew"),
    ("wal", 0.3, "none: what an app was told is durable is"),
];

fn row(app: (&str, u32, f64, f64), card: &str, solution: (&str, f64, &str)) -> Value {
    let (name, _, think_s, storage_s) = app;
    let slower = if card == "sd-kingston" { 1.2 } else { 1.0 };
    let run_s = |left: f64| think_s + storage_s * left * slower;
    let gain = run_s(1.0) / run_s(solution.1);
    let stated =
        (solution.0 == "databases_in_ram" && card == "sd-ridata").then_some(if name == "webbench" { 3.0 } else { 2.0 });
    json!({
        "workload": name, "preset": card, "solution": solution.0, "text": "as its name says", "risk": solution.2,
        "run_s": summary(run_s(solution.1), 2.0, 5), "gain": summary(gain, 1.0, 5),
        "storage_s": summary(storage_s * solution.1 * slower, 2.0, 5),
        "sequential_bytes": summary(2.6e6, 3.0, 5), "random_bytes": summary(2.5e6, 3.0, 5),
        "published_gain_low": stated, "published_gain_high": stated, "published_place": stated.map(|_| "figure 13, bar \
            C"),
        "failure": null,
    })
}

pub fn cures() -> CuresReport {
    let mut rows = Vec::new();
    for app in APPS {
        for card in ["sd-ridata", "sd-kingston"] {
            rows.extend(SOLUTIONS.map(|solution| row(app, card, solution)));
        }
    }
    let failed = rows.last().cloned().map(|mut row| {
        row["solution"] = "nilfs2_databases".into();
        row["failure"] = "the kernel has no module nilfs2".into();
        for field in ["run_s", "gain", "storage_s", "sequential_bytes", "random_bytes"] {
            row[field] = Value::Null;
        }
        row
    });
    rows.extend(failed);
    let workloads = APPS.map(|(name, pages, think_s, _)| {
        json!({
            "name": name, "pages": pages, "pages_whole": pages, "think_s": think_s,
            "published_sequential_bytes": 2.0e6, "published_random_bytes": 3.1e6,
        })
    });
    let crashes = [crash("baseline", 0), crash("selective_sync_ordered", 0), crash("raid0_4k", 2)];
    report(&header(None), json!({ "seeds": 5, "workloads": workloads, "rows": rows, "crashes": crashes }))
}

fn crash(solution: &str, broken: u32) -> Value {
    let is_ordered = solution == "selective_sync_ordered";
    let part = |name: &str, promise: &str, bound_s: Option<f64>, lost: u64, damaged: u32| {
        json!({
            "part": name, "promise": promise, "bound_s": bound_s, "acknowledged": 12_345, "lost": lost,
            "cuts_with_loss": lost / 10, "oldest_s": if lost > 0 { 4.2 } else { 0.0 }, "damaged": damaged,
            "broken": if promise == "durable" { broken } else { 0 },
        })
    };
    let parts = if is_ordered {
        [
            part("files", "nothing", None, 900, 80),
            part("index", "nothing", None, 400, 60),
            part("kept", "ordered", Some(5.0), 70, 0),
        ]
    } else {
        ["files", "index", "kept"].map(|name| part(name, "durable", None, 0, broken))
    };
    let pulled = if solution == "raid0_4k" { 100 } else { 0 };
    json!({
        "preset": "galaxy-s5-emmc", "solution": solution, "cuts": 500, "without_risk": 31, "lost_pages": 2_900,
        "unmountable": 0, "unclean": broken, "is_checked": true, "pulled": pulled, "pulled_right": 20 * pulled,
        "pulled_errors": 18 * pulled, "pulled_wrong": 0, "parts": parts,
        "example": (broken > 0).then_some("ext4: a directory is damaged"), "failure": null,
    })
}
