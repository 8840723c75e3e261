//! A tree of plain files that stands for /proc, /sys and control groups.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use brisk_act::{Actuator, Paths};
use brisk_core::action::Setting;
use brisk_core::group::GroupKey;
use brisk_core::knob::Knob;
use brisk_core::outcome::{Outcome, Outcomes};

pub(crate) struct Tree {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) paths: Paths,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let at = |name: &str| dir.path().join(name);
        let paths = Paths { sysfs: at("sys"), proc: at("proc"), journal: at("run/journal") };
        let tree = Self { dir, paths };
        files.iter().for_each(|(file, text)| tree.put(file, text));
        tree
    }

    /// Mounts control groups: type, directory and options of each hierarchy.
    pub(crate) fn mount_groups(&self, hierarchies: &[(&str, &str, &str)]) {
        let line = |(kind, name, options): &(&str, &str, &str)| {
            format!("30 1 0:27 / {} rw - {kind} {kind} rw,{options}\n", self.path(name).display())
        };
        self.put("proc/self/mountinfo", &hierarchies.iter().map(line).collect::<String>());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("fixture");
        fs::write(path, text).expect("fixture");
    }

    pub(crate) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("fixture").trim().to_owned()
    }

    pub(crate) fn actuator(&self, dry_run: bool) -> Actuator {
        Actuator::new(&self.paths, "briskd", dry_run).expect("a journal")
    }

    /// The key of the group at `dir`, which begins with its hierarchy; one that there is not when it is not there.
    pub(crate) fn key(&self, dir: &str) -> String {
        let inode = fs::metadata(self.path(dir)).map_or(1, |found| found.ino());
        let (_, path) = dir.split_once('/').expect("a hierarchy and a way");
        GroupKey::Control { inode, path }.text()
    }

    /// Settings; groups are named as below `cgroup`.
    pub(crate) fn targets(&self, wanted: &[(&str, &str)]) -> Vec<Setting> {
        let knob = |text: &str| -> Knob {
            let (setting, group) = text.split_once('/').expect("a setting and a group");
            let key = if setting == "vm" { group.to_owned() } else { self.key(&format!("cgroup/{group}")) };
            format!("{setting}/{key}").parse().expect("a knob")
        };
        wanted.iter().map(|(text, value)| Setting::new(knob(text), *value)).collect()
    }

    pub(crate) fn journals(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.paths.journal).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

pub(crate) fn outcome(outcomes: &Outcomes, knob: &str) -> Outcome {
    outcomes.iter().find(|(of, _)| of.to_string() == knob).expect("an outcome").1.clone()
}

pub(crate) fn written(from: &str, to: &str) -> Outcome {
    Outcome::Written { from: from.to_owned(), to: to.to_owned() }
}
