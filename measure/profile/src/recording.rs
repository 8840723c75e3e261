//! Workloads from recordings of requests.
//!
//! A recording is a table (`brisk_program::files::table`) with the columns `time_s` from its beginning, `rw` (R, W, or
//! F for a flush), `offset_bytes`, `size_bytes`; and optionally `sync` (1 for a W that is followed by a flush) and
//! `target`, the file or device of the offset. Other columns are ignored.
//!
//! It is replayed open-loop: each request when it is due. A cell replays the part of its length with the most requests,
//! since a recording of minutes is mostly idle. Offsets are widened to blocks of 4 KiB, as the device would see them,
//! and wrapped into the work file; each target has its own part of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use brisk_program::files::table::{Layout, Table, TableError};

use crate::error::{Error, Result};
use crate::workload::{Action, Arrival, Ask, Workload};

/// What the device is asked for in one piece.
const BLOCK_BYTES: u64 = 4096;
/// A target's part of the addresses, wrapped into the work file later.
const TARGET_BYTES: u64 = 16 << 20;
/// Most bytes of a recording's file: more than a million requests.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// Later times are no times since the begin of a recording.
const TIME_S_MAX: f64 = 1e9;
/// Longer requests are of no app.
const SIZE_BYTES_MAX: u64 = 1 << 20;

/// Columns of a recording.
pub const LAYOUT: Layout =
    Layout { needed: &["time_s", "rw", "offset_bytes", "size_bytes"], optional: &["sync", "target"] };

/// Whether a text is a table rather than a job file of fio: it has the columns, or its first line names one of them.
#[must_use]
pub fn is_table(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';'])).unwrap_or_default();
    !first.starts_with('[') && (is_heading(first) || Table::begin(text, &[LAYOUT]).is_ok())
}

/// Whether a line names at least one column.
fn is_heading(line: &str) -> bool {
    line.split([',', ';', '\t']).any(|name| {
        let name = name.trim().trim_matches('"').trim().to_lowercase();
        LAYOUT.needed.contains(&name.as_str())
    })
}

/// The workload in the recording `path` with content `text`, named after the file: its busiest part of the length
/// `cell`.
///
/// # Errors
/// When a column is missing, a line is invalid, times decrease, or nothing is read or written; the error names the
/// line.
pub fn parse(path: &Path, text: &str, cell: Duration) -> Result<Workload> {
    let arrivals = arrivals(text).map_err(|why| Error::Table { path: path.to_owned(), why })?;
    let name = name_of(path);
    let about = format!("recording {}", path.display());
    let workload = Workload { name, about, cached: false, ask: Ask::Recorded(busiest(&arrivals, cell)) };
    if workload.ask.is_empty() {
        let why = "nothing is read or written in it".to_owned();
        return Err(Error::Job { path: path.to_owned(), line: 1, why });
    }
    Ok(workload)
}

/// A file's name without its endings; standard input and pipes have none.
fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") {
        return "recording".to_owned();
    }
    let packed = path.extension().is_some_and(|ending| ending == "gz").then(|| path.with_extension(""));
    packed.as_deref().unwrap_or(path).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn arrivals(text: &str) -> std::result::Result<Vec<Arrival>, TableError> {
    let (mut table, _) = Table::begin(text, &[LAYOUT])?;
    let mut targets: BTreeMap<String, u64> = BTreeMap::new();
    let mut arrivals: Vec<Arrival> = Vec::new();
    while let Some(row) = table.next_row()? {
        let at_s = row.number("time_s", 0.0..=TIME_S_MAX)?;
        let at_us = (at_s * 1e6) as u64;
        if arrivals.last().is_some_and(|last| last.at_us > at_us) {
            return Err(row.wrong("time_s", "it is earlier than the line before"));
        }
        let action = match row.text("rw").to_ascii_lowercase().as_str() {
            "r" | "read" => Action::Read,
            "w" | "write" => Action::Write,
            "f" | "flush" => Action::Flush,
            other => return Err(row.wrong("rw", format!("'{other}' is not R, W or F"))),
        };
        let flush = Arrival { at_us, action: Action::Flush, offset_bytes: 0, size_bytes: 0 };
        if action == Action::Flush {
            arrivals.push(flush);
            continue;
        }
        let (from, len) = (row.whole("offset_bytes")?, row.whole("size_bytes")?);
        if len > SIZE_BYTES_MAX {
            let why = format!("a request of {len} bytes is longer than {SIZE_BYTES_MAX}");
            return Err(row.wrong("size_bytes", why));
        }
        if len > 0 {
            let next = targets.len() as u64;
            let of = *targets.entry(row.text("target").to_owned()).or_insert(next);
            let first = from / BLOCK_BYTES * BLOCK_BYTES;
            let end = from.saturating_add(len).div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES);
            let offset_bytes = of.saturating_mul(TARGET_BYTES).saturating_add(first);
            arrivals.push(Arrival { at_us, action, offset_bytes, size_bytes: end.saturating_sub(first) });
        }
        if action == Action::Write && matches!(row.text("sync"), "1" | "1.0") {
            arrivals.push(flush);
        }
    }
    Ok(arrivals)
}

/// The part of length `time` with the most requests, with times from its own beginning.
fn busiest(arrivals: &[Arrival], time: Duration) -> Vec<Arrival> {
    let length_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let (mut best, mut end) = (0..0, 0);
    for (begin, first) in arrivals.iter().enumerate() {
        while arrivals.get(end).is_some_and(|arrival| arrival.at_us - first.at_us < length_us) {
            end += 1;
        }
        if end - begin > best.len() {
            best = begin..end;
        }
    }
    let stretch = &arrivals[best];
    let from_us = stretch.first().map_or(0, |first| first.at_us);
    stretch.iter().map(|arrival| Arrival { at_us: arrival.at_us - from_us, ..*arrival }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Workload> {
        parse(Path::new("/x/mail.csv"), text, Duration::from_secs(1))
    }

    /// A file's name without its endings; standard input and pipes have none.
    fn name_of(path: &Path) -> String {
        if path.as_os_str() == "-" || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") {
            return "recording".to_owned();
        }
        let packed = path.extension().is_some_and(|ending| ending == "gz").then(|| path.with_extension(""));
        packed.as_deref().unwrap_or(path).file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn arrivals(text: &str) -> Vec<(u64, Action, u64, u64)> {
        match read(text).expect("a recording").ask {
            Ask::Recorded(all) => all.iter().map(|a| (a.at_us, a.action, a.offset_bytes, a.size_bytes)).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_come_as_they_were_in_whole_blocks() {
        let text = "scenario,time_s,rw,offset_bytes,size_bytes,sync,target\nx,0.0,R,4,4,,a\nx,0.5,W,4095,2,1,b\n\
            x,0.6,F,,,,\nx,0.7,R,0,0,,a\n";
        assert_eq!(
            arrivals(text),
            [
                (0, Action::Read, 0, 4096),
                (500_000, Action::Write, TARGET_BYTES, 8192),
                (500_000, Action::Flush, 0, 0),
                (600_000, Action::Flush, 0, 0),
            ]
        );
        assert_eq!(read(text).expect("a recording").name, "mail");
    }

    #[test]
    fn invalid_lines_are_named() {
        let head = "time_s,rw,offset_bytes,size_bytes\n";
        for (text, words) in [
            ("", "mail.csv: it is empty: line 1 is to name the columns time_s, rw"),
            (head, "nothing is read or written"),
            (&format!("{head}1,F,,\n"), "nothing is read or written"),
            (&format!("{head},W,0,4096\n"), "mail.csv: line 2, column time_s: '' is no number"),
            (&format!("{head}1,W,0,4096\n0.5,R,0,1\n"), "line 3, column time_s: it is earlier"),
            (&format!("{head}1,X,0,4096\n"), "line 2, column rw: 'x' is not R, W or F"),
            (&format!("{head}1,R,-4,4096\n"), "line 2, column offset_bytes: '-4' is no whole number"),
            (&format!("{head}1,R,0,9999999\n"), "longer than"),
        ] {
            let error = read(text).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_recording_is_named_after_its_file_where_it_has_one() {
        for (path, name) in
            [("/x/mail.csv.gz", "mail"), ("mail.tsv", "mail"), ("-", "recording"), ("/dev/fd/63", "recording")]
        {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }

    #[test]
    fn a_table_is_told_from_a_job_file() {
        for text in [
            "time_s,rw\n",
            "# of a phone\n\n\"Time_S\";rw\n",
            "\u{feff}time_s\trw\n",
            "rw, time_s\n",
            "offset_bytes\n",
            "#time_s,rw,offset_bytes,size_bytes\n0,R,0,1\n",
        ] {
            assert!(is_table(text), "{text:?}");
        }
        for text in ["[global]\nrw=read\n", "; a\n[a]\n", "", "rw=read\nbs=4k\n", "\u{feff}[time_s]\n"] {
            assert!(!is_table(text), "{text:?}");
        }
    }

    #[test]
    fn the_busiest_part_is_replayed_from_its_own_beginning() {
        let at = |at_us| Arrival { at_us, action: Action::Read, offset_bytes: 0, size_bytes: 4096 };
        let all = [0, 900_000, 5_000_000, 5_100_000, 5_200_000, 9_000_000].map(at);
        let times = |s| busiest(&all, Duration::from_secs_f64(s)).iter().map(|a| a.at_us).collect::<Vec<_>>();
        assert_eq!(times(1.0), [0, 100_000, 200_000]);
        assert_eq!(times(100.0).len(), 6);
        assert!(busiest(&[], Duration::from_secs(1)).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(time_s,rw,offset_bytes,size_bytes\n)?[0-9RWF,.\n-]{0,80}") {
            let _ = read(&text);
        }
    }
}
