//! A process that fills memory: the memory-hungry app in front.
//!
//! It is a program of its own in the phone's memory group, so that what it holds is charged, reclaimed and swapped as
//! an app's. Half of each page is random and half is zero, so that compressed memory gains about what it gains from
//! apps. It obeys lines on its standard input: `grow BYTES` adds to what it holds and answers `held BYTES`; at the end
//! of the input it ends.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::phone::MemoryGroup;
use brisk_core::random::Random;

use crate::memory::error::{Error, Result, io as failed};

const PAGE_BYTES: usize = 4_096;
/// Most that is asked for at once: what is free is read again after it.
const STEP_BYTES: u64 = 32 << 20;
/// Less is not worth a request.
const LEAST_BYTES: u64 = 256 << 10;

/// The running process; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Balloon {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Balloon {
    /// Starts `program`, which has to call [`serve_balloon`], in `group`.
    pub(crate) fn start(program: &[OsString], group: &MemoryGroup) -> Result<Self> {
        let (first, words) = program.split_first().ok_or_else(|| Error::Balloon("no program was named".to_owned()))?;
        let mut command = Command::new(first);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        brisk_program::child::end_with_parent(&mut command, brisk_program::child::Signal::KILL);
        let mut child = command.spawn().map_err(failed("start the process that fills memory"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Balloon("it has no pipes".to_owned()));
        };
        let mut balloon = Self { child, input, output: BufReader::new(output) };
        group.add(balloon.pid())?;
        // Its program is in memory, and charged to the right group from here on.
        balloon.grow(0)?;
        Ok(balloon)
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Holds so much more; gives what it holds now.
    fn grow(&mut self, bytes: u64) -> Result<u64> {
        let mut line = String::new();
        let asked = writeln!(self.input, "grow {bytes}").and_then(|()| self.input.flush());
        let read = asked.and_then(|()| self.output.read_line(&mut line));
        let held = line.trim().strip_prefix("held ").and_then(|held| held.parse().ok());
        match (read, held) {
            (Ok(_), Some(held)) => Ok(held),
            _ => Err(Error::Balloon("it ended, probably since memory ran out".to_owned())),
        }
    }

    /// Grows until `keep_bytes` of the limit of `group` are free; gives what it holds.
    pub(crate) fn fill(&mut self, group: &MemoryGroup, keep_bytes: u64) -> Result<u64> {
        loop {
            let free_bytes = group.limit_bytes()?.saturating_sub(group.usage_bytes()?);
            let more_bytes = free_bytes.saturating_sub(keep_bytes).min(STEP_BYTES);
            let held_bytes = self.grow(if more_bytes < LEAST_BYTES { 0 } else { more_bytes })?;
            if more_bytes < LEAST_BYTES {
                return Ok(held_bytes);
            }
        }
    }
}

impl Drop for Balloon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process itself: obeys the lines of `input` until its end.
///
/// # Errors
/// When input or output fail, or a line is no request.
pub fn serve_balloon(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut random = Random(1);
    for line in input.lines() {
        let line = line?;
        let bytes: usize = line
            .strip_prefix("grow ")
            .and_then(|bytes| bytes.parse().ok())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("'{line}' is no request: grow BYTES")))?;
        let mut more = vec![0; bytes];
        for page in more.chunks_mut(PAGE_BYTES) {
            let half = page.len() / 2;
            random.fill(&mut page[half..]);
            // A page of zeros would be no page.
            page[0] = 1;
        }
        held.push(more);
        writeln!(output, "held {}", held.iter().map(Vec::len).sum::<usize>())?;
        output.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_it_holds_and_refuses_what_is_no_request() {
        let mut said = Vec::new();
        serve_balloon(&b"grow 4096\ngrow 10000\n"[..], &mut said).expect("served");
        assert_eq!(String::from_utf8_lossy(&said), "held 4096\nheld 14096\n");
        let error = serve_balloon(&b"shrink\n"[..], &mut Vec::new()).expect_err("no request").to_string();
        assert!(error.contains("'shrink'") && error.contains("grow BYTES"), "{error}");
    }
}
