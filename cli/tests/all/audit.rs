//! `scripts/audit` with stand-ins for cargo and git: what is checked, and what it says where advisories cannot be had.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// Runs it where git says whether the host of the database answers, and cargo keeps a list of its calls.
fn audit(dir: &Path, git: &str, cargo: &str) -> (Output, String) {
    for (name, text) in [("git", git), ("cargo", cargo)] {
        let file = dir.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("written");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("made a program");
    }
    let path = format!("{}:/usr/bin:/bin", dir.display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/audit");
    let calls = dir.join("calls");
    let _ = std::fs::remove_file(&calls);
    let output =
        Command::new(script).env("PATH", path).env("CARGO_HOME", dir.join("home")).env("CALLS", &calls).output();
    (output.expect("bash runs"), std::fs::read_to_string(calls).unwrap_or_default())
}

const CALLED: &str = "echo \"$*\" >>\"$CALLS\"";
const REST: &str = "deny --locked check licenses bans sources\n";

#[test]
fn advisories_are_checked_or_it_is_said_that_they_are_not() {
    let dir = tempfile::tempdir().expect("a directory");
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let (output, calls) = audit(dir.path(), "exit 0", CALLED);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(calls, format!("{REST}deny --locked check advisories\n"));
    let (output, calls) = audit(dir.path(), "exit 128", CALLED);
    assert!(output.status.success() && said(&output).contains("advisories were NOT checked: "), "{output:?}");
    assert_eq!(calls, REST);
    std::fs::create_dir_all(dir.path().join("home/advisory-dbs/copy")).expect("made");
    let (output, calls) = audit(dir.path(), "exit 128", CALLED);
    assert!(output.status.success() && said(&output).contains("advisories are those of the copy in"), "{output:?}");
    assert_eq!(calls, format!("{REST}deny --locked check --disable-fetch advisories\n"));
    // What is found fails the audit.
    for found in ["licenses", "advisories"] {
        let cargo = format!("{CALLED}\ncase \"$*\" in *{found}*) exit 1 ;; esac");
        assert!(!audit(dir.path(), "exit 0", &cargo).0.status.success(), "{found}");
    }
}
