//! What scripts/run says of this machine, and what it measures, with scripts in place of make and brisk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stands for brisk: notes its words, and refuses what `REFUSES` names.
const BRISK: &str = r#"#!/bin/sh
printf '%s\n' "$*" >>"$NOTES/calls"
case "$*" in *"$REFUSES"*) echo "brisk: $REFUSES is not possible here" >&2; exit 2 ;; esac
"#;
/// Stands for make, likewise.
const MAKE: &str = r#"#!/bin/sh
case "make $*" in *"$REFUSES"*) exit 2 ;; esac
"#;

/// Runs it where `refuses` is refused: what it said, and the words of each call of brisk.
fn run(refuses: &str) -> (String, Vec<String>) {
    let dir = tempfile::tempdir().expect("a folder");
    let place = |name: &str| dir.path().join(name);
    let program = |path: PathBuf, script: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        brisk_requires::executable(&path, script);
    };
    program(place("bin/make"), MAKE);
    program(place("target/release/brisk"), BRISK);
    let path = format!("{}:{}", place("bin").display(), std::env::var("PATH").expect("set"));
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/run"))
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", place("target"))
        .env("BRISK_OUT", place("out"))
        .env("NOTES", dir.path())
        .env("REFUSES", refuses)
        .output()
        .expect("bash runs");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let calls = fs::read_to_string(place("calls")).expect("noted");
    (said, calls.lines().map(str::to_owned).collect())
}

fn report(calls: &[String]) -> &str {
    calls.iter().rfind(|call| call.starts_with("report")).expect("a report")
}

#[test]
fn where_no_phone_can_be_built_the_disk_is_reported() {
    let (said, calls) = run("make --no-print-directory phone");
    assert!(said.contains("run: not measured: phones: they could not be built"), "{said}");
    assert!(!calls.iter().any(|call| call.starts_with("phone")), "{calls:?}");
    assert!(report(&calls).contains("bench.json --verdict"), "{calls:?}");
}

#[test]
fn a_study_that_this_machine_refuses_is_listed_and_the_others_are_reported() {
    let (said, calls) = run("phone returns");
    assert!(said.contains("run: not measured: returns to apps "), "{said}");
    let report = report(&calls);
    assert!(report.contains("launches-galaxy-s5.json") && !report.contains("returns-galaxy-s5.json"), "{report}");
    assert!(report.contains("launches-nexus4.json"), "{report}");
}

#[test]
fn the_image_is_made_before_anything_is_measured_on_it() {
    let (said, calls) = run("nothing that is called");
    assert!(!said.contains("not measured"), "{said}");
    let phone: Vec<&str> = calls.iter().filter_map(|call| call.strip_prefix("phone ")?.split(' ').next()).collect();
    assert_eq!(phone, ["image", "launch", "returns", "launch"]);
}
