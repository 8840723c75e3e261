//! Requests of files, read and written.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use brisk_lab::probes::{Event, Kind, Operation, Recording, Wait, major_minor};

use crate::watched::role::{Facts, places};
use crate::watched::{call, disk, evicted, group, in_most_runs, lacks, of, tid, waits, watch};

#[test]
fn a_read_of_a_file_that_is_not_cached_is_a_request_with_file_place_and_path() {
    let Some(group) = group() else { return };
    let Some(folder) = disk() else { return };
    if lacks("requests") {
        return;
    }
    let path = folder.path().join(OsStr::from_bytes(b"odd \xff\n(name"));
    let (recording, runs) = watch(&group, "reads", &path, || evicted(&path, 4 << 20));
    in_most_runs(&runs, |facts| check_reads(&recording, facts, &path));
}

fn check_reads(recording: &Recording, facts: &Facts, path: &Path) {
    let own = of(&recording.events, tid(facts, "tid"));
    let metadata = path.metadata().unwrap();
    let (by_call, by_fault) = places();
    let (mut offsets, mut calls_of_calls, mut calls_of_faults) = (Vec::new(), HashSet::new(), HashSet::new());
    for (at, event) in own.iter().enumerate() {
        let Kind::Submitted(request) = event.kind else { continue };
        let Some((inode, offset)) = request.file else { continue };
        if inode.number != metadata.ino() {
            continue;
        }
        let numbers = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
        assert_eq!(major_minor(inode.device), numbers);
        assert_eq!(request.operation, Operation::Read);
        assert!(request.bytes >= 4096);
        assert_same_file(Path::new(OsStr::from_bytes(&recording.files[&inode])), path);
        offsets.push(offset);
        let done = Kind::Completed { device: request.device, sector: request.sector };
        let length = own[at..].iter().position(|event| event.kind == done).expect("it was done");
        // It may be done before the thread got to wait for it.
        if let Some(wait) = waits(&own[at..at + length]).first() {
            assert!(wait.io && wait.uninterruptible, "{wait:?}");
            let calls = if by_call.contains(&offset) { &mut calls_of_calls } else { &mut calls_of_faults };
            calls.insert(wait.system_call);
        }
    }
    assert_eq!(offsets, [by_call, by_fault].concat());
    assert_eq!(calls_of_calls, HashSet::from([call(libc::SYS_pread64)]));
    assert_eq!(calls_of_faults, HashSet::from([None]));
}

/// The probes name files from the root of their file system; a mount may begin below it (a bind mount) or above it.
fn assert_same_file(reported: &Path, path: &Path) {
    let path = path.canonicalize().unwrap();
    let inside = |path: &Path| path.strip_prefix("/").unwrap().to_owned();
    assert!(path.ends_with(inside(reported)) || reported.ends_with(inside(&path)), "{reported:?}, {path:?}");
}

#[test]
fn a_write_that_is_made_durable_is_a_request_and_a_wait_in_fsync() {
    let Some(group) = group() else { return };
    let Some(folder) = disk() else { return };
    if lacks("requests") {
        return;
    }
    let path = folder.path().join("written");
    let (recording, runs) = watch(&group, "writes", &path, || ());
    let inode = path.metadata().unwrap().ino();
    let written = |event: &&Event| match event.kind {
        Kind::Submitted(request) if request.operation == Operation::Write => {
            request.file.filter(|(file, _)| file.number == inode).map(|(_, offset)| (offset, request.bytes))
        }
        _ => None,
    };
    let in_fsync = |wait: &Wait| wait.system_call == call(libc::SYS_fsync) && wait.uninterruptible;
    in_most_runs(&runs, |facts| {
        let own = of(&recording.events, tid(facts, "tid"));
        assert_eq!(own.iter().filter_map(written).collect::<Vec<_>>(), [(0, 8192)]);
        assert!(waits(&own).iter().any(in_fsync), "{:?}", waits(&own));
    });
}
