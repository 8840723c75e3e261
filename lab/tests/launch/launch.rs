//! `brisk launch` and `brisk latency` from outside: what is refused and in which words, and what a launch prints. What
//! they measure is tested where it is measured (lab/src/launch).

use std::process::{Command, Output};

use brisk_requires::requires;

fn brisk(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(args).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.output().expect("brisk runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn each_invalid_command_line_is_refused_with_a_reason_and_code_2() {
    let dir = tempfile::tempdir().expect("a folder");
    let script = dir.path().join("bad.toml");
    std::fs::write(&script, "app = \"x\"\n[[step]]\ndo = { press = \"a\" }\n").expect("a file");
    let script = script.to_str().expect("a name");
    let cases: &[(&[&str], &str)] = &[
        (&["launch"], "brisk launch"),
        (&["launch", "--runs", "0", "xterm"], "1..=1000"),
        (&["launch", "--runs", "many", "xterm"], "--runs"),
        (&["launch", "--virtual=0x0", "xterm"], "64 to 8192 pixels"),
        (&["launch", "--virtual=big", "xterm"], "\"big\" is no size: write it as 1280x720"),
        (&["launch", "--virtual", "--display", ":0", "xterm"], "--display"),
        (&["launch", "--method", "guess", "xterm"], "bpf, cgroup, paper"),
        (
            &["launch", "no.such.App"],
            "there is no program no.such.App in PATH, and there is no desktop entry no.such.App.desktop in ",
        ),
        (&["launch", "--display", ":987", "--", "true"], "no display server answers at :987"),
        (&["launch", "--vs", "true", "--", "true"], "--vs is the same command: there is nothing to compare"),
        (&["launch", "--vs", "'a", "--", "true"], "the quotes in --vs do not close"),
        (&["launch", "--vs", " ", "--", "true"], "--vs is empty"),
        (&["launch", "--json=/no/such/folder/x", "--", "true"], "there is no directory /no/such/folder"),
        // Before the first launch.
        (
            &["launch", "--no-screen", "--save-reads", "/no/such/folder/x", "--", "true"],
            "there is no directory /no/such/folder",
        ),
        (&["launch", "--virtual", "--save-reads", "/", "--", "xterm"], "cannot write --save-reads /"),
        (&["latency", "/dev/zero"], "/dev/zero is a character device"),
        (&["launch", "--idle", "3s", "--", "true"], "--no-screen"),
        (&["launch", "--no-screen", "--idle", "10ms", "--", "true"], "10ms is out of range: give 1s to "),
        (&["latency"], "brisk latency"),
        (&["latency", "no-such-script"], "no script of that name comes with brisk (evince, "),
        (&["latency", script], ", line 3: "),
        (&["latency", "--monkey", "10"], "COMMAND"),
        (&["latency", "--monkey", "0", "--", "true"], "1..=1000000"),
        (&["latency", "--show", "nothing"], "no script nothing comes with brisk"),
        (&["latency", "--no-screen", "xterm"], "this needs a screen"),
    ];
    for (args, words) in cases {
        refused(args, words);
    }
}

fn refused(args: &[&str], words: &str) {
    let output = brisk(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    assert!(stderr(&output).contains(words), "{args:?} said: {}", stderr(&output));
}

#[test]
fn a_program_that_cannot_be_run_is_named() {
    requires!(Groups);
    refused(
        &["launch", "--no-screen", "--", "/no/such/program"],
        "cannot run /no/such/program: there is no such program",
    );
    refused(&["launch", "--no-screen", "--", "/"], "cannot run /: ");
}

#[test]
fn shipped_scripts_are_listed_and_shown() {
    let list = brisk(&["latency", "--list"]);
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(list.status.success() && text.lines().count() >= 6, "{text}");
    for name in text.lines().filter_map(|line| line.split_whitespace().next()) {
        let shown = brisk(&["latency", "--show", name]);
        assert!(shown.status.success() && String::from_utf8_lossy(&shown.stdout).contains("[[step]]"), "{name}");
    }
}

#[test]
fn a_program_without_windows_is_measured_and_printed() {
    requires!(Groups);
    let dir = tempfile::tempdir().expect("a folder");
    let json = dir.path().join("launch.json");
    let reads = dir.path().join("reads.json");
    let args = ["launch", "--no-screen", "--cold", "--runs", "2", &format!("--json={}", json.display())];
    let output = brisk(
        &[&args[..], &["--idle", "1s", "--save-reads", reads.to_str().expect("a name"), "--", "sh", "-c", "sleep 100"]]
            .concat(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).expect("a file")).expect("JSON");
    assert_eq!((&document["kind"], &document["app"]), (&"launch".into(), &"sh".into()));
    let set = &document["sets"][0];
    assert_eq!((&set["temperature"], set["runs"].as_array().map(Vec::len)), (&"cold".into(), Some(2)));
    assert_eq!((&set["runs"][0]["ending"], &document["idle_limit_ms"]), (&"headless".into(), &1_000.0.into()));
    assert!(set["runs"][0]["cold"]["files"].as_u64() > Some(0), "{set}");
    let reads: serde_json::Value = serde_json::from_slice(&std::fs::read(&reads).expect("a file")).expect("JSON");
    assert_eq!((&reads["kind"], &reads["schema_version"]), (&"launch_reads".into(), &1.into()));
    assert!(reads["reads"].is_array(), "{reads}");
}

#[test]
fn an_app_that_ends_by_itself_is_a_result_with_code_1() {
    requires!(Groups);
    let output = brisk(&["launch", "--no-screen", "--warm", "--runs", "1", "--", "sh", "-c", "echo goodbye; exit 3"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("goodbye"), "{}", stderr(&output));
}

#[test]
fn a_program_that_sleeps_first_has_done_its_work_when_it_ends() {
    requires!(Groups);
    let dir = tempfile::tempdir().expect("a folder");
    let json = dir.path().join("launch.json");
    let args = ["launch", "--no-screen", "--warm", "--runs", "1", &format!("--json={}", json.display())];
    let output = brisk(&[&args[..], &["--", "sh", "-c", "sleep 1; exec head -c 1000000 /dev/zero"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.contains("Warm, sh ends after 1.") && words.contains("resolution "), "{words}");
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).expect("a file")).expect("JSON");
    let run = &document["sets"][0]["runs"][0];
    assert_eq!((&run["ending"], &run["code"]), (&"exited".into(), &0.into()));
    let stages = run["stages"].as_array().expect("stages");
    let at = |name: &str| stages.iter().find(|stage| stage["stage"] == name).expect("reached")["at_ms"].as_f64();
    assert!(at("idle") > at("first_process") && at("idle") > Some(1_000.0), "{run}");
}
