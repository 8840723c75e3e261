//! The background writer as a process of its own: in the phone's file system, as its user, in a control group of its
//! own.
//!
//! It reads its parameters and requests from standard input, replies with its counters, and ends after the current
//! writes and syncs when its input is closed. When its parent is killed it is killed too, so it never outlives its
//! parent.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::launch::scope::Scope;
use rustix::process::{Signal, chdir, chroot, set_parent_process_death_signal};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde::{Deserialize, Serialize};

use super::streams::{Counters, Stop, run};
use super::{WriterSpec, Written};
use crate::phone::error::{Error, Result, io as failed};
use crate::phone::group::Group;
use crate::phone::mounts;
use crate::phone::running::Phone;

/// Its directory in the phone.
const PLACE: &str = "/home/user/.local/share/brisk-writer";
/// Name of its control group below the phone's.
const GROUP: &str = "writer";
/// Time limit for its end: a sync on the slowest card takes some seconds.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Requests to the writer, one line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// Reports the counters.
    Written,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Written(Written),
    /// It has stopped, with the reason.
    Failed(String),
}

/// A running background writer. It ends when dropped.
#[derive(Debug)]
pub struct Writer {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    group: Group,
}

impl Phone {
    /// Moves a process into the control group of the background writer.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn put_in_background(&self, pid: u32) -> Result<()> {
        self.group().child(GROUP)?.add(pid)
    }

    /// Moves a process into the control group of an app.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn put_in_app(&self, app: &Scope, pid: u32) -> Result<()> {
        Group::at(app.dir()).add(pid)
    }

    /// Starts the background writer. `program` is the command that runs [`serve_writer`]; the root directory is
    /// appended to it.
    ///
    /// # Errors
    /// When the parameters are invalid, or the writer does not start.
    pub fn start_writer(&self, program: &[OsString], spec: &WriterSpec) -> Result<Writer> {
        if let Some(trouble) = spec.trouble() {
            return Err(Error::Writer(trouble.to_owned()));
        }
        let (first, words) = program.split_first().ok_or_else(|| Error::Writer("no program is given".to_owned()))?;
        let mut command = Command::new(first);
        command.args(words).arg(self.root()).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(failed("start the background writer"))?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Writer("it has no pipes".to_owned()));
        };
        let group = self.group().child(GROUP)?;
        let mut writer = Writer { child, requests: Some(requests), replies: BufReader::new(replies), group };
        // It waits for its parameters, so nothing is written before it is in its group.
        writer.group.add(writer.child.id())?;
        if let Some(memory) = self.memory_group() {
            memory.child(GROUP)?.add(writer.child.id())?;
        }
        writer.send(spec)?;
        writer.written()?;
        Ok(writer)
    }
}

impl Writer {
    /// Its counters since the start.
    ///
    /// # Errors
    /// When the writer has failed or ended, with the reason.
    pub fn written(&mut self) -> Result<Written> {
        self.send(&Request::Written)?;
        let mut line = String::new();
        let count = self.replies.read_line(&mut line).map_err(failed("read from the background writer"))?;
        match serde_json::from_str(&line) {
            Ok(Reply::Written(written)) => Ok(written),
            Ok(Reply::Failed(reason)) => Err(Error::Writer(reason)),
            Err(_) if count == 0 => Err(Error::Writer("it ended".to_owned())),
            Err(_) => Err(Error::Writer(format!("it replied '{}'", line.trim()))),
        }
    }

    /// Its control group, for measurements of its resource use.
    #[must_use]
    pub fn group(&self) -> &Path {
        self.group.dir()
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it after the current write and sync, and returns its counters.
    ///
    /// # Errors
    /// When it has failed.
    pub fn stop(mut self) -> Result<Written> {
        let written = self.written();
        self.end();
        written
    }

    fn send(&mut self, what: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(what).map_err(failed("write to the background writer"))?;
        line.push(b'\n');
        let requests = self.requests.as_mut().ok_or_else(|| Error::Writer("it was stopped".to_owned()))?;
        // It may have ended; its last reply is still to be read.
        let _ = requests.write_all(&line);
        Ok(())
    }

    fn end(&mut self) {
        self.requests = None;
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        // No effect if it has ended; a group that stays is removed with the phone.
        let _ = self.group.remove();
        let _ = self.child.wait();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs the background writer in this process, which enters `root` and becomes the phone's user. Its parameters come
/// first on standard input, then requests; it ends at the end of input.
///
/// # Errors
/// When the root cannot be entered, or a write fails; the reason also goes to standard output.
pub fn serve_writer(root: &Path) -> Result<()> {
    let mut requests = std::io::stdin().lock().lines();
    let Some(first) = requests.next() else { return Ok(()) };
    let first = first.map_err(failed("read the parameters"))?;
    let spec: WriterSpec = serde_json::from_str(&first).map_err(|error| Error::Writer(error.to_string()))?;
    enter(root)?;
    let (counters, stop) = (Counters::new(), Stop::default());
    let place = PathBuf::from(PLACE);
    let outcome = std::thread::scope(|scope| {
        let streams = scope.spawn(|| run(&spec, &place, &counters, &stop));
        for request in requests {
            if request.is_err() {
                break;
            }
            let ended = streams.is_finished();
            let reply = if ended { break } else { Reply::Written(counters.written()) };
            send(&reply);
        }
        stop.raise();
        streams.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    outcome.map_err(|error| {
        let error = failed(format!("write to {PLACE} in the phone"))(error);
        let reason = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
        send(&Reply::Failed(format!("{error}{reason}")));
        error
    })
}

fn send(reply: &Reply) {
    if let Ok(mut line) = serde_json::to_vec(reply) {
        line.push(b'\n');
        // The parent may have ended; then standard input ends as well.
        let _ = std::io::stdout().lock().write_all(&line).and_then(|()| std::io::stdout().lock().flush());
    }
}

/// Enters the root. Must run before a second thread exists, as it changes the rights of the calling thread only.
fn enter(root: &Path) -> Result<()> {
    chroot(root).map_err(failed(format!("make {} the root directory", root.display())))?;
    chdir("/").map_err(failed("enter the new root directory"))?;
    let (uid, gid) = (Uid::from_raw(mounts::UID), Gid::from_raw(mounts::UID));
    set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(gid, gid, gid))
        .and_then(|()| set_thread_res_uid(uid, uid, uid))
        .map_err(failed(format!("become user {}", mounts::UID)))?;
    // After the change of user, which would clear it. A parent that has ended before has closed this process's input.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed("ask for a signal at the parent's end"))
}
