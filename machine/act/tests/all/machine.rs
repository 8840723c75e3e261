//! The actuator on this machine's kernel: loop devices and a control group of its own. Needs root.

use crate::group;
use crate::journal_lines;
use crate::loop_device;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use brisk_act::{Actuator, Paths, restore_leftovers};
use brisk_core::action::Setting;
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::outcome::{Outcome, Outcomes};
use brisk_requires::{Capability, available, line_with, requires};
use group::Group;
use journal_lines::of_a_dead_owner;
use loop_device::{CHILD_OF, JOURNALS, Loop};
use proptest::prelude::*;

fn only(outcomes: Outcomes) -> Outcome {
    outcomes.into_values().next().expect("an outcome")
}

fn outcomes(applied: Outcomes) -> BTreeMap<String, Outcome> {
    let short = |knob: Knob| knob.to_string().splitn(3, '/').last().expect("a part").to_owned();
    applied.into_iter().map(|(knob, outcome)| (short(knob), outcome)).collect()
}

fn all_done(outcomes: &Outcomes) -> bool {
    outcomes.values().all(|outcome| !matches!(outcome, Outcome::Refused { .. } | Outcome::Left { .. } | Outcome::Gone))
}

#[test]
fn a_change_of_scheduler_keeps_requested_and_original_values() {
    requires!(Loop, Queue);
    let disk = Loop::new();
    // What its owner had made of it before.
    for (name, value) in [
        ("scheduler", "mq-deadline"),
        ("nr_requests", "100"),
        ("iosched/fifo_batch", "8"),
        ("wbt_lat_usec", "5000"),
        ("read_ahead_kb", "64"),
    ] {
        disk.set(name, value);
    }
    let before = disk.all();
    let mut actuator = disk.actuator();

    let requested =
        [("scheduler", "kyber"), ("nr_requests", "32"), ("kyber/read_lat_nsec", "1000000"), ("max_sectors_kb", "256")];
    let applied = actuator.apply(&disk.targets(&requested));
    assert!(all_done(&applied), "{applied:?}");
    for (name, value) in [
        ("scheduler", "kyber"),
        ("nr_requests", "32"),
        ("iosched/read_lat_nsec", "1000000"),
        ("max_sectors_kb", "256"),
        ("wbt_lat_usec", "5000"),
        ("read_ahead_kb", "64"),
    ] {
        assert_eq!(disk.get(name), value, "{name} under kyber");
    }

    // The request for 32 is released: kyber's own number, not mq-deadline's.
    let found = outcomes(actuator.apply(&disk.targets(&requested[..1])));
    assert_eq!(found["nr_requests"], Outcome::Restored { to: "256".to_owned() });
    assert_eq!(found["scheduler"], Outcome::Unchanged);

    // Under mq-deadline again, with the driver's tags shrunk on the way, its owner's values are back.
    let found = outcomes(actuator.apply(&disk.targets(&[("driver_tags", "8"), ("nr_requests", "48")])));
    assert_eq!(found["driver_tags"], Outcome::Written { from: "128".to_owned(), to: "8".to_owned() });
    assert_eq!(found["scheduler"], Outcome::Restored { to: "mq-deadline".to_owned() });
    assert_eq!(disk.get("nr_requests"), "48");
    assert_eq!(disk.get("iosched/fifo_batch"), "8");
    assert_eq!(disk.get("iosched/async_depth"), "48", "the kernel derives it from nr_requests");
    assert_eq!(disk.get("wbt_lat_usec"), "5000");

    assert_eq!(actuator.check(), []);
    let applied = actuator.apply(&[]);
    assert!(applied.values().all(|outcome| matches!(outcome, Outcome::Restored { .. })), "{applied:?}");
    assert_eq!(disk.all(), before);
    assert_eq!(disk.journals(), 0);
}

#[test]
fn what_the_kernel_rounds_is_what_stands_and_is_not_written_again() {
    requires!(Loop, Queue);
    let disk = Loop::new();
    disk.set("scheduler", "mq-deadline");
    let mut actuator = disk.actuator();
    let requested = disk.targets(&[("read_ahead_kb", "7"), ("nr_requests", "2"), ("wbt_lat_usec", "-1")]);
    disk.set("wbt_lat_usec", "0");
    let found = outcomes(actuator.apply(&requested));
    for name in ["read_ahead_kb", "nr_requests", "wbt_lat_usec"] {
        let stands = disk.get(name);
        assert!(matches!(&found[name], Outcome::Written { to, .. } if *to == stands), "{name}: {found:?}");
    }
    assert_eq!((disk.get("read_ahead_kb").as_str(), disk.get("nr_requests").as_str()), ("4", "4"));
    let again = outcomes(actuator.apply(&requested));
    assert!(again.values().all(|outcome| *outcome == Outcome::Unchanged), "{again:?}");
    assert_eq!(actuator.check(), []);
}

fn settings() -> impl Strategy<Value = BTreeMap<&'static str, String>> {
    let number =
        |name: &'static str, range: std::ops::Range<u32>| (Just(name), range.prop_map(|n| n.to_string())).boxed();
    let scheduler = prop::sample::select(vec!["none", "mq-deadline", "kyber", "bfq"]);
    let cache = prop::sample::select(vec!["write back", "write through"]);
    let one = prop_oneof![
        3 => (Just("scheduler"), scheduler.prop_map(str::to_owned)),
        1 => number("driver_tags", 1..140),
        2 => number("nr_requests", 1..300),
        1 => number("read_ahead_kb", 0..4096),
        1 => number("max_sectors_kb", 4..1300),
        1 => number("wbt_lat_usec", 0..75_000),
        1 => (Just("write_cache"), cache.prop_map(str::to_owned)),
        1 => number("mq-deadline/fifo_batch", 1..32),
        1 => number("mq-deadline/async_depth", 1..32),
        1 => number("bfq/slice_idle", 0..32),
        1 => number("bfq/low_latency", 0..2),
        1 => number("kyber/read_lat_nsec", 1..9_000_000),
    ];
    prop::collection::vec(one, 0..7).prop_map(|settings| settings.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 32, ..ProptestConfig::default() })]

    #[test]
    fn undo_after_apply_is_identity(
        start in prop::sample::select(vec!["none", "mq-deadline", "kyber", "bfq"]),
        sequence in prop::collection::vec(settings(), 1..5),
        by_request in any::<bool>(),
    ) {
        if available(&[Capability::Loop, Capability::Queue]).is_none() {
            return Ok(());
        }
        let disk = Loop::new();
        disk.set("scheduler", start);
        let before = disk.all();
        let mut actuator = disk.actuator();
        for settings in &sequence {
            let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let targets = disk.targets(&settings);
            let applied = actuator.apply(&targets);
            prop_assert_eq!(actuator.check(), vec![], "after {:?}", applied);
            let again = actuator.apply(&targets);
            let calm = again.values().all(|outcome| matches!(outcome, Outcome::Unchanged | Outcome::Refused { .. }));
            prop_assert!(calm, "{:?} then {:?}", applied, again);
        }
        if by_request {
            actuator.apply(&[]);
        } else {
            prop_assert_eq!(actuator.restore().expect("restore").left, vec![]);
        }
        prop_assert_eq!(disk.all(), before);
        prop_assert_eq!(disk.journals(), 0);
    }
}

/// This test program again, as the one test that is `name`, with pipes.
fn child(name: &str, of: &str, journals: &Path, before: &[&str]) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let me = std::env::current_exe().expect("this program");
    let mut words = before.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    words.push(me.to_str().expect("UTF-8").to_owned());
    words.extend(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"].map(str::to_owned));
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .env(CHILD_OF, of)
        .env(JOURNALS, journals)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    (child, stdin, BufReader::new(stdout))
}

/// Reads up to and with the next line that holds `word`.
fn wait_for(word: &str, from: &mut BufReader<ChildStdout>) -> String {
    line_with(from, word, |line| line.contains(word))
}

fn of_parent() -> (String, Paths) {
    let of = std::env::var(CHILD_OF).expect("set by the test that starts this");
    let journal = std::env::var_os(JOURNALS).expect("set by the test that starts this").into();
    (of, Paths { journal, ..Paths::default() })
}

#[test]
#[ignore = "is killed by another test"]
fn child_that_switches_until_it_is_killed() {
    let (device, paths) = of_parent();
    let mut actuator = Actuator::new(&paths, "briskd", false).expect("a journal");
    let knob = |setting: &str| format!("queue/{device}/{setting}").parse::<Knob>().expect("a knob");
    let all = [
        vec![(knob("scheduler"), "kyber"), (knob("nr_requests"), "32"), (knob("max_sectors_kb"), "256")],
        vec![(knob("driver_tags"), "4"), (knob("mq-deadline/fifo_batch"), "1"), (knob("wbt_lat_usec"), "0")],
        vec![(knob("scheduler"), "bfq"), (knob("bfq/slice_idle"), "0"), (knob("write_cache"), "write through")],
        vec![(knob("scheduler"), "none"), (knob("nr_requests"), "16")],
    ];
    for targets in all.iter().cycle() {
        let targets: Vec<_> = targets.iter().map(|(knob, value)| Setting::new(knob.clone(), *value)).collect();
        let applied = actuator.apply(&targets);
        assert!(all_done(&applied), "{applied:?}");
        println!("switched");
    }
}

#[test]
fn a_process_that_is_killed_in_the_middle_of_a_switch_is_undone() {
    requires!(Loop, Queue);
    let disk = Loop::new();
    for (name, value) in [("scheduler", "mq-deadline"), ("nr_requests", "100"), ("iosched/fifo_batch", "8")] {
        disk.set(name, value);
    }
    let before = disk.all();
    let mut in_the_middle = 0;
    for round in 0..16 {
        let paths = disk.paths();
        let (mut child, _stdin, mut said) =
            child("machine::child_that_switches_until_it_is_killed", &disk.name(), &paths.journal, &[]);
        for _ in 0..=round % 4 {
            wait_for("switched", &mut said);
        }
        // The next switch is under way; a spin of varied length reaches varied places of it.
        (0..round * 40_000).for_each(|n: u64| _ = std::hint::black_box(n));
        child.kill().and_then(|()| child.wait()).expect("killed");
        let journal = fs::read_dir(&paths.journal)
            .expect("journals")
            .flatten()
            .find(|f| f.path().extension().is_some_and(|e| e == "json"));
        let text = fs::read_to_string(journal.expect("something was changed").path()).expect("journal");
        in_the_middle += u32::from(text.contains("\"ours\":null"));
        let reports = restore_leftovers(&paths).expect("undone");
        assert!(reports.iter().all(|(_, report)| report.left.is_empty()), "round {round}: {reports:?}");
        assert_eq!(disk.all(), before, "round {round}");
        assert_eq!(disk.journals(), 0);
    }
    eprintln!("{in_the_middle} of 16 were killed with a change under way");
}

#[test]
fn a_device_that_is_unplugged_while_it_is_changed_is_left() {
    requires!(Loop, Queue);
    let disk = Loop::new();
    let mut actuator = disk.actuator();
    let switches = [
        disk.targets(&[("scheduler", "kyber"), ("nr_requests", "32")]),
        disk.targets(&[("scheduler", "bfq"), ("driver_tags", "4"), ("bfq/slice_idle", "0")]),
    ];
    actuator.apply(&switches[0]);
    std::thread::scope(|scope| {
        scope.spawn(|| disk.unplug());
        for targets in switches.iter().cycle() {
            let applied = actuator.apply(targets);
            if applied.values().all(|outcome| *outcome == Outcome::Gone) && !disk.file("").exists() {
                break;
            }
        }
    });
    assert_eq!(actuator.check(), []);
    // What was under way when it went is not undone.
    let report = actuator.restore().expect("nothing to undo");
    assert!(report.left.iter().all(|left| left.reason.contains("gone")), "{report:?}");
    assert_eq!(disk.journals(), 0);
}

#[test]
fn a_scheduler_that_the_kernel_has_no_more_is_not_waited_for() {
    requires!(Loop, Queue);
    let disk = Loop::new();
    let mut actuator = disk.actuator();
    actuator.apply(&disk.targets(&[("scheduler", "kyber"), ("read_ahead_kb", "512")]));
    let file = fs::read_dir(disk.paths().journal).expect("journals").flatten().next().expect("a journal").path();
    std::mem::forget(actuator);
    // As if the scheduler had been a module, and its user had died.
    let text = of_a_dead_owner(&fs::read_to_string(&file).expect("journal"));
    let text = journal_lines::with(&text, |_, entry| {
        if entry["knob"] == "scheduler" {
            entry["original"] = "adios".into();
        }
    });
    fs::write(&file, text).expect("journal");
    let reports = restore_leftovers(&disk.paths()).expect("the rest is undone");
    let left = &reports[0].1.left;
    assert!(left.len() == 1 && left[0].reason.contains("does not offer"), "{left:?}");
    assert_eq!(disk.journals(), 0);
}

#[test]
#[ignore = "runs where sysfs cannot be written"]
fn child_under_a_read_only_sysfs() {
    let (device, paths) = of_parent();
    let mut actuator = Actuator::new(&paths, "briskd", false).expect("a journal");
    let targets = ["scheduler", "driver_tags", "nr_requests", "read_ahead_kb"]
        .map(|setting| format!("queue/{device}/{setting}").parse().expect("a knob"))
        .into_iter()
        .zip(["kyber", "4", "8", "512"])
        .map(|(knob, value)| Setting::new(knob, value))
        .collect::<Vec<_>>();
    for applied in actuator.apply(&targets) {
        println!("outcome {}", serde_json::to_string(&applied).expect("JSON"));
    }
    println!("left {:?}", actuator.restore());
}

#[test]
fn under_a_read_only_sysfs_every_setting_is_refused_with_the_reason() {
    requires!(Loop, Queue, Mount, RootMount, Program("unshare"));
    let script = "mount --bind /sys /sys && mount -o remount,bind,ro /sys && exec \"$@\"";
    let disk = Loop::new();
    let before = disk.all();
    let unshared = ["unshare", "-m", "sh", "-c", script, "sh"];
    let (mut child, _stdin, mut said) =
        child("machine::child_under_a_read_only_sysfs", &disk.name(), &disk.paths().journal, &unshared);
    for _ in 0..4 {
        let line = wait_for("outcome ", &mut said);
        let read_only = std::io::Error::from(rustix::io::Errno::ROFS).to_string();
        let why = if line.contains("/nr_requests\"") { "none is in force" } else { read_only.as_str() };
        assert!(line.contains("refused") && line.contains(why), "{line}");
    }
    let line = wait_for("left ", &mut said);
    assert!(line.contains("Ok") && line.contains("left: []"), "nothing was changed, so nothing is to undo: {line}");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(disk.all(), before);
    assert_eq!(disk.journals(), 0);
}

const THREADS: usize = 1000;

#[test]
#[ignore = "is put into a group by another test"]
fn child_with_a_thousand_threads() {
    let mut line = String::new();
    println!("here");
    std::io::stdin().read_line(&mut line).expect("a line when this is in its group");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut sleepers = Vec::new();
        for _ in 0..THREADS {
            let sleeper = || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::park();
                }
            };
            sleepers
                .push(std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, sleeper).expect("a thread"));
        }
        // And one that makes and ends threads all the time.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::thread::spawn(|| ()).join().expect("a thread");
            }
        });
        println!("ready");
        line.clear();
        std::io::stdin().read_line(&mut line).expect("a line at the end");
        stop.store(true, Ordering::Relaxed);
        sleepers.iter().for_each(|sleeper| sleeper.thread().unpark());
    });
}

/// Class and level as the kernel has them, of every thread of a process.
fn priorities(process: u32) -> Vec<i64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("its threads").flatten();
    let threads = threads.filter_map(|thread| thread.file_name().to_str()?.parse::<u32>().ok());
    // SAFETY: ioprio_get(2) takes two numbers and touches no memory of ours.
    threads.map(|thread| unsafe { libc::syscall(libc::SYS_ioprio_get, 1, thread) }).filter(|bits| *bits >= 0).collect()
}

#[test]
fn every_thread_of_a_group_gets_a_priority_and_loses_it_again() {
    requires!(Groups, Nice);
    let group = Group::new();
    let dir = tempfile::tempdir().expect("temporary directory");
    let paths = Paths::with_run_dir(dir.path());
    let (mut process, mut to_it, mut said) =
        child("machine::child_with_a_thousand_threads", "group", &paths.journal, &[]);
    wait_for("here", &mut said);
    fs::write(group.inner().join("cgroup.procs"), process.id().to_string()).expect("into the group");
    writeln!(to_it, "go").expect("it reads");
    wait_for("ready", &mut said);

    let mut actuator = Actuator::new(&paths, "briskd", false).expect("a journal");
    let knob = Knob::IoPriority { group: group.key() };
    let requested = |value: &str| vec![Setting::new(knob.clone(), value)];
    let counted = |bits: i64| {
        let all = priorities(process.id());
        assert!(all.len() > THREADS, "{}", all.len());
        all.iter().filter(|found| **found != bits).count()
    };
    for (value, bits) in [("realtime 4", 1 << 13 | 4), ("idle", 3 << 13), ("best-effort 0", 2 << 13)] {
        let applied = actuator.apply(&requested(value));
        assert!(matches!(applied.values().next(), Some(Outcome::Written { to, .. }) if to == value), "{applied:?}");
        assert_eq!(counted(bits), 0, "{value}");
        assert_eq!(only(actuator.apply(&requested(value))), Outcome::Unchanged);
    }
    // Its user dies, and the next one finds the journal.
    let file = fs::read_dir(&paths.journal).expect("journals").flatten().next().expect("a journal").path();
    std::mem::forget(actuator);
    fs::write(&file, of_a_dead_owner(&fs::read_to_string(&file).expect("journal"))).expect("journal");
    let reports = restore_leftovers(&paths).expect("undone");
    assert_eq!(reports[0].1.restored, [("app-test.scope".to_owned(), "io_priority".to_owned())]);
    assert_eq!(counted(0), 0);

    // The group goes while it is changed.
    let mut actuator = Actuator::new(&paths, "briskd", false).expect("a journal");
    actuator.apply(&requested("idle"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            group.remove();
            process.wait().expect("it was killed");
        });
        for value in ["best-effort 7", "idle"].iter().cycle() {
            match only(actuator.apply(&requested(value))) {
                Outcome::Written { .. } | Outcome::Unchanged => {}
                Outcome::Gone => break,
                other => panic!("{other:?}"),
            }
        }
    });
    assert_eq!(actuator.restore().expect("nothing to undo").left, []);
    assert_eq!(fs::read_dir(&paths.journal).expect("journals").count(), 0);
}

#[test]
fn who_enters_a_session_late_gets_its_priority_at_the_next_look() {
    requires!(Loop, Queue);
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut actuator = Actuator::new(&Paths::with_run_dir(dir.path()), "briskd", false).expect("a journal");
    // The shell leads a session; it ends with its input, and so does what it makes (which would read nothing but for
    // 3).
    let mut leader = Command::new("setsid");
    leader
        .args(["sh", "-c", "exec 3<&0; echo here; read line; cat <&3 & echo made; wait"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut leader = leader.spawn().expect("a shell");
    let mut to_it = leader.stdin.take().expect("piped");
    let mut said = BufReader::new(leader.stdout.take().expect("piped"));
    wait_for("here", &mut said);
    let requested = [Setting::new(Knob::IoPriority { group: format!("session-{}", leader.id()) }, "idle")];
    let mut outcome = || only(actuator.apply_changed(&requested, 0));
    assert!(matches!(outcome(), Outcome::Written { .. }));
    // Found complete.
    assert_eq!(outcome(), Outcome::Unchanged);
    assert_eq!(priorities(leader.id()), [3 << 13]);
    // SAFETY: ioprio_set(2) takes three numbers and touches no memory of ours.
    assert_eq!(unsafe { libc::syscall(libc::SYS_ioprio_set, 1, leader.id(), 0) }, 0);
    assert_eq!(outcome(), Outcome::Unchanged);
    assert_eq!(priorities(leader.id()), [0]);
    // Made by one that has none.
    writeln!(to_it, "go").expect("it reads");
    wait_for("made", &mut said);
    // A second later.
    assert_eq!(only(actuator.apply_changed(&requested, 2_000_000_000)), Outcome::Unchanged);
    assert_eq!(priorities(leader.id()), [3 << 13]);
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", leader.id())).expect("its children");
    let made: u32 = children.trim().parse().expect("one child");
    assert_eq!(priorities(made), [3 << 13]);
    drop(to_it);
    assert!(leader.wait().expect("it ends").success());
    actuator.restore().expect("nothing is left to undo");
}

#[test]
fn settings_are_called_as_the_kernel_calls_them() {
    requires!(Loop, Queue);
    let disk = Loop::new();
    for setting in ["scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "wbt_lat_usec", "write_cache"] {
        let Ok(Knob::Queue { setting: known, .. }) = format!("queue/any/{setting}").parse() else {
            panic!("{setting}")
        };
        assert!(disk.file(&known.to_string()).exists(), "{setting}");
    }
    assert_ne!(QueueSetting::DriverTags.to_string(), "nr_requests");
}
