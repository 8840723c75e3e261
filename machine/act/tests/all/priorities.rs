//! I/O priorities that are inherited: a thread takes that of its maker into another group.

use crate::journal_lines::of_a_dead_owner;

use std::fs;
use std::io::{BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use brisk_act::{Actuator, Paths, restore_leftovers};
use brisk_core::action::Setting;
use brisk_core::knob::Knob;
use brisk_requires::{line_with, requires, until};
use rustix::process::{Pid, Signal, getsid, kill_process};

/// A shell that leads a session, and begins a program in a session of its own for each line that it reads.
struct Launcher {
    shell: Child,
    to_it: ChildStdin,
    said: BufReader<ChildStdout>,
    launched: Vec<u32>,
}

impl Launcher {
    fn new() -> Self {
        let mut shell = Command::new("setsid");
        let script = "echo here; while read line; do setsid sleep 600 >/dev/null & echo made $!; done";
        let shell = shell.args(["sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().expect("a shell");
        let to_it = shell.stdin.take().expect("piped");
        let mut said = BufReader::new(shell.stdout.take().expect("piped"));
        line_with(&mut said, "here", |line| line.contains("here"));
        Self { shell, to_it, said, launched: Vec::new() }
    }

    /// A program in a session of its own, which has begun.
    fn launch(&mut self) -> u32 {
        writeln!(self.to_it, "go").expect("it reads");
        let line = line_with(&mut self.said, "made", |line| line.contains("made"));
        let pid = line.split_whitespace().last().and_then(|pid| pid.parse().ok()).expect("a process");
        self.launched.push(pid);
        let session_of = |pid: u32| getsid(Pid::from_raw(pid.cast_signed())).expect("a process");
        until("a session of its own", || session_of(pid).as_raw_nonzero().get().cast_unsigned() == pid);
        pid
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        for pid in self.launched.iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.shell.kill().and_then(|()| self.shell.wait());
    }
}

/// Class and level as the kernel has them, of a process.
fn priority(process: u32) -> i64 {
    // SAFETY: ioprio_get(2) takes two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_ioprio_get, 1, process) }
}

fn of_session(id: u32, value: &str) -> Setting {
    Setting::new(Knob::IoPriority { group: format!("session-{id}") }, value)
}

const FIRST: i64 = 2 << 13;
const IDLE: i64 = 3 << 13;

#[test]
fn what_inherited_a_priority_loses_it_wherever_it_is() {
    requires!(Nice);
    let dir = tempfile::tempdir().expect("temporary directory");
    let paths = Paths::with_run_dir(dir.path());
    let mut actuator = Actuator::new(&paths, "briskd", false).expect("a journal");
    let mut app = Launcher::new();
    let app_id = app.shell.id();
    let before = Launcher::new();
    // SAFETY: ioprio_set(2) takes three numbers and touches no memory of ours.
    assert_eq!(unsafe { libc::syscall(libc::SYS_ioprio_set, 1, before.shell.id(), FIRST) }, 0);
    // Starts are told in ticks, of which /proc/uptime shows each: what begins in one tick is not told apart.
    for _ in 0..2 {
        let uptime = || fs::read_to_string("/proc/uptime").expect("Linux");
        let now = uptime();
        brisk_requires::until("the next tick", || uptime() != now);
    }
    actuator.apply(&[of_session(app_id, "best-effort 0")]);
    let (launched, elsewhere) = (app.launch(), app.launch());
    assert_eq!([app_id, launched, elsewhere].map(priority), [FIRST; 3], "inherited");
    // The launch of what it began asks for the same, and ends first: the app keeps its own.
    actuator.apply(&[of_session(app_id, "best-effort 0"), of_session(launched, "best-effort 0")]);
    actuator.apply(&[of_session(app_id, "best-effort 0")]);
    assert_eq!([app_id, launched].map(priority), [FIRST, 0]);
    // The end of the app's takes it from what is in no group of brisk's, and from no one who had it before.
    actuator.apply(&[]);
    assert_eq!([app_id, launched, elsewhere, before.shell.id()].map(priority), [0, 0, 0, FIRST]);
    // Killed, the next brisk does it.
    actuator.apply(&[of_session(app_id, "idle")]);
    let left = app.launch();
    assert_eq!(priority(left), IDLE);
    let file = fs::read_dir(&paths.journal).expect("journals").flatten().next().expect("a journal").path();
    std::mem::forget(actuator);
    fs::write(&file, of_a_dead_owner(&fs::read_to_string(&file).expect("journal"))).expect("journal");
    restore_leftovers(&paths).expect("undone");
    assert_eq!([app_id, left, before.shell.id()].map(priority), [0, 0, FIRST]);
    assert_eq!(fs::read_dir(&paths.journal).expect("journals").count(), 0);
}

#[test]
fn what_a_lowered_app_begins_is_first_in_its_own_launch() {
    requires!(Nice);
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut actuator = Actuator::new(&Paths::with_run_dir(dir.path()), "briskd", false).expect("a journal");
    let mut app = Launcher::new();
    let lowered = of_session(app.shell.id(), "idle");
    actuator.apply(std::slice::from_ref(&lowered));
    let launched = app.launch();
    assert_eq!(priority(launched), IDLE);
    actuator.apply(&[lowered.clone(), of_session(launched, "best-effort 0")]);
    assert_eq!([app.shell.id(), launched].map(priority), [IDLE, FIRST]);
    actuator.apply(&[lowered]);
    assert_eq!([app.shell.id(), launched].map(priority), [IDLE, 0]);
    actuator.restore().expect("undone");
    assert_eq!(priority(app.shell.id()), 0);
}
