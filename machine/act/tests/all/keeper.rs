//! The keeper on this machine's kernel: who thaws what is frozen when brisk, its keeper or both are killed. Needs root.

use crate::apps;
use crate::kills;

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::time::Duration;

use apps::{App, Hierarchy, Process};
use brisk_act::{Actuator, Keeper, Paths, Sensed, Tended};
use brisk_core::action::Once;
use brisk_core::outcome::Outcome;
use brisk_requires::requires;

/// Names the group that a child freezes, and the directory of its journals.
const GROUP: &str = "BRISK_ACT_KEEPER_GROUP";
const RUN_DIR: &str = "BRISK_ACT_KEEPER_RUN_DIR";

/// A guard against hanging, no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts in the length of its third file.
const COUNTS: &str = "echo here; while :; do echo; done >&3";

/// This program, as the test of that name alone.
fn this(test: &str) -> Vec<OsString> {
    let program = std::env::current_exe().expect("this program").into_os_string();
    [program].into_iter().chain(["--exact", test, "--ignored", "--nocapture"].map(OsString::from)).collect()
}

fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn keeper() -> Keeper {
    Keeper::new(this("keeper::child_that_keeps"))
}

fn outcome(actuator: &mut Actuator, once: &Once) -> Outcome {
    let app = apps::idle(once.group());
    actuator.perform(once, &Sensed { app: Some(&app), killers: &[] }, 0)
}

#[test]
#[ignore = "is started by others with a socket as its input"]
fn child_that_keeps() {
    if rustix::net::sockopt::socket_type(std::io::stdin()).is_ok() {
        let _ = brisk_act::keep();
    }
}

#[test]
#[ignore = "is killed by another test"]
fn child_that_freezes_and_thaws() {
    kills::control(this("keeper::child_that_keeps"));
}

#[test]
#[ignore = "is killed by another test"]
fn child_that_freezes() {
    let (Ok(group), Some(run_dir)) = (std::env::var(GROUP), std::env::var_os(RUN_DIR)) else { return };
    let mut actuator =
        Actuator::new(&Paths::with_run_dir(run_dir), "briskd", false).expect("a journal").guarded_by(keeper());
    assert_eq!(outcome(&mut actuator, &Once::Freeze { group }), Outcome::Done);
    println!("frozen");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn what_a_killed_brisk_froze_is_thawed_by_the_keeper() {
    for hierarchy in [Hierarchy::Unified, Hierarchy::Freezer] {
        let Some(app) = App::new(hierarchy) else { continue };
        let _process = app.run(COUNTS);
        let run_dir = app.paths().journal.parent().expect("a directory").to_owned();
        let mut brisk =
            Process::start(command(&this("keeper::child_that_freezes")).env(GROUP, &app.key).env(RUN_DIR, run_dir));
        brisk.wait_for("frozen");
        app.is_frozen(hierarchy);
        brisk.child.kill().expect("it runs");
        assert_eq!(brisk.ended_by(), Some(libc::SIGKILL));
        // By the keeper, since no other process reads the journal.
        app.counts_on();
        assert_eq!(app.journals(), 1);
    }
}

#[test]
fn a_killed_keeper_is_replaced_and_the_next_thaws() {
    let Some(app) = App::new(Hierarchy::Unified) else { return };
    let _process = app.run(COUNTS);
    let mut actuator = app.actuator().guarded_by(keeper());
    assert_eq!(outcome(&mut actuator, &app.freeze()), Outcome::Done);
    app.is_frozen(Hierarchy::Unified);
    let first = actuator.keeper().and_then(Keeper::pid).expect("it runs");
    assert_eq!(actuator.tend_keeper(), None);
    kills::kill_pid(first);
    assert!(kills::is_readable(&actuator.keeper().and_then(Keeper::pidfd).expect("held"), PATIENCE));
    let Some(Tended::Replaced { pid, groups: 1 }) = actuator.tend_keeper() else { panic!("it has died") };
    assert_ne!(pid, first);
    // Not thawed in between.
    app.is_frozen(Hierarchy::Unified);
    assert_eq!((actuator.tend_keeper(), actuator.keeper().and_then(Keeper::pid)), (None, Some(pid)));
    assert_eq!(outcome(&mut actuator, &Once::Thaw { group: app.key.clone() }), Outcome::Done);
    app.counts_on();
}

#[test]
fn what_no_keeper_holds_any_more_is_thawed() {
    let Some(app) = App::new(Hierarchy::Unified) else { return };
    let _process = app.run(COUNTS);
    let program = app.dir.path().join("keeper");
    let this = this("keeper::child_that_keeps");
    std::os::unix::fs::symlink(&this[0], &program).expect("a link");
    let words = std::iter::once(program.clone().into_os_string()).chain(this[1..].iter().cloned());
    let mut actuator = app.actuator().guarded_by(Keeper::new(words));
    assert_eq!(outcome(&mut actuator, &app.freeze()), Outcome::Done);
    fs::remove_file(&program).expect("removed");
    kills::kill_pid(actuator.keeper().and_then(Keeper::pid).expect("it runs"));
    assert!(kills::is_readable(&actuator.keeper().and_then(Keeper::pidfd).expect("held"), PATIENCE));
    let Some(Tended::Thawed { groups, why }) = actuator.tend_keeper() else { panic!("there is no other one") };
    assert_eq!(groups, [app.key.as_str()]);
    assert!(why.contains("cannot start one"), "{why}");
    app.counts_on();
    assert_eq!((app.journals(), actuator.tend_keeper()), (0, None));
    // Nor is anything else frozen.
    assert!(matches!(outcome(&mut actuator, &app.freeze()), Outcome::Refused { .. }));
    app.counts_on();
}

#[test]
fn without_a_keeper_nothing_is_frozen() {
    let Some(app) = App::new(Hierarchy::Unified) else { return };
    let _process = app.run(COUNTS);
    // One that is not there, and one that ends without a word.
    for program in ["/nonexistent/keeper", "true"] {
        let mut actuator = app.actuator().guarded_by(Keeper::new([OsString::from(program)]));
        let Outcome::Refused { why } = outcome(&mut actuator, &app.freeze()) else { panic!("{program} is no keeper") };
        assert!(why.starts_with("nothing is frozen without a process that thaws it"), "{why}");
        app.counts_on();
        assert_eq!(app.journals(), 0);
    }
}

#[test]
fn the_keeper_ends_with_brisk_and_after_a_thaw_holds_nothing() {
    let Some(app) = App::new(Hierarchy::Unified) else { return };
    let _process = app.run(COUNTS);
    let mut actuator = app.actuator().guarded_by(keeper());
    assert_eq!(outcome(&mut actuator, &app.freeze()), Outcome::Done);
    assert_eq!(outcome(&mut actuator, &Once::Thaw { group: app.key.clone() }), Outcome::Done);
    // Frozen externally from here on: not brisk's to thaw.
    fs::write(app.group.join("cgroup.freeze"), "1").expect("frozen");
    app.is_frozen(Hierarchy::Unified);
    assert!(matches!(outcome(&mut actuator, &app.freeze()), Outcome::Unchanged | Outcome::Left { .. }));
    let pid = actuator.keeper().and_then(Keeper::pid).expect("it runs");
    drop(actuator);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "the keeper is left");
    app.is_frozen(Hierarchy::Unified);
}

#[test]
fn kills_at_any_moment_leave_nothing_frozen() {
    requires!(Groups);
    let hierarchies = kills::hierarchies();
    let words = this("keeper::child_that_freezes_and_thaws");
    let tally = kills::run(20, 7, &|| command(&words), &hierarchies);
    assert_eq!((tally.left_frozen, tally.silent), (0, 0), "{tally:?}");
    assert!(tally.of_brisk > 0 && tally.of_keeper > 0 && tally.of_both > 0, "{tally:?}");
}
