//! Actions that happen once, on a tree of plain files that stands for control groups and /proc.

use crate::journal_lines;
use crate::once_tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use brisk_act::{damaged_journals, restore_leftovers};
use brisk_core::action::Once;
use brisk_core::outcome::Outcome;
use journal_lines::with;
use once_tree::{APP, Machine, OLD, SESSION, all_on, freeze, outcome, thaw, why};

#[test]
fn a_frozen_group_is_thawed_by_thaw_by_restore_and_at_the_end() {
    for (group, file, thawed, frozen) in [
        (APP, format!("two/user/{APP}/cgroup.freeze"), "0", "1"),
        (OLD, format!("freezer/{OLD}/freezer.state"), "THAWED", "FROZEN"),
    ] {
        let machine = Machine::new();
        for way in ["thaw", "restore", "drop", "crash"] {
            let mut actuator = machine.actuator(false);
            assert_eq!(outcome(&mut actuator, &freeze(&machine.of(group))), Outcome::Done, "{way}");
            assert_eq!((machine.get(&file), machine.journals().len()), (frozen.to_owned(), 1));
            assert_eq!(outcome(&mut actuator, &freeze(&machine.of(group))), Outcome::Unchanged);
            let restored = [(group.to_owned(), file.rsplit('/').next().expect("a name").to_owned())];
            match way {
                "thaw" => {
                    assert_eq!(outcome(&mut actuator, &thaw(&machine.of(group))), Outcome::Done);
                    assert_eq!(outcome(&mut actuator, &thaw(&machine.of(group))), Outcome::Unchanged);
                }
                "restore" => assert_eq!(actuator.restore().expect("thawed").restored, restored),
                "drop" => drop(actuator),
                _ => {
                    machine.crash(actuator, str::to_owned);
                    let reports = restore_leftovers(&machine.paths).expect("thawed");
                    assert_eq!(reports[0].1.restored, restored);
                }
            }
            assert_eq!((machine.get(&file), machine.journals()), (thawed.to_owned(), vec![]), "{way}");
        }
    }
}

#[test]
fn what_was_frozen_or_thawed_externally_is_left() {
    let machine = Machine::new();
    let file = format!("two/user/{APP}/cgroup.freeze");
    let mut actuator = machine.actuator(false);
    machine.put(&file, "1\n");
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(APP))), Outcome::Unchanged);
    assert_eq!(outcome(&mut actuator, &thaw(&machine.of(APP))), Outcome::Left { found: "1".to_owned() });
    assert_eq!((machine.app("cgroup.freeze"), machine.journals()), ("1".to_owned(), vec![]));
    // Thawed externally, after brisk had frozen it.
    machine.put(&file, "0\n");
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(APP))), Outcome::Done);
    machine.put(&file, "0\n");
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(APP))), Outcome::Left { found: "0".to_owned() });
    assert_eq!(outcome(&mut actuator, &thaw(&machine.of(APP))), Outcome::Done);
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(APP))), Outcome::Done);
    // Made anew under the same name while brisk was dead: another group.
    fs::rename(machine.path(&format!("two/user/{APP}")), machine.path("two/former")).expect("fixture");
    machine.put(&file, "1\n");
    machine.crash(actuator, str::to_owned);
    let reports = restore_leftovers(&machine.paths).expect("nothing to write");
    assert_eq!((reports[0].1.left.len(), reports[0].1.restored.len()), (0, 0));
    assert_eq!(machine.app("cgroup.freeze"), "1");
}

#[test]
fn a_group_that_is_gone_is_forgotten() {
    let machine = Machine::new();
    let mut actuator = machine.actuator(false);
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(OLD))), Outcome::Done);
    fs::remove_dir_all(machine.path(&format!("freezer/{OLD}"))).expect("fixture");
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(APP))), Outcome::Done);
    let journal = fs::read_to_string(&machine.journals()[0]).expect("a journal");
    assert!(!journal.contains("freezer.state") && journal.contains("cgroup.freeze"), "{journal}");
    assert_eq!(outcome(&mut actuator, &thaw(&machine.of(APP))), Outcome::Done);
    assert_eq!(machine.journals(), Vec::<PathBuf>::new());
}

#[test]
fn what_a_session_or_a_kernel_lacks_is_refused_with_what_would_work() {
    let machine = Machine::new();
    let mut actuator = machine.actuator(false);
    let group = || SESSION.to_owned();
    let (drop_cache, reclaim) =
        (Once::DropPageCache { group: group() }, Once::Reclaim { group: group(), size_bytes: 1 });
    for once in [freeze(&machine.of(SESSION)), drop_cache, reclaim] {
        assert!(why(outcome(&mut actuator, &once)).contains("systemd-run"), "{once}");
    }
    // In a group without the files.
    machine.put("two/bare.scope/cgroup.procs", "41\n");
    assert!(why(outcome(&mut actuator, &freeze(&machine.of("bare.scope")))).contains("Linux 5.2"));
    let reclaim = Once::Reclaim { group: machine.of("bare.scope"), size_bytes: 1 };
    assert!(why(outcome(&mut actuator, &reclaim)).contains("Linux 5.19"));
}

#[test]
fn memory_is_reclaimed_within_the_bound_and_limits_are_as_before() {
    let machine = Machine::new();
    let mut actuator = machine.actuator(false);
    let reclaim = |group: &str| Once::Reclaim { group: group.to_owned(), size_bytes: 3_000_000 };
    let drop_cache = |group: &str| Once::DropPageCache { group: group.to_owned() };
    assert_eq!(outcome(&mut actuator, &reclaim(&machine.of(APP))), Outcome::Done);
    assert_eq!(machine.app("memory.reclaim"), "3000000");
    // Nothing comes of it on plain files; shared memory is not asked for.
    assert!(why(outcome(&mut actuator, &drop_cache(&machine.of(APP)))).contains("0 of 3000 KiB"));
    assert_eq!(machine.app("memory.reclaim"), "3072000 swappiness=0");
    machine.put(&format!("two/user/{APP}/memory.stat"), "file 4096\nshmem 4096\n");
    assert_eq!(outcome(&mut actuator, &drop_cache(&machine.of(APP))), Outcome::Unchanged);

    assert_eq!(outcome(&mut actuator, &reclaim(&machine.of(OLD))), Outcome::Done);
    assert!(why(outcome(&mut actuator, &drop_cache(&machine.of(OLD)))).contains("0 of 4000 KiB"));
    let old = |file: &str| machine.get(&format!("memory/{OLD}/{file}"));
    assert_eq!(old("memory.limit_in_bytes"), "9223372036854771712");
    assert_eq!((old("memory.swappiness"), old("inner/memory.swappiness")), ("60".to_owned(), "40".to_owned()));
    assert_eq!((old("memory.force_empty"), machine.journals()), ("0".to_owned(), vec![]));
}

#[test]
fn a_crash_while_a_limit_is_lowered_puts_the_limit_back() {
    use std::os::unix::fs::MetadataExt as _;
    let machine = Machine::new();
    let mut actuator = machine.actuator(false);
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(OLD))), Outcome::Done);
    let limit = machine.path(&format!("memory/{OLD}/memory.limit_in_bytes"));
    let inode = fs::metadata(&limit).expect("fixture").ino();
    let key = machine.of(OLD);
    // The journal as it is between the two writes.
    machine.crash(actuator, |text| {
        with(text, |kind, value| {
            if kind == "file" {
                *value = serde_json::json!({
                    "group": key, "file": limit, "inode": inode, "original": "9223372036854771712", "ours": null,
                });
            }
        })
    });
    fs::write(&limit, "5000000\n").expect("fixture");
    let reports = restore_leftovers(&machine.paths).expect("undone");
    assert_eq!(reports[0].1.restored, [(OLD.to_owned(), "memory.limit_in_bytes".to_owned())]);
    assert_eq!(fs::read_to_string(&limit).expect("fixture"), "9223372036854771712");
}

#[test]
fn of_a_damaged_journal_the_whole_lines_are_undone() {
    let machine = Machine::new();
    let mut actuator = machine.actuator(false);
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(APP))), Outcome::Done);
    assert_eq!(outcome(&mut actuator, &freeze(&machine.of(OLD))), Outcome::Done);
    machine.crash(actuator, |text| text.replacen("cgroup.freeze", "cgroup.frooze", 1));
    let reports = restore_leftovers(&machine.paths).expect("undone");
    assert_eq!(reports[0].1.restored, [(OLD.to_owned(), "freezer.state".to_owned())]);
    let state = machine.get(&format!("freezer/{OLD}/freezer.state"));
    assert_eq!((machine.app("cgroup.freeze"), state), ("1".to_owned(), "THAWED".to_owned()));
    let damaged = damaged_journals(&machine.paths);
    assert_eq!((damaged.len(), damaged[0].lost), (1, Some(1)));
}

#[test]
fn brisk_does_not_stop_itself() {
    let machine = Machine::new();
    machine.put(&format!("proc/{}/cgroup", std::process::id()), &format!("0::/user/{APP}/inner\n"));
    let mut actuator = machine.actuator(false);
    for once in [freeze(&machine.of(APP)), Once::EndApp { group: machine.of(APP), grace_ms: 1 }] {
        assert!(why(outcome(&mut actuator, &once)).contains("brisk itself"), "{once}");
    }
    assert_eq!((machine.app("cgroup.freeze"), actuator.next_ns()), ("0".to_owned(), None));
}

#[test]
fn nothing_is_changed_without_a_journal() {
    let machine = Machine::new();
    let mut actuator = machine.actuator(false);
    fs::remove_dir(&machine.paths.journal).expect("empty");
    fs::write(&machine.paths.journal, "").expect("fixture");
    let before = machine.all();
    for once in [freeze(&machine.of(APP)), Once::Reclaim { group: machine.of(OLD), size_bytes: 1 }] {
        assert!(why(outcome(&mut actuator, &once)).contains("nothing is changed"), "{once}");
    }
    assert_eq!(machine.all(), before);
}

#[test]
fn a_dry_run_changes_nothing_and_a_group_that_is_gone_is_gone() {
    let machine = Machine::new();
    let mut dry = machine.actuator(true);
    let before = machine.all();
    for once in [APP, OLD, SESSION].into_iter().flat_map(|name| all_on(&machine.of(name))) {
        let found = outcome(&mut dry, &once);
        match &once {
            // Refused whether dry or not.
            Once::Freeze { group } if group.starts_with("session-") => {
                assert!(why(found).contains("without a control group"), "{once}");
            }
            _ => assert_eq!(found, Outcome::Planned { from: None, to: None }, "{once}"),
        }
    }
    let mut actuator = machine.actuator(false);
    for group in ["app-none.scope", "session-77"] {
        for once in all_on(&machine.of(group)) {
            assert_eq!(outcome(&mut dry, &once), Outcome::Gone, "{once}");
            assert_eq!(outcome(&mut actuator, &once), Outcome::Gone, "{once}");
        }
    }
    for once in all_on("../x") {
        assert!(why(outcome(&mut actuator, &once)).contains("no key"), "{once}");
    }
    assert_eq!((actuator.next_ns(), actuator.advance(u64::MAX)), (None, vec![]));
    let journals = |path: &Path| path.starts_with(machine.path("run"));
    assert_eq!(machine.all().into_iter().filter(|(path, _)| !journals(path)).collect::<BTreeMap<_, _>>(), before);
}
