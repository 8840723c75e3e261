//! A lab of its own for each test, cleared up whatever happens.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::print_stderr, reason = "a test reports to its output")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use brisk_requires::{Capability, available};
use serde_json::Value;

/// A lab in a temporary directory.
pub(crate) struct Guard {
    dir: tempfile::TempDir,
}

impl Guard {
    /// `None`, with the skip recorded, where the lab cannot work.
    pub(crate) fn new() -> Option<Self> {
        available(&[Capability::Mount, Capability::Fuse, Capability::Loop, Capability::Queue])?;
        Some(Self { dir: tempfile::tempdir().expect("temporary directory") })
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(snapbox::cmd::cargo_bin("brisk-lab"));
        command.arg("lab").args(words).env("BRISK_RUN_DIR", self.dir());
        command
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("brisk starts")
    }

    /// Runs `brisk lab`, which must succeed, and gives what it printed.
    pub(crate) fn brisk(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs `brisk lab`, which must fail, and gives what it said.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert_eq!(output.status.code(), Some(2), "{words:?} was not refused");
        String::from_utf8(output.stderr).expect("UTF-8")
    }

    /// Makes a device over FUSE and loop, also where the kernel has ublk, and gives its path.
    pub(crate) fn up(&self, words: &[&str]) -> String {
        self.brisk(&[&["up", "--backend", "fuse"], words].concat()).trim_end().to_owned()
    }

    /// Runs `brisk lab ... --json`: the document, or the list that it holds.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let document: Value = serde_json::from_str(&self.brisk(&[words, &["--json"]].concat())).expect("JSON");
        assert!(document["kind"].is_string() && document["schema_version"].is_u64(), "{document}");
        document.get("devices").or_else(|| document.get("phones")).cloned().unwrap_or(document)
    }

    /// Loop devices that carry a file of this lab.
    pub(crate) fn carriers(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/sys/block").expect("sysfs").flatten() {
            let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
            if file.contains(&format!("{}/lab/", self.dir().display())) {
                found.push(format!("/dev/{}", entry.file_name().to_string_lossy()));
            }
        }
        found
    }

    /// Mounts in the directory of this lab.
    pub(crate) fn mounts(&self) -> Vec<String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        mounts.lines().filter(|line| line.contains(&*self.dir().to_string_lossy())).map(str::to_owned).collect()
    }

    /// No loop device, mount, directory, journal or process of this lab.
    pub(crate) fn nothing_is_left(&self) {
        assert_eq!(self.carriers(), [""; 0]);
        assert_eq!(self.mounts(), [""; 0]);
        assert_eq!(self.json(&["list"]), serde_json::json!([]));
        let journals: Vec<PathBuf> =
            fs::read_dir(self.dir().join("journal")).into_iter().flatten().flatten().map(|e| e.path()).collect();
        assert!(journals.is_empty(), "{journals:?}");
        let ours = self.dir().to_string_lossy().into_owned();
        eventually("no server is left", || {
            !fs::read_dir("/proc").expect("proc").flatten().any(|process| {
                let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line);
                line.contains("\0serve\0") && line.contains(&ours)
            })
        });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let output = self.output(&["down", "--all", "--force"]);
        if !output.status.success() {
            eprintln!("clearing up failed: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Runs a tool, which must succeed, and gives what it printed.
pub(crate) fn run(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn knob(queue: &Path, file: &str) -> String {
    fs::read_to_string(queue.join(file)).expect("knob").trim_end().to_owned()
}

/// The knob of a loop device that carries nothing; `None` when another process, such as another test, uses it by now.
pub(crate) fn knob_at_rest(queue: &Path, file: &str) -> Option<String> {
    let value = knob(queue, file);
    (!queue.with_file_name("loop/backing_file").exists()).then_some(value)
}

pub(crate) fn resident_bytes(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    line.split_ascii_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") * 1024
}

/// Looks until a condition holds; fails when it does not within half a minute.
pub(crate) fn eventually(what: &str, condition: impl FnMut() -> bool) {
    eventually_within(Duration::from_secs(30), what, condition);
}

/// The same within another time.
pub(crate) fn eventually_within(time: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + time;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
