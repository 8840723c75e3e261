//! Faults of the running daemon on an unused loop device, and the settings that it leaves. Needs root; skipped with the
//! reason elsewhere.

use crate::harness;
use brisk_core::outcome::Outcome;
use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::Command;

use brisk_api::{ClientError, Happening, SOCKET, Status};
use brisk_daemon::replay::Replay;
use harness::{App, Briskd, Loop, PATIENCE, configure, place, run, turn};
use rustix::process::Signal;

/// Apps of others that are launched meanwhile are none of a test's business.
const NO_ENGINE: &str = "[engines]\norder = []\n";

fn fixed(device: &Loop, settings: &[(&str, &str)]) -> String {
    let line = |(setting, value): &(&str, &str)| format!("\"queue/{}/{setting}\" = \"{value}\"\n", device.name());
    let lines: String = settings.iter().map(line).collect();
    format!("[engines]\norder = []\n[fixed]\n{lines}")
}

/// A value that is not there yet.
fn other(device: &Loop) -> (String, &'static str) {
    let before = device.get("read_ahead_kb");
    let wanted = if before == "256" { "512" } else { "256" };
    (before, wanted)
}

#[test]
fn what_is_fixed_stands_and_everything_is_put_back_at_the_end() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (read_ahead, wanted) = other(&device);
    let scheduler = device.get("scheduler");
    let bfq = if scheduler == "mq-deadline" { "kyber" } else { "mq-deadline" };
    let rest = fixed(&device, &[("read_ahead_kb", wanted), ("scheduler", bfq)]);
    let daemon = Briskd::start(place(&[device.name()], &rest), &[]);
    assert_eq!((device.get("read_ahead_kb").as_str(), device.get("scheduler").as_str()), (wanted, bfq));
    let setting = daemon.setting(&format!("queue/{}/read_ahead_kb", device.name()));
    assert_eq!((setting.is_in_force(), setting.resolved.engine.as_str()), (true, "config"));
    assert_eq!(setting.original.as_deref(), Some(read_ahead.as_str()));
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success(), "{status}");
    assert_eq!((device.get("read_ahead_kb"), device.get("scheduler")), (read_ahead, scheduler));
    assert!(!dir.path().join("run").join(SOCKET).exists());
}

#[test]
fn a_device_that_goes_down_while_managed_gets_its_settings_back() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let before = (device.get("scheduler"), device.get("read_ahead_kb"));
    let (_, wanted) = other(&device);
    let scheduler = if before.0 == "mq-deadline" { "kyber" } else { "mq-deadline" };
    let rest = fixed(&device, &[("read_ahead_kb", wanted), ("scheduler", scheduler)]);
    let daemon = Briskd::start(place(&[device.name()], &rest), &[]);
    assert_eq!(device.get("scheduler"), scheduler);
    let node = format!("/dev/{}", device.name());
    assert!(Command::new("losetup").args(["--detach", &node]).status().expect("losetup runs").success());
    daemon.line(&format!("{} is not managed any more", device.name()));
    // The device is still there, and free for other uses.
    assert_eq!((device.get("scheduler"), device.get("read_ahead_kb")), before);
    assert!(daemon.end(Signal::TERM).0.success());
}

#[test]
fn what_a_killed_daemon_left_is_put_back_by_the_next() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (before, wanted) = other(&device);
    let daemon = Briskd::start(place(&[device.name()], &fixed(&device, &[("read_ahead_kb", wanted)])), &[]);
    let (_, dir) = daemon.end(Signal::KILL);
    assert_eq!(device.get("read_ahead_kb"), wanted);
    configure(dir.path(), &[device.name()], "[engines]\norder = []\n");
    let next = Briskd::start(dir, &[]);
    assert_eq!(device.get("read_ahead_kb"), before);
    next.line("restored 1 settings that a killed briskd had changed");
}

#[test]
fn a_second_daemon_is_refused_and_told_of_the_first() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let daemon = Briskd::start(place(&[device.name()], NO_ENGINE), &[]);
    let (status, said) = run(daemon.dir.path(), &[]);
    assert_eq!(status.code(), Some(2));
    assert!(said.contains(&format!("another briskd runs as process {}", daemon.pid())), "{said}");
    assert_eq!(daemon.status().pid, daemon.pid());
}

#[test]
fn a_bad_configuration_leaves_the_one_before() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (_, wanted) = other(&device);
    let daemon = Briskd::start(place(&[device.name()], &fixed(&device, &[("read_ahead_kb", wanted)])), &[]);
    configure(daemon.dir.path(), &[device.name()], "[fixt]\n");
    daemon.signal(Signal::HUP);
    let line = daemon.line("the current configuration stays");
    assert!(line.contains("brisk.toml:6:2: unknown field `fixt`") && line.contains("did you mean 'fixed'?"), "{line}");
    assert_eq!(device.get("read_ahead_kb"), wanted);
    let refused = daemon.client().answer("Reload", &[]).expect_err("not usable");
    assert!(matches!(&refused, ClientError::Refused { name, .. } if name == "BadConfig"), "{refused}");
    configure(daemon.dir.path(), &[device.name()], &fixed(&device, &[("read_ahead_kb", "1024")]));
    daemon.client().answer("Reload", &[]).expect("usable");
    daemon.status_when(|_| device.get("read_ahead_kb") == "1024");
}

#[test]
fn a_drop_in_file_goes_before_the_configuration_and_is_read_again_on_sighup() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (_, wanted) = other(&device);
    let daemon = Briskd::start(place(&[device.name()], &fixed(&device, &[("read_ahead_kb", wanted)])), &[]);
    let drop_in = |name: &str, text: &str| {
        let folder = daemon.dir.path().join("brisk.d");
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join(name), text).expect("written");
    };
    drop_in("10-first.toml", &fixed(&device, &[("read_ahead_kb", "512")]));
    drop_in("20-second.toml", &fixed(&device, &[("read_ahead_kb", "1024")]));
    daemon.signal(Signal::HUP);
    daemon.status_when(|_| device.get("read_ahead_kb") == "1024");
    drop_in("30-third.toml", "[daemon]\nsocket_grup = \"x\"\n");
    daemon.signal(Signal::HUP);
    let line = daemon.line("the current configuration stays");
    assert!(line.contains("brisk.d/30-third.toml:2:1: unknown field `socket_grup`"), "{line}");
    assert_eq!(device.get("read_ahead_kb"), "1024");
}

#[test]
fn an_external_change_is_left_until_the_configuration_is_read_again() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (_, wanted) = other(&device);
    let daemon = Briskd::start(place(&[device.name()], &fixed(&device, &[("read_ahead_kb", wanted)])), &[]);
    device.set("read_ahead_kb", "64");
    let knob = format!("queue/{}/read_ahead_kb", device.name());
    let status = daemon.status_when(|status| !status.changed_externally.is_empty());
    let changed = &status.changed_externally[0];
    assert_eq!((changed.knob.to_string(), changed.found.as_str()), (knob.clone(), "64"));
    let left = Outcome::Left { found: "64".to_owned() };
    let status = daemon.status_when(|status| status.settings.iter().all(|setting| setting.outcome == left));
    assert_eq!(status.counts.changed_externally, 1);
    assert_eq!(device.get("read_ahead_kb"), "64");
    daemon.client().answer("Reload", &[]).expect("usable");
    daemon.status_when(|status| status.settings.iter().all(|setting| setting.is_in_force()));
    assert_eq!(device.get("read_ahead_kb"), wanted);
    device.set("read_ahead_kb", "32");
    daemon.status_when(|status| !status.changed_externally.is_empty());
    let (status, _dir) = daemon.end(Signal::TERM);
    assert!(status.success());
    assert_eq!(device.get("read_ahead_kb"), "32");
}

#[test]
fn reset_gives_everything_back_until_the_configuration_is_read_again() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (before, wanted) = other(&device);
    let daemon = Briskd::start(place(&[device.name()], &fixed(&device, &[("read_ahead_kb", wanted)])), &[]);
    let answer = daemon.client().answer("Reset", &[]).expect("put back");
    assert_eq!(answer["restored"], serde_json::json!([format!("{}: read_ahead_kb", device.name())]));
    assert_eq!(device.get("read_ahead_kb"), before);
    let status = daemon.status();
    assert!(status.paused && status.settings.iter().all(|setting| setting.outcome == Outcome::Paused), "{status:?}");
    daemon.client().answer("Reload", &[]).expect("usable");
    daemon.status_when(|status| !status.paused && device.get("read_ahead_kb") == wanted);
}

#[test]
fn a_full_disk_stops_the_record_and_nothing_else() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (_, wanted) = other(&device);
    let full = tempfile::tempdir().expect("a directory");
    brisk_requires::requires!(Mount);
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "brisk-test"]).arg(full.path()).status();
    assert!(mounted.expect("mount runs").success());
    let dir = place(&[], "");
    let record = full.path().join("daemon.brisk");
    fs::write(full.path().join("ballast"), vec![1; 12 << 10]).expect("fits");
    let text = format!(
        "[daemon]\ndevices = [{:?}]\nsocket_group = \"\"\nrecord = {{ path = {record:?}, max_bytes = 1048576 }}\n{}",
        device.name(),
        fixed(&device, &[("read_ahead_kb", wanted)])
    );
    fs::write(dir.path().join("brisk.toml"), text).expect("written");
    let daemon = Briskd::start(dir, &[]);
    // Each of these is an event, a round and some bytes.
    let status = loop {
        daemon.client().answer("Reload", &[]).expect("usable");
        let status = daemon.status();
        if status.record.as_ref().is_some_and(|record| record.trouble.is_some()) {
            break status;
        }
    };
    let trouble = status.record.and_then(|record| record.trouble).expect("trouble");
    let outcome = (device.get("read_ahead_kb"), daemon.end(Signal::TERM).0);
    assert!(Command::new("umount").arg(full.path()).status().expect("umount").success());
    assert!(trouble.contains(&std::io::Error::from(rustix::io::Errno::NOSPC).to_string()), "{trouble}");
    assert_eq!(outcome.0, wanted);
    assert!(outcome.1.success());
}

#[test]
fn clients_that_stall_or_flood_do_not_delay_other_clients() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let daemon = Briskd::start(place(&[device.name()], NO_ENGINE), &[]);
    let socket = daemon.dir.path().join("run").join(SOCKET);
    let call = b"{\"method\":\"org.brisk.Daemon.GetStatus\"}\0";
    let flood = |stream: &mut UnixStream| {
        stream.set_nonblocking(true).expect("a socket");
        while stream.write(call).is_ok_and(|bytes| bytes > 0) {}
    };
    let mut stalled: Vec<UnixStream> = Vec::new();
    for _ in 0..6 {
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        flood(&mut stream);
        stalled.push(stream);
    }
    let before = daemon.status();
    let after = daemon.status_when(|status| status.at_unix_ms > before.at_unix_ms + 2000);
    for stream in &mut stalled {
        flood(stream);
    }
    let wake_ups = after.counts.wake_ups - before.counts.wake_ups;
    let seconds = (after.at_unix_ms - before.at_unix_ms) as f64 / 1000.0;
    assert!((wake_ups as f64) < 200.0 * seconds, "{wake_ups} wake-ups in {seconds} s");
    assert!(after.cost.rss_bytes < 64 << 20, "{} bytes", after.cost.rss_bytes);
}

#[test]
fn a_launch_is_seen_from_its_group() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    brisk_requires::requires!(Groups);
    let v2 = brisk_sense::Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    let daemon = Briskd::start(place(&[device.name()], NO_ENGINE), &[]);
    let dir = v2.mount_point.join(format!("app-daemon\\x2dtest-{}.scope", std::process::id()));
    let Some(mut app) = App::new(&dir) else { return };
    let mut received: Vec<String> = Vec::new();
    let name = dir.file_name().expect("a name").to_string_lossy().into_owned();
    let mut moved = false;
    daemon
        .monitor(|happening: Happening| {
            if !moved {
                // The first is that it listens.
                app.begin();
                moved = true;
            }
            if happening.kind == "event" && happening.text.contains(&name) {
                received.push(happening.text.clone());
            }
            if happening.text.starts_with("launch of") && received.len() == 2 {
                app.end();
            }
            received.len() < 3
        })
        .expect("events");
    let expected = [format!("{name} is being launched"), format!("launch of {name} ended"), format!("{name} ended")];
    assert_eq!(received, expected);
    // Apps of others may have been launched too.
    assert!(daemon.status().counts.launches >= 1);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (before, wanted) = other(&device);
    let dir = place(&[device.name()], &fixed(&device, &[("read_ahead_kb", wanted)]));
    let (status, said) = run(dir.path(), &["--dry-run", "--once"]);
    assert!(status.success(), "{said}");
    let line = format!("queue/{}/read_ahead_kb would be {wanted}, is {before}", device.name());
    assert!(said.contains(&line), "{said}");
    assert_eq!(device.get("read_ahead_kb"), before);
    assert!(!dir.path().join("run/journal").exists(), "a dry run keeps no journal");
}

#[test]
fn a_recorded_session_is_decided_again_as_it_was() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (_, wanted) = other(&device);
    let rest = format!(
        "[engines]\norder = [\"smartstorage\"]\ntrial = false\n[fixed]\n\"queue/{}/read_ahead_kb\" = {wanted}\n",
        device.name()
    );
    let daemon = Briskd::start(place(&[device.name()], &rest), &[]);
    let begun = std::time::Instant::now();
    while daemon.status().counts.rounds < 5 && begun.elapsed() < PATIENCE {
        daemon.client().answer("Reload", &[]).expect("usable");
    }
    let (_, dir) = daemon.end(Signal::TERM);
    let mut replay = Replay::new(None);
    let lost = brisk_record::read_with_older_part(&dir.path().join("daemon.brisk"), |item| {
        replay.take(item);
        Ok::<(), brisk_record::Error>(())
    })
    .expect("a record");
    let found = replay.end();
    assert!(!lost.is_damage() && lost.unknown_frames == 0, "{lost:?}");
    assert!(found.rounds >= 5 && found.sessions == 1, "{found:?}");
    assert_eq!((found.differing_rounds, found.complaints.len()), (0, 0), "{found:?}");
}

#[test]
fn a_device_that_goes_is_let_go() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let Some(gone) = Loop::new() else { return };
    let (_, wanted) = other(&device);
    let rest =
        fixed(&device, &[("read_ahead_kb", wanted)]) + &format!("\"queue/{}/read_ahead_kb\" = {wanted}\n", gone.name());
    let daemon = Briskd::start(place(&[device.name(), gone.name()], &rest), &[]);
    assert_eq!(daemon.status().devices.len(), 2);
    let name = gone.name().to_owned();
    drop(gone);
    // A loop device without its file stays, and is nothing to manage.
    let has = |status: &Status| status.settings.iter().any(|setting| setting.knob().to_string().contains(&name));
    daemon.status_when(|status| status.devices.len() == 1 && !has(status));
    let (status, _dir) = daemon.end(Signal::TERM);
    assert!(status.success(), "{status}");
}

#[test]
fn a_change_that_ends_at_the_same_value_is_no_external_change() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let (_, wanted) = other(&device);
    let daemon = Briskd::start(place(&[device.name()], &fixed(&device, &[("read_ahead_kb", wanted)])), &[]);
    let before = daemon.status();
    device.set("read_ahead_kb", "32");
    device.set("read_ahead_kb", wanted);
    let status = daemon.status_when(|status| status.at_unix_ms > before.at_unix_ms + 1000);
    assert_eq!((status.changed_externally.len(), status.settings[0].is_in_force()), (0, true));
}
