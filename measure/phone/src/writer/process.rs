//! The background writer as a process of its own: in the phone's file system as its user, in a control group of its own.
//!
//! It is told what to write over its standard input, answers there how far it is, and ends when that is closed: so it never
//! outlives whoever started it.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use brisk_launch::scope::Scope;
use rustix::process::{chdir, chroot};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde::{Deserialize, Serialize};

use super::streams::{Counters, Stop, run};
use super::{WriterSpec, Written};
use crate::error::{Error, Result, io as failed};
use crate::group::Group;
use crate::phone::Phone;
use crate::room;

/// Where it writes, inside of the phone.
const PLACE: &str = "/home/user/.local/share/brisk-writer";
/// Its control group in the phone's.
const GROUP: &str = "writer";
/// A sync on the slowest card takes some seconds.
const END_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// What the writer is asked, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    /// How far are you?
    Written,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// So far.
    Written(Written),
    /// It writes no more, and why.
    Failed(String),
}

/// A background writer that runs. It ends when this goes.
#[derive(Debug)]
pub struct Writer {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    group: Group,
}

impl Phone {
    /// Moves a process to where the background writer is: no app of a person.
    ///
    /// # Errors
    /// When the control group takes none.
    pub fn put_in_background(&self, pid: u32) -> Result<()> {
        self.group().child(GROUP)?.add(pid)
    }

    /// Moves a process into the control group of an app.
    ///
    /// # Errors
    /// When the control group takes none.
    pub fn put_in_app(&self, app: &Scope, pid: u32) -> Result<()> {
        Group::at(app.dir()).add(pid)
    }

    /// Starts the background writer. `program` is the command that runs [`serve_writer`], to which the root directory is
    /// appended.
    ///
    /// # Errors
    /// When the specification makes no sense, or the writer does not start.
    pub fn start_writer(&self, program: &[OsString], spec: &WriterSpec) -> Result<Writer> {
        if let Some(trouble) = spec.trouble() {
            return Err(Error::Writer(trouble.to_owned()));
        }
        let (first, words) =
            program.split_first().ok_or_else(|| Error::Writer("there is no program for it".to_owned()))?;
        let mut command = Command::new(first);
        command.args(words).arg(self.root()).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(failed("start the background writer"))?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Writer("it has no pipes".to_owned()));
        };
        let group = self.group().child(GROUP)?;
        let mut writer = Writer { child, questions: Some(questions), answers: BufReader::new(answers), group };
        // It waits for the specification, so nothing is written outside of the group.
        writer.group.add(writer.child.id())?;
        writer.say(spec)?;
        writer.written()?;
        Ok(writer)
    }
}

impl Writer {
    /// What has been written since the start.
    ///
    /// # Errors
    /// When the writer failed or is gone; then with its reason.
    pub fn written(&mut self) -> Result<Written> {
        self.say(&Question::Written)?;
        let mut line = String::new();
        let count = self.answers.read_line(&mut line).map_err(failed("hear the background writer"))?;
        match serde_json::from_str(&line) {
            Ok(Answer::Written(written)) => Ok(written),
            Ok(Answer::Failed(reason)) => Err(Error::Writer(reason)),
            Err(_) if count == 0 => Err(Error::Writer("it ended".to_owned())),
            Err(_) => Err(Error::Writer(format!("it said '{}'", line.trim()))),
        }
    }

    /// Its control group, for who wants to know what it used.
    #[must_use]
    pub fn group(&self) -> &Path {
        self.group.dir()
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it, within a write and a sync, and gives what it has written.
    ///
    /// # Errors
    /// When it had failed.
    pub fn stop(mut self) -> Result<Written> {
        let written = self.written();
        self.end();
        written
    }

    fn say(&mut self, what: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(what).map_err(failed("write to the background writer"))?;
        line.push(b'\n');
        let questions = self.questions.as_mut().ok_or_else(|| Error::Writer("it was stopped".to_owned()))?;
        // It may have ended; its last words are still to be read.
        let _ = questions.write_all(&line);
        Ok(())
    }

    fn end(&mut self) {
        self.questions = None;
        let deadline = Instant::now() + END_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
        // Whether it ended by itself or not; a group that stays goes with the phone.
        let _ = self.group.remove();
        let _ = self.child.wait();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs the background writer in this process, whose root directory becomes `root` and whose user becomes the phone's. The
/// specification comes first on standard input, then questions; it ends with that.
///
/// # Errors
/// When the root cannot be entered, or a write fails; the reason also goes to standard output.
pub fn serve_writer(root: &Path) -> Result<()> {
    let mut questions = std::io::stdin().lock().lines();
    let Some(first) = questions.next() else { return Ok(()) };
    let first = first.map_err(failed("read what to write"))?;
    let spec: WriterSpec = serde_json::from_str(&first).map_err(|error| Error::Writer(error.to_string()))?;
    enter(root)?;
    let (counters, stop) = (Counters::new(), Stop::default());
    let place = PathBuf::from(PLACE);
    let outcome = std::thread::scope(|scope| {
        let streams = scope.spawn(|| run(&spec, &place, &counters, &stop));
        for question in questions {
            if question.is_err() {
                break;
            }
            let ended = streams.is_finished();
            let answer = if ended { break } else { Answer::Written(counters.written()) };
            say(&answer);
        }
        stop.raise();
        streams.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    outcome.map_err(|error| {
        let error = failed(format!("write to {PLACE} in the phone"))(error);
        let reason = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
        say(&Answer::Failed(format!("{error}{reason}")));
        error
    })
}

fn say(answer: &Answer) {
    if let Ok(mut line) = serde_json::to_vec(answer) {
        line.push(b'\n');
        // Who asked may be gone; then standard input ends as well.
        let _ = std::io::stdout().lock().write_all(&line).and_then(|()| std::io::stdout().lock().flush());
    }
}

/// Before there is a second thread: rights are changed for this one.
fn enter(root: &Path) -> Result<()> {
    chroot(root).map_err(failed(format!("make {} the root directory", root.display())))?;
    chdir("/").map_err(failed("go to the new root directory"))?;
    let (uid, gid) = (Uid::from_raw(room::UID), Gid::from_raw(room::UID));
    set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(gid, gid, gid))
        .and_then(|()| set_thread_res_uid(uid, uid, uid))
        .map_err(failed(format!("become user {}", room::UID)))
}
