//! The commands around the daemon as people meet them, where no daemon runs: output and exit code.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use brisk_core::action::Setting;
use brisk_core::arbiter::{Resolved, Rule};
use brisk_core::device::Device;
use brisk_core::outcome::Outcome;
use brisk_core::reason::Reason;
use brisk_core::snapshot::Snapshot;
use brisk_core::state::SettingState;
use brisk_record::{Configuration, Decided, Scene, Session, Writer};
use serde_json::json;

fn brisk(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_brisk")).args(arguments).env("TZ", "UTC").output();
    command.expect("brisk runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_owned();
    (dir, path)
}

fn name(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A session in which the configuration fixed the read-ahead at 02:00, and nothing else was wanted.
fn session(path: &Path) {
    const START_MS: u64 = 1_795_312_800_000;
    let knob = "queue/sda/read_ahead_kb";
    let session = Session { started_unix_ms: START_MS, ..Session::default() };
    let mut writer = Writer::begin(path, session, None).expect("a record");
    let text = format!("[engines]\norder = []\n[fixed]\n\"{knob}\" = 256\n");
    writer.configuration(&Configuration { text, ..Configuration::default() }).expect("written");
    let originals = vec![("read_ahead_kb".to_owned(), "128".to_owned())];
    let device = Device { name: "sda".to_owned(), originals, ..Device::default() };
    writer.scene(&Scene { devices: vec![device], ..Scene::default() }).expect("written");
    for second in 0..5 {
        let wall_unix_ms = START_MS + second * 1000;
        let snapshot = Snapshot { at_ns: second * 1_000_000_000, wall_unix_ms, ..Snapshot::default() };
        writer.snapshot(&snapshot).expect("written");
        if second == 0 {
            let resolved = Resolved {
                what: Setting::new(knob.parse().expect("a knob"), "256"),
                engine: "config".to_owned(),
                rule: Rule::FixedChoice,
                reason: Reason::rule("fixed_choice"),
                over: Vec::new(),
            };
            let outcome = Outcome::Written { from: "128".to_owned(), to: "256".to_owned() };
            let decided = Decided {
                wall_unix_ms,
                settings: vec![SettingState { resolved, original: None, since_unix_ms: wall_unix_ms, outcome }],
                ..Decided::default()
            };
            writer.decided(&decided).expect("written");
        }
    }
}

#[test]
fn the_default_configuration_can_be_used_and_is_what_is_shown() {
    let (_dir, dir) = place();
    let default = brisk(&["config", "default"]);
    assert!(default.status.success());
    let file = dir.join("brisk.toml");
    std::fs::write(&file, &default.stdout).expect("written");
    let checked = brisk(&["config", "check", name(&file)]);
    assert_eq!(text(&checked.stdout), format!("{} can be used\n", file.display()));
    assert!(checked.status.success());
    let shown = brisk(&["config", "show", name(&file)]);
    let again = dir.join("again.toml");
    std::fs::write(&again, &shown.stdout).expect("written");
    assert_eq!(text(&brisk(&["config", "show", name(&again)]).stdout), text(&shown.stdout));
    // Defaults that the file repeats are not marked as its own.
    assert!(!text(&shown.stdout).contains("  # /"), "{}", text(&shown.stdout));
    assert!(text(&shown.stdout).contains("socket_group = \"brisk\""), "{}", text(&shown.stdout));
}

#[test]
fn a_bad_configuration_is_told_with_its_line_and_what_was_meant() {
    let (_dir, dir) = place();
    let file = dir.join("brisk.toml");
    std::fs::write(&file, "[daemon]\nsocket_grup = \"x\"\n").expect("written");
    let checked = brisk(&["config", "check", name(&file)]);
    let said = text(&checked.stderr);
    assert_eq!(checked.status.code(), Some(1));
    assert!(said.starts_with(&format!("brisk: {}:2:1: unknown field `socket_grup`", file.display())), "{said}");
    assert!(said.ends_with("did you mean 'socket_group'?\n"), "{said}");
    let missing = brisk(&["config", "check", name(&dir.join("none"))]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn drop_in_files_are_checked_and_shown_with_their_names() {
    let (_dir, dir) = place();
    let (file, folder) = (dir.join("brisk.toml"), dir.join("brisk.d"));
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(&file, "[apps.class]\n\"org.a\" = \"batch\"\n").expect("written");
    let drop_in = folder.join("50-kiosk.toml");
    std::fs::write(&drop_in, "[daemon]\nsocket_group = \"kiosk\"\n").expect("written");
    let checked = brisk(&["config", "check", name(&file)]);
    let expected = format!("{} can be used\n{} can be used\n", file.display(), drop_in.display());
    assert_eq!(text(&checked.stdout), expected, "{}", text(&checked.stderr));
    let shown = text(&brisk(&["config", "show", name(&file)]).stdout);
    for line in [
        format!("\"org.a\" = \"batch\"  # {}", file.display()),
        format!("socket_group = \"kiosk\"  # {}", drop_in.display()),
    ] {
        assert!(shown.lines().any(|one| one == line), "{line}: {shown}");
    }
    std::fs::write(&drop_in, "[bench]\nbudgit = \"1m\"\n").expect("written");
    let checked = brisk(&["config", "check", name(&file)]);
    let said = text(&checked.stderr);
    assert!(checked.status.code() == Some(1) && said.contains("50-kiosk.toml:2:1: unknown field `budgit`"), "{said}");
}

#[test]
fn an_app_is_protected_by_one_command() {
    let (_dir, dir) = place();
    let (file, run_dir) = (dir.join("brisk.toml"), dir.join("run"));
    std::fs::write(&file, "[apps]\nprotect = [\"org.a\"]\n").expect("written");
    let protect = |words: &[&str]| {
        let places = ["--config", name(&file), "--run-dir", name(&run_dir)];
        brisk(&[&["apps", "protect"], words, &places[..]].concat())
    };
    let said = protect(&["signal"]);
    assert_eq!(
        text(&said.stdout),
        "signal is protected from the next start of briskd on; no app of this id runs at present ('brisk apps')\n"
    );
    let drop_in = dir.join("brisk.d/80-apps.toml");
    let shown = text(&brisk(&["config", "show", name(&file)]).stdout);
    let line = format!("protect = [\"org.a\", \"signal\"]  # {}", drop_in.display());
    assert!(shown.lines().any(|one| one == line), "{shown}");
    assert_eq!(text(&protect(&["signal"]).stdout), "signal is protected already\n");
    // A later file would make it without effect: that is said, and nothing is left.
    let later = dir.join("brisk.d/90-mine.toml");
    std::fs::write(&later, "[apps]\nprotect = []\n").expect("written");
    let refused = protect(&["mpv"]);
    assert!(
        refused.status.code() == Some(2) && text(&refused.stderr).contains("90-mine.toml comes later"),
        "{refused:?}"
    );
    std::fs::remove_file(&later).expect("removed");
    assert!(text(&protect(&["signal", "--undo"]).stdout).starts_with("signal is not protected any more"));
    assert!(!drop_in.exists());
}

#[test]
fn a_configured_device_that_is_not_there_is_a_warning() {
    let (_dir, dir) = place();
    let file = dir.join("brisk.toml");
    std::fs::write(&file, "[daemon]\ndevices = [\"nosuchdisk\"]\n").expect("written");
    let checked = brisk(&["config", "check", name(&file)]);
    assert_eq!(text(&checked.stdout), format!("{} can be used\n", file.display()));
    let warning = "devices: there is no block device 'nosuchdisk' at present: it is managed from when it appears\n";
    assert_eq!(text(&checked.stderr), format!("brisk: warning: {warning}"));
    assert_eq!(checked.status.code(), Some(0));
}

#[test]
fn a_configuration_that_is_no_text_or_no_file_is_refused() {
    let (_dir, dir) = place();
    let file = dir.join("brisk.toml");
    std::fs::write(&file, b"[daemon]\n# \xff\n").expect("written");
    let checked = brisk(&["config", "check", name(&file)]);
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stderr));
    assert!(
        text(&checked.stderr).contains("is not a text: byte 11 (line 2) is not UTF-8"),
        "{}",
        text(&checked.stderr)
    );
    for (place, reason) in [("/dev/zero", "is a character device"), (name(&dir), "is a directory")] {
        let checked = brisk(&["config", "check", place]);
        assert_eq!(checked.status.code(), Some(2));
        assert!(text(&checked.stderr).contains(reason), "{}", text(&checked.stderr));
    }
}

#[test]
fn without_a_daemon_status_says_how_to_start_it_and_reset_has_nothing_to_do() {
    let (_dir, dir) = place();
    let status = brisk(&["status", "--run-dir", name(&dir)]);
    assert_eq!(status.status.code(), Some(2));
    assert!(text(&status.stderr).contains("briskd does not run"), "{}", text(&status.stderr));
    let reset = brisk(&["reset", "--run-dir", name(&dir)]);
    assert_eq!(text(&reset.stdout), "nothing was changed: all settings are as before brisk\n");
    assert!(reset.status.success(), "{}", text(&reset.stderr));
}

#[test]
fn without_a_daemon_apps_are_not_shown_and_what_is_missing_is_said() {
    let (_dir, dir) = place();
    let run_dir = ["--run-dir", name(&dir)];
    for arguments in [&["apps"][..], &["apps", "--json"], &["explain", "org.gnome.Evince"]] {
        let output = brisk(&[arguments, &run_dir].concat());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(
            said.contains("briskd does not run") && said.contains(brisk_api::init::Init::of_machine().start()),
            "{arguments:?}: {said}"
        );
    }
    // What was meant as a setting is told as such.
    let bad = brisk(&[&["explain", "queue/sda/speed"][..], &run_dir].concat());
    let said = text(&bad.stderr);
    assert!(bad.status.code() == Some(2) && said.contains("'queue/sda/speed' names no setting"), "{said}");
    let past = brisk(&[&["explain", "org.gnome.Evince", "--at", "14:05"][..], &run_dir].concat());
    let said = text(&past.stderr);
    assert!(past.status.code() == Some(2) && said.contains("an app is explained as it is now"), "{said}");
}

#[test]
fn a_session_tells_a_daemon_that_its_user_is_idle() {
    brisk_requires::requires!(Root);
    let (_dir, dir) = place();
    let config = dir.join("brisk.toml");
    let record = dir.join("daemon.brisk");
    let daemon = format!("[daemon]\ndevices = []\nsocket_group = \"\"\nrecord = {{ path = {record:?} }}\n");
    std::fs::write(&config, format!("{daemon}[engines]\norder = []\n")).expect("written");
    let idle = |what: &str| brisk(&["idle", what, "--run-dir", name(&dir)]);
    let absent = idle("yes");
    assert_eq!(absent.status.code(), Some(2), "{absent:?}");
    let mut briskd = Command::new(env!("CARGO_BIN_EXE_brisk"))
        .arg0("briskd")
        .args(["--foreground", "--dry-run", "--config", name(&config), "--run-dir", name(&dir)])
        .args(["--profiles", name(&dir), "--learned", name(&dir)])
        .stderr(Stdio::piped())
        .spawn()
        .expect("briskd runs");
    let mut lines = BufReader::new(briskd.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let _limit = brisk_requires::killed_late(briskd.id(), "the log of briskd");
    // It listens before it says anything of itself.
    let begun = Instant::now();
    while !idle("yes").status.success() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen");
    }
    assert!(lines.any(|line| line.ends_with("the user is idle")));
    assert_eq!(text(&idle("no").stdout), "the user is active\n");
    assert!(lines.any(|line| line.ends_with("the user is active again")));
    assert_eq!(idle("perhaps").status.code(), Some(2));
    let pid = rustix::process::Pid::from_child(&briskd);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    // Its pipe is read to the end, so that it can end.
    lines.for_each(drop);
    assert!(briskd.wait().expect("it ends").success());
}

#[test]
fn what_a_daemon_keeps_is_its_users_alone_whichever_program_starts_it() {
    use std::os::unix::fs::PermissionsExt as _;
    brisk_requires::requires!(Root);
    let (_dir, dir) = place();
    let (config, run_dir) = (dir.join("brisk.toml"), dir.join("run"));
    std::fs::write(&config, "[daemon]\ndevices = [\"none-of-this-machine\"]\n").expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.arg0("briskd").args(["--config", name(&config), "--run-dir", name(&run_dir)]);
    command.args(["--profiles", name(&dir.join("p")), "--learned", name(&dir.join("learned"))]).stderr(Stdio::null());
    let no_mask = || {
        rustix::process::umask(rustix::fs::Mode::empty());
        Ok(())
    };
    // SAFETY: the closure makes one system call between fork and exec; it does not allocate or lock.
    unsafe { command.pre_exec(no_mask) };
    let mut briskd = command.spawn().expect("briskd runs");
    let _limit = brisk_requires::killed_late(briskd.id(), "the socket of briskd");
    let socket = run_dir.join(brisk_api::SOCKET);
    brisk_requires::until("the socket", || brisk_api::Client::connect(&socket).is_ok());
    brisk_requires::until("the record", || run_dir.join("daemon.brisk").exists());
    rustix::process::kill_process(rustix::process::Pid::from_child(&briskd), rustix::process::Signal::TERM)
        .expect("it runs");
    assert!(briskd.wait().expect("it ends").success());
    let mode = |path: &Path| std::fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777;
    // Everyone passes through to the sockets, whose own modes decide.
    assert_eq!(mode(&run_dir), 0o755);
    let mut looked = Vec::new();
    let mut dirs = vec![run_dir.clone(), dir.join("learned")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, is_dir) = (entry.path(), entry.file_type().expect("a type").is_dir());
            assert_eq!(mode(&path), if is_dir { 0o700 } else { 0o600 }, "{}", path.display());
            looked.push(entry.file_name().into_string().expect("UTF-8"));
            dirs.extend(is_dir.then_some(path));
        }
    }
    assert!(["daemon.brisk", "journal"].iter().all(|one| looked.iter().any(|name| name == one)), "{looked:?}");
}

/// What a page asks for, of a daemon that manages no disk and runs as this user.
#[test]
fn a_client_protects_an_app_edits_the_configuration_and_measures() {
    brisk_requires::requires!(Root);
    let (_dir, dir) = place();
    let (config, run_dir) = (dir.join("brisk.toml"), dir.join("run"));
    std::fs::write(&config, "# mine\n[daemon]\ndevices = [\"none-of-this-machine\"]\n").expect("written");
    let mut briskd = Command::new(env!("CARGO_BIN_EXE_brisk"))
        .arg0("briskd")
        .args(["--config", name(&config), "--run-dir", name(&run_dir), "--profiles", name(&dir.join("profiles"))])
        .args(["--learned", name(&dir.join("learned"))])
        .stderr(Stdio::null())
        .spawn()
        .expect("briskd runs");
    let _limit = brisk_requires::killed_late(briskd.id(), "the answers of briskd");
    let socket = run_dir.join(brisk_api::SOCKET);
    brisk_requires::until("the socket", || brisk_api::Client::connect(&socket).is_ok());
    let mut client = brisk_api::Client::connect(&socket).expect("connected");
    let mut ask = |method: &str, parameters: serde_json::Value| {
        let parameters = parameters.as_object().cloned().unwrap_or_default();
        let given: Vec<_> = parameters.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        client.answer(method, &given).map_err(|error| error.to_string())
    };
    let changed = ask("SetApp", json!({"app": "mpv", "to": "protect"})).expect("protected")["changed"].clone();
    assert_eq!(changed, json!(true));
    let list = std::fs::read_to_string(dir.join("brisk.d/80-apps.toml")).expect("written");
    assert!(list.ends_with("[apps]\nprotect = [\"mpv\"]\n"), "{list}");
    let known = ask("GetConfig", json!({})).expect("readable");
    let text = known["text"].as_str().expect("a text").replace("# mine", "# ours");
    let version = &known["version"];
    let bad = ask("SetConfig", json!({"text": "[apps]\nend_first = [\"mpv\"]\n", "version": version}));
    assert!(bad.is_err_and(|why| why.contains("'mpv' is in 'protect' and in 'end_first'")));
    ask("SetConfig", json!({"text": text, "version": version, "check": true})).expect("usable");
    assert!(std::fs::read_to_string(&config).expect("there").starts_with("# mine"));
    ask("SetConfig", json!({"text": text, "version": version})).expect("saved");
    assert_eq!(std::fs::read_to_string(&config).expect("there"), text);
    assert!(ask("SetConfig", json!({"text": "", "version": version})).is_err_and(|why| why.contains("meanwhile")));
    assert!(ask("StopJob", json!({})).is_err_and(|why| why.contains("no measurement runs")));
    assert!(ask("StartJob", json!({"job": "tune", "device": "sdz"})).is_err_and(|why| why.contains("sdz is no")));
    ask("StartJob", json!({"job": "tune"})).expect("begun");
    let mut job = serde_json::Value::Null;
    brisk_requires::until("the end of the measurement", || {
        job = ask("GetJob", json!({})).expect("answered")["job"].clone();
        job["end"] != serde_json::Value::Null
    });
    assert_eq!(job["end"], json!("done"), "{job}");
    assert!(job["said"][0].as_str().is_some_and(|line| line.contains("briskd manages none here")), "{job}");
    let pid = rustix::process::Pid::from_child(&briskd);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    assert!(briskd.wait().expect("it ends").success());
}

#[test]
fn without_a_daemon_an_app_is_forgotten_in_the_file() {
    let (_dir, dir) = place();
    let file = dir.join("learned/iram/learned.json");
    let forget = |arguments: &[&str]| {
        let learned = dir.join("learned");
        let output = brisk(&[&["forget"], arguments, &["--run-dir", name(&dir), "--learned", name(&learned)]].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let nothing = (Some(1), "nothing was learned of 'mpv'\n".to_owned(), String::new());
    assert_eq!(forget(&["mpv"]), nothing);
    let (code, _, said) = forget(&["--all"]);
    assert!(code == Some(2) && said.contains("--yes"), "{said}");
    assert_eq!(forget(&["--all", "--yes"]), (Some(1), "nothing was learned\n".to_owned(), String::new()));
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    std::fs::write(&file, "{}").expect("damaged");
    let (code, _, said) = forget(&["mpv"]);
    assert!(code == Some(2) && said.contains("iram/learned.json"), "{said}");
    assert_eq!(forget(&["--all", "--yes"]), (Some(0), "all apps: forgotten\n".to_owned(), String::new()));
    assert!(!file.exists());
    for wrong in [&[][..], &["mpv", "--all"]] {
        let (code, _, said) = forget(wrong);
        assert!(code == Some(2) && said.contains("--all"), "{wrong:?}: {said}");
    }
}

#[test]
fn reset_says_of_a_damaged_journal_that_it_cannot_be_undone() {
    let (_dir, dir) = place();
    std::fs::create_dir_all(dir.join("journal")).expect("a directory");
    std::fs::write(dir.join("journal/briskd.1.json"), "{\"schema_ver").expect("a journal");
    let reset = brisk(&["reset", "--run-dir", name(&dir)]);
    let said = text(&reset.stderr);
    assert_eq!((reset.status.code(), text(&reset.stdout)), (Some(1), String::new()));
    assert!(said.contains("journal/briskd.1.json cannot be read, so what it tells is not put back"), "{said}");
}

#[test]
fn a_record_explains_what_held_and_when() {
    let (_dir, dir) = place();
    let record = dir.join("day.brisk");
    session(&record);
    let explain = |arguments: &[&str]| brisk(&[&["explain", "--record", name(&record)], arguments].concat());
    let at = explain(&["--at", "2026-11-22 02:00:30", "queue/sda/read_ahead_kb"]);
    let expected = "as decided at 2026-11-22 02:00:00\n\
                    queue/sda/read_ahead_kb is 256 since 2026-11-22 02:00:00 (30 s)\n  \
                    the configuration fixes it, which goes before every engine\n  \
                    before brisk it was 128\n";
    assert_eq!(text(&at.stdout), expected);
    assert!(at.status.success());
    let before = explain(&["--at", "2026-11-22 01:59"]);
    assert_eq!(before.status.code(), Some(1));
    assert!(text(&before.stdout).starts_with("no daemon had decided anything"), "{}", text(&before.stdout));
    let other = explain(&["queue/sda/scheduler"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stdout).contains("queue/sda/scheduler is as it was before brisk"), "{}", text(&other.stdout));
    assert_eq!(explain(&["queue/sda/speed"]).status.code(), Some(2));
}

#[test]
fn a_replay_tells_what_another_configuration_changes() {
    let (_dir, dir) = place();
    let record = dir.join("day.brisk");
    session(&record);
    let same = brisk(&["replay", name(&record)]);
    assert_eq!(text(&same.stdout), "1 sessions, 5 decisions, 0 of them different\n");
    assert!(same.status.success());
    let config = dir.join("new.toml");
    std::fs::write(&config, "[engines]\norder = []\n[fixed]\n\"queue/sda/read_ahead_kb\" = 64\n").expect("written");
    let other = brisk(&["replay", name(&record), "--config", name(&config)]);
    let line =
        "2026-11-22 02:00:00 queue/sda/read_ahead_kb: 64 (config: fixed choice), was 256 (config: fixed choice)\n";
    assert_eq!(text(&other.stdout), format!("{line}1 sessions, 5 decisions, 5 of them different\n"));
    assert_eq!(other.status.code(), Some(1));
    let json = brisk(&["replay", name(&record), "--config", name(&config), "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&document["kind"], &document["differing_rounds"]), (&"replay".into(), &5.into()));
    assert_eq!(document["differences"][0]["replayed"]["value"], "64");
    std::fs::write(dir.join("text"), "no record").expect("written");
    assert_eq!(brisk(&["replay", name(&dir.join("text"))]).status.code(), Some(2));
}
