//! The memory engine in a running daemon: what it learns, and what it makes of apps.

use std::path::PathBuf;
use std::process::Command;

use brisk_api::{AppMemory, Apps, Happening};
use brisk_core::action::Once;
use brisk_core::event::{Event, EventKind};
use rustix::process::Signal;
use serde_json::Value;

use super::launches::group;
use crate::harness::{App, Briskd, place, run, run_in_zone};

pub(super) const CONFIG: &str = "[engines]\norder = [\"iram\"]\ntrial = false\n";

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

/// A group of the memory controller of version 1 with a limit, removed when dropped.
pub(super) struct Limited(pub(super) PathBuf);

impl Limited {
    /// `None`, with the skip recorded, where there can be none.
    pub(super) fn new(id: &str, limit_mib: u64) -> Option<Self> {
        let (group, _) = group(id)?;
        let sense = brisk_sense::Sense::default();
        let Some(v1) = sense.cgroups().expect("Linux").v1_with("memory").map(|v1| v1.mount_point.clone()) else {
            brisk_requires::skip(brisk_requires::Capability::Cgroup2, "no memory controller of version 1");
            return None;
        };
        let dir = v1.join(group.file_name().expect("a name"));
        std::fs::create_dir(&dir).expect("root makes groups");
        // Without swap, whatever areas this machine has.
        for (file, value) in [("memory.limit_in_bytes", limit_mib << 20), ("memory.swappiness", 0)] {
            std::fs::write(dir.join(file), value.to_string()).expect("written");
        }
        Some(Self(dir))
    }

    /// Puts the app into a group below it.
    pub(super) fn take(&self, app: &App, name: &str) {
        let dir = self.0.join(name);
        std::fs::create_dir(&dir).expect("root makes groups");
        std::fs::write(dir.join("cgroup.procs"), app.pid().to_string()).expect("moved");
    }

    /// Processes that the kernel has ended in the group of that name.
    pub(super) fn oom_kills(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(self.0.join(name).join("memory.oom_control")).expect("readable");
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill ")).expect("counted since Linux 4.13");
        count.trim().parse().expect("a number")
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        for below in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            // Files cannot be removed.
            let _ = std::fs::remove_dir(below.path());
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A program that takes so much memory once its input ends, and keeps it.
fn hog(mib: u64) -> Command {
    let mut shell = Command::new("sh");
    let bytes = mib << 20;
    let script = format!("read -r line; {{ head -c {bytes} /dev/zero; sleep 600; }} | tail -c {bytes}");
    shell.args(["-c", &script]);
    shell
}

#[test]
fn an_app_in_the_background_ends_for_its_group_and_none_elsewhere() {
    let Some(limited) = Limited::new("limited", 160) else { return };
    let apps = ["backapp", "frontapp", "elsewhere"].map(|id| group(id).expect("a group").0);
    let [mut back, mut front, mut elsewhere] = apps.each_ref().map(|path| App::with(path, &mut hog(70)).expect("root"));
    limited.take(&back, "back");
    limited.take(&front, "front");
    let rest = format!(
        "{CONFIG}[iram]\nmode = \"paper\"\nperiod_s = 1\nprotected_apps = 0\nends = \"always\"\nend_grace_ms = 100\n"
    );
    let top = limited.0.to_str().expect("UTF-8").to_owned();
    let daemon = Briskd::start(place(&[], &rest), &["--memory-group", &top]);
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    for (app, path) in [(&mut elsewhere, &apps[2]), (&mut back, &apps[0]), (&mut front, &apps[1])] {
        app.begin();
        daemon.status_when(|status| status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &name(path))));
        app.go();
        let pid = [("pid", Value::from(app.pid()))];
        let _: Value = daemon.client().call("SetFront", &pid, "group").expect("root may tell");
    }
    let ended = |status: &brisk_api::Status| -> Vec<String> {
        let ends = status.actions.iter().filter(|action| matches!(action.resolved.what, Once::EndApp { .. }));
        ends.map(|action| brisk_core::group::name(action.resolved.what.group()).to_owned()).collect()
    };
    // Ten seconds after it left the foreground it is in the background.
    let gone = daemon
        .status_when(|status| !status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &name(&apps[0]))));
    assert_eq!(ended(&gone), [name(&apps[0])]);
    let found = row(&daemon, "elsewhere").expect("it runs");
    assert!(found.memory_bytes.is_none() && found.steps.is_empty(), "{found:?}");
    let (status, _dir) = daemon.end(Signal::TERM);
    assert!(status.success());
    [&mut back, &mut front, &mut elsewhere].into_iter().for_each(App::end);
}
