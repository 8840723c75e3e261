//! Where the pages of one process are: in memory, of files, or in swap (/proc/PID/maps and pagemap).
//!
//! From Linux 6.7 on the kernel names the ranges that have pages (PAGEMAP_SCAN), so that large reservations cost
//! nothing, and one call is about many mappings; entries are read of those in swap alone, for their slots. Older
//! kernels give an entry for each page that an address range could have, 8 bytes for 4 KiB: a reservation of 64 GiB
//! takes 128 MiB of entries.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use brisk_formats::{
    AddressRange, PAGE_ENTRY_BYTES, PageRun, PageState, append_page_runs, parse_address_ranges, parse_page_states,
};

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

/// Bytes of the pagemap that are read at a time: 32 MiB of addresses with pages of 4 KiB.
const CHUNK_BYTES: u64 = 64 << 10;
/// Entries that are read at least: pages in swap lie between others, and a call costs as much as these.
const ENTRIES_MIN: u64 = 128;
/// Ranges that one call of PAGEMAP_SCAN gives at most.
const REGIONS_MAX: usize = 512;

/// Said of what is more than may be read.
pub(crate) const TOO_MUCH: Error = Error::TooMuch { what: "the page tables of an app", limit: "8 MiB of ranges" };

/// The pages of a process at one moment. Ranges change while they are read, unless the process is stopped or frozen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessPages {
    /// Its address ranges that can be used, ascending.
    pub ranges: Vec<AddressRange>,
    /// Its pages that are in memory or swap, ascending.
    pub runs: Vec<PageRun>,
    pub page_bytes: u64,
}

impl Sense {
    /// The pages of process `pid`; `None` when there is no such process. Slots are 0 without CAP_SYS_ADMIN.
    ///
    /// # Errors
    /// When a file is not readable (another user's process) or not understood.
    pub fn process_pages(&self, pid: u32) -> Result<Option<ProcessPages>> {
        let Some(ranges) = self.parse_optional(format!("/proc/{pid}/maps"), parse_address_ranges)? else {
            return Ok(None);
        };
        let Some(mut table) = PageTable::open(self, pid, &ranges)? else { return Ok(None) };
        let mut pages = ProcessPages { ranges: Vec::new(), runs: Vec::new(), page_bytes: table.page_bytes };
        for range in ranges.into_iter().filter(|range| range.usable) {
            table.append_runs(&range.addresses, &mut pages.runs)?;
            pages.ranges.push(range);
        }
        Ok(Some(pages))
    }
}

/// The page table of a process, read once in the order of its addresses.
#[derive(Debug)]
pub(crate) struct PageTable {
    file: File,
    path: PathBuf,
    pub(crate) page_bytes: u64,
    /// End of its address ranges.
    end: u64,
    /// Whether the kernel names the ranges that have pages.
    scans: bool,
    /// Pages of which `entries` has the entries.
    read: Range<u64>,
    entries: Vec<u8>,
    /// Addresses of which `regions` has the ranges with pages, those before `next` no longer needed.
    walked: Range<u64>,
    regions: Vec<Region>,
    next: usize,
    pub(crate) rest: Rest,
}

/// What may be read yet of page tables: a program can spread its pages, and reserve addresses, as it likes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    /// Length of a list of runs.
    pub(crate) runs: usize,
    /// Entries, which kernels before Linux 6.7 have for reserved addresses too.
    pub(crate) entries_bytes: u64,
}

impl Rest {
    const UNBOUNDED: Self = Self { runs: usize::MAX, entries_bytes: u64::MAX };
}

/// `struct page_region` of include/uapi/linux/fs.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg` of include/uapi/linux/fs.h.
#[repr(C)]
#[derive(Debug, Default)]
struct ScanArguments {
    size_bytes: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    pages_max: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: u64 = 3 << 30 | (size_of::<ScanArguments>() as u64) << 16 | (b'f' as u64) << 8 | 16;
const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;

impl PageTable {
    /// That of process `pid` with these address ranges; `None` when there is no such process.
    ///
    /// # Errors
    /// When it may not be read.
    pub(crate) fn open(sense: &Sense, pid: u32, ranges: &[AddressRange]) -> Result<Option<Self>> {
        let path = sense.path(format!("/proc/{pid}/pagemap"));
        let opened = File::open(&path).map_err(|source| Error::reading(path.clone(), source));
        let Some(file) = opened.or_absent()? else { return Ok(None) };
        let page_bytes = rustix::param::page_size() as u64;
        let end = ranges.iter().rfind(|range| range.usable).map_or(0, |range| range.addresses.end);
        Ok(Some(Self {
            file,
            path,
            page_bytes,
            end,
            scans: true,
            read: 0..0,
            entries: Vec::new(),
            walked: 0..0,
            regions: Vec::new(),
            next: 0,
            rest: Rest::UNBOUNDED,
        }))
    }

    /// Appends the pages in `addresses`, which lie behind those of the calls before, that are in memory or swap;
    /// nothing of a process that has ended.
    ///
    /// # Errors
    /// When it cannot be read, or is more than `rest`.
    pub(crate) fn append_runs(&mut self, addresses: &Range<u64>, runs: &mut Vec<PageRun>) -> Result<()> {
        let mut start = addresses.start;
        while self.scans && start < addresses.end {
            if !self.walked.contains(&start) {
                match self.walk(start..self.end.max(addresses.end)) {
                    Some(Ok(())) => {}
                    Some(Err(source)) => {
                        let failed: Result<()> = Err(Error::reading(self.path.clone(), source));
                        return failed.or_absent().map(|_| ());
                    }
                    None => break,
                }
                if self.walked.is_empty() {
                    // The process has ended meanwhile.
                    return Ok(());
                }
            }
            let end = addresses.end.min(self.walked.end);
            self.append_regions(start..end, runs)?;
            start = end;
        }
        self.append_entries(start / self.page_bytes..addresses.end / self.page_bytes, runs)
    }

    /// Appends the pages in addresses that were walked.
    fn append_regions(&mut self, addresses: Range<u64>, runs: &mut Vec<PageRun>) -> Result<()> {
        while let Some(&region) = self.regions.get(self.next).filter(|region| region.start < addresses.end) {
            let (start, end) = (region.start.max(addresses.start), region.end.min(addresses.end));
            let pages = start / self.page_bytes..end / self.page_bytes;
            if runs.len() > self.rest.runs {
                return Err(TOO_MUCH);
            } else if region.categories & IS_SWAPPED != 0 {
                self.append_entries(pages, runs)?;
            } else if start < end {
                let state = if region.categories & IS_FILE == 0 { PageState::Anonymous } else { PageState::File };
                append_page_runs(runs, pages.start, pages.map(|_| state));
            }
            if region.end > addresses.end {
                // The rest of it is another mapping's.
                break;
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Walks the page table from the begin of `addresses` on, as far as one call does; `None` when the kernel cannot.
    fn walk(&mut self, addresses: Range<u64>) -> Option<std::io::Result<()>> {
        self.regions.resize(REGIONS_MAX, Region::default());
        let mut arguments = ScanArguments {
            size_bytes: size_of::<ScanArguments>() as u64,
            start: addresses.start,
            end: addresses.end,
            regions: self.regions.as_mut_ptr() as u64,
            regions_len: REGIONS_MAX as u64,
            category_anyof_mask: IS_PRESENT | IS_SWAPPED,
            return_mask: IS_PRESENT | IS_SWAPPED | IS_FILE,
            ..ScanArguments::default()
        };
        // SAFETY: the arguments are those of the call, and the regions live through it with the length that is given.
        let found = unsafe { libc::ioctl(self.file.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut arguments) };
        let Ok(found) = usize::try_from(found) else {
            let error = std::io::Error::last_os_error();
            // Unknown before Linux 6.7.
            self.scans = !matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL));
            return self.scans.then_some(Err(error));
        };
        self.regions.truncate(found);
        (self.walked, self.next) = (addresses.start..arguments.walk_end, 0);
        Some(Ok(()))
    }

    fn append_entries(&mut self, pages: Range<u64>, runs: &mut Vec<PageRun>) -> Result<()> {
        let mut page = pages.start;
        while page < pages.end {
            if !self.read.contains(&page) {
                self.read_entries(page, pages.end - page)?;
            }
            let end = pages.end.min(self.read.end);
            if end <= page {
                // The process has ended meanwhile.
                break;
            }
            let byte = |page: u64| ((page - self.read.start) * PAGE_ENTRY_BYTES) as usize;
            append_page_runs(runs, page, parse_page_states(&self.entries[byte(page)..byte(end)]));
            if runs.len() > self.rest.runs {
                return Err(TOO_MUCH);
            }
            page = end;
        }
        Ok(())
    }

    /// Reads entries from `page` on, about `wanted`, and those behind them as far as they cost nothing.
    fn read_entries(&mut self, page: u64, wanted: u64) -> Result<()> {
        let length = (wanted.max(ENTRIES_MIN) * PAGE_ENTRY_BYTES).min(CHUNK_BYTES) as usize;
        self.rest.entries_bytes = self.rest.entries_bytes.checked_sub(length as u64).ok_or(TOO_MUCH)?;
        self.entries.resize(length.max(self.entries.len()), 0);
        let read = self.file.read_at(&mut self.entries[..length], page * PAGE_ENTRY_BYTES);
        let read = read.map_err(|source| Error::reading(self.path.clone(), source))?;
        self.read = page..page + read as u64 / PAGE_ENTRY_BYTES;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_formats::PageState;
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    #[test]
    fn pages_that_were_written_are_in_memory_and_others_are_absent() {
        let page_bytes = rustix::param::page_size();
        // A mapping of its own: the allocator may hand out pages that were used before. 4 of its 64 pages are used.
        let length = 64 * page_bytes;
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps nothing.
        let begin = unsafe { mmap_anonymous(std::ptr::null_mut(), length, rights, flags) }.expect("mapped");
        // SAFETY: the advice changes the size of pages alone, of the mapping above.
        let _ = unsafe { madvise(begin, length, Advice::LinuxNoHugepage) };
        // SAFETY: the mapping has that length and is zeroed; nothing else refers to it before it is unmapped.
        let memory = unsafe { std::slice::from_raw_parts_mut(begin.cast::<u8>(), length) };
        (10..14).for_each(|page| memory[page * page_bytes] = 1);
        let first = begin as usize / page_bytes;
        let pages = Sense::default().process_pages(std::process::id()).expect("readable").expect("this process");
        let is_there = |page: u64| {
            let found = pages.runs.iter().find(|run| (run.first_page..run.end_page()).contains(&page));
            found.map(|run| run.state)
        };
        let first = first as u64;
        assert_eq!(is_there(first + 11), Some(PageState::Anonymous));
        assert_eq!(is_there(first + 30), None, "never used");
        assert!(pages.ranges.iter().any(|range| range.name.to_string_lossy().ends_with("[stack]")));
        assert!(pages.runs.windows(2).all(|pair| pair[0].end_page() <= pair[1].first_page), "ascending");
        // SAFETY: the mapping above, which is not used any more.
        unsafe { munmap(begin, length) }.expect("unmapped");
    }

    #[test]
    fn a_process_that_is_not_there_has_no_pages() {
        assert_eq!(Sense::default().process_pages(u32::MAX).expect("no error"), None);
    }
}
