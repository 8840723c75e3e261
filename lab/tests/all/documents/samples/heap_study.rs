//! The heap study.

use brisk_lab::results::HeapStudyReport;
use serde_json::{Value, json};

use super::{header, report};

/// Heap in MiB, and error of the best orders as a share of it.
const APPS: [(&str, f64, f64); 3] = [("evince", 32.4, 0.04), ("gnumeric", 13.6, 0.02), ("mousepad", 16.2, 0.05)];
const MIB: f64 = 1_048_576.0;

fn orders(heap: f64, error: f64) -> Vec<Value> {
    let cells = (0..=3u32).flat_map(|past| (0..=4u32).map(move |historical| (past, historical)));
    let of = |(past, historical): (u32, u32)| {
        let alone = if past == 0 { 1.9 - 0.1 * f64::from(historical) } else { 1.3 };
        let both = 1.0 + 0.02 * f64::from(past.abs_diff(2) + historical.abs_diff(1));
        let factor = if past == 0 || historical == 0 { alone } else { both };
        let rmse = (past + historical > 0).then_some(heap * MIB * error * factor);
        json!({ "past": past, "historical": historical, "rmse_bytes": rmse,
            "rmse_common_bytes": rmse.map(|rmse| rmse * 0.6) })
    };
    cells.map(of).collect()
}

fn alphas(values: u64) -> Vec<Value> {
    let covered = [47.1, 83.0, 96.4, 98.7, 99.2, 99.4];
    let of = |(alpha, covered): (f64, f64)| {
        json!({ "alpha": alpha, "values": values, "covered_percent": covered,
        "head_room_percent_median": 4.1 * alpha })
    };
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].into_iter().zip(covered).map(of).collect()
}

fn rule(rule: &str, values: u64, covered: f64, [sum, median, mean]: [f64; 3], shortfall: f64) -> Value {
    json!({
        "rule": rule, "values": values, "covered_percent": covered, "head_room_percent_of_sum": sum,
        "head_room_percent_median": median, "head_room_percent_mean": mean, "shortfall_bytes_max": shortfall * MIB,
        "runs": 11, "runs_beyond": ((100.0 - covered) * 5.0) as u64,
    })
}

fn rules(values: u64, heap: f64) -> Vec<Value> {
    let fixed = 1e2 * (128.0 / heap - 1.0);
    vec![
        rule("fixed", values, 100.0, [fixed, fixed, fixed * 3.0], 0.0),
        rule("persistence", values, 99.47, [38.0, 31.5, 90.2], heap * 0.4),
        rule("paper", values, 98.2, [26.1, 8.2, 310.0], heap * 0.3),
        rule("adaptive", values, 99.62, [8.4, 1.2, 60.8], heap * 0.1),
        rule("hindsight", values, 99.54, [31.0, 27.5, 80.1], heap * 0.3),
    ]
}

pub fn study() -> HeapStudyReport {
    let app = |(app, heap, error): (&str, f64, f64)| {
        json!({
            "app": app, "runs": 11, "need_bytes_max": (heap * MIB) as u64, "orders": orders(heap, error),
            "alphas": alphas(627), "thresholds": rules(649, heap),
        })
    };
    let aim = |rule: &str, aim: f64, covered: f64, sum: f64| {
        json!({
            "rule": rule, "aim_percent": aim, "covered_percent": covered, "head_room_percent_of_sum": sum,
            "head_room_percent_median": sum * 0.3,
        })
    };
    let mut head = header(None);
    (head.environment.file_system, head.environment.mount_options) = (None, None);
    report(
        &head,
        json!({
            "table": { "name": "heap.csv", "columns": "growth", "sampled_s": 0.25, "interval_s": 1.0, "short_runs": 1 },
            "apps": APPS.map(app), "alphas": alphas(3 * 627), "thresholds": rules(3 * 649, 20.7),
            "aims": [
                aim("persistence", 95.0, 95.3, 11.0), aim("persistence", 99.0, 98.9, 27.0),
                aim("persistence", 99.9, 99.8, 61.0),
                aim("adaptive", 95.0, 96.2, 3.5), aim("adaptive", 99.0, 99.1, 6.9), aim("adaptive", 99.9, 99.8, 14.0),
            ],
        }),
    )
}

/// With a hostile name, one run and nothing known.
pub fn ugly(head: &brisk_lab::results::Header, hostile: &str) -> HeapStudyReport {
    let mut report = study();
    report.header = head.clone();
    report.table.name = hostile.into();
    report.table.columns = hostile.into();
    report.apps[0].app = hostile.into();
    report.apps[1].orders.clear();
    report.apps[1].thresholds.clear();
    report.thresholds[3].rule = hostile.into();
    report.aims[0].rule = hostile.into();
    report.alphas.clear();
    report
}
