//! Bad input is refused before a phone is brought up.

use std::io::Write as _;

use crate::study::suite::arguments::{Args, Command};
use clap::{Args as _, FromArgMatches as _};

use super::*;
use crate::study::suite::day::shown;

const HEAD: &str = "user_id,timestamp,app,duration_s\n";

fn args(words: &[&str]) -> DayArgs {
    let line = ["suite", "day"].iter().chain(words);
    let matches = Args::augment_args(clap::Command::new("suite")).try_get_matches_from(line).expect("arguments");
    match Args::from_arg_matches(&matches).expect("arguments").command {
        Command::Day(args) => args,
        other => panic!("{other:?}"),
    }
}

fn said(words: &[&str]) -> String {
    let args = args(words);
    let refused = wanted_apps(&args.every.apps).and_then(|apps| planned(&args.replayed, &apps)).expect_err("refused");
    format!("{refused:#}")
}

fn file(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> String {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    path.display().to_string()
}

#[test]
fn the_default_day_is_synthetic_and_has_all_its_switches() {
    let args = args(&[]);
    let apps = wanted_apps(&[]).expect("apps");
    let (plan, name) = planned(&args.replayed, &apps).expect("a plan");
    assert_eq!((name.as_str(), plan.user.as_str(), plan.visits.len()), ("synthetic", "synthetic-1", 20));
    let used: std::collections::BTreeSet<&str> = plan.visits.iter().map(|visit| visit.app.as_str()).collect();
    assert!(used.len() >= 5, "{used:?}");
    // The dwells of two policies are well below five minutes.
    assert!(plan.dwell_ms() < 60_000, "{}", plan.dwell_ms());
}

#[test]
fn packed_and_plain_traces_are_the_same() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = format!("{HEAD}u,10,chat,5\nu,15,mail,7\nu,22,chat,9\n");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).expect("packed");
    let packed = file(&dir, "usage.csv.gz", &packer.finish().expect("packed"));
    let plain = file(&dir, "usage.csv", text.as_bytes());
    let plan = |file: &str| {
        let args = args(&[file, "--apps", "xterm,evince"]);
        planned(&args.replayed, &wanted_apps(&args.every.apps).expect("apps")).expect("a plan").0
    };
    assert_eq!(plan(&packed), plan(&plain));
    assert_eq!(
        plan(&plain).visits.iter().map(|visit| visit.app.as_str()).collect::<Vec<_>>(),
        ["xterm", "evince", "xterm"]
    );
}

#[test]
fn bad_traces_are_refused_with_file_and_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let backward = file(&dir, "back.csv", format!("{HEAD}u,10,chat,5\nu,9,mail,7\n").as_bytes());
    let text = said(&[&backward]);
    assert!(text.contains("back.csv is not a usage trace: line 3, column timestamp: 9 of u is before"), "{text}");
    let broken = file(&dir, "broken.csv", b"a,b\n1,2\n");
    assert!(said(&[&broken]).contains("line 1 names no column 'user_id': it has a, b; expected are user_id"));
    let cut = file(&dir, "cut.gz", &[0x1f, 0x8b, 8, 0, 0, 0]);
    assert!(said(&[&cut]).contains("cannot read"));
    let binary = file(&dir, "binary.csv", &[0xff, 0xfa, 0]);
    assert!(said(&[&binary]).contains("byte 0 (line 1) is not UTF-8"));
    assert!(said(&["/nonexistent/usage.csv"]).contains("/nonexistent/usage.csv"));
    let two = file(&dir, "two.csv", format!("{HEAD}u,10,chat,5\nu,11,mail,5\nv,9,mail,7\n").as_bytes());
    assert!(said(&[&two]).contains("choose one with --user (u, v)"));
    assert!(said(&[&two, "--user", "w"]).contains("there is no user 'w': it has u, v"));
    assert!(said(&[&two, "--user", "u", "--from", "1h"]).contains("u has no session in the span"));
}

#[test]
fn apps_that_are_not_there_are_refused() {
    assert!(said(&["--apps", "evinc,xterm"]).contains("did you mean 'evince'"));
    assert!(said(&["--apps", "xterm"]).contains("two apps at least"));
    assert!(said(&["--apps", "xterm,xterm"]).contains("xterm twice"));
    assert!(said(&["--map", "game=netscape"]).contains("netscape"));
    assert!(said(&["--apps", "xterm,evince", "--map", "game=gimp"]).contains("not among the apps of the phone"));
    assert!(said(&["--map", "facegram=gimp"]).contains("no app 'facegram' to map"));
}

#[test]
fn the_time_left_is_said_once_something_is_known() {
    assert_eq!(shown::left(1.0, 0.01), "");
    assert_eq!(shown::left(20.0, 0.5), ", about 20 s left");
    assert_eq!(shown::left(60.0, 0.25), ", about 3 min left");
}
