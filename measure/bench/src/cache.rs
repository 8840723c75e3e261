//! Checks whether reads reach the storage or a cache.
//!
//! After the work file is written and synced, a part of it is read, and the block device's own counter must have moved
//! by the same amount. File systems and devices in memory are found by name before that.

use brisk_core::units::format_bytes;
use brisk_sense::Sense;

use crate::control::Control;
use crate::engine::Engine;
use crate::error::Result;
use crate::load::{ALIGNMENT_BYTES, End, Load};
use crate::place::Place;
use crate::results::{CacheCheck, CacheVerdict, Direction, Pattern, Warning};
use crate::work_file::{Access, WorkFile};

/// Most bytes that the check reads.
const CHECK_BYTES: u64 = 32 << 20;
/// Size of its requests.
const CHECK_BLOCK_BYTES: u64 = 128 << 10;
/// Share of the requested bytes that the device must have moved. Its counter is exact, but another process may discard
/// blocks or reset it meanwhile.
const MOVED_SHARE: f64 = 0.95;
/// Share of the file that may stay in memory after it was evicted.
const RESIDENT_SHARE: f64 = 0.01;

/// Facts that the verdict is derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Evidence {
    /// File system or device in memory that holds the place.
    memory: Option<String>,
    access: Access,
    asked_bytes: u64,
    device: Option<String>,
    device_bytes: Option<u64>,
    /// Whether the device is the only one below the file system.
    device_is_sole: bool,
    /// Bytes left in the page cache after eviction.
    resident_bytes: u64,
    /// A loop device that uses the page cache of its file.
    cached_loop: Option<String>,
}

/// Reads a part of `work` and decides whether the device or a cache delivered it.
///
/// # Errors
/// When a read fails, the machine cannot be read, or the stop flag is raised.
pub fn check(
    sense: &Sense,
    place: &Place,
    work: &WorkFile,
    engine: &Engine,
    control: &Control<'_>,
) -> Result<CacheCheck> {
    let disk = place.device.as_ref().map(|located| located.disk.name.as_str());
    let memory = place.memory(sense)?;
    let read_bytes = |sense: &Sense| -> Result<Option<u64>> {
        let Some(disk) = disk else { return Ok(None) };
        // A queue with iostats off would look like a cache.
        if sense.block_queue(disk).is_ok_and(|queue| !queue.counts_io) {
            return Ok(None);
        }
        Ok(sense.disk_stats_of(disk)?.map(|stats| stats.read.bytes))
    };
    let mut evidence = Evidence {
        cached_loop: cached_loop(sense, place)?,
        memory,
        access: work.access,
        asked_bytes: 0,
        device: disk.map(str::to_owned),
        device_bytes: None,
        device_is_sole: place.device_is_sole,
        resident_bytes: work.evict(place)?,
    };
    if evidence.memory.is_none() {
        let block_bytes = if work.size_bytes >= CHECK_BLOCK_BYTES { CHECK_BLOCK_BYTES } else { ALIGNMENT_BYTES };
        let requests = work.size_bytes.min(CHECK_BYTES) / block_bytes;
        let load = Load {
            depth_requests: 4,
            end: End::after_requests(requests),
            ..Load::plain(Pattern::Sequential, Direction::Read, block_bytes, work.region())
        };
        let before = read_bytes(sense)?;
        evidence.asked_bytes = engine.run(work.fd(), &load, control.stop)?.requests() * block_bytes;
        control.check()?;
        evidence.device_bytes = before.zip(read_bytes(sense)?).map(|(before, after)| after.saturating_sub(before));
    }
    Ok(judge(&evidence))
}

/// A loop device on the way that uses the page cache of its file.
pub(crate) fn cached_loop(sense: &Sense, place: &Place) -> Result<Option<String>> {
    for name in place.stack.parts.iter().filter(|name| name.starts_with("loop")) {
        // A partition has none.
        if sense.loop_backing(name)?.is_some_and(|backing| !backing.direct_io) {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

fn judge(evidence: &Evidence) -> CacheCheck {
    let asked = format_bytes(evidence.asked_bytes);
    let device = evidence.device.as_deref().unwrap_or("the device");
    let moved = evidence.device_bytes.map(|bytes| bytes as f64 >= evidence.asked_bytes as f64 * MOVED_SHARE);
    let (verdict, text) = match (&evidence.memory, evidence.access, moved) {
        (Some(memory), ..) => (
            CacheVerdict::Memory,
            format!("This path is in memory ({memory}): the figures are the memory's, not a storage device's."),
        ),
        (None, _, Some(true)) if evidence.cached_loop.is_some() => (
            CacheVerdict::Lying,
            format!(
                "{} is a loop device that uses the page cache of its file: create it with \
                 losetup --direct-io=on to measure the storage below.",
                evidence.cached_loop.as_deref().unwrap_or_default()
            ),
        ),
        (None, Access::Direct, Some(true)) => {
            let bytes = evidence.device_bytes.unwrap_or(0);
            let moved = if bytes < evidence.asked_bytes { format_bytes(bytes) } else { "all".to_owned() };
            (CacheVerdict::Direct, format!("Of {asked} read past the page cache, {device} delivered {moved}."))
        }
        (None, _, Some(false)) if evidence.device_is_sole => (
            CacheVerdict::Lying,
            format!(
                "Of {asked} read past the page cache, {device} delivered only {}: a layer below caches.",
                format_bytes(evidence.device_bytes.unwrap_or(0))
            ),
        ),
        (None, Access::Evicted, Some(true))
            if evidence.resident_bytes as f64 <= evidence.asked_bytes as f64 * RESIDENT_SHARE =>
        {
            (
                CacheVerdict::Evicted,
                format!("Direct I/O is refused here; the page cache was emptied and {device} delivered {asked} anew."),
            )
        }
        _ => (
            CacheVerdict::Unverified,
            "No counter of a single device shows whether reads reached it: the figures may be a cache's.".to_owned(),
        ),
    };
    CacheCheck { verdict, asked_bytes: evidence.asked_bytes, device_bytes: evidence.device_bytes, text }
}

/// The warning for a verdict other than [`CacheVerdict::Direct`].
#[must_use]
pub fn warning(check: &CacheCheck) -> Option<Warning> {
    let code = match check.verdict {
        CacheVerdict::Direct => return None,
        CacheVerdict::Evicted => "not_direct",
        CacheVerdict::Memory => "memory",
        CacheVerdict::Lying => "lying",
        CacheVerdict::Unverified => "unverified",
    };
    Some(Warning { code: code.to_owned(), text: check.text.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineKind;
    use crate::work_file::Size;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    fn evidence() -> Evidence {
        Evidence {
            memory: None,
            access: Access::Direct,
            asked_bytes: 32 << 20,
            device: Some("sda".to_owned()),
            device_bytes: Some(32 << 20),
            device_is_sole: true,
            resident_bytes: 0,
            cached_loop: None,
        }
    }

    #[test]
    fn each_kind_of_evidence_has_its_verdict() {
        use CacheVerdict::{Direct, Evicted, Lying, Memory, Unverified};
        let evicted = Evidence { access: Access::Evicted, ..evidence() };
        for (evidence, verdict) in [
            (evidence(), Direct),
            // Other processes read at the same time.
            (Evidence { device_bytes: Some(40 << 20), ..evidence() }, Direct),
            (Evidence { memory: Some("tmpfs".to_owned()), device_bytes: None, ..evidence() }, Memory),
            (Evidence { device_bytes: Some(0), ..evidence() }, Lying),
            (Evidence { device_bytes: Some(30 << 20), ..evidence() }, Lying),
            (Evidence { cached_loop: Some("loop0".into()), ..evidence() }, Lying),
            (Evidence { device: None, device_bytes: None, ..evidence() }, Unverified),
            // One of several devices of a file system: the others may have delivered.
            (Evidence { device_bytes: Some(16 << 20), device_is_sole: false, ..evidence() }, Unverified),
            (evicted.clone(), Evicted),
            (Evidence { cached_loop: Some("loop0".into()), ..evicted.clone() }, Lying),
            (Evidence { resident_bytes: 32 << 20, ..evicted.clone() }, Unverified),
            (Evidence { device_bytes: Some(0), ..evicted }, Lying),
        ] {
            let check = judge(&evidence);
            assert_eq!(check.verdict, verdict, "{evidence:?}");
            assert_eq!(warning(&check).is_none(), verdict == Direct);
        }
    }

    #[test]
    fn delivered_all_is_reported_only_for_all_bytes() {
        assert!(judge(&evidence()).text.ends_with("delivered all."));
        let most = judge(&Evidence { device_bytes: Some(31 << 20), ..evidence() });
        assert_eq!(most.verdict, CacheVerdict::Direct);
        assert!(most.text.ends_with("delivered 31 MiB."), "{}", most.text);
    }

    fn check_at(path: &Path, access: Access) -> (CacheCheck, Place) {
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_, _| {} };
        let sense = Sense::default();
        let place = Place::find(&sense, path, false).expect("a place");
        let engine = Engine::choose(Some(EngineKind::Calls)).expect("always there");
        let size = Size { wanted_bytes: 8 << 20, exact: true, patience: None };
        let work = WorkFile::prepare_as(&place, size, &engine, 1, &control, access).expect("prepared");
        let check = check(&sense, &place, &work, &engine, &control).expect("checked");
        (check, place)
    }

    #[test]
    fn a_tmpfs_is_called_memory() {
        brisk_requires::requires!(Shm);
        let shm = Path::new("/dev/shm");
        let (check, _) = check_at(shm, Access::Direct);
        assert_eq!(check.verdict, CacheVerdict::Memory);
        assert!(check.text.contains("tmpfs"), "{}", check.text);
    }

    #[test]
    fn every_read_is_requested_and_counted_where_a_disk_counts() {
        let dir = tempfile::tempdir().expect("a directory");
        for access in [Access::Direct, Access::Evicted] {
            let (check, place) = check_at(dir.path(), access);
            if place.memory(&Sense::default()).expect("read").is_some() {
                assert_eq!((check.verdict, check.asked_bytes), (CacheVerdict::Memory, 0));
                continue;
            }
            assert_eq!(check.asked_bytes, 8 << 20, "{check:?}");
            let counts = |disk: &str| Sense::default().block_queue(disk).is_ok_and(|queue| queue.counts_io);
            let counted = place.device.as_ref().is_some_and(|located| counts(&located.disk.name));
            assert_eq!(check.device_bytes.is_some(), counted, "{check:?}");
            assert_ne!(check.verdict, CacheVerdict::Memory, "{check:?}");
        }
    }
}
