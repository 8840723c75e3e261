//! `brisk predict eval`: a trace of a made-up person is scored, and bad input is named.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn predict(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.arg("predict").args(words).current_dir(dir).env("BRISK_RUN_DIR", dir.join("run"));
    command.output().expect("brisk starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Two users: `u` goes round four apps, once a minute, with each app in two lines; `v` uses one app.
fn usage() -> String {
    let mut lines = "user_id,timestamp,app,duration_s\n".to_owned();
    for nth in 0..200 {
        let app = ["mail", "maps", "news", "chat"][nth % 4];
        for second in [0, 10] {
            writeln!(lines, "u,{},{app},5", 1_700_000_000 + 60 * nth + second).expect("a string");
        }
    }
    lines + "v,5,mail,1\nv,9,mail,1\n"
}

#[test]
fn a_habit_is_predicted_better_than_by_recency() {
    let dir = tempfile::tempdir().expect("temporary directory");
    std::fs::write(dir.path().join("usage.csv"), usage()).expect("written");
    std::fs::write(dir.path().join("context.csv"), "user_id,timestamp,event,detail\nu,1700000000,unlock,\n")
        .expect("written");
    let words = ["eval", "usage.csv", "--context", "context.csv", "--join", "u", "--utc-offset", "u=-03:30", "--json"];
    let [once, again] = [predict(dir.path(), &words), predict(dir.path(), &words)];
    assert!(once.status.success(), "{}", text(&once.stderr));
    let of = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).expect("JSON");
    let (report, other) = (of(&once), of(&again));
    assert_eq!((&report["kind"], &report["trace"]["joined_rows"]), (&"prediction".into(), &200.into()));
    assert_eq!((&report["trace"]["context_events"], &report["trace"]["users_with_offset"]), (&1.into(), &1.into()));
    let find = |report: &Value, predictor: &str, way: &str| {
        let all = report["results"].as_array().expect("results").clone();
        all.into_iter().find(|one| one["predictor"] == predictor && one["way"] == way).expect("a result")
    };
    for predictor in ["adaptive", "paper", "lru", "frequency"] {
        let user = find(&report, predictor, "collapsed")["users"][0].clone();
        assert_eq!((&user["launches"], &user["apps"]), (&200.into(), &4.into()));
        assert_eq!(user, find(&other, predictor, "collapsed")["users"][0], "the same trace gives the same hits");
        // The next app is the one used longest ago.
        let first = user["hits"][0].as_u64().expect("a count");
        let habit = ["adaptive", "paper"].contains(&predictor);
        assert!(if habit { first > 180 } else { first < 5 }, "{predictor}: {user}");
    }
    assert!(find(&report, "adaptive", "collapsed")["cost"]["state_bytes_max"].as_u64().expect("a size") > 1_000);
    assert!(find(&report, "lru", "collapsed")["cost"].is_null());
}

#[test]
fn hits_are_shown_as_a_table_and_a_page() {
    let dir = tempfile::tempdir().expect("temporary directory");
    std::fs::write(dir.path().join("usage.csv"), usage()).expect("written");
    let shown =
        predict(dir.path(), &["eval", "usage.csv", "--user", "u", "--mode", "paper,lru", "--html", "page.html"]);
    let said = text(&shown.stdout);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    assert!(said.contains("With nine apps, paper predicts"), "{said}");
    assert!(!said.contains("adaptive"), "{said}");
    assert!(std::fs::read_to_string(dir.path().join("page.html")).expect("a page").contains("<svg"));
}

#[test]
fn bad_input_is_named() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
    write("usage.csv", &usage());
    write("other.csv", "a,b\n1,2\n");
    write("back.csv", "user_id,timestamp,event,detail\nu,5,unlock,\nu,4,unlock,\n");
    let cases: &[(&[&str], &str)] = &[
        (&[], "brisk predict"),
        (&["eval", "absent"], "cannot read absent"),
        (&["eval", "other.csv"], "other.csv is not a usage trace"),
        (&["eval", "usage.csv", "--context", "usage.csv"], "usage.csv is not a table of context events"),
        (&["eval", "usage.csv", "--context", "back.csv"], "line 3, column timestamp: 4 of u is before"),
        (&["eval", "usage.csv", "--user", "w"], "--user names w, and usage.csv has u, v"),
        (&["eval", "usage.csv", "--join", "w"], "--join names w"),
        (&["eval", "usage.csv", "--utc-offset", "w=+01:00"], "--utc-offset names w"),
        (&["eval", "usage.csv", "--utc-offset", "Paris"], "'Paris' is no offset from UTC"),
        (&["eval", "usage.csv", "--mode", "magic"], "adaptive, paper, lru, frequency"),
        (&["eval", "usage.csv", "--mode", "lru,lru"], "--mode names lru twice"),
        (&["eval", "usage.csv", "--json=usage.csv"], "name another file"),
    ];
    for (words, expected) in cases {
        let output = predict(dir.path(), words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?} said: {said}");
    }
    assert_eq!(std::fs::read_to_string(dir.path().join("usage.csv")).expect("kept"), usage());
}
