//! A program that runs during launches, such as the daemon whose effect is measured.
//!
//! It is started before a launch and stopped after it; when the process that started it is killed, it gets SIGTERM, so
//! that it restores its settings and ends. It is ready when it has sent `READY=1` to the socket that NOTIFY_SOCKET
//! names (sd_notify(3)), as services do under a service manager.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::phone::error::{Error, Result};

/// Time limit for getting ready, and for ending.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The running program. Dropping it ends it.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    name: String,
    socket: PathBuf,
    /// Kept open, so that later notifications are not refused; they are not read.
    listener: UnixDatagram,
}

impl Companion {
    /// Starts `command` and waits until it is ready; `socket` is a free path for the notification socket. It ends with
    /// the thread that calls this, which therefore has to stay ([`brisk_program::child`]).
    ///
    /// # Errors
    /// When it cannot be started, ends, or is not ready within ten seconds.
    pub fn start(command: &[OsString], socket: PathBuf) -> Result<Self> {
        let (program, arguments) = command.split_first().ok_or_else(|| failed("nothing", "no program was named"))?;
        let name = PathBuf::from(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
        let trouble = |source: io::Error| failed(&name, &source.to_string());
        // Left by a killed process.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixDatagram::bind(&socket).map_err(trouble)?;
        let mut command = Command::new(program);
        command.args(arguments).env("NOTIFY_SOCKET", &socket).env_remove("WATCHDOG_USEC");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        brisk_program::child::end_with_parent(&mut command, brisk_program::child::Signal::TERM);
        let child = command.spawn().map_err(trouble)?;
        let mut companion = Self { child, name, socket, listener };
        companion.wait_until_ready()?;
        Ok(companion)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        let mut word = [0; 4096];
        loop {
            if let Some(status) = self.child.try_wait().map_err(|source| failed(&self.name, &source.to_string()))? {
                return Err(failed(&self.name, &format!("it ended at once ({status})")));
            }
            if Instant::now() >= deadline {
                return Err(failed(&self.name, "it did not report that it is ready"));
            }
            // Short, to notice soon when the program ends.
            let listener = &self.listener;
            let read =
                listener.set_read_timeout(Some(Duration::from_millis(50))).and_then(|()| listener.recv(&mut word));
            match read {
                Ok(length) if word[..length].split(|byte| *byte == b'\n').any(|line| line == b"READY=1") => {
                    return Ok(());
                }
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) => return Err(failed(&self.name, &error.to_string())),
            }
        }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// CPU time so far in ns; `None` once it has ended.
    #[must_use]
    pub fn cpu_ns(&self) -> Option<u64> {
        let pid = libc::pid_t::try_from(self.child.id()).ok()?;
        // SAFETY: both calls fill structs of plain numbers, for which zeros are valid. The child was not waited for, so
        // its process id is not reused.
        let (reported, time) = unsafe {
            let (mut clock, mut time): (libc::clockid_t, libc::timespec) = (0, std::mem::zeroed());
            let found = libc::clock_getcpuclockid(pid, &raw mut clock) == 0;
            (found && libc::clock_gettime(clock, &raw mut time) == 0, time)
        };
        reported.then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    /// Ends it with SIGTERM and waits.
    ///
    /// # Errors
    /// When it does not end within ten seconds (it is then killed), or ends with a failure.
    pub fn stop(mut self) -> Result<()> {
        let status = self.end().map_err(|source| failed(&self.name, &source.to_string()))?;
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(failed(&self.name, &format!("it ended with {status}"))),
            None => Err(failed(&self.name, "it did not end on request and was killed")),
        }
    }

    fn end(&mut self) -> io::Result<Option<std::process::ExitStatus>> {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
            && self.child.try_wait()?.is_none()
        {
            kill_process(pid, Signal::TERM)?;
        }
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                self.child.kill()?;
                self.child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // Errors are reported by `stop`; this only ensures that no process stays.
        let _ = self.end();
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn failed(program: &str, reason: &str) -> Error {
    Error::Companion { program: program.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;

    fn start(script: &str) -> Result<Companion> {
        let dir = tempfile::tempdir().expect("a directory").keep();
        Companion::start(&["sh", "-c", script].map(OsString::from), dir.join("notify"))
    }

    #[test]
    fn a_program_that_ends_before_it_is_ready_is_an_error() {
        let error = start("exit 3").expect_err("it ended").to_string();
        assert!(error.contains("sh") && error.contains("exit status: 3"), "{error}");
        assert!(Companion::start(&["/no/such/program".into()], "/tmp/x".into()).is_err());
    }

    #[test]
    fn it_runs_until_it_is_stopped() {
        brisk_requires::requires!(Program("perl"));
        let companion = start(READY).expect("perl says that it is ready");
        let proc = PathBuf::from(format!("/proc/{}", companion.pid()));
        assert!(proc.exists());
        // Perl has loaded a module by now, which took CPU time.
        assert!(companion.cpu_ns().is_some_and(|ns| ns > 0));
        companion.stop().expect("it ends as asked");
        assert!(!proc.exists());
    }

    /// Says that it is ready, and runs until SIGTERM.
    const READY: &str = "exec perl -MIO::Socket::UNIX -e '$SIG{TERM} = sub { exit 0 }; IO::Socket::UNIX->new(Type => \
                         SOCK_DGRAM, Peer => $ENV{NOTIFY_SOCKET})->send(qq(READY=1\n)) or die; sleep 1 while 1'";

    #[test]
    #[ignore = "starts a companion and waits until another test kills it"]
    fn starter_that_is_killed() {
        let companion = start(READY).expect("perl says that it is ready");
        println!("\ncompanion {}", companion.pid());
        let _ = io::stdin().read(&mut [0]);
    }

    #[test]
    fn it_ends_when_the_process_that_started_it_is_killed() {
        brisk_requires::requires!(Program("perl"));
        let mut starter = Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "phone::companion::tests::starter_that_is_killed", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(starter.stdout.take().expect("a pipe")).lines().map_while(|line| line.ok());
        let _limit = brisk_requires::killed_late(starter.id(), "a companion");
        let pid = lines.find_map(|line| line.strip_prefix("companion ")?.parse().ok()).expect("a process id");
        let pid = Pid::from_raw(pid).expect("not zero");
        let companion = pidfd_open(pid, PidfdFlags::empty()).expect("it runs");
        starter.kill().expect("it runs");
        starter.wait().expect("it ended");
        let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(&companion, PollFlags::IN)], Some(&limit));
        let _ = kill_process(pid, Signal::KILL);
        assert_eq!(ended, Ok(1), "the companion lives on");
    }
}
