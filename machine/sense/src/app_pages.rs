//! Where the pages of an app are, mapping by mapping: one scan of the page tables of its processes.
//!
//! A mapping keeps its name when its address is another one ([`brisk_core::pages`]): a file by device, inode and place
//! in it, other memory by its name and place among those of that name. The scan reads /proc/PID/stat, maps, status and
//! pagemap, and smaps of processes alone that have locked memory or huge pages of hugetlbfs. The app runs meanwhile,
//! unless it is frozen: a page that moves between two states is in one of them.
//!
//! An app beyond a budget has no pages, as one that cannot be read: 8 MiB of what is kept of it, 64 MiB of entries that
//! kernels before Linux 6.7 give for reserved addresses.
//!
//! Cost, release build, Linux 6.18, 2 shared processors: see `machine/sense/tests/all/app_pages.rs`,
//! `a_scan_of_ten_thousand_mappings`.
//!
//! Properties, with real processes (`machine/sense/tests/all/app_pages.rs`): `a_scan_names_each_page_by_its_mapping`;
//! `a_process_that_ended_is_left_out`; `locked_and_shared_memory_is_not_swappable`; `a_reservation_costs_nothing`;
//! `an_app_beyond_the_budget_has_no_pages`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;

use brisk_core::pages::{
    AppPages, Identity, MappedFile, Mapping, MappingPages, PageRange, Process, ProcessPages, SwappedRange,
};
use brisk_formats::{AddressRange, PageRun, PageState, has_unswappable, parse_address_ranges, parse_unswappable};

use crate::error::Result;
use crate::machine::Sense;
use crate::page_map::{PageTable, Rest, TOO_MUCH};

/// A range of pages, as it is kept.
const RUN_BYTES: usize = size_of::<SwappedRange>();

/// What is kept of an app at most, and of entries that are read for it: the service has 64 MiB, and its loop waits.
const KEPT_BYTES_MAX: usize = 8 << 20;
const ENTRIES_BYTES_MAX: u64 = 64 << 20;
/// What a process counts for: the time of reading its files.
const PROCESS_BYTES: usize = 16 << 10;

/// The kernel's own pages, which every process has.
const OF_THE_KERNEL: [&str; 4] = ["[vdso]", "[vvar]", "[vvar_vclock]", "[uprobes]"];
/// What a file of no path has behind its name in maps.
const DELETED: &[u8] = b" (deleted)";

impl Sense {
    /// The pages of the processes `pids`, those of an app. One that has ended, or ends meanwhile, is left out. Slots
    /// are 0 without CAP_SYS_ADMIN.
    ///
    /// # Errors
    /// When a file is not readable (another user's process) or not understood, or the app is beyond the budget.
    pub fn app_pages(&self, pids: &[u32]) -> Result<AppPages> {
        let mut processes = Vec::new();
        let mut budget = Budget { kept_bytes: KEPT_BYTES_MAX, entries_bytes: ENTRIES_BYTES_MAX };
        for &pid in pids {
            budget.take(PROCESS_BYTES)?;
            processes.extend(self.pages_of(pid, &mut budget)?);
        }
        processes.sort_by(|a: &ProcessPages, b| {
            let key = |one: &ProcessPages| (one.process.began_ticks, one.process.pid);
            key(a).cmp(&key(b))
        });
        let mut of_program: BTreeMap<String, u32> = BTreeMap::new();
        for one in &mut processes {
            let next = of_program.entry(one.process.program.clone()).or_default();
            one.process.nth = *next;
            *next += 1;
        }
        Ok(AppPages { page_bytes: rustix::param::page_size() as u64, processes })
    }

    fn pages_of(&self, pid: u32, budget: &mut Budget) -> Result<Option<ProcessPages>> {
        let Some(stat) = self.process_stat(pid)?.filter(|stat| !stat.has_ended()) else { return Ok(None) };
        let Some(ranges) = self.parse_optional(format!("/proc/{pid}/maps"), parse_address_ranges)? else {
            return Ok(None);
        };
        let is_special = self.parse_optional(format!("/proc/{pid}/status"), has_unswappable)?.unwrap_or(false);
        let unswappable = if is_special {
            self.parse_optional(format!("/proc/{pid}/smaps"), parse_unswappable)?.unwrap_or_default()
        } else {
            Vec::new()
        };
        let Some(mut table) = PageTable::open(self, pid, &ranges)? else { return Ok(None) };
        let mut of_name: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        let (mut mappings, mut runs) = (Vec::new(), Vec::new());
        for range in ranges.iter().filter(|range| range.usable) {
            runs.clear();
            budget.take(size_of::<MappingPages>() + range.name.len())?;
            table.rest = Rest { runs: budget.kept_bytes / RUN_BYTES, entries_bytes: budget.entries_bytes };
            table.append_runs(&range.addresses, &mut runs)?;
            budget.take(runs.len() * RUN_BYTES)?;
            budget.entries_bytes = table.rest.entries_bytes;
            let nth = of_name.entry(range.name.as_bytes().to_vec()).or_default();
            let mapping = mapping(range, *nth, &unswappable, table.page_bytes);
            *nth += 1;
            mappings.push(with_pages(mapping, &runs, table.page_bytes));
        }
        // The number may have gone to a later process, whose pages were read then.
        let is_it = self.process_stat(pid)?.is_some_and(|now| now.start_ticks == stat.start_ticks && !now.has_ended());
        let program = stat.comm.to_string_lossy().into_owned();
        let process = Process { pid, began_ticks: stat.start_ticks, program, nth: 0 };
        Ok(is_it.then_some(ProcessPages { process, mappings }))
    }
}

/// What may be kept and read of an app yet.
struct Budget {
    kept_bytes: usize,
    entries_bytes: u64,
}

impl Budget {
    fn take(&mut self, bytes: usize) -> Result<()> {
        self.kept_bytes = self.kept_bytes.checked_sub(bytes).ok_or(TOO_MUCH)?;
        Ok(())
    }
}

/// What the range is; `nth` is its place among those of its name.
fn mapping(range: &AddressRange, nth: u32, unswappable: &[Range<u64>], page_bytes: u64) -> Mapping {
    let pages = (range.addresses.end - range.addresses.start) / page_bytes;
    let name = range.name.to_string_lossy().into_owned();
    let is_file = range.inode != 0;
    let device = rustix::fs::makedev(range.device.major, range.device.minor);
    let is_unfit = unswappable.iter().any(|one| one.start < range.addresses.end && range.addresses.start < one.end);
    let of_the_kernel = OF_THE_KERNEL.contains(&name.as_str());
    Mapping {
        identity: if is_file {
            Identity::File(MappedFile { device, inode: range.inode, path: name })
        } else {
            Identity::Anonymous { name, nth }
        },
        start: range.addresses.start,
        range: PageRange { first_page: if is_file { range.offset_bytes / page_bytes } else { 0 }, pages },
        swappable: !range.shared && !is_unfit && !of_the_kernel && !is_device(&range.name),
    }
}

/// Whether a path is a device's: its memory is the driver's.
fn is_device(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"/dev/") && !name.starts_with(b"/dev/shm/") && !name.ends_with(DELETED)
}

fn with_pages(mapping: Mapping, runs: &[PageRun], page_bytes: u64) -> MappingPages {
    let begin = mapping.start / page_bytes;
    let first = mapping.range.first_page;
    let mut pages = MappingPages { mapping, private: Vec::new(), file: Vec::new(), swapped: Vec::new() };
    for run in runs {
        let range = PageRange { first_page: run.first_page - begin + first, pages: run.pages };
        match run.state {
            PageState::Anonymous => pages.private.push(range),
            PageState::File => pages.file.push(range),
            PageState::Swapped { area, slot } => pages.swapped.push(SwappedRange { range, area, slot }),
            PageState::Absent => {}
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_formats::DeviceNumber;

    fn range(name: &str, inode: u64) -> AddressRange {
        AddressRange {
            addresses: 0x10000..0x18000,
            usable: true,
            writable: true,
            shared: false,
            offset_bytes: 0x3000,
            device: DeviceNumber { major: 8, minor: 1 },
            inode,
            name: name.into(),
        }
    }

    #[test]
    fn a_file_is_counted_from_its_begin_and_other_memory_from_the_begin_of_the_mapping() {
        let library = mapping(&range("/usr/lib/x.so", 7), 4, &[], 4096);
        let file = MappedFile { device: 0x801, inode: 7, path: "/usr/lib/x.so".to_owned() };
        assert_eq!((library.identity, library.range), (Identity::File(file), PageRange { first_page: 3, pages: 8 }));
        let heap = mapping(&range("[heap]", 0), 0, &[], 4096);
        assert_eq!(heap.identity, Identity::Anonymous { name: "[heap]".to_owned(), nth: 0 });
        let run = |first_page, pages, state| PageRun { first_page, pages, state };
        let runs = [run(0x11, 2, PageState::Anonymous), run(0x14, 1, PageState::Swapped { area: 1, slot: 9 })];
        let pages = with_pages(heap, &runs, 4096);
        assert_eq!(pages.private, [PageRange { first_page: 1, pages: 2 }]);
        let slot = SwappedRange { range: PageRange { first_page: 4, pages: 1 }, area: 1, slot: 9 };
        assert_eq!(pages.swapped, [slot]);
    }

    #[test]
    fn devices_the_kernel_and_locked_memory_are_not_swappable() {
        let swappable = |range: &AddressRange, unfit: &[Range<u64>]| mapping(range, 0, unfit, 4096).swappable;
        assert!(swappable(&range("", 0), &[]) && swappable(&range("/usr/lib/x.so", 7), &[]));
        assert!(swappable(&range("", 0), &[0x18000..0x19000, 0x8000..0x10000]));
        assert!(!swappable(&range("", 0), &[0x5000..0x6000, 0x17000..0x19000]), "locked");
        assert!(!swappable(&range("/dev/dri/card0", 7), &[]) && !swappable(&range("[vvar]", 0), &[]));
        assert!(swappable(&range("/dev/shm/x", 7), &[]), "a private mapping of it");
        assert!(!swappable(&AddressRange { shared: true, ..range("/dev/shm/x", 7) }, &[]));
    }
}
