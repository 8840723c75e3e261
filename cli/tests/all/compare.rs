//! `brisk compare` from outside: what it prints, its exit codes, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use brisk_core::stats::Summary;
use serde_json::{Value, json};
use snapbox::assert_data_eq;

fn brisk(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(snapbox::cmd::cargo_bin("brisk"));
    // The snapshots have the signs of a locale with UTF-8.
    command.arg("compare").args(args).current_dir(folder).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.output().expect("brisk starts")
}

/// What it prints, with exit code `code`. The run itself differs each time.
fn printed(args: &[&str], folder: &Path, code: i32) -> String {
    let output = brisk(args, folder);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter(|line| !line.starts_with("Run ")).map(|line| format!("{line}\n")).collect()
}

/// What it says on the way out with code 2.
fn refusal(args: &[&str], folder: &Path) -> String {
    let output = brisk(args, folder);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{args:?} printed: {output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// A footprint study: the shortest document there is. Each range has five runs close to its throughput.
fn document(kernel: &str, rates_mb_per_s: &[f64]) -> Value {
    let point = |(i, rate): (usize, &f64)| {
        let runs = [0.99, 0.995, 1.0, 1.005, 1.01].map(|share| share * rate * 1e6);
        json!({ "range_bytes": 8u64 << (20 + i), "bandwidth_bytes_per_s": Summary::of(&runs).expect("finite") })
    };
    json!({
        "kind": "footprint", "schema_version": 1, "started": "2026-10-05T20:28:59Z", "duration_s": 12.5,
        "environment": {
            "brisk_version": "0.1.0", "kernel": kernel, "architecture": "x86_64", "cpus": 2, "path": "/data",
            "file_system": "ext4", "mount_options": null, "device": null,
        },
        "io_engine": "io_uring", "seed": 42, "warnings": [], "block_bytes": 4096, "requests": 2048,
        "precondition_bytes": 1u64 << 30, "points": rates_mb_per_s.iter().enumerate().map(point).collect::<Vec<_>>(),
        "drops": [],
    })
}

fn write(folder: &Path, name: &str, document: &Value) {
    fs::write(folder.join(name), document.to_string()).expect("written");
}

/// A folder with two documents: one range slower, one faster, one as before, one that only the first has.
fn two() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "before.json", &document("6.12.1", &[2.4, 1.2, 0.6, 0.3]));
    write(folder.path(), "after.json", &document("6.18.4", &[1.8, 1.5, 0.6]));
    folder
}

#[test]
fn a_regression_leads_and_unchanged_measures_are_summed_up() {
    let folder = two();
    assert_data_eq!(
        printed(&["before.json", "after.json"], folder.path(), 0),
        snapbox::str![[r#"
Comparison · after against before
━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
after: 1 of 3 measures regressed (random write, within 8 MiB: throughput 0.750 times, 0.736 to
0.765) and 1 improved (random write, within 16 MiB: throughput 1.25 times, 1.23 to 1.27).
· The conditions differ: Kernel 6.12.1, now 6.18.4.

Changed
 verdict      measure                                       baseline       compared   ratio        interval
────────────────────────────────────────────────────────────────────────────────────────────────────────────
 ✗ regressed  random write, within 8 MiB: throughput   2.40 MB/s (5)  1.80 MB/s (5)  0.750x  0.736 to 0.765
 ✓ improved   random write, within 16 MiB: throughput  1.20 MB/s (5)  1.50 MB/s (5)   1.25x    1.23 to 1.27
 Values with (runs in documents): geometric means of the runs, or medians where a document has no
 single runs. Ratios with 95 % intervals, adjusted for the number of measures (96.7 % each): of the
 verdicts improved and regressed at most 5 % are expected to be false. What varies from one
 measurement to the next is not in these intervals: pool three documents of each condition for that.

Verdicts
 verdict      measures  least ratio  largest ratio  why
────────────────────────────────────────────────────────────────────────────
 ✗ regressed         1       0.750x         0.750x  the interval excludes 1
 ✓ improved          1        1.25x          1.25x  the interval excludes 1
 ≈ no change         1        1.00x          1.00x  the interval includes 1
 --all lists every measure.

Differences of condition
 what    baseline  compared
────────────────────────────
 Kernel  6.12.1    6.18.4

Only in one of two conditions
 only in  not in  kind       measure
─────────────────────────────────────────────────────────────────────
 before   after   footprint  random write, within 64 MiB: throughput

Baseline    before: before.json (1 document)
Compared    after: after.json (1 document)

"#]]
    );
}

#[test]
fn all_lists_every_measure_and_only_selects() {
    let folder = two();
    let text = printed(&["old=before.json", "new=after.json", "--all", "--only", "within 8 mib"], folder.path(), 0);
    assert_data_eq!(
        text,
        snapbox::str![[r#"
Comparison · new against old
━━━━━━━━━━━━━━━━━━━━━━━━━━━━
new: 1 of 1 measure regressed, none improved (random write, within 8 MiB: throughput 0.750 times,
0.737 to 0.763).
· The conditions differ: Kernel 6.12.1, now 6.18.4.

All measures
 verdict      measure                                      baseline       compared   ratio        interval  better
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 ✗ regressed  random write, within 8 MiB: throughput  2.40 MB/s (5)  1.80 MB/s (5)  0.750x  0.737 to 0.763  higher

Verdicts
 verdict      measures  least ratio  largest ratio  why
────────────────────────────────────────────────────────────────────────────
 ✗ regressed         1       0.750x         0.750x  the interval excludes 1

Differences of condition
 what    baseline  compared
────────────────────────────
 Kernel  6.12.1    6.18.4

Baseline    old: before.json (1 document)
Compared    new: after.json (1 document)

"#]]
    );
}

#[test]
fn the_exit_code_is_3_for_a_regression_beyond_the_limit() {
    let folder = two();
    let said = |percent: &str, code| {
        printed(&["before.json", "after.json", "--fail-on-regression", percent], folder.path(), code)
    };
    assert!(said("5%", 3).contains("Failed: 1 regression is larger than 5 %."));
    assert!(said("40", 0).contains("No regression is larger than 40 %."));
    // The other way round it is the other range.
    let back = printed(&["after.json", "before.json", "--fail-on-regression", "5%"], folder.path(), 3);
    assert!(back.contains("within 16 MiB: throughput 0.8"), "{back}");
    let same = printed(&["before.json", "before.json", "--fail-on-regression", "0%"], folder.path(), 0);
    assert!(same.contains("before.json (2): no change in any of 4 measures; half of them would not show"), "{same}");
    // A measure that is not compared cannot fail.
    printed(&["before.json", "after.json", "--only", "16 MiB", "--fail-on-regression", "5%"], folder.path(), 0);
}

#[test]
fn conditions_are_files_lists_and_folders_and_any_can_be_the_baseline() {
    let folder = two();
    let path = folder.path();
    fs::create_dir(path.join("old")).expect("made");
    fs::create_dir(path.join("new")).expect("made");
    for (i, share) in [0.99, 1.0, 1.01].iter().enumerate() {
        write(path, &format!("old/{i}.json"), &document("6.12.1", &[2.4 * share]));
        write(path, &format!("new/{i}.json"), &document("6.12.1", &[1.2 * share]));
    }
    let json = |args: &[&str]| -> Value {
        let output = brisk(args, path);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let lists = ["old=old/0.json,old/1.json,old/2.json", "new=new/0.json,new/1.json,new/2.json", "--json"];
    for args in [&["old", "new", "--json"], &lists] {
        let found = json(args);
        assert_eq!((found["kind"].as_str(), found["schema_version"].as_u64()), (Some("comparison"), Some(1)));
        let one = &found["measures"][0];
        assert_eq!((one["verdict"].as_str(), one["better"].as_str()), (Some("regressed"), Some("higher")), "{one}");
        assert_eq!((one["baseline"]["documents"].as_u64(), one["baseline"]["runs"].as_u64()), (Some(3), Some(15)));
        assert_eq!(found["conditions"][0]["name"], "old");
    }
    // Three conditions: both others are held against the one that is named.
    let found = json(&["before.json", "after.json", "new", "--baseline", "old", "--json"]);
    let names: Vec<&str> =
        found["conditions"].as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["old", "before", "after", "new"]);
    let found = json(&["before.json", "after.json", "--baseline", "after.json", "--json"]);
    assert_eq!(
        (found["conditions"][0]["name"].as_str(), found["conditions"][1]["name"].as_str()),
        (Some("after"), Some("before"))
    );
}

#[test]
fn the_result_is_a_document_that_report_shows() {
    let folder = two();
    let path = folder.path();
    printed(&["before.json", "after.json", "--json=change.json", "--html", "change.html"], path, 0);
    let page = fs::read_to_string(path.join("change.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("1 of 3 measures regressed"), "{page}");
    assert!(page.contains("<svg") && page.contains("compared over baseline, log scale"));
    let output = Command::new(snapbox::cmd::cargo_bin("brisk"))
        .args(["report", "change.json"])
        .current_dir(path)
        .output()
        .expect("brisk starts");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 of 3 measures regressed"), "{output:?}");
    // A comparison may replace an earlier one, and is left out of a folder.
    printed(&["before.json", "after.json", "--json=change.json"], path, 0);
    let output = brisk(&[".", "before.json"], path);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.contains("change.json is left out: it is a comparison itself"),
        "{output:?}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let folder = two();
    let path = folder.path();
    let said = |args: &[&str]| refusal(args, path);
    assert!(said(&["before.json"]).contains("one condition has nothing to be compared with"));
    assert!(said(&[]).contains("<[NAME=]FILES>..."));
    assert!(said(&["before.json", "missing.json"]).contains("cannot read missing.json"));
    assert!(said(&["before.json", "a.json,b.json"]).contains("cannot read a.json"));
    fs::write(path.join("empty.json"), "").expect("written");
    fs::write(path.join("text.json"), "hello").expect("written");
    assert!(said(&["before.json", "empty.json"]).contains("empty.json: there is nothing in it"));
    assert!(said(&["before.json", "text.json"]).contains("text.json: it is not JSON"));
    // A damaged document in a folder is no foreign file.
    assert!(
        said(&["before.json", "."]).contains("it is not JSON") || said(&["before.json", "."]).contains("nothing in it")
    );
    fs::create_dir(path.join("foreign")).expect("made");
    fs::write(path.join("foreign/a.json"), "{\"a\": 1}").expect("written");
    let foreign = said(&["before.json", "foreign"]);
    assert!(
        foreign.contains("foreign/a.json is left out") && foreign.contains("the folder foreign has no documents"),
        "{foreign}"
    );
    let slowdown = json!({
        "kind": "slowdown", "schema_version": 1, "started": "2026-10-05T20:28:59Z", "duration_s": 1.0, "seed": 1,
        "environment": document("6.12.1", &[])["environment"], "warnings": [], "block_bytes": 4096,
        "stream_bytes": 1 << 20, "rows": [],
    });
    write(path, "slowdown.json", &slowdown);
    let kinds = said(&["before.json", "slowdown.json"]);
    assert!(kinds.contains("before has documents of kind footprint, slowdown of kind slowdown"), "{kinds}");
    assert!(said(&["before.json", "new="]).contains("an empty list of files: name a file"));
    let only = said(&["before.json", "after.json", "--only", "no such"]);
    assert!(
        only.contains(
            "--only \"no such\" selects none of the 3 measures, such as \"footprint: random write, \
                           within 8 MiB: throughput\""
        ),
        "{only}"
    );
    assert!(said(&["before.json", "after.json", "--fail-on-regression", "five"]).contains("such as 5%"));
    assert!(said(&["before.json", "after.json", "--fail-on-regression=-5%"]).contains("not negative"));
}

#[test]
fn an_output_never_replaces_a_measurement() {
    let folder = two();
    let path = folder.path();
    let before = fs::read_to_string(path.join("before.json")).expect("there");
    for option in ["--json", "--html"] {
        let said = refusal(&["before.json", "after.json", &format!("{option}=./before.json")], path);
        assert!(said.contains(&format!("is one of the documents: give {option} another name")), "{said}");
    }
    // A word that follows the option is a document.
    write(path, "other.json", &document("6.18.4", &[2.4]));
    let compared: serde_json::Value =
        serde_json::from_str(&printed(&["--json", "before.json", "after.json"], path, 0)).expect("JSON");
    assert_eq!(compared["kind"], "comparison");
    let said = refusal(&["--json=before.json", "after.json", "other.json"], path);
    assert!(said.contains("before.json holds a result of brisk"), "{said}");
    assert_eq!(fs::read_to_string(path.join("before.json")).expect("there"), before);
    let said = refusal(&["before.json", "after.json", "--html", "no/such/page.html"], path);
    assert!(said.contains("there is no directory no/such"), "{said}");
}

#[test]
fn a_comparison_has_csv_and_markdown() {
    let folder = two();
    let text = printed(&["--csv", "before.json", "after.json"], folder.path(), 0);
    let ratio = text.lines().find(|line| line.contains(",throughput,ratio,ratio,")).expect("a ratio");
    assert!(ratio.contains(",footprint,"), "{ratio}");
    assert!(text.contains(",regressed\n") && text.contains(",improved\n"), "{text}");
    let text = printed(&["before.json", "after.json", "--markdown"], folder.path(), 0);
    assert!(text.starts_with("# Comparison") && text.contains("| ✗ regressed |"), "{text}");
}
