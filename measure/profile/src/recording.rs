//! Workloads from recordings of requests.
//!
//! A recording is a table of comma-separated values whose first line names the columns: `time_s` from its beginning, `rw` (R,
//! W, or F for a flush), `offset_bytes`, `size_bytes`; and optionally `sync` (1 for a W that is followed by a flush) and
//! `target`, the file or device of the offset. Other columns are ignored.
//!
//! It is replayed open-loop: each request when it is due. A cell replays the part of its length with the most requests, since
//! a recording of minutes is mostly idle. Offsets are widened to blocks of 4 KiB, as the device would see them, and wrapped
//! into the work file; each target has its own part of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::workload::{Action, Arrival, Ask, Workload};

/// What the device is asked for in one piece.
const BLOCK_BYTES: u64 = 4096;
/// A target's part of the addresses, wrapped into the work file later.
const TARGET_BYTES: u64 = 16 << 20;
/// Most bytes of a recording's file: more than a million requests.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// Longer requests are of no app.
const SIZE_BYTES_MAX: u64 = 1 << 20;

/// The workload in the recording `path` with content `text`, named after the file: its busiest part of the length `cell`.
///
/// # Errors
/// When a column is missing, a line is invalid, times decrease, or there is no request; the error names the line.
pub fn parse(path: &Path, text: &str, cell: Duration) -> Result<Workload> {
    let wrong = |line: usize, why: String| Error::Job { path: path.to_owned(), line, why };
    let mut lines = (1..).zip(text.lines());
    let head: Vec<&str> = lines.next().map_or_else(Vec::new, |(_, line)| line.trim().split(',').collect());
    let column = |name: &str| head.iter().position(|column| *column == name);
    let needed = |name: &str| {
        column(name).ok_or_else(|| {
            wrong(1, format!("there is no column '{name}' (it takes time_s,rw,offset_bytes,size_bytes)"))
        })
    };
    let (time, rw) = (needed("time_s")?, needed("rw")?);
    let (offset, size) = (needed("offset_bytes")?, needed("size_bytes")?);
    let (sync, target) = (column("sync"), column("target"));
    let mut targets: BTreeMap<String, u64> = BTreeMap::new();
    let mut arrivals: Vec<Arrival> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.trim().split(',').collect();
        let cell = |column: usize| cells.get(column).map(|cell| cell.trim()).unwrap_or_default();
        let bytes = |column: usize, name: &str| {
            let text = cell(column);
            text.parse::<u64>().map_err(|_| wrong(number, format!("{name} '{text}' is not a number of bytes")))
        };
        let at_s: f64 = cell(time).parse().ok().filter(|at: &f64| (0.0..1e9).contains(at)).ok_or_else(|| {
            wrong(number, format!("time_s '{}' is not a time: only recordings with times can be replayed", cell(time)))
        })?;
        let at_us = (at_s * 1e6) as u64;
        if arrivals.last().is_some_and(|last| last.at_us > at_us) {
            return Err(wrong(number, "it is earlier than the line before".to_owned()));
        }
        let action = match cell(rw) {
            "R" | "r" => Action::Read,
            "W" | "w" => Action::Write,
            "F" | "f" => Action::Flush,
            other => return Err(wrong(number, format!("rw '{other}' is not R, W or F"))),
        };
        let flush = Arrival { at_us, action: Action::Flush, offset_bytes: 0, size_bytes: 0 };
        if action == Action::Flush {
            arrivals.push(flush);
            continue;
        }
        let (from, len) = (bytes(offset, "offset_bytes")?, bytes(size, "size_bytes")?);
        if len > SIZE_BYTES_MAX {
            return Err(wrong(number, format!("a request of {len} bytes is longer than {SIZE_BYTES_MAX}")));
        }
        if len > 0 {
            let next = targets.len() as u64;
            let of = *targets.entry(target.map(cell).unwrap_or_default().to_owned()).or_insert(next);
            let first = from / BLOCK_BYTES * BLOCK_BYTES;
            let end = from.saturating_add(len).div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES);
            let offset_bytes = of.saturating_mul(TARGET_BYTES).saturating_add(first);
            arrivals.push(Arrival { at_us, action, offset_bytes, size_bytes: end.saturating_sub(first) });
        }
        if action == Action::Write && sync.is_some_and(|sync| cell(sync) == "1") {
            arrivals.push(flush);
        }
    }
    if arrivals.is_empty() {
        return Err(wrong(1, "nothing is asked for in it".to_owned()));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let about = format!("recording {}", path.display());
    Ok(Workload { name, about, cached: false, ask: Ask::Recorded(busiest(&arrivals, cell)) })
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
            ("", "no column 'time_s'"),
            (head, "nothing is asked"),
            (&format!("{head},W,0,4096\n"), "line 2: time_s '' is not a time"),
            (&format!("{head}1,W,0,4096\n0.5,R,0,1\n"), "line 3: it is earlier"),
            (&format!("{head}1,X,0,4096\n"), "rw 'X'"),
            (&format!("{head}1,R,-4,4096\n"), "offset_bytes '-4'"),
            (&format!("{head}1,R,0,9999999\n"), "longer than"),
        ] {
            let error = read(text).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
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
