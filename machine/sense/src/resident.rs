//! Which pages of a file are in memory, by mincore(2).

use std::fs::File;
use std::os::fd::AsFd as _;

use brisk_core::pages::PageRange;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Whether the kernel tells it at all: a filter of system calls may refuse that.
///
/// # Errors
/// When it does not.
pub(crate) fn check() -> std::io::Result<()> {
    let mut pages = [0_u8; 1];
    // A page of the stack.
    let address = pages.as_ptr().addr() / rustix::param::page_size() * rustix::param::page_size();
    // SAFETY: the array has a byte for the one page, which is only looked up.
    let told = unsafe { libc::mincore(std::ptr::without_provenance_mut(address), 1, pages.as_mut_ptr()) };
    if told == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Ascending ranges of pages of `file` that are in the page cache; `None` where the kernel does not tell.
pub(crate) fn ranges(file: &File, size_bytes: u64, page_bytes: u64) -> Option<Vec<PageRange>> {
    let length = usize::try_from(size_bytes).ok()?;
    if length == 0 {
        return Some(Vec::new());
    }
    let mut pages = vec![0_u8; length.div_ceil(usize::try_from(page_bytes).ok().filter(|bytes| *bytes > 0)?)];
    // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing; it is never accessed, and unmapped
    // below.
    let begin =
        unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), 0) }.ok()?;
    // SAFETY: the vector has a byte for each page of the mapping.
    let told = unsafe { libc::mincore(begin, length, pages.as_mut_ptr()) } == 0;
    // SAFETY: nothing refers to the mapping.
    let unmapped = unsafe { munmap(begin, length) };
    (told && unmapped.is_ok()).then(|| in_ranges(&pages))
}

/// Pages whose lowest bit is set.
fn in_ranges(pages: &[u8]) -> Vec<PageRange> {
    let mut all: Vec<PageRange> = Vec::new();
    for (page, _) in (0_u64..).zip(pages).filter(|(_, byte)| *byte & 1 == 1) {
        match all.last_mut() {
            Some(last) if last.end_page() == page => last.pages += 1,
            _ => all.push(PageRange { first_page: page, pages: 1 }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_memory_are_ranges() {
        let of = |pages: &[u8]| in_ranges(pages).into_iter().map(|one| (one.first_page, one.pages)).collect::<Vec<_>>();
        assert_eq!(of(&[1, 1, 0, 254, 1, 0, 3]), [(0, 2), (4, 1), (6, 1)]);
        assert_eq!(of(&[0, 0]), []);
    }

    #[test]
    fn the_kernel_tells_of_mapped_pages() {
        check().expect("no filter here");
    }

    #[test]
    fn what_was_written_just_now_is_in_memory() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), vec![1; 3 * 4096 + 5]).expect("written");
        let of = |bytes| ranges(&File::open(file.path()).expect("a file"), bytes, 4096);
        assert_eq!(of(3 * 4096 + 5), Some(vec![PageRange { first_page: 0, pages: 4 }]));
        assert_eq!(of(0), Some(Vec::new()));
        assert_eq!(ranges(&File::open("/proc/self/stat").expect("Linux"), 4096, 4096), None, "it has no mapping");
    }
}
