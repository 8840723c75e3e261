//! Where a file lies on its device: the extents that the file system tells (ioctl FS_IOC_FIEMAP; kernel:
//! Documentation/filesystems/fiemap.rst).
//!
//! Extents whose place is not that of the content (not allocated yet, compressed, encrypted, within other data) are
//! left out.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use brisk_core::launch::PlacedRange;
use brisk_core::pages::PageRange;

/// Extents of one file that are read at most.
const EXTENTS_MAX: usize = 128;
/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: u32 = 0xc020_660b;
/// FIEMAP_EXTENT_UNKNOWN, DELALLOC, ENCODED, DATA_ENCRYPTED, NOT_ALIGNED, DATA_INLINE, DATA_TAIL.
const NOT_IN_PLACE: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400;

/// `struct fiemap_extent`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_more: [u32; 3],
}

/// `struct fiemap` with room for extents.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS_MAX],
}

/// Where the file lies, in pages, ascending; empty where the file system does not tell.
pub(crate) fn placed(file: &File, page_bytes: u64) -> Vec<PlacedRange> {
    let mut request = Request {
        start: 0,
        length: u64::MAX,
        flags: 0,
        mapped_extents: 0,
        extent_count: EXTENTS_MAX as u32,
        reserved: 0,
        extents: [Extent::default(); EXTENTS_MAX],
    };
    // SAFETY: the kernel reads the head of the struct and writes at most `extent_count` extents behind it, for which it
    // has room.
    let found = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut request) };
    if found != 0 {
        return Vec::new();
    }
    let count = (request.mapped_extents as usize).min(EXTENTS_MAX);
    request.extents[..count].iter().filter_map(|extent| in_pages(extent, page_bytes)).collect()
}

/// An extent in whole pages; `None` when it has none, or is not in place.
fn in_pages(extent: &Extent, page_bytes: u64) -> Option<PlacedRange> {
    let first_page = extent.logical.div_ceil(page_bytes);
    let skipped_bytes = first_page.checked_mul(page_bytes)?.checked_sub(extent.logical)?;
    // The last page of a file may be a part of one.
    let pages = extent.length.checked_sub(skipped_bytes)?.div_ceil(page_bytes);
    let physical_page = extent.physical.checked_add(skipped_bytes)? / page_bytes;
    let is_in_place = extent.flags & NOT_IN_PLACE == 0;
    (is_in_place && pages > 0).then_some(PlacedRange { range: PageRange { first_page, pages }, physical_page })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_counted_in_pages_and_those_out_of_place_left_out() {
        let extent =
            |logical, physical, length, flags| Extent { logical, physical, length, flags, ..Extent::default() };
        let of = |one: Extent| in_pages(&one, 4096).map(<(u64, u64, u64)>::from);
        assert_eq!(of(extent(8192, 40_960, 8192, 1)), Some((2, 2, 10)));
        assert_eq!(of(extent(1024, 1024, 4096, 0)), Some((1, 1, 1)), "blocks of 1 KiB");
        assert_eq!(of(extent(0, 4096, 5000, 0)), Some((0, 2, 1)));
        for flag in [0x2, 0x4, 0x8, 0x80, 0x100, 0x200, 0x400] {
            assert_eq!(of(extent(0, 4096, 4096, flag)), None, "{flag:x}");
        }
        assert_eq!(of(extent(u64::MAX, 0, 1, 0)), None);
    }

    #[test]
    fn the_extents_of_a_file_cover_it_or_are_not_told() {
        let program = File::open("/proc/self/exe").expect("this program");
        let pages = program.metadata().expect("its size").len().div_ceil(4096);
        let placed = placed(&program, 4096);
        assert!(placed.windows(2).all(|two| two[0].range.end_page() <= two[1].range.first_page), "{placed:?}");
        assert!(placed.iter().all(|one| one.range.first_page < pages), "{placed:?} of {pages}");
        let none = File::open("/proc/self/stat").expect("Linux");
        assert_eq!(super::placed(&none, 4096), []);
    }
}
