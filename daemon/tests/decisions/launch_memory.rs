//! A launch that does not fit into the memory of its group, in a running daemon with the memory engine: an app in the
//! background ends before the kernel's killer ends any.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use brisk_api::Status;
use brisk_core::action::Once;
use rustix::process::Signal;
use serde_json::Value;

use super::launches::group;
use super::memory::{CONFIG, Limited};
use crate::harness::{App, Briskd, place, turn};

/// Memory of the group and of each app. Four fit, five do not.
const LIMIT_MIB: u64 = 128;
const APP_MIB: u64 = 30;
/// As fast as an app grows that reads its files from flash: half a second of its launch is left when the app before has
/// ended.
const MIB_PER_S: u64 = 50;

/// An app that grows once its input ends. Without `grace_ms` SIGTERM ends it at once, otherwise after that time.
fn grows(grace_ms: Option<u64>) -> Command {
    let tests = std::env::current_exe().expect("this program");
    let mut program = Command::new(tests.ancestors().nth(2).expect("a target directory").join("examples/grows"));
    program.args([APP_MIB, MIB_PER_S].into_iter().chain(grace_ms).map(|number| number.to_string()));
    program
}

/// Launches five apps one after the other: one of the first three ends for the last, by the signal that such an app
/// ends by.
fn launch_five(kind: &str, grace_ms: Option<u64>) {
    // Half a second is not measured beside tests that write.
    let _turn = turn();
    let Some(limited) = Limited::new(kind, LIMIT_MIB) else { return };
    let top = limited.0.to_str().expect("UTF-8").to_owned();
    let daemon = Briskd::start(place(&[], CONFIG), &["--memory-group", &top]);
    let mut apps: Vec<(String, String, App)> = Vec::new();
    for nth in 1..=5 {
        let id = format!("{kind}{nth}");
        let (path, name) = group(&id).expect("root");
        let mut app = App::with(&path, &mut grows(grace_ms)).expect("root");
        // In this order, as apps of a phone do.
        app.begin();
        limited.take(&app, &id);
        app.go();
        let is_launching = |status: &Status, wanted: bool| {
            status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &name) && app.launching == wanted)
        };
        daemon.status_when(|status| is_launching(status, true));
        let pid = [("pid", Value::from(app.pid()))];
        let _: Value = daemon.client().call("SetFront", &pid, "group").expect("root may tell");
        daemon.status_when(|status| is_launching(status, false));
        apps.push((id, name, app));
    }
    let status = daemon.status();
    let asked: BTreeSet<&str> = status
        .actions
        .iter()
        .filter(|action| matches!(action.resolved.what, Once::EndApp { .. }))
        .map(|action| brisk_core::group::name(action.resolved.what.group()))
        .collect();
    let killed = apps.iter().filter(|(id, ..)| limited.oom_kills(id) > 0).map(|(id, ..)| id.as_str());
    assert_eq!(killed.collect::<Vec<_>>(), Vec::<&str>::new(), "by the kernel; asked to end: {asked:?}");
    let ended = apps.iter_mut().filter_map(|(_, name, app)| Some((name.as_str(), app.exited()?.signal())));
    let ended: Vec<(&str, Option<i32>)> = ended.collect();
    assert_eq!(ended.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), asked);
    let signal = if grace_ms.is_none() { Signal::TERM } else { Signal::KILL };
    assert_eq!(ended.iter().map(|(_, by)| *by).collect::<Vec<_>>(), [Some(signal.as_raw())], "{ended:?}");
    // Neither the launch nor the app before it.
    assert!(asked.iter().all(|name| apps[..3].iter().any(|(_, of, _)| of == name)), "{asked:?}");
    assert!(daemon.end(Signal::TERM).0.success());
}

#[test]
fn an_app_ends_for_a_launch_that_does_not_fit_before_the_kernel_ends_any() {
    launch_five("prompt", None);
}

#[test]
fn an_app_that_is_slow_to_end_is_killed_before_a_launch_runs_out() {
    launch_five("slow", Some(60_000));
}
