//! `brisk monitor export`: a record as a table, a trace or metrics for other programs.

use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_core::snapshot::Snapshot;
use brisk_program::files::Replacement;
use brisk_record::{Item, Lost};

use super::{Format, read, report};
use crate::export::{Row, metric, openmetrics, perfetto, table};

/// Exports the record at `path`.
pub(super) fn run(path: &Path, format: Format, output: &Path) -> anyhow::Result<ExitCode> {
    if fs::canonicalize(path).is_ok_and(|path| fs::canonicalize(output).is_ok_and(|output| output == path)) {
        bail!("--output {} is the record itself: name another file", output.display());
    }
    // Which columns or tracks there are is known at the end only, so the record is read again. The first time comes
    // before anything is made at the output.
    let mut columns = table::Columns::default();
    let lost = rows(path, &mut |row| {
        columns.add(&row);
        Ok(())
    })?;
    if columns.is_empty() {
        bail!("{} holds no two samples of one session, so there is no interval to export", path.display());
    }
    let mut target = Target::open(output)?;
    // Losses were counted the first time.
    let again = |use_row: &mut dyn FnMut(Row) -> anyhow::Result<()>| rows(path, use_row).map(drop);
    let written = match format {
        Format::Csv => table::csv(&columns, &again, &mut target),
        Format::Perfetto => perfetto::trace(&columns, &again, &mut target),
        Format::Openmetrics => openmetrics::record(&columns, &again, &mut target),
    };
    match target.close(written) {
        Err(error) if is_closed_pipe(&error) => {}
        outcome => outcome.with_context(|| format!("cannot write {}", output.display()))?,
    }
    Ok(report(path, lost))
}

/// Gives every interval of the record at `path` to `use_row`.
fn rows(path: &Path, use_row: &mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<Lost> {
    let mut session = 0;
    let mut started_unix_ms = None;
    let mut previous: Option<Snapshot> = None;
    let mut last_unix_ns = 0;
    read(path, &mut |item| {
        match item {
            Item::Session(next) => {
                // The next file of one session continues it.
                if next.part == 0 || started_unix_ms != Some(next.started_unix_ms) {
                    session += 1;
                    (previous, last_unix_ns) = (None, 0);
                }
                started_unix_ms = Some(next.started_unix_ms);
            }
            Item::Snapshot(now) => {
                if previous.as_ref().is_some_and(|previous| now.at_ns < previous.at_ns) {
                    // The machine was started anew, and the begin of that session is lost.
                    session += 1;
                    (previous, last_unix_ns) = (None, 0);
                }
                let interval =
                    previous.as_ref().and_then(|previous| now.since(previous).map(|made| (made, previous.at_ns)));
                if let Some((interval, previous_at_ns)) = interval {
                    let end_unix_ns = now.wall_unix_ms.saturating_mul(1_000_000);
                    let start_unix_ns = end_unix_ns.saturating_sub(now.at_ns.saturating_sub(previous_at_ns));
                    if end_unix_ns <= last_unix_ns {
                        // The clock was set back: times of one session ascend.
                        session += 1;
                        last_unix_ns = 0;
                    }
                    // By a clock that is slowed down intervals would overlap.
                    let start_unix_ns = start_unix_ns.max(last_unix_ns);
                    last_unix_ns = end_unix_ns;
                    use_row(Row { session, start_unix_ns, end_unix_ns, metrics: metric::of(&now, &interval) })?;
                }
                previous = Some(*now);
            }
            _ => {}
        }
        Ok(())
    })
}

/// A file that replaces the earlier one when it is complete, or standard output.
enum Target {
    Standard(BufWriter<io::Stdout>),
    File(Replacement),
}

impl Target {
    fn open(output: &Path) -> anyhow::Result<Self> {
        if output.as_os_str() == "-" {
            return Ok(Self::Standard(BufWriter::new(io::stdout())));
        }
        let begun = Replacement::begin(output).with_context(|| format!("cannot write {}", output.display()))?;
        Ok(Self::File(begun))
    }

    /// Puts what was written in its place, or removes it when it is not complete.
    fn close(self, written: anyhow::Result<()>) -> anyhow::Result<()> {
        written?;
        match self {
            Self::Standard(mut stream) => stream.flush()?,
            Self::File(file) => file.finish()?,
        }
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(stream) => stream.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(stream) => stream.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

/// Whether the reader closed the pipe, which is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == ErrorKind::BrokenPipe))
}

#[cfg(test)]
mod tests {
    use brisk_record::{Session, Writer};

    use super::*;

    #[test]
    fn times_are_those_that_the_record_has_of_the_wall_clock() {
        const S: u64 = 1_000;
        const DAY: u64 = 86_400 * S;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("day.brisk");
        let mut writer = Writer::begin(&path, Session::default(), None).expect("a record");
        // The clock is set forward by a day, and back.
        let walls = [DAY, DAY + S, 2 * DAY + 2 * S, 2 * DAY + 3 * S, DAY + 4 * S, DAY + 5 * S];
        for (second, wall_unix_ms) in (0..).zip(walls) {
            let snapshot = Snapshot { at_ns: second * 1_000_000_000, wall_unix_ms, ..Snapshot::default() };
            writer.snapshot(&snapshot).expect("written");
        }
        drop(writer);
        let mut found = Vec::new();
        rows(&path, &mut |row| {
            found.push((row.session, row.start_unix_ns / 1_000_000, row.end_unix_ns / 1_000_000));
            Ok(())
        })
        .expect("read");
        let expected: Vec<_> =
            [1, 1, 1, 2, 2].into_iter().zip(&walls[1..]).map(|(session, wall)| (session, wall - S, *wall)).collect();
        assert_eq!(found, expected);
    }
}
