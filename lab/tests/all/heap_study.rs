//! `brisk study heap`: what is read and refused, and the findings of the dissertation on a recorded table.

#![allow(clippy::print_stderr, reason = "a test reports to its output")]

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const HEAD: &str = "app,run,time_ms,anonymous_bytes,file_bytes,swapped_bytes\n";

fn study(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(["study", "heap"]).args(args).output().expect("brisk runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A document of the study of a table.
fn document(file: &Path) -> Value {
    let output = study(&[file.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Runs of an app that climbs for three seconds, some of them later, to `heap` MiB.
fn climbing(app: &str, runs: u32, heap: u64) -> String {
    let mut text = String::new();
    for run in 1..=runs {
        for sample in 0..240u64 {
            let climbed = (sample.saturating_sub(u64::from(run % 3)) * 250).min(3_000);
            let bytes = (heap << 20) * climbed / 3_000 + (u64::from(run) * 40_000);
            writeln!(text, "{app},{run},{},{bytes},9,0", sample * 250).expect("written");
        }
    }
    text
}

#[test]
fn a_recorded_table_gives_errors_coverage_and_head_room() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("heap.csv");
    fs::write(&file, [HEAD, &climbing("evince", 6, 30), &climbing("xterm", 1, 4)].concat()).expect("written");
    let found = document(&file);
    assert_eq!(found["kind"], "heap_study");
    assert_eq!((&found["table"]["columns"], &found["table"]["interval_s"]), (&"growth".into(), &1.0.into()));
    let apps = found["apps"].as_array().expect("apps");
    let counts =
        |app: &Value| ["orders", "alphas", "thresholds"].map(|field| app[field].as_array().map_or(0, Vec::len));
    assert_eq!((counts(&apps[0]), counts(&apps[1])), ([20, 6, 5], [0, 0, 0]));
    let rules: Vec<&str> =
        found["thresholds"].as_array().expect("rules").iter().filter_map(|one| one["rule"].as_str()).collect();
    assert_eq!(rules, ["fixed", "persistence", "paper", "adaptive", "hindsight"]);
    assert!(found["warnings"].to_string().contains("Fewer than 11 runs, as in the dissertation, of evince, xterm"));
    let page = dir.path().join("heap.html");
    let output = study(&[file.to_str().expect("UTF-8"), "--html", page.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("Adaptive thresholds cover") && shown.contains("Error of predictions"), "{shown}");
    assert!(fs::read_to_string(&page).expect("written").contains("Coverage by alpha"));
}

#[test]
fn the_same_table_gives_the_same_figures_packed_or_not() {
    let dir = tempfile::tempdir().expect("a folder");
    let (plain, packed) = (dir.path().join("heap.csv"), dir.path().join("heap.csv.gz"));
    let text = [HEAD, &climbing("evince", 4, 30)].concat();
    fs::write(&plain, &text).expect("written");
    let file = fs::File::create(&packed).expect("created");
    let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, text.as_bytes()).expect("packed");
    packer.finish().expect("packed");
    let figures = |file: &Path| {
        let mut found = document(file);
        ["apps", "alphas", "thresholds", "aims"].map(|field| found[field].take())
    };
    assert_eq!(figures(&plain), figures(&packed));
}

#[test]
fn each_wrong_table_is_refused_with_a_reason_and_code_2() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("wrong.csv");
    let cases: &[(&[u8], &str)] = &[
        (b"", "wrong.csv is not a table of memory over time: it is empty"),
        (b"user_id,timestamp\nu1,4\n", "expected are app, run, time_ms, anonymous_bytes, swapped_bytes"),
        (HEAD.as_bytes(), "it has no samples"),
        (
            b"app,run,time_ms,anonymous_bytes,swapped_bytes\nevince,1,later,5,0\n",
            "line 2, column time_ms: 'later' is no number",
        ),
        (b"app,run,time_ms,anonymous_bytes,swapped_bytes\nevince,1,0,5,0\n", "no run in"),
        (b"\xff\xfa", "is not a text"),
        (b"\x1f\x8bnot packed", "cannot read"),
    ];
    for (text, words) in cases {
        fs::write(&file, text).expect("written");
        let output = study(&[file.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", said(&output));
        assert!(said(&output).contains(words), "{words}: {}", said(&output));
    }
    let path = file.to_str().expect("UTF-8");
    let cases: &[(&[&str], &str)] = &[
        (&["/no/such/table.csv"], "/no/such/table.csv"),
        (&[dir.path().to_str().expect("UTF-8")], "is a directory"),
        (&[], "<TRACES>"),
        (&[path, "--interval", "1ms"], "give 20ms to 1h"),
        (&[path, "--html", "/no/such/folder/x.html"], "there is no directory /no/such/folder"),
    ];
    for (args, words) in cases {
        let output = study(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
}

/// The first `runs` runs of a recorded table; `None`, with the skip recorded, where it is not there.
fn recorded(runs: usize) -> Option<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/mem/nexus5_firefox_heap_4s.csv.gz");
    let packed = match fs::File::open(&file) {
        Ok(packed) => packed,
        Err(error) => {
            let reason = format!("no recorded table at {}: {error}", file.display());
            brisk_requires::skip(brisk_requires::Capability::RealTraces, reason);
            return None;
        }
    };
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(packed).read_to_string(&mut text).expect("unpacked");
    let (mut kept, mut known) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let run = line.split(',').next().unwrap_or_default();
        if !known.contains(&run) {
            known.push(run);
        }
        // The first line names the columns.
        if known.len() > runs + 1 {
            break;
        }
        kept.push(line);
    }
    Some(kept.join("\n"))
}

#[test]
fn on_a_recorded_phone_both_kinds_of_data_predict_better_than_either_alone_and_the_aim_is_met() {
    let Some(text) = recorded(22) else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("recorded.csv");
    fs::write(&file, text).expect("written");
    let found = document(&file);
    let rule = |name: &str| {
        let rules = found["thresholds"].as_array().expect("rules");
        rules.iter().find(|one| one["rule"] == name).cloned().expect("evaluated")
    };
    let number = |value: &Value, field: &str| value[field].as_f64().expect("a number");
    let (adaptive, persistence) = (rule("adaptive"), rule("persistence"));
    assert!(number(&adaptive, "covered_percent") >= 99.0, "{adaptive}");
    assert!(number(&adaptive, "head_room_percent_of_sum") < 15.0, "{adaptive}");
    assert!(number(&rule("paper"), "covered_percent") < number(&adaptive, "covered_percent"));
    for app in found["apps"].as_array().expect("apps") {
        let least = |among: fn(u64, u64) -> bool| {
            let of =
                |order: &&Value| among(order["past"].as_u64().expect("p"), order["historical"].as_u64().expect("q"));
            let orders = app["orders"].as_array().expect("orders").iter().filter(of);
            orders.filter_map(|order| order["rmse_common_bytes"].as_f64()).min_by(f64::total_cmp).expect("predicted")
        };
        let both = least(|past, historical| past > 0 && historical > 0);
        assert!(both < least(|_, historical| historical == 0) && both < least(|past, _| past == 0), "{}", app["app"]);
    }
    let head_room = |value: &Value| number(value, "head_room_percent_of_sum");
    assert!(head_room(&adaptive) < head_room(&persistence), "{adaptive} {persistence}");
}
