//! Names of others on the terminal: a daemon whose apps, devices and messages have names that command a terminal, and a
//! record of such, shown by every command that shows them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output};

use brisk_api::{
    AppLaunches, AppMemory, AppPages, Apps, Device, EngineTrial, Launches, MemoryProgram, Pages, Record, Resting,
    Status, SubjectTrial, Trials, dirs,
};
use brisk_core::app::{App, AppFacts, Branch, EndOrder, Preference, classify};
use brisk_core::decision::Note;
use brisk_core::event::{Event, EventKind};
use brisk_core::reason::Reason;
use brisk_core::snapshot::{DiskTotals, Snapshot};
use brisk_core::survey::{Importance, MemorySurvey, PagesSurvey, Step};
use brisk_core::text::acts;
use brisk_record::{Decided, Scene, Session, Writer};
use serde_json::{Value, json};

/// Colour, title (OSC), a control of eight bits, a forged line, and marks of direction.
const HOSTILE: &str = "a\x1b[31mX\x1b]0;t\x07\u{9b}2J\r\nFORGED \u{202e}\u{2066}\u{200f}\u{fdd2}z";

fn app() -> App {
    App { launching: true, ..classify(&AppFacts { group: HOSTILE.into(), id: HOSTILE.into(), ..AppFacts::default() }) }
}

fn reason() -> Reason {
    Reason::rule("x").word("app", HOSTILE)
}

fn status() -> Status {
    Status {
        brisk_version: "1".into(),
        devices: vec![Device { name: "sda".into(), model: HOSTILE.into(), kind: "ufs".into(), ..Device::default() }],
        apps: vec![app()],
        notes: vec![Note { engine: "iram".into(), reason: reason() }],
        trouble: vec![HOSTILE.into()],
        resting: vec![Resting { part: HOSTILE.into(), ..Resting::default() }],
        memory_programs: vec![MemoryProgram { name: HOSTILE.into(), ..MemoryProgram::default() }],
        record: Some(Record { path: "/x".into(), bytes: 1, trouble: Some(HOSTILE.into()) }),
        trials: trials(),
        ..Status::default()
    }
}

fn trials() -> Trials {
    let subject = SubjectTrial { subject: format!("app {HOSTILE}"), ..SubjectTrial::default() };
    let engine = EngineTrial { engine: "prefetch".into(), tried: true, subjects: vec![subject], ..Default::default() };
    Trials { on: true, engines: vec![engine] }
}

fn apps() -> Apps {
    let preference = Preference { order: EndOrder::First, by: HOSTILE.into() };
    let first = Branch {
        pid: 7,
        start_ticks: 1,
        name: HOSTILE.into(),
        memory_bytes: 1,
        growth_bytes: 1,
        preference: Some(preference.clone()),
    };
    let row = AppMemory {
        group: HOSTILE.into(),
        id: HOSTILE.into(),
        user: None,
        importance: Importance::ALL[0].0,
        reason: reason(),
        memory_bytes: Some(1 << 20),
        swap_bytes: None,
        threshold_bytes: None,
        chance: 0.1,
        relaunch_s: 1.0,
        cost_s_per_mib: 1.0,
        protected: Some(reason()),
        steps: vec![Step::End],
        frozen: false,
        ends_first: Some(first),
        preference: Some(preference),
    };
    Apps { active: true, survey: MemorySurvey { apps: vec![row], ..MemorySurvey::default() } }
}

fn pages() -> Pages {
    let row = AppPages {
        group: HOSTILE.into(),
        id: HOSTILE.into(),
        left_ns: 0,
        spared: Some(reason()),
        pages: None,
        need_bytes: None,
        lost: None,
        frozen: false,
    };
    Pages { active: true, survey: PagesSurvey { apps: vec![row], ..PagesSurvey::default() } }
}

/// Answers as the daemon, until the test ends.
fn daemon(run_dir: &Path) {
    let listener = UnixListener::bind(run_dir.join(dirs::SOCKET)).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a client"));
            std::thread::spawn(move || {
                let mut call = Vec::new();
                while stream.read_until(0, &mut call).is_ok_and(|read| read > 0) {
                    call.pop();
                    let call: Value = serde_json::from_slice(&std::mem::take(&mut call)).expect("a call");
                    let launches = AppLaunches { id: HOSTILE.into(), ..AppLaunches::default() };
                    let answer = match call["method"].as_str().and_then(|name| name.rsplit('.').next()) {
                        Some("GetStatus") => json!({ "parameters": { "status": status() } }),
                        Some("GetApps") => json!({ "parameters": { "apps": apps() } }),
                        Some("GetPages") => json!({ "parameters": { "pages": pages() } }),
                        Some("GetTrials") => json!({ "parameters": { "trials": trials() } }),
                        Some("GetLaunches") => {
                            let launches = Launches { active: true, apps: vec![launches] };
                            json!({ "parameters": { "launches": launches } })
                        }
                        _ => json!({ "error": "org.brisk.Daemon.NoSuchApp", "parameters": { "app": HOSTILE } }),
                    };
                    let bytes = [answer.to_string().as_bytes(), b"\0"].concat();
                    if stream.get_mut().write_all(&bytes).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

fn brisk(arguments: &[&str], run_dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.args(arguments).env("BRISK_RUN_DIR", run_dir).env("LC_ALL", "C.UTF-8");
    command.output().expect("brisk runs")
}

/// Refuses what acts on a terminal in an output without colours, and a line that a name has begun.
fn check(arguments: &[&str], output: &Output) -> String {
    let shown = [output.stdout.as_slice(), &output.stderr].concat();
    let shown = String::from_utf8(shown).expect("UTF-8");
    let found: Vec<char> = shown.chars().filter(|one| !matches!(one, '\n' | '\t') && acts(*one)).collect();
    assert!(found.is_empty(), "{arguments:?}: {found:?} in {shown}");
    assert!(!shown.lines().any(|line| line.starts_with("FORGED")), "{arguments:?}: {shown}");
    shown
}

#[test]
fn names_of_a_daemon_command_no_terminal() {
    let dir = tempfile::tempdir().expect("a directory");
    daemon(dir.path());
    for arguments in [
        &[][..],
        &["status"],
        &["status", "--json"],
        &["status", "--metrics=prometheus"],
        &["status", "--metrics=openmetrics"],
        &["apps", "--all"],
        &["apps", "--json"],
        &["explain"],
        &["explain", HOSTILE.split('\n').next().expect("a line")],
        &["explain", HOSTILE],
        &["explain", HOSTILE, "--json"],
        &["trial"],
        &["trial", "--json"],
        &["front", "nothing"],
        &["doctor"],
    ] {
        let shown = check(arguments, &brisk(arguments, dir.path()));
        assert!(!shown.contains("does not run (no socket"), "{arguments:?}: {shown}");
    }
    let shown = check(&[], &brisk(&["explain", HOSTILE], dir.path()));
    assert!(shown.starts_with("a\\u001b[31mX\\u001b]0;t\\u0007\\u009b2J\\r\\nFORGED \\u202e\\u2066\\u200f"), "{shown}");
    // What a program reads is what the name is.
    let json: Value = serde_json::from_slice(&brisk(&["apps", "--json"], dir.path()).stdout).expect("JSON");
    assert_eq!(json["apps"][0]["id"], HOSTILE);
    // With colours there are those of brisk alone.
    let coloured = brisk(&["apps", "--all", "--color", "always"], dir.path());
    let coloured = String::from_utf8(coloured.stdout).expect("UTF-8");
    assert!(
        coloured.contains("\x1b[1m") && !coloured.contains("\x1b[31m") && !coloured.contains("\x1b]"),
        "{coloured}"
    );
}

#[test]
fn names_of_a_record_command_no_terminal() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("day.brisk");
    let session = Session { machine: HOSTILE.into(), kernel_release: HOSTILE.into(), ..Session::default() };
    let mut writer = Writer::begin(&file, session, None).expect("a record");
    writer.scene(&Scene { apps: vec![app()], ..Scene::default() }).expect("written");
    for second in 0..3 {
        let disk = DiskTotals { name: HOSTILE.into(), ..DiskTotals::default() };
        let (at_ns, wall_unix_ms) = (second * 1_000_000_000, second * 1000);
        let snapshot = Snapshot { at_ns, wall_unix_ms, disks: vec![disk], ..Snapshot::default() };
        writer.snapshot(&snapshot).expect("written");
        writer.event(&Event { at_ns, kind: EventKind::AppGone { group: HOSTILE.into() } }).expect("written");
    }
    let notes = vec![Note { engine: "iram".into(), reason: reason() }];
    writer.decided(&Decided { notes, ..Decided::default() }).expect("written");
    drop(writer);
    let name = file.to_str().expect("UTF-8");
    for arguments in [
        &["monitor", "show", name][..],
        &["monitor", "show", name, "--json"],
        &["monitor", "export", name, "--format", "csv", "--output", "-"],
        &["monitor", "export", name, "--format", "openmetrics", "--output", "-"],
        &["explain", "--record", name],
        &["explain", "--record", name, "--json"],
        &["replay", name],
    ] {
        check(arguments, &brisk(arguments, dir.path()));
    }
}
