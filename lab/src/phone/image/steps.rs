//! Runs the steps of a build: external programs, with log, progress and cancellation.
//!
//! Steps that work in the root run in their own mount and process namespaces (`unshare` of util-linux). Their mounts
//! and processes disappear with them, even when brisk is killed: the kernel kills the first process of the namespace
//! with `unshare`, and `unshare` with brisk.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::phone::error::{Error, Result, io as failed};

/// How often the stop flag is polled.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time limit of the kernel for ending the processes of a namespace.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);
/// Lines of the log that an error cites.
const CITED_LINES: usize = 4;

pub(super) struct Steps<'a> {
    log: File,
    log_path: PathBuf,
    stop: &'a AtomicBool,
    progress: &'a mut dyn FnMut(&str),
    begun: Instant,
}

impl<'a> Steps<'a> {
    /// Steps with a new log at `log_path`.
    pub(super) fn new(log_path: PathBuf, stop: &'a AtomicBool, progress: &'a mut dyn FnMut(&str)) -> Result<Self> {
        let log = File::create(&log_path).map_err(failed(format!("make the log {}", log_path.display())))?;
        Ok(Self { log, log_path, stop, progress, begun: Instant::now() })
    }

    pub(super) fn report(&mut self, what: &str) {
        (self.progress)(what);
        let at_s = self.begun.elapsed().as_secs();
        self.note(&format!("== {at_s} s: {what}"));
    }

    /// Writes a line to the log only.
    pub(super) fn note(&mut self, line: &str) {
        // A failed write to the log does not fail the build.
        let _ = writeln!(self.log, "{line}");
    }

    /// # Errors
    /// [`Error::Stopped`] when the stop flag is set.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The log as output of a program that is not run by [`Self::run`].
    pub(super) fn output(&self) -> Result<Stdio> {
        self.log.try_clone().map(Stdio::from).map_err(failed("open the log again"))
    }

    /// The error of a step, with the end of the log.
    pub(super) fn failure(&self, step: &str, why: &str) -> Error {
        let text = std::fs::read(&self.log_path).unwrap_or_default();
        let cited = last_lines(&String::from_utf8_lossy(&text));
        let reason = if cited.is_empty() { why.to_owned() } else { format!("{why}; it said: {cited}") };
        Error::Step { step: step.to_owned(), reason, log: self.log_path.clone() }
    }

    /// Runs a program to its end. Its output goes to the log and to the progress callback.
    ///
    /// # Errors
    /// When it cannot be started, fails, or the stop flag is set.
    pub(super) fn run(&mut self, step: &str, mut command: Command) -> Result<()> {
        self.check()?;
        self.report(step);
        let (mut output, input) = io::pipe().map_err(failed("make a pipe"))?;
        let errors = input.try_clone().map_err(failed("make a pipe"))?;
        command.stdin(Stdio::null()).stdout(input).stderr(errors);
        let started = command.spawn();
        // The command holds the write end of the pipe until it is dropped.
        drop(command);
        let mut child = started.map_err(|error| self.failure(step, &format!("it could not be started: {error}")))?;
        let ended = self.follow(step, &mut child, &mut output);
        if ended.is_err() {
            end(&mut child);
        }
        let status = ended?;
        if status.success() { Ok(()) } else { Err(self.failure(step, &status.to_string())) }
    }

    fn follow(&mut self, step: &str, child: &mut Child, output: &mut io::PipeReader) -> Result<ExitStatus> {
        let mut buffer = [0; 4096];
        let mut line = Vec::new();
        let wait = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) };
        loop {
            self.check()?;
            let ready = poll(&mut [PollFd::new(&*output, PollFlags::IN)], Some(&wait)).unwrap_or_default();
            let count = if ready == 0 { 0 } else { output.read(&mut buffer).map_err(failed("follow a step"))? };
            let _ = self.log.write_all(&buffer[..count]);
            for &byte in &buffer[..count] {
                if matches!(byte, b'\n' | b'\r') {
                    self.show(step, &line);
                    line.clear();
                } else if line.len() < 200 {
                    line.push(byte);
                }
            }
            if count == 0
                && let Some(status) = child.try_wait().map_err(failed("wait for a step"))?
            {
                return Ok(status);
            }
            if ready > 0 && count == 0 {
                // Its output is closed; only its exit is awaited.
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }

    fn show(&mut self, step: &str, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text: String = text.trim().chars().filter(|c| !c.is_control()).take(60).collect();
        if !text.is_empty() {
            (self.progress)(&format!("{step}: {text}"));
        }
    }
}

/// The last lines of a log with content, joined.
fn last_lines(log: &str) -> String {
    let said = |line: &&str| !line.trim().is_empty() && !line.starts_with("== ");
    let mut lines: Vec<&str> = log.lines().filter(said).rev().take(CITED_LINES).collect();
    lines.reverse();
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("; ")
}

/// A command in its own mount and process namespaces that ends with this process.
pub(super) fn contained(program: impl AsRef<OsStr>, arguments: &[OsString]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=SIGKILL", "--"]);
    command.arg(program).args(arguments).process_group(0);
    brisk_program::child::with_own_mounts(&mut command);
    brisk_program::child::end_with_parent(&mut command, Signal::KILL);
    command
}

/// Kills a command and the processes in its namespace. The namespace's first process is killed first: its exit is
/// reported only after all others in the namespace have ended.
pub(super) fn end(child: &mut Child) {
    let first = children(child.id());
    if first.is_empty() {
        let _ = child.kill();
    }
    for pid in first.into_iter().filter_map(Pid::from_raw) {
        // It may have ended already.
        let _ = kill_process(pid, Signal::KILL);
    }
    let deadline = Instant::now() + EXIT_TIMEOUT;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(POLL_INTERVAL / 10);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Child processes of `pid`.
fn children(pid: u32) -> Vec<i32> {
    let sense = Sense::default();
    let is_child = |&other: &u32| matches!(sense.process_stat(other), Ok(Some(stat)) if stat.parent == pid);
    sense.process_ids().unwrap_or_default().into_iter().filter(is_child).map(u32::cast_signed).collect()
}

/// Finds a tool, also in directories for administrators that PATH may lack.
pub(crate) fn tool(name: &'static str, purpose: &'static str, package: &'static str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from));
    let is_program = |file: &PathBuf| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file();
    dirs.map(|dir| dir.join(name)).find(is_program).ok_or(Error::NoTool { tool: name, purpose, package })
}

/// Whether there is a mount below `dir`, whose files must then not be removed.
pub(crate) fn is_mounted_below(dir: &Path) -> Result<bool> {
    let mounts = Sense::default().mounts()?;
    Ok(mounts.iter().any(|mount| mount.mount_point.starts_with(dir)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps<'a>(dir: &Path, stop: &'a AtomicBool, progress: &'a mut dyn FnMut(&str)) -> Steps<'a> {
        Steps::new(dir.join("log"), stop, progress).expect("a log")
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_output_of_a_step_is_followed_and_cited_on_failure() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let stop = AtomicBool::new(false);
        let mut said = Vec::new();
        let mut progress = |what: &str| said.push(what.to_owned());
        let mut steps = steps(dir.path(), &stop, &mut progress);
        steps.run("greet", shell("echo one; echo two >&2")).expect("it works");
        let error = steps.run("fail", shell("echo no such mirror >&2; exit 7")).expect_err("it fails").to_string();
        assert!(error.contains("fail failed") && error.contains("no such mirror") && error.contains("7"), "{error}");
        assert!(said.contains(&"greet: one".to_owned()) && said.contains(&"greet: two".to_owned()), "{said:?}");
    }

    #[test]
    fn a_set_stop_flag_ends_the_step() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let stop = AtomicBool::new(false);
        let mut progress = |what: &str| {
            if what.ends_with("begun") {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let mut steps = steps(dir.path(), &stop, &mut progress);
        let begun = Instant::now();
        let outcome = steps.run("wait", shell("echo begun; exec sleep 1000"));
        assert!(matches!(outcome, Err(Error::Stopped)), "{outcome:?}");
        assert!(begun.elapsed() < Duration::from_secs(100));
    }

    #[test]
    fn no_process_of_a_namespace_outlives_it() {
        brisk_requires::requires!(Mount, Program("unshare"));
        let dir = tempfile::tempdir().expect("temporary directory");
        let script = format!("mount -t tmpfs none {0} && (sleep 1000 & touch {0}/x; wait)", dir.path().display());
        let mut child = contained("sh", &["-c".into(), script.into()]).spawn().expect("unshare starts");
        let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let below = |pids: Vec<i32>| pids.into_iter().flat_map(|pid| children(pid.unsigned_abs())).collect::<Vec<_>>();
        // unshare, the shell, the subshell, and its background process.
        let asleep = || below(below(children(child.id()))).into_iter().filter(|&pid| name(pid).trim() == "sleep");
        let deadline = Instant::now() + Duration::from_secs(30);
        let sleeper = loop {
            if let Some(pid) = asleep().next() {
                break pid;
            }
            assert!(Instant::now() < deadline, "something runs in the namespace");
            std::thread::yield_now();
        };
        end(&mut child);
        assert_ne!(name(sleeper).trim(), "sleep");
        assert!(!is_mounted_below(dir.path()).expect("readable"));
        assert!(!dir.path().join("x").exists());
    }

    #[test]
    fn the_end_of_a_log_is_cited_without_headings() {
        assert_eq!(last_lines("== a\none\n\n  two \n== b\n"), "one; two");
        assert_eq!(last_lines(""), "");
        assert_eq!(last_lines("1\n2\n3\n4\n5"), "2; 3; 4; 5");
    }
}
