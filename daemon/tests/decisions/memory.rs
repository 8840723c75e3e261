//! The memory engine in a running daemon: what it learns, and what it makes of apps.

use brisk_api::{AppMemory, Apps, Happening};
use brisk_core::event::{Event, EventKind};
use rustix::process::Signal;
use serde_json::Value;

use super::launches::group;
use crate::harness::{App, Briskd, place, run, run_in_zone};

const CONFIG: &str = "[engines]\norder = [\"iram\"]\ntrial = false\n";

fn row(daemon: &Briskd, id: &str) -> Option<AppMemory> {
    let apps: Apps = daemon.client().call("GetApps", &[], "apps").expect("it answers");
    assert!(apps.active && apps.survey.available_bytes > 0, "{apps:?}");
    apps.survey.apps.into_iter().find(|row| row.id == id)
}

fn forget(daemon: &Briskd, app: Option<&str>) -> bool {
    let parameters: Vec<(&str, Value)> = app.iter().map(|app| ("app", Value::from(*app))).collect();
    daemon.client().call("Forget", &parameters, "known").expect("it answers root")
}

#[test]
fn memory_of_an_app_that_ran_before_is_known_where_no_disk_is_managed() {
    let Some((path, _)) = group("earlier") else { return };
    let Some(mut app) = App::new(&path) else { return };
    app.begin();
    let daemon = Briskd::start(place(&[], CONFIG), &[]);
    let found = row(&daemon, "earlier").expect("it runs");
    assert!(found.memory_bytes.is_some_and(|bytes| bytes > 0), "{found:?}");
    app.end();
}

#[test]
fn what_is_learned_of_an_app_outlives_the_daemon_until_it_is_forgotten() {
    let Some((path, name)) = group("learner") else { return };
    let Some(mut app) = App::new(&path) else { return };
    let daemon = Briskd::start(place(&[], CONFIG), &[]);
    let mut begun = false;
    let launched = |happening: Happening| {
        if !begun {
            // The first is that it listens.
            app.begin();
            begun = true;
        }
        !happening.text.contains(&format!("launch of {name} ended"))
    };
    daemon.monitor(launched).expect("events");
    let found = row(&daemon, "learner").expect("it runs");
    assert!(found.memory_bytes.is_some_and(|bytes| bytes > 0) && found.swap_bytes.is_some(), "{found:?}");
    // Ended, and seen as gone: what runs is learned from as long as it runs.
    app.end();
    daemon.status_when(|status| !status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &name)));
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success());
    let file = dir.path().join("learned/iram/learned.json");
    let text = || std::fs::read_to_string(&file).expect("kept");
    assert!(text().contains("learner"), "{}", text());

    let daemon = Briskd::start(dir, &[]);
    assert!(forget(&daemon, Some("learner")));
    assert!(!text().contains("learner"), "{}", text());
    assert!(!forget(&daemon, Some("learner")), "it is not known any more");
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success() && !text().contains("learner"), "{}", text());

    // What is damaged is left out, with a word, and all can be forgotten.
    std::fs::write(&file, "{\"version\":1,").expect("damaged");
    let daemon = Briskd::start(dir, &[]);
    let trouble = daemon.status().trouble;
    assert!(trouble.iter().any(|one| one.starts_with("what iram has learned cannot be used")), "{trouble:?}");
    assert!(forget(&daemon, None));
    assert!(!file.exists());
}

#[test]
fn a_dry_run_keeps_nothing() {
    let Some((path, name)) = group("visitor") else { return };
    let Some(app) = App::new(&path) else { return };
    let daemon = Briskd::start(place(&[], CONFIG), &["--dry-run"]);
    app.begin();
    daemon.status_when(|status| status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &name)));
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success() && !dir.path().join("learned").exists());
}

#[test]
fn the_engine_knows_local_time() {
    let dir = place(&[], CONFIG);
    for (zone, expected_s) in [("IST-5:30", 19_800), ("NST3:30", -12_600)] {
        let (status, said) = run_in_zone(dir.path(), &["--once", "--dry-run"], zone);
        assert!(status.success(), "{said}");
        let (sign, hours) = if expected_s < 0 { ('-', "03") } else { ('+', "05") };
        assert!(said.contains(&format!("local time is UTC{sign}{hours}:30")), "{said}");
        let mut told = Vec::new();
        let lost = brisk_record::read_with_older_part(&dir.path().join("daemon.brisk"), |item| {
            if let brisk_record::Item::Event(Event { kind: EventKind::LocalTime { utc_offset_s }, .. }) = item {
                told.push(utc_offset_s);
            }
            Ok::<(), brisk_record::Error>(())
        });
        assert_eq!(lost.expect("readable"), brisk_record::Lost::default());
        assert_eq!(told.last(), Some(&expected_s));
        assert_eq!(said.matches("local time").count(), 1, "{said}");
    }
}

#[test]
fn what_apps_do_is_read_for_an_engine_that_decides_by_it_or_a_client_that_asks() {
    let Some((path, name)) = group("doer") else { return };
    let Some(app) = App::new(&path) else { return };
    app.begin();
    // As it stands in the record of two rounds, and as a client gets it.
    let recorded = |rest: &str| {
        let dir = place(&[], rest);
        let (status, said) = run(dir.path(), &["--once", "--dry-run"]);
        assert!(status.success(), "{said}");
        let mut read = Vec::new();
        let lost = brisk_record::read_with_older_part(&dir.path().join("daemon.brisk"), |item| {
            if let brisk_record::Item::Scene(scene) = item {
                let of_app = scene.apps.into_iter().filter(|app| brisk_core::group::is_meant(&app.group, &name));
                read.extend(of_app.map(|app| app.activity.oom_score_adj.is_some()));
            }
            Ok::<(), brisk_record::Error>(())
        });
        assert_eq!(lost.expect("readable"), brisk_record::Lost::default());
        assert!(!read.is_empty());
        read.contains(&true)
    };
    assert!(recorded(CONFIG));
    for rest in ["[engines]\norder = []\n", "[engines]\norder = [\"smartio\", \"smartstorage\"]\ntrial = false\n"] {
        assert!(!recorded(rest), "{rest}");
        let daemon = Briskd::start(place(&[], rest), &["--dry-run"]);
        let status = daemon.status();
        let found = status.apps.iter().find(|app| brisk_core::group::is_meant(&app.group, &name)).expect("it runs");
        assert!(found.activity.oom_score_adj.is_some(), "{found:?}");
    }
}
