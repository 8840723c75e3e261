//! Takes an app's files out of memory, and verifies that they are gone.
//!
//! Files are evicted one by one (`posix_fadvise` with DONTNEED), which leaves the rest of the machine warm, as it is for
//! somebody who opens an app that was not used for a while. Pages that another process maps, dirty pages and the kernel's own
//! knowledge of folders and inodes stay; what stayed is counted and named. Dropping all caches takes folders and inodes as
//! well, at the price of a cold machine, and is done only when asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use brisk_results::{ColdCheck, StayedCached};
use brisk_sense::Sense;
use rustix::fs::{Advice, Mode, OFlags};

use crate::error::{Error, Result};

/// Files named in [`ColdCheck::stayed`] at most.
const NAMED_MAX: usize = 20;

/// Evicts `files`, and all caches when `drop_all`; gives what was there and what stayed.
///
/// # Errors
/// When the caches may not be dropped. A file that cannot be opened is left out.
pub fn evict(sense: &Sense, files: &BTreeSet<PathBuf>, drop_all: bool) -> Result<ColdCheck> {
    let mut check = ColdCheck { dropped_all: drop_all, ..ColdCheck::default() };
    let mut open = Vec::new();
    for path in files {
        let Some(fd) = open_file(path) else { continue };
        let before = cached(&fd);
        check.files += 1;
        check.cached_before_bytes += before.cached_bytes;
        if before.dirty_bytes > 0 {
            // Dirty pages cannot be dropped; an error here shows below, as pages that stayed.
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
        // Refused for files that cannot be mapped; they show as stayed.
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
    // NOATIME is for the owner and root only.
    let fd = rustix::fs::open(path, flags | OFlags::NOATIME, Mode::empty())
        .or_else(|_| rustix::fs::open(path, flags, Mode::empty()))
        .ok()?;
    let is_file = rustix::fs::fstat(&fd).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file());
    is_file.then_some(fd)
}

/// Pages of a file in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cached {
    cached_bytes: u64,
    dirty_bytes: u64,
}

/// As the kernel writes it (include/uapi/linux/mman.h, struct cachestat), in pages.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// `struct cachestat_range`; a length of zero is to the end.
#[repr(C)]
struct CacheStatRange {
    offset: u64,
    length: u64,
}

/// Asks the kernel (cachestat, Linux 6.5), or looks page by page (mincore) where it is older.
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

/// Pages of the file that mincore finds in memory.
fn resident(fd: &OwnedFd) -> Option<u64> {
    let length = usize::try_from(rustix::fs::fstat(fd).ok()?.st_size).ok().filter(|length| *length > 0)?;
    let mut pages = vec![0u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: a mapping that nobody reads through, of a file of that length, at an address that the kernel chooses;
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

/// Processes by the file that they map: (device, inode) to names with pid.
type Mappers = BTreeMap<(u64, u64), Vec<String>>;

fn mappers(sense: &Sense) -> Result<Mappers> {
    let mut found = Mappers::new();
    for pid in sense.process_ids()? {
        // It may end meanwhile, and then maps nothing.
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

/// The files that processes map now, programs and libraries among them, as they are named outside of `root`.
pub(crate) fn mapped_by(sense: &Sense, pids: &[u32], root: Option<&Path>) -> BTreeSet<PathBuf> {
    let files = pids.iter().filter_map(|pid| sense.mapped_files(*pid).ok().flatten()).flatten();
    let outside = |path: PathBuf| match root {
        // The kernel names files from the root of the one who asks, where it can.
        Some(root) if !path.starts_with(root) => {
            let inside = root.join(path.strip_prefix("/").unwrap_or(&path));
            if inside.exists() { inside } else { path }
        }
        _ => path,
    };
    files.filter(|file| !file.deleted && file.inode != 0).map(|file| outside(file.path)).collect()
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
        // Where pages can be evicted: not on a tmpfs.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let (path, _file) = file(dir.path());
        let check = evict(&Sense::default(), &BTreeSet::from([path.clone(), dir.path().join("not there")]), false);
        let check = check.expect("evicted");
        assert_eq!((check.files, check.cached_before_bytes), (1, 1 << 20));
        assert_eq!(check.cached_after_bytes, 0, "{:?}", check.stayed);
        assert!(!check.dropped_all);
    }

    #[test]
    fn what_a_process_maps_stays_and_is_named() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let (path, file) = file(dir.path());
        file.sync_all().expect("synced");
        // SAFETY: a private mapping of a file that nobody changes; unmapped below.
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
