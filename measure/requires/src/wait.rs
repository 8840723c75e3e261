//! Waits of tests, each with a limit: a test that waits for what never comes fails with the name of it, and ends.

use std::io::{BufRead as _, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Longest wait for one thing: a guard against hanging, and no measure of anything.
pub const LIMIT: Duration = Duration::from_secs(120);

fn is_ready(fd: impl AsFd) -> bool {
    let span = Timespec { tv_sec: LIMIT.as_secs().cast_signed(), tv_nsec: 0 };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&span)).is_ok_and(|ready| ready > 0)
}

/// Tries `condition` until it holds.
///
/// # Panics
/// When it does not within [`LIMIT`]; `awaited` completes the sentence 'waited in vain for'.
#[track_caller]
pub fn until(awaited: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "waited in vain for {awaited}");
        std::thread::yield_now();
    }
}

/// The next line of a pipe, with its end; empty when the pipe is closed.
///
/// # Panics
/// When there is none within [`LIMIT`], or it is no text.
#[track_caller]
pub fn next_line(from: &mut BufReader<impl Read + AsFd>, awaited: &str) -> String {
    assert!(!from.buffer().is_empty() || is_ready(from.get_ref()), "waited in vain for {awaited}");
    let mut line = String::new();
    from.read_line(&mut line).expect("a line of text");
    line
}

/// Reads a pipe up to and with the next line that is as `wanted`; gives that line.
///
/// # Panics
/// When it does not come within [`LIMIT`], or the pipe is closed before.
#[track_caller]
pub fn line_with(from: &mut BufReader<impl Read + AsFd>, awaited: &str, wanted: impl Fn(&str) -> bool) -> String {
    let begun = Instant::now();
    loop {
        let line = next_line(from, awaited);
        assert!(!line.is_empty(), "it ended before it said '{awaited}'");
        if wanted(&line) {
            return line;
        }
        assert!(begun.elapsed() < LIMIT, "waited in vain for {awaited}");
    }
}

/// Waits for the end of a child.
///
/// # Panics
/// When it does not end within [`LIMIT`]; it is killed then.
#[track_caller]
pub fn end_of(child: &mut Child) -> ExitStatus {
    if let Ok(pidfd) = pidfd_open(Pid::from_child(child), PidfdFlags::empty())
        && !is_ready(&pidfd)
    {
        let _ = child.kill();
        panic!("waited in vain for the end of process {}", child.id());
    }
    child.wait().expect("a child of this process")
}

/// Kills a process when [`LIMIT`] passes before this is dropped, so that a call that waits for its answer returns.
#[derive(Debug)]
#[must_use = "the limit ends when this is dropped"]
pub struct KilledLate {
    _dropped: Sender<()>,
}

/// Lets process `pid` be killed in [`LIMIT`], unless the result is dropped before.
pub fn killed_late(pid: u32, awaited: &str) -> KilledLate {
    let (sender, dropped) = channel();
    let process = Pid::from_raw(pid.cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let awaited = awaited.to_owned();
    std::thread::spawn(move || {
        if dropped.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout)
            && let Some(process) = process
        {
            eprintln!("waited in vain for {awaited}: process {pid} is killed");
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    });
    KilledLate { _dropped: sender }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_line_is_found_behind_others_and_the_end_is_told() {
        let mut child = Command::new("sh")
            .args(["-c", "echo one; echo two; exit 3"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        assert_eq!(line_with(&mut said, "two", |line| line.starts_with("tw")), "two\n");
        assert_eq!(next_line(&mut said, "nothing"), "");
        assert_eq!(end_of(&mut child).code(), Some(3));
        let mut left = 2;
        until("the second time", || {
            left -= 1;
            left == 0
        });
    }

    #[test]
    fn a_limit_that_is_dropped_kills_nothing() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
        drop(killed_late(child.id(), "cat"));
        drop(child.stdin.take());
        assert!(end_of(&mut child).success());
    }
}
