//! The hook of a maker: a program that is run, without a shell, for each event, with the event as a line of JSON on its
//! standard input.
//!
//! It runs as the daemon's user without any capability, in the daemon's sandbox, with a time limit; one runs at a time,
//! and others wait. It cannot delay the daemon: its input fits in a pipe, and its end wakes the loop. A hook that
//! cannot be started, fails or takes too long is a complaint, and the next event runs it again.
//!
//! Properties: `each_event_is_one_run_with_its_json`; `one_runs_at_a_time_and_what_waits_is_bounded`;
//! `one_that_takes_too_long_is_killed_with_its_children`; `failures_are_complaints`.

use std::collections::VecDeque;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use brisk_program::child::{Signal, end_with_parent, without_rights};
use rustix::process::{Pid, PidfdFlags, kill_process_group, pidfd_open};

use crate::config;

/// Events that wait: of more, the oldest are dropped.
const WAITING_MAX: usize = 16;
/// An event has at most so many bytes: a pipe takes them at once.
const EVENT_BYTES_MAX: usize = 4096;
const S_NS: u64 = 1_000_000_000;

/// The hook, and what waits for it.
#[derive(Debug, Default)]
pub struct Hook {
    words: Vec<String>,
    timeout_s: u64,
    running: Option<Running>,
    waiting: VecDeque<String>,
    dropped: u64,
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// Becomes readable when it ends.
    pidfd: Option<OwnedFd>,
    until_ns: u64,
    /// Its time was over; what the kernel holds may take longer to end.
    is_killed: bool,
}

impl Hook {
    /// This one from now on. One that runs may end.
    pub fn configure(&mut self, config: &config::Hook) {
        // The configuration was checked.
        (self.words, self.timeout_s) = (config.words().unwrap_or_default(), config.timeout_s);
        if self.words.is_empty() {
            self.waiting.clear();
        }
    }

    /// Whether there is one.
    #[must_use]
    pub fn is_set(&self) -> bool {
        !self.words.is_empty()
    }

    /// Has it run for this event, a value of JSON.
    pub fn push(&mut self, event: &serde_json::Value) {
        let text = event.to_string() + "\n";
        if !self.is_set() || text.len() > EVENT_BYTES_MAX {
            self.dropped += u64::from(self.is_set());
            return;
        }
        self.waiting.push_back(text);
        while self.waiting.len() > WAITING_MAX {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }

    /// To poll for its end.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref()?.pidfd.as_ref().map(OwnedFd::as_fd)
    }

    /// When it is due without an event: its time is over, or the next can begin.
    #[must_use]
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        match &self.running {
            // Without a pidfd (Linux before 5.3) its end is not announced.
            Some(Running { pidfd: None, until_ns, is_killed, .. }) => {
                let again_ns = now_ns.saturating_add(S_NS);
                Some(if *is_killed { again_ns } else { again_ns.min(*until_ns) })
            }
            Some(running) => (!running.is_killed).then_some(running.until_ns),
            None => (!self.waiting.is_empty()).then_some(now_ns),
        }
    }

    /// Takes in its end, ends it where its time is over, and runs the next. What went wrong, a sentence each.
    pub fn tend(&mut self, now_ns: u64) -> Vec<String> {
        let mut complaints = Vec::new();
        let name = self.words.first().cloned().unwrap_or_default();
        if let Some(running) = &mut self.running {
            match running.child.try_wait() {
                Ok(None) if running.is_killed || now_ns < running.until_ns => return complaints,
                Ok(None) => {
                    kill(&mut running.child);
                    running.is_killed = true;
                    complaints.push(format!("the hook {name} took longer than {} s, and was killed", self.timeout_s));
                    return complaints;
                }
                Ok(Some(_)) if running.is_killed => {}
                Ok(Some(status)) if !status.success() => complaints.push(format!("the hook {name} failed: {status}")),
                Ok(Some(_)) => {}
                Err(error) => complaints.push(format!("the hook {name} is lost: {error}")),
            }
            self.running = None;
        }
        if std::mem::take(&mut self.dropped) > 0 {
            complaints.push(format!("events were too many for the hook {name}, or too long: some were left out"));
        }
        let Some(event) = self.waiting.pop_front().filter(|_| self.is_set()) else { return complaints };
        match start(&self.words, &event) {
            Ok(child) => {
                let pidfd =
                    Pid::from_raw(child.id().cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                let until_ns = now_ns.saturating_add(self.timeout_s.saturating_mul(S_NS));
                self.running = Some(Running { child, pidfd, until_ns, is_killed: false });
            }
            Err(error) => complaints.push(format!("the hook {name} cannot be run: {error}")),
        }
        complaints
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            kill(&mut running.child);
        }
    }
}

fn start(words: &[String], event: &str) -> std::io::Result<Child> {
    let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir("/");
    // What it says of trouble is in the log of the service.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit());
    without_rights(&mut command);
    end_with_parent(&mut command, Signal::KILL);
    let mut child = command.spawn()?;
    // One that reads nothing is its own business.
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(event.as_bytes());
    }
    Ok(child)
}

/// Ends it with all that it has started in its process group.
fn kill(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use serde_json::json;

    fn hook(command: &str, timeout_s: u64) -> Hook {
        let mut hook = Hook::default();
        hook.configure(&config::Hook { command: command.to_owned(), timeout_s });
        hook
    }

    /// Tends it until nothing runs or waits.
    fn finish(hook: &mut Hook) -> Vec<String> {
        let mut complaints = Vec::new();
        brisk_requires::until("the end of the hook", || {
            complaints.extend(hook.tend(0));
            hook.running.is_none() && hook.waiting.is_empty()
        });
        complaints
    }

    fn to(file: &Path) -> String {
        format!("/bin/sh -c 'cat >>\"$0\"' {}", file.display())
    }

    #[test]
    fn each_event_is_one_run_with_its_json() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("events");
        let mut hook = hook(&to(&file), 10);
        hook.push(&json!({ "event": "loss", "app": "a" }));
        hook.push(&json!({ "event": "trial" }));
        assert_eq!(finish(&mut hook), [""; 0]);
        let said = std::fs::read_to_string(&file).expect("written");
        assert_eq!(said, "{\"app\":\"a\",\"event\":\"loss\"}\n{\"event\":\"trial\"}\n");
        assert_eq!((hook.next_ns(5), hook.fd().is_none()), (None, true));
    }

    #[test]
    fn one_runs_at_a_time_and_what_waits_is_bounded() {
        let mut hook = hook("/bin/sleep 600", 10);
        (0..WAITING_MAX + 3).for_each(|n| hook.push(&json!({ "n": n })));
        hook.push(&json!({ "long": "x".repeat(EVENT_BYTES_MAX) }));
        assert_eq!(hook.next_ns(7), Some(7));
        let complaints = hook.tend(7);
        assert!(complaints.len() == 1 && complaints[0].contains("some were left out"), "{complaints:?}");
        assert_eq!(hook.tend(8), [""; 0]);
        assert_eq!((hook.waiting.len(), hook.next_ns(8)), (WAITING_MAX - 1, Some(7 + 10 * S_NS)));
        // Without a hook nothing waits.
        hook.configure(&config::Hook::default());
        hook.push(&json!({}));
        assert!(hook.waiting.is_empty() && !hook.is_set());
    }

    #[test]
    fn one_that_takes_too_long_is_killed_with_its_children() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("child");
        let mut hook = hook(
            &format!("/bin/sh -c 'sleep 600 & echo $! >\"$0.new\"; mv \"$0.new\" \"$0\"; wait' {}", file.display()),
            10,
        );
        hook.push(&json!({}));
        assert_eq!(hook.tend(0), [""; 0]);
        brisk_requires::until("its child", || file.exists());
        let child = std::fs::read_to_string(&file).expect("written");
        let complaints = hook.tend(10 * S_NS);
        assert!(complaints[0].ends_with("took longer than 10 s, and was killed"), "{complaints:?}");
        let stat = format!("/proc/{}/stat", child.trim());
        let has_ended = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        brisk_requires::until("the end of its child", has_ended);
        // Its end is no further failure.
        assert_eq!(finish(&mut hook), [""; 0]);
    }

    #[test]
    fn failures_are_complaints() {
        let of = |command: &str| {
            let mut hook = hook(command, 10);
            hook.push(&json!({}));
            finish(&mut hook)
        };
        assert_eq!(of("/bin/sh -c 'exit 3'"), ["the hook /bin/sh failed: exit status: 3"]);
        let missing = of("/nonexistent/hook");
        assert!(missing[0].starts_with("the hook /nonexistent/hook cannot be run: No such file"), "{missing:?}");
    }
}
