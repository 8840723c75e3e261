//! `brisk doctor` as a person or a program meets it. What is found differs from machine to machine, so these tests pin
//! the form, the exit codes and what both views agree on.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;

fn doctor() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.arg("doctor");
    command
}

fn json(args: &[&str]) -> (Value, Option<i32>) {
    let output = doctor().arg("--json").args(args).output().expect("brisk runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).expect("one document"), output.status.code())
}

#[test]
fn the_exit_code_is_the_state() {
    let (document, code) = json(&[]);
    let expected = match document["state"].as_str() {
        Some("ok") => 0,
        Some("degraded") => 1,
        Some("missing") => 2,
        other => panic!("no such state: {other:?}"),
    };
    assert_eq!(code, Some(expected));
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["kind"], "doctor");
}

#[test]
fn all_parts_are_judged_and_explained() {
    let (document, _) = json(&[]);
    let parts: Vec<_> = document["parts"].as_array().expect("a list").iter().map(|part| &part["part"]).collect();
    assert_eq!(parts, ["bench", "lab", "smartstorage", "smartio", "prefetch", "iram", "mars", "launch", "energy"]);
    for part in document["parts"].as_array().expect("a list") {
        for finding in part["findings"].as_array().expect("a list") {
            let ok = finding["state"] == "ok";
            assert_eq!(finding.get("remedy").is_none(), ok, "{finding}");
            assert_eq!(finding.get("reason").is_none(), ok, "{finding}");
        }
    }
}

#[test]
fn one_part_is_judged_by_itself() {
    let (document, code) = json(&["energy"]);
    let parts = document["parts"].as_array().expect("a list");
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0]["state"], document["state"]);
    assert!(code.is_some_and(|code| (0..=2).contains(&code)));
    let (two, _) = json(&["lab", "mars"]);
    assert_eq!(two["parts"].as_array().expect("a list").len(), 2);
}

#[test]
fn an_unknown_part_is_refused_with_the_names() {
    let output = doctor().arg("sound").output().expect("brisk runs");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    for name in ["sound", "bench", "lab", "smartstorage", "smartio", "prefetch", "iram", "mars", "launch", "energy"] {
        assert!(message.contains(name), "{name} is not in: {message}");
    }
}

#[test]
fn a_pipe_gets_no_colours_and_both_views_agree() {
    let output = doctor().output().expect("brisk runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(!text.contains('\x1b'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 140), "{text}");
    let (document, code) = json(&[]);
    assert_eq!(output.status.code(), code);
    for part in document["parts"].as_array().expect("a list") {
        let name = part["part"].as_str().expect("a name");
        let state = part["state"].as_str().expect("a state");
        let head = text.lines().find(|line| line.split(' ').next() == Some(name));
        assert!(head.is_some_and(|line| line.contains(state)), "{name} {state}: {text}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    for json in [false, true] {
        let mut command = doctor();
        if json {
            command.arg("--json");
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("brisk runs");
        drop(child.stdout.take());
        let mut message = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut message).expect("text");
        let code = child.wait().expect("ends").code();
        assert_eq!(message, "");
        assert!(code.is_some_and(|code| (0..=2).contains(&code)), "{code:?}");
    }
}

#[test]
fn a_home_that_is_not_there_is_no_failure() {
    for home in ["/nonexistent", "", "relative/nowhere"] {
        let output = doctor().env("HOME", home).output().expect("brisk runs");
        assert!(output.status.code().is_some_and(|code| (0..=2).contains(&code)));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
