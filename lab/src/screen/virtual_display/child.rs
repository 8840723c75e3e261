//! Process of a display server or window manager: start, readiness, end.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::event::PollFlags;
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Error, Result};
use crate::screen::wait::wait;

/// Time limit until a server is ready, from cold storage.
const START_NS: u64 = 60_000_000_000;
/// Time limit for a server to end after SIGTERM.
const END_NS: u64 = 5_000_000_000;
/// Most bytes of a server's output in an error.
const WORDS_BYTES: usize = 600;

#[derive(Debug)]
pub(super) struct Server {
    name: &'static str,
    child: Child,
    pidfd: OwnedFd,
    stdout: ChildStdout,
    stderr: std::fs::File,
    output: Vec<u8>,
}

impl Server {
    /// Starts `command`; it ends when the calling thread does. `package` is its Debian package.
    pub(super) fn start(name: &'static str, package: &str, mut command: Command) -> Result<Self> {
        let refuse = |reason: String| Error::NoServer { display: format!("a new {name}"), reason };
        // A file and not a pipe: the output is not read continuously, and a full pipe would block the server.
        let stderr = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)
            .and_then(|own| Ok((rustix::io::fcntl_dupfd_cloexec(&own, 0)?, own)))
            .map_err(|errno| refuse(format!("no file for its messages: {errno}")))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr.0);
        brisk_program::child::end_with_parent(&mut command, Signal::TERM);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                refuse(format!("the program {name} is not installed (Debian: apt-get install {package})"))
            }
            _ => refuse(format!("{name} does not start: {error}")),
        })?;
        let pidfd = Pid::from_raw(child.id().cast_signed())
            .ok_or(rustix::io::Errno::SRCH)
            .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()));
        match (pidfd, child.stdout.take()) {
            (Ok(pidfd), Some(stdout)) => {
                Ok(Self { name, child, pidfd, stdout, stderr: stderr.1.into(), output: Vec::new() })
            }
            (pidfd, _) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(refuse(format!("{name} cannot be held: {:?}", pidfd.err())))
            }
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The rest of the first line of its output that begins with `prefix`.
    pub(super) fn line(&mut self, prefix: &str) -> Result<String> {
        let until_ns = monotonic_ns() + START_NS;
        loop {
            let mut lines = self.output.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
            let said = lines.find_map(|line| String::from_utf8_lossy(line).strip_prefix(prefix).map(str::to_owned));
            if let Some(said) = said {
                return Ok(said.trim_end().to_owned());
            }
            let ready = wait(self.stdout.as_fd(), PollFlags::IN, until_ns);
            let mut some = [0; 512];
            match ready.and_then(|ready| if ready { self.stdout.read(&mut some).map(Some) } else { Ok(None) }) {
                Ok(Some(1..)) if self.output.len() > 1 << 20 => return Err(self.failed("it talks without end")),
                Ok(Some(len @ 1..)) => self.output.extend_from_slice(&some[..len]),
                Ok(Some(0)) => return Err(self.failed("it ended at once")),
                Ok(None) => return Err(self.failed("it was not ready within 60 s")),
                Err(error) => return Err(self.failed(&error.to_string())),
            }
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        // A pidfd is readable when its process has ended.
        matches!(wait(self.pidfd.as_fd(), PollFlags::IN, 0), Ok(true))
    }

    /// Ends it; returns the error with its last output.
    pub(super) fn failed(&mut self, reason: &str) -> Error {
        self.end();
        let mut words = Vec::new();
        // Unreadable output is not part of the message.
        let _ = self.stderr.seek(SeekFrom::Start(0)).and_then(|_| self.stderr.read_to_end(&mut words));
        let words = String::from_utf8_lossy(&words);
        let words = words.trim();
        let from = words.char_indices().rev().nth(WORDS_BYTES).map_or(0, |(at, _)| at);
        let reason = match &words[from..] {
            "" => reason.to_owned(),
            last => format!("{reason}; its last words: {last}"),
        };
        Error::NoServer { display: format!("a new {}", self.name), reason }
    }

    /// Ends the server with SIGTERM, then SIGKILL. Its process id stays allocated until this value is dropped.
    pub(super) fn end(&self) {
        // A signal fails only for a process that has ended.
        for signal in [Signal::TERM, Signal::KILL] {
            let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
            if matches!(wait(self.pidfd.as_fd(), PollFlags::IN, monotonic_ns() + END_NS), Ok(true)) {
                break;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
        let _ = self.child.wait();
    }
}
