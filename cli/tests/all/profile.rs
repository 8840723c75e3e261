//! `brisk profile` from outside: words of refusal, a whole run on a loop device, a stop and what comes after it.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use brisk_requires::{Capability, LoopDevice, requires, skip};
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

/// Words of a short profile of the device `name`.
fn short<'a>(name: &'a str, profiles: &'a str, option: &'a str) -> Vec<&'a str> {
    // With this seed something of each load arrives in cells that are so short.
    let all = "--destroy-data --seed 3 --size 32M --cell 0.2 --rounds 1 --depths 4,16 --schedulers mq-deadline,none";
    let mut words = vec!["--device", name, "--profiles", profiles, option];
    words.extend(all.split(' '));
    words
}

fn queue_of(device: &LoopDevice) -> [String; 2] {
    let queue = Path::new("/sys/block").join(device.name()).join("queue");
    ["scheduler", "nr_requests"].map(|name| {
        let text = std::fs::read_to_string(queue.join(name)).expect("a queue");
        text.trim_end().to_owned()
    })
}

#[test]
fn a_profile_is_measured_and_kept_and_settings_are_put_back() {
    requires!(Mount, Loop, Queue, Program("losetup"));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("disk");
    std::fs::File::create(&file).and_then(|file| file.set_len(64 << 20)).expect("a file");
    let device = LoopDevice::attach(&file, &[]);
    let before = queue_of(&device);
    let profiles = dir.path().join("profiles").display().to_string();
    let json = dir.path().join("profile.json");
    let option = format!("--json={}", json.display());
    let run = |words: &[&str]| brisk(words).env("BRISK_RUN_DIR", dir.path()).output().expect("brisk starts");
    let words = short(device.name(), &profiles, &option);

    let nothing_yet = run(&[&words[..], &["--held-out"]].concat());
    assert!(stderr(&nothing_yet).contains("there is no profile of "), "{}", stderr(&nothing_yet));

    // Stopped after the first cells.
    let kept = |end: &str| {
        let found = std::fs::read_dir(dir.path().join("profiles/smartstorage")).into_iter().flatten().flatten();
        found.map(|entry| entry.path()).any(|path| path.to_string_lossy().ends_with(end))
    };
    let mut child =
        brisk(&words).env("BRISK_RUN_DIR", dir.path()).stderr(Stdio::piped()).spawn().expect("brisk starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !kept(".unfinished") && child.try_wait().expect("asked").is_none() {
        assert!(Instant::now() < deadline, "no cell is kept");
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
    kill_process(pid, Signal::INT).expect("stopped");
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("the same command continues from there"), "{}", stderr(&output));
    assert_eq!(queue_of(&device), before);
    assert!(kept(".unfinished"));

    let output = run(&words);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(queue_of(&device), before);
    assert!(!kept(".unfinished"));
    let document: Value = serde_json::from_slice(&std::fs::read(&json).expect("read")).expect("JSON");
    assert_eq!(document["kind"].as_str(), Some("profile"));
    assert!(document["taken_over_cells"].as_u64() > Some(0));
    let workloads = document["workloads"].as_array().expect("a list");
    assert_eq!(workloads.len(), 18);
    for workload in workloads {
        let cells = workload["cells"].as_array().expect("a list");
        // Read-ahead is tried where the page cache is in between, and only there.
        let tries_more = cells.iter().any(|cell| !cell["setting"]["read_ahead_kb"].is_null());
        let cached = ["play", "unpack"].iter().any(|name| workload["name"] == *name);
        assert_eq!(tries_more, cached, "{workload}");
        assert!(cells.iter().all(|cell| cell["request_uj_mean"].as_f64() > Some(0.0)), "{workload}");
    }
    assert!(kept(".json"));
}
