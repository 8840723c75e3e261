//! What scripts/run says of this machine, and that nothing is left, with scripts in place of make and brisk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stands for brisk: notes its run folder and its words; builds no phone but the file of its image; refuses what
/// `REFUSES` names.
const BRISK: &str = r#"#!/bin/sh
printf '%s\n' "$BRISK_RUN_DIR" >>"$NOTES/folders"
printf '%s\n' "$*" >>"$NOTES/calls"
case "$*" in *"$REFUSES"*) echo "brisk: $REFUSES needs CAP_SYS_ADMIN, which this process lacks" >&2; exit 2 ;; esac
case "$1 $2" in
'lab up') echo /dev/loop7654 ;;
'prove --preset') mkdir -p "$BRISK_CACHE_DIR/phone/key" && : >"$BRISK_CACHE_DIR/phone/key/root.ext4" ;;
esac
"#;

/// Runs it where `refuses` is refused: what it said, and the words of each call of brisk.
fn run(refuses: &str) -> (String, Vec<String>) {
    let dir = tempfile::tempdir().expect("a folder");
    let place = |name: &str| dir.path().join(name);
    let program = |path: PathBuf, script: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        brisk_requires::executable(&path, script);
    };
    program(place("bin/make"), "#!/bin/sh\n");
    program(place("target/release/brisk"), BRISK);
    let path = format!("{}:{}", place("bin").display(), std::env::var("PATH").expect("set"));
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/run"))
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", place("target"))
        .env("BRISK_CACHE_DIR", place("cache"))
        .env("BRISK_OUT", place("out"))
        .env("TMPDIR", dir.path())
        .env("NOTES", dir.path())
        .env("REFUSES", refuses)
        .output()
        .expect("bash runs");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines = |name: &str| -> Vec<String> {
        fs::read_to_string(place(name)).expect("noted").lines().map(str::to_owned).collect()
    };
    let folders = lines("folders");
    for folder in folders.iter().filter(|folder| !folder.is_empty()) {
        assert!(!Path::new(folder).exists() && !Path::new(&format!("{folder}.log")).exists(), "{folder} is left");
    }
    (said, lines("calls"))
}

#[test]
fn where_no_device_can_be_made_the_reason_is_named_and_the_disk_is_reported() {
    let (said, calls) = run("lab up");
    assert!(
        said.contains("run: not measured: phones: lab up needs CAP_SYS_ADMIN, which this process lacks\n"),
        "{said}"
    );
    assert!(!calls.iter().any(|call| call.starts_with("prove")), "{calls:?}");
    let report = calls.iter().rfind(|call| call.starts_with("report")).expect("a report");
    assert!(report.contains("bench.json --verdict"), "{report}");
}

#[test]
fn a_study_that_this_machine_refuses_is_listed_and_the_others_are_reported() {
    let (said, calls) = run("prove --preset nexus4-emmc");
    assert!(said.contains("run: not measured: apps on nexus4-emmc "), "{said}");
    let report = calls.iter().rfind(|call| call.starts_with("report")).expect("a report");
    assert!(report.contains("prove-galaxy-s5-emmc.json") && !report.contains("prove-nexus4-emmc.json"), "{report}");
    assert!(report.contains("relaunch.json"), "{report}");
}

#[test]
fn the_phone_is_built_once_and_said_so_once() {
    let (said, _) = run("nothing that brisk is called with");
    assert_eq!(said.matches("builds the phone first").count(), 1, "{said}");
    assert!(!said.contains("not measured"), "{said}");
}
