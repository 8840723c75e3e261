//! Documents for programs: each has its kind and version, on standard output or in a file.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn brisk(arguments: &[&str], run_dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.args(arguments).env("BRISK_RUN_DIR", run_dir).output().expect("brisk runs")
}

#[test]
fn every_document_has_its_kind_and_version() {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("brisk.toml");
    std::fs::write(&config, "[daemon]\ndevices = []\n").expect("written");
    let bad = dir.path().join("bad.toml");
    std::fs::write(&bad, "[deamon]\n").expect("written");
    let (config, bad) = (config.to_str().expect("UTF-8"), bad.to_str().expect("UTF-8"));
    for (arguments, kind, field) in [
        (&["doctor"][..], "doctor", "parts"),
        (&["reset"], "reset", "restored"),
        (&["config", "default"], "config", "config"),
        (&["config", "show", config], "config", "config"),
        (&["config", "check", config], "config_check", "usable"),
        (&["config", "check", bad], "config_check", "complaint"),
        (&["tune", "--check", "--config", config], "tune", "devices"),
    ] {
        let output = brisk(&[arguments, &["--json"]].concat(), dir.path());
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {output:?}"));
        assert_eq!(document["kind"], kind, "{arguments:?}");
        assert_eq!(document["schema_version"], 1, "{arguments:?}");
        assert!(!document[field].is_null(), "{arguments:?} lacks {field}: {document}");
    }
}

#[test]
fn a_file_gets_the_document_and_the_terminal_the_text() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("reset.json");
    let output = brisk(&["reset", &format!("--json={}", file.display())], dir.path());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing was changed: all settings are as before brisk\n");
    let document: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!(document, serde_json::json!({ "kind": "reset", "schema_version": 1, "restored": [], "left": [] }));
    let nowhere = brisk(&["reset", "--json=/no/such/folder/x"], dir.path());
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&nowhere.stderr)
            .contains("cannot write --json=/no/such/folder/x: there is no directory"),
        "{nowhere:?}"
    );
}

#[test]
fn what_a_command_reads_is_not_overwritten_by_its_document() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("input");
    let text = "[daemon]\ndevices = []\n";
    std::fs::write(&file, text).expect("written");
    let name = file.to_str().expect("UTF-8");
    let json = format!("--json={name}");
    for arguments in [
        &["replay", name][..],
        &["report", name],
        &["config", "check", name],
        &["config", "show", name],
        &["explain", "--record", name],
        &["monitor", "show", name],
        &["monitor", "--duration", "1s", "--output", name],
        &["tune", "--check", "--config", name],
    ] {
        let output = brisk(&[arguments, &[json.as_str()]].concat(), dir.path());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("is the file to read: name another one"), "{arguments:?}: {said}");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), text, "{arguments:?}");
    }
}

#[test]
fn a_file_named_after_json_is_never_overwritten_by_mistake() {
    // `brisk replay --json FILE` means the record FILE, and must not write into it.
    let dir = tempfile::tempdir().expect("a directory");
    let record = dir.path().join("day.brisk");
    std::fs::write(&record, "precious").expect("written");
    let output = brisk(&["replay", "--json", record.to_str().expect("UTF-8")], dir.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&record).expect("there"), "precious");
}
