//! The memory engine in a running daemon: what it learns, and what it makes of apps.

use brisk_daemon::control::protocol::{Apps, Happening, Row};
use rustix::process::Signal;
use serde_json::Value;

use super::launches::group;
use crate::harness::{App, Briskd, place};

const CONFIG: &str = "[engines]\norder = [\"iram\"]\n";

fn row(daemon: &Briskd, id: &str) -> Option<Row> {
    let apps: Apps = daemon.client().call("GetApps", &[], "apps").expect("it answers");
    assert!(apps.active && apps.survey.available_bytes > 0, "{apps:?}");
    apps.survey.apps.into_iter().find(|row| row.id == id)
}

fn forget(daemon: &Briskd, app: Option<&str>) -> bool {
    let parameters: Vec<(&str, Value)> = app.iter().map(|app| ("app", Value::from(*app))).collect();
    daemon.client().call("Forget", &parameters, "known").expect("it answers root")
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
    daemon.client().monitor(launched).expect("events");
    let found = row(&daemon, "learner").expect("it runs");
    assert!(found.memory_bytes.is_some_and(|bytes| bytes > 0) && found.swap_bytes.is_some(), "{found:?}");
    // Ended, and seen as gone: what runs is learned from as long as it runs.
    app.end();
    daemon.status_when(|status| !status.apps.iter().any(|app| app.group == name));
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
    daemon.status_when(|status| status.apps.iter().any(|app| app.group == name));
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success() && !dir.path().join("learned").exists());
}
