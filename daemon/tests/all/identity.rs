//! An action on one user's app hits that app: not one of the same name of another user, nor a group that a user made
//! below that user's own and called as a slice of the system. On trees of plain files that stand for control groups.

use std::fs;
use std::path::{Path, PathBuf};

use brisk_act::{Actuator, Paths};
use brisk_core::action::Setting;
use brisk_core::knob::{GroupSetting, Knob};
use brisk_core::outcome::Outcome;
use brisk_daemon::apps::Apps;
use brisk_sense::{GroupChange, GroupWatch, Sense};

/// Control groups at `cg`, as the sensors and the actuator find them.
struct Tree {
    dir: tempfile::TempDir,
    paths: Paths,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        for (proc, cg) in [("proc", PathBuf::from("/cg")), ("of-act", at("cg"))] {
            fs::create_dir_all(at(proc).join("self")).expect("made");
            let mounts = format!("1 0 0:1 / {} rw - cgroup2 cgroup2 rw\n", cg.display());
            fs::write(at(proc).join("self/mountinfo"), mounts).expect("written");
        }
        let paths = Paths { sysfs: at("sys"), proc: at("of-act"), journal: at("run/journal") };
        Self { dir, paths }
    }

    fn at(&self, group: &str) -> PathBuf {
        self.dir.path().join("cg").join(group)
    }

    fn put(&self, group: &str) {
        fs::create_dir_all(self.at(group)).expect("made");
        for (file, text) in
            [("cgroup.procs", ""), ("io.prio.class", "no-change\n"), ("cgroup.events", "populated 1\nfrozen 0\n")]
        {
            fs::write(self.at(group).join(file), text).expect("written");
        }
    }

    fn get(&self, group: &str, file: &str) -> String {
        fs::read_to_string(self.at(group).join(file)).expect("there").trim().to_owned()
    }
}

fn app_of(uid: u32) -> String {
    format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/app-org.keepassxc.KeePassXC@autostart.service")
}

/// The keys of all groups, in the order of their directories.
fn keys(apps: &Apps, within: &Path) -> Vec<String> {
    apps.groups().filter(|(dir, _)| dir.starts_with(within)).map(|(_, key)| key).collect()
}

#[test]
fn an_action_on_one_users_app_hits_no_app_of_that_name() {
    let tree = Tree::new();
    tree.put(&app_of(1000));
    let mut watch = GroupWatch::new(&Sense::new(tree.dir.path())).expect("inotify").expect("mounted");
    let mut apps = Apps::default();
    watch.living().cloned().for_each(|group| apps.was_there(group));
    // It keeps its key when another user begins an app of the same name.
    let before = keys(&apps, Path::new("/cg"));
    tree.put(&app_of(1001));
    brisk_requires::until("the second app", || {
        for change in watch.take().expect("readable") {
            if let GroupChange::Began(group) = change {
                apps.began(group, 1);
            }
        }
        keys(&apps, Path::new("/cg")).len() == 2
    });
    let after = keys(&apps, Path::new("/cg"));
    assert_eq!((before.len(), after.len(), &after[0]), (1, 2, &before[0]));
    let mut actuator = Actuator::new(&tree.paths, "briskd", false).expect("a journal");
    let knob = Knob::Group { group: after[0].clone(), setting: GroupSetting::IoPrioClass };
    let applied = actuator.apply(&[Setting::new(knob.clone(), "idle")]);
    assert!(matches!(applied[&knob], Outcome::Written { .. }), "{applied:?}");
    assert_eq!([1000, 1001].map(|uid| tree.get(&app_of(uid), "io.prio.class")), ["idle", "no-change"]);
    actuator.restore().expect("restored");
    assert_eq!(tree.get(&app_of(1000), "io.prio.class"), "no-change");
}

#[test]
fn a_group_that_a_user_calls_a_slice_of_the_system_is_not_that_slice() {
    let tree = Tree::new();
    let made_up = "user.slice/user-1000.slice/user@1000.service/x/system.slice";
    for group in ["system.slice/db.service", "system.slice", made_up] {
        tree.put(group);
    }
    let watch = GroupWatch::new(&Sense::new(tree.dir.path())).expect("inotify").expect("mounted");
    let group = watch.living().find(|group| group.dir == Path::new("/cg").join(made_up)).expect("it lives");
    let mut actuator = Actuator::new(&tree.paths, "briskd", false).expect("a journal");
    let knob = |group: &str| Knob::Group { group: group.to_owned(), setting: GroupSetting::IoPrioClass };
    let applied = actuator.apply(&[Setting::new(knob(&group.key), "idle")]);
    assert!(matches!(applied[&knob(&group.key)], Outcome::Written { .. }), "{applied:?}");
    let class = |group: &str| tree.get(group, "io.prio.class");
    assert_eq!((class(made_up), class("system.slice")), ("idle".to_owned(), "no-change".to_owned()));
    // Nothing goes by a name.
    let applied = actuator.apply(&[Setting::new(knob("system.slice"), "idle")]);
    assert!(
        matches!(&applied[&knob("system.slice")], Outcome::Refused { why } if why.contains("no key")),
        "{applied:?}"
    );
    assert_eq!((class(made_up), class("system.slice")), ("no-change".to_owned(), "no-change".to_owned()));
}
