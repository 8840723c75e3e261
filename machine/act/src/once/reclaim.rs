//! Freeing memory of a group.
//!
//! | | version 2 | version 1 |
//! |---|---|---|
//! | reclaim | `memory.reclaim` (Linux 5.19) | `memory.limit_in_bytes` lowered to what is to remain, and put back |
//! | page cache | `memory.reclaim` with `swappiness=0` (Linux 6.11), at most the page cache of `memory.stat` | `memory.force_empty` under `memory.swappiness` 0 |
//!
//! (kernel: Documentation/admin-guide/cgroup-v2.rst; Documentation/admin-guide/cgroup-v1/memory.rst, 4.1, 5.1 and 5.3:
//! a swappiness of 0 keeps a group from swapping, unlike that of the machine.) posix_fadvise(2) of the files that the
//! group has mapped would do less: it passes over mapped pages. Limit and swappiness of version 1 are journaled while
//! they are changed; the limit is low for as long as two writes take, and the kernel takes it only when the group is
//! below it.
//!
//! All four reclaim before write(2) returns: 4 to 60 ms without the time of the device, which is 16 MB/s for writes to
//! slow flash. So memory is reclaimed in pieces of 4 MiB, between which a worker can end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brisk_core::outcome::Outcome;

use super::group::{Group, tree};
use crate::setting_file::hold_during;
use crate::worker::CHUNK_BYTES;
use crate::{Error, Journal};

const RECLAIM: &str = "memory.reclaim";
pub(super) const LIMIT: &str = "memory.limit_in_bytes";
pub(super) const SWAPPINESS: &str = "memory.swappiness";

/// The memory controller of a group.
enum Controller {
    Unified(Vec<PathBuf>),
    Old(Vec<PathBuf>),
}

fn controller(group: &Group<'_>) -> Result<Controller, Error> {
    group.must_be_a_control_group(RECLAIM)?;
    let with = |dirs: &[PathBuf], file: &str| -> Vec<PathBuf> {
        dirs.iter().filter(|dir| dir.join(file).is_file()).cloned().collect()
    };
    let (unified, old) = (with(&group.unified, RECLAIM), with(&group.memory, LIMIT));
    match (unified.is_empty(), old.is_empty()) {
        (false, _) => Ok(Controller::Unified(unified)),
        (true, false) => Ok(Controller::Old(old)),
        (true, true) => Err(Error::NoReclaim { group: group.name() }),
    }
}

/// Reclaims `size_bytes`, piece by piece until `is_cancelled`.
///
/// # Errors
/// When the kernel reclaimed less ([`Error::Partial`] says how much), or has no way to.
pub(super) fn reclaim(
    journal: &mut Journal,
    group: &Group<'_>,
    size_bytes: u64,
    is_cancelled: impl Fn() -> bool,
) -> Result<Outcome, Error> {
    let mut done_bytes = 0;
    loop {
        let piece_bytes = (size_bytes - done_bytes).min(CHUNK_BYTES);
        match reclaim_piece(journal, group, piece_bytes) {
            Ok(Outcome::Done) => done_bytes += piece_bytes,
            Err(Error::Partial { group, reclaimed_bytes, source, .. }) => {
                let reclaimed_bytes = done_bytes + reclaimed_bytes;
                return Err(Error::Partial { group, wanted_bytes: size_bytes, reclaimed_bytes, source });
            }
            other => return other,
        }
        if done_bytes >= size_bytes {
            return Ok(Outcome::Done);
        }
        if is_cancelled() {
            return Ok(Outcome::Cancelled { done_bytes });
        }
    }
}

/// Reclaims `size_bytes`.
fn reclaim_piece(journal: &mut Journal, group: &Group<'_>, size_bytes: u64) -> Result<Outcome, Error> {
    let mut refused = None;
    let mut rest_bytes = size_bytes;
    let (dirs, usage, is_unified) = match controller(group)? {
        Controller::Unified(dirs) => (dirs, "memory.current", true),
        Controller::Old(dirs) => (dirs, "memory.usage_in_bytes", false),
    };
    for dir in dirs {
        let before_bytes = number(&dir.join(usage))?;
        let target_bytes = before_bytes.saturating_sub(rest_bytes);
        let done = if is_unified {
            write(&dir.join(RECLAIM), &rest_bytes.to_string())
        } else {
            hold_during(journal, &group.by(), &[dir.join(LIMIT)], &target_bytes.to_string(), || ())
        };
        match done {
            Ok(()) => return Ok(Outcome::Done),
            Err(Error::Write { source, .. }) if is_partial(&source) => refused = Some(source),
            Err(error) => return Err(error),
        }
        let after_bytes = number(&dir.join(usage))?;
        rest_bytes = rest_bytes.saturating_sub(before_bytes.saturating_sub(after_bytes));
        if rest_bytes == 0 {
            return Ok(Outcome::Done);
        }
    }
    let reclaimed_bytes = size_bytes - rest_bytes;
    refused.map_or(Ok(Outcome::Gone), |source| {
        Err(Error::Partial { group: group.name(), wanted_bytes: size_bytes, reclaimed_bytes, source })
    })
}

/// Frees the page cache; anonymous memory stays. Dirty pages and those that are in use stay as well: `Done` when less
/// is there than before.
///
/// # Errors
/// When nothing was freed of a page cache that is there, or the kernel has no way to.
pub(super) fn drop_page_cache(journal: &mut Journal, group: &Group<'_>) -> Result<Outcome, Error> {
    let (dirs, keys, is_unified) = match controller(group)? {
        Controller::Unified(dirs) => (dirs, ("file", "shmem"), true),
        Controller::Old(dirs) => (dirs, ("total_cache", "total_shmem"), false),
    };
    let (mut there_bytes, mut freed_bytes, mut refused) = (0, 0, None);
    for dir in dirs {
        let before_bytes = page_cache_bytes(&dir, keys)?;
        if before_bytes == 0 {
            continue;
        }
        let done = if is_unified {
            write(&dir.join(RECLAIM), &format!("{before_bytes} swappiness=0"))
        } else {
            let swappiness: Vec<PathBuf> = tree(&dir).iter().map(|dir| dir.join(SWAPPINESS)).collect();
            let empty = || write(&dir.join("memory.force_empty"), "0");
            hold_during(journal, &group.by(), &swappiness, "0", empty).and_then(|emptied| emptied)
        };
        match done {
            Ok(()) => {}
            Err(Error::Write { source, .. }) if is_partial(&source) => refused = Some(source),
            Err(Error::Write { source, .. }) if is_unified && source.raw_os_error() == Some(libc::EINVAL) => {
                return Err(Error::NoSwappiness { source });
            }
            Err(error) => return Err(error),
        }
        there_bytes += before_bytes;
        freed_bytes += before_bytes.saturating_sub(page_cache_bytes(&dir, keys)?);
    }
    match (there_bytes, freed_bytes) {
        (0, _) => Ok(Outcome::Unchanged),
        (wanted_bytes, 0) => Err(Error::Partial {
            group: group.name(),
            wanted_bytes,
            reclaimed_bytes: 0,
            source: refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EBUSY)),
        }),
        _ => Ok(Outcome::Done),
    }
}

/// Page cache without what only swap can hold (shared memory, tmpfs).
fn page_cache_bytes(dir: &Path, (cache, shmem): (&str, &str)) -> Result<u64, Error> {
    let path = dir.join("memory.stat");
    let text = fs::read_to_string(&path).map_err(|source| Error::Read { path, source })?;
    Ok(stat(&text, cache).saturating_sub(stat(&text, shmem)))
}

/// A line `key number` of memory.stat; 0 where the kernel has none.
fn stat(text: &str, key: &str) -> u64 {
    let of = |line: &str| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(of).unwrap_or(0)
}

/// Whether less was reclaimed than was asked for: `EAGAIN` of version 2, `EBUSY` of version 1, or a signal came.
fn is_partial(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::EINTR))
}

fn number(path: &Path) -> Result<u64, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    text.trim().parse().map_err(|_| Error::NotANumber { value: text.trim().to_owned() })
}

/// One write(2), which is not tried again when a signal comes.
fn write(path: &Path, value: &str) -> Result<(), Error> {
    let written = fs::OpenOptions::new().write(true).truncate(true).open(path).and_then(|mut file| {
        use std::io::Write as _;
        file.write(value.as_bytes()).map(drop)
    });
    let failed = |source| Error::Write {
        path: path.to_owned(),
        value: value.to_owned(),
        hint: "a number of bytes".to_owned(),
        source,
    };
    written.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_memory_stat_is_that_of_its_whole_name() {
        let text = "file_mapped 7\nfile 4096\nshmem 5\n";
        assert_eq!((stat(text, "file"), stat(text, "shmem"), stat(text, "total_cache")), (4096, 5, 0));
    }
}
