//! A day of use under three policies.

use brisk_lab::results::DayReport;
use serde_json::{Value, json};

use super::{on_s5, summary};

const APPS: [&str; 5] = ["xterm", "evince", "gnumeric", "mousepad", "galculator"];
/// The visits: indices of apps.
const VISITS: [usize; 16] = [0, 1, 0, 2, 3, 2, 0, 1, 4, 1, 3, 0, 2, 4, 0, 1];

/// A run with these states of the visits after the first launches, and their waits.
fn run(position: u32, round: u32, state: &str, wait_ms: f64, factor: f64) -> Value {
    let mut at_s = 0.0;
    let switch = |(n, app): (usize, &usize)| {
        let is_first = !VISITS[..n].contains(app);
        let is_return = n > 1 && VISITS[n - 2] == *app;
        // Without swap the last launch finds no memory.
        let state = match state {
            _ if is_first => "first",
            _ if is_return => "hot",
            "killed" if n == VISITS.len() - 1 => "failed",
            other => other,
        };
        let wait_ms = match state {
            "first" => 900.0 + 150.0 * *app as f64,
            "hot" => 120.0,
            _ => wait_ms * (1.0 + *app as f64 / 4.0),
        } * factor;
        let dwell_ms = 1_000.0 + 400.0 * (n % 5) as f64;
        let begin_s = at_s;
        at_s += (wait_ms + dwell_ms) / 1e3;
        let started: Vec<usize> = (0..APPS.len()).filter(|app| VISITS[..=n].contains(app)).collect();
        let memory = |known: &usize| {
            let all: u64 = (30 + 25 * *known as u64) << 20;
            let out = if *known != *app && state == "swapped" { all * 2 / 3 } else { 0 };
            json!({ "app": APPS[*known], "anonymous_bytes": all - out, "file_bytes": 20u64 << 20,
                "swapped_bytes": out })
        };
        let split = json!({
            "method": "bpf", "wall_ms": wait_ms, "lost_events": 0,
            "parts": [
                { "cause": "user_cpu", "time_ms": wait_ms * 0.2 },
                { "cause": "storage_read", "time_ms": wait_ms * 0.3 },
                { "cause": "swap_in", "time_ms": wait_ms * 0.4 },
                { "cause": "sleep", "time_ms": wait_ms * 0.1 },
            ],
        });
        let ended =
            if state == "killed" { vec![json!({ "app": APPS[(*app + 1) % 5], "by": "brisk" })] } else { vec![] };
        json!({
            "trace_s": 30.0 * n as f64, "at_s": begin_s, "app": APPS[*app], "state": state,
            "ending": (state != "failed").then(|| json!({ "ending": "settled" })), "wait_ms": wait_ms, "split": split,
            "dwell_ms": dwell_ms,
            "waiting": { "read_bytes": 9u64 << 20, "written_bytes": 1u64 << 20, "busy_ms": wait_ms * 0.6 },
            "dwelling": { "read_bytes": 1u64 << 20, "written_bytes": 6u64 << 20, "busy_ms": 300.0 },
            "swap_in_bytes": 4u64 << 20, "swap_out_bytes": 6u64 << 20,
            "available_bytes": (40u64 + 5 * (n % 4) as u64) << 20, "refault_pages": 90 * (n % 3), "ended": ended,
            "failure": (state == "failed").then_some("it shows no window"),
            "memory": started.iter().map(memory).collect::<Vec<_>>(),
        })
    };
    let switches: Vec<Value> = VISITS.iter().enumerate().map(switch).collect();
    json!({
        "round": round, "position": position, "switches": switches, "duration_s": 40.0 * factor,
        "costs": { "programmed_bytes": 140u64 << 20, "erases": 61 },
    })
}

pub fn day() -> DayReport {
    // Rounds differ by a percent or two.
    let rounds = |first: u32, state: &str, wait_ms: f64| -> Vec<Value> {
        let factors = [summary(1.0, 2.0, 1).median, 1.0, 1.015];
        (0..3).map(|n| run(first + 3 * n, n + 1, state, wait_ms, factors[n as usize])).collect()
    };
    on_s5(json!({
        "phone": {
            "preset": "galaxy-s5-emmc", "device": "/dev/loop3", "scheduler": "mq-deadline", "driver_tags": 4,
            "size_bytes": 4u64 << 30, "file_system": "ext4 rw,noatime",
        },
        "memory": { "limit_bytes": 600u64 << 20, "swap_bytes": 1u64 << 30 },
        "trace": {
            "name": "synthetic", "user": "synthetic-1", "from_s": 0.0, "span_s": 1_830.0, "switches": 16,
            "dropped_sessions": 7,
            "dropped_apps": 4, "speed": 20.0, "dwell_ms_min": 1_000.0, "dwell_ms_max": 5_000.0, "lengthened": 5,
            "shortened": 3,
            "apps": APPS.iter().zip(["messages", "browser", "mail", "photos", "news"]).map(|(app, of)| {
                json!({ "trace_app": of, "app": app, "switches": 3 })
            }).collect::<Vec<_>>(),
        },
        "policies": [
            { "name": "default", "text": "swap on flash, apps in the background \
                                          frozen", "runs": rounds(1, "swapped", 2_600.0) },
            { "name": "zram", "text": "swap in compressed memory", "runs": rounds(2, "hot", 250.0) },
            { "name": "none", "text": "no swap, the oldest app is ended", "runs": rounds(3, "killed", 1_100.0) },
        ],
    }))
}
