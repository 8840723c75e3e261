//! A hunt: two drawn loads, one of which misses two bounds, one that the search made, one without figures, and a worst
//! case.

use brisk_lab::results::HuntReport;
use serde_json::{Value, json};

use super::{header, report, seven};

fn row(scheduler: &str, read_us: f64, write: f64) -> Value {
    json!({
        "scheduler": scheduler, "read_us_mean": read_us, "read_us_p99": 4.0 * read_us, "commit_us_p99": 3.0 * read_us,
        "write_us_mean": 1e9 / write, "write_bytes_per_s": write, "discards_per_s": 900.0,
        "starved": scheduler == "bfq",
    })
}

fn ratio(bound: &str, ratio: f64, against: &str, holds: bool) -> Value {
    json!({ "bound": bound, "ratio": seven(ratio), "against": against, "holds": holds })
}

pub fn hunt() -> HuntReport {
    let load = |number: u32, drawn: bool, rows: Value, ratios: Value, refused: Option<&str>| {
        json!({
            "number": number, "drawn": drawn, "kind": if number == 0 { "emmc" } else { "virtual" }, "rows": rows,
            "ratios": ratios, "refused": refused,
            "words": "8 random readers of 4 KiB, pause 2 ms + 2 buffered copies of 16 MiB, fsync every 4 MiB on 4 dies \
                      of 70/400 us, ext4",
        })
    };
    let bound = |bound: &str, words: &str, at_most: f64, loads: u32, hold: u32, worst: Option<f64>| {
        json!({ "bound": bound, "words": words, "at_most": at_most, "loads": loads, "hold": hold,
            "ratio": worst.map(seven) })
    };
    let good = json!([row("smartio", 210.0, 9.1e6), row("none", 900.0, 9.4e6), row("bfq", 700.0, 8.0e6)]);
    let bad = json!([row("smartio", 12_300.0, 8.8e6), row("none", 4_400.0, 9.4e6), row("bfq", 3_000.0, 9.5e6)]);
    let missed = json!([ratio("dominated", 1.08, "bfq", false), ratio("read-mean", 2.8, "none", false)]);
    let mut head = header(None);
    (head.environment.kernel, head.environment.cpus, head.io_engine) = ("6.12.1-cloud-amd64".into(), 1, None);
    report(
        &head,
        json!({
            "series": "6.12", "scheduler": "smartio", "peers": ["none", "bfq"], "seeds": [1, 2, 3, 4, 5, 6, 7],
            "hold": 1,
            "bounds": [
                bound("dominated", "no stock scheduler better in read mean and write \
                                    throughput", 1.05, 2, 1, Some(1.0)),
                bound("read-mean", "read mean over none", 1.05, 2, 1, Some(1.6)),
                bound("discards", "discards, throughput of none over it", 1.02, 0, 0, None),
            ],
            "loads": [
                load(0, true, good, json!([ratio("dominated", 0.4, "bfq", true),
                    ratio("read-mean", 0.23, "none", true)]), None),
                load(1, true, bad.clone(), missed.clone(), None),
                load(2, true, json!([]), json!([]), Some("none: the device's timer was 2.10 us late on average, 2 us \
                                                          are allowed")),
                load(0, false, bad, missed, None),
            ],
            "found": [{
                "bound": "read-mean", "words": "6 random readers of 4 KiB, pause 2 ms + 1 buffered copy of 16 MiB, \
                                                fsync every 4 MiB on 4 dies of 70/400 us, ext4",
                "from": "8 random readers of 4 KiB, pause 2 ms", "from_ratio": 2.8, "ratio": seven(2.2),
                "against": "none",
                "tried": 64, "confirmed": true, "file": "kernel/scenarios/hunted/smartio-read-mean-1.toml",
            }],
            "fidelity": {
                "lateness_ns_mean": 640.0, "lateness_ns_bound": 2_000.0, "repeat_percent": 0.02,
                "repeat_percent_bound": 1.0, "repeat_percent_of_jobs": 0.4, "boots": 3, "cases": 20,
            },
        }),
    )
}
