//! Where the pages of one process are: in memory, of files, or in swap (/proc/PID/maps and pagemap).

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use brisk_formats::{
    AddressRange, PAGE_ENTRY_BYTES, PageRun, append_page_runs, parse_address_ranges, parse_page_states,
};

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

/// Bytes of the pagemap that are read at a time: 32 MiB of addresses with pages of 4 KiB.
const CHUNK_BYTES: u64 = 64 << 10;

/// The pages of a process at one moment. Ranges change while they are read, unless the process is stopped or frozen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessPages {
    /// Its address ranges that can be used, ascending.
    pub ranges: Vec<AddressRange>,
    /// Its pages that are in memory or swap, ascending.
    pub runs: Vec<PageRun>,
    /// Size of a page.
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
        let path = self.path(format!("/proc/{pid}/pagemap"));
        let opened = File::open(&path).map_err(|source| Error::reading(path.clone(), source));
        let Some(file) = opened.or_absent()? else { return Ok(None) };
        let page_bytes = rustix::param::page_size() as u64;
        let mut pages = ProcessPages { ranges: Vec::new(), runs: Vec::new(), page_bytes };
        let mut buffer = vec![0; CHUNK_BYTES as usize];
        for range in ranges.into_iter().filter(|range| range.usable) {
            let (mut page, end) = (range.addresses.start / page_bytes, range.addresses.end / page_bytes);
            while page < end {
                let length = ((end - page) * PAGE_ENTRY_BYTES).min(CHUNK_BYTES) as usize;
                let read = file.read_at(&mut buffer[..length], page * PAGE_ENTRY_BYTES);
                let read = read.map_err(|source| Error::reading(path.clone(), source))?;
                let count = read as u64 / PAGE_ENTRY_BYTES;
                if count == 0 {
                    // The process has ended meanwhile.
                    break;
                }
                append_page_runs(&mut pages.runs, page, parse_page_states(&buffer[..read]));
                page += count;
            }
            pages.ranges.push(range);
        }
        Ok(Some(pages))
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
