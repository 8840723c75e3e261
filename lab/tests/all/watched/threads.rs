//! Threads: computing, sleeping, being born, moving, dying.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::Duration;

use brisk_lab::probes::{Kind, Options, Trace, Wait};

use crate::watched::order::check_order;
use crate::watched::role::{self, Player};
use crate::watched::scratch::{self, ScratchGroup};
use crate::watched::{call, group, in_most_runs, of, start, tid, watch};

#[test]
fn a_thread_that_computes_is_running() {
    let Some(group) = group() else { return };
    let (recording, runs) = watch(&group, "burns", "", || ());
    in_most_runs(&runs, |facts| {
        let (mut running_ns, mut since_ns) = (0, None);
        for event in of(&recording.events, tid(facts, "tid")) {
            match event.kind {
                Kind::Running => since_ns = Some(event.at_ns),
                Kind::Waiting(_) | Kind::Runnable | Kind::Died => {
                    running_ns += since_ns.take().map_or(0, |since_ns| event.at_ns - since_ns);
                }
                _ => {}
            }
        }
        // It runs a little before and after it reads its own clock; the clock of threads may leave out interrupts.
        let cpu_ns = facts["cpu_ns"];
        assert!(running_ns > cpu_ns - cpu_ns / 10, "{running_ns} ns seen, {cpu_ns} ns of its own clock");
    });
}

#[test]
fn a_thread_that_sleeps_waits_in_that_call() {
    let Some(group) = group() else { return };
    let (recording, runs) = watch(&group, "sleeps", "", || ());
    in_most_runs(&runs, |facts| {
        let own = of(&recording.events, tid(facts, "tid"));
        let asleep = Wait { io: false, uninterruptible: false, system_call: call(libc::SYS_clock_nanosleep) };
        let at = own.iter().position(|event| event.kind == Kind::Waiting(asleep)).expect("it slept");
        assert_eq!(own[at + 1].kind, Kind::Runnable);
        assert!(own[at + 1].at_ns - own[at].at_ns >= 29_000_000, "{:?}", &own[at..=at + 1]);
    });
}

#[test]
fn threads_and_programs_are_born_named_and_die() {
    let Some(group) = group() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join(OsStr::from_bytes(role::ODD_NAME));
    // Copied by another process: while one of this process writes a program, a fork of it may keep it from being run.
    let status = Command::new("cp").arg("/bin/true").arg(&program).status().unwrap();
    assert!(status.success());
    let (recording, runs) = watch(&group, "has offspring", folder.path(), || ());
    in_most_runs(&runs, |facts| {
        let (own, thread, process) = (tid(facts, "tid"), tid(facts, "thread"), tid(facts, "process"));
        let born = |tid| of(&recording.events, tid)[0].kind.clone();
        let Kind::Born { pid, parent_tid } = born(thread) else { panic!("{:?}", born(thread)) };
        assert_eq!(parent_tid, own);
        assert_ne!(pid, thread);
        assert_eq!(born(process), Kind::Born { pid: process, parent_tid: own });
        let exec = Kind::Exec { name: role::ODD_NAME[..15].to_vec() };
        assert_eq!(of(&recording.events, process).iter().filter(|event| event.kind == exec).count(), 1);
        for tid in [own, thread, process] {
            assert_eq!(of(&recording.events, tid).last().unwrap().kind, Kind::Died);
        }
        assert_eq!(recording.names[&own], b"\xfe\n");
        assert_eq!(recording.names[&thread], b"a thread");
        assert_eq!(recording.names[&process], &role::ODD_NAME[..15]);
    });
}

#[test]
fn a_process_that_comes_and_goes_is_watched_while_it_is_there() {
    let Some(group) = group() else { return };
    let outside = scratch::mounted().and_then(|root| ScratchGroup::below(&root)).unwrap();
    let trace = start(&group);
    let mut player = Player::start(None, "waits for the end of its input", OsStr::new(""));
    let pid = player.child.id();
    let put = |group: &ScratchGroup| fs::write(group.path().join("cgroup.procs"), pid.to_string()).unwrap();
    assert_eq!(trace.activity().threads, 0);
    put(&group);
    assert!(trace.activity().threads > 0);
    put(&outside);
    assert_eq!(trace.activity().threads, 0);
    drop(player.child.stdin.take());
    player.facts();
    let recording = trace.stop();
    let own = of(&recording.events, pid);
    assert!(matches!(own[0].kind, Kind::Born { .. }), "{own:?}");
    assert_eq!(own.last().unwrap().kind, Kind::Died);
}

#[test]
fn groups_below_are_watched_and_others_are_not() {
    let Some(group) = group() else { return };
    let outside = scratch::mounted().and_then(|root| ScratchGroup::below(&root)).unwrap();
    let below = ScratchGroup::below(group.path()).unwrap();
    let far_below = ScratchGroup::below(below.path()).unwrap();
    let trace = start(&group);
    let inside = tid(&Player::start(Some(&far_below), "sleeps", OsStr::new("")).facts(), "tid");
    let not_inside = tid(&Player::start(Some(&outside), "sleeps", OsStr::new("")).facts(), "tid");
    let recording = trace.stop();
    assert!(!of(&recording.events, inside).is_empty());
    assert!(of(&recording.events, not_inside).is_empty());
    drop((far_below, below));
}

#[test]
fn a_thousand_short_processes_are_all_seen() {
    let Some(group) = group() else { return };
    let trace = start(&group);
    let script = "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done";
    assert!(group.command("sh").unwrap().args(["-c", script]).status().unwrap().success());
    let recording = trace.stop();
    assert_eq!(recording.lost, 0);
    check_order(&recording.events);
    let count = |wanted: fn(&Kind) -> bool| recording.events.iter().filter(|event| wanted(&event.kind)).count();
    assert_eq!(count(|kind| matches!(kind, Kind::Born { .. })), 1001);
    assert_eq!(count(|kind| matches!(kind, Kind::Exec { .. })), 1001);
    assert_eq!(count(|kind| matches!(kind, Kind::Died)), 1001);
}

#[test]
fn what_finds_no_place_is_counted() {
    let Some(group) = group() else { return };
    let small = Options { ring_bytes: 64 << 10, interval: Duration::from_secs(3600), ..Options::default() };
    let trace = Trace::start(group.path(), &small).unwrap();
    let script = "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done";
    assert!(group.command("sh").unwrap().args(["-c", script]).status().unwrap().success());
    let activity = trace.activity();
    let recording = trace.stop();
    assert!(activity.lost > 1000, "{activity:?}");
    assert!(recording.lost >= activity.lost);
    assert!(!recording.events.is_empty());
}
