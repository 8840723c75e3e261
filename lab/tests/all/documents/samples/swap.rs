//! Traces and replays of swapping.

use brisk_lab::results::SwapReport;
use serde_json::{Value, json};

use super::{header, report, summary};

fn trace(name: &str) -> Value {
    json!({
        "name": name, "area_bytes": 434u64 << 20, "apps": 12, "launches": 52, "in_bytes": 839u64 << 20,
        "out_bytes": 1160u64 << 20, "duration_s": 1240.0,
    })
}

const APPS: [&str; 7] = ["browser", "maps", "mail", "photos", "notes", "game", "weather"];

fn app(name: &str) -> Value {
    let bytes = (name.len() as u64) << 24;
    json!({ "name": name, "in_bytes": bytes, "used_bytes": bytes / 2, "out_bytes": 2 * bytes })
}

/// A cell of a map: apps write upward through the area, and read where they wrote.
fn cell(n: u32) -> Value {
    let (column, row) = (n / 5, (n * 7 + n / 96) % 48);
    let direction = if n.is_multiple_of(3) { "read" } else { "write" };
    json!({ "column": column, "row": row, "direction": direction, "app": (row / 3) % 7, "pages": 40 + n % 50 })
}

pub fn replay() -> SwapReport {
    let of = |policy: &str, swap_in: &str, rate: f64, wait_ms: f64, request: f64, reserve: f64| {
        let three = |value: f64| json!(summary(value, 6.0, 3));
        json!({
            "policy": policy, "swap_in": swap_in, "in_bytes_per_s": three(rate), "read_ms_mean": three(2.1),
            "read_ms_max": three(15.5), "device_ms_mean": three(2.05), "device_ms_max": three(15.2),
            "launch_wait_ms_mean": three(wait_ms), "request_bytes_mean": three(request), "in_bytes": three(1.05e9),
            "used_percent": three(78.0), "out_bytes": three(1.2e9), "with_writes_percent": three(5.0),
            "reserve_bytes_max": json!(summary(reserve, 1.0, 3)), "stray_pages": three(0.0),
            "unknown_pages": three(0.0),
        })
    };
    report(
        &header(None),
        json!({
            "traces": [trace("1.swap"), trace("2.swap"), trace("3.swap")], "preset": "nexus4-emmc",
            "replays": [
                of("linux", "window", 12.6e6, 1640.0, 26e3, 0.0),
                of("extents", "app", 54.1e6, 262.0, 134e3, 0.0),
                of("mars", "app", 56.5e6, 247.0, 512e3, 120e6),
            ],
        }),
    )
}

pub fn show() -> SwapReport {
    let bin = |n: u32| {
        let reads = !n.is_multiple_of(3);
        json!({
            "from_s": 20.0 * f64::from(n), "in_bytes_per_s": if reads { 1.2e6 + 1e5 * f64::from(n) } else { 0.0 },
            "out_bytes_per_s": 0.8e6 + 5e4 * f64::from(n), "in_run_bytes": reads.then_some(21_600.0),
        })
    };
    report(
        &header(None),
        json!({
            "traces": [trace("day.swap")],
            "layout": {
                "interval_s": 20.0, "bins": (0..12).map(bin).collect::<Vec<_>>(), "in_run_bytes": 21_600.0,
                "used_percent": 61.0, "in_with_writes_percent": 43.0, "apps_in_cluster": 1.2, "without_slot": 0,
            },
            "map": { "column_s": 2.5, "row_bytes": 9u64 << 20, "apps": APPS.map(app),
            "cells": (0..480).map(cell).collect::<Vec<_>>() },
        }),
    )
}
