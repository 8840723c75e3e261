//! Pages of one process: address ranges of /proc/PID/maps, and the state of each page in /proc/PID/pagemap
//! (Documentation/admin-guide/mm/pagemap.rst).

use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt as _;

use crate::fields::{self, lines};
use crate::process::{device_number, unescape_newlines};
use crate::{DeviceNumber, ParseError};

/// Bytes of an entry of the pagemap.
pub const PAGE_ENTRY_BYTES: u64 = 8;

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const FILE: u64 = 1 << 61;
/// Bits 0 to 4: number of the swap area; 5 to 54: slot in it.
const SWAP_TYPE_BITS: u32 = 5;
const SWAP_BITS: u32 = 55;
/// Areas have lower numbers (MAX_SWAPFILES of include/linux/swap.h, with all features). The kernel uses the others for
/// pages that are in memory and cannot be mapped for the moment, such as those that it is moving.
const AREAS_MAX: u8 = 23;
/// The last number marks a page that is not there, such as a guard page of a stack (SWP_PTE_MARKER, Linux 5.19).
const MARKER: u8 = (1 << SWAP_TYPE_BITS) - 1;

/// A range of addresses with one kind of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRange {
    /// First address and the one behind the last.
    pub addresses: Range<u64>,
    /// Whether its pages can be used at all; reservations cannot, and may be larger than memory.
    pub usable: bool,
    /// Whether its pages can be changed.
    pub writable: bool,
    /// Whether changes are seen by other processes.
    pub shared: bool,
    /// Place of its first page in the file.
    pub offset_bytes: u64,
    /// Device of the file as the kernel names it: on btrfs and overlayfs not the `st_dev` of stat(2).
    pub device: DeviceNumber,
    /// Inode of the file; 0 without one.
    pub inode: u64,
    /// File or name of the kernel, such as `[heap]`; empty for other anonymous memory.
    pub name: OsString,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    /// Never used, or its file content is not mapped.
    Absent,
    /// In memory, of a file or shared memory.
    File,
    /// In memory, of the process alone.
    Anonymous,
    /// In a swap area, also while it is in the swap cache.
    Swapped {
        area: u8,
        /// Slot in the area, in pages from its begin.
        slot: u64,
    },
}

impl PageState {
    /// The state that an entry of the pagemap describes. Without the right to see slots (CAP_SYS_ADMIN), they are 0.
    #[must_use]
    pub fn of(entry: u64) -> Self {
        if entry & SWAPPED != 0 {
            let place = entry & ((1 << SWAP_BITS) - 1);
            match (place & ((1 << SWAP_TYPE_BITS) - 1)) as u8 {
                MARKER => return Self::Absent,
                area @ ..AREAS_MAX => return Self::Swapped { area, slot: place >> SWAP_TYPE_BITS },
                _ => return if entry & FILE == 0 { Self::Anonymous } else { Self::File },
            }
        }
        match (entry & PRESENT != 0, entry & FILE != 0) {
            (false, _) => Self::Absent,
            (true, true) => Self::File,
            (true, false) => Self::Anonymous,
        }
    }
}

/// Reads the text of /proc/PID/maps, range by range. `[vsyscall]`, which no pagemap has, is left out.
///
/// # Errors
/// When a line lacks a field or a field is not of its type.
pub fn parse_address_ranges(bytes: &[u8]) -> Result<Vec<AddressRange>, ParseError> {
    let mut ranges = Vec::new();
    for mut words in lines(bytes) {
        let line = words.line;
        let word = words.word("address")?;
        let bad = |field, word| ParseError::BadField { line, field, text: fields::text(word) };
        let addresses = addresses(word).ok_or_else(|| bad("address", word))?;
        let permissions = words.word("perms")?;
        let [rights @ .., share] = permissions else { return Err(bad("perms", permissions)) };
        if rights.len() != 3 {
            return Err(bad("perms", permissions));
        }
        let usable = rights.iter().any(|right| *right != b'-');
        let (writable, shared) = (rights[1] == b'w', *share == b's');
        let offset = words.word("offset")?;
        let offset_bytes = hexadecimal(offset).ok_or_else(|| bad("offset", offset))?;
        let device = words.word("dev")?;
        let device = device_number(device).ok_or_else(|| bad("dev", device))?;
        let inode = words.number("inode")?;
        let name = OsString::from_vec(unescape_newlines(words.rest.trim_ascii_start()));
        if name != "[vsyscall]" {
            ranges.push(AddressRange { addresses, usable, writable, shared, offset_bytes, device, inode, name });
        }
    }
    Ok(ranges)
}

fn addresses(word: &[u8]) -> Option<Range<u64>> {
    let (start, end) = std::str::from_utf8(word).ok()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    (start <= end).then_some(start..end)
}

fn hexadecimal(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

/// The ranges in the text of /proc/PID/smaps that cannot be swapped: locked ones, huge pages of hugetlbfs, memory of
/// devices (`lo`, `ht`, `io` and `pf` of `VmFlags`). The kernel reads the page tables for that file: read it when
/// [`crate::has_unswappable`] says that there are such ranges.
///
/// # Errors
/// When the flags stand before the first range.
pub fn parse_unswappable(bytes: &[u8]) -> Result<Vec<Range<u64>>, ParseError> {
    let (mut found, mut current) = (Vec::new(), None);
    for mut words in lines(bytes) {
        let Some(first) = words.next_word() else { continue };
        if let Some(range) = addresses(first) {
            current = Some(range);
        } else if first == b"VmFlags:" {
            let range = current.clone().ok_or(ParseError::MissingLine("address"))?;
            while let Some(flag) = words.next_word() {
                if matches!(flag, b"lo" | b"ht" | b"io" | b"pf") {
                    found.push(range);
                    break;
                }
            }
        }
    }
    Ok(found)
}

/// The entries in bytes of a pagemap; an incomplete one at the end is left out.
pub fn parse_page_states(bytes: &[u8]) -> impl Iterator<Item = PageState> {
    bytes.chunks_exact(PAGE_ENTRY_BYTES as usize).map(|entry| {
        let mut whole = [0; PAGE_ENTRY_BYTES as usize];
        whole.copy_from_slice(entry);
        PageState::of(u64::from_ne_bytes(whole))
    })
}

/// Adjacent pages in the same state; swapped ones in adjacent slots of one area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    /// Virtual page number of the first.
    pub first_page: u64,
    pub pages: u64,
    pub state: PageState,
}

impl PageRun {
    /// The page behind the last.
    #[must_use]
    pub fn end_page(&self) -> u64 {
        self.first_page + self.pages
    }

    /// Whether the page behind it, in this state, continues it.
    fn continues(&self, page: u64, state: PageState) -> bool {
        page == self.end_page()
            && match (self.state, state) {
                (PageState::Swapped { area, slot }, PageState::Swapped { area: next_area, slot: next }) => {
                    // Without the right to see slots all are 0.
                    area == next_area && (next == slot + self.pages || (slot == 0 && next == 0))
                }
                (own, next) => own == next,
            }
    }
}

/// Appends the pages from `first_page` on as runs; absent ones are left out.
pub fn append_page_runs(runs: &mut Vec<PageRun>, first_page: u64, states: impl Iterator<Item = PageState>) {
    for (page, state) in (first_page..).zip(states).filter(|(_, state)| *state != PageState::Absent) {
        match runs.last_mut() {
            Some(last) if last.continues(page, state) => last.pages += 1,
            _ => runs.push(PageRun { first_page: page, pages: 1, state }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_read_with_their_rights_and_names() {
        let text = b"55e0-55e8 r--p 00000000 fe:00 131 /usr/bin/app name\n7f00-7f80 rw-p 00000000 00:00 0 \n\
                     8000-9000 rw-s 00001000 00:01 5 /dev/shm/x\n7ffe-7fff rw-p 00000000 00:00 0   [stack]\n\
                     ff00-ff10 --xp 00000000 00:00 0   [vsyscall]\n";
        let ranges = parse_address_ranges(text).expect("maps");
        let facts: Vec<_> = ranges
            .iter()
            .map(|one| (one.addresses.start, one.writable, one.shared, one.inode, one.name.to_str().expect("UTF-8")))
            .collect();
        assert_eq!(
            facts,
            [
                (0x55e0, false, false, 131, "/usr/bin/app name"),
                (0x7f00, true, false, 0, ""),
                (0x8000, true, true, 5, "/dev/shm/x"),
                (0x7ffe, true, false, 0, "[stack]"),
            ]
        );
    }

    #[test]
    fn a_range_has_its_place_in_the_file() {
        let text = b"55e0-55e8 r--p 00041000 fe:10 131 /usr/bin/app\n";
        let ranges = parse_address_ranges(text).expect("maps");
        assert_eq!((ranges[0].offset_bytes, ranges[0].device), (0x41000, DeviceNumber { major: 0xfe, minor: 0x10 }));
        assert!(parse_address_ranges(b"55e0-55e8 r--p x fe:10 131 /a\n").is_err());
        assert!(parse_address_ranges(b"55e0-55e8 r--p 0 fe10 131 /a\n").is_err());
    }

    #[test]
    fn ranges_that_are_locked_or_of_devices_are_told_by_their_flags() {
        let text = b"1000-2000 rw-p 00000000 00:00 0 \nRss: 4 kB\nVmFlags: rd wr mr mw me ac lo \n\
                     2000-3000 rw-p 00000000 00:00 0                          [heap]\nRss:  0 kB\n\
                     VmFlags: rd wr mr ac \n5000-6000 rw-s 00000000 00:10 5 /dev/dri/card0\n\
                     VmFlags: rd wr sh mr mw me ms pf io \n";
        assert_eq!(parse_unswappable(text), Ok(vec![0x1000..0x2000, 0x5000..0x6000]));
        assert!(parse_unswappable(b"VmFlags: lo\n").is_err());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for wrong in ["x-y rw-p 0 0:0 0\n", "9-5 rw-p 0 0:0 0\n", "5-9 rw 0 0:0 0\n", "5-9 rw-p 0 0:0 x\n", "5-9\n"] {
            assert!(parse_address_ranges(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_state_of_a_page_has_its_bits() {
        assert_eq!(PageState::of(0), PageState::Absent);
        assert_eq!(PageState::of(PRESENT | 77), PageState::Anonymous);
        assert_eq!(PageState::of(PRESENT | FILE | 77), PageState::File);
        // Shared memory that is swapped has both bits.
        assert_eq!(PageState::of(SWAPPED | FILE | 1000 << 5 | 3), PageState::Swapped { area: 3, slot: 1000 });
        // A page that the kernel is moving, one of a file, and a guard page.
        assert_eq!(PageState::of(SWAPPED | 1000 << 5 | 26), PageState::Anonymous);
        assert_eq!(PageState::of(SWAPPED | FILE | 1000 << 5 | 26), PageState::File);
        assert_eq!(PageState::of(SWAPPED | 4 << 5 | 31), PageState::Absent);
        assert_eq!(PageState::of(SWAPPED | 8 << 5 | 22), PageState::Swapped { area: 22, slot: 8 });
        let bytes = [PRESENT.to_ne_bytes(), (SWAPPED | 7 << 5).to_ne_bytes()].concat();
        let states: Vec<_> = parse_page_states(&bytes[..15]).collect();
        assert_eq!(states, [PageState::Anonymous]);
        assert_eq!(parse_page_states(&bytes).last(), Some(PageState::Swapped { area: 0, slot: 7 }));
    }

    fn states() -> impl Strategy<Value = Vec<PageState>> {
        let state = prop_oneof![
            Just(PageState::Absent),
            Just(PageState::File),
            Just(PageState::Anonymous),
            (0_u8..2, 1_u64..4).prop_map(|(area, slot)| PageState::Swapped { area, slot }),
        ];
        proptest::collection::vec(state, 0..60)
    }

    #[test]
    fn swapped_pages_are_one_run_only_in_adjacent_slots() {
        let swapped = |slot| PageState::Swapped { area: 0, slot };
        let mut runs = Vec::new();
        append_page_runs(&mut runs, 10, [swapped(5), swapped(6), swapped(8), PageState::File].into_iter());
        let found: Vec<_> = runs.iter().map(|run| (run.first_page, run.pages, run.state)).collect();
        assert_eq!(found, [(10, 2, swapped(5)), (12, 1, swapped(8)), (13, 1, PageState::File)]);
    }

    proptest! {
        #[test]
        fn runs_hold_every_page_in_its_state_and_cannot_be_joined(states in states()) {
            let mut runs = Vec::new();
            append_page_runs(&mut runs, 100, states.iter().copied());
            let mut pages: Vec<(u64, PageState)> = Vec::new();
            for run in &runs {
                pages.extend((0..run.pages).map(|at| (run.first_page + at, match run.state {
                    PageState::Swapped { area, slot } => PageState::Swapped { area, slot: slot + at },
                    state => state,
                })));
            }
            let expected: Vec<_> = (100..).zip(states).filter(|(_, state)| *state != PageState::Absent).collect();
            prop_assert_eq!(pages, expected);
            prop_assert!(runs.windows(2).all(|pair| !pair[0].continues(pair[1].first_page, pair[1].state)));
        }

        #[test]
        fn no_bytes_make_the_parsers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_address_ranges(&bytes);
            prop_assert_eq!(parse_page_states(&bytes).count(), bytes.len() / 8);
        }
    }
}
