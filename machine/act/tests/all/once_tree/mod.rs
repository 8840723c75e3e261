//! A tree of plain files that stands for control groups of both versions and /proc.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;

use brisk_act::{Actuator, Sensed};
use brisk_core::action::{AddressRange, Once};
use brisk_core::outcome::Outcome;

use crate::journal_lines::of_a_dead_owner;
use crate::plain_tree::Tree;

pub(crate) const APP: &str = "app-a-1.scope";
pub(crate) const OLD: &str = "app-old-1.scope";
pub(crate) const SESSION: &str = "session-50";

/// Version 2 has `APP` with the memory controller; version 1 has `OLD` in the freezer and the memory hierarchy.
pub(crate) struct Machine(Tree);

impl Deref for Machine {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        &self.0
    }
}

impl Machine {
    pub(crate) fn new() -> Self {
        let machine = Self(Tree::new(&[]));
        machine.mount_groups(&[
            ("cgroup2", "two", "relatime"),
            ("cgroup", "freezer", "freezer"),
            ("cgroup", "memory", "memory"),
        ]);
        for (file, text) in [
            ("cgroup.procs", "41\n42\n"),
            ("cgroup.freeze", "0\n"),
            ("memory.reclaim", ""),
            ("memory.current", "9000000\n"),
            ("memory.stat", "anon 5000000\nfile 4096000\nshmem 1024000\n"),
            ("inner/cgroup.procs", "43\n"),
        ] {
            machine.put(&format!("two/user/{APP}/{file}"), text);
        }
        machine.put(&format!("two/{OLD}/cgroup.procs"), "");
        machine.put(&format!("freezer/{OLD}/freezer.state"), "THAWED\n");
        for (file, text) in [
            ("cgroup.procs", "44\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory.usage_in_bytes", "8000000\n"),
            ("memory.stat", "total_cache 4096000\ntotal_shmem 0\n"),
            ("memory.swappiness", "60\n"),
            ("inner/memory.swappiness", "40\n"),
            ("memory.force_empty", ""),
        ] {
            machine.put(&format!("memory/{OLD}/{file}"), text);
        }
        for (pid, parent) in [(41, 1), (42, 41), (43, 41), (44, 1), (50, 1)] {
            machine.process(pid, parent);
        }
        machine
    }

    /// The key of a group of this name; what is none otherwise is taken as it is.
    pub(crate) fn of(&self, name: &str) -> String {
        match name {
            APP => self.key(&format!("two/user/{APP}")),
            name if name.ends_with(".scope") => self.key(&format!("two/{name}")),
            other => other.to_owned(),
        }
    }

    /// A process that started at the tick of its number.
    pub(crate) fn process(&self, pid: u32, parent: u32) {
        let stat = format!("{pid} (a b) S {parent} 1 {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 0 0\n");
        self.put(&format!("proc/{pid}/stat"), &stat);
    }

    pub(crate) fn app(&self, file: &str) -> String {
        self.get(&format!("two/user/{APP}/{file}"))
    }

    /// Makes the journal that of a process that was killed.
    pub(crate) fn crash(&self, actuator: Actuator, change: impl Fn(&str) -> String) {
        std::mem::forget(actuator);
        let journals = self.journals();
        let [file] = journals.as_slice() else { panic!("one journal, not {journals:?}") };
        let text = of_a_dead_owner(&fs::read_to_string(file).expect("a journal"));
        fs::write(file, change(&text)).expect("a journal");
    }

    /// All files with their contents.
    pub(crate) fn all(&self) -> BTreeMap<PathBuf, String> {
        let (mut found, mut to_look) = (BTreeMap::new(), vec![self.dir.path().to_owned()]);
        while let Some(dir) = to_look.pop() {
            for path in fs::read_dir(dir).expect("fixture").flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    to_look.push(path);
                } else {
                    let text = fs::read_to_string(&path).expect("fixture");
                    found.insert(path, text);
                }
            }
        }
        found
    }
}

pub(crate) fn freeze(group: &str) -> Once {
    Once::Freeze { group: group.to_owned() }
}

pub(crate) fn thaw(group: &str) -> Once {
    freeze(group).undo().expect("a thaw")
}

pub(crate) fn all_on(group: &str) -> Vec<Once> {
    let ranges = vec![AddressRange { pid: 41, start: 4096, size_bytes: 4096 }];
    let of = str::to_owned;
    vec![
        thaw(group),
        freeze(group),
        Once::EndApp { group: of(group), grace_ms: 1 },
        Once::DropPageCache { group: of(group) },
        Once::Reclaim { group: of(group), size_bytes: 1 << 20 },
        Once::PageOut { group: of(group), ranges: ranges.clone() },
        Once::PageIn { group: of(group), ranges },
    ]
}

pub(crate) fn outcome(actuator: &mut Actuator, once: &Once) -> Outcome {
    let app = crate::apps::idle(once.group());
    actuator.perform(once, &Sensed { app: Some(&app), killers: &[] }, 0)
}

pub(crate) fn why(outcome: Outcome) -> String {
    let Outcome::Refused { why } = outcome else { panic!("{outcome:?}") };
    why
}
