//! The file that a measurement reads and writes: a nameless file, or a part of a block device.
//!
//! The file has no name (or loses it at once where the file system requires one), so a crash, Ctrl-C and kill -9 leave
//! nothing. It is allocated and written once as a whole before the measurement: blocks that were never written would be
//! served without the device.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, FallocateFlags, Mode, OFlags};

use crate::address::Region;
use crate::control::Control;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::load::{ALIGNMENT_BYTES, End, Load};
use crate::place::{Place, PlaceKind, refused};
use crate::results::{Direction, Pattern};

/// Free space that is kept: this share of the file system ...
const RESERVE_SHARE: u64 = 50;
/// ... and at least this much ...
const RESERVE_MIN_BYTES: u64 = 16 << 20;
/// ... and at most this much.
const RESERVE_MAX_BYTES: u64 = 1 << 30;
/// Time for which opening a busy device is retried.
const BUSY_PATIENCE: Duration = Duration::from_secs(2);
/// Bytes written during preparation between two checks of the stop flag.
const PREPARE_STEP_BYTES: u64 = 16 << 20;
/// Request size of the preparation.
const PREPARE_BLOCK_BYTES: u64 = 1 << 20;
/// Least size of a file that was cut short for lack of time.
const CUT_SHORT_MIN_BYTES: u64 = 32 << 20;

/// How requests bypass the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Direct,
    /// The page cache, emptied before reading; each write is synchronous (O_DSYNC).
    Evicted,
}

/// Requested size of the work file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub wanted_bytes: u64,
    /// Whether the user asked for exactly this size; otherwise it shrinks to the free space.
    pub exact: bool,
    /// For an inexact size: most time of the preparation, after which the file is cut short.
    pub patience: Option<Duration>,
}

#[derive(Debug)]
pub struct WorkFile {
    file: File,
    pub access: Access,
    /// What may be read and written.
    pub size_bytes: u64,
    /// Bytes written by the preparation.
    pub written_bytes: u64,
}

impl WorkFile {
    /// Makes the file at `place`, allocates and fills it.
    ///
    /// # Errors
    /// When there is not enough space, the place is read-only, a write fails, or the stop flag is set.
    pub fn prepare(place: &Place, size: Size, engine: &Engine, seed: u64, control: &Control<'_>) -> Result<Self> {
        Self::prepare_as(place, size, engine, seed, control, Access::Direct)
    }

    /// As [`WorkFile::prepare`], with direct access only if `access` says so.
    pub(crate) fn prepare_as(
        place: &Place,
        size: Size,
        engine: &Engine,
        seed: u64,
        control: &Control<'_>,
        access: Access,
    ) -> Result<Self> {
        check_size(size.wanted_bytes)?;
        let (file, access) = open(place, access)?;
        let size_bytes = match place.kind {
            PlaceKind::Directory => fit_directory(&file, &place.path, size)?,
            PlaceKind::Device => fit_device(&file, &place.path, size)?,
        };
        let mut work = Self { file, access, size_bytes, written_bytes: 0 };
        work.fill(place, size, engine, seed, control)?;
        Ok(work)
    }

    fn fill(&mut self, place: &Place, size: Size, engine: &Engine, seed: u64, control: &Control<'_>) -> Result<()> {
        let ran_full = |error: Error| match &error {
            Error::Request { source, .. } if is_full(source) => {
                Error::RanFull { path: place.path.clone(), size_bytes: size.wanted_bytes }
            }
            _ => error,
        };
        if place.kind == PlaceKind::Directory {
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, self.size_bytes) {
                Ok(()) => {}
                Err(errno) if is_full(&errno.into()) => {
                    return Err(Error::RanFull { path: place.path.clone(), size_bytes: size.wanted_bytes });
                }
                // A file system without fallocate allocates while it is filled.
                Err(_) => rustix::fs::ftruncate(&self.file, self.size_bytes)
                    .map_err(|errno| Error::system("set the size of a file in", &place.path, errno))?,
            }
        }
        let begun = Instant::now();
        let mut start_bytes = 0;
        while start_bytes < self.size_bytes {
            control.check()?;
            control.report(start_bytes as f64 / self.size_bytes as f64, "preparing");
            let out_of_time = size.patience.is_some_and(|patience| begun.elapsed() >= patience);
            if !size.exact && out_of_time && start_bytes >= CUT_SHORT_MIN_BYTES {
                self.size_bytes = start_bytes;
                break;
            }
            let left_bytes = self.size_bytes - start_bytes;
            let step_bytes = left_bytes.min(PREPARE_STEP_BYTES);
            // Whole large blocks first, then the remainder in small ones.
            let (block_bytes, len_bytes) = match step_bytes / PREPARE_BLOCK_BYTES {
                0 => (ALIGNMENT_BYTES, step_bytes),
                blocks => (PREPARE_BLOCK_BYTES, blocks * PREPARE_BLOCK_BYTES),
            };
            self.write_sequence(engine, Region { start_bytes, len_bytes }, block_bytes, seed, control)
                .map_err(ran_full)?;
            start_bytes += len_bytes;
        }
        self.sync(place)
    }

    /// Writes `region` once from its start to its end.
    ///
    /// # Errors
    /// When a write fails or the stop flag is set.
    pub(crate) fn write_sequence(
        &mut self,
        engine: &Engine,
        region: Region,
        block_bytes: u64,
        seed: u64,
        control: &Control<'_>,
    ) -> Result<()> {
        // A sequential stream begins at any block and wraps around; all blocks are written.
        let load = Load {
            depth_requests: 4,
            seed: seed ^ region.start_bytes,
            end: End::after_requests(region.len_bytes / block_bytes),
            ..Load::plain(Pattern::Sequential, Direction::Write, block_bytes, region)
        };
        engine.run(self.fd(), &load, control.stop)?;
        self.written_bytes += region.len_bytes;
        control.check()
    }

    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    #[must_use]
    pub fn region(&self) -> Region {
        Region::first(self.size_bytes)
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    /// When the device reports that it failed.
    pub fn sync(&self, place: &Place) -> Result<()> {
        rustix::fs::fdatasync(&self.file).map_err(|errno| Error::system("sync to", &place.path, errno))
    }

    /// Removes the file from the page cache, where that is in use. Returns the bytes that stay in memory.
    ///
    /// # Errors
    /// When the kernel does not report what is in memory.
    pub fn evict(&self, place: &Place) -> Result<u64> {
        if self.access == Access::Direct {
            return Ok(0);
        }
        self.sync(place)?;
        rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed)
            .map_err(|errno| Error::system("empty the page cache of", &place.path, errno))?;
        // Read-ahead would bring back data that was not requested.
        let _ = rustix::fs::fadvise(&self.file, 0, None, Advice::Random);
        resident_bytes(&self.file, self.size_bytes)
            .map_err(|error| Error::system("ask what is in memory of", &place.path, error))
    }
}

/// Refuses an invalid size.
///
/// # Errors
/// [`Error::BadLoad`].
pub fn check_size(size_bytes: u64) -> Result<()> {
    if size_bytes == 0 || !size_bytes.is_multiple_of(ALIGNMENT_BYTES) {
        return Err(Error::BadLoad(format!(
            "a size of {size_bytes} bytes is not possible: use a multiple of 4096, such as 256M"
        )));
    }
    Ok(())
}

fn open(place: &Place, access: Access) -> Result<(File, Access)> {
    let open_with = |extra: OFlags| match place.kind {
        PlaceKind::Directory => open_nameless(&place.path, extra),
        PlaceKind::Device => open_exclusive(&place.path, extra),
    };
    if access == Access::Direct {
        match open_with(OFlags::DIRECT) {
            Ok(fd) => return Ok((File::from(fd), Access::Direct)),
            Err(rustix::io::Errno::INVAL) => {}
            Err(errno) => return Err(refused(&place.path, "open a file in", errno.into())),
        }
    }
    let fd = open_with(OFlags::DSYNC).map_err(|errno| refused(&place.path, "open a file in", errno.into()))?;
    Ok((File::from(fd), Access::Evicted))
}

/// Opens the device exclusively: the kernel refuses one that is mounted, used for swap, or part of another device.
///
/// After a process that used io_uring was killed, the kernel releases the device slightly later than the process,
/// without any event. Opening a busy device is therefore retried for a short time.
fn open_exclusive(path: &Path, extra: OFlags) -> rustix::io::Result<rustix::fd::OwnedFd> {
    let begun = Instant::now();
    loop {
        let opened = rustix::fs::open(path, OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | extra, Mode::empty());
        match opened {
            Err(rustix::io::Errno::BUSY) if begun.elapsed() < BUSY_PATIENCE => std::thread::sleep(BUSY_PATIENCE / 100),
            opened => return opened,
        }
    }
}

/// A file in `dir` without a name, or one that is unlinked at once.
fn open_nameless(dir: &Path, extra: OFlags) -> rustix::io::Result<rustix::fd::OwnedFd> {
    use rustix::io::Errno;
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::RDWR | OFlags::CLOEXEC | extra;
    match rustix::fs::open(dir, flags | OFlags::TMPFILE, mode) {
        // The file system, or a kernel before 3.11, lacks O_TMPFILE.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {
            let name = dir.join(format!(".brisk-bench-{}", std::process::id()));
            let fd = rustix::fs::open(&name, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            rustix::fs::unlink(&name)?;
            Ok(fd)
        }
        opened => opened,
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
}

/// Space that stays free on a file system of `total_bytes`.
fn reserve_bytes(total_bytes: u64) -> u64 {
    (total_bytes / RESERVE_SHARE).clamp(RESERVE_MIN_BYTES, RESERVE_MAX_BYTES)
}

/// The size that fits into `free_bytes`; `None` when the requested one does not and must not shrink.
fn fit(size: Size, free_bytes: u64, reserve_bytes: u64) -> Option<u64> {
    let usable_bytes = free_bytes.saturating_sub(reserve_bytes) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    match size {
        Size { wanted_bytes, .. } if wanted_bytes <= usable_bytes => Some(wanted_bytes),
        Size { exact: false, .. } if usable_bytes >= CUT_SHORT_MIN_BYTES => Some(usable_bytes),
        _ => None,
    }
}

fn fit_directory(file: &File, path: &Path, size: Size) -> Result<u64> {
    let stat = rustix::fs::fstatvfs(file).map_err(|errno| Error::system("ask for the free space of", path, errno))?;
    let (free_bytes, total_bytes) = (stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize);
    let reserve_bytes = reserve_bytes(total_bytes);
    // ramfs has no limit and reports zeros.
    if total_bytes == 0 {
        return Ok(size.wanted_bytes);
    }
    fit(size, free_bytes, reserve_bytes).ok_or(Error::NoSpace {
        path: path.to_owned(),
        needed_bytes: size.wanted_bytes,
        reserve_bytes,
        free_bytes,
    })
}

fn fit_device(file: &File, path: &Path, size: Size) -> Result<u64> {
    let device_bytes = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))
        .map_err(|errno| Error::system("ask for the size of", path, errno))?;
    let usable_bytes = device_bytes / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    if size.exact && size.wanted_bytes > usable_bytes {
        return Err(Error::BadLoad(format!(
            "{} has only {device_bytes} bytes, {} were requested: use a smaller --size",
            path.display(),
            size.wanted_bytes
        )));
    }
    Ok(size.wanted_bytes.min(usable_bytes))
}

/// Bytes of a file in the page cache (mincore).
fn resident_bytes(file: &File, len_bytes: u64) -> io::Result<u64> {
    let page_bytes = rustix::param::page_size();
    let len = len_bytes as usize;
    // SAFETY: a new read-only mapping at an address of the kernel's choice; unmapped below and never read.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut pages = vec![0u8; len.div_ceil(page_bytes)];
        let asked = libc::mincore(start.cast::<c_void>(), len, pages.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(start, len);
        if asked != 0 {
            return Err(error);
        }
        Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64 * page_bytes as u64)
    }
}

#[cfg(test)]
#[path = "work_file/tests.rs"]
mod tests;
