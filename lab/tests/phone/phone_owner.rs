//! Phones and processes whose owner is killed: what ends with it, and what the next command clears up. Needs root,
//! FUSE, loop devices and control groups.

use crate::lab_guard;
use crate::phone_bench;

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;

use brisk_bench::stream_process::StreamProcess;
use brisk_lab::phone::{Companion, NewPhone, Phones, WriterSpec};
use brisk_lab::screen::VirtualX;
use brisk_requires::{Capability, available};
use lab_guard::eventually;
use phone_bench::Bench;
use serde_json::Value;

/// Set for this test program when it is to own a phone until it is killed.
const OWNER: &str = "BRISK_TEST_OWNER";
/// Set for this test program when it is to be the daemon whose folder is named.
const DAEMON: &str = "BRISK_TEST_DAEMON";

#[test]
fn a_phone_whose_maker_is_killed_is_cleared_up() {
    let Some(bench) = Bench::new() else { return };
    let state = |part: &str| {
        let path = bench.lab.dir().join("phone/1/state.json");
        fs::read_to_string(path).is_ok_and(|text| text.contains(part))
    };
    let moments: [(&str, &dyn Fn() -> bool); 3] = [
        ("its state is written", &|| state("\"mark\"")),
        ("its device is there", &|| state("\"/dev/")),
        ("its root is mounted", &|| bench.lab.mounts().iter().any(|line| line.contains("/phone/1/root"))),
    ];
    for (moment, has_come) in moments {
        let mut maker = bench
            .lab
            .command(&["phone", "up", "--image", bench.image(), "--size", "256M"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("brisk starts");
        eventually(moment, has_come);
        maker.kill().expect("killed");
        maker.wait().expect("ended");
        // It may have come up in the last moment.
        bench.lab.brisk(&["phone", "repair"]);
        bench.lab.brisk(&["phone", "down", "--all"]);
        // A server that was being set up goes by itself.
        eventually("its flash goes", || bench.lab.carriers().is_empty());
        bench.lab.brisk(&["down", "--all"]);
        bench.nothing_is_left();
    }
}

#[test]
#[ignore = "owns a phone until another test kills it"]
fn owner_that_is_killed() {
    let dir = std::env::var(OWNER).expect("set by the test that starts this");
    let mut new: NewPhone = Bench::new().expect("it was possible a moment ago").new_phone(false);
    let (dir, own) = (PathBuf::from(dir), new.server[3].clone());
    for word in new.server.iter_mut().chain(&mut new.take_down) {
        *word = word.replace(&own, dir.to_str().expect("UTF-8"));
    }
    new.image = dir.join("image");
    let phone = Phones::new(&dir).up(&new, &AtomicBool::new(false), &mut |_: &str| {}).expect("a phone");
    let phone = phone.0;
    let Some(folder) = std::env::var_os(DAEMON) else {
        println!("\nup {}", phone.id());
        let _ = std::io::stdin().read(&mut [0]);
        return;
    };
    let device = phone.device().expect("a device").file_name().expect("a name").to_string_lossy().into_owned();
    write_configuration(Path::new(&folder), &device);
    let words = |program: &str, words: &[&str]| -> Vec<OsString> {
        std::iter::once(program).chain(words.iter().copied()).map(OsString::from).collect()
    };
    let this = std::env::current_exe().expect("this program");
    let daemon =
        words(&this.to_string_lossy(), &["--ignored", "--exact", "phone_owner::daemon_that_is_left", "--nocapture"]);
    let daemon = Companion::start(&daemon, phone.state_dir().join("notify")).expect("the daemon is ready");
    let brisk = env!("CARGO_BIN_EXE_brisk-lab");
    let spec = WriterSpec { target_bytes_per_s: 2e6, ..WriterSpec::default() };
    let writer = phone.start_writer(&words(brisk, &["lab", "phone", "write"]), &spec).expect("it starts");
    let reader = StreamProcess::start(&words(brisk, &["lab", "stream-process"])).expect("it starts");
    let screen = VirtualX::start_as_phone((640, 480), 24).expect("a screen");
    let manager = screen.manager_pid().expect("a window manager");
    println!("\nup 1 {} {} {} {} {manager}", daemon.pid(), writer.pid(), reader.pid(), screen.pid());
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn a_phone_that_belongs_to_a_process_goes_with_it() {
    let Some(bench) = Bench::new() else { return };
    drop(bench.phone());
    bench.nothing_is_left();

    let (mut owner, _) = owner_of_a_phone(&bench, false);
    assert_eq!(bench.lab.json(&["phone", "list"])[0]["trouble"], Value::Null);
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    let trouble = bench.lab.json(&["phone", "list"])[0]["trouble"].clone();
    assert_eq!(trouble, "the process that owned it was killed");
    bench.lab.brisk(&["phone", "repair"]);
    bench.nothing_is_left();
}

/// Brings up a phone in a process of its own, which waits for its end; with `more` it starts what a proof starts. Gives
/// the processes that it started.
fn owner_of_a_phone(bench: &Bench, more: bool) -> (Child, Vec<u32>) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--ignored", "--exact", "phone_owner::owner_that_is_killed", "--nocapture"])
        .env(OWNER, bench.lab.dir());
    if more {
        command.env(DAEMON, bench.lab.dir().join("phone/1"));
    }
    let mut owner = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(owner.stdout.take().expect("a pipe")).lines().map_while(|line| line.ok());
    let _limit = brisk_requires::killed_late(owner.id(), "a phone of the owner");
    let up = lines.find_map(|line| line.strip_prefix("up 1").map(str::to_owned)).expect("the owner brings up a phone");
    (owner, up.split_whitespace().map(|pid| pid.parse().expect("a process id")).collect())
}

#[test]
fn all_that_a_killed_proof_has_started_ends_with_it() {
    let Some(bench) = Bench::new() else { return };
    if available(&["Xvfb", "matchbox-window-manager"].map(Capability::Program)).is_none() {
        return;
    }
    let (mut owner, pids) = owner_of_a_phone(&bench, true);
    let alive = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(pids.len() == 5 && pids.iter().all(alive), "daemon, writer, reader, screen, window manager: {pids:?}");
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    eventually("all processes end", || !pids.iter().any(alive));
    bench.lab.brisk(&["phone", "repair"]);
    bench.nothing_is_left();
}

/// The configuration of a daemon whose folder is `place`: it changes a setting of the device `name`.
fn write_configuration(place: &Path, name: &str) {
    let config = format!(
        "[daemon]\ndevices = [{name:?}]\nsocket_group = \"\"\nrecord = {{ path = {:?} }}\n\
         [engines]\norder = []\n[fixed]\n\"queue/{name}/read_ahead_kb\" = \"256\"\n",
        place.join("daemon.brisk")
    );
    fs::write(place.join("brisk.toml"), config).expect("written");
}

#[test]
#[ignore = "runs the daemon until another test ends it"]
fn daemon_that_is_left() {
    let dir = PathBuf::from(std::env::var(DAEMON).expect("set by the test that starts this"));
    let options = brisk_daemon::daemon::Options {
        config_path: dir.join("brisk.toml"),
        or_default: false,
        run_dir: dir.join("daemon"),
        profiles_dir: dir.join("profiles"),
        learned_dir: dir.join("learned"),
        memory_group: None,
        dry_run: false,
        once: false,
        foreground: false,
    };
    brisk_daemon::daemon::Daemon::start(options).expect("it starts").run().expect("it restores its settings");
}

#[test]
fn repair_ends_a_daemon_that_a_killed_proof_left_and_restores_its_settings() {
    let Some(bench) = Bench::new() else { return };
    let (mut owner, _) = owner_of_a_phone(&bench, false);
    let device = bench.lab.json(&["phone", "list"])[0]["device"].as_str().expect("a device").to_owned();
    let name = device.trim_start_matches("/dev/");
    let queue = Path::new("/sys/block").join(name).join("queue");
    let place = bench.lab.dir().join("phone/1");
    write_configuration(&place, name);
    let mut daemon = Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "phone_owner::daemon_that_is_left", "--nocapture"])
        .env(DAEMON, &place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    eventually("the daemon changes a setting", || lab_guard::knob(&queue, "read_ahead_kb") == "256");
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    let repaired = bench.lab.command(&["phone", "repair"]).output().expect("brisk starts");
    let said = String::from_utf8_lossy(&repaired.stderr).into_owned();
    // Ended by now, before its end is waited for.
    let ended = daemon.try_wait().expect("readable");
    let _ = daemon.kill();
    daemon.wait().expect("ended");
    assert!(repaired.status.success() && ended.is_some(), "{said}");
    assert!(said.contains(&format!("briskd (process {}) still managed phone 1 and was ended", daemon.id())), "{said}");
    assert!(!said.contains("still uses files") && !said.contains("was left as it is"), "{said}");
    assert_ne!(lab_guard::knob_at_rest(&queue, "read_ahead_kb").as_deref(), Some("256"));
    bench.nothing_is_left();
}
