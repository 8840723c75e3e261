//! Foreign I/O: requests of other programs to the measured disk.
//!
//! A measurement knows its own requests, and the kernel counts all requests of the disk (/proc/diskstats). What is left
//! of the counters after subtracting the own requests, during a *phase* (one kind of load, over all its repetitions),
//! is foreign, and a warning states its share.
//!
//! Compared are bytes, and requests: many small ones cost more than their bytes. The kernel splits requests larger than
//! `SPLIT_BYTES`, so those are compared by bytes alone. Only requests past the page cache are compared; a file system
//! that refuses them is not checked.
//!
//! Requests of the file system itself are no foreign I/O:
//! - In a phase that makes data durable (fsync) and on file systems that do not write in place, every write causes
//!   others (journal, nodes, checksums): their writes are not compared, reads are.
//! - Elsewhere the journal is committed at least every 5 s (`COMMIT_INTERVAL_NS`), because writes change the file's
//!   time; `COMMIT_BYTES` and `COMMIT_REQUESTS` are allowed for each commit, and as much for reads of metadata.
//!
//! Properties, each with a test of the same name:
//! - own requests and commits of the journal are no foreign I/O;
//! - a share beyond the limit is stated, with its phase;
//! - counters that lack the own requests prove nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

use crate::results::{Direction, Warning};
use brisk_core::snapshot::DiskTotals;
use brisk_core::units::{format_bytes, three_digits};
use brisk_sense::Sense;

use crate::place::{Place, PlaceKind};
use crate::work_file::Access;

/// Share of a phase's bytes or requests, in percent, from which foreign I/O is reported. The benchmark repeats a load
/// until the interval of its median is within 5 % (10 % with `--quick`), and a disk that serves a share of foreign
/// requests does about that share less for the benchmark: below the limit the intervals cover it.
pub const FOREIGN_LIMIT_PERCENT: f64 = 5.0;

/// Longest interval between two commits of a journal: `commit=5` of ext4; XFS and others wait longer (30 s).
const COMMIT_INTERVAL_NS: u64 = 5_000_000_000;
/// Bytes of a commit: on ext4, a changed time takes a descriptor, the inode's block and the commit block (12 KiB), and
/// the same inode's block once more when the journal is checkpointed; XFS writes a log buffer of 32 KiB. Other changes
/// of the mount, such as those of logs, are in the same commit. Seen on ext4 with blocks of 1 KiB: 6 KiB in 6 requests.
const COMMIT_BYTES: u64 = 128 << 10;
/// Requests of a commit, likewise.
const COMMIT_REQUESTS: u64 = 16;
/// The largest request that no driver splits: a page of memory, since a larger buffer may be scattered over more
/// segments than the device takes at once.
const SPLIT_BYTES: u64 = 4096;
/// File systems that overwrite blocks of a file in place.
const IN_PLACE_FILE_SYSTEMS: [&str; 7] = ["ext2", "ext3", "ext4", "xfs", "vfat", "exfat", "jfs"];

/// Requests of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flow {
    requests: u64,
    bytes: u64,
}

impl Flow {
    /// `requests` of `block_bytes` each.
    pub(crate) fn of(requests: u64, block_bytes: u64) -> Self {
        Self { requests, bytes: requests * block_bytes }
    }

    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
    }

    fn less(self, other: Self) -> Self {
        Self { requests: self.requests.saturating_sub(other.requests), bytes: self.bytes.saturating_sub(other.bytes) }
    }
}

/// What a part of a phase requested itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Own {
    pub(crate) reads: Flow,
    /// `None` where the writes are not known or cause others.
    pub(crate) writes: Option<Flow>,
    /// Largest request.
    pub(crate) block_bytes: u64,
}

impl Own {
    /// Adds requests of `block_bytes` each.
    pub(crate) fn add(&mut self, direction: Direction, flow: Flow, block_bytes: u64) {
        match direction {
            Direction::Read => self.reads.add(flow),
            Direction::Write => self.writes.get_or_insert_default().add(flow),
        }
        self.block_bytes = self.block_bytes.max(block_bytes);
    }

    /// Requests of one direction alone.
    pub(crate) fn only(direction: Direction, requests: u64, block_bytes: u64) -> Self {
        let (flow, none) = (Flow::of(requests, block_bytes), Flow::default());
        match direction {
            Direction::Read => Self { reads: flow, writes: Some(none), block_bytes },
            Direction::Write => Self { reads: none, writes: Some(flow), block_bytes },
        }
    }
}

/// Sums of one direction of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Compared {
    own: Flow,
    counted: Flow,
    is_compared: bool,
    /// Whether requests can be compared too, not only bytes.
    by_requests: bool,
}

impl Compared {
    /// Adds what the disk counted, and the own requests where these are known.
    fn add(&mut self, own: Option<Flow>, counted: Flow, block_bytes: u64) {
        self.own.add(own.unwrap_or_default());
        self.counted.add(counted);
        self.is_compared = own.is_some();
        self.by_requests = block_bytes <= SPLIT_BYTES;
    }

    /// Beyond the own requests and `allowed`.
    fn foreign(&self, allowed: Flow) -> Flow {
        if !self.is_compared {
            return Flow::default();
        }
        let foreign = self.counted.less(self.own).less(allowed);
        if self.by_requests { foreign } else { Flow { requests: 0, ..foreign } }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Phase {
    time_ns: u64,
    reads: Compared,
    writes: Compared,
}

impl Phase {
    fn foreign(&self) -> (Flow, Flow) {
        let commits = 1 + self.time_ns / COMMIT_INTERVAL_NS;
        let allowed = Flow { requests: commits * COMMIT_REQUESTS, bytes: commits * COMMIT_BYTES };
        (self.reads.foreign(allowed), self.writes.foreign(allowed))
    }

    /// Share of foreign requests or bytes in all of the disk, whichever is larger, in percent. Zero where the counters
    /// lack the own bytes: a driver or `queue/iostats` that counts nothing.
    fn share_percent(&self) -> f64 {
        let directions = [self.reads, self.writes];
        if directions.iter().any(|one| one.counted.bytes < one.own.bytes) {
            return 0.0;
        }
        let (mut all, mut foreign) = (Flow::default(), Flow::default());
        directions.iter().for_each(|one| all.add(one.counted));
        let (reads, writes) = self.foreign();
        [reads, writes].into_iter().for_each(|one| foreign.add(one));
        let of = |part: u64, whole: u64| if part == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
        of(foreign.bytes, all.bytes).max(of(foreign.requests, all.requests))
    }
}

/// The disk's counters at the begin of a part of a phase.
#[derive(Debug)]
pub(crate) struct Begun {
    counters: DiskTotals,
    at: Instant,
}

/// Compares the disk's counters with the own requests, phase by phase.
#[derive(Debug)]
pub(crate) struct ForeignMeter {
    sense: Sense,
    /// Kernel name of the whole disk; `None` where nothing can be compared.
    disk: Option<String>,
    in_place: bool,
    phases: RefCell<BTreeMap<String, Phase>>,
}

impl ForeignMeter {
    /// For requests to `place` with `access`.
    pub(crate) fn new(sense: &Sense, place: &Place, access: Access) -> Self {
        let disk = (place.device_is_sole && access == Access::Direct).then(|| place.counted(sense)).flatten();
        Self {
            sense: sense.clone(),
            disk: disk.map(|located| located.disk.name.clone()),
            in_place: is_in_place(place),
            phases: RefCell::default(),
        }
    }

    /// Begins a part of a phase; `None` where nothing can be compared.
    pub(crate) fn begin(&self) -> Option<Begun> {
        let counters = self.sense.disk_stats_of(self.disk.as_ref()?).ok().flatten()?;
        Some(Begun { counters, at: Instant::now() })
    }

    /// Ends it: all of `own` has been completed.
    pub(crate) fn end(&self, begun: Option<Begun>, phase: &str, own: Own) {
        let Some((begun, after)) = begun.and_then(|begun| Some((begun, self.begin()?.counters))) else { return };
        let mut phases = self.phases.borrow_mut();
        let sums = phases.entry(phase.to_owned()).or_default();
        sums.time_ns += u64::try_from(begun.at.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let (reads, writes) = between(&begun.counters, &after);
        sums.reads.add(Some(own.reads), reads, own.block_bytes);
        sums.writes.add(own.writes.filter(|_| self.in_place), writes, own.block_bytes);
    }

    /// The warning, when a phase had more foreign I/O than [`FOREIGN_LIMIT_PERCENT`].
    pub(crate) fn warning(&self) -> Option<Warning> {
        warning(self.disk.as_deref()?, &self.phases.borrow())
    }
}

/// Whether writes go where the block was, and cause no others.
fn is_in_place(place: &Place) -> bool {
    let Some(mount) = &place.mount else { return place.kind == PlaceKind::Device };
    let journals_data = mount.options.iter().chain(&mount.super_options).any(|option| option == "data=journal");
    IN_PLACE_FILE_SYSTEMS.contains(&mount.fs_type.as_str()) && !journals_data
}

/// What the disk did between two moments: reads and writes, merged ones included.
fn between(before: &DiskTotals, after: &DiskTotals) -> (Flow, Flow) {
    let total = |one: &DiskTotals| {
        let merged = |merged: Option<u64>| merged.unwrap_or_default();
        let reads = Flow { requests: one.read.requests + merged(one.merged_reads), bytes: one.read.bytes };
        (reads, Flow { requests: one.write.requests + merged(one.merged_writes), bytes: one.write.bytes })
    };
    let ((reads, writes), (reads_before, writes_before)) = (total(after), total(before));
    (reads.less(reads_before), writes.less(writes_before))
}

fn warning(disk: &str, phases: &BTreeMap<String, Phase>) -> Option<Warning> {
    let shares = || phases.iter().map(|(name, phase)| (name, phase.share_percent()));
    let disturbed = shares().filter(|(_, share)| *share > FOREIGN_LIMIT_PERCENT).count();
    let (worst, share) =
        shares().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share > FOREIGN_LIMIT_PERCENT)?;
    let (mut reads, mut writes) = (Flow::default(), Flow::default());
    for (of_reads, of_writes) in phases.values().map(Phase::foreign) {
        reads.add(of_reads);
        writes.add(of_writes);
    }
    Some(Warning {
        code: "foreign_io".to_owned(),
        text: format!(
            "During {disturbed} of {} loads, more than {FOREIGN_LIMIT_PERCENT:.0} % of the requests or bytes of {disk} \
             were not brisk's (most: {} % during {worst}; in all {} read and {} written by others). End the other \
             programs, and measure again.",
            phases.len(),
            three_digits(share),
            format_bytes(reads.bytes),
            format_bytes(writes.bytes),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::IoTotals;
    use proptest::prelude::*;

    /// Counters after `reads` and `writes` of (requests, merged, KiB).
    fn counters(reads: (u64, u64, u64), writes: (u64, u64, u64)) -> DiskTotals {
        let io = |(requests, _, kib): (u64, u64, u64)| IoTotals { requests, bytes: kib << 10, time_ms: 0 };
        DiskTotals {
            name: "vda".to_owned(),
            read: io(reads),
            write: io(writes),
            merged_reads: Some(reads.1),
            merged_writes: Some(writes.1),
            ..DiskTotals::default()
        }
    }

    fn phase(own: Own, counted: &DiskTotals) -> Phase {
        let (reads, writes) = between(&counters((7, 7, 7), (7, 7, 7)), counted);
        let mut phase = Phase { time_ns: 1_000_000_000, ..Phase::default() };
        phase.reads.add(Some(own.reads), reads, own.block_bytes);
        phase.writes.add(own.writes, writes, own.block_bytes);
        phase
    }

    fn told(phase: Phase) -> Option<String> {
        warning("vda", &[("random read".to_owned(), phase)].into()).map(|warning| warning.text)
    }

    #[test]
    fn own_requests_and_commits_of_the_journal_are_no_foreign_io() {
        let own = Own::only(Direction::Read, 100, 4096);
        // 100 own reads, 40 of them merged; a commit of three blocks.
        assert_eq!(told(phase(own, &counters((7 + 60, 7 + 40, 7 + 400), (7 + 3, 7, 7 + 12)))), None);
        let own = Own::only(Direction::Write, 100, 4096);
        assert_eq!(told(phase(own, &counters((7, 7, 7), (7 + 116, 7, 7 + 400 + 128)))), None);
        // Requests that the kernel splits are compared by their bytes.
        let own = Own::only(Direction::Write, 100, 1 << 20);
        assert_eq!(told(phase(own, &counters((7, 7, 7), (7 + 800, 7, 7 + (100 << 10))))), None);
    }

    #[test]
    fn a_share_beyond_the_limit_is_stated_with_its_phase() {
        let own = Own::only(Direction::Read, 1_000, 4096);
        // 1000 foreign writes of 4 KiB: those of one commit are allowed.
        let text = told(phase(own, &counters((1_007, 7, 4_007), (1_007, 7, 4_007)))).expect("half of all");
        assert!(text.contains("During 1 of 1 loads") && text.contains("49.2 % during random read"), "{text}");
        assert!(text.contains("0 B read and 3.78 MiB written by others"), "{text}");
        // Small requests among large own ones: by requests it would be much, but these cannot be compared.
        let own = Own::only(Direction::Read, 1_000, 1 << 20);
        assert_eq!(told(phase(own, &counters((8_007, 7, (1_000 << 10) + 4_007), (7, 7, 7)))), None);
        // Requests smaller than the own ones: 500 of 512 bytes.
        let own = Own::only(Direction::Read, 1_000, 4096);
        assert!(told(phase(own, &counters((1_507, 7, 4_007 + 250), (7, 7, 7)))).is_some());
    }

    #[test]
    fn writes_that_are_not_compared_are_part_of_the_whole() {
        let own = Own { reads: Flow::default(), writes: None, block_bytes: 4096 };
        // fsync of 1000 blocks, each with its journal; some reads of metadata, and more than that.
        assert_eq!(told(phase(own, &counters((17, 7, 47), (4_007, 7, 16_007)))), None);
        let text = told(phase(own, &counters((1_007, 7, 4_007), (4_007, 7, 16_007)))).expect("a fifth");
        assert!(text.contains("19.7 % during random read"), "{text}");
    }

    #[test]
    fn counters_that_lack_the_own_requests_prove_nothing() {
        let own = Own::only(Direction::Read, 1_000, 4096);
        assert_eq!(told(phase(own, &counters((7, 7, 7), (90_007, 7, 360_007)))), None);
    }

    proptest! {
        #[test]
        fn a_share_is_a_percentage(
            own in 0u64..1 << 40, size in 9u32..24, reads in 0u64..1 << 40, writes in 0u64..1 << 40, ns in any::<u64>()
        ) {
            let own = Own::only(Direction::Write, own >> size, 1 << size);
            let counted = counters((reads >> 10, 0, reads >> 10), (writes >> 10, 0, writes >> 10));
            let mut phase = Phase { time_ns: ns, ..Phase::default() };
            let (counted_reads, counted_writes) = between(&counters((0, 0, 0), (0, 0, 0)), &counted);
            phase.reads.add(Some(own.reads), counted_reads, own.block_bytes);
            phase.writes.add(own.writes, counted_writes, own.block_bytes);
            prop_assert!((0.0..=100.0).contains(&phase.share_percent()));
        }
    }
}
