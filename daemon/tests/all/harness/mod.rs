//! A daemon with its own run directory, and an unused block device.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead, BufReader, Read as _};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brisk_api::{Client, ClientError, SOCKET, Status};
use brisk_core::state::SettingState;
use brisk_requires::{Capability, LoopDevice, available, end_of, killed_late};
use rustix::process::{Pid, Signal, kill_process};

/// A guard against hanging, no measure of anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The tests that have devices go one by one: when one takes its device away, the next would get the same name, which
/// the first one's daemon still manages.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loop device on a file of its own, detached when dropped.
pub(crate) struct Loop {
    pub(crate) device: LoopDevice,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    /// A device; `None`, with the skip recorded, where none can be made.
    pub(crate) fn new() -> Option<Self> {
        available(&[Capability::Loop, Capability::Queue, Capability::Program("losetup")])?;
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(16 << 20).expect("free space");
        Some(Self { device: LoopDevice::attach(file.path(), &[]), _file: file })
    }

    pub(crate) fn name(&self) -> &str {
        self.device.name()
    }

    fn file(&self, setting: &str) -> PathBuf {
        Path::new("/sys/block").join(self.name()).join("queue").join(setting)
    }

    pub(crate) fn get(&self, setting: &str) -> String {
        let text = std::fs::read_to_string(self.file(setting)).expect("a setting");
        let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        chosen.unwrap_or(text.trim()).to_owned()
    }

    pub(crate) fn set(&self, setting: &str, value: &str) {
        std::fs::write(self.file(setting), value).expect("written");
    }
}

/// An app with a control group of its own, both gone when dropped.
pub(crate) struct App {
    group: PathBuf,
    process: Child,
}

impl App {
    /// One that is not in its group yet; `None`, with the skip recorded, where there can be no group.
    pub(crate) fn new(group: &Path) -> Option<Self> {
        Self::with(group, Command::new("sleep").arg("600"))
    }

    /// The same with another program.
    pub(crate) fn with(group: &Path, program: &mut Command) -> Option<Self> {
        available(&[Capability::Groups])?;
        std::fs::create_dir(group).expect("root makes groups");
        let process = program.stdin(Stdio::piped()).spawn().expect("it starts");
        Some(Self { group: group.to_owned(), process })
    }

    pub(crate) fn begin(&self) {
        std::fs::write(self.group.join("cgroup.procs"), self.process.id().to_string()).expect("moved");
    }

    /// The number of its first process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends the input that it may wait for.
    pub(crate) fn go(&mut self) {
        drop(self.process.stdin.take());
    }

    pub(crate) fn end(&mut self) {
        // Children too.
        let _ = std::fs::write(self.group.join("cgroup.kill"), "1");
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.end();
        let begun = Instant::now();
        while std::fs::remove_dir(&self.group).is_err() && self.group.exists() && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }
}

pub(crate) struct Briskd {
    pub(crate) dir: tempfile::TempDir,
    child: Child,
    lines: Receiver<String>,
}

/// A directory with a configuration: `devices` are managed, `rest` is added, the record is in the directory.
pub(crate) fn place(devices: &[&str], rest: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    configure(dir.path(), devices, rest);
    dir
}

/// Writes the configuration anew.
pub(crate) fn configure(dir: &Path, devices: &[&str], rest: &str) {
    let record = dir.join("daemon.brisk");
    let text = format!(
        "[daemon]\ndevices = {devices:?}\nsocket_group = \"\"\nrecord = {{ path = {record:?}, max_bytes = 1048576 }}\n\
         rest_s = 1\n{rest}"
    );
    std::fs::write(dir.join("brisk.toml"), text).expect("written");
}

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_briskd"));
    command
        .arg("--config")
        .arg(dir.join("brisk.toml"))
        .arg("--run-dir")
        .arg(dir.join("run"))
        .arg("--profiles")
        .arg(dir.join("profiles"))
        .arg("--learned")
        .arg(dir.join("learned"))
        .args(arguments)
        .env_remove("WATCHDOG_USEC")
        .stdin(Stdio::null());
    command
}

/// Runs a daemon that ends by itself: its status and what it said.
pub(crate) fn run(dir: &Path, arguments: &[&str]) -> (ExitStatus, String) {
    run_in_zone(dir, arguments, "UTC0")
}

/// The same with another time zone, as in the variable TZ.
pub(crate) fn run_in_zone(dir: &Path, arguments: &[&str], zone: &str) -> (ExitStatus, String) {
    let output = command(dir, arguments).env("TZ", zone).output().expect("briskd runs");
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

impl Briskd {
    /// Starts one in `dir` and waits until it says that it is ready.
    pub(crate) fn start(dir: tempfile::TempDir, arguments: &[&str]) -> Self {
        Self::start_as(dir, arguments, |_| ())
    }

    /// The same with changes to its command.
    pub(crate) fn start_as(dir: tempfile::TempDir, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let notify = dir.path().join("notify");
        let _ = std::fs::remove_file(&notify);
        let ready = UnixDatagram::bind(&notify).expect("a socket");
        ready.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let mut command = command(dir.path(), &[&["--foreground"], arguments].concat());
        change(&mut command);
        let mut child = command.env("NOTIFY_SOCKET", &notify).stderr(Stdio::piped()).spawn().expect("briskd runs");
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut word = [0; 256];
        let length = ready.recv(&mut word).expect("it gets ready");
        assert!(word[..length].starts_with(b"READY=1"), "{:?}", String::from_utf8_lossy(&word[..length]));
        Self { dir, child, lines }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.dir.path().join("run").join(SOCKET)).expect("it listens")
    }

    /// Subscribes to events; `receive` gets each, until it returns false. The daemon is killed where it never does.
    pub(crate) fn monitor<T: serde::de::DeserializeOwned>(
        &self,
        receive: impl FnMut(T) -> bool,
    ) -> Result<(), ClientError> {
        let _limit = killed_late(self.child.id(), "the last event");
        self.client().monitor(receive)
    }

    pub(crate) fn status(&self) -> Status {
        self.client().call("GetStatus", &[], "status").expect("it answers")
    }

    /// The status, once it is as wanted.
    pub(crate) fn status_when(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        let begun = Instant::now();
        let mut client = self.client();
        loop {
            let status: Status = client.call("GetStatus", &[], "status").expect("it answers");
            if wanted(&status) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "never as wanted: {status:#?}");
        }
    }

    pub(crate) fn setting(&self, knob: &str) -> SettingState {
        let settings = self.status().settings;
        settings
            .iter()
            .find(|setting| setting.knob().to_string() == knob)
            .cloned()
            .unwrap_or_else(|| panic!("{settings:?}"))
    }

    /// Waits for a line of the log.
    pub(crate) fn line(&self, part: &str) -> String {
        let begun = Instant::now();
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
            if line.contains(part) {
                return line;
            }
            seen.push(line);
        }
        panic!("no line has '{part}': {seen:#?}");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("it runs");
    }

    /// Ends it by `signal`; its status and directory.
    pub(crate) fn end(self, signal: Signal) -> (ExitStatus, tempfile::TempDir) {
        self.signal(signal);
        self.ended()
    }

    /// Waits for its end; its status and directory.
    pub(crate) fn ended(mut self) -> (ExitStatus, tempfile::TempDir) {
        let status = end_of(&mut self.child);
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().expect("a directory"));
        (status, dir)
    }
}

impl Drop for Briskd {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // So that a test that failed leaves nothing changed.
            self.signal(Signal::TERM);
            let _limit = killed_late(self.child.id(), "the end of briskd");
            let _ = self.child.wait();
        }
        let mut rest = String::new();
        let _ = self.child.stderr.as_mut().map(|stderr| stderr.read_to_string(&mut rest));
    }
}
