//! Documents as a benchmark would write them, for tests and for looking at pages: plausible numbers with a repeatable
//! scatter, and one ugly case of everything that can go wrong.
#![allow(dead_code, unreachable_pub, reason = "each user takes what it needs")]

pub mod apps;
pub mod cures;
pub mod day;
pub mod heap_study;
pub mod hunt;
pub mod memory;
pub mod pairs;
pub mod prediction;
pub mod swap;
mod ugly;

use std::sync::LazyLock;

use brisk_core::stats::Summary;
use brisk_lab::results::{
    BenchReport, BlockDevice, ConcurrencyReport, Direction, Document, FootprintReport, FrontierReport, Header,
    JobResult, KernelReport, KernelVerdict, Latency, Pattern, ProfileReport, SchedulersReport, SlowdownReport,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What stands in a result file as the struct that it becomes: the samples are schema 1 word for word.
pub fn of<T: DeserializeOwned>(fields: Value) -> T {
    serde_json::from_value(fields).expect("schema 1")
}

/// A report with a head.
pub fn report<T: DeserializeOwned>(header: &Header, fields: Value) -> T {
    let mut whole = json!(header);
    let all = whole.as_object_mut().expect("a head has fields");
    all.extend(fields.as_object().expect("a report has fields").clone());
    of(whole)
}

const LOADS: [(Pattern, Direction); 4] = [
    (Pattern::Sequential, Direction::Read),
    (Pattern::Sequential, Direction::Write),
    (Pattern::Random, Direction::Read),
    (Pattern::Random, Direction::Write),
];

/// `runs` values around `value`, within `percent` of it.
pub fn summary(value: f64, percent: f64, runs: usize) -> Summary {
    let mut state = value.to_bits() ^ 0x9e37_79b9_7f4a_7c15;
    let values: Vec<f64> = (0..runs)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            value * (1.0 + percent / 100.0 * ((state >> 33) as f64 / f64::from(1u32 << 30) - 1.0))
        })
        .collect();
    Summary::of(&values).expect("finite")
}

fn seven(value: f64) -> Summary {
    summary(value, 5.0, 7)
}

/// The emulated phone.
pub fn s5_device() -> BlockDevice {
    of(json!({
        "name": "loop3", "size_bytes": 4u64 << 30, "rotational": false, "scheduler": "mq-deadline",
        "schedulers_available": ["none", "mq-deadline", "kyber", "bfq"], "queue_depth_requests": 8,
        "read_ahead_kib": 128,
        "max_request_kib": 512, "write_cache": "write back", "logical_block_bytes": 4096,
        "lab_preset": "galaxy-s5-emmc",
    }))
}

pub fn header(device: Option<BlockDevice>) -> Header {
    of(json!({
        "schema_version": 1, "started": "2026-10-05T20:28:59Z", "duration_s": 94.2, "io_engine": "io_uring", "seed": 42,
        "written_bytes": 3u64 << 30, "warnings": [],
        "environment": {
            "brisk_version": "0.1.0", "kernel": "6.18.4", "architecture": "x86_64", "cpus": 2,
            "path": "/var/lib/brisk/lab/mnt", "file_system": "ext4", "mount_options": "rw,relatime", "device": device,
        },
    }))
}

/// A report from the emulated phone.
pub fn on_s5<T: DeserializeOwned>(fields: Value) -> T {
    report(&header(Some(s5_device())), fields)
}

pub fn latency(p50_us: f64, tail: f64, count: u64) -> Latency {
    let at = |percent: f64| {
        let nines = -(1.0 - percent / 100.0).max(0.5 / count as f64).log10();
        p50_us * (0.75 + 0.25 * (nines / 0.301).min(1.0) + (tail - 1.0) * ((nines - 0.301).max(0.0) / 4.0).powf(1.6))
    };
    let percents = [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];
    Latency {
        count,
        mean_us: p50_us * 1.06,
        p50_us: at(50.0),
        p95_us: at(95.0),
        p99_us: at(99.0),
        max_us: at(100.0),
        percentiles_us: percents.map(|p| (p, at(p))).into(),
    }
}

fn job((pattern, direction): (Pattern, Direction), block_bytes: u64, depth_requests: u32) -> JobResult {
    // Time of a request at depth 1, and what more of them at once gain.
    let (base_us, per_kib_us, units) = match (pattern, direction) {
        (Pattern::Sequential, Direction::Read) => (52.0, 4.1, 1.4),
        (Pattern::Random, Direction::Read) => (152.0, 7.4, 3.6),
        (Pattern::Sequential, Direction::Write) => (122.0, 15.0, 1.5),
        (Pattern::Random, Direction::Write) => (330.0, 18.0, 1.9),
    };
    let service_us = base_us + per_kib_us * block_bytes as f64 / 1024.0;
    let depth = f64::from(depth_requests);
    let rate = depth.min(units * (1.0 - 0.5 / depth.max(1.0)) + 0.5) / service_us * 1e6;
    let tail = if direction == Direction::Write { 28.0 } else { 7.0 };
    of(json!({
        "pattern": pattern, "direction": direction, "block_bytes": block_bytes, "depth_requests": depth_requests,
        "bandwidth_bytes_per_s": seven(rate * block_bytes as f64), "requests_per_s": seven(rate),
        "latency": latency(depth / rate * 1e6 * 0.94, tail, 61_240),
        "cpu_us_per_request": 4.6, "iowait_percent": 41.0, "cpu_busy_percent": 12.0,
    }))
}

pub fn bench() -> BenchReport {
    let sync = |call, us, tail| json!({ "call": call, "block_bytes": 4096, "latency": latency(us, tail, 400) });
    let jobs = |depth| LOADS.map(|load| job(load, 4096, depth));
    on_s5(json!({
        "budget": "normal", "work_bytes": 512 << 20,
        "cache": {
            "verdict": "direct", "asked_bytes": 64 << 20, "device_bytes": 64 << 20,
            "text": "Direct: the device moved the 64 MiB that were asked for.",
        },
        "jobs": ([1, 32].map(jobs).concat()),
        "block_sweep": (12..=20).flat_map(|power| LOADS.map(|load| job(load, 1 << power, 1))).collect::<Vec<_>>(),
        "depth_sweep": (0..=5).flat_map(|power| jobs(1 << power)).collect::<Vec<_>>(),
        "syncs": [sync("fsync", 3_150.0, 9.0), sync("fdatasync", 1_480.0, 14.0)],
        "verdict": [
            "Reads are quick, durable writes are not: a commit waits 1.48 ms, and one in a hundred four times as long.",
            "Random writes reach 2,486 requests a second, and more than two at once gain little.",
            "Large requests matter: random reads are 8 times faster in 1 MiB than in 4 KiB.",
        ],
    }))
}

/// Another device, for comparison.
pub fn other_bench() -> BenchReport {
    let mut bench = bench();
    let device = BlockDevice {
        name: "nvme0n1".into(),
        model: Some("ACME NV3 512GB".into()),
        size_bytes: 512_110_190_592,
        scheduler: Some("none".into()),
        queue_depth_requests: Some(1023),
        logical_block_bytes: 512,
        lab_preset: None,
        ..s5_device()
    };
    bench.header.environment.device = Some(device);
    bench.header.environment.path = "/home".into();
    for job in bench.jobs.iter_mut().chain(&mut bench.block_sweep).chain(&mut bench.depth_sweep) {
        let factor = if job.direction == Direction::Read { 4.0 } else { 1.02 };
        job.bandwidth_bytes_per_s = seven(job.bandwidth_bytes_per_s.median * factor);
        job.requests_per_s = seven(job.requests_per_s.median * factor);
    }
    bench
}

pub fn slowdown() -> SlowdownReport {
    let row = |pattern: &str, streams: u32, alone: [f64; 2], slow: [f64; 2]| {
        json!({
            "pattern": pattern, "streams": streams,
            "read_alone_us": seven(alone[0]), "read_beside_us": seven(alone[0] * slow[0]),
            "write_alone_us": seven(alone[1]), "write_beside_us": seven(alone[1] * slow[1]),
            "read_slowdown": seven(slow[0]), "write_slowdown": seven(slow[1]),
            "read_peers_us": (streams > 1).then(|| seven(alone[0] * 2.9)),
            "write_peers_us": (streams > 1).then(|| seven(alone[1] * 3.1)),
        })
    };
    on_s5(json!({
        "block_bytes": 4096, "stream_bytes": 16 << 20,
        "rows": [
            row("sequential", 1, [73.0, 191.0], [5.9, 1.18]),
            row("random", 1, [188.0, 412.0], [3.3, 1.52]),
            row("sequential", 4, [73.0, 191.0], [24.6, 4.4]),
            row("random", 4, [188.0, 412.0], [17.1, 7.2]),
        ],
    }))
}

pub fn concurrency() -> ConcurrencyReport {
    let speedups = [
        [1.42, 1.31, 1.24, 1.12, 0.97],
        [1.18, 1.27, 1.21, 1.08, 0.9],
        [1.38, 1.57, 1.52, 1.44, 1.31],
        [1.39, 1.34, 1.2, 1.05, 0.94],
    ];
    let mut points = Vec::new();
    let mut parameters = Vec::new();
    for ((pattern, direction), speedups) in LOADS.into_iter().zip(speedups) {
        for (i, speedup) in speedups.into_iter().enumerate() {
            let streams = 2u32 << i;
            points.push(json!({
                "pattern": pattern, "direction": direction, "streams": streams,
                "serial_s": seven(0.31 * f64::from(streams)),
                "concurrent_s": seven(0.31 * f64::from(streams) / speedup),
                "speedup": seven(speedup),
            }));
        }
        let best = (0..5).max_by(|a, b| speedups[*a].total_cmp(&speedups[*b])).expect("five");
        let (streams, speedup) = (2u32 << best, speedups[best]);
        parameters.push(json!({ "pattern": pattern, "direction": direction, "streams": streams, "speedup": speedup }));
    }
    let fields = json!({ "block_bytes": 4096, "stream_bytes": 4 << 20, "points": points, "parameters": parameters });
    on_s5(fields)
}

pub fn schedulers() -> SchedulersReport {
    let mut points = Vec::new();
    for (queue_depth_requests, depth_requests) in [(4u32, 8u32), (64, 128)] {
        for (scheduler, factor) in [("none", 1.3), ("mq-deadline", 1.16), ("kyber", 0.86), ("bfq", 0.95)] {
            for (pattern, weight) in [(Pattern::Sequential, 1.0), (Pattern::Random, 1.9)] {
                for read_percent in (10u32..=100).step_by(10) {
                    let writes = f64::from(100 - read_percent) / 100.0;
                    let time = weight * (0.35 + 1.25 * writes * factor * if depth_requests > 8 { 1.2 } else { 1.0 });
                    let writes_too = read_percent < 100;
                    points.push(json!({
                        "scheduler": scheduler, "wanted_depth_requests": queue_depth_requests,
                        "queue_depth_requests": queue_depth_requests, "depth_requests": depth_requests,
                        "pattern": pattern, "read_percent": read_percent, "response_s": seven(time),
                        "read_us": seven(180.0 * (1.0 + 9.0 * writes * factor)),
                        "write_us": writes_too.then(|| seven(700.0 * factor)),
                        "read_slowdown": 1.0 + 9.0 * writes * factor,
                        "write_slowdown": writes_too.then_some(1.1 + 0.4 * factor),
                    }));
                }
            }
        }
    }
    on_s5(json!({ "block_bytes": 4096, "mix_bytes": 16 << 20, "points": points, "restored": true }))
}

pub fn footprint() -> FootprintReport {
    let card = BlockDevice {
        lab_preset: Some("sd-sandisk".into()),
        name: "loop4".into(),
        size_bytes: 16 << 30,
        ..s5_device()
    };
    let rate = |mib: u64| match mib {
        0..=32 => 2.62e6,
        33..=1024 => 0.69e6,
        _ => 0.021e6,
    };
    let point = |power: u64| {
        let rate = rate(1 << power) * (1.0 - 0.012 * power as f64);
        json!({ "range_bytes": (1u64 << power) << 20, "bandwidth_bytes_per_s": seven(rate) })
    };
    report(
        &header(Some(card)),
        json!({
            "block_bytes": 4096, "requests": 2048, "precondition_bytes": 1 << 30,
            "points": (3..=12).map(point).collect::<Vec<_>>(),
            "drops": [
                { "after_range_bytes": 32 << 20, "factor": 3.8 },
                { "after_range_bytes": 1024 << 20, "factor": 32.9 },
            ],
        }),
    )
}

pub fn frontier() -> FrontierReport {
    let load = |name: &str, readers: u32, writers: &str| {
        json!({
            "name": name, "readers": readers, "read_interval_us": 1_870.0 * f64::from(readers), "read_alone_us": 187.0,
            "writers": writers,
        })
    };
    const BEST: &str = "mq-deadline, async_depth 1, readers real-time (prio_aging_expire 100)";
    let fastest = format!("{BEST}, nr_requests 4");
    // Settings in addition to the scheduler, read time and write rate of each load relative to those found, trials.
    let point =
        |label: &str, mut settings: Value, [[read, write], [other_read, other_write]]: [[f64; 2]; 2], trials, on| {
            let scheduler = label.trim_start_matches("as found (").split([',', ')']).next().unwrap_or_default();
            if !label.starts_with("as found") {
                settings["scheduler"] = json!(scheduler);
            }
            let measure = |read: f64, write: f64, read_us: f64, bytes_per_s: f64| {
                json!({
                    "read_us": summary(read_us * read, 8.0, trials),
                    "read_us_p99": summary(read_us * read * 4.0, 15.0, trials),
                    "write_bytes_per_s": summary(bytes_per_s * write, 4.0, trials),
                    "write_us_max": summary(31_000.0 / write, 20.0, trials),
                })
            };
            json!({
                "label": label, "scheduler": scheduler, "settings": settings, "priorities": label.contains("real-time"),
                "loads": [measure(read, write, 5_200.0, 9.4e6), measure(other_read, other_write, 3_100.0, 2.2e6)],
                "read_ratio": (read * other_read).sqrt(), "write_percent": (write * other_write).sqrt() * 100.0,
                "on_frontier": on,
            })
        };
    let real_time = json!({ "mq-deadline/async_depth": "1", "mq-deadline/prio_aging_expire": "100" });
    let mut real_time_4 = real_time.clone();
    real_time_4["nr_requests"] = json!("4");
    on_s5(json!({
        "block_bytes": 4096, "trial_s": 0.55, "write_min_percent": 90.0,
        "loads": [
            load("1 reader beside an install", 1, "buffered writes of 512 KiB"),
            load("4 readers beside 4 writers", 4, "4 writers at random past the page cache"),
        ],
        "points": [
            point("as found (mq-deadline)", json!({}), [[1.0, 1.0], [1.0, 1.0]], 10, true),
            point("mq-deadline", json!({}), [[1.01, 0.99], [0.98, 1.0]], 1, false),
            point("none", json!({}), [[1.6, 1.02], [1.3, 1.0]], 1, false),
            point("bfq, low_latency 0", json!({ "bfq/low_latency": "0" }), [[0.6, 0.9], [0.7, 0.92]], 1, false),
            point("kyber, nr_requests 4", json!({ "nr_requests": "4" }), [[0.4, 0.97], [0.5, 0.96]], 4, true),
            point(BEST, real_time, [[0.09, 0.97], [0.2, 0.94]], 10, true),
            point(&fastest, real_time_4, [[0.08, 0.71], [0.18, 0.75]], 4, true),
        ],
        "found": "as found (mq-deadline)", "chosen": BEST,
        "refused": [["bfq, wbt_lat_usec 0", "cannot write '0' to wbt_lat_usec"]], "restored": true,
    }))
}

/// A profile of three settings.
pub fn profile() -> ProfileReport {
    let setting = |scheduler: &str, depth: u32| json!({ "scheduler": scheduler, "queue_depth_requests": depth });
    let all = [(setting("mq-deadline", 8), 1.0, 1.0), (setting("none", 4), 0.91, 0.99), (setting("bfq", 4), 1.07, 0.8)];
    let workload = |name: &str, requests_per_s: f64, best: usize| {
        let cells = all.iter().map(|(setting, energy, delay)| {
            json!({
                "setting": setting, "requests_per_s": requests_per_s, "kept_up": requests_per_s < 2_400.0,
                "request_uj_mean": 61.0 * energy, "read_us_mean": 260.0 * delay,
                "write_us_mean": (best > 0).then_some(512.0), "energy_ratio": energy, "delay_ratio": delay,
            })
        });
        json!({
            "name": name, "about": "dissertation table 3.2, by its published rates", "best": all[best].0,
            "cells": cells.collect::<Vec<_>>(),
        })
    };
    let pick = |chooser: &str, index: usize, right: bool| {
        let (setting, energy, delay) = &all[index];
        json!({
            "chooser": chooser, "setting": setting, "over_best": energy / 0.91, "energy_ratio": energy,
            "delay_ratio": delay,
            "right": right, "not_told_from_right": right,
        })
    };
    on_s5(json!({
        "device_model": "galaxy-s5-emmc", "device_kind": "emmc",
        "meter": {
            "name": "modelled", "what": "modelled, not measured: the emulated device's operations",
            "uncertainty": "good for comparing settings only",
        },
        "own": all[0].0, "cell_s": 1.0, "rounds": 2, "taken_over_cells": 1,
        "workloads": [workload("AnTuTu", 2_503.0, 1), workload("Vellamo", 10.0, 0), workload("mail", 210.0, 1)],
        "judged": [{
            "workload": "mail", "best": setting("none", 4),
            "picks": [
                pick("adaptive", 1, true), pick("paper", 2, false), pick("one_for_all", 1, true), pick("own", 0, false),
            ],
        }],
        "held_out": false, "profile": "/var/lib/brisk/profiles/smartstorage/galaxy-s5-emmc.json",
    }))
}

fn kernel_side(side: &str, jobs: u32, delay_us: f64, bytes_per_s: f64, slowdown: f64) -> Value {
    json!({
        "side": side, "jobs": jobs, "delay_us_mean": seven(delay_us), "delay_us_p50": seven(delay_us * 0.8),
        "delay_us_p99": seven(delay_us * 1.7), "delay_us_max": seven(delay_us * 2.4),
        "requests_per_s": seven(bytes_per_s / 4096.0), "bytes_per_s": seven(bytes_per_s), "slowdown": seven(slowdown),
        "job_s": (side == "mixed").then(|| seven(2.5)),
    })
}

/// The same, held against aims: one reached, one missed in one of two loads, one without figures.
pub fn kernel_bench() -> KernelReport {
    let aimed = |load: &str, found: f64, value: Option<f64>, peer: Option<&str>, at_most: f64| {
        let verdict = match value {
            Some(value) if value <= at_most => KernelVerdict::Reached,
            Some(_) => KernelVerdict::Missed,
            None => KernelVerdict::Unknown,
        };
        json!({
            "load": load, "settings": "", "found": value.map(|_| seven(found)), "peer": peer,
            "peer_found": peer.map(|_| seven(found * 1.1)), "value": value,
            "value_worst": value.map(|value| value * 1.02),
            "verdict": verdict, "why": value.is_none().then_some("no setting leaves the others enough"),
        })
    };
    let aim = |words: &str, side: &str, figure: &str, at_most: f64, loads: &[Value]| {
        json!({
            "words": words, "scenario": "one-reader-four-writers", "scheduler": "smartio", "side": side,
            "figure": figure,
            // Times of the sample are milliseconds and more.
            "at_most": at_most, "relative": at_most < 10.0 && figure != "slowdown", "loads": loads,
        })
    };
    let peer = Some("mq-deadline nr_requests=4");
    let one = "1 reader beside 4 writers";
    let mixes = [
        aimed("random, 10 % reads", 9_000.0, Some(0.97), peer, 1.02),
        aimed("random, 90 % reads", 20_000.0, Some(1.043), peer, 1.02),
    ];
    let mut report = kernel();
    report.scenarios[0].fidelity.kept = 40;
    report.aims = of(json!([
        aim("a read at most twice as long as alone", "read", "slowdown", 2.0, &[aimed(one, 1.6, Some(1.6), None, 2.0)]),
        aim("mixes at most 2 % behind the fastest", "mixed", "requests", 1.02, &mixes),
        aim("no write waits", "write", "delay_max", 1e5, &[aimed("random, 10 % reads", 0.0, None, None, 1e5)]),
        aim("half the mean of the best tuned peer", "read", "delay_mean", 0.5, &[aimed(one, 0.0, None, None, 0.5)]),
    ]));
    report
}

/// The kernel lab: readers concurrent with writers, and mixes.
pub fn kernel() -> KernelReport {
    let names = ["1 reader beside 4 writers", "random, 10 % reads", "random, 90 % reads"];
    let row = |scheduler: &str, tuned: bool, read_us: f64, write: f64| {
        let both = [
            kernel_side("read", 1, read_us, 4096e6 / read_us, read_us / 83.0),
            kernel_side("write", 4, 25e3, write, 41e6 / write),
        ];
        json!({
            "scheduler": scheduler, "tuned": tuned, "tried": if tuned { 31 } else { 0 },
            "settings": if tuned { json!({ "nr_requests": "4", "writes_starved": "16" }) } else { json!({}) },
            "loads": [
                { "load": names[0], "sides": both },
                { "load": names[1], "sides": [kernel_side("mixed", 4, 700.0, write, 1.0)] },
                { "load": names[2], "sides": [kernel_side("mixed", 4, 300.0, 2.0 * write, 1.0)] },
            ],
        })
    };
    let mut head = header(None);
    (head.environment.kernel, head.environment.cpus, head.io_engine) = ("6.12.1-cloud-amd64".into(), 1, None);
    report(
        &head,
        json!({
            "series": "6.12",
            "scenarios": [{
                "name": "one-reader-four-writers", "title": "One reader beside four writers",
                "question": "What does a read wait for when writers fill the queue?",
                "device": { "preset": "four-dies", "size_bytes": 1 << 30, "depth_requests": 32, "queues": 1 },
                "seeds": [1, 2, 3, 4, 5, 6, 7], "scale": 1.0, "write_min_percent": 90.0,
                "loads": names.map(|name| json!({ "name": name, "words": "1 x reader (op=randread bytes=4KiB)" })),
                "rows": [
                    row("mq-deadline", false, 16_256.0, 40.9e6),
                    row("mq-deadline", true, 1_293.0, 40.0e6),
                    row("bfq", false, 8_429.0, 40.6e6),
                    row("smartio", false, 168.0, 38.5e6),
                ],
                "refused": [["kyber", "the kernel 6.12.1 has no scheduler kyber"]],
                "fidelity": {
                    "lateness_ns_mean": 640.0, "lateness_ns_bound": 2_000.0, "repeat_percent": 0.02,
                    "repeat_percent_bound": 1.0, "repeat_percent_of_jobs": 0.4, "boots": 3, "cases": 121,
                },
            }],
        }),
    )
}

pub fn ugly() -> Vec<Document> {
    ugly::ugly()
}

/// One of each kind, as a good run writes them.
pub fn all() -> Vec<Document> {
    named().into_iter().map(|(_, document)| document).collect()
}

/// Documents in which names of different dimensions are the same.
pub fn coinciding() -> Vec<Document> {
    vec![Document::from(apps::launch_of_two()), Document::from(apps::namesakes())]
}

/// The same with the names of their snapshots.
pub fn named() -> Vec<(&'static str, Document)> {
    static ALL: LazyLock<Vec<(&'static str, Document)>> = LazyLock::new(one_of_each);
    ALL.clone()
}

fn one_of_each() -> Vec<(&'static str, Document)> {
    vec![
        ("bench", Document::from(bench())),
        ("slowdown", Document::from(slowdown())),
        ("concurrency", Document::from(concurrency())),
        ("schedulers", Document::from(schedulers())),
        ("footprint", Document::from(footprint())),
        ("frontier", Document::from(frontier())),
        ("heap-study", Document::from(heap_study::study())),
        ("launch", Document::from(apps::launch())),
        ("launch-vs", Document::from(apps::launch_vs())),
        ("latency", Document::from(apps::latency())),
        ("loads", Document::from(apps::loads())),
        ("prove", Document::from(apps::prove())),
        ("prove-virtual", Document::from(apps::prove_in_virtual_time())),
        ("profile", Document::from(profile())),
        ("comparison", Document::from(pairs::comparison())),
        ("kernel", Document::from(kernel())),
        ("kernel-bench", Document::from(kernel_bench())),
        ("kernel-hunt", Document::from(hunt::hunt())),
        ("relaunch", Document::from(memory::relaunch())),
        ("swap-replay", Document::from(swap::replay())),
        ("swap-show", Document::from(swap::show())),
        ("day", Document::from(day::day())),
        ("prediction", Document::from(prediction::prediction())),
        ("cures", Document::from(cures::cures())),
    ]
}
