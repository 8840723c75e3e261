//! Measurements that a client has the daemon start: one at a time, each by a process of its own.
//!
//! The daemon itself may not measure: its sandbox opens no device and gives it little memory and few tasks, and the
//! page that asks has no right at all. Where a service manager confines the daemon, a connection to its socket
//! [`JOB_SOCKET`] begins a service with the rights that a measurement takes (`brisk-job@.service`); elsewhere the
//! daemon starts the same program as a child. Either is `brisk-job`, at the other end of a stream:
//!
//! ```text
//! daemon    ──an Order as a line of JSON──>       brisk-job
//! brisk-job ──"o TEXT" for each line, "e CODE"──> daemon
//! daemon    ──its half is closed: stop──>         brisk-job (SIGINT, which puts settings back)
//! ```
//!
//! So a daemon that ends, however, stops the measurement. Lines such as ` 12 % reads` are progress.
//!
//! Properties: `one_runs_at_a_time_and_what_it_says_is_bounded`; `one_that_is_stopped_says_so`;
//! `a_program_that_breaks_off_has_failed`.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use brisk_api::{JOB_SOCKET, Job, JobEnd, JobKind};
use brisk_program::child::{Signal, end_with_parent};
use serde::{Deserialize, Serialize};

/// Name under which this program runs a measurement.
pub const PROGRAM: &str = "brisk-job";

/// Lines that are kept, and characters of one.
const SAID_MAX: usize = 60;
const LINE_CHARS_MAX: usize = 400;
/// A longer line is none of a measurement.
const INBOX_BYTES_MAX: usize = 64 << 10;
/// One that takes longer is stopped.
const LIMIT_NS: u64 = 2 * 3_600_000_000_000;

/// What is to be measured, and where files are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub job: JobKind,
    pub device: Option<String>,
    pub config: PathBuf,
    pub profiles: PathBuf,
    pub run_dir: PathBuf,
}

/// The measurement that runs, or ran last.
#[derive(Debug, Default)]
pub struct Jobs {
    job: Option<Job>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    stream: UnixStream,
    inbox: Vec<u8>,
    child: Option<Child>,
    until_ns: u64,
    is_stopped: bool,
}

impl Jobs {
    /// The one that runs, or ran last.
    #[must_use]
    pub fn shown(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Begins a measurement.
    ///
    /// # Errors
    /// A sentence: one runs already, or its program cannot be reached.
    pub fn start(&mut self, order: &Order, is_confined: bool, now_ns: u64, now_unix_ms: u64) -> Result<&Job, String> {
        if self.running.is_some() {
            let name = self.job.as_ref().map_or("", |job| job.job.name());
            return Err(format!("a measurement runs already ('{name}'): stop it, or wait for its end"));
        }
        let failed = |error: std::io::Error| format!("the measurement cannot be begun: {error}");
        let (mut stream, child) = match UnixStream::connect(order.run_dir.join(JOB_SOCKET)) {
            Ok(stream) => (stream, None),
            Err(_) if is_confined => {
                return Err("brisk-job.socket is not there, and the service itself may not measure: start it with \
                            'systemctl start brisk-job.socket', or run 'brisk tune' as root"
                    .to_owned());
            }
            Err(_) => spawn().map(|(stream, child)| (stream, Some(child))).map_err(failed)?,
        };
        let line = serde_json::to_string(order).map_err(|error| failed(error.into()))? + "\n";
        stream.write_all(line.as_bytes()).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
        let until_ns = now_ns.saturating_add(LIMIT_NS);
        self.running = Some(Running { stream, inbox: Vec::new(), child, until_ns, is_stopped: false });
        let (job, device) = (order.job, order.device.clone());
        Ok(self.job.insert(Job { job, device, started_unix_ms: now_unix_ms, ..Job::default() }))
    }

    /// Asks the one that runs to stop.
    ///
    /// # Errors
    /// A sentence: none runs.
    pub fn stop(&mut self) -> Result<(), String> {
        let running = self.running.as_mut().ok_or("no measurement runs")?;
        running.is_stopped = true;
        // One that has ended meanwhile says so.
        let _ = running.stream.shutdown(Shutdown::Write);
        Ok(())
    }

    /// To poll for what it says.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().map(|running| running.stream.as_fd())
    }

    /// When its time is over.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.running.as_ref().filter(|running| !running.is_stopped).map(|running| running.until_ns)
    }

    /// Takes in what it said, and stops it when its time is over; the measurement, if it has ended.
    pub fn tend(&mut self, now_ns: u64, now_unix_ms: u64) -> Option<&Job> {
        let (running, job) = self.running.as_mut().zip(self.job.as_mut())?;
        if now_ns >= running.until_ns && !running.is_stopped {
            say(job, "it took longer than two hours, and is stopped");
            running.is_stopped = true;
            let _ = running.stream.shutdown(Shutdown::Write);
        }
        let is_over = running.receive();
        let mut code = None;
        while let Some(end) = running.inbox.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = running.inbox.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]);
            match line.split_at_checked(2) {
                Some(("o ", text)) => take_line(job, text),
                Some(("e ", text)) => code = text.parse::<i32>().ok(),
                _ => {}
            }
        }
        if code.is_none() && !is_over {
            return None;
        }
        job.end = Some(match code {
            Some(0) => JobEnd::Done,
            Some(130) => JobEnd::Stopped,
            _ if running.is_stopped => JobEnd::Stopped,
            Some(_) => JobEnd::Failed,
            None => {
                say(job, "its program broke off");
                JobEnd::Failed
            }
        });
        (job.ended_unix_ms, job.done_percent) = (Some(now_unix_ms), None);
        job.doing.clear();
        if let Some(mut child) = self.running.take().and_then(|running| running.child) {
            // It says its code as the last thing that it does.
            let _ = child.wait();
        }
        self.job.as_ref()
    }
}

impl Running {
    /// Takes in what is there; whether its end of the stream is closed.
    fn receive(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return true,
                Ok(bytes) => self.inbox.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(_) => return true,
            }
            if self.inbox.len() > INBOX_BYTES_MAX {
                self.inbox.clear();
            }
        }
    }
}

/// A line of progress, or something to keep.
fn take_line(job: &mut Job, text: &str) {
    let progress =
        text.trim_start().split_once(" % ").and_then(|(percent, doing)| Some((percent.parse().ok()?, doing)));
    match progress {
        Some((percent, doing)) if (0.0..=100.0).contains(&percent) => {
            (job.done_percent, job.doing) = (Some(percent), cut(doing));
        }
        _ if text.trim().is_empty() => {}
        _ => say(job, text),
    }
}

fn say(job: &mut Job, text: &str) {
    job.said.push(cut(text));
    if job.said.len() > SAID_MAX {
        job.said.remove(0);
    }
}

fn cut(text: &str) -> String {
    text.chars().filter(|one| !one.is_control()).take(LINE_CHARS_MAX).collect()
}

fn spawn() -> std::io::Result<(UnixStream, Child)> {
    let (own, its) = UnixStream::pair()?;
    let mut command = Command::new(Path::new("/proc/self/exe"));
    command.arg0(PROGRAM).current_dir("/");
    command.stdin(OwnedFd::from(its.try_clone()?)).stdout(OwnedFd::from(its)).stderr(Stdio::inherit());
    end_with_parent(&mut command, Signal::INT);
    Ok((own, command.spawn()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::net::UnixListener;

    /// Jobs whose program is this test.
    fn begun() -> (tempfile::TempDir, Jobs, BufReader<UnixStream>) {
        let dir = tempfile::tempdir().expect("a directory");
        let listener = UnixListener::bind(dir.path().join(JOB_SOCKET)).expect("a socket");
        let mut jobs = Jobs::default();
        jobs.start(&order(dir.path()), true, 0, 7).expect("begun");
        let mut program = BufReader::new(listener.accept().expect("connected").0);
        let mut line = String::new();
        program.read_line(&mut line).expect("an order");
        assert_eq!(serde_json::from_str::<Order>(&line).expect("JSON"), order(dir.path()));
        (dir, jobs, program)
    }

    fn order(dir: &Path) -> Order {
        let device = Some("sda".to_owned());
        let (config, profiles, run_dir) = ("c".into(), "p".into(), dir.to_owned());
        Order { job: JobKind::Bench, device, config, profiles, run_dir }
    }

    #[test]
    fn one_runs_at_a_time_and_what_it_says_is_bounded() {
        let (dir, mut jobs, mut program) = begun();
        assert!(jobs.start(&order(dir.path()), true, 0, 8).is_err_and(|why| why.contains("'bench'")));
        let long = "x".repeat(1000);
        let lines = format!("o   12 % random reads\no \no {long}\n");
        program.get_mut().write_all(lines.as_bytes()).expect("said");
        assert_eq!(jobs.tend(1, 9), None);
        let job = jobs.shown().expect("runs");
        assert_eq!((job.done_percent, job.doing.as_str(), job.end), (Some(12.0), "random reads", None));
        assert_eq!((job.said.len(), job.said[0].len()), (1, LINE_CHARS_MAX));
        program.get_mut().write_all("o a line\n".repeat(100).as_bytes()).expect("said");
        program.get_mut().write_all(b"e 0\n").expect("said");
        let job = jobs.tend(2, 10).expect("ended").clone();
        assert_eq!((job.end, job.ended_unix_ms, job.said.len()), (Some(JobEnd::Done), Some(10), SAID_MAX));
        assert!(jobs.fd().is_none() && jobs.stop().is_err());
    }

    #[test]
    fn one_that_is_stopped_says_so() {
        let (_dir, mut jobs, mut program) = begun();
        jobs.stop().expect("runs");
        assert_eq!(program.read_line(&mut String::new()).expect("closed"), 0);
        assert_eq!(jobs.tend(1, 9), None);
        program.get_mut().write_all(b"e 2\n").expect("said");
        assert_eq!(jobs.tend(2, 9).and_then(|job| job.end), Some(JobEnd::Stopped));
        let (_dir, mut jobs, mut program) = begun();
        assert_eq!(jobs.tend(LIMIT_NS, 9), None);
        assert_eq!((program.read_line(&mut String::new()).expect("closed"), jobs.next_ns()), (0, None));
    }

    #[test]
    fn a_program_that_breaks_off_has_failed() {
        let (dir, mut jobs, program) = begun();
        drop(program);
        let job = jobs.tend(1, 9).expect("ended").clone();
        assert_eq!((job.end, job.said), (Some(JobEnd::Failed), vec!["its program broke off".to_owned()]));
        std::fs::remove_file(dir.path().join(JOB_SOCKET)).expect("removed");
        let refused = jobs.start(&order(dir.path()), true, 0, 7);
        assert!(refused.is_err_and(|why| why.contains("systemctl start brisk-job.socket")));
    }
}
