//! Lines on standard error, and what a program does when its streams fail.
//!
//! A log is on a full disk, its reader has ended, or its reader has stopped reading: none of that may end a program,
//! stop a service or change an exit status. The macros of the standard library panic there, so all programs of brisk
//! write with `error!`, `warn!`, `notice!` and `info!`, and clippy refuses the others.
//!
//! Where standard error is the journal of systemd (`JOURNAL_STREAM`), each line begins with its priority, as in
//! sd-daemon(3), so that `journalctl -p err` finds errors. A service ([`serve`]) writes the time into a log that is a
//! file; other logs add it themselves.
//!
//! Properties, each with a test of the same name:
//! - a line to a full disk, a closed pipe or a stopped reader is lost and nothing else happens;
//! - a service never waits for the reader of its log;
//! - a line of a service is one line, whatever the text has;
//! - nothing in a line acts on a terminal;
//! - lines have a priority in the journal, and only there.

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use brisk_core::text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

/// How much a line matters: the number of syslog(3) and sd-daemon(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Something that the program was to do is not done.
    Error = 3,
    /// Something is not as it should be; the program continues without it.
    Warning = 4,
    /// Normal, and worth knowing: an app was ended.
    Notice = 5,
    Info = 6,
}

/// Bytes of a line of a service: what a pipe takes whole or not at all (PIPE_BUF), less the head of the line.
const LINE_BYTES_MAX: usize = 4000;
/// Time that a command waits for a reader that takes nothing from a descriptor in non-blocking mode.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Whether this process is a service.
static SERVES: AtomicBool = AtomicBool::new(false);
/// Lines that were not written since the last that was.
static LOST: AtomicU64 = AtomicU64::new(0);

/// From now on this process logs as a service does: it never waits for the reader, and what it writes at once is one
/// line.
pub fn serve() {
    SERVES.store(true, Ordering::Relaxed);
}

/// Where lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    Journal,
    File,
    Other,
}

impl Sink {
    /// What standard error is; `journal` is the value of `JOURNAL_STREAM`: device and inode of the stream to the
    /// journal.
    fn of(stderr: BorrowedFd<'_>, journal: Option<&str>) -> Self {
        let Ok(stat) = rustix::fs::fstat(stderr) else { return Self::Other };
        let is_journal = journal.and_then(|stream| {
            let (device, inode) = stream.split_once(':')?;
            Some(device.parse::<u64>().ok()? == stat.st_dev && inode.parse::<u64>().ok()? == stat.st_ino)
        });
        match FileType::from_raw_mode(stat.st_mode) {
            _ if is_journal == Some(true) => Self::Journal,
            FileType::RegularFile => Self::File,
            _ => Self::Other,
        }
    }

    fn of_this_process() -> Self {
        static SINK: OnceLock<Sink> = OnceLock::new();
        *SINK.get_or_init(|| Self::of(rustix::stdio::stderr(), std::env::var("JOURNAL_STREAM").ok().as_deref()))
    }
}

/// Writes a line to standard error, or several. What cannot be written is lost.
pub fn line(level: Level, text: &str) {
    styled_line(level, text, false);
}

/// The same for a text with styles ([`brisk_core::text`]).
pub fn styled_line(level: Level, text: &str, has_colour: bool) {
    let serves = SERVES.load(Ordering::Relaxed);
    let sink = Sink::of_this_process();
    let out = rustix::stdio::stderr();
    let lost = LOST.load(Ordering::Relaxed);
    let earlier = (serves && lost > 0).then(|| format!("{lost} lines of the log were lost: it could not be written"));
    let mut written = true;
    if let Some(earlier) = earlier {
        written = put(out, framed(sink, serves, false, Level::Warning, &earlier, now).as_bytes(), !serves).is_ok();
        if written {
            LOST.store(0, Ordering::Relaxed);
        }
    }
    let text = framed(sink, serves, has_colour, level, text, now);
    if !written || put(out, text.as_bytes(), !serves).is_err() {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The bytes of a line, or of several.
fn framed(sink: Sink, serves: bool, has_colour: bool, level: Level, text: &str, now: impl Fn() -> String) -> String {
    let text = if serves { in_one_line(text) } else { text::rendered(text, has_colour) };
    let head = match sink {
        Sink::Journal => format!("<{}>", level as u8),
        Sink::File if serves => format!("{} ", now()),
        Sink::File | Sink::Other => String::new(),
    };
    let mut framed = String::with_capacity(text.len() + head.len() + 1);
    for line in text.split('\n') {
        framed.extend([&head, line, "\n"]);
    }
    framed
}

/// The text as one line that is short enough.
fn in_one_line(text: &str) -> Cow<'_, str> {
    let line = text::one_line(text);
    if line.len() <= LINE_BYTES_MAX {
        return line;
    }
    let end = line.floor_char_boundary(LINE_BYTES_MAX - '…'.len_utf8());
    Cow::Owned(format!("{}…", &line[..end]))
}

/// Writes all of it, if `waits` also to a reader that is slow.
fn put(out: impl AsFd, mut bytes: &[u8], waits: bool) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        if !waits && !takes(&out, &NO_TIME)? {
            return Err(Errno::AGAIN);
        }
        match rustix::io::write(&out, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if waits && takes(&out, &PATIENCE)? => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a stream takes bytes within this time.
fn takes(out: &impl AsFd, time: &Timespec) -> rustix::io::Result<bool> {
    match poll(&mut [PollFd::new(out, PollFlags::OUT)], Some(time)) {
        Err(Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Shows what a parser of arguments says, and gives the exit code. An error is a line of the log, as it repeats what
/// was typed. Help on a full disk is an error; help for a reader that has ended is none.
pub fn told_by_parser(is_error: bool, text: &str, print: impl FnOnce() -> io::Result<()>, code: u8) -> u8 {
    if is_error {
        line(Level::Error, text.trim_end());
        return code;
    }
    match print() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            line(Level::Error, &format!("cannot write to standard output: {error}"));
            2
        }
        _ => code,
    }
}

/// Logs that something which was to be done is not done.
#[macro_export]
macro_rules! error {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Error, &::std::format!($($text)*)) };
}

/// Logs that something is not as it should be.
#[macro_export]
macro_rules! warn {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Warning, &::std::format!($($text)*)) };
}

/// Logs something normal that is worth knowing.
#[macro_export]
macro_rules! notice {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Notice, &::std::format!($($text)*)) };
}

/// Logs what is done.
#[macro_export]
macro_rules! info {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Info, &::std::format!($($text)*)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    const NEVER: fn() -> String = || unreachable!("no time is asked for");

    #[test]
    fn a_line_to_a_full_disk_a_closed_pipe_or_a_stopped_reader_is_lost_and_nothing_else_happens() {
        let full = File::options().write(true).open("/dev/full").expect("a device that is full");
        let (reader, closed) = UnixStream::pair().expect("a pair");
        drop(reader);
        for waits in [false, true] {
            assert_eq!(put(&full, b"line\n", waits), Err(Errno::NOSPC));
            assert_eq!(put(&closed, b"line\n", waits), Err(Errno::PIPE));
        }
        // Also through standard error itself, whatever that is in this run.
        line(Level::Info, "a line of a test");
    }

    #[test]
    fn a_service_never_waits_for_the_reader_of_its_log() {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let text = [b'a'; 1000];
        let taken = (0..1_000).take_while(|_| put(&writer, &text, false).is_ok()).count();
        assert!((1..1_000).contains(&taken), "{taken}");
        // When the reader goes on, so does the log.
        let mut read = vec![0; taken * text.len()];
        reader.read_exact(&mut read).expect("what was written");
        assert_eq!(put(&writer, &text, false), Ok(()));
    }

    #[test]
    fn a_line_of_a_service_is_one_line_whatever_the_text_has() {
        let forged = "app\n<0>forged\x1b[2J\r";
        let framed_line = framed(Sink::Journal, true, false, Level::Notice, forged, NEVER);
        assert_eq!(framed_line, "<5>app\\n<0>forged\\u001b[2J\\r\n");
        let long = framed(Sink::Other, true, false, Level::Notice, &"é\n".repeat(9_000), NEVER);
        assert!(long.len() <= LINE_BYTES_MAX + 1 && long.matches('\n').count() == 1 && long.ends_with("…\n"), "{long}");
    }

    #[test]
    fn nothing_in_a_line_acts_on_a_terminal() {
        let hostile = "a\x1b]0;t\x07\u{9b}2J\r\u{202e}b\u{fdd2}\nc";
        let shown = framed(Sink::Other, false, false, Level::Error, hostile, NEVER);
        assert_eq!(shown, "a\\u001b]0;t\\u0007\\u009b2J\\r\\u202eb\nc\n");
        let service = framed(Sink::File, true, true, Level::Error, hostile, || "now".to_owned());
        assert_eq!(service, "now a\\u001b]0;t\\u0007\\u009b2J\\r\\u202eb\\ufdd2\\nc\n");
    }

    #[test]
    fn lines_have_a_priority_in_the_journal_and_only_there() {
        let numbers = [(Level::Error, 3), (Level::Warning, 4), (Level::Notice, 5), (Level::Info, 6)];
        for (level, number) in numbers {
            assert_eq!(framed(Sink::Journal, true, false, level, "text", NEVER), format!("<{number}>text\n"));
            assert_eq!(framed(Sink::Other, true, false, level, "text", NEVER), "text\n");
        }
        assert_eq!(framed(Sink::Journal, false, false, Level::Error, "one\ntwo", NEVER), "<3>one\n<3>two\n");
        let noon = || "2026-11-26T12:00:00Z".to_owned();
        assert_eq!(framed(Sink::File, true, false, Level::Error, "text", noon), "2026-11-26T12:00:00Z text\n");
        assert_eq!(framed(Sink::File, false, false, Level::Error, "text", NEVER), "text\n");
    }

    #[test]
    fn the_journal_is_the_stream_that_the_environment_names() {
        let (_reader, writer) = UnixStream::pair().expect("a pair");
        let stat = rustix::fs::fstat(&writer).expect("its inode");
        let sink = |stream: &str| Sink::of(writer.as_fd(), Some(stream));
        assert_eq!(sink(&format!("{}:{}", stat.st_dev, stat.st_ino)), Sink::Journal);
        // A shell in the service has redirected its standard error.
        assert_eq!(sink(&format!("{}:{}", stat.st_dev, stat.st_ino + 1)), Sink::Other);
        for wrong in ["", ":", "1", "a:b", "-1:2"] {
            assert_eq!(sink(wrong), Sink::Other, "{wrong}");
        }
        let file = tempfile::tempfile().expect("a file");
        assert_eq!(Sink::of(file.as_fd(), None), Sink::File);
    }

    #[test]
    fn help_on_a_full_disk_is_an_error_and_an_error_of_usage_keeps_its_code() {
        let full = || Err(io::Error::from(io::ErrorKind::StorageFull));
        let closed = || Err(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(told_by_parser(false, "help", full, 0), 2);
        assert_eq!(told_by_parser(false, "help", closed, 0), 0);
        assert_eq!(told_by_parser(false, "help", || Ok(()), 0), 0);
        assert_eq!(told_by_parser(true, "wrong usage", full, 2), 2);
    }
}
