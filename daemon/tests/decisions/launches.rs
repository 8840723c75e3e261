//! Launches on a loop device, idle and during writes. Programs read and write it directly, so that each request reaches
//! it.

use std::path::PathBuf;
use std::process::Command;

use brisk_api::{Happening, Status};

use crate::harness::{App, Briskd, Loop, place, turn};

/// Dirty pages of other programs of the machine are none of a test's business.
const CONFIG: &str = "[engines]\norder = [\"smartio\"]\ntrial = false\n[smartio]\ndirty_min_mib = 0\n";

/// The group of an app, and its name.
pub(super) fn group(id: &str) -> Option<(PathBuf, String)> {
    brisk_requires::available(&[brisk_requires::Capability::Groups])?;
    let v2 = brisk_sense::Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    let name = format!("app-{}-{}.scope", id.replace('-', "\\x2d"), std::process::id());
    Some((v2.mount_point.join(&name), name))
}

/// A shell that waits for the end of its input, and then repeats a command with the device's node as `$0`.
fn repeated(device: &Loop, command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        &format!("read -r line; while :; do {command} 2>/dev/null; done"),
        &format!("/dev/{}", device.name()),
    ]);
    shell
}

const READ: &str = "dd if=$0 of=/dev/null bs=4k count=500 iflag=direct";
const WRITE: &str = "dd if=/dev/zero of=$0 bs=4k count=500 oflag=direct conv=notrunc";

/// Background writes to the device, which has completed some when this returns.
fn writer(device: &Loop) -> Option<App> {
    let (app, _) = group("x")?;
    let group = app.with_file_name(format!("daemon-test-writer-{}", std::process::id()));
    let mut writer = App::with(&group, &mut repeated(device, WRITE))?;
    let sense = brisk_sense::Sense::default();
    let written = || sense.disk_stats_of(device.name()).expect("readable").expect("there").write.requests;
    writer.begin();
    let before = written();
    writer.go();
    brisk_requires::until("500 writes", || written() >= before + 500);
    Some(writer)
}

fn priority(status: &Status, group: &str) -> Option<String> {
    let knob = format!("io_priority/{group}");
    let setting = status.settings.iter().find(|setting| setting.knob().to_string() == knob)?;
    setting.is_in_force().then(|| setting.resolved.reason.rule.to_string())
}

/// Whether a decision is for the test's app: other apps of the machine may be launched meanwhile.
fn concerns(text: &str, app: &str) -> bool {
    text.contains(&format!("app-{}", app.replace('-', "\\x2d"))) || text.contains(&format!("app {app}"))
}

/// Settings that were changed for an app until its launch ended.
fn changed_until_launch_ends(daemon: &Briskd, app: &mut App, id: &str, name: &str) -> Vec<String> {
    let mut changed = Vec::new();
    let mut begun = false;
    daemon
        .monitor(|happening: Happening| {
            if !begun {
                // The first is that it listens.
                app.begin();
                app.go();
                begun = true;
            }
            if happening.kind == "setting" && concerns(&happening.text, id) {
                changed.push(happening.text.clone());
            }
            !happening.text.contains(&format!("launch of {name} ended"))
        })
        .expect("events");
    changed
}

#[test]
fn an_idle_launch_changes_no_setting() {
    const ID: &str = "daemon-test-idle";
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let daemon = Briskd::start(place(&[device.name()], CONFIG), &[]);
    let Some((dir, name)) = group(ID) else { return };
    let reads = format!("read -r line; {READ} 2>/dev/null; exec sleep 600");
    let Some(mut app) = App::with(&dir, Command::new("sh").args(["-c", &reads, &format!("/dev/{}", device.name())]))
    else {
        return;
    };
    let changed = changed_until_launch_ends(&daemon, &mut app, ID, &name);
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn a_launch_on_another_disk_holds_no_settings_of_a_managed_one() {
    const ID: &str = "daemon-test-elsewhere";
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let daemon = Briskd::start(place(&[device.name()], CONFIG), &[]);
    let Some(_writer) = writer(&device) else { return };
    // Its program and its files are on the disk of the system.
    let Some((dir, name)) = group(ID) else { return };
    let Some(mut app) = App::new(&dir) else { return };
    let changed = changed_until_launch_ends(&daemon, &mut app, ID, &name);
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn an_app_that_only_writes_is_not_waited_for() {
    const ID: &str = "daemon-test-writers";
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let daemon = Briskd::start(place(&[device.name()], CONFIG), &[]);
    let Some((dir, _)) = group(ID) else { return };
    let four = format!("for n in 1 2 3; do (while :; do {WRITE}; done) & done; {WRITE}");
    let Some(mut app) = App::with(&dir, &mut repeated(&device, &four)) else { return };
    app.begin();
    // Engines have seen its beginning, before it does anything.
    let listed = daemon.status_when(|status| status.counts.launches > 0);
    daemon.client().answer("Reload", &[]).expect("usable");
    daemon.status_when(|status| status.counts.rounds > listed.counts.rounds);
    app.go();
    let before = daemon.status();
    // Longer than the first samples of a launch, and than the time in which it counts as reading.
    daemon.status_when(|status| {
        let held = status.settings.iter().filter(|setting| setting.is_in_force());
        let held = held.map(|setting| format!("{}: {}", setting.knob(), setting.resolved.reason));
        let held: Vec<String> = held.filter(|text| concerns(text, ID)).collect();
        assert!(held.is_empty(), "{held:?}: {status:#?}");
        status.at_unix_ms > before.at_unix_ms + 3_000
    });
    let rates = brisk_sense::Sense::default().disk_stats_of(device.name()).expect("readable").expect("there");
    assert!(rates.write.requests > 1_000, "the writers wrote: {rates:?}");
}

#[test]
fn a_launch_that_meets_writes_is_protected_while_it_lasts() {
    brisk_requires::requires!(Nice);
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let daemon = Briskd::start(place(&[device.name()], CONFIG), &[]);
    let Some((dir, name)) = group("daemon-test-meets") else { return };
    let Some(mut app) = App::with(&dir, &mut repeated(&device, READ)) else { return };
    app.begin();
    app.go();
    let begun = daemon.status_when(|status| status.counts.launches > 0);
    assert_eq!(priority(&begun, &name), None);
    let Some(_writer) = writer(&device) else { return };
    let status = daemon.status_when(|status| priority(status, &name).is_some());
    let launching =
        status.apps.iter().find(|app| brisk_core::group::is_meant(&app.group, &name)).expect("it runs").launching;
    assert!(launching, "it waits for storage all the time, so only the end of the launch's longest time ends it");
    daemon.status_when(|status| priority(status, &name).as_deref() == Some("foreground_waits"));
}

#[test]
fn a_launch_during_writes_is_raised_when_it_begins() {
    brisk_requires::requires!(Nice);
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let daemon = Briskd::start(place(&[device.name()], CONFIG), &[]);
    let Some(_writer) = writer(&device) else { return };
    let Some((dir, name)) = group("daemon-test-during") else { return };
    let Some(mut app) = App::with(&dir, &mut repeated(&device, READ)) else { return };
    let mut texts = Vec::new();
    let mut begun = false;
    daemon
        .monitor(|happening: Happening| {
            if !begun {
                // It has the device open when it joins its group.
                app.go();
                app.begin();
                begun = true;
            }
            texts.push(happening.text.clone());
            !(happening.kind == "setting"
                && happening.text.starts_with(&format!("io_priority/{name} is best-effort 0")))
        })
        .expect("events");
    let round = |text: &str| texts.iter().position(|one| one.contains(text));
    assert!(round("is being launched") < round("best-effort 0"), "{texts:#?}");
}
