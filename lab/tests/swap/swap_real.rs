//! `brisk swap replay --lab|--on`: requests in real time, on devices that may be overwritten.

use crate::lab_guard;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use lab_guard::Guard;
use serde_json::Value;

fn swap(lab: &Guard, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.arg("swap").args(words).current_dir(lab.dir()).env("BRISK_RUN_DIR", lab.dir()).env("LC_ALL", "C.UTF-8");
    command
}

fn output(lab: &Guard, words: &[&str]) -> Output {
    swap(lab, words).output().expect("brisk starts")
}

fn json(lab: &Guard, words: &[&str]) -> Value {
    let output = output(lab, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// 200 pages of each of two apps are written in turn; then each app uses its own, `pause_us` later.
fn write_trace(lab: &Guard, name: &str, area_slots: u32, pause_us: u64) {
    let mut lines = format!("#brisk-swap-trace 1 area_slots={area_slots}\ntime_us,action,app,page,slot\n");
    (0..400).for_each(|n| lines += &format!("{n},out,{},{},{n}\n", ["mail", "maps"][n % 2], n / 2));
    for (turn, app) in ["mail", "maps"].into_iter().enumerate() {
        let at_us = pause_us * (turn as u64 + 1);
        lines += &format!("{at_us},front,{app},,\n");
        (0..200).for_each(|page| lines += &format!("{at_us},in,{app},{page},{}\n", 2 * page + turn));
        lines += &format!("{at_us},ready,{app},,\n");
    }
    std::fs::write(lab.dir().join(name), lines).expect("written");
}

#[test]
fn a_replay_on_a_device_makes_the_requests_of_the_model() {
    let Some(lab) = Guard::new() else { return };
    write_trace(&lab, "day.swap", 2048, 300_000);
    let ways = ["replay", "day.swap", "--policy", "linux,extents", "--swap-in", "window,app", "--json"];
    let model = json(&lab, &ways);
    let real = json(&lab, &[&ways[..], &["--lab", "galaxy-s5-emmc"]].concat());
    assert_eq!(real["device"]["name"], "a device of the lab");
    assert!(real["device"]["depth_requests"].as_u64().expect("known") >= 1, "{}", real["device"]);
    assert_eq!((&model["device"], &real["preset"]), (&Value::Null, &"galaxy-s5-emmc".into()));
    for at in 0..4 {
        let figure = |of: &Value, name: &str| of["replays"][at][name]["median"].as_f64().expect("a figure");
        // Sizes and amounts do not depend on time: nothing is concurrent here.
        for name in ["in_bytes", "used_percent", "out_bytes", "request_bytes_mean", "unknown_pages"] {
            assert_eq!(figure(&real, name).to_bits(), figure(&model, name).to_bits(), "{name} of {at}");
        }
        assert!(figure(&real, "in_bytes_per_s") > 0.0 && figure(&real, "launch_wait_ms_mean") > 0.0, "{at}");
    }
    // Every second slot in requests of one page, against those of up to 128 pages.
    let request = |at: usize| real["replays"][at]["request_bytes_mean"]["median"].as_f64().expect("a size");
    assert_eq!((request(1), request(3)), (4096.0, 409_600.0));
    lab.nothing_is_left();
}

#[test]
fn a_replay_on_a_named_device_says_where_it_was() {
    let Some(lab) = Guard::new() else { return };
    write_trace(&lab, "day.swap", 2048, 5_000_000);
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "32M"]);
    let words = ["replay", "day.swap", "--on", &device, "--destroy-data", "--pause-max", "100ms", "--policy", "mars"];
    let real = json(&lab, &[&words[..], &["--swap-in", "extent", "--in-flight", "2", "--json"]].concat());
    assert_eq!(real["device"]["name"], device.as_str());
    assert_eq!((&real["device"]["depth_requests"], &real["pause_max_s"]), (&2.into(), &0.1.into()));
    assert_eq!(real["environment"]["device"]["lab_preset"], "galaxy-s5-emmc");
    assert!(real["written_bytes"].as_u64() == Some(400 * 4096), "{real}");
    // Two pauses of 5 s were shortened.
    assert!(real["duration_s"].as_f64().expect("known") < 8.0, "{}", real["duration_s"]);
    let shown = output(&lab, &[&words[..], &["--swap-in", "window"]].concat());
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("in real time, direct I/O") && shown.contains("shortened to at most 100 ms"), "{shown}");
}

#[test]
fn devices_that_must_not_be_overwritten_are_refused() {
    let Some(lab) = Guard::new() else { return };
    write_trace(&lab, "day.swap", 16_384, 1000);
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "32M"]);
    let refused = |words: &[&str], said: &str| {
        let output = output(&lab, &[&["replay", "day.swap"], words].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains(said), "{words:?}: {text}");
    };
    refused(&["--on", &device], "--destroy-data");
    refused(&["--destroy-data"], "--on");
    refused(&["--on", "/", "--destroy-data"], "/ is a directory");
    refused(&["--on", "/dev/null", "--destroy-data"], "/dev/null");
    refused(&["--on", "/dev/no-such-device", "--destroy-data"], "does not exist");
    refused(&["--lab", "nexus5"], "there is no preset 'nexus5'");
    refused(&["--lab", "nexus4-emmc", "--on", &device, "--destroy-data"], "cannot be used with");
    // 64 MiB of slots do not fit.
    refused(&["--on", &device, "--destroy-data"], "needs 64 MiB and");
    // In use: its content is still there afterwards.
    lab_guard::run("mkfs.ext4", &["-q", &device]);
    let dir = lab.dir().join("mounted");
    std::fs::create_dir(&dir).expect("made");
    lab_guard::run("mount", &[&device, dir.to_str().expect("UTF-8")]);
    refused(&["--on", &device, "--destroy-data"], "is in use (mounted at");
    lab_guard::run("umount", &[dir.to_str().expect("UTF-8")]);
    lab_guard::run("e2fsck", &["-fn", &device]);
}

#[test]
fn a_request_that_fails_ends_the_replay_with_its_place() {
    let Some(lab) = Guard::new() else { return };
    write_trace(&lab, "day.swap", 2048, 100_000);
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "32M"]);
    lab.brisk(&["fault", &device, "--read-error", "40K+4K"]);
    let words = ["replay", "day.swap", "--on", &device, "--destroy-data", "--policy", "linux", "--swap-in", "window"];
    let output = output(&lab, &words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("the device {device} failed to read at byte 32768")), "{said}");
}

#[test]
fn ctrl_c_ends_a_replay_and_removes_its_device() {
    let Some(lab) = Guard::new() else { return };
    write_trace(&lab, "long.swap", 2048, 600_000_000);
    let mut command = swap(&lab, &["replay", "long.swap", "--lab", "galaxy-s5-emmc", "--verbose"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("brisk starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let _limit = brisk_requires::killed_late(child.id(), "the first replay, and its end");
    assert!(lines.any(|line| line.expect("readable").contains("linux window")), "the first replay begins");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("not zero");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it lives");
    let rest: Vec<String> = lines.map(|line| line.expect("readable")).collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("stopped; nothing is left behind")), "{rest:?}");
    lab.nothing_is_left();
}
