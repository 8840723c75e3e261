//! What commands and the daemon do when their streams fail: the disk is full, or the reader has ended.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

const BRISK: &str = env!("CARGO_BIN_EXE_brisk");

/// Where a stream goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum To {
    Null,
    FullDisk,
    /// A pipe whose reader has ended.
    GoneReader,
}

fn stdio(to: To) -> Stdio {
    match to {
        To::Null => Stdio::null(),
        To::FullDisk => File::options().write(true).open("/dev/full").expect("a device that is always full").into(),
        To::GoneReader => {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            writer.into()
        }
    }
}

fn status(command: &mut Command, stdout: To, stderr: To) -> ExitStatus {
    command.stdin(Stdio::null()).stdout(stdio(stdout)).stderr(stdio(stderr)).status().expect("it runs")
}

/// Commands that print, that fail, and that are called wrongly.
const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["bench", "--help"],
    &["doctor"],
    &["doctor", "--json"],
    &["config", "default"],
    &["config", "show", "/dev/null"],
    &["config", "check", "/nonexistent/brisk.toml"],
    &["completions", "bash"],
    &["status", "--run-dir", "/nonexistent"],
    &["explain", "--run-dir", "/nonexistent", "--record", "/nonexistent"],
    &["monitor", "--duration", "200ms", "--interval", "100ms"],
    &["nosuch"],
    &["bench", "--nosuch"],
];

#[test]
fn a_failing_standard_error_never_changes_the_status() {
    for words in COMMANDS {
        let run = |stderr| status(Command::new(BRISK).args(*words), To::Null, stderr);
        let expected = run(To::Null);
        assert!(expected.code().is_some(), "{words:?}: {expected}");
        for stderr in [To::FullDisk, To::GoneReader] {
            assert_eq!(run(stderr), expected, "{words:?} with standard error to {stderr:?}");
        }
    }
}

#[test]
fn output_that_does_not_fit_on_the_disk_is_an_error_and_output_without_a_reader_is_none() {
    for words in COMMANDS {
        let run = |stdout, stderr| status(Command::new(BRISK).args(*words), stdout, stderr);
        let expected = run(To::Null, To::Null);
        for stderr in [To::Null, To::FullDisk] {
            assert_eq!(run(To::GoneReader, stderr), expected, "{words:?} without a reader");
        }
        let output = Command::new(BRISK).args(*words).stdin(Stdio::null()).stdout(Stdio::piped()).output();
        if output.expect("it runs").stdout.is_empty() {
            continue;
        }
        let full = Command::new(BRISK).args(*words).stdin(Stdio::null()).stdout(stdio(To::FullDisk)).output();
        let full = full.expect("it runs");
        assert_eq!(full.status.code(), Some(2), "{words:?} on a full disk");
        let message = String::from_utf8_lossy(&full.stderr);
        assert!(message.contains("standard output") && !message.contains("panicked"), "{words:?}: {message}");
        assert_eq!(run(To::FullDisk, To::FullDisk), full.status, "{words:?}: both on a full disk");
    }
}

fn briskd(dir: &Path) -> Command {
    let mut briskd = Command::new(BRISK);
    let config = dir.join("brisk.toml");
    std::fs::write(&config, format!("[daemon]\nrecord = {{ path = {:?}, max_bytes = 0 }}\n", dir.join("record")))
        .expect("written");
    briskd.arg0("briskd").arg("--config").arg(config).arg("--run-dir").arg(dir.join("run"));
    briskd.arg("--learned").arg(dir.join("learned")).arg("--profiles").arg(dir.join("profiles"));
    briskd.args(["--dry-run", "--once", "--foreground"]);
    briskd
}

#[test]
fn a_daemon_whose_log_fails_runs_on() {
    let dir = tempfile::tempdir().expect("a directory");
    for stderr in [To::Null, To::FullDisk, To::GoneReader] {
        // It logs each decision, the start and the end.
        assert_eq!(status(&mut briskd(dir.path()), To::Null, stderr).code(), Some(0), "{stderr:?}");
    }
    // One that cannot start has its own status.
    for stderr in [To::Null, To::FullDisk, To::GoneReader] {
        let mut wrong = briskd(dir.path());
        wrong.args(["--config", "/nonexistent"]);
        assert_eq!(status(&mut wrong, To::Null, stderr).code(), Some(2), "{stderr:?}");
        let mut keeper = Command::new(BRISK);
        assert_eq!(status(keeper.arg0("briskd-keeper"), To::Null, stderr).code(), Some(2), "{stderr:?}");
    }
}

#[test]
fn a_daemon_whose_log_is_not_read_runs_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_unread, writer) = std::io::pipe().expect("a pipe");
    // As full as it gets.
    rustix::io::ioctl_fionbio(&writer, true).expect("a pipe");
    while std::io::Write::write(&mut (&writer), &[b'x'; 1000]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).expect("a pipe");
    let ended = briskd(dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).status();
    assert_eq!(ended.expect("it runs").code(), Some(0));
}

#[test]
fn lines_of_a_daemon_have_a_priority_where_its_log_is_the_journal() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    let stat = |file: &File| rustix::fs::fstat(file).expect("a file");
    let run = |of_journal: bool| {
        let file = File::create(&log).expect("made");
        let stream = if of_journal { format!("{}:{}", stat(&file).st_dev, stat(&file).st_ino) } else { "1:1".into() };
        let ended = briskd(dir.path()).env("JOURNAL_STREAM", stream).stderr(file).status().expect("it runs");
        assert!(ended.success());
        std::fs::read_to_string(&log).expect("text")
    };
    let lines = run(true);
    assert!(
        !lines.is_empty()
            && lines.lines().all(|line| ["<3>briskd: ", "<4>briskd: ", "<5>briskd: ", "<6>briskd: "]
                .iter()
                .any(|prefix| line.starts_with(prefix))),
        "{lines}"
    );
    // A file has the time instead.
    let lines = run(false);
    let is_timed = |line: &str| line.starts_with("20") && line.get(19..29) == Some("Z briskd: ");
    assert!(!lines.is_empty() && lines.lines().all(is_timed), "{lines}");
}
