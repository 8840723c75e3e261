//! Everything that can be wrong at once, in documents of all kinds.

use std::sync::LazyLock;

use brisk_lab::results::{BlockDevice, Document, Environment, FootprintReport, Header, KernelScenario, Warning};
use serde_json::json;

use super::{
    apps, bench, concurrency, frontier, header, kernel, kernel_bench, memory, profile, report, s5_device, schedulers,
    slowdown, summary,
};

/// Everything that can be wrong at once: no device, hostile and long names, one run, warnings, odd numbers.
pub fn ugly() -> Vec<Document> {
    static UGLY: LazyLock<Vec<Document>> = LazyLock::new(all_ugly);
    UGLY.clone()
}

fn all_ugly() -> Vec<Document> {
    let hostile = "<script>alert(1)</script>\u{1b}[2J\u{202e}\"'&amp; --> ]]> </style></svg>";
    let mut head = header(None);
    head.environment.path = format!("/mnt/{}/{hostile}", "a-very-long-directory-name".repeat(12));
    head.environment.file_system = None;
    head.environment.mount_options = None;
    head.environment.kernel = "6.6.0-vendor-android15-8-g1234567890ab-ab12345678".into();
    head.io_engine = Some("calls: io_uring is disabled by kernel.io_uring_disabled=2".into());
    head.started = "yesterday".into();
    head.warnings = vec![
        Warning { code: "few_repeats".into(), text: "1 run of each load; give --full or more time.".into() },
        Warning {
            code: "cpu_pressure".into(),
            text: "Tasks waited for a CPU 38 % of the time; quiet the machine.".into(),
        },
        Warning { code: "write_limit".into(), text: "Loads that write were repeated less often.".into() },
        Warning { code: "not_direct".into(), text: format!("O_DIRECT refused on {hostile}") },
        Warning { code: hostile.into(), text: "A code that no version knows.".into() },
    ];
    let one = |value: f64| summary(value, 0.0, 1);
    let mut bench = bench();
    bench.header = head.clone();
    bench.cache.verdict = brisk_lab::results::CacheVerdict::Memory;
    bench.cache.text = "tmpfs lives in memory: these numbers are not storage's.".into();
    for job in bench.jobs.iter_mut().chain(&mut bench.block_sweep).chain(&mut bench.depth_sweep) {
        job.bandwidth_bytes_per_s = one(job.bandwidth_bytes_per_s.median);
        job.requests_per_s = one(job.requests_per_s.median);
    }
    bench.block_sweep.truncate(1);
    bench.depth_sweep.clear();
    bench.syncs[0].call = hostile.into();
    bench.verdict.clear();
    let mut slow = slowdown();
    slow.header = Header {
        environment: Environment {
            device: Some(BlockDevice {
                model: Some(format!("{hostile} {}", "LONG MODEL ".repeat(20))),
                lab_preset: None,
                ..s5_device()
            }),
            ..head.environment.clone()
        },
        ..head.clone()
    };
    slow.rows.truncate(1);
    slow.rows[0].read_slowdown = one(0.93);
    slow.rows[0].write_slowdown = one(0.0);
    let mut schedulers = schedulers();
    schedulers.header = head.clone();
    schedulers.restored = false;
    for point in &mut schedulers.points {
        if point.scheduler == "bfq" {
            point.scheduler = format!("{hostile}-an-out-of-tree-scheduler");
        }
        point.response_s = one(point.response_s.median);
    }
    let empty: FootprintReport =
        report(&head, json!({ "block_bytes": 0, "requests": 0, "precondition_bytes": 0, "points": [], "drops": [] }));
    let mut frontier = frontier();
    frontier.header = head.clone();
    (frontier.restored, frontier.chosen) = (false, None);
    frontier.points.truncate(2);
    for point in &mut frontier.points {
        (point.scheduler, point.read_ratio) = (hostile.into(), f64::INFINITY);
        point.loads.truncate(1);
    }
    let (launch, latency, proof) = apps::ugly(&head, hostile);
    let mut odd = profile();
    odd.header = head.clone();
    odd.workloads.clear();
    odd.device_model = hostile.into();
    odd.judged[0].workload = hostile.into();
    let mut lab = kernel();
    lab.header = head.clone();
    lab.scenarios[0].rows.truncate(1);
    lab.scenarios[0].rows[0].scheduler = hostile.into();
    lab.scenarios[0].rows[0].loads[0].sides.clear();
    lab.scenarios[0].refused[0].1 = hostile.into();
    lab.scenarios.push(KernelScenario { rows: Vec::new(), loads: Vec::new(), ..lab.scenarios[0].clone() });
    let mut bench_lab = kernel_bench();
    bench_lab.header = head.clone();
    bench_lab.aims[0].words = hostile.into();
    bench_lab.aims[0].loads[0].why = Some(hostile.into());
    bench_lab.aims[1].loads.clear();
    let returns = memory::ugly(&head, hostile);
    let heaps = super::heap_study::ugly(&head, hostile);
    let mut few = concurrency();
    few.header = head;
    few.points.truncate(1);
    few.parameters.clear();
    vec![
        Document::from(bench),
        Document::from(slow),
        Document::from(few),
        Document::from(schedulers),
        Document::from(empty),
        Document::from(frontier),
        Document::from(launch),
        Document::from(latency),
        Document::from(proof),
        Document::from(odd),
        Document::from(lab),
        Document::from(bench_lab),
        Document::from(returns),
        Document::from(heaps),
    ]
}
