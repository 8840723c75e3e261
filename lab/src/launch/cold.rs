//! Evicts an app's files from the page cache, and verifies the result.
//!
//! Files are evicted one by one (`posix_fadvise` with DONTNEED), which leaves the rest of the machine warm, as for an
//! app that was not used for a while. Pages mapped by other processes, dirty pages and the kernel's cache of
//! directories and inodes stay; files with remaining pages are counted and named. Dropping all caches also removes
//! directories and inodes, but leaves a cold machine; it is done only on request.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::results::{ColdCheck, StayedCached};
use brisk_sense::Sense;
use rustix::fs::{Advice, Mode, OFlags};

use crate::launch::error::{Error, Result};

/// Most files listed in [`ColdCheck::stayed`].
const NAMED_MAX: usize = 20;

/// Evicts `files`, or all caches when `drop_all`; returns what was cached before and after.
///
/// # Errors
/// When the caches cannot be dropped. A file that cannot be opened is skipped.
pub fn evict(sense: &Sense, files: &BTreeSet<PathBuf>, drop_all: bool) -> Result<ColdCheck> {
    let mut check = ColdCheck { dropped_all: drop_all, ..ColdCheck::default() };
    let mut open = Vec::new();
    for path in files {
        let Some(fd) = open_file(path) else { continue };
        let before = cached(&fd);
        check.files += 1;
        check.cached_before_bytes += before.cached_bytes;
        if before.dirty_bytes > 0 {
            // Dirty pages cannot be dropped; an error here shows below as remaining pages.
            let _ = rustix::fs::fdatasync(&fd);
        }
        if before.cached_bytes > 0 {
            open.push((path, fd));
        }
    }
    if drop_all {
        brisk_act::drop_caches()
            .map_err(|source| Error::system("dropping all caches (/proc/sys/vm/drop_caches)", source))?;
    }
    let mut stayed = Vec::new();
    for (path, fd) in &open {
        // Refused for files that cannot be mapped; they are reported as remaining.
        let _ = rustix::fs::fadvise(fd, 0, None, Advice::DontNeed);
        let after = cached(fd);
        if after.cached_bytes > 0 {
            check.cached_after_bytes += after.cached_bytes;
            stayed.push((*path, fd, after));
        }
    }
    stayed.sort_by_key(|(.., after)| std::cmp::Reverse(after.cached_bytes));
    stayed.truncate(NAMED_MAX);
    if !stayed.is_empty() {
        let mappers = mappers(sense)?;
        check.stayed = stayed
            .into_iter()
            .map(|(path, fd, after)| StayedCached {
                path: path.to_string_lossy().into_owned(),
                cached_bytes: after.cached_bytes,
                reason: reason(&mappers, fd, after),
            })
            .collect();
    }
    Ok(check)
}

fn open_file(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    // NOATIME is allowed for the owner and root only.
    let fd = rustix::fs::open(path, flags | OFlags::NOATIME, Mode::empty())
        .or_else(|_| rustix::fs::open(path, flags, Mode::empty()))
        .ok()?;
    let is_file = rustix::fs::fstat(&fd).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file());
    is_file.then_some(fd)
}

/// Cached pages of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cached {
    cached_bytes: u64,
    dirty_bytes: u64,
}

/// The kernel's struct cachestat (include/uapi/linux/mman.h), in pages.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// `struct cachestat_range`; a length of zero means to the end.
#[repr(C)]
struct CacheStatRange {
    offset: u64,
    length: u64,
}

/// Counts cached pages by cachestat (Linux 6.5), or by mincore on older kernels.
fn cached(fd: &OwnedFd) -> Cached {
    // The number is the same on all architectures that brisk runs on.
    const SYS_CACHESTAT: libc::c_long = 451;
    let page = rustix::param::page_size() as u64;
    let range = CacheStatRange { offset: 0, length: 0 };
    let mut stat = CacheStat::default();
    // SAFETY: both pointers are to live structs of the layout that the kernel documents; flags are zero.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, fd.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if result == 0 {
        return Cached { cached_bytes: stat.cache * page, dirty_bytes: (stat.dirty + stat.writeback) * page };
    }
    Cached { cached_bytes: resident(fd).unwrap_or_default() * page, dirty_bytes: 0 }
}

/// Counts cached pages by mincore.
fn resident(fd: &OwnedFd) -> Option<u64> {
    let length = usize::try_from(rustix::fs::fstat(fd).ok()?.st_size).ok().filter(|length| *length > 0)?;
    let mut pages = vec![0u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: a mapping that is never accessed, of a file of this length, at an address that the kernel chooses;
    // mincore writes one byte a page into a vector of that many.
    unsafe {
        let address = libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, libc::MAP_SHARED, fd.as_raw_fd(), 0);
        if address == libc::MAP_FAILED {
            return None;
        }
        let result = libc::mincore(address, length, pages.as_mut_ptr());
        libc::munmap(address, length);
        (result == 0).then(|| pages.iter().filter(|page| *page & 1 != 0).count() as u64)
    }
}

/// Processes that map a file: (device, inode) to names with pid.
type Mappers = BTreeMap<(u64, u64), Vec<String>>;

fn mappers(sense: &Sense) -> Result<Mappers> {
    let mut found = Mappers::new();
    for pid in sense.process_ids()? {
        // A process that has ended maps nothing.
        let (Ok(Some(files)), Ok(Some(stat))) = (sense.mapped_files(pid), sense.process_stat(pid)) else { continue };
        let name = format!("{} ({pid})", stat.comm.to_string_lossy());
        for file in files {
            let device = rustix::fs::makedev(file.device.major, file.device.minor);
            let names = found.entry((device, file.inode)).or_default();
            if names.last() != Some(&name) {
                names.push(name.clone());
            }
        }
    }
    Ok(found)
}

fn reason(mappers: &Mappers, fd: &OwnedFd, after: Cached) -> String {
    let key = rustix::fs::fstat(fd.as_fd()).map(|stat| (stat.st_dev, stat.st_ino)).unwrap_or_default();
    match mappers.get(&key).map(Vec::as_slice) {
        Some([first]) => format!("mapped by {first}"),
        Some([first, second]) => format!("mapped by {first} and {second}"),
        Some([first, rest @ ..]) => format!("mapped by {first} and {} others", rest.len()),
        _ if after.dirty_bytes > 0 => "not yet written to the storage".to_owned(),
        _ => "held by the kernel (being read or written, or locked)".to_owned(),
    }
}

/// The files mapped by processes, including programs and libraries.
pub(crate) fn mapped_by(sense: &Sense, pids: &[u32]) -> BTreeSet<PathBuf> {
    let files = pids.iter().filter_map(|pid| sense.mapped_files(*pid).ok().flatten()).flatten();
    files.filter(|file| !file.deleted && file.inode != 0).map(|file| file.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    fn file(dir: &Path) -> (PathBuf, File) {
        let path = dir.join("data");
        let mut file = File::create_new(&path).expect("a new file");
        file.write_all(&vec![7; 1 << 20]).expect("a megabyte");
        (path, file)
    }

    #[test]
    fn a_file_is_evicted_and_counted() {
        // In a directory whose pages can be evicted: not on a tmpfs.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let (path, _file) = file(dir.path());
        let check = evict(&Sense::default(), &BTreeSet::from([path.clone(), dir.path().join("not there")]), false);
        let check = check.expect("evicted");
        assert_eq!((check.files, check.cached_before_bytes), (1, 1 << 20));
        assert_eq!(check.cached_after_bytes, 0, "{:?}", check.stayed);
        assert!(!check.dropped_all);
    }

    #[test]
    fn mapped_pages_stay_and_their_process_is_named() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let (path, file) = file(dir.path());
        file.sync_all().expect("synced");
        // SAFETY: a private mapping of an unchanged file; unmapped below.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                1 << 20,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(map, libc::MAP_FAILED);
        let check = evict(&Sense::default(), &BTreeSet::from([path]), false).expect("tried");
        // SAFETY: the mapping from above.
        unsafe { libc::munmap(map, 1 << 20) };
        assert_eq!(check.cached_after_bytes, 1 << 20);
        assert!(check.stayed[0].reason.starts_with("mapped by "), "{}", check.stayed[0].reason);
        assert!(check.stayed[0].reason.contains(&format!("({})", std::process::id())), "{}", check.stayed[0].reason);
    }
}
