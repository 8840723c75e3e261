//! `brisk swap`: a trace is made, shown and replayed; bad input is named.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn swap(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.arg("swap").args(words).current_dir(dir).env("BRISK_RUN_DIR", dir.join("run"));
    command.output().expect("brisk starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Two apps that do not fit: each launch of one needs what was written out for the other.
fn small_trace() -> String {
    let mut lines = "#brisk-swap-trace 1 area_slots=2048\ntime_us,action,app,page,slot\n".to_owned();
    (0..600).for_each(|page| lines += &format!("{page},out,{},{},{page}\n", ["mail", "maps"][page % 2], page / 2));
    for (begin_us, app) in [(10_000_000, "mail"), (20_000_000, "maps")] {
        lines += &format!("{begin_us},front,{app},,\n");
        (0..300).for_each(|page| {
            lines += &format!("{begin_us},in,{app},{page},{}\n", 2 * page + usize::from(app == "maps"))
        });
        lines += &format!("{begin_us},ready,{app},,\n");
    }
    lines
}

#[test]
fn extents_read_less_and_faster_where_two_apps_lie_interleaved() {
    let dir = tempfile::tempdir().expect("temporary directory");
    std::fs::write(dir.path().join("day.swap"), small_trace()).expect("written");
    let words = ["replay", "day.swap", "--policy", "linux,extents", "--swap-in", "app", "--json"];
    let (once, again) = (swap(dir.path(), &words), swap(dir.path(), &words));
    assert!(once.status.success(), "{}", text(&once.stderr));
    let of = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["replays"].clone();
    assert_eq!(of(&once), of(&again), "a replay is deterministic");
    let rate = |at: usize| of(&once)[at]["in_bytes_per_s"]["median"].as_f64().expect("a rate");
    // Every second slot in requests of one page, against requests of up to 128 pages.
    assert!(rate(1) > 2.0 * rate(0), "{} and {}", rate(0), rate(1));
}

#[test]
fn a_trace_is_made_shown_and_replayed() {
    let dir = tempfile::tempdir().expect("temporary directory");
    std::fs::write(dir.path().join("day.swap"), small_trace()).expect("written");
    let shown = swap(dir.path(), &["show", "day.swap", "--json=show.json"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("had pages of 2"), "{}", text(&shown.stdout));
    let layout: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("show.json")).expect("file")).expect("JSON");
    assert_eq!(layout["kind"], "swap");
    // Each page of an app lies behind one of the other.
    assert_eq!(layout["layout"]["in_run_bytes"], 4096.0);
    let made = swap(dir.path(), &["generate", "--switches", "1", "--slots", "--output", "made.swap"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let replayed = swap(dir.path(), &["replay", "made.swap", "--policy", "mars", "--swap-in", "window"]);
    assert!(text(&replayed.stdout).contains("mars (window)"), "{}", text(&replayed.stderr));
}

#[test]
fn bad_input_is_named() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
    write("empty", "");
    write("other.csv", "a,b\n1,2\n");
    write("back", "#brisk-swap-trace 1 area_slots=9\ntime_us,action,app,page,slot\n5,front,a,,\n4,front,a,,\n");
    write("noslots", "#brisk-swap-trace 1 area_slots=9\ntime_us,action,app,page,slot\n5,out,a,1,\n");
    let cases: &[(&[&str], &str)] = &[
        (&["replay", "absent"], "cannot read absent"),
        (&["replay", "/dev/zero"], "/dev/zero is a character device"),
        (&["replay", "empty"], "no line before the heading is '#brisk-swap-trace"),
        (&["replay", "other.csv"], "other.csv is not a trace of swapping"),
        (&["replay", "back"], "line 4, column time_us: 4 us is before"),
        (&["replay", "noslots", "--preset", "nexus5"], "there is no preset 'nexus5'"),
        (&["replay", "noslots", "--policy", "fifo"], "mars"),
        (&["replay", "noslots", "--page-cluster", "9"], "0..=8"),
        (&["replay"], "TRACE"),
        (&["show", "noslots"], "has no slots"),
        (&["generate", "--used", "0"], "1..=100"),
        (&["generate", "--output", "/no/such/dir/file"], "/no/such/dir/file"),
    ];
    for (words, said) in cases {
        let output = swap(dir.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(said), "{words:?}: {}", text(&output.stderr));
    }
}
