//! What the daemon knows of apps is forgotten while it runs: in engines, in files, and in the record. Needs root and
//! control groups.

use crate::harness;
use std::fs;
use std::path::Path;

use brisk_record::older_part;
use brisk_requires::requires;
use brisk_sense::Sense;
use harness::{App, Briskd, place};
use rustix::process::Signal;

const APP: &str = "secretapp";

/// Files below a directory that name the app.
fn naming(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("listed").map(|entry| entry.expect("listed")) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(naming(&path));
        } else if path.is_file()
            && fs::read(&path).is_ok_and(|bytes| bytes.windows(APP.len()).any(|word| word == APP.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn after_all_is_forgotten_no_file_names_an_app() {
    requires!(Root, Cgroup2);
    let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    let daemon = Briskd::start(place(&[], "[engines]\norder = [\"prefetch\", \"iram\"]\ntrial = false\n"), &[]);
    let record = daemon.dir.path().join("daemon.brisk");
    let Some(app) = App::new(&v2.mount_point.join(format!("app-{APP}-{}.scope", std::process::id()))) else { return };
    app.begin();
    let knows = |wanted: bool| daemon.status_when(|status| status.apps.iter().any(|app| app.id == APP) == wanted);
    knows(true);
    drop(app);
    knows(false);
    // The record is written in pieces, so that parts of it are older.
    fs::write(older_part(&record), APP).expect("written");
    fs::write(daemon.dir.path().join("daemon.brisk.damaged"), APP).expect("written");
    assert!(record.exists());
    let known: bool = daemon.client().call("Forget", &[], "known").expect("it answers");
    assert!(known);
    let (ended, dir) = daemon.end(Signal::TERM);
    assert!(ended.success(), "{ended}");
    assert_eq!(naming(dir.path()), Vec::<String>::new());
}
