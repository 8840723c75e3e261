//! Streams in a process of their own: so that readers can be an app in the foreground and writers something in the background,
//! each in a control group of its own.
//!
//! The process is told over its standard input which file and which streams, says that it is ready, waits for the word to
//! begin, and answers with what became of its streams. It ends when its input is closed, so it never outlives whoever
//! started it, and issues nothing before it was put where it belongs.

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

/// How soon a raised stop flag is seen.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// A request on the slowest card takes some seconds.
const END_WITHIN: Duration = Duration::from_secs(30);
/// The word to begin.
const BEGIN: &str = "begin";

/// What the process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The work file, by way of whoever has it open.
    file: PathBuf,
    /// Past the page cache; else each write waits until it is durable.
    direct: bool,
    streams: Vec<Stream>,
}

/// What it answers, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// It waits for the word.
    Ready,
    /// All streams have ended.
    Done(Done),
    /// Why not.
    Failed(String),
}

/// What became of the streams of a crew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// In the order of the streams.
    pub times: Vec<StreamTime>,
    /// Processor time that they took.
    pub cpu_ns: u64,
}

/// A process that runs streams. It ends when this goes.
#[derive(Debug)]
pub struct Crew {
    child: Child,
    input: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Crew {
    /// Starts `program`, which calls [`serve`]. It waits for its order.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(program: &[OsString]) -> Result<Self> {
        let (first, words) = program.split_first().ok_or_else(|| failed("there is no program for it"))?;
        let mut command = Command::new(first);
        // A group of its own: Ctrl-C in the terminal is for whoever started it.
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| Error::Resource("start a process for streams", error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| failed("it has no pipes"))?;
        Ok(Self { child, input, answers: BufReader::new(output) })
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it what to do on `work`, and waits until it is ready for that.
    pub(crate) fn prepare(&mut self, work: &WorkFile, streams: &[Stream], stop: &AtomicBool) -> Result<()> {
        let order = Order {
            file: format!("/proc/{}/fd/{}", std::process::id(), work.fd().as_raw_fd()).into(),
            direct: work.access == Access::Direct,
            streams: streams.to_vec(),
        };
        self.say(&serde_json::to_string(&order).map_err(|error| failed(&error.to_string()))?);
        match self.hear(stop)? {
            Answer::Ready => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Lets it begin.
    pub(crate) fn begin(&mut self) {
        self.say(BEGIN);
    }

    /// Waits until all its streams have ended.
    pub(crate) fn wait(&mut self, stop: &AtomicBool) -> Result<Done> {
        match self.hear(stop)? {
            Answer::Done(done) => Ok(done),
            other => Err(unexpected(other)),
        }
    }

    fn say(&mut self, line: &str) {
        // It may have ended; its last words are still to be read.
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn hear(&mut self, stop: &AtomicBool) -> Result<Answer> {
        // Nothing is left in the buffer between two answers, as it says nothing without being asked.
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_AGAIN_AFTER.subsec_nanos()) };
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            match poll(&mut [PollFd::new(self.answers.get_ref(), PollFlags::IN)], Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(Error::Resource("wait for a process with streams", errno.into())),
            }
        }
        let mut line = String::new();
        let count =
            self.answers.read_line(&mut line).map_err(|error| Error::Resource("hear a process with streams", error))?;
        match serde_json::from_str(&line) {
            Ok(Answer::Failed(reason)) => Err(failed(&reason)),
            Ok(answer) => Ok(answer),
            Err(_) if count == 0 => Err(failed("it ended")),
            Err(_) => Err(failed(&format!("it said '{}'", line.trim()))),
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.input = None;
        let deadline = Instant::now() + END_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Whether it ended by itself or not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(reason: &str) -> Error {
    Error::Crew(reason.to_owned())
}

fn unexpected(answer: Answer) -> Error {
    failed(&format!("it said '{answer:?}' out of turn"))
}

/// Runs streams for a [`Crew`]: reads the order and the word to begin from `input`, and writes answers to `output`.
///
/// # Errors
/// When an answer cannot be written. What goes wrong with the streams is an answer.
pub fn serve(input: impl Read + Send + 'static, mut output: impl Write) -> std::io::Result<()> {
    let mut lines = BufReader::new(input).lines();
    let mut answer = |answer: &Answer| -> std::io::Result<()> {
        let line = serde_json::to_string(answer)?;
        output.write_all(format!("{line}\n").as_bytes())?;
        output.flush()
    };
    let Some(order) = lines.next().transpose()? else { return Ok(()) };
    let (file, streams) = match take(&order) {
        Ok(taken) => taken,
        Err(reason) => return answer(&Answer::Failed(reason)),
    };
    answer(&Answer::Ready)?;
    if lines.next().transpose()?.is_none_or(|word| word != BEGIN) {
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    // Whoever started this is gone, or wants it to end, when there is no more to read.
    std::thread::spawn(move || {
        while lines.next().is_some_and(|line| line.is_ok()) {}
        raised.store(true, Ordering::Relaxed);
    });
    let begun_ns = process_cpu_ns();
    match run(file.as_fd(), &streams, AfterQuota::End, &stop) {
        Ok(times) => answer(&Answer::Done(Done { times, cpu_ns: process_cpu_ns().saturating_sub(begun_ns) })),
        Err(Error::Stopped) => Ok(()),
        Err(error) => answer(&Answer::Failed(in_words(&error))),
    }
}

fn take(order: &str) -> std::result::Result<(File, Vec<Stream>), String> {
    let order: Order = serde_json::from_str(order).map_err(|error| format!("the order cannot be read: {error}"))?;
    let flags = if order.direct { libc::O_DIRECT } else { libc::O_DSYNC };
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&order.file);
    opened.map(|file| (file, order.streams)).map_err(|error| format!("cannot open the work file: {error}"))
}

fn in_words(error: &Error) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Region;
    use brisk_results::{Direction, Pattern};
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

    /// Input that ends when told to, as the pipe of somebody who is there does.
    struct Held(Cursor<Vec<u8>>, std::sync::mpsc::Receiver<()>);

    impl Read for Held {
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

    fn answers(order: &str, word: &str) -> Vec<Answer> {
        let (_held, ends) = std::sync::mpsc::channel();
        let mut output = Vec::new();
        let input = Held(Cursor::new(format!("{order}\n{word}\n").into_bytes()), ends);
        serve(input, &mut output).expect("answers are taken");
        let text = String::from_utf8(output).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("an answer")).collect()
    }

    #[test]
    fn a_crew_is_ready_begins_when_told_and_says_what_became_of_its_streams() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(1 << 20).expect("room");
        let streams = vec![stream(Direction::Read), stream(Direction::Write)];
        let order = Order { file: file.path().to_owned(), direct: false, streams };
        let order = serde_json::to_string(&order).expect("JSON");
        let [Answer::Ready, Answer::Done(done)] = &answers(&order, BEGIN)[..] else { panic!("it did not begin") };
        assert_eq!(done.times.iter().map(|time| time.requests).collect::<Vec<_>>(), [20, 20]);
        assert!(matches!(answers(&order, "wait")[..], [Answer::Ready]));
        let gone = Order { file: "/no/such/file".into(), direct: false, streams: Vec::new() };
        let gone = answers(&serde_json::to_string(&gone).expect("JSON"), BEGIN);
        assert!(matches!(&gone[..], [Answer::Failed(reason)] if reason.contains("work file")), "{gone:?}");
    }

    #[test]
    fn what_is_no_crew_is_told() {
        let stop = AtomicBool::new(false);
        let mut talks = Crew::start(&["echo".into(), "hello".into()]).expect("started");
        assert!(talks.wait(&stop).expect_err("no answer").to_string().contains("hello"));
        let mut ends = Crew::start(&["true".into()]).expect("started");
        assert!(ends.wait(&stop).expect_err("no answer").to_string().contains("ended"));
        let mut waits = Crew::start(&["cat".into()]).expect("started");
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(waits.wait(&stop), Err(Error::Stopped)));
        assert!(Crew::start(&["/no/such/program".into()]).is_err());
    }

    proptest! {
        #[test]
        fn no_order_makes_it_panic(order in "[^\n]*") {
            let said = answers(&order, BEGIN);
            prop_assert!(matches!(&said[..], [Answer::Failed(_)]), "{said:?}");
        }
    }
}
