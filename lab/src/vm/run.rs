//! Runs a program with line-by-line output, time limit and cancellation.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::vm::Watch;
use crate::vm::error::{Error, Result};

/// How often the stop flag is polled.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) enum Ended {
    Status(ExitStatus),
    /// It exceeded the time limit.
    TimeLimit,
}

/// A program and its descendants; killed on drop.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // The process id is not reused until it was waited for.
        if let Ok(None) = self.0.try_wait()
            && let Some(pid) = Pid::from_raw(self.0.id().cast_signed())
        {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Runs `command` in its own process group and passes each line of its output and error output to `receive`.
///
/// # Errors
/// When it cannot be started, or the run is cancelled.
pub(crate) fn run(
    command: Command,
    program: (&'static str, &'static str),
    limit: Duration,
    watch: Watch<'_>,
    receive: impl FnMut(Line),
) -> Result<Ended> {
    run_polled(command, program, limit, watch, receive, || Ok(()))
}

/// [`run`] that also calls `poll` about ten times a second.
///
/// # Errors
/// As [`run`], and those of `poll`.
pub(crate) fn run_polled(
    mut command: Command,
    program: (&'static str, &'static str),
    limit: Duration,
    watch: Watch<'_>,
    mut receive: impl FnMut(Line),
    mut poll: impl FnMut() -> Result<()>,
) -> Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    brisk_program::child::end_with_parent(&mut command, Signal::TERM);
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::NoProgram { program: program.0, package: program.1 },
        _ => Error::Failed { what: program.0.to_owned(), words: error.to_string() },
    })?;
    let mut group = Group(child);
    let (sender, lines) = channel();
    if let Some(output) = group.0.stdout.take() {
        listen(output, Line::Said, sender.clone());
    }
    if let Some(errors) = group.0.stderr.take() {
        listen(errors, Line::Complained, sender);
    }
    let begun = Instant::now();
    loop {
        watch.check()?;
        poll()?;
        if begun.elapsed() > limit {
            return Ok(Ended::TimeLimit);
        }
        match lines.recv_timeout(LOOK) {
            Ok(line) => receive(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status =
        group.0.wait().map_err(|error| Error::Failed { what: program.0.to_owned(), words: error.to_string() })?;
    Ok(Ended::Status(status))
}

/// A line of output, without line feed.
#[derive(Debug)]
pub(crate) enum Line {
    /// On its standard output.
    Said(String),
    /// On its standard error.
    Complained(String),
}

/// Reads lines from a pipe until it is closed.
fn listen(pipe: impl Read + Send + 'static, kind: fn(String) -> Line, to: Sender<Line>) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while matches!(reader.read_until(b'\n', &mut bytes), Ok(1..)) {
            let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            if to.send(kind(line)).is_err() {
                break;
            }
            bytes.clear();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn with(stop: &AtomicBool, script: &str, limit: Duration, receive: impl FnMut(Line)) -> Result<Ended> {
        run(shell(script), ("sh", "dash"), limit, Watch { stop, progress: &|_, _| {} }, receive)
    }

    #[test]
    fn both_outputs_and_the_status_are_returned() {
        let mut received = Vec::new();
        let stop = AtomicBool::new(false);
        let ended = with(&stop, "echo one; echo two >&2; exit 3", Duration::from_secs(60), |line| received.push(line));
        assert!(matches!(ended, Ok(Ended::Status(status)) if status.code() == Some(3)));
        assert!(received.iter().any(|line| matches!(line, Line::Said(text) if text == "one")));
        assert!(received.iter().any(|line| matches!(line, Line::Complained(text) if text == "two")));
    }

    #[test]
    fn after_the_time_limit_all_descendants_are_killed() {
        let stop = AtomicBool::new(false);
        let mut inner = 0;
        // The shell waits for a child; both must end.
        let ended = with(&stop, "sleep 600 & echo $!; wait", Duration::from_millis(300), |line| {
            if let Line::Said(text) = line {
                inner = text.parse().expect("a process id");
            }
        });
        assert!(matches!(ended, Ok(Ended::TimeLimit)));
        let pid = Pid::from_raw(inner).expect("a process id");
        let gone = || match std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
            Ok(stat) => stat.contains(") Z"),
            Err(_) => true,
        };
        let begun = Instant::now();
        while !gone() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        assert!(gone(), "process {inner} is still there");
    }

    #[test]
    fn cancelling_ends_it() {
        let stop = AtomicBool::new(false);
        let outcome = with(&stop, "echo ready; sleep 600", Duration::from_secs(600), |_| {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert!(matches!(outcome, Err(Error::Stopped)));
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let stop = AtomicBool::new(false);
        let watch = Watch { stop: &stop, progress: &|_, _| {} };
        let outcome = run(Command::new("brisk-no-such-program"), ("qemu", "qemu-system-x86"), LOOK, watch, |_| {});
        assert!(outcome.expect_err("no such program").to_string().contains("apt-get install"));
    }
}
