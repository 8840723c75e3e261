//! Documents about apps: launches, answers and proofs, with plausible numbers and a repeatable scatter.

use brisk_core::stats::{Summary, paired_ratio};
use brisk_lab::results::{
    Cause, ColdCheck, Condition, Ending, LatencyReport, LatencyStep, LaunchComparison, LaunchReport, LaunchRun,
    LaunchSet, Part, PhoneFacts, ProveReport, ScreenFacts, Split, SplitMethod, Stage, StageSummary, StageTime,
    StorageUse, SuiteApp, Temperature,
};
use serde_json::{Value, json};

use super::{of, on_s5, summary};

/// A number from -1 to 1 that is always the same for the same pair.
fn scatter(name: &str, i: usize) -> f64 {
    let mut state =
        name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    for _ in 0..=i {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
}

/// What a launch does, as time by cause until settled.
pub type Parts = Vec<(Cause, f64)>;

pub fn split(parts: &[(Cause, f64)]) -> Split {
    Split {
        method: SplitMethod::Bpf,
        wall_ms: parts.iter().map(|p| p.1).sum(),
        parts: parts.iter().map(|(cause, time_ms)| Part { cause: *cause, time_ms: *time_ms }).collect(),
        lost_events: 0,
    }
}

/// Shares of the settled time at each stage; early stages wait more for storage.
const STAGES: [(Stage, f64, f64); 5] = [
    (Stage::FirstProcess, 0.03, 1.3),
    (Stage::FirstWindow, 0.36, 1.2),
    (Stage::FirstFrame, 0.44, 1.1),
    (Stage::Settled, 1.0, 1.0),
    (Stage::Idle, 1.09, 0.95),
];

fn storage(read_ms: f64) -> StorageUse {
    let bytes = (read_ms * 62_000.0) as u64 & !4095;
    let requests = bytes / 47_000;
    let by_size =
        [(4096, 0.22), (8192, 0.08), (16_384, 0.11), (32_768, 0.12), (65_536, 0.13), (131_072, 0.33), (524_288, 0.01)];
    let files = [
        "/usr/lib/x86_64-linux-gnu/libgtk-3.so.0.2404.26",
        "/usr/lib/x86_64-linux-gnu/libevdocument3.so.4.0.0",
        "/usr/share/icons/Adwaita/icon-theme.cache",
        "/usr/lib/x86_64-linux-gnu/libpoppler.so.126.0.0",
        "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
        "/usr/bin/evince",
        "/usr/lib/x86_64-linux-gnu/gdk-pixbuf-2.0/2.10.0/loaders/libpixbufloader-svg.so",
        "/home/user/manual.pdf",
        "/usr/share/mime/mime.cache",
        "8:16 inode 131842",
    ];
    let file = |(i, path): (u64, &str)| {
        let (bytes, requests) = (bytes / (3 + 2 * i), requests / (3 + 2 * i));
        json!({ "path": path, "bytes": bytes, "requests": requests, "first_ms": 12.0 + 97.0 * i as f64 })
    };
    of(json!({
        "read": {
            "bytes": bytes, "requests": requests, "sequential_requests": requests * 62 / 100,
            "by_size_bytes": by_size.map(|(size, share)| (size, (requests as f64 * share) as u64)),
        },
        "swap_in": { "bytes": 0, "requests": 0, "sequential_requests": 0, "by_size_bytes": [] },
        "write": { "bytes": 73_728, "requests": 9, "sequential_requests": 4,
        "by_size_bytes": [[4096, 6], [16_384, 3]] },
        "in_flight_ms": read_ms * 1.06, "files": (0..).zip(files).map(file).collect::<Vec<_>>(), "files_count": 312,
    }))
}

fn cold_check() -> ColdCheck {
    let lib = "/usr/lib/x86_64-linux-gnu";
    of(json!({
        "files": 312, "cached_before_bytes": 61 << 20, "cached_after_bytes": 1_540_096, "dropped_all": false,
        "stayed": [
            { "path": format!("{lib}/libc.so.6"), "cached_bytes": 1_400_832, "reason": "mapped by Xvfb (812)" },
            { "path": format!("{lib}/libz.so.1.2.13"), "cached_bytes": 139_264, "reason": "mapped by brisk (830)" },
        ],
    }))
}

fn run(name: &str, i: usize, temperature: Temperature, parts: &Parts, far: bool) -> LaunchRun {
    let whole: Parts = parts
        .iter()
        .enumerate()
        .map(|(k, (cause, ms))| {
            let noise = if *cause == Cause::CpuWait { 0.6 } else { 0.04 };
            let factor = 1.0 + noise * scatter(name, i * 16 + k);
            (*cause, ms * factor * if far && *cause == Cause::CpuWait { 9.0 } else { 1.0 })
        })
        .collect();
    let wall: f64 = whole.iter().map(|p| p.1).sum();
    let wait = whole.iter().find(|p| p.0 == Cause::CpuWait).map_or(0.0, |p| p.1);
    let stages: Vec<StageTime> = STAGES
        .into_iter()
        .map(|(stage, share, early)| {
            let weigh = |cause: Cause| if cause == Cause::StorageRead { early } else { 1.0 };
            let sum: f64 = whole.iter().map(|(cause, ms)| ms * weigh(*cause)).sum();
            let at_ms = wall * share;
            let parts: Parts = whole.iter().map(|(cause, ms)| (*cause, ms * weigh(*cause) / sum * at_ms)).collect();
            StageTime { stage, at_ms, resolution_ms: None, split: Some(split(&parts)) }
        })
        .collect();
    let read_ms = whole.iter().find(|p| p.0 == Cause::StorageRead).map_or(0.0, |p| p.1);
    LaunchRun {
        ending: Ending::Settled,
        stages,
        settled_less_cpu_wait_ms: Some(wall - wait),
        storage: Some(storage(read_ms)),
        cold: (temperature == Temperature::Cold).then(cold_check),
        threads_max: Some(17),
        watch_cpu_percent: 0.42 + 0.1 * scatter(name, i),
        outlier: far,
    }
}

/// A set of `runs` launches; `far` is the number of one that lies far from the others.
pub fn set(label: &str, temperature: Temperature, parts: &Parts, runs: usize, far: Option<usize>) -> LaunchSet {
    let name = format!("{label}{temperature:?}{:?}", parts.first());
    let runs: Vec<LaunchRun> = (0..runs).map(|i| run(&name, i, temperature, parts, far == Some(i))).collect();
    let over = |of: &dyn Fn(&LaunchRun) -> Option<f64>| Summary::of(&runs.iter().filter_map(of).collect::<Vec<_>>());
    let settled = over(&|r| r.at_ms(Stage::Settled));
    let sum: f64 = parts.iter().map(|p| p.1).sum();
    LaunchSet {
        label: label.into(),
        temperature,
        stages: STAGES
            .into_iter()
            .filter_map(|(stage, ..)| Some(StageSummary { stage, at_ms: over(&|r| r.at_ms(stage))? }))
            .collect(),
        split: settled
            .map(|s| split(&parts.iter().map(|(cause, ms)| (*cause, ms / sum * s.median)).collect::<Vec<_>>())),
        settled_less_cpu_wait_ms: over(&|r| r.settled_less_cpu_wait_ms),
        runs,
    }
}

/// Pairs of the runs of two sets.
pub fn comparison(set: &LaunchSet, base: &LaunchSet) -> LaunchComparison {
    let settled = |set: &LaunchSet| set.runs.iter().filter_map(|r| r.at_ms(Stage::Settled)).collect::<Vec<_>>();
    let less = |set: &LaunchSet| set.runs.iter().filter_map(|r| r.settled_less_cpu_wait_ms).collect::<Vec<_>>();
    LaunchComparison {
        label: set.label.clone(),
        base: base.label.clone(),
        temperature: set.temperature,
        settled_ratio: paired_ratio(&settled(set), &settled(base)).expect("pairs"),
        settled_less_cpu_wait_ratio: paired_ratio(&less(set), &less(base)),
    }
}

/// Times by cause: `work` of computing and `read` of storage reads, in milliseconds.
pub fn parts(work: f64, read: f64, write: f64) -> Parts {
    vec![
        (Cause::UserCpu, work * 0.7),
        (Cause::SystemCpu, work * 0.3),
        (Cause::CpuWait, work * 0.12),
        (Cause::Reclaim, 0.0),
        (Cause::StorageRead, read),
        (Cause::SwapIn, 0.0),
        (Cause::StorageWrite, write),
        (Cause::Network, 0.0),
        (Cause::Sleep, work * 0.15),
        (Cause::Other, 0.0),
    ]
}

fn x11() -> ScreenFacts {
    ScreenFacts { protocol: "x11".into(), display: ":99".into(), size_px: (1280, 800) }
}

pub fn launch() -> LaunchReport {
    let sets = vec![
        set("evince", Temperature::Cold, &parts(820.0, 1_110.0, 30.0), 6, Some(4)),
        set("evince", Temperature::Warm, &parts(700.0, 0.0, 12.0), 6, None),
    ];
    // As `brisk launch` names the two sides of such a comparison.
    let named = |set: &LaunchSet, label: &str| LaunchSet { label: label.into(), ..set.clone() };
    let comparisons = vec![comparison(&named(&sets[1], "warm"), &named(&sets[0], "cold"))];
    on_s5(json!({
        "app": "evince", "command": ["evince", "/home/user/manual.pdf"], "screen": x11(), "sets": sets,
        "comparisons": comparisons,
    }))
}

/// Two apps, as `brisk launch galculator --vs mousepad` names the sets: by the apps. An even number of runs, and one
/// run whose time by cause is not known, so that the middle run, the median and the parts differ.
pub fn launch_of_two() -> LaunchReport {
    let mut sets = vec![
        set("galculator", Temperature::Cold, &parts(390.0, 150.0, 30.0), 4, None),
        set("mousepad", Temperature::Cold, &parts(420.0, 510.0, 30.0), 4, None),
    ];
    for set in &mut sets {
        for stage in &mut set.runs[1].stages {
            stage.split = None;
        }
        if let Some(split) = &mut set.split {
            split.wall_ms *= 0.99;
            split.parts.iter_mut().for_each(|part| part.time_ms *= 0.99);
        }
    }
    let comparisons = vec![comparison(&sets[1], &sets[0])];
    LaunchReport { app: "galculator".into(), command: vec!["galculator".into()], comparisons, sets, ..launch() }
}

/// Apps that are called as what they are, and as a condition.
pub fn namesakes() -> ProveReport {
    let mut report = loads();
    report.apps.truncate(3);
    for (app, name) in report.apps.iter_mut().zip(["terminal", "idle", "writers"]) {
        name.clone_into(&mut app.name);
        if name == "terminal" {
            name.clone_into(&mut app.group);
        }
    }
    report
}

/// Two conditions, one with more of everything that a launch can wait for.
pub fn launch_vs() -> LaunchReport {
    let mut busy = parts(870.0, 1_900.0, 260.0);
    for (cause, ms) in &mut busy {
        match cause {
            Cause::Reclaim => *ms = 120.0,
            Cause::SwapIn => *ms = 310.0,
            Cause::Network => *ms = 400.0,
            _ => {}
        }
    }
    let sets = vec![
        set("idle", Temperature::Cold, &parts(820.0, 1_110.0, 30.0), 7, None),
        set("writers", Temperature::Cold, &busy, 7, None),
        set("idle", Temperature::Warm, &parts(700.0, 0.0, 12.0), 7, None),
        set("writers", Temperature::Warm, &parts(701.0, 0.0, 12.0), 7, None),
    ];
    let comparisons = vec![comparison(&sets[1], &sets[0]), comparison(&sets[3], &sets[2])];
    LaunchReport { comparisons, sets, ..launch() }
}

fn step(name: &str, input: &str, parts: &Parts, first_change_ms: Option<f64>) -> LatencyStep {
    let wall: f64 = parts.iter().map(|p| p.1).sum();
    let read_ms = parts.iter().find(|p| p.0 == Cause::StorageRead).map_or(0.0, |p| p.1);
    let factors = (0..6).map(|i| 1.0 + 0.05 * scatter(name, i));
    let runs: Vec<Value> = factors
        .clone()
        .map(|factor| {
            json!({
                "ending": "settled", "first_change_ms": first_change_ms.map(|ms| ms * factor),
                "latency_ms": wall * factor, "split": split(parts), "storage": storage(read_ms),
            })
        })
        .collect();
    let latency_ms = Summary::of(&factors.map(|factor| wall * factor).collect::<Vec<_>>()).expect("six");
    of(json!({
        "name": name, "input": input, "limit": brisk_lab::results::HciLimit::of_ms(latency_ms.median),
        "latency_ms": latency_ms,
        "split": (wall > 0.0).then(|| split(parts)), "runs": runs,
    }))
}

pub fn latency() -> LatencyReport {
    let mut stuck = step("play", "key space", &parts(3_000.0, 7_100.0, 0.0), Some(80.0));
    for run in &mut stuck.runs {
        run.ending = Ending::Animating;
    }
    on_s5(json!({
        "app": "mousepad", "command": ["mousepad", "notes.txt"], "script": "mousepad", "screen": x11(),
        "steps": [
            step("type a line", "text \"hello\"", &parts(38.0, 0.0, 0.0), Some(14.0)),
            step("open menu", "key Alt+F", &parts(71.0, 9.0, 0.0), Some(31.0)),
            step("open dialog", "key Ctrl+O", &parts(240.0, 310.0, 0.0), Some(120.0)),
            step("save", "key Ctrl+S", &parts(60.0, 0.0, 190.0), Some(40.0)),
            step("press a dead key", "key F24", &Vec::new(), None),
            step("search in 40 MB", "key Ctrl+F", &parts(1_400.0, 420.0, 0.0), Some(60.0)),
            stuck,
        ],
        "runtime_delay": {
            "events": 500, "seed": 10, "total_ms": summary(41_300.0, 4.0, 6),
            "split": split(&parts(21_000.0, 9_000.0, 5_000.0)),
        },
    }))
}

pub fn phone() -> PhoneFacts {
    of(json!({
        "preset": "galaxy-s5-emmc", "device": "/dev/loop3", "scheduler": "mq-deadline", "driver_tags": 8,
        "size_bytes": 4u64 << 30, "file_system": "ext4 rw,relatime",
    }))
}

fn app(name: &str, group: &str, sets: Vec<LaunchSet>, comparisons: Vec<LaunchComparison>) -> SuiteApp {
    let (name, group) = (name.to_owned(), group.to_owned());
    SuiteApp { command: vec![name.clone()], name, group, sets, comparisons, failure: None }
}

fn condition(name: &str, text: &str) -> Condition {
    Condition { name: name.into(), text: text.into(), writer: None }
}

/// Name, group, computing and reading in milliseconds, and how much longer reads take concurrent with writers.
const APPS: [(&str, &str, f64, f64, f64); 10] = [
    ("chromium", "browser", 2_150.0, 3_900.0, 2.4),
    ("lowriter", "office", 1_720.0, 2_460.0, 2.1),
    ("gnumeric", "office", 640.0, 1_080.0, 2.3),
    ("evince", "reader", 510.0, 890.0, 2.2),
    ("mousepad", "editor", 260.0, 540.0, 2.0),
    ("gimp", "creative", 3_300.0, 2_050.0, 2.8),
    ("dino", "messaging", 720.0, 770.0, 2.2),
    ("mpv", "media", 330.0, 610.0, 1.9),
    ("gnome-mines", "game", 480.0, 720.0, 2.4),
    ("xterm", "terminal", 95.0, 120.0, 1.6),
];

/// Ten apps without brisk, idle and with writers.
pub fn loads() -> ProveReport {
    let mut apps: Vec<SuiteApp> = APPS
        .into_iter()
        .map(|(name, group, work, read, slower)| {
            let sets = vec![
                set("idle", Temperature::Cold, &parts(work, read, 20.0), 6, (name == "mpv").then_some(2)),
                set("writers", Temperature::Cold, &parts(work * 1.02, read * slower, 20.0 * slower), 6, None),
                set("idle", Temperature::Warm, &parts(work * 0.9, 0.0, 10.0), 6, None),
                set("writers", Temperature::Warm, &parts(work * 0.91, 0.0, 22.0), 6, None),
            ];
            let comparisons = vec![comparison(&sets[1], &sets[0]), comparison(&sets[3], &sets[2])];
            app(name, group, sets, comparisons)
        })
        .collect();
    let mut failed = app("galculator", "tool", Vec::new(), Vec::new());
    failed.failure = Some("galculator is not in the image: add it with --apps galculator".into());
    apps.push(failed);
    let mut writers = condition("writers", "a background writer of large files and small synced ones");
    writers.writer = of(json!({
        "text": "app install and mail sync", "target_bytes_per_s": 4e6, "reached_bytes_per_s": summary(3.1e6, 6.0, 24),
        "syncs_per_s": summary(11.0, 8.0, 24),
    }));
    let conditions = [condition("idle", "nothing else runs"), writers];
    ProveReport { apps, ..on_s5(json!({ "phone": phone(), "conditions": conditions, "apps": [], "gains": [] })) }
}

/// With brisk and without: most apps gain, one is worse.
pub fn prove() -> ProveReport {
    let apps: Vec<SuiteApp> = [("evince", "reader", 1.15), ("gimp", "creative", 1.31), ("xterm", "terminal", 1.9)]
        .into_iter()
        .map(|(name, group, with_brisk)| {
            let (work, read) = (310.0, 820.0);
            let sets = vec![
                set("idle", Temperature::Cold, &parts(work, read, 20.0), 6, None),
                set("idle_with_brisk", Temperature::Cold, &parts(work, read * 0.99, 20.0), 6, None),
                set("writers", Temperature::Cold, &parts(work, read * 1.8, 36.0), 6, None),
                set("writers_with_brisk", Temperature::Cold, &parts(work, read * with_brisk, 24.0), 6, None),
                set("idle_with_prefetch", Temperature::Cold, &parts(work, read * 0.6, 20.0), 6, None),
                set("writers_with_prefetch", Temperature::Cold, &parts(work, read * 1.5, 36.0), 6, None),
                set("idle_with_smartio", Temperature::Cold, &parts(work, read * 0.99, 20.0), 6, None),
                set("writers_with_smartio", Temperature::Cold, &parts(work, read * with_brisk, 24.0), 6, None),
            ];
            let comparisons = sets[1..4].iter().map(|other| comparison(other, &sets[0])).collect();
            app(name, group, sets, comparisons)
        })
        .collect();
    let gain = |app: &SuiteApp| {
        let median = |i: usize| app.sets[i].stages.last().map_or(0.0, |stage| stage.at_ms.median);
        let ratio = |a: usize, b: usize| comparison(&app.sets[a], &app.sets[b]).settled_ratio;
        json!({
            "app": app.name, "temperature": "cold", "loaded_ratio": ratio(3, 2), "idle_ratio": ratio(1, 0),
            "added_ms": median(2) - median(0),
            "gone_percent": 100.0 * (median(2) - median(3)) / (median(2) - median(0)),
            "engines": [
                { "engine": "prefetch", "loaded_ratio": ratio(5, 2), "idle_ratio": ratio(4, 0) },
                { "engine": "smartio", "loaded_ratio": ratio(7, 2), "idle_ratio": ratio(6, 0) },
            ],
        })
    };
    let loads = loads();
    let with_brisk = |condition: &Condition| Condition {
        name: format!("{}_with_brisk", condition.name),
        text: format!("{}, brisk is at work", condition.text),
        ..condition.clone()
    };
    let conditions: Vec<Condition> =
        loads.conditions.iter().flat_map(|condition| [condition.clone(), with_brisk(condition)]).collect();
    let gains: Vec<Value> = apps.iter().map(gain).collect();
    let report = on_s5(json!({ "phone": loads.phone, "conditions": conditions, "gains": gains, "apps": [] }));
    ProveReport { apps, ..report }
}

/// The same on a whole device in virtual time.
pub fn prove_in_virtual_time() -> ProveReport {
    let mut report = prove();
    let start = |name: &str, trials: Value| {
        json!({
            "name": name, "seed": 1u64, "trials": trials,
            "counters": {
                "uptime_s": 211.5, "waited_io_us": 9_310_000.0, "waited_memory_us": 0.0, "pswpout": 12.0,
                "workingset_refault_anon": 3.0, "workingset_refault_file": 40.0, "briskd_cpu_ns": 771e6,
                "briskd_peak_kib": 12_400.0, "flash_lateness_mean_ns": 812.0,
            },
        })
    };
    let trial = |subject: &str, phase: &str, ratio: Option<f64>| {
        let (low, high) = (ratio.map(|of| of - 0.02), ratio.map(|of| of + 0.03));
        json!({
            "engine": "prefetch", "subject": subject, "phase": phase, "pairs": 7u64, "ratio": ratio,
            "ratio_low": low, "ratio_high": high,
        })
    };
    let trials = json!([trial("app evince", "acting", Some(0.83)), trial("app xterm", "on trial", None)]);
    report.phone.virtual_time = Some(of(json!({
        "image": "00c0ffee00c0ffee", "memory_bytes": 1u64 << 30, "swap": "nowhere", "instruction_ns": 1u32,
        "brisk": "as its package comes, with each engine tried first and held out in between",
        "starts": [start("idle", json!([])), start("idle_with_brisk", trials)],
    })));
    report
}

/// The three kinds with hostile names, single runs, no splits, all endings, or nothing at all.
pub fn ugly(head: &brisk_lab::results::Header, hostile: &str) -> (LaunchReport, LatencyReport, ProveReport) {
    let mut launch = launch_vs();
    launch.header = head.clone();
    launch.app = format!("{hostile} {}", "a very long name ".repeat(8));
    launch.command = vec![hostile.into(), "--an-option".repeat(30)];
    launch.screen = ScreenFacts { protocol: "none".into(), display: String::new(), size_px: (0, 0) };
    let endings = [
        Ending::Animating,
        Ending::StillWorking,
        Ending::NoWindow,
        Ending::Exited { code: Some(127), signal: None },
        Ending::Exited { code: None, signal: Some(11) },
        Ending::DisplayLost,
        Ending::Headless,
    ];
    for (run, ending) in launch.sets[0].runs.iter_mut().zip(endings) {
        run.ending = ending;
        run.cold = None;
        run.watch_cpu_percent = 3.4;
    }
    let one = set(hostile, Temperature::Cold, &parts(300.0, 10.0, 0.0), 1, None);
    launch.comparisons = vec![comparison(&one, &one)];
    launch.comparisons[0].base = "/usr/bin/an-older-version --of=the-same".into();
    launch.sets[1] = one;
    launch.sets[1].split = Some(Split {
        method: SplitMethod::Cgroup,
        ..split(&[(Cause::UserCpu, 200.0), (Cause::SystemCpu, 60.0), (Cause::Storage, 40.0), (Cause::Other, 70.0)])
    });
    if let Some(storage) = &mut launch.sets[1].runs[0].storage {
        storage.files[0].path = format!("/opt/{hostile}/{}", "deep/".repeat(40));
    }
    launch.sets[2] = LaunchSet {
        label: "nothing".into(),
        temperature: Temperature::Warm,
        runs: Vec::new(),
        stages: Vec::new(),
        split: None,
        settled_less_cpu_wait_ms: None,
    };
    launch.sets.truncate(3);

    let mut latency = latency();
    latency.header = head.clone();
    latency.app = hostile.into();
    latency.command.clear();
    latency.runtime_delay = None;
    latency.steps.truncate(2);
    latency.steps[0].name = hostile.into();
    latency.steps[0].input = hostile.into();
    latency.steps[0].split = None;
    latency.steps[1].runs.clear();
    latency.steps[1].latency_ms = None;
    latency.steps[1].limit = None;
    latency.steps[1].split = None;

    let mut proof = loads();
    proof.header = head.clone();
    proof.phone.preset = hostile.into();
    proof.phone.file_system = hostile.into();
    proof.apps.truncate(1);
    proof.apps[0].name = hostile.into();
    proof.apps[0].sets.truncate(1);
    proof.apps[0].comparisons.clear();
    proof.apps[0].sets[0].split = None;
    proof.apps[0].failure = Some(format!("it broke: {hostile}"));
    proof.conditions[1].text = hostile.into();
    proof.conditions[1].writer = of(json!({ "text": hostile, "target_bytes_per_s": 0.0 }));

    (launch, latency, proof)
}
