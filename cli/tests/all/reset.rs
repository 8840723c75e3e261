//! `brisk reset` while the daemon ends, or runs and cannot be reached.

use std::io::{BufRead as _, BufReader, Lines};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use brisk_requires::{LoopDevice, requires};

const BRISK: &str = env!("CARGO_BIN_EXE_brisk");

/// A loop device on a file of its own, detached when dropped.
struct Loop {
    device: LoopDevice,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    fn new() -> Self {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(16 << 20).expect("free space");
        Self { device: LoopDevice::attach(file.path(), &[]), _file: file }
    }

    fn name(&self) -> &str {
        self.device.name()
    }

    fn read_ahead_kb(&self) -> String {
        let file = format!("/sys/block/{}/queue/read_ahead_kb", self.name());
        std::fs::read_to_string(file).expect("a setting").trim().to_owned()
    }
}

/// A daemon that keeps one setting of a device changed; killed when dropped.
struct Briskd {
    child: Child,
    /// Stays open: the daemon may say more.
    _said: Lines<BufReader<ChildStderr>>,
}

impl Briskd {
    /// Returns once the setting stands.
    fn start(dir: &Path, device: &Loop) -> Self {
        let wanted = if device.read_ahead_kb() == "256" { "512" } else { "256" };
        let config = dir.join("brisk.toml");
        let (name, record) = (device.name(), dir.join("daemon.brisk"));
        let text = format!(
            "[daemon]\ndevices = [{name:?}]\nsocket_group = \"\"\nrecord = {{ path = {record:?} }}\n\
             [engines]\norder = []\n[fixed]\n\"queue/{name}/read_ahead_kb\" = \"{wanted}\"\n"
        );
        std::fs::write(&config, text).expect("written");
        let mut command = Command::new(BRISK);
        command.arg0("briskd").arg("--foreground").arg("--config").arg(config);
        command.arg("--run-dir").arg(dir.join("run")).arg("--profiles").arg(dir.join("profiles"));
        let mut child = command.env_remove("WATCHDOG_USEC").stderr(Stdio::piped()).spawn().expect("briskd starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let _limit = brisk_requires::killed_late(child.id(), "the setting in the log of briskd");
        let said: Vec<String> =
            lines.by_ref().map_while(Result::ok).take_while(|line| !line.contains("read_ahead_kb")).collect();
        let daemon = Self { child, _said: lines };
        let is_changed = device.read_ahead_kb() == wanted;
        assert!(is_changed, "{said:?}");
        daemon
    }

    fn kill(&mut self) {
        self.child.kill().expect("it runs");
    }
}

impl Drop for Briskd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reset(dir: &Path) -> Output {
    Command::new(BRISK).args(["reset", "--run-dir"]).arg(dir.join("run")).output().expect("brisk runs")
}

#[test]
fn a_reset_at_once_after_a_kill_restores_what_the_daemon_had_changed() {
    requires!(Loop, Queue, Program("losetup"));
    let device = Loop::new();
    let before = device.read_ahead_kb();
    for _ in 0..8 {
        let dir = tempfile::tempdir().expect("a directory");
        let mut daemon = Briskd::start(dir.path(), &device);
        assert_ne!(device.read_ahead_kb(), before);
        daemon.kill();
        let reset = reset(dir.path());
        let said = String::from_utf8_lossy(&reset.stdout).into_owned();
        assert_eq!(device.read_ahead_kb(), before, "{said}");
        assert_eq!(said, format!("{}: read_ahead_kb is as before\n", device.name()));
        assert_eq!(reset.status.code(), Some(0), "{}", String::from_utf8_lossy(&reset.stderr));
    }
}

#[test]
fn a_reset_never_says_that_all_is_as_before_while_a_daemon_without_socket_keeps_settings() {
    requires!(Loop, Queue, Program("losetup"));
    let device = Loop::new();
    let before = device.read_ahead_kb();
    let dir = tempfile::tempdir().expect("a directory");
    let daemon = Briskd::start(dir.path(), &device);
    std::fs::remove_file(dir.path().join("run/briskd.varlink")).expect("a socket");
    let refused = reset(dir.path());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), refused.stdout.as_slice()), (Some(2), &b""[..]), "{said}");
    assert!(said.contains(&format!("'kill {}' ends it, which restores them", daemon.child.id())), "{said}");
    assert_ne!(device.read_ahead_kb(), before);
}

#[test]
fn a_running_daemon_is_reset_together_with_what_a_killed_process_left() {
    requires!(Loop, Queue, Program("losetup"));
    let (dir, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let (device, of_killed) = (Loop::new(), Loop::new());
    let read_ahead_kb = || [&device, &of_killed].map(Loop::read_ahead_kb);
    let before = read_ahead_kb();
    let _daemon = Briskd::start(dir.path(), &device);
    drop(Briskd::start(other.path(), &of_killed));
    // As a measurement that was killed: its journal lies beside that of the daemon.
    for file in std::fs::read_dir(other.path().join("run/journal")).expect("journals") {
        let file = file.expect("a journal");
        std::fs::copy(file.path(), dir.path().join("run/journal").join(file.file_name())).expect("copied");
    }
    assert_ne!(of_killed.read_ahead_kb(), before[1]);
    let reset = reset(dir.path());
    assert_eq!(reset.status.code(), Some(0), "{}", String::from_utf8_lossy(&reset.stderr));
    assert_eq!(read_ahead_kb(), before, "{}", String::from_utf8_lossy(&reset.stdout));
}
