use brisk_core::stats::Summary;

use super::*;
use crate::results::{CacheCheck, Environment, Header, Latency, SyncResult};

fn latency(p50_us: f64) -> Latency {
    Latency {
        count: 1_000,
        mean_us: p50_us,
        p50_us,
        p95_us: p50_us * 1.5,
        p99_us: p50_us * 2.0,
        max_us: p50_us * 3.0,
        percentiles_us: vec![],
    }
}

/// A job on a device that answers a request after `p50_us` and serves `parallel` at once.
fn job(pattern: Pattern, direction: Direction, depth_requests: u32, p50_us: f64, parallel: f64) -> JobResult {
    let rate = 1e6 / p50_us * parallel;
    JobResult {
        runs: Vec::new(),
        pattern,
        direction,
        block_bytes: 4096,
        depth_requests,
        bandwidth_bytes_per_s: Summary::of(&[rate * 4096.0]).expect("one"),
        requests_per_s: Summary::of(&[rate]).expect("one"),
        latency: latency(p50_us),
        cpu_us_per_request: 1.0,
        iowait_percent: 0.0,
        cpu_busy_percent: 20.0,
    }
}

fn report(read_us: f64, write_us: f64, parallel: f64, fsync_us: f64) -> BenchReport {
    use Direction::{Read, Write};
    use Pattern::{Random, Sequential};
    BenchReport {
        header: Header {
            schema_version: 1,
            started: String::new(),
            duration_s: 1.0,
            environment: Environment {
                brisk_version: String::new(),
                commit: None,
                kernel: String::new(),
                architecture: String::new(),
                cpus: 2,
                path: String::new(),
                file_system: None,
                mount_options: None,
                device: None,
                disks: Vec::new(),
            },
            io_engine: None,
            seed: 0,
            written_bytes: 0,
            warnings: vec![],
        },
        budget: "quick".to_owned(),
        work_bytes: 0,
        cache: CacheCheck {
            verdict: CacheVerdict::Direct,
            asked_bytes: 1,
            device_bytes: Some(1),
            text: "cache text".to_owned(),
        },
        jobs: vec![
            job(Sequential, Read, 1, read_us / 2.0, 1.0),
            job(Random, Read, 1, read_us, 1.0),
            job(Random, Write, 1, write_us, 1.0),
            job(Random, Read, 32, read_us, parallel),
        ],
        block_sweep: vec![],
        depth_sweep: vec![],
        syncs: vec![SyncResult { call: "fsync".to_owned(), block_bytes: 4096, latency: latency(fsync_us) }],
        verdict: vec![],
    }
}

fn text(report: &BenchReport) -> String {
    verdict(report).join("\n")
}

#[test]
fn the_verdict_on_a_cold_start_follows_the_limits() {
    // 35 MB are 8,545 blocks of 4 KiB.
    for (read_us, feeling) in [
        (5.0, "not noticeable"),
        (80.0, "not disturbing"),
        (187.0, "unless the app reads ahead"),
        (400.0, "however the app reads"),
    ] {
        let text = text(&report(read_us, read_us, 1.0, 100.0));
        assert!(text.contains(feeling), "{read_us} us: {text}");
    }
    let text = text(&report(187.0, 187.0, 1.0, 100.0));
    assert!(text.contains("waits 187 us") && text.contains("799 ms") && text.contains("1.60 s"), "{text}");
}

#[test]
fn memory_is_named_first() {
    let mut memory = report(5.0, 5.0, 1.0, 1.0);
    memory.cache.verdict = CacheVerdict::Memory;
    assert_eq!(verdict(&memory)[0], "cache text");
    assert!(!text(&report(5.0, 5.0, 1.0, 1.0)).contains("cache text"));
}

#[test]
fn slow_syncs_are_counted_in_frames() {
    assert!(text(&report(100.0, 100.0, 1.0, 40_000.0)).contains("drops 3 frames"));
    assert!(text(&report(100.0, 100.0, 1.0, 12_000.0)).contains("one in twenty takes 18.0 ms"));
    assert!(text(&report(100.0, 100.0, 1.0, 900.0)).contains("fits into one frame"));
}

#[test]
fn parallelism_tail_and_asymmetry_are_reported_from_their_thresholds() {
    let flash = text(&report(187.0, 410.0, 6.0, 100.0));
    assert!(flash.contains("6.00 times as many (32,086 a second"), "{flash}");
    assert!(flash.contains("takes 2.19 times as long as a random read (medians)"), "{flash}");
    assert!(!flash.contains("One random read in a hundred"));
    let serial = text(&report(187.0, 200.0, 1.1, 100.0));
    assert!(serial.contains("only makes each wait longer") && !serial.contains("as long as a random read"), "{serial}");
    let mut tailed = report(187.0, 187.0, 1.0, 100.0);
    tailed.jobs[1].latency.p99_us = 4_000.0;
    assert!(text(&tailed).contains("takes 4.00 ms or longer, 21.4 times"), "{}", text(&tailed));
    assert!(!text(&tailed).contains("of a CPU"));
    // 5,348 requests a second of 100 us each.
    tailed.jobs[3].cpu_us_per_request = 100.0;
    assert!(text(&tailed).contains("32 deep took 53 % of a CPU"), "{}", text(&tailed));
}

#[test]
fn a_report_without_jobs_has_only_known_sentences() {
    let mut empty = report(1.0, 1.0, 1.0, 1.0);
    empty.jobs.clear();
    empty.syncs.clear();
    assert_eq!(verdict(&empty), Vec::<String>::new());
}
