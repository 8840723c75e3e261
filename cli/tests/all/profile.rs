//! `brisk profile` from outside: words of refusal, a whole run on an emulated device, a stop and what comes after it;
//! and the engine that uses the profile, on a device at work.

#[path = "../../../lab/tests/shared/lab_guard/mod.rs"]
mod lab_guard;

use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use brisk_bench::address::Region;
use brisk_core::decision::Observed;
use brisk_core::device::Device;
use brisk_engine::smartstorage::model::{Cell, MODEL_VERSION, Workload};
use brisk_engine::smartstorage::pattern::Window;
use brisk_engine::smartstorage::{Config, Engine as _, Model, Setting, Smartstorage, State};
use brisk_profile::open_loop::OpenLoop;
use brisk_profile::workload::{Action, Stream};
use brisk_report::results::Pattern;
use brisk_requires::{Capability, skip};
use brisk_sense::{SampleChoice, Sampler, Sense};
use lab_guard::{Guard, eventually, knob};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn brisk(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.arg("profile").args(words);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn jobs_and_places_that_cannot_be_profiled_are_refused_with_a_reason_and_code_2() {
    let dir = tempfile::tempdir().expect("a directory");
    let d = dir.path().display().to_string();
    let job = dir.path().join("mine.fio");
    let jobs = job.display().to_string();
    for (content, words, said) in [
        ("", vec!["--virtual", "galaxy-s9"], "galaxy-s5-emmc"),
        ("", vec!["--virtual", "ufs-3.1", "--source", "/proc"], "no kernel/fetch in /proc"),
        ("", vec!["--virtual", "ufs-3.1", "--held-out", "--profiles", &d], "no profile of virtual ufs-3.1"),
        ("", vec![&d, "--depths", "2"], "queue depths must be 4 or more"),
        ("", vec![&d, "--meter", "scales"], "modelled"),
        ("", vec![&d, "--workloads", &jobs], "there is no job in it"),
        ("[mail]\nrw=trim\n", vec![&d, "--workloads", &jobs], "mine.fio, line 2: rw=trim cannot be run"),
        ("[mail]\nsize=0\n", vec![&d, "--workloads", &jobs], "line 2: size=0 leaves nothing to read or write"),
        ("[mail]\nzonemode=zbd ; x\n", vec![&d, "--workloads", &jobs], "line 2: zonemode=zbd asks for zones"),
        ("time_s;rw;size_bytes\n", vec![&d, "--workloads", &jobs], "mine.fio: line 1 names no column 'offset_bytes'"),
        ("\u{feff}time_s, rw, offset_bytes, size_bytes\n0, F, , \n", vec![&d, "--workloads", &jobs], "nothing is read"),
        ("[AnTuTu]\nrw=read\n", vec![&d, "--workloads", &jobs], "there is a workload 'AnTuTu' already"),
    ] {
        std::fs::write(&job, content).expect("written");
        let output = brisk(&words).env("BRISK_RUN_DIR", dir.path()).output().expect("brisk starts");
        let text = stderr(&output);
        if said.starts_with("queue depths") && text.contains("no single block device") {
            skip(Capability::Disk, format!("{d} is on no block device"));
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains(said), "{words:?}: {text}");
    }
}

#[test]
fn what_is_ignored_of_a_job_file_is_named_and_a_table_is_known_by_its_content() {
    let dir = tempfile::tempdir().expect("a directory");
    let job = dir.path().join("mine");
    // Refused after its workloads were read: /proc is no storage.
    let notes = |content: &str| {
        std::fs::write(&job, content).expect("written");
        let mut command = brisk(&["/proc", "--workloads", job.to_str().expect("UTF-8")]);
        let text = stderr(&command.env("BRISK_RUN_DIR", dir.path()).output().expect("brisk starts"));
        assert!(text.contains("/proc is on proc"), "{text}");
        text.lines().filter(|line| line.starts_with("brisk: note: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let said =
        notes("[global]\ndirect=1\n[mail]\nrw=randread # cold\nrate_iops=0\niodepth=8 ; deep\nunlink=1\nthread\n");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("iodepth=8 (line 6) has no effect"), "{said:?}");
    assert!(said[1].contains("thread (line 8), unlink (line 7)"), "{said:?}");
    let said = notes("\u{feff}RW;Time_S;Size_Bytes;Offset_Bytes;pid\nR;0,5;4096;0;7\n");
    assert!(matches!(&said[..], [one] if one.ends_with("mine: columns that are not used: pid")), "{said:?}");
}

/// Words of a short profile of `device`.
fn short<'a>(device: &'a str, profiles: &'a str, option: &'a str) -> Vec<&'a str> {
    let name = device.strip_prefix("/dev/").unwrap_or(device);
    // With this seed something of each load arrives in cells that are so short.
    let all = "--destroy-data --seed 3 --size 32M --cell 0.2 --rounds 1 --depths 4,16 --schedulers mq-deadline,none";
    let mut words = vec!["--device", name, "--profiles", profiles, option];
    words.extend(all.split(' '));
    words
}

fn queue_of(device: &str) -> [String; 2] {
    let queue = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("queue");
    ["scheduler", "nr_requests"].map(|name| knob(&queue, name))
}

#[test]
fn a_profile_is_measured_and_kept_and_settings_are_put_back() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "64M"]);
    let before = queue_of(&device);
    let profiles = lab.dir().join("profiles").display().to_string();
    let json = lab.dir().join("profile.json");
    let option = format!("--json={}", json.display());
    let run = |words: &[&str]| brisk(words).env("BRISK_RUN_DIR", lab.dir()).output().expect("brisk starts");
    let words = short(&device, &profiles, &option);

    let nothing_yet = run(&[&words[..], &["--held-out"]].concat());
    assert!(
        stderr(&nothing_yet).contains("there is no profile of galaxy-s5-emmc to judge"),
        "{}",
        stderr(&nothing_yet)
    );

    // Stopped after the first cells.
    let unfinished = lab.dir().join("profiles/smartstorage/galaxy-s5-emmc.profile.unfinished");
    let mut child = brisk(&words).env("BRISK_RUN_DIR", lab.dir()).stderr(Stdio::piped()).spawn().expect("brisk starts");
    eventually("a cell is kept", || unfinished.exists() || child.try_wait().expect("asked").is_some());
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
    kill_process(pid, Signal::INT).expect("stopped");
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("the same command continues from there"), "{}", stderr(&output));
    assert_eq!(queue_of(&device), before);
    assert!(unfinished.exists());

    let output = run(&words);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(queue_of(&device), before);
    assert!(!unfinished.exists());
    let document: Value = serde_json::from_slice(&std::fs::read(&json).expect("read")).expect("JSON");
    assert_eq!((document["kind"].as_str(), document["device_kind"].as_str()), (Some("profile"), Some("emmc")));
    assert_eq!(document["meter"]["name"], "modelled");
    assert!(document["taken_over_cells"].as_u64() > Some(0));
    let workloads = document["workloads"].as_array().expect("a list");
    assert_eq!(workloads.len(), 18);
    for workload in workloads {
        let cells = workload["cells"].as_array().expect("a list");
        // mq-deadline as found, with 4 and with 16, and none with the four tags of the device.
        let depths: Vec<_> = cells.iter().map(|c| c["setting"]["queue_depth_requests"].to_string()).collect();
        let tried = [before[1].as_str(), "4", "16", "4"].map(str::to_owned);
        assert_eq!(depths.get(..4), Some(tried.as_slice()), "{workload}");
        // Read-ahead is tried where the page cache is in between, and only there.
        let tries_more = cells.iter().any(|cell| !cell["setting"]["read_ahead_kb"].is_null());
        let cached = ["play", "unpack"].iter().any(|name| workload["name"] == *name);
        assert_eq!(tries_more, cached, "{workload}");
        assert!(cells.iter().all(|cell| cell["request_uj_mean"].as_f64() > Some(1.0)), "{workload}");
    }
    let model = brisk_profile::store::load(Path::new(&profiles), "galaxy-s5-emmc").expect("usable").expect("kept");
    assert_eq!((model.device.as_str(), model.workloads.len()), ("galaxy-s5-emmc", 18));
}

/// What is asked of the device in the test below: one kind of requests at a rate.
fn asked(action: Action, requests_per_s: f64) -> Vec<Stream> {
    vec![Stream { action, pattern: Pattern::Random, block_bytes: 4096, requests_per_s }]
}

#[test]
fn the_engine_follows_a_device_at_work() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "64M"]);
    let name = device.trim_start_matches("/dev/").to_owned();
    let mut direct = std::fs::File::options();
    let file = direct.read(true).write(true).custom_flags(libc::O_DIRECT).open(&device).expect("opened");
    let choice = SampleChoice { devices: vec![name.clone()], ..SampleChoice::default() };
    let mut sampler = Sampler::new(Sense::default(), choice).expect("a sampler");
    let work = |streams: &[Stream], seconds: u64| {
        let (time, stop) = (Duration::from_secs(seconds), AtomicBool::new(false));
        OpenLoop::default().run(file.as_fd(), Region::first(64 << 20), streams, time, 1, &stop)
    };
    let (reads, writes) = (asked(Action::Read, 300.0), asked(Action::Write, 200.0));
    // A model of two workloads as they look on this device; of its costs only the order matters here.
    let own = Setting::new("mq-deadline", 8);
    let mut row = |name: &str, streams: &[Stream], best: &str| {
        let before = sampler.snapshot().expect("a snapshot");
        if let Err(error @ brisk_profile::Error::NoUring(_)) = work(streams, 1) {
            skip(Capability::Uring, error);
            return None;
        }
        let interval = sampler.snapshot().expect("a snapshot").since(&before).expect("later");
        let pattern = Window::of(&interval.disks[0], interval.elapsed_ns as f64 / 1e9).pattern();
        let cell = |setting: Setting| Cell {
            request_uj_mean: if setting.scheduler == best { 50.0 } else { 100.0 },
            setting,
            pattern,
            read_us_mean: None,
            write_us_mean: None,
            rounds: std::collections::BTreeMap::new(),
            high: None,
        };
        let settings = [own.clone(), Setting::new("none", 4), Setting::new("bfq", 4)];
        Some(Workload { name: name.to_owned(), cells: settings.map(cell).to_vec() })
    };
    let (Some(of_reads), Some(of_writes)) = (row("reads", &reads, "none"), row("writes", &writes, "bfq")) else {
        return;
    };
    let model = Model {
        version: MODEL_VERSION,
        device: "galaxy-s5-emmc".to_owned(),
        kind: "emmc".to_owned(),
        meter: "test".to_owned(),
        own,
        workloads: vec![of_reads, of_writes],
    };
    let config = Config { models: vec![model], ..Config::default() };
    let devices = [Device {
        name,
        model: "galaxy-s5-emmc".to_owned(),
        kind: "emmc".to_owned(),
        schedulers: ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec(),
        originals: vec![("scheduler".to_owned(), "mq-deadline".to_owned()), ("driver_tags".to_owned(), "4".to_owned())],
        ..Device::default()
    }];
    let (mut state, mut previous) = (State::default(), None);
    let mut notes = Vec::new();
    let (mut looks, mut cost) = (0u32, Duration::ZERO);
    let mut follow = |streams: &[Stream], wanted: &str| {
        let begun = Instant::now();
        let mut reached = None;
        std::thread::scope(|scope| {
            let working = scope.spawn(|| work(streams, 8).map(drop));
            while !working.is_finished() {
                let looked = Instant::now();
                let now = sampler.snapshot().expect("a snapshot");
                let observed =
                    Observed { previous: previous.as_ref(), now: &now, events: &[], devices: &devices, apps: &[] };
                let decision = Smartstorage::decide(&config, std::mem::take(&mut state), &observed);
                (looks, cost) = (looks + 1, cost + looked.elapsed());
                notes.extend(decision.notes.iter().map(ToString::to_string));
                if reached.is_none() && decision.settings().any(|setting| setting.value == wanted) {
                    reached = Some(begun.elapsed());
                }
                let pause_ns = decision.next_look_ns.unwrap_or(0).saturating_sub(now.at_ns);
                (state, previous) = (decision.state, Some(now));
                std::thread::sleep(Duration::from_nanos(pause_ns).min(Duration::from_secs(1)));
            }
            working.join().expect("no panic").expect("served");
        });
        reached
    };
    let mut all_reached = true;
    for (streams, wanted) in [(&reads, "none"), (&writes, "bfq")] {
        let reached = follow(streams, wanted);
        eprintln!("{wanted} was requested after {reached:?}");
        all_reached &= reached.is_some();
    }
    assert!(all_reached, "not all was requested: {notes:?}; {state:?}");
    eprintln!("a look with its snapshot cost {:?}", cost / looks.max(1));
}
