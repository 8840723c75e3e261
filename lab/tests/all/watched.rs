//! Real processes do something, and the events say so.
//!
//! All of it requires root, eBPF and control groups of version 2.
#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should, in its functions too")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::OnceLock;

use brisk_lab::probes::{Event, Kind, Options, Recording, Support, Trace, Wait};
use brisk_requires::{Capability, available, skip};

mod memory;
mod network;
mod order;
mod role;
mod scratch;
mod storage;
mod threads;

use order::check_order;
use role::{Facts, Player};
use scratch::ScratchGroup;

#[test]
#[ignore = "what the other tests watch"]
fn a_process_in_its_role() {
    role::play();
}

/// Runs of one role in one recording.
const RUNS: usize = 7;

/// Passes where `check` holds for most of the runs.
///
/// A virtual machine may hide switches and wake-ups of some milliseconds about once a second (CONTRIBUTING.md), and a
/// run takes some tens of milliseconds: there one run in twenty is incomplete, and a right collector fails with a
/// probability of 35 * 0.05^4 = 0.02 % (four of seven runs or more). On a machine that hides nothing it never fails.
fn in_most_runs(runs: &[Facts], check: impl Fn(&Facts)) {
    let complete = |facts: &&Facts| std::panic::catch_unwind(AssertUnwindSafe(|| check(facts))).is_ok();
    let complete = runs.iter().filter(complete).count();
    assert!(complete > runs.len() / 2, "{complete} of {} runs are complete", runs.len());
}

/// What can be seen here, found out once.
fn support() -> Result<&'static Support, &'static str> {
    static SUPPORT: OnceLock<Result<Support, String>> = OnceLock::new();
    SUPPORT.get_or_init(|| Support::check().map_err(|error| error.to_string())).as_ref().map_err(String::as_str)
}

/// A group to watch in; `None`, with the skip recorded, where that cannot be.
fn group() -> Option<ScratchGroup> {
    available(&[Capability::Groups])?;
    support().map_err(|reason| skip(Capability::Bpf, reason)).ok()?;
    Some(scratch::mounted().and_then(|root| ScratchGroup::below(&root)).unwrap())
}

/// Whether this kernel does not show `part`; then the skip is recorded.
fn lacks(part: &str) -> bool {
    let missing = support().map(|support| support.missing.as_slice()).unwrap_or_default();
    let reason = missing.iter().find(|reason| reason.starts_with(part));
    if let Some(reason) = reason {
        skip(Capability::Bpf, format!("this kernel does not show {reason}"));
    }
    reason.is_some()
}

fn start(group: &ScratchGroup) -> Trace {
    Trace::start(group.path(), &Options::default()).unwrap()
}

/// Watches processes in the same role, one after the other, each to its end. Gives their recording and what each says
/// of itself.
fn watch(group: &ScratchGroup, role: &str, argument: impl AsRef<OsStr>, prepare: impl Fn()) -> (Recording, Vec<Facts>) {
    let trace = start(group);
    let run = |_| {
        prepare();
        Player::start(Some(group), role, argument.as_ref()).facts()
    };
    let runs = (0..RUNS).map(run).collect();
    let recording = trace.stop();
    assert_eq!(recording.lost, 0);
    check_order(&recording.events);
    (recording, runs)
}

fn tid(facts: &Facts, key: &str) -> u32 {
    u32::try_from(facts[key]).unwrap()
}

fn of(events: &[Event], tid: u32) -> Vec<&Event> {
    events.iter().filter(|event| event.tid == tid).collect()
}

fn waits(events: &[&Event]) -> Vec<Wait> {
    let wait = |event: &&Event| if let Kind::Waiting(wait) = event.kind { Some(wait) } else { None };
    events.iter().filter_map(wait).collect()
}

fn call(number: libc::c_long) -> Option<u32> {
    Some(u32::try_from(number).unwrap())
}

/// A folder on a file system on a disk; `None`, with the skip recorded, where there is none.
fn disk() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // A file system without a device has the major number 0, and brings forth no requests.
    let device = folder.path().metadata().unwrap().dev();
    if rustix::fs::major(device) == 0 {
        skip(Capability::Disk, format!("{} is not on a disk", folder.path().display()));
        return None;
    }
    Some(folder)
}

/// Makes a file that is on the disk and nowhere else.
fn evicted(path: &Path, bytes: usize) {
    let mut file = File::create(path).unwrap();
    file.write_all(&vec![7; bytes]).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}
