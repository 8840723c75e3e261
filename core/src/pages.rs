//! Pages of apps as engines see them: where they are, and which of them a return touched.
//!
//! A *mapping* is a range of addresses of a process with one content. Its pages are counted from the begin of its
//! content, not of the address space: in a mapping of a file by their place in the file, elsewhere from the begin of
//! the mapping. So a page has one name for as long as the content lives, and [`Mapping::address`] gives its place in
//! one process. Addresses hold within a process; the [`Identity`] of a mapping and the name of its process hold for
//! later processes of the app too.
//!
//! Lists of ranges are ascending, and their ranges do not overlap. Records hold a range as a pair of numbers.
//!
//! Properties: `a_page_has_the_same_number_wherever_it_is_mapped`; `ranges_are_pairs_in_records`.

mod touched;

use serde::{Deserialize, Serialize};

use crate::action::AddressRange;

/// Adjacent pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct PageRange {
    /// Number of the first.
    pub first_page: u64,
    /// How many.
    pub pages: u64,
}

impl From<(u64, u64)> for PageRange {
    fn from((first_page, pages): (u64, u64)) -> Self {
        Self { first_page, pages }
    }
}

impl From<PageRange> for (u64, u64) {
    fn from(range: PageRange) -> Self {
        (range.first_page, range.pages)
    }
}

impl PageRange {
    /// The page behind the last.
    #[must_use]
    pub fn end_page(&self) -> u64 {
        self.first_page.saturating_add(self.pages)
    }
}

/// Adjacent pages in adjacent slots of a swap area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u8, u64)", into = "(u64, u64, u8, u64)")]
pub struct SwappedRange {
    /// The pages.
    pub range: PageRange,
    /// Number of the swap area, in the order of /proc/swaps.
    pub area: u8,
    /// Slot of the first page, in pages from the begin of the area.
    pub slot: u64,
}

impl From<(u64, u64, u8, u64)> for SwappedRange {
    fn from((first_page, pages, area, slot): (u64, u64, u8, u64)) -> Self {
        Self { range: PageRange { first_page, pages }, area, slot }
    }
}

impl From<SwappedRange> for (u64, u64, u8, u64) {
    fn from(swapped: SwappedRange) -> Self {
        (swapped.range.first_page, swapped.range.pages, swapped.area, swapped.slot)
    }
}

/// A file by its place on a device; its path may be another one by now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MappedFile {
    /// Device of the file system, as `st_dev` has it.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Path in the mount namespace of the process, as /proc/PID/maps shows it.
    pub path: String,
}

/// What a mapping is, by which it is found again in another process of the app.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// Memory of no file.
    Anonymous {
        /// Name that the kernel shows, such as `[heap]`; empty for most.
        name: String,
        /// Place among the mappings of the process with this name, by address.
        nth: u32,
    },
    /// Memory of a file, and, in a private mapping, pages that the process changed.
    File(MappedFile),
}

/// A process of an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in ticks of the kernel since boot: a number is used again, the pair is not.
    pub began_ticks: u64,
    /// Name of its program.
    pub program: String,
    /// Place among the app's processes of that program, by their begin.
    pub nth: u32,
}

/// A mapping of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// What it is.
    pub identity: Identity,
    /// Its first address.
    pub start: u64,
    /// Its pages: those of the file that it maps, or all from 0 on.
    pub range: PageRange,
    /// Whether its private pages may be written to swap: not locked, not shared, no huge pages of hugetlbfs, no device.
    pub swappable: bool,
}

impl AppPages {
    /// Memory that it takes, about.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let of_mapping = |one: &MappingPages| {
            let name = match &one.mapping.identity {
                Identity::File(file) => file.path.len(),
                Identity::Anonymous { name, .. } => name.len(),
            };
            let ranges = size_of::<PageRange>() * (one.private.len() + one.file.len());
            size_of::<MappingPages>() + name + ranges + size_of::<SwappedRange>() * one.swapped.len()
        };
        self.processes.iter().flat_map(|process| &process.mappings).map(of_mapping).sum()
    }
}

impl Mapping {
    /// Addresses of a range of its pages.
    #[must_use]
    pub fn address(&self, pid: u32, range: PageRange, page_bytes: u64) -> AddressRange {
        let offset_pages = range.first_page.saturating_sub(self.range.first_page);
        let start = self.start.saturating_add(offset_pages.saturating_mul(page_bytes));
        AddressRange { pid, start, size_bytes: range.pages.saturating_mul(page_bytes) }
    }
}

/// Where the pages of a mapping are. Pages that are in none of the lists were never used, or are of the file and not
/// mapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingPages {
    /// The mapping.
    pub mapping: Mapping,
    /// Private pages in memory.
    pub private: Vec<PageRange>,
    /// Pages of the file in memory, mapped by the process.
    pub file: Vec<PageRange>,
    /// Private pages in swap, also while they are in the swap cache.
    pub swapped: Vec<SwappedRange>,
}

/// Where the pages of a process are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessPages {
    /// The process.
    pub process: Process,
    /// Its mappings that can be used, by address.
    pub mappings: Vec<MappingPages>,
}

/// Where the pages of an app are: one scan of the page tables of its processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppPages {
    /// Size of a page.
    pub page_bytes: u64,
    /// Its processes. One that ended during the scan is left out.
    pub processes: Vec<ProcessPages>,
}

/// Pages that were away before a return, by whether it touched them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Away {
    /// There after it.
    pub touched: Vec<PageRange>,
    /// Still away after it.
    pub untouched: Vec<PageRange>,
}

/// Pages of a mapping that were away before a return. Of pages that were in memory before, nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingTouched {
    /// The mapping, as it was after the return.
    pub mapping: Mapping,
    /// Private pages: in swap before. One that was read ahead and not touched still is in swap by the page tables.
    pub swapped: Away,
    /// Pages of the file: not mapped before.
    pub file: Away,
}

/// Pages of a process that were away before a return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessTouched {
    /// The process. It was there before and after.
    pub process: Process,
    /// Its mappings that were there before and after, by address.
    pub mappings: Vec<MappingTouched>,
}

/// What a return to an app touched: the difference of the scans before and after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Size of a page.
    pub page_bytes: u64,
    /// Its processes.
    pub processes: Vec<ProcessTouched>,
    /// What the app read from storage during the return, files and swap; `None` where that is not counted.
    pub read_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_same_number_wherever_it_is_mapped() {
        let file = Identity::File(MappedFile { device: 8, inode: 7, path: "/usr/lib/libx.so".to_owned() });
        let mapping = |start, first_page| Mapping {
            identity: file.clone(),
            start,
            range: PageRange { first_page, pages: 20 },
            swappable: true,
        };
        let page = PageRange { first_page: 25, pages: 2 };
        let at = |mapping: Mapping| mapping.address(3, page, 4096);
        assert_eq!(at(mapping(0x10000, 20)), AddressRange { pid: 3, start: 0x15000, size_bytes: 8192 });
        assert_eq!(at(mapping(0x7000_0000, 25)).start, 0x7000_0000);
    }

    #[test]
    fn ranges_are_pairs_in_records() {
        let swapped = SwappedRange { range: PageRange { first_page: 4, pages: 3 }, area: 1, slot: 900 };
        let text = serde_json::to_string(&(swapped.range, swapped)).expect("JSON");
        assert_eq!(text, "[[4,3],[4,3,1,900]]");
        let again: (PageRange, SwappedRange) = serde_json::from_str(&text).expect("the same");
        assert_eq!(again, (swapped.range, swapped));
    }
}
