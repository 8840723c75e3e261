//! `brisk kernel` as people meet it, as far as nothing is booted.

use std::path::Path;
use std::process::{Command, Output};

fn brisk(dir: &Path, arguments: &[&str]) -> Output {
    let run_dir = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.arg("kernel").args(arguments).current_dir(dir).env("BRISK_RUN_DIR", run_dir.path());
    command.output().expect("brisk runs")
}

fn tree() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn refusal(dir: &Path, arguments: &[&str]) -> String {
    let output = brisk(dir, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn scenarios_are_listed_from_anywhere_in_the_tree() {
    let output = brisk(&tree().join("src"), &["list"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["one-reader-four-writers", "slowdown-s5", "sync"] {
        assert!(text.contains(name), "{name} lacks in {text}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_fetched() {
    assert!(refusal(tree(), &["run", "one-reader"]).contains("did you mean 'one-reader-four-writers'"));
    assert!(refusal(tree(), &["run", "smoke", "--set", "nr_requests"]).contains("NAME=VALUE"));
    assert!(refusal(tree(), &["run", "smoke", "--json=/nowhere/x.json"]).contains("/nowhere"));
    assert!(refusal(tree(), &["run", "smoke", "--kernel", "six"]).contains("series of kernels"));
    assert!(refusal(tree(), &["run", "smoke", "--scale", "0"]).contains("0.01"));
    assert!(refusal(tree(), &["compare", "smoke", "--save"]).contains("--tuned"));
    assert!(refusal(tree(), &["bench", "smok"]).contains("no part 'smok'"));
    assert!(
        refusal(tree(), &["test", "--only", "smok2"]).contains("no test has 'smok2' in its name; there are smoke, ")
    );
    assert!(refusal(tree(), &["test", "--jobs", "0"]).contains("1..=64"));
    assert!(refusal(tree(), &["bench", "sync", "--all"]).contains("--all"));
    assert!(refusal(tree(), &["hunt", "--bound", "read-maen"]).contains("there are dominated, read-mean, "));
    assert!(refusal(tree(), &["hunt", "--loads", "3", "--for", "1m"]).contains("--loads"));
    assert!(refusal(tree(), &["hunt", "--kernel", "six"]).contains("series of kernels"));
}

#[test]
fn outside_of_a_source_tree_it_says_what_it_needs() {
    let elsewhere = tempfile::tempdir().expect("a folder");
    assert!(refusal(elsewhere.path(), &["list"]).contains("source tree"));
}
