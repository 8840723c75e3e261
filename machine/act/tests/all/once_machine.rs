//! Actions that happen once, on this machine's kernel: control groups and processes of its own. Needs root.

use crate::apps;
use std::fs;
use std::path::Path;
use std::process::Command;

use apps::{App, Hierarchy, Process};
use brisk_act::{Actuator, Paths, Sensed, restore_leftovers};
use brisk_core::action::{AddressRange, Ends, Once};
use brisk_core::outcome::Outcome;
use brisk_requires::{requires, until};

/// Tells a child which group it is to freeze, and where the journals are.
const GROUP: &str = "BRISK_ACT_TEST_GROUP";
const JOURNALS: &str = "BRISK_ACT_TEST_JOURNALS";

/// Counts in the length of its third file.
const COUNTS: &str = "echo here; while :; do echo; done >&3";

fn outcome(actuator: &mut Actuator, once: &Once) -> Outcome {
    actuator.perform(once, &Sensed { app: Some(&apps::idle(once.group())), killers: &[] }, 0)
}

#[test]
fn a_frozen_app_stands_still_until_it_is_thawed() {
    for hierarchy in [Hierarchy::Unified, Hierarchy::Freezer] {
        let Some(app) = App::new(hierarchy) else { continue };
        let _process = app.run(COUNTS);
        app.counts_on();
        let mut actuator = app.actuator();
        assert_eq!(outcome(&mut actuator, &app.freeze()), Outcome::Done);
        app.is_frozen(hierarchy);
        assert_eq!(outcome(&mut actuator, &app.freeze()), Outcome::Unchanged);
        assert_eq!(outcome(&mut actuator, &Once::Thaw { group: app.key.clone() }), Outcome::Done);
        app.counts_on();
        assert_eq!(app.journals(), 0);
    }
}

#[test]
#[ignore = "is killed by another test"]
fn child_that_freezes_a_group_and_waits() {
    let (Ok(group), Some(journal)) = (std::env::var(GROUP), std::env::var_os(JOURNALS)) else { return };
    let paths = Paths { journal: journal.into(), ..Paths::default() };
    let mut actuator = Actuator::new(&paths, "briskd", false).expect("a journal");
    assert_eq!(outcome(&mut actuator, &Once::Freeze { group }), Outcome::Done);
    println!("frozen");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn what_a_process_froze_that_was_killed_is_thawed_by_the_next_one() {
    for hierarchy in [Hierarchy::Unified, Hierarchy::Freezer] {
        let Some(app) = App::new(hierarchy) else { continue };
        let _process = app.run(COUNTS);
        let mut owner = Command::new(std::env::current_exe().expect("this program"));
        owner.args(["--exact", "once_machine::child_that_freezes_a_group_and_waits", "--ignored", "--nocapture"]);
        let mut owner = Process::start(owner.envs([(GROUP, Path::new(&app.key)), (JOURNALS, &app.paths().journal)]));
        owner.wait_for("frozen");
        app.is_frozen(hierarchy);
        // A live owner keeps its changes.
        assert_eq!(restore_leftovers(&app.paths()).expect("nothing to undo"), []);
        owner.child.kill().expect("killed");
        assert_eq!(owner.ended_by(), Some(libc::SIGKILL));
        app.is_frozen(hierarchy);
        let reports = restore_leftovers(&app.paths()).expect("thawed");
        assert_eq!(reports[0].1.restored[0].0, app.name);
        app.counts_on();
        assert_eq!(app.journals(), 0);
    }
}

#[test]
fn an_app_that_ends_in_time_is_not_killed() {
    for (hierarchy, is_frozen) in [
        (Hierarchy::Unified, false),
        (Hierarchy::Unified, true),
        (Hierarchy::Freezer, true),
        (Hierarchy::Memory, false),
    ] {
        let Some(app) = App::new(hierarchy) else { continue };
        let mut process = app.run("trap 'exit 7' TERM; echo here; while :; do read line; done");
        let mut actuator = app.actuator();
        if is_frozen {
            assert_eq!(outcome(&mut actuator, &app.freeze()), Outcome::Done);
            app.is_frozen(hierarchy);
        }
        assert_eq!(outcome(&mut actuator, &app.end()), Outcome::Done);
        assert_eq!(actuator.next_ns(), Some(5_000_000_000));
        assert_eq!(process.child.wait().expect("a child").code(), Some(7), "{hierarchy:?}");
        let ended = actuator.advance(4_999_999_999);
        assert_eq!(ended.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>(), [&Outcome::Gone]);
        assert_eq!((ended[0].0.clone(), actuator.next_ns(), app.journals()), (app.end(), None, 0));
    }
}

#[test]
fn an_app_that_ignores_sigterm_is_killed_at_the_deadline() {
    for hierarchy in [Hierarchy::Unified, Hierarchy::Freezer, Hierarchy::Memory] {
        let Some(app) = App::new(hierarchy) else { continue };
        // Its child ignores the signal as well.
        let mut process = app.run("trap '' TERM; exec 4<&0; sh -c 'echo here; exec cat' <&4 & cat");
        let mut actuator = app.actuator();
        assert_eq!(outcome(&mut actuator, &app.end()), Outcome::Done);
        assert_eq!(outcome(&mut actuator, &app.end()), Outcome::Unchanged);
        if hierarchy == Hierarchy::Freezer {
            // Frozen externally: a killed process of version 1 ends when it leaves the freezer.
            fs::write(app.group.join("freezer.state"), "FROZEN").expect("frozen");
            app.wait_until("freezer.state", "FROZEN");
        }
        assert_eq!(actuator.advance(4_999_999_999), []);
        assert!(process.child.try_wait().expect("a child").is_none());
        let procs = fs::read_to_string(app.group.join("cgroup.procs")).expect("the group");
        assert!(procs.lines().count() >= 2, "{procs}");
        let ended = actuator.advance(5_000_000_000);
        assert_eq!(ended.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>(), [&Outcome::Done]);
        assert_eq!(process.ended_by(), Some(libc::SIGKILL), "{hierarchy:?}");
        until("an empty group", || fs::read_to_string(app.group.join("cgroup.procs")).expect("the group").is_empty());
        assert_eq!((actuator.next_ns(), app.journals()), (None, 0));
    }
}

#[test]
fn less_grace_time_brings_the_deadline_forward() {
    let Some(app) = App::new(Hierarchy::Unified) else { return };
    let mut process = app.run("trap '' TERM; echo here; cat");
    let mut actuator = app.actuator();
    let end = |grace_ms: u64| Once::EndApp { group: app.end().group().to_owned(), grace_ms };
    assert_eq!(outcome(&mut actuator, &end(5_000)), Outcome::Done);
    assert_eq!(outcome(&mut actuator, &end(6_000)), Outcome::Unchanged, "no later");
    assert_eq!(actuator.next_ns(), Some(5_000_000_000));
    assert_eq!(outcome(&mut actuator, &end(200)), Outcome::Done);
    assert_eq!((actuator.next_ns(), actuator.advance(199_999_999)), (Some(200_000_000), Vec::new()));
    let ended = actuator.advance(200_000_000);
    assert_eq!(ended.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>(), [&Outcome::Done]);
    assert_eq!(process.ended_by(), Some(libc::SIGKILL));
}

#[test]
fn an_app_that_others_froze_is_killed_at_once() {
    for (hierarchy, file, frozen) in
        [(Hierarchy::Unified, "cgroup.freeze", "1"), (Hierarchy::Freezer, "freezer.state", "FROZEN")]
    {
        let Some(app) = App::new(hierarchy) else { continue };
        // It would end by itself if it ran: SIGTERM without a handler ends a process in the freezer of version 2, too.
        let mut process = app.run("trap 'exit 0' TERM; echo here; while :; do echo; done >&3");
        fs::write(app.group.join(file), frozen).expect("frozen");
        // The kernel freezes in its own time.
        app.is_frozen(hierarchy);
        let mut actuator = app.actuator();
        assert_eq!(outcome(&mut actuator, &app.end()), Outcome::Done);
        assert_eq!(actuator.next_ns(), Some(0), "it has no grace");
        let ended = actuator.advance(0);
        assert_eq!(ended.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>(), [&Outcome::Done]);
        assert_eq!(process.ended_by(), Some(libc::SIGKILL), "{hierarchy:?}");
        assert_eq!((actuator.next_ns(), app.journals()), (None, 0));
    }
}

#[test]
fn an_app_that_came_under_the_name_of_one_that_ended_is_left() {
    let Some(app) = App::new(Hierarchy::Unified) else { return };
    let mut first = app.run("trap '' TERM; echo here; exec cat");
    let mut actuator = app.actuator();
    assert_eq!(outcome(&mut actuator, &app.end()), Outcome::Done);
    first.child.kill().expect("killed");
    assert_eq!(first.ended_by(), Some(libc::SIGKILL));
    until("the end of the group", || fs::remove_dir(&app.group).is_ok());
    fs::create_dir(&app.group).expect("the group anew");
    let mut second = app.run(COUNTS);
    assert_eq!(outcome(&mut actuator, &app.freeze()), Outcome::Gone, "the key is that of the first");
    assert_eq!(actuator.advance(u64::MAX)[0].1, Outcome::Gone);
    app.counts_on();
    assert!(second.child.try_wait().expect("a child").is_none());
}

#[test]
#[ignore = "is put into a group by another test"]
fn child_with_memory() {
    const SIZE_BYTES: usize = 16 << 20;
    let byte_at = |place: usize| (place / 16 * 7) as u8;
    if std::env::var_os(GROUP).is_none() {
        return;
    }
    let memory: Vec<u8> = (0..SIZE_BYTES).map(byte_at).collect();
    println!("at {:p}", memory.as_ptr());
    let _ = std::io::stdin().read_line(&mut String::new());
    assert!(memory.iter().enumerate().all(|(place, byte)| *byte == byte_at(place)));
    println!("whole");
}

/// A process with 16 MiB of memory in the group of an app, and its ranges of 1 MiB.
fn with_memory(app: &App) -> (Process, Vec<AddressRange>) {
    let me = std::env::current_exe().expect("this program");
    let script = format!(
        "exec env {GROUP}=any {} --exact once_machine::child_with_memory --ignored --nocapture",
        me.to_str().expect("UTF-8")
    );
    let mut process = app.run(&format!("echo here; {script}"));
    let line = process.wait_for("at 0x");
    let start = line.trim().rsplit("0x").next().and_then(|hex| u64::from_str_radix(hex, 16).ok()).expect("an address");
    let start = start.next_multiple_of(1 << 20);
    let range =
        |place: u64| AddressRange { pid: process.child.id(), start: start + (place << 20), size_bytes: 1 << 20 };
    let ranges = (0..15).map(range).collect();
    (process, ranges)
}

#[test]
fn ranges_are_paged_out_and_in_and_only_those_of_the_group() {
    requires!(Nice);
    let Some(app) = App::new(Hierarchy::Memory) else { return };
    let mut actuator = app.actuator();
    let (mut process, mut ranges) = with_memory(&app);
    // Not mapped: passed over.
    ranges.insert(3, AddressRange { start: 4096, ..ranges[0] });
    let group = || app.key.clone();
    let out = |ranges: &[AddressRange]| Once::PageOut { group: group(), ranges: ranges.to_vec() };
    let pages_in = |ranges: &[AddressRange]| Once::PageIn { group: group(), ranges: ranges.to_vec() };
    let swapped_kib = || -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", process.child.id())).expect("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmSwap:")).expect("VmSwap");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    assert_eq!(outcome(&mut actuator, &out(&ranges)), Outcome::Done);
    if fs::read_to_string("/proc/swaps").expect("swaps").lines().count() > 1 {
        assert!(swapped_kib() >= 14 << 10, "{} KiB", swapped_kib());
    } else {
        eprintln!("there is no swap: what was paged out cannot be seen");
    }
    assert_eq!(outcome(&mut actuator, &pages_in(&ranges)), Outcome::Done);
    let Outcome::Refused { why } = outcome(&mut actuator, &out(&ranges[3..4])) else { panic!("it is not mapped") };
    assert!(why.contains("none of 1 ranges"), "{why}");
    // Of this process, which is not in the group.
    let mine = [AddressRange { pid: std::process::id(), ..ranges[0] }];
    let Outcome::Refused { why } = outcome(&mut actuator, &out(&mine)) else { panic!("it is not in the group") };
    assert!(why.contains("not in"), "{why}");
    // All of it.
    assert_eq!(outcome(&mut actuator, &out(&[])), Outcome::Done);
    assert_eq!(outcome(&mut actuator, &pages_in(&[])), Outcome::Unchanged);

    process.to_it = None;
    process.wait_for("whole");
    assert!(process.child.wait().expect("a child").success());
    assert_eq!(outcome(&mut actuator, &out(&ranges)), Outcome::Gone);
}

#[test]
fn what_takes_time_is_done_by_the_worker() {
    requires!(Nice);
    let Some(app) = App::new(Hierarchy::Memory) else { return };
    let mut actuator = app.actuator();
    actuator.start_worker("briskd").expect("threads");
    let (mut process, ranges) = with_memory(&app);
    let file = app.dir.path().join("file");
    fs::write(&file, vec![7; 4 << 20]).expect("a file");
    let found = fs::metadata(&file).expect("there");
    let mapped = brisk_core::pages::MappedFile {
        device: std::os::unix::fs::MetadataExt::dev(&found),
        inode: std::os::unix::fs::MetadataExt::ino(&found),
        path: file.to_str().expect("UTF-8").to_owned(),
    };
    let whole = brisk_core::action::FileRange { offset_bytes: 0, size_bytes: 1 << 40 };
    let group = || app.key.clone();
    for once in [
        Once::PageOut { group: group(), ranges: ranges.clone() },
        Once::PageOut { group: group(), ranges: Vec::new() },
        Once::PageIn { group: group(), ranges: ranges.clone() },
        Once::MapIn { group: group(), ranges: ranges.clone() },
        Once::ReadAhead {
            group: group(),
            files: vec![brisk_core::action::FileRanges { file: mapped, ranges: vec![whole] }],
        },
        Once::Reclaim { group: group(), size_bytes: 4096 },
    ] {
        assert_eq!(
            (outcome(&mut actuator, &once), actuator.next_ns().is_none_or(|at_ns| at_ns == 0)),
            (Outcome::Begun, true)
        );
        let ready = {
            let fd = actuator.worker_fd().expect("a worker");
            let limit = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
            let mut watched = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut watched, Some(&limit))
        };
        assert_eq!((ready, actuator.next_ns()), (Ok(1), Some(0)), "{once}");
        let ended = actuator.advance(0);
        assert_eq!((ended.len(), &ended[0].0, actuator.next_ns()), (1, &once, None));
        // Without swap there may be nothing that can be reclaimed.
        let is_refused = matches!((&once, &ended[0].1), (Once::Reclaim { .. }, Outcome::Refused { .. }));
        assert!(ended[0].1 == Outcome::Done || is_refused, "{once}: {:?}", ended[0].1);
    }
    process.to_it = None;
    process.wait_for("whole");
    assert_eq!(app.journals(), 0);
}

#[test]
fn memory_is_reclaimed_and_the_page_cache_is_freed_without_the_rest() {
    let Some(app) = App::new(Hierarchy::Memory) else { return };
    let (_process, ranges) = with_memory(&app);
    let file = app.dir.path().join("file");
    fs::write(&file, vec![7; 24 << 20]).expect("a file");
    fs::File::open(&file).and_then(|file| file.sync_all()).expect("on disk");
    let read_it = || {
        // Out of this process's memory, and into the group's.
        let all = fs::File::open(&file).expect("a file");
        rustix::fs::fadvise(&all, 0, None, rustix::fs::Advice::DontNeed).expect("a regular file");
        app.run(&format!("cat '{}' >/dev/null; echo here", file.display()));
    };
    let stat_kib = |key: &str| -> u64 {
        let text = fs::read_to_string(app.group.join("memory.stat")).expect("memory.stat");
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).expect("a line");
        line.parse::<u64>().expect("a number") >> 10
    };
    let limit = || fs::read_to_string(app.group.join("memory.limit_in_bytes")).expect("a limit");
    let swappiness = || fs::read_to_string(app.group.join("memory.swappiness")).expect("a swappiness");
    let before = (limit(), swappiness());
    let mut actuator = app.actuator();
    let drop_cache = Once::DropPageCache { group: app.key.clone() };

    read_it();
    let (cache_kib, anonymous_kib) = (stat_kib("total_cache"), stat_kib("total_rss"));
    assert!(cache_kib >= 20 << 10 && anonymous_kib >= 15 << 10, "{cache_kib} {anonymous_kib}");
    assert_eq!(outcome(&mut actuator, &drop_cache), Outcome::Done);
    assert!(stat_kib("total_cache") < cache_kib / 4, "{} of {cache_kib}", stat_kib("total_cache"));
    assert!(stat_kib("total_rss") + 1024 >= anonymous_kib, "{} of {anonymous_kib}", stat_kib("total_rss"));
    let resident = fs::read_to_string(format!("/proc/{}/statm", ranges[0].pid)).expect("statm");
    let pages: u64 = resident.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
    assert!(pages * 4 >= 15 << 10, "{pages} pages");

    read_it();
    let cache_kib = stat_kib("total_cache");
    assert_eq!(outcome(&mut actuator, &Once::Reclaim { group: app.key.clone(), size_bytes: 8 << 20 }), Outcome::Done);
    let freed_kib = cache_kib.saturating_sub(stat_kib("total_cache"));
    assert!((6 << 10..20 << 10).contains(&freed_kib), "{freed_kib} of {cache_kib}");
    // More than there is.
    let Outcome::Refused { why } =
        outcome(&mut actuator, &Once::Reclaim { group: app.key.clone(), size_bytes: 1 << 30 })
    else {
        panic!("a process has memory that cannot be reclaimed")
    };
    assert!(why.contains("of 1048576 KiB of app-once"), "{why}");
    assert_eq!(((limit(), swappiness()), app.journals()), (before, 0));
}

#[test]
fn all_processes_of_a_session_are_asked_and_those_that_stay_are_killed() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary directory");
    let mut actuator = Actuator::new(&Paths::with_run_dir(dir.path()), "briskd", false).expect("a journal");
    // setsid(1) forks only when it leads a group of processes, which a child of this test does not.
    let mut shell = Command::new("setsid");
    // The one that ends is made before the other ignores the signal: what is ignored cannot be trapped by a child.
    let inner = "trap 'echo asked; exit' TERM; echo here; read line";
    shell.args(["sh", "-c", "exec 4<&0; sh -c \"$1\" <&4 & trap '' TERM; echo there; exec cat", "sh", inner]);
    let mut leader = Process::start(&mut shell);
    leader.wait_for("here");
    leader.wait_for("here");
    let end = Once::EndApp { group: format!("session-{}", leader.child.id()), grace_ms: 1 };
    actuator.limit_ends(Ends::Auto, u32::MAX);
    assert_eq!(outcome(&mut actuator, &end), Outcome::Done);
    leader.wait_for("asked");
    assert_eq!(actuator.advance(999_999), []);
    assert!(leader.child.try_wait().expect("a child").is_none());
    assert_eq!(actuator.advance(1_000_000)[0].1, Outcome::Done);
    assert_eq!(leader.ended_by(), Some(libc::SIGKILL));
    // The other one takes a moment to end after its last word.
    until("the end of the session", || {
        actuator.advance(u64::MAX);
        outcome(&mut actuator, &end) == Outcome::Gone
    });
}

/// The child of a process that is called `sh`, with the ticks of its start, and the children of that.
fn shell_below(parent: u32, group: &Path) -> (u32, u64, Vec<u32>) {
    let procs = fs::read_to_string(group.join("cgroup.procs")).expect("the group");
    let stats = procs.lines().filter_map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (name, rest) = (text.split(['(', ')']).nth(1)?.to_owned(), text.rsplit(") ").next()?.to_owned());
        let words: Vec<i64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
        Some((pid.parse::<u32>().ok()?, name, words))
    });
    // Without the letter of the state the parent is the first word, and the start is the nineteenth.
    let all: Vec<(u32, String, Vec<i64>)> = stats.collect();
    let is_shell = |(_, name, words): &&(u32, String, Vec<i64>)| name == "sh" && words[0] == i64::from(parent);
    let (pid, _, words) = all.iter().find(is_shell).expect("a shell");
    let below = all.iter().filter(|(_, _, of)| of[0] == i64::from(*pid)).map(|(pid, ..)| *pid).collect();
    (*pid, u64::try_from(words[18]).expect("ticks"), below)
}

#[test]
fn a_process_ends_with_what_it_started_and_its_shell_stays() {
    for hierarchy in [Hierarchy::Unified, Hierarchy::Freezer, Hierarchy::Memory] {
        for (trap, expected) in [("", Outcome::Gone), ("trap '' TERM; ", Outcome::Done)] {
            let Some(app) = App::new(hierarchy) else { continue };
            let mut shell = app.run(&format!("exec 4<&0; sh -c \"{trap}sleep 1000 & echo here; wait\" & cat <&4"));
            let (pid, start_ticks, below) = shell_below(shell.child.id(), &app.group);
            assert_eq!(below.len(), 1, "{hierarchy:?}");
            let end = |start_ticks| Once::EndProcess { group: app.key.clone(), pid, start_ticks, grace_ms: 5_000 };
            let mut actuator = app.actuator();
            // A later process of that number is another one.
            assert_eq!(outcome(&mut actuator, &end(start_ticks + 1)), Outcome::Gone);
            assert_eq!(outcome(&mut actuator, &end(start_ticks)), Outcome::Done);
            let runs =
                |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
            let ended = match expected {
                Outcome::Gone => loop {
                    match actuator.advance(1) {
                        ended if ended.is_empty() => std::thread::yield_now(),
                        ended => break ended,
                    }
                },
                _ => {
                    assert_eq!(actuator.advance(4_999_999_999), []);
                    assert!(runs(pid) && runs(below[0]));
                    actuator.advance(5_000_000_000)
                }
            };
            assert_eq!(ended.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>(), [&expected]);
            while runs(pid) || runs(below[0]) {
                std::thread::yield_now();
            }
            // The shell and its other child.
            assert!(shell.child.try_wait().expect("a child").is_none(), "{hierarchy:?}");
            let procs = fs::read_to_string(app.group.join("cgroup.procs")).expect("the group");
            assert!(procs.lines().any(|pid| pid == shell.child.id().to_string()), "{procs}");
        }
    }
}
