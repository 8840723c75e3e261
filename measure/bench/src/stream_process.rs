//! Streams in a process of their own, so that readers can run as a foreground app and writers in the background, each
//! in its own control group.
//!
//! Protocol, one JSON line each way: the parent writes a `Task` to standard input; the process replies `ready`, waits
//! for `BEGIN`, runs the streams and replies with [`Done`]. The process ends when its input is closed, and is killed
//! when its parent is, so it never outlives its parent; it issues no request before the parent has placed it in a
//! control group.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use crate::cpu::process_cpu_ns;
use crate::error::{Error, Result};
use crate::streams::{AfterQuota, Stream, StreamTime, run};
use crate::work_file::{Access, WorkFile};

/// How often the stop flag is polled.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time to exit before it is killed: a request on the slowest card takes some seconds.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The line that starts the streams.
const BEGIN: &str = "begin";

/// Work of the process.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    /// The work file, as an open file of the parent in /proc.
    file: PathBuf,
    /// Direct I/O; otherwise each write is synchronous (O_DSYNC).
    direct: bool,
    streams: Vec<Stream>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    /// Waits for [`BEGIN`].
    Ready,
    /// All streams have ended.
    Done(Done),
    /// The streams cannot run, with the reason.
    Failed(String),
}

/// Result of the streams of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// In the order of the streams.
    pub times: Vec<StreamTime>,
    pub cpu_ns: u64,
}

/// A process that runs streams. It ends when this value is dropped.
#[derive(Debug)]
pub struct StreamProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl StreamProcess {
    /// Starts `program`, which calls [`serve`] and waits for its task.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(program: &[OsString]) -> Result<Self> {
        let (first, words) = program.split_first().ok_or_else(|| failed("no program is given"))?;
        let mut command = Command::new(first);
        // An own process group: Ctrl-C in the terminal is for the parent.
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        brisk_program::child::end_with_parent(&mut command, brisk_program::child::Signal::KILL);
        let mut child = command.spawn().map_err(|error| Error::Resource("start a process for streams", error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| failed("it has no pipes"))?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the streams to run on `work`, and waits until the process is ready.
    pub(crate) fn prepare(&mut self, work: &WorkFile, streams: &[Stream], stop: &AtomicBool) -> Result<()> {
        let task = Task {
            file: format!("/proc/{}/fd/{}", std::process::id(), work.fd().as_raw_fd()).into(),
            direct: work.access == Access::Direct,
            streams: streams.to_vec(),
        };
        self.send(&serde_json::to_string(&task).map_err(|error| failed(&error.to_string()))?);
        match self.receive(stop)? {
            Reply::Ready => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    pub(crate) fn begin(&mut self) {
        self.send(BEGIN);
    }

    /// Waits until all its streams have ended.
    pub(crate) fn wait(&mut self, stop: &AtomicBool) -> Result<Done> {
        match self.receive(stop)? {
            Reply::Done(done) => Ok(done),
            other => Err(unexpected(other)),
        }
    }

    fn send(&mut self, line: &str) {
        // The process may have ended; its last reply is still to be read.
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn receive(&mut self, stop: &AtomicBool) -> Result<Reply> {
        // No bytes stay in the buffer between two replies, as the process replies only to requests.
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(STOP_POLL_INTERVAL.subsec_nanos()) };
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            match poll(&mut [PollFd::new(self.output.get_ref(), PollFlags::IN)], Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(Error::Resource("wait for a process with streams", errno.into())),
            }
        }
        let mut line = String::new();
        let count = self
            .output
            .read_line(&mut line)
            .map_err(|error| Error::Resource("read from a process with streams", error))?;
        match serde_json::from_str(&line) {
            Ok(Reply::Failed(reason)) => Err(failed(&reason)),
            Ok(reply) => Ok(reply),
            Err(_) if count == 0 => Err(failed("it ended")),
            Err(_) => Err(failed(&format!("it replied '{}'", line.trim()))),
        }
    }
}

impl Drop for StreamProcess {
    fn drop(&mut self) {
        self.input = None;
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        // No effect if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(reason: &str) -> Error {
    Error::StreamProcess(reason.to_owned())
}

fn unexpected(reply: Reply) -> Error {
    failed(&format!("it replied '{reply:?}' unexpectedly"))
}

/// Runs streams for a [`StreamProcess`]: reads the task and `BEGIN` from `input`, and writes replies to `output`.
///
/// # Errors
/// When a reply cannot be written. A failure of the streams is a reply.
pub fn serve(input: impl Read + Send + 'static, mut output: impl Write) -> std::io::Result<()> {
    let mut lines = BufReader::new(input).lines();
    let mut reply = |reply: &Reply| -> std::io::Result<()> {
        let line = serde_json::to_string(reply)?;
        output.write_all(format!("{line}\n").as_bytes())?;
        output.flush()
    };
    let Some(task) = lines.next().transpose()? else { return Ok(()) };
    let (file, streams) = match open_task(&task) {
        Ok(opened) => opened,
        Err(reason) => return reply(&Reply::Failed(reason)),
    };
    reply(&Reply::Ready)?;
    if lines.next().transpose()?.is_none_or(|word| word != BEGIN) {
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    // End of input: the parent has ended or cancels.
    std::thread::spawn(move || {
        while lines.next().is_some_and(|line| line.is_ok()) {}
        raised.store(true, Ordering::Relaxed);
    });
    let begun_ns = process_cpu_ns();
    match run(file.as_fd(), &streams, AfterQuota::End, &stop) {
        Ok(times) => reply(&Reply::Done(Done { times, cpu_ns: process_cpu_ns().saturating_sub(begun_ns) })),
        Err(Error::Stopped) => Ok(()),
        Err(error) => reply(&Reply::Failed(with_cause(&error))),
    }
}

fn open_task(task: &str) -> std::result::Result<(File, Vec<Stream>), String> {
    let task: Task = serde_json::from_str(task).map_err(|error| format!("the task cannot be read: {error}"))?;
    let flags = if task.direct { libc::O_DIRECT } else { libc::O_DSYNC };
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&task.file);
    opened.map(|file| (file, task.streams)).map_err(|error| format!("cannot open the work file: {error}"))
}

fn with_cause(error: &Error) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Region;
    use crate::results::{Direction, Pattern};
    use proptest::prelude::*;
    use std::io::Cursor;

    fn stream(direction: Direction) -> Stream {
        Stream {
            pattern: Pattern::Random,
            direction,
            region: Region::first(1 << 20),
            block_bytes: 4096,
            quota: 20,
            seed: 1,
        }
    }

    /// Input that stays open until its sender is dropped, like the pipe of a live parent.
    struct OpenInput(Cursor<Vec<u8>>, std::sync::mpsc::Receiver<()>);

    impl Read for OpenInput {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(bytes)? {
                0 => {
                    let _ = self.1.recv();
                    Ok(0)
                }
                count => Ok(count),
            }
        }
    }

    fn replies(task: &str, word: &str) -> Vec<Reply> {
        let (_open, ends) = std::sync::mpsc::channel();
        let mut output = Vec::new();
        let input = OpenInput(Cursor::new(format!("{task}\n{word}\n").into_bytes()), ends);
        serve(input, &mut output).expect("answers are opened");
        let text = String::from_utf8(output).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("a reply")).collect()
    }

    #[test]
    fn a_stream_process_gets_ready_begins_on_command_and_reports_its_streams() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(1 << 20).expect("enough space");
        let streams = vec![stream(Direction::Read), stream(Direction::Write)];
        let task = Task { file: file.path().to_owned(), direct: false, streams };
        let task = serde_json::to_string(&task).expect("JSON");
        let [Reply::Ready, Reply::Done(done)] = &replies(&task, BEGIN)[..] else { panic!("the streams did not run") };
        assert_eq!(done.times.iter().map(|time| time.requests).collect::<Vec<_>>(), [20, 20]);
        assert!(matches!(replies(&task, "wait")[..], [Reply::Ready]));
        let gone = Task { file: "/no/such/file".into(), direct: false, streams: Vec::new() };
        let gone = replies(&serde_json::to_string(&gone).expect("JSON"), BEGIN);
        assert!(matches!(&gone[..], [Reply::Failed(reason)] if reason.contains("work file")), "{gone:?}");
    }

    #[test]
    fn a_program_that_breaks_the_protocol_is_an_error() {
        let stop = AtomicBool::new(false);
        let mut talking = StreamProcess::start(&["echo".into(), "hello".into()]).expect("started");
        assert!(talking.wait(&stop).expect_err("no valid reply").to_string().contains("hello"));
        let mut ends = StreamProcess::start(&["true".into()]).expect("started");
        assert!(ends.wait(&stop).expect_err("no valid reply").to_string().contains("ended"));
        let mut waits = StreamProcess::start(&["cat".into()]).expect("started");
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(waits.wait(&stop), Err(Error::Stopped)));
        assert!(StreamProcess::start(&["/no/such/program".into()]).is_err());
    }

    proptest! {
        #[test]
        fn no_task_makes_it_panic(task in "[^\n]*") {
            let replied = replies(&task, BEGIN);
            prop_assert!(matches!(&replied[..], [Reply::Failed(_)]), "{replied:?}");
        }
    }
}
