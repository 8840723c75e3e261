//! The actuator's promises on trees of plain files that stand for sysfs and the control groups.

use crate::fixture_tree;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};

use brisk_act::Actuator;
use brisk_core::action::Setting;
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::outcome::{Outcome, Outcomes};
use brisk_core::state::ChangedExternally;
use fixture_tree::FixtureTree;
use proptest::prelude::*;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags};

fn targets(texts: &[(&str, &str)]) -> Vec<Setting> {
    texts.iter().map(|(knob, value)| Setting::new(knob.parse().expect("a knob"), *value)).collect()
}

fn only(outcomes: Outcomes) -> Outcome {
    outcomes.into_values().next().expect("an outcome")
}

fn outcomes(applied: Outcomes) -> BTreeMap<String, Outcome> {
    applied.into_iter().map(|(knob, outcome)| (knob.to_string(), outcome)).collect()
}

fn written(from: &str, to: &str) -> Outcome {
    Outcome::Written { from: from.to_owned(), to: to.to_owned() }
}

fn settings() -> impl Strategy<Value = BTreeMap<Knob, String>> {
    let number =
        |setting: QueueSetting, range: std::ops::Range<u32>| (Just(setting), range.prop_map(|n| n.to_string())).boxed();
    let scheduler = prop::sample::select(vec!["none", "mq-deadline", "kyber", "bfq"]);
    let cache = prop::sample::select(vec!["write back", "write through"]);
    let one = prop_oneof![
        3 => (Just(QueueSetting::Scheduler), scheduler.prop_map(str::to_owned)),
        1 => number(QueueSetting::DriverTags, 1..140),
        2 => number(QueueSetting::NrRequests, 1..300),
        1 => number(QueueSetting::ReadAheadKb, 0..4096),
        1 => number(QueueSetting::MaxSectorsKb, 4..1280),
        1 => number(QueueSetting::WbtLatUsec, 0..75_000),
        1 => (Just(QueueSetting::WriteCache), cache.prop_map(str::to_owned)),
        2 => number(QueueSetting::tunable("mq-deadline", "fifo_batch"), 1..32),
        1 => number(QueueSetting::tunable("mq-deadline", "async_depth"), 1..32),
        1 => number(QueueSetting::tunable("bfq", "slice_idle"), 0..32),
        1 => number(QueueSetting::tunable("bfq", "no_such"), 0..32),
    ];
    let knob = (prop::sample::select(vec!["sda", "sdb", "sdz"]), one)
        .prop_map(|(device, (setting, value))| (Knob::queue(device, setting), value));
    prop::collection::vec(knob, 0..8).prop_map(|knobs| knobs.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn undo_after_apply_is_identity(sequence in prop::collection::vec(settings(), 1..6), how in 0..3) {
        let machine = FixtureTree::new();
        let before = machine.all();
        let mut actuator = machine.actuator();
        for targets in &sequence {
            let targets: Vec<_> = targets.clone().into_iter().map(|(knob, value)| Setting::new(knob, value)).collect();
            actuator.apply(&targets);
            prop_assert_eq!(actuator.check(), vec![]);
        }
        match how {
            0 => drop(actuator),
            1 => prop_assert_eq!(actuator.restore().expect("restore").left, vec![]),
            // All settings are released.
            _ => {
                let applied = actuator.apply(&[]);
                let all_put_back = applied.values().all(|outcome| matches!(outcome, Outcome::Restored { .. }));
                prop_assert!(all_put_back, "{:?}", applied);
            }
        }
        prop_assert_eq!(machine.all(), before);
        prop_assert_eq!(machine.journals(), 0);
    }

    #[test]
    fn what_stands_already_is_not_written(requested in settings()) {
        let machine = FixtureTree::new();
        let mut actuator = machine.actuator();
        let requested: Vec<_> = requested.into_iter().map(|(knob, value)| Setting::new(knob, value)).collect();
        actuator.apply(&requested);
        let stands = machine.all();
        for (_, again) in actuator.apply(&requested) {
            let nothing_done =
                matches!(again, Outcome::Unchanged | Outcome::Refused { .. } | Outcome::Gone);
            prop_assert!(nothing_done, "{:?}", again);
        }
        prop_assert_eq!(machine.all(), stands);
    }

    #[test]
    fn a_dry_run_changes_nothing(requested in settings()) {
        let machine = FixtureTree::new();
        let before = machine.all();
        let mut actuator = Actuator::new(&machine.paths, "briskd", true).expect("no journal");
        let requested: Vec<_> = requested.into_iter().map(|(knob, value)| Setting::new(knob, value)).collect();
        let applied = actuator.apply(&requested);
        prop_assert_eq!(applied.len(), requested.len());
        for outcome in applied.into_values() {
            let only_said = !matches!(outcome, Outcome::Written { .. } | Outcome::Restored { .. });
            prop_assert!(only_said, "{:?}", outcome);
        }
        prop_assert_eq!(machine.all(), before);
        prop_assert_eq!(machine.journals(), 0);
    }
}

#[test]
fn targets_are_complete_and_what_is_left_out_is_put_back() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let first = targets(&[
        ("queue/sda/scheduler", "mq-deadline"),
        ("queue/sda/mq-deadline/fifo_batch", "1"),
        ("queue/sda/read_ahead_kb", "512"),
        ("queue/sdb/wbt_lat_usec", "0"),
    ]);
    let found = outcomes(actuator.apply(&first));
    assert_eq!(found["queue/sda/scheduler"], Outcome::Unchanged);
    assert_eq!(found["queue/sda/mq-deadline/fifo_batch"], written("16", "1"));
    assert_eq!(found["queue/sda/read_ahead_kb"], written("128", "512"));
    assert_eq!(found["queue/sdb/wbt_lat_usec"], written("2000", "0"));
    assert_eq!(machine.journals(), 1);

    let found = outcomes(actuator.apply(&first[2..3]));
    assert_eq!(found["queue/sda/mq-deadline/fifo_batch"], Outcome::Restored { to: "16".to_owned() });
    assert_eq!(found["queue/sdb/wbt_lat_usec"], Outcome::Restored { to: "2000".to_owned() });
    assert_eq!(found["queue/sda/read_ahead_kb"], Outcome::Unchanged);
    assert!(!found.contains_key("queue/sda/scheduler"), "it was never changed");
    assert_eq!(machine.read("sda", "queue/read_ahead_kb"), "512");
}

#[test]
fn an_external_change_is_left_until_forgiven() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let requested = targets(&[("queue/sda/read_ahead_kb", "512"), ("queue/sda/nr_requests", "64")]);
    actuator.apply(&requested);
    assert_eq!(actuator.check(), []);
    machine.write("sda", "queue/read_ahead_kb", "64\n");
    let knob = requested[0].knob.clone();
    let changed = ChangedExternally { knob: knob.clone(), written: "512".to_owned(), found: "64".to_owned() };
    assert_eq!(actuator.check(), [changed]);
    assert_eq!(actuator.check(), [], "it is said once");
    let found = outcomes(actuator.apply(&requested));
    assert_eq!(found["queue/sda/read_ahead_kb"], Outcome::Left { found: "64".to_owned() });
    assert_eq!(found["queue/sda/nr_requests"], Outcome::Unchanged);
    actuator.apply(&[]);
    assert_eq!(machine.read("sda", "queue/read_ahead_kb"), "64", "an external value stays, also when released");
    assert_eq!(machine.read("sda", "queue/nr_requests"), "256");

    actuator.forgive();
    let found = outcomes(actuator.apply(&requested));
    assert_eq!(found["queue/sda/read_ahead_kb"], written("64", "512"));
    actuator.restore().expect("restore");
    assert_eq!(machine.read("sda", "queue/read_ahead_kb"), "64", "what they had made of it is put back");
    assert_eq!(machine.journals(), 0);
}

#[test]
fn an_external_change_is_found_without_a_check() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let requested = targets(&[("queue/sda/scheduler", "kyber")]);
    actuator.apply(&requested);
    machine.write("sda", "queue/scheduler", "none mq-deadline kyber [bfq]\n");
    assert_eq!(only(actuator.apply(&requested)), Outcome::Left { found: "bfq".to_owned() });
    assert_eq!(actuator.check().len(), 1);
    let report = actuator.restore().expect("restore");
    assert_eq!((report.left[0].knob.as_str(), report.left[0].found.as_deref()), ("scheduler", Some("bfq")));
    assert_eq!(machine.read("sda", "queue/scheduler"), "bfq");
}

#[test]
fn a_tunable_that_all_schedulers_share_is_set_and_put_back_where_the_kernel_has_it() {
    let machine = FixtureTree::new();
    std::fs::rename(machine.path("sda", "queue/iosched/async_depth"), machine.path("sda", "queue/async_depth"))
        .expect("as Linux 7.0 has it");
    let mut actuator = machine.actuator();
    let knob = "queue/sda/mq-deadline/async_depth";
    let outcome = only(actuator.apply(&targets(&[(knob, "1")])));
    assert_eq!(outcome, written("256", "1"));
    assert_eq!(machine.read("sda", "queue/async_depth"), "1");
    assert!(actuator.restore().expect("restored").left.is_empty());
    assert_eq!(machine.read("sda", "queue/async_depth"), "256");
    assert!(!machine.path("sda", "queue/iosched/async_depth").exists());
}

#[test]
fn what_cannot_be_says_what_can() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let refused =
        |actuator: &mut Actuator, knob: &str, value: &str| match only(actuator.apply(&targets(&[(knob, value)]))) {
            Outcome::Refused { why } => why,
            other => panic!("{knob} {value}: {other:?}"),
        };
    let why = refused(&mut actuator, "queue/sda/mq-deadline/depth", "1");
    assert!(why.contains("async_depth, fifo_batch"), "{why}");
    let why = refused(&mut actuator, "queue/sda/kyber/read_lat_nsec", "1");
    assert!(why.contains("mq-deadline is in force"), "{why}");
    let why = refused(&mut actuator, "queue/sda/driver_tags", "129");
    assert!(why.contains("at most 128"), "{why}");
    let why = refused(&mut actuator, "queue/sda/driver_tags", "many");
    assert!(why.contains("'many'"), "{why}");
    for value in ["", " ", "1\n2"] {
        refused(&mut actuator, "queue/sda/nr_requests", value);
    }
    refused(&mut actuator, "queue/../scheduler", "none");
    fs::remove_dir_all(machine.path("sda", "mq")).expect("fixture");
    let why = refused(&mut actuator, "queue/sda/driver_tags", "8");
    assert!(why.contains("nr_tags is missing"), "{why}");
    let why = refused(&mut actuator, "io_priority/app.scope", "idle");
    assert!(why.contains("no key"), "{why}");
    machine.group("app.scope", &[]);
    let why = refused(&mut actuator, &machine.io_priority("app.scope"), "first");
    assert!(why.contains("best-effort N"), "{why}");
    assert_eq!(machine.journals(), 0);

    let mut dry = Actuator::new(&machine.paths, "briskd", true).expect("no journal");
    let why = refused(&mut dry, "queue/sda/scheduler", "cfq");
    assert!(why.contains("none, mq-deadline, kyber, bfq"), "{why}");
}

#[test]
fn driver_tags_are_those_of_the_driver_and_not_of_the_scheduler() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let found = outcomes(actuator.apply(&targets(&[("queue/sda/driver_tags", "2")])));
    assert_eq!(found["queue/sda/driver_tags"], written("128", "4"), "4 is the least");
    assert_eq!(machine.read("sda", "queue/nr_requests"), "256", "what the scheduler had is put back at once");
    assert_eq!(machine.read("sda", "queue/scheduler"), "mq-deadline");
    let found = outcomes(actuator.apply(&[]));
    assert_eq!(found["queue/sda/driver_tags"], Outcome::Restored { to: "128".to_owned() });
}

#[test]
fn under_none_the_number_of_requests_is_that_of_the_driver() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let requested = targets(&[("queue/sda/scheduler", "none"), ("queue/sda/nr_requests", "8")]);
    actuator.apply(&requested);
    assert_eq!(machine.read("sda", "queue/nr_requests"), "8");
    let text = fs::read_dir(&machine.paths.journal).expect("journals").flatten().next().expect("one").path();
    let text = fs::read_to_string(text).expect("journal");
    assert!(text.contains("driver_tags") && text.contains("\"128\""), "{text}");
    let mut both = requested.clone();
    both.extend(targets(&[("queue/sda/driver_tags", "16")]));
    let found = outcomes(actuator.apply(&both));
    assert_eq!(found["queue/sda/driver_tags"], written("8", "16"));
    assert!(matches!(&found["queue/sda/nr_requests"], Outcome::Refused { why } if why.contains("driver_tags")));
}

#[test]
fn a_device_that_goes_is_left_and_one_that_comes_is_new() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let requested = targets(&[("queue/sda/read_ahead_kb", "512"), ("queue/sdb/read_ahead_kb", "512")]);
    actuator.apply(&requested);
    fs::rename(machine.path("sda", ""), machine.dir.path().join("unplugged")).expect("fixture");
    let found = outcomes(actuator.apply(&requested));
    assert_eq!(found["queue/sda/read_ahead_kb"], Outcome::Gone);
    assert_eq!(found["queue/sdb/read_ahead_kb"], Outcome::Unchanged);
    assert_eq!(actuator.check(), []);
    // Another one, with other values of its own.
    fs::create_dir_all(machine.path("sda", "queue")).expect("fixture");
    machine.write("sda", "queue/read_ahead_kb", "256\n");
    let found = outcomes(actuator.apply(&requested));
    assert_eq!(found["queue/sda/read_ahead_kb"], written("256", "512"));
    actuator.restore().expect("restore");
    assert_eq!(machine.read("sda", "queue/read_ahead_kb"), "256");
}

#[test]
fn a_device_without_a_medium_gets_back_what_it_had_and_is_left() {
    let machine = FixtureTree::new();
    let before = machine.all();
    let mut actuator = machine.actuator();
    let requested = targets(&[("queue/sda/read_ahead_kb", "512"), ("queue/sda/driver_tags", "8")]);
    actuator.apply(&requested);
    machine.write("sda", "size", "0\n");
    for outcome in actuator.apply(&requested).into_values() {
        assert_eq!(outcome, Outcome::Gone);
    }
    assert_eq!(machine.all(), before);
    assert_eq!(machine.journals(), 0);
    machine.write("sda", "size", "4096\n");
    assert_eq!(outcomes(actuator.apply(&requested))["queue/sda/read_ahead_kb"], written("128", "512"));
}

#[test]
fn with_announced_changes_nothing_is_read_twice() {
    let machine = FixtureTree::new();
    let before = machine.all();
    let mut actuator = machine.actuator();
    let requested = targets(&[("queue/sda/read_ahead_kb", "512"), ("queue/sdb/driver_tags", "9999")]);
    let first = outcomes(actuator.apply_changed(&requested, 0));
    assert_eq!(first["queue/sda/read_ahead_kb"], written("128", "512"));
    assert!(matches!(first["queue/sdb/driver_tags"], Outcome::Refused { .. }));
    // This change is not announced, so it is not read.
    machine.write("sda", "queue/read_ahead_kb", "64\n");
    let again = outcomes(actuator.apply_changed(&requested, 0));
    assert_eq!(again["queue/sda/read_ahead_kb"], Outcome::Unchanged);
    assert_eq!(again["queue/sdb/driver_tags"], first["queue/sdb/driver_tags"]);
    // A device with other targets is read, and so is every device after an announced change.
    actuator.invalidate();
    let found = outcomes(actuator.apply_changed(&requested, 0));
    assert_eq!(found["queue/sda/read_ahead_kb"], Outcome::Left { found: "64".to_owned() });
    actuator.forgive();
    let other = targets(&[("queue/sda/read_ahead_kb", "256")]);
    assert_eq!(outcomes(actuator.apply_changed(&other, 0))["queue/sda/read_ahead_kb"], written("64", "256"));
    let released = outcomes(actuator.apply_changed(&[], 0));
    assert_eq!(released["queue/sda/read_ahead_kb"], Outcome::Restored { to: "64".to_owned() });
    assert!(actuator.apply_changed(&[], 0).is_empty());
    // A device that is gone is looked for.
    machine.write("sda", "queue/read_ahead_kb", "128\n");
    assert_eq!(machine.all(), before);
    let gone = targets(&[("queue/sdc/read_ahead_kb", "256")]);
    for _ in 0..2 {
        assert_eq!(outcomes(actuator.apply_changed(&gone, 0))["queue/sdc/read_ahead_kb"], Outcome::Gone);
    }
}

#[test]
fn a_journal_that_cannot_be_written_forbids_every_change() {
    let machine = FixtureTree::new();
    let before = machine.all();
    let mut actuator = machine.actuator();
    fs::remove_dir(&machine.paths.journal).expect("journal directory");
    let requested = targets(&[("queue/sda/scheduler", "bfq"), ("queue/sda/read_ahead_kb", "512")]);
    for outcome in actuator.apply(&requested).into_values() {
        assert!(matches!(&outcome, Outcome::Refused { why } if why.contains("nothing is changed")), "{outcome:?}");
    }
    assert_eq!(machine.all(), before);
}

/// A process that does nothing until its input ends.
struct Idler(Child);

impl Idler {
    fn new() -> Self {
        Self(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat"))
    }

    fn thread(&self) -> u32 {
        self.0.id()
    }

    fn priority(&self) -> String {
        let said = Command::new("ionice").args(["-p", &self.thread().to_string()]).output().expect("ionice");
        String::from_utf8(said.stdout).expect("UTF-8").trim().to_owned()
    }

    fn give(&self, class: &str, level: &str) {
        let id = self.thread().to_string();
        let status = Command::new("ionice").args(["-c", class, "-n", level, "-p", &id]).status().expect("ionice");
        assert!(status.success());
    }
}

impl Drop for Idler {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn threads_that_have_a_priority_of_their_own_keep_it() {
    let machine = FixtureTree::new();
    let [plain, same, other, late] = [Idler::new(), Idler::new(), Idler::new(), Idler::new()];
    let nothing = plain.priority();
    same.give("2", "6");
    other.give("2", "1");
    machine.group("app.scope", &[plain.thread(), same.thread(), other.thread()]);
    let mut actuator = machine.actuator();
    let requested = targets(&[(&machine.io_priority("app.scope"), "best-effort 6")]);
    assert_eq!(only(actuator.apply(&requested)), written("none", "best-effort 6"));
    assert_eq!(plain.priority(), "best-effort: prio 6");
    assert_eq!(other.priority(), "best-effort: prio 1");

    machine.group("app.scope", &[plain.thread(), same.thread(), other.thread(), late.thread()]);
    assert_eq!(only(actuator.apply(&requested)), Outcome::Unchanged);
    assert_eq!(late.priority(), "best-effort: prio 6", "who comes later gets it too");

    let requested = targets(&[(&machine.io_priority("app.scope"), "idle")]);
    assert_eq!(only(actuator.apply(&requested)), written("best-effort 6", "idle"));
    assert_eq!((plain.priority().as_str(), same.priority().as_str()), ("idle", "best-effort: prio 6"));
    assert_eq!(only(actuator.apply(&[])), Outcome::Restored { to: "none".to_owned() });
    assert_eq!([plain.priority(), late.priority()], [nothing.clone(), nothing]);
    assert_eq!([same.priority(), other.priority()], ["best-effort: prio 6", "best-effort: prio 1"]);
    assert_eq!(machine.journals(), 0);
}

#[test]
fn all_groups_of_one_call_share_one_write_of_the_journal() {
    let machine = FixtureTree::new();
    let idlers: Vec<Idler> = (0..8).map(|_| Idler::new()).collect();
    let groups: Vec<String> = (0..8).map(|number| format!("app-{number}.scope")).collect();
    for (group, idler) in groups.iter().zip(&idlers) {
        machine.group(group, &[idler.thread()]);
    }
    fs::create_dir_all(&machine.paths.journal).expect("fixture");
    let inotify = rustix::fs::inotify::init(CreateFlags::NONBLOCK).expect("Linux");
    // A journal is made, and renamed to its name; an empty one is removed. Equal events that follow each other would be
    // one.
    let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
    rustix::fs::inotify::add_watch(&inotify, &machine.paths.journal, flags).expect("a directory");
    let saves = || {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&inotify, &mut buffer);
        let events = std::iter::from_fn(|| reader.next().ok().map(|event| event.events()));
        events.filter(|events| !events.contains(ReadFlags::CREATE)).count()
    };
    let mut actuator = machine.actuator();
    let knobs: Vec<String> = groups.iter().map(|group| machine.io_priority(group)).collect();
    let requested = |value| targets(&knobs.iter().map(|knob| (knob.as_str(), value)).collect::<Vec<_>>());
    let applied = actuator.apply(&requested("best-effort 6"));
    assert!(applied.values().all(|outcome| *outcome == written("none", "best-effort 6")), "{applied:?}");
    assert!(idlers.iter().all(|idler| idler.priority() == "best-effort: prio 6"));
    assert_eq!(saves(), 1);
    // Both values are on disk while the second replaces the first.
    actuator.apply(&requested("idle"));
    assert_eq!(saves(), 2);
    let released = actuator.apply(&[]);
    assert!(released.values().all(|outcome| *outcome == Outcome::Restored { to: "none".to_owned() }), "{released:?}");
    assert_eq!((saves(), machine.journals()), (1, 0));
}

#[test]
fn a_group_that_is_gone_is_left() {
    let machine = FixtureTree::new();
    let mut actuator = machine.actuator();
    let requested = targets(&[(&machine.io_priority("app.scope"), "best-effort 6")]);
    assert_eq!(only(actuator.apply(&requested)), Outcome::Gone);
    machine.group("app.scope", &[]);
    let requested = targets(&[(&machine.io_priority("app.scope"), "best-effort 6")]);
    assert_eq!(only(actuator.apply(&requested)), written("none", "best-effort 6"));
    fs::remove_dir_all(machine.dir.path().join("cgroup/user.slice/app.scope")).expect("fixture");
    assert_eq!(only(actuator.apply(&requested)), Outcome::Gone);
    assert_eq!(machine.journals(), 0);
}

#[test]
fn a_loop_device_that_gets_another_file_keeps_its_first_settings_as_those_to_come_back_to() {
    let machine = FixtureTree::new();
    machine.write("sda", "size", "8\n");
    fs::create_dir_all(machine.path("sda", "loop")).expect("fixture");
    machine.write("sda", "loop/backing_file", "/first\n");
    let before = machine.all();
    let mut actuator = machine.actuator();
    let requested = targets(&[("queue/sda/scheduler", "kyber"), ("queue/sda/read_ahead_kb", "512")]);
    actuator.apply(&requested);
    machine.write("sda", "loop/backing_file", "/second\n");
    // The new file came with one of the settings changed.
    machine.write("sda", "queue/read_ahead_kb", "64\n");
    let applied = outcomes(actuator.apply(&[]));
    assert_eq!(machine.read("sda", "queue/scheduler"), "mq-deadline", "{applied:?}");
    let report = actuator.restore().expect("put back");
    assert_eq!(report.left.iter().map(|left| left.knob.as_str()).collect::<Vec<_>>(), ["read_ahead_kb"]);
    assert_eq!(machine.read("sda", "queue/read_ahead_kb"), "64");
    machine.write("sda", "queue/read_ahead_kb", "128\n");
    assert_eq!(machine.all(), before);
    assert_eq!(machine.journals(), 0);
}

#[test]
fn a_device_out_of_use_gets_its_settings_back_at_once_and_one_at_work_does_not() {
    let machine = FixtureTree::new();
    machine.write("sda", "size", "8\n");
    let before = machine.all();
    let mut actuator = machine.actuator();
    actuator.apply(&targets(&[("queue/sda/scheduler", "bfq"), ("queue/sda/nr_requests", "32")]));
    assert!(!actuator.vacate("sda").expect("nothing to do"));
    assert_eq!(machine.read("sda", "queue/scheduler"), "bfq");
    machine.write("sda", "size", "0\n");
    assert!(actuator.vacate("sda").expect("put back"));
    assert_eq!(machine.all(), before);
    assert!(!actuator.vacate("sda").expect("done already") && !actuator.vacate("sdz").expect("no such device"));
    assert_eq!(machine.journals(), 0);
}
