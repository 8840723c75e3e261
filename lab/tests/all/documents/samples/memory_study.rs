//! The memory study.

use brisk_lab::results::MemoryStudyReport;
use serde_json::{Value, json};

use super::{on_s5, seven, summary};

const MIB: u64 = 1 << 20;
/// Apps, with what their heaps come to.
const APPS: [(&str, u64); 3] = [("evince", 23), ("gnumeric", 31), ("xterm", 5)];

fn mib(mib: f64) -> Value {
    json!(seven(mib * MIB as f64))
}

fn free() -> Value {
    let steps: Vec<Value> = (0..6)
        .map(|n: usize| {
            let (app, round) = (APPS[n % 3].0, n / 3 + 1);
            json!({ "at_s": 2.0 + 10.0 * n as f64, "app": app, "round": round,
                "launched": round == 1 || app == "xterm" })
        })
        .collect();
    let sample = |n: u64| {
        let used = 20 + 40 * (n / 5).min(3) + n;
        json!({
            "at_s": 2.0 * n as f64, "free_bytes": (300 - used - 30) * MIB, "available_bytes": (300 - used) * MIB,
        })
    };
    json!({
        "interval_ms": 2000.0, "dwell_s": 10.0, "samples": (0..32).map(sample).collect::<Vec<_>>(), "steps": steps,
        "alive": ["evince", "gnumeric"], "oom_kills": 1,
    })
}

fn growth() -> Vec<Value> {
    let run = |heap: u64, nth: u64| {
        let sample = |n: u64| {
            let grown = heap * MIB * n.min(20) / 20;
            json!({
                "at_ms": 500.0 * n as f64, "anonymous_bytes": grown + nth * MIB / 4,
                "file_bytes": 20 * MIB * n.min(10) / 10,
                "swapped_bytes": 0,
            })
        };
        json!({ "settled_ms": 1400.0, "inputs": 55, "samples": (0..=120).map(sample).collect::<Vec<_>>() })
    };
    let of = |(app, heap): (&str, u64)| {
        json!({
            "app": app, "runs": (0..3).map(|nth| run(heap, nth)).collect::<Vec<_>>(),
            "heap_bytes_max": summary(heap as f64 * MIB as f64, 1.0, 3), "correlation": 0.98,
        })
    };
    APPS.map(of).into()
}

fn limits() -> Value {
    let mut cells = Vec::new();
    for (app, heap) in APPS {
        for limit in [8u64, 16, 32, 64] {
            let [started, killed, slow] = match limit {
                limit if limit < heap => [0, 9, 1],
                limit if limit < 2 * heap => [6, 0, 4],
                _ => [10, 0, 0],
            };
            cells.push(json!({
                "app": app, "limit_bytes": limit * MIB, "started": started, "killed": killed, "slow": slow, "ended": 0,
                "settled_ms": (started > 0).then(|| summary(1450.0, 3.0, started as usize)),
            }));
        }
    }
    json!({ "timeout_s": 30.0, "tries": 10, "cells": cells })
}

fn sets((app, heap): (&str, u64)) -> Value {
    let heap = heap as f64;
    json!({
        "app": app, "resident_bytes": mib(heap + 38.0), "proportional_bytes": mib(heap + 17.0),
        "working_bytes": mib(heap * 0.4 + 6.0), "swapped_touched_bytes": mib(heap * 0.3),
        "file_touched_bytes": mib(7.0),
        "swapped_bytes": mib(heap * 0.97), "return_ms": seven(820.0),
    })
}

pub fn study() -> MemoryStudyReport {
    let phone = json!({
        "preset": "galaxy-s5-emmc", "device": "/dev/loop3", "scheduler": "mq-deadline", "driver_tags": 8,
        "size_bytes": 4u64 << 30, "file_system": "ext4 rw,relatime",
    });
    let part = |part: &str, took_s: f64| {
        json!({ "part": part, "swap": if part == "sets" { "flash" } else { "none" },
        "took_s": took_s })
    };
    on_s5(json!({
        "phone": phone, "limit_bytes": 300 * MIB, "apps": APPS.map(|(app, _)| app),
        "parts": [part("free", 66.0), part("growth", 561.0), part("limits", 1290.0), part("sets", 88.0)],
        "free": free(), "growth": growth(), "limits": limits(), "sets": APPS.map(sets),
        "failures": [{ "part": "sets", "app": "mousepad", "reason": "it shows no window" }],
    }))
}
