//! Storage requests of an app, as its threads submitted them to the block layer.
//!
//! A request here is a bio, before the block layer splits it or merges it with others. The file is known for reads
//! through the page cache, but not for file system metadata and direct I/O.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

use crate::probes::{Event, Inode, Kind, Operation, Request};
use crate::results::{FileRead, StorageFlow, StorageUse};
use serde::{Deserialize, Serialize};

/// Most files listed in [`StorageUse::files`].
const FILES_MAX: usize = 50;

/// One read of a launch, for example for read-ahead at the next one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadStep {
    /// Time since the begin of the launch.
    pub at_ms: f64,
    pub path: PathBuf,
    pub offset_bytes: u64,
    pub bytes: u64,
}

/// Requests within `window`; `files` names the inodes.
#[must_use]
pub fn storage_use(events: &[Event], files: &HashMap<Inode, PathBuf>, window: &Range<u64>) -> StorageUse {
    let mut result = StorageUse::default();
    let mut next_sector: HashMap<(u32, bool), u64> = HashMap::new();
    let mut by_file: HashMap<Inode, FileRead> = HashMap::new();
    for (at_ns, request) in requests(events, window) {
        let writes = !matches!(request.operation, Operation::Read | Operation::SwapIn);
        let flow = match request.operation {
            Operation::Read => &mut result.read,
            Operation::SwapIn => &mut result.swap_in,
            Operation::Write | Operation::SwapOut => &mut result.write,
            Operation::Flush | Operation::Discard => continue,
        };
        let end = request.sector + u64::from(request.bytes) / 512;
        let before = next_sector.insert((request.device, writes), end);
        count(flow, u64::from(request.bytes), before == Some(request.sector));
        if let (Operation::Read, Some((inode, _))) = (request.operation, request.file) {
            let entry = by_file.entry(inode).or_insert_with(|| FileRead {
                path: name(files, inode).to_string_lossy().into_owned(),
                bytes: 0,
                requests: 0,
                first_ms: (at_ns - window.start) as f64 / 1e6,
            });
            entry.bytes += u64::from(request.bytes);
            entry.requests += 1;
        }
    }
    result.in_flight_ms = in_flight_ns(events, window) as f64 / 1e6;
    result.files_count = by_file.len() as u64;
    result.files = by_file.into_values().collect();
    result.files.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    result.files.truncate(FILES_MAX);
    result
}

/// Reads of files within `window`, in order; adjacent reads of one file are merged.
#[must_use]
pub fn reads_in_order(events: &[Event], files: &HashMap<Inode, PathBuf>, window: &Range<u64>) -> Vec<ReadStep> {
    let mut steps: Vec<ReadStep> = Vec::new();
    let mut last: Option<Inode> = None;
    for (at_ns, request) in requests(events, window).filter(|(_, request)| request.operation == Operation::Read) {
        let Some((inode, offset_bytes)) = request.file else { continue };
        let bytes = u64::from(request.bytes);
        match steps.last_mut() {
            Some(step) if last == Some(inode) && step.offset_bytes + step.bytes == offset_bytes => step.bytes += bytes,
            _ => steps.push(ReadStep {
                at_ms: (at_ns - window.start) as f64 / 1e6,
                path: name(files, inode),
                offset_bytes,
                bytes,
            }),
        }
        last = Some(inode);
    }
    steps
}

fn requests<'a>(events: &'a [Event], window: &Range<u64>) -> impl Iterator<Item = (u64, &'a Request)> {
    let window = window.clone();
    events.iter().filter(move |event| window.contains(&event.at_ns)).filter_map(|event| match &event.kind {
        Kind::Submitted(request) => Some((event.at_ns, request)),
        _ => None,
    })
}

fn name(files: &HashMap<Inode, PathBuf>, inode: Inode) -> PathBuf {
    let unknown = || PathBuf::from(format!("inode {} of device {:#x}", inode.number, inode.device));
    files.get(&inode).cloned().unwrap_or_else(unknown)
}

fn count(flow: &mut StorageFlow, bytes: u64, sequential: bool) {
    flow.bytes += bytes;
    flow.requests += 1;
    flow.sequential_requests += u64::from(sequential);
    let class = bytes.max(4096).next_power_of_two();
    match flow.by_size_bytes.binary_search_by_key(&class, |&(size, _)| size) {
        Ok(found) => flow.by_size_bytes[found].1 += 1,
        Err(place) => flow.by_size_bytes.insert(place, (class, 1)),
    }
}

/// Time within `window` with at least one request in flight.
#[must_use]
pub fn in_flight_ns(events: &[Event], window: &Range<u64>) -> u64 {
    let mut open: HashMap<(u32, u64), u32> = HashMap::new();
    let (mut count, mut since, mut total) = (0u64, 0, 0);
    for event in events {
        let at_ns = event.at_ns.clamp(window.start, window.end);
        match &event.kind {
            // Threads do not wait for discards and flushes as for data.
            Kind::Submitted(request) if !matches!(request.operation, Operation::Flush | Operation::Discard) => {
                *open.entry((request.device, request.sector)).or_default() += 1;
                if count == 0 {
                    since = at_ns;
                }
                count += 1;
            }
            Kind::Completed { device, sector } => {
                let Some(same) = open.get_mut(&(*device, *sector)).filter(|same| **same > 0) else { continue };
                *same -= 1;
                count -= 1;
                if count == 0 {
                    total += at_ns - since;
                }
            }
            _ => {}
        }
    }
    if count > 0 { total + window.end.saturating_sub(since) } else { total }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: Inode = Inode { device: 1, number: 10 };

    fn read(at_ns: u64, sector: u64, bytes: u32, file: Option<(Inode, u64)>) -> Event {
        let operation = Operation::Read;
        let request = Request { device: 1, sector, bytes, operation, sync: true, read_ahead: false, file };
        Event { at_ns, tid: 1, kind: Kind::Submitted(request) }
    }

    fn done(at_ns: u64, sector: u64) -> Event {
        Event { at_ns, tid: 1, kind: Kind::Completed { device: 1, sector } }
    }

    fn launch() -> Vec<Event> {
        vec![
            read(10, 100, 4096, Some((LIB, 0))),
            read(20, 108, 8192, Some((LIB, 4096))),
            done(30, 100),
            done(50, 108),
            read(80, 900, 131_072, None),
            done(90, 900),
            read(95, 0, 512, Some((Inode { device: 1, number: 11 }, 65_536))),
        ]
    }

    #[test]
    fn requests_are_counted_by_kind_size_and_order() {
        let files = HashMap::from([(LIB, PathBuf::from("/lib/x.so"))]);
        let found = storage_use(&launch(), &files, &(0..100));
        assert_eq!((found.read.requests, found.read.bytes, found.read.sequential_requests), (4, 143_872, 1));
        assert_eq!(found.read.by_size_bytes, [(4096, 2), (8192, 1), (131_072, 1)]);
        assert_eq!((found.write.requests, found.files_count), (0, 2));
        assert_eq!((found.files[0].path.as_str(), found.files[0].bytes), ("/lib/x.so", 12_288));
        assert_eq!(found.files[1].path, "inode 11 of device 0x1");
        // 10 to 50, 80 to 90, 95 to the end.
        assert_eq!(found.in_flight_ms, 55.0 / 1e6);
    }

    #[test]
    fn two_requests_for_one_sector_complete_separately() {
        let events = [read(0, 8, 4096, None), read(10, 8, 4096, None), done(20, 8), done(40, 8), done(60, 8)];
        assert_eq!(storage_use(&events, &HashMap::new(), &(0..100)).in_flight_ms, 40.0 / 1e6);
    }

    #[test]
    fn adjacent_reads_are_merged() {
        let files = HashMap::from([(LIB, PathBuf::from("/lib/x.so"))]);
        let steps = reads_in_order(&launch(), &files, &(0..100));
        let seen: Vec<_> = steps.iter().map(|step| (step.offset_bytes, step.bytes)).collect();
        assert_eq!(seen, [(0, 12_288), (65_536, 512)]);
        assert_eq!(steps[0].path, PathBuf::from("/lib/x.so"));
    }
}
