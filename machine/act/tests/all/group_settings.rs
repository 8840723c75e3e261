//! Files of control groups: written, given back, and left to others, on a tree of plain files that stands for the
//! kernel's.

use crate::journal_lines;
use crate::plain_tree;

use std::fs;
use std::path::{Path, PathBuf};

use brisk_act::{Actuator, restore_leftovers};
use brisk_core::action::Setting;
use brisk_core::outcome::Outcome;
use journal_lines::of_a_dead_owner;
use plain_tree::{Tree, outcome, written};
use proptest::prelude::*;

/// Two groups with the io controller, and one without.
const FILES: [(&str, &str); 4] = [
    ("cgroup/app-a-1.scope/io.prio.class", "no-change\n"),
    ("cgroup/app-a-1.scope/io.weight", "default 100\n8:0 200\n"),
    ("cgroup/b.service/io.prio.class", "restrict-to-be\n"),
    ("cgroup/b.service/io.weight", "default 50\n"),
];

fn machine() -> Tree {
    let tree = Tree::new(&FILES);
    fs::create_dir_all(tree.path("cgroup/c.scope")).expect("fixture");
    tree.mount_groups(&[("cgroup2", "cgroup", "relatime"), ("cgroup", "memory", "memory")]);
    tree
}

/// What the kernel would show: it takes a plain number for that of devices without their own.
fn read(machine: &Tree, file: &str) -> String {
    let text = machine.get(file);
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("default ").unwrap_or(line).to_owned()
}

fn all(machine: &Tree) -> Vec<String> {
    FILES.iter().map(|(file, _)| read(machine, file)).collect()
}

const CLASS: &str = "io.prio.class/app-a-1.scope";
const WEIGHT: &str = "io.weight/b.service";

#[test]
fn released_settings_have_their_original_values() {
    let machine = machine();
    let before = all(&machine);
    let mut actuator = machine.actuator(false);
    let requested = machine.targets(&[(CLASS, "promote-to-rt"), (WEIGHT, "10")]);
    let applied = actuator.apply(&requested);
    assert_eq!(outcome(&applied, CLASS), written("no-change", "promote-to-rt"));
    assert_eq!(outcome(&applied, WEIGHT), written("50", "10"));
    assert_eq!(outcome(&actuator.apply(&requested), CLASS), Outcome::Unchanged);
    let original =
        |actuator: &Actuator, knob: &str| actuator.original(&machine.targets(&[(knob, "")])[0].knob).map(str::to_owned);
    assert_eq!(original(&actuator, WEIGHT), Some("50".to_owned()));
    let applied = actuator.apply(&requested[..1]);
    assert_eq!(outcome(&applied, WEIGHT), Outcome::Restored { to: "50".to_owned() });
    assert_eq!(original(&actuator, WEIGHT), None);
    actuator.restore().expect("all of it");
    assert_eq!(all(&machine), before);
    assert_eq!(machine.journals(), Vec::<PathBuf>::new());
}

#[test]
fn a_group_without_the_controller_is_left() {
    let machine = machine();
    let mut actuator = machine.actuator(false);
    for knob in ["io.prio.class/c.scope", "io.bfq.weight/b.service", "io.weight/nobody.scope"] {
        assert_eq!(outcome(&actuator.apply(&machine.targets(&[(knob, "idle")])), knob), Outcome::Gone);
    }
    assert_eq!(machine.journals(), Vec::<PathBuf>::new());
}

#[test]
fn limits_of_memory_are_restored_in_both_versions() {
    let machine = machine();
    let old = machine.dir.path().join("memory/app-a-1.scope/memory.soft_limit_in_bytes");
    let new = |name: &str| machine.path("cgroup/app-a-1.scope").join(name);
    let unlimited = "9223372036854771712\n";
    fs::create_dir_all(old.parent().expect("a group")).expect("fixture");
    for (file, text) in [(&old, unlimited), (&new("memory.high"), "max\n"), (&new("memory.low"), "0\n")] {
        fs::write(file, text).expect("fixture");
    }
    let read = |file: &Path| fs::read_to_string(file).expect("fixture").trim().to_owned();
    let knobs = ["memory.high", "memory.low", "memory.soft_limit_in_bytes"].map(|name| format!("{name}/app-a-1.scope"));
    let requested: Vec<(&str, &str)> = knobs.iter().map(|knob| (knob.as_str(), "104857600")).collect();
    let mut actuator = machine.actuator(false);
    let applied = actuator.apply(&machine.targets(&requested));
    assert_eq!(outcome(&applied, &knobs[0]), written("max", "104857600"));
    assert_eq!(outcome(&applied, &knobs[2]), written(unlimited.trim(), "104857600"));
    assert_eq!([&old, &new("memory.low")].map(|file| read(file)), ["104857600", "104857600"]);
    let released = actuator.apply(&machine.targets(&requested[1..]));
    assert_eq!(outcome(&released, &knobs[0]), Outcome::Restored { to: "max".to_owned() });
    actuator.restore().expect("all of it");
    assert_eq!([&old, &new("memory.high"), &new("memory.low")].map(|file| read(file)), [unlimited.trim(), "max", "0"]);
}

#[test]
fn a_dry_run_says_what_it_would_write() {
    let machine = machine();
    let before = all(&machine);
    let applied = machine.actuator(true).apply(&machine.targets(&[(CLASS, "idle"), (WEIGHT, "50")]));
    assert_eq!(
        outcome(&applied, CLASS),
        Outcome::Planned { from: Some("no-change".to_owned()), to: Some("idle".to_owned()) }
    );
    assert_eq!(outcome(&applied, WEIGHT), Outcome::Unchanged);
    assert_eq!(all(&machine), before);
}

#[test]
fn an_external_change_is_left_alone() {
    let machine = machine();
    let mut actuator = machine.actuator(false);
    let requested = machine.targets(&[(CLASS, "promote-to-rt")]);
    actuator.apply(&requested);
    fs::write(machine.path("cgroup/app-a-1.scope/io.prio.class"), "idle\n").expect("external change");
    let left = Outcome::Left { found: "idle".to_owned() };
    assert_eq!(outcome(&actuator.apply(&requested), CLASS), left);
    let changed = actuator.check();
    assert_eq!((changed.len(), changed[0].knob.to_string(), changed[0].found.as_str()), (1, CLASS.to_owned(), "idle"));
    assert_eq!(actuator.check(), []);
    // Until it is forgiven: then the external value is the one to restore.
    actuator.forgive();
    assert_eq!(outcome(&actuator.apply(&requested), CLASS), written("idle", "promote-to-rt"));
    actuator.restore().expect("all of it");
    assert_eq!(read(&machine, "cgroup/app-a-1.scope/io.prio.class"), "idle");
}

#[test]
fn a_group_that_has_what_is_wanted_is_not_looked_at_until_told() {
    let machine = machine();
    let mut actuator = machine.actuator(false);
    let requested = machine.targets(&[(CLASS, "promote-to-rt"), (WEIGHT, "10")]);
    for is in [written("no-change", "promote-to-rt"), Outcome::Unchanged] {
        assert_eq!(outcome(&actuator.apply_changed(&requested, 0), CLASS), is);
    }
    fs::write(machine.path("cgroup/app-a-1.scope/io.prio.class"), "idle\n").expect("external change");
    assert_eq!(outcome(&actuator.apply_changed(&requested, 0), CLASS), Outcome::Unchanged);
    // Another value is a reason to look, and that it is not requested any more.
    assert_eq!(
        outcome(&actuator.apply_changed(&machine.targets(&[(CLASS, "promote-to-rt"), (WEIGHT, "20")]), 0), WEIGHT),
        written("10", "20")
    );
    // A second later.
    assert_eq!(
        outcome(&actuator.apply_changed(&requested, 2_000_000_000), CLASS),
        Outcome::Left { found: "idle".to_owned() }
    );
    assert_eq!(outcome(&actuator.apply_changed(&[], 0), WEIGHT), Outcome::Restored { to: "50".to_owned() });
    assert_eq!(read(&machine, "cgroup/app-a-1.scope/io.prio.class"), "idle");
}

#[test]
fn a_later_group_of_the_same_name_is_another_one() {
    let machine = machine();
    let mut actuator = machine.actuator(false);
    actuator.apply(&machine.targets(&[(CLASS, "idle")]));
    let file = machine.path("cgroup/app-a-1.scope/io.prio.class");
    // Made before the first is gone, so that it has another inode.
    fs::write(machine.path("cgroup/next"), "idle\n").expect("fixture");
    fs::rename(machine.path("cgroup/next"), &file).expect("fixture");
    let report = actuator.restore().expect("nothing to undo");
    // What brisk changed has gone with its group, so there is nothing to name.
    assert_eq!((report.restored.len(), report.left.len()), (0, 0));
    assert_eq!(read(&machine, "cgroup/app-a-1.scope/io.prio.class"), "idle");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_daemon_that_dies_leaves_it_to_the_next(
        rounds in prop::collection::vec(prop::collection::btree_map(0..FILES.len(), 1u32..1000, 0..4), 1..5),
        by_death in any::<bool>(),
    ) {
        let machine = machine();
        let before = all(&machine);
        let mut actuator = machine.actuator(false);
        for round in &rounds {
            let requested = round.iter().map(|(file, number)| {
                let path = Path::new(FILES[*file].0.trim_start_matches("cgroup/"));
                let setting = path.file_name().and_then(|name| name.to_str()).expect("a name");
                let group = path.parent().and_then(Path::to_str).expect("a group");
                machine.targets(&[(&format!("{setting}/{group}"), &number.to_string())]).remove(0)
            });
            let requested: Vec<Setting> = requested.collect();
            actuator.apply(&requested);
            for (file, number) in round {
                prop_assert_eq!(read(&machine, FILES[*file].0), number.to_string());
            }
        }
        if by_death {
            std::mem::forget(actuator);
            for file in machine.journals() {
                let text = fs::read_to_string(&file).expect("a journal");
                fs::write(&file, of_a_dead_owner(&text)).expect("a journal");
            }
            restore_leftovers(&machine.paths).expect("undone");
        } else {
            drop(actuator);
        }
        prop_assert_eq!(all(&machine), before);
        prop_assert_eq!(machine.journals(), Vec::<PathBuf>::new());
    }
}
