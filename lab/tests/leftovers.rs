//! scripts/leftovers, by which a test run knows what it left from what others have up. A program of its own: what other
//! tests of the same run have up meanwhile are its leftovers. Needs root, FUSE, loop devices and control groups.

#[path = "shared/lab_guard/mod.rs"]
mod lab_guard;
#[path = "shared/phone_bench/mod.rs"]
mod phone_bench;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use brisk_lab::launch::scope::Scope;
use lab_guard::Guard;
use phone_bench::Bench;

fn leftovers(of: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/leftovers");
    Command::new(script).arg("--of").arg(of).output().expect("bash runs")
}

#[test]
fn devices_phones_and_launches_of_others_are_no_leftovers_of_a_test_run() {
    let Some(bench) = Bench::new() else { return };
    bench.lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    bench.up();
    let _launch = Scope::create(&brisk_sense::Sense::default(), "of-another").expect("a control group");
    let of_run = tempfile::tempdir().expect("a folder");
    let output = leftovers(of_run.path());
    assert_eq!((String::from_utf8_lossy(&output.stdout).as_ref(), output.status.code()), ("", Some(0)));
    bench.lab.brisk(&["phone", "down", "--all"]);
    bench.lab.brisk(&["down", "--all"]);
    bench.nothing_is_left();
}

#[test]
fn what_a_test_run_leaves_is_listed() {
    let Some(lab) = Guard::new() else { return };
    let of_run = lab.dir().canonicalize().expect("there");
    let mut up = lab.command(&["up", "--backend", "fuse", "--preset", "galaxy-s5-emmc", "--size", "16M"]);
    let made = up.env("BRISK_TEST_RUN", &of_run).output().expect("brisk starts");
    let device = String::from_utf8_lossy(&made.stdout).trim().trim_start_matches("/dev/").to_owned();
    fs::create_dir(of_run.join("run")).and_then(|()| fs::write(of_run.join("run/file"), "")).expect("written");
    let output = leftovers(&of_run);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let server = lab.json(&["list"])[0]["server_pid"].as_u64().expect("a process");
    let folder = of_run.display();
    for line in [
        format!("loop device {device} on {folder}/lab/1/mnt/flash\n"),
        format!("mount {folder}/lab/1/mnt\n"),
        format!("process {server} "),
        format!("file {folder}/run/file\n"),
    ] {
        assert!(said.contains(&line), "{line}{said}");
    }
    lab.brisk(&["down", "--all"]);
    fs::remove_file(of_run.join("run/file")).expect("removed");
    let output = leftovers(&of_run);
    assert_eq!((String::from_utf8_lossy(&output.stdout).as_ref(), output.status.code()), ("", Some(0)));
}
