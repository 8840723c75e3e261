//! What of an app is read back when it returns.
//!
//! At the first sign of a return the app is thawed, and the hot ranges of its files are read ahead, followed by its hot
//! set in swap, in the order of slots, in ranges of up to 1 MiB that the device merges and queues; the rest comes by
//! faults. (Measured: hot sets and files 5.4 s for six apps; hot sets alone 8.6 s; the kernel's swap-in 25.9 s; all of
//! each app 42 s.)
//!
//! **Where memory is merely tight, nothing is read**: the kernel has kept the hot set, and what is read stands before
//! the faults of the app and drives out what others need. So the hot set is read only when all of this holds:
//!
//! 1. at least 256 KiB of it are in swap, and a tenth of it or 1 MiB;
//! 2. faults on what is likely to be touched would take a fifth longer than reading it in order, and 5 ms;
//! 3. where less memory is available than the return needs, only pages that are more likely touched than not count.
//!
//! Hot ranges of files are read together with it, or where 1 MiB of them is not mapped any more.
//!
//! *Need* of a return: 1.5 times what the last one read, and 8 MiB. What is missing of that is taken from the files of
//! apps that were left long ago, which writes nothing.
//!
//! Properties: `an_app_that_lost_little_is_not_read_back`; `every_hot_page_in_swap_is_read_once_in_the_order_of_slots`;
//! `a_few_scattered_pages_gain_nothing_by_reading_them`; `in_short_memory_only_likely_pages_are_read`.

use brisk_core::action::{AddressRange, FileRange, FileRanges};
use brisk_core::pages::{AppPages, Identity, MappedFile, PageRange};
use brisk_core::reason::Reason;

use crate::mars::LiveProcess;
use crate::mars::config::Config;
use crate::mars::hot_set::Heats;
use crate::mars::learned::AppMemory;
use crate::mars::live::virtual_pages;
use brisk_core::device::Speeds;

const MIB: u64 = 1 << 20;
/// What a return needs beyond one and a half times what it read.
const NEED_MORE_BYTES: u64 = 8 * MIB;
/// Largest range.
const CHUNK_BYTES: u64 = MIB;
/// Pages between two hot ones in one stretch of slots that are read along with them: a request costs as much.
const GAP_PAGES: u64 = 8;
/// The least that is worth reading.
const LOST_BYTES_MIN: u64 = 256 << 10;
const LOST_BYTES: u64 = MIB;
const LOST_PART: u64 = 10;
/// Faults have to take so much longer than reading, and this longer than that: scan and calls.
const GAIN_TIMES: f64 = 1.2;
const GAIN_US: f64 = 5_000.0;
/// Chance of pages that are read in short memory.
const LIKELY_PERCENT: f64 = 50.0;

/// Memory that a return to this app needs.
#[must_use]
pub fn need_bytes(known: &AppMemory) -> u64 {
    let read_bytes = known.read_bytes.unwrap_or(0);
    read_bytes.saturating_add(read_bytes / 2).saturating_add(NEED_MORE_BYTES)
}

/// Time of reading stretches of that size altogether.
#[must_use]
pub fn read_us(speeds: &Speeds, stretches: u64, bytes: u64) -> f64 {
    stretches as f64 * speeds.random_read_us + bytes as f64 / (speeds.read_mib_per_s * MIB as f64) * 1e6
}

/// What is to be read, and what led to that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Ranges in swap, in the order of slots.
    pub swapped: Vec<AddressRange>,
    pub files: Vec<FileRanges>,
    /// Size of the hot set, in memory or not.
    pub hot_bytes: u64,
    pub lost_bytes: u64,
    /// Expected time of faults on it, and of reading it.
    pub faults_us: f64,
    /// Expected time of reading it.
    pub read_us: f64,
}

impl Plan {
    /// Share of the hot set that is in swap; `None` where there is no hot set.
    #[must_use]
    pub fn lost(&self) -> Option<f64> {
        (self.hot_bytes > 0).then(|| self.lost_bytes as f64 / self.hot_bytes as f64)
    }

    /// Bytes that are read from swap.
    #[must_use]
    pub fn swapped_bytes(&self) -> u64 {
        self.swapped.iter().map(|range| range.size_bytes).fold(0, u64::saturating_add)
    }

    /// Whether the ranges of files are read, whatever is in swap: the kernel has dropped much of what a return touches
    /// of them.
    #[must_use]
    pub fn reads_files(&self) -> bool {
        let ranges = self.files.iter().flat_map(|file| &file.ranges);
        ranges.map(|range| range.size_bytes).fold(0, u64::saturating_add) >= LOST_BYTES
    }

    /// Why what is in swap is read.
    ///
    /// # Errors
    /// Why it is not.
    pub fn verdict(&self) -> Result<&'static str, &'static str> {
        let is_little = self.lost_bytes < LOST_BYTES_MIN
            || (self.lost_bytes < LOST_BYTES && self.lost_bytes < self.hot_bytes / LOST_PART);
        match () {
            () if is_little => Err("little_of_the_hot_set_is_in_swap"),
            () if self.faults_us < self.read_us * GAIN_TIMES || self.faults_us < self.read_us + GAIN_US => {
                Err("reading_gains_little")
            }
            () => Ok("hot_set_is_in_swap"),
        }
    }

    #[must_use]
    pub fn reason(&self, rule: &'static str) -> Reason {
        let mib = |bytes: u64| bytes as f64 / MIB as f64;
        Reason::rule(rule)
            .number("hot_mib", mib(self.hot_bytes))
            .number("in_swap_mib", mib(self.lost_bytes))
            .number("faults_ms", self.faults_us / 1e3)
            .number("read_ms", self.read_us / 1e3)
    }
}

/// A stretch of adjacent slots and addresses.
struct Stretch {
    area: u8,
    slot: u64,
    range: AddressRange,
}

/// What a return is expected to need of what a scan has found in swap. `is_short`: less memory is available than the
/// return needs.
#[must_use]
pub fn plan(config: &Config, pages: &AppPages, live: &[LiveProcess], known: &AppMemory, is_short: bool) -> Plan {
    let page_bytes = pages.page_bytes.max(1);
    let least_percent = if is_short { config.hot_min_percent.max(LIKELY_PERCENT) } else { config.hot_min_percent };
    let is_hot = |chance: f64| chance * 100.0 >= config.hot_min_percent;
    let mut plan = Plan::default();
    let (mut stretches, mut touched_pages) = (Vec::new(), 0.0);
    for process in &pages.processes {
        let Some(heats) = live.iter().find(|one| one.process == process.process).map(|one| &one.heats) else {
            continue;
        };
        for of in &process.mappings {
            let at = |range: PageRange| virtual_pages(&of.mapping, range, page_bytes);
            let hot_pages = |range: PageRange| -> u64 {
                let hot =
                    heats.split(range).filter(|(_, heat)| heat.is_some_and(|heat| is_hot(heat.chance(known.repeat))));
                hot.map(|(part, _)| part.pages).sum()
            };
            plan.hot_bytes += of.private.iter().map(|range| hot_pages(at(*range)) * page_bytes).sum::<u64>();
            for swapped in &of.swapped {
                let range = at(swapped.range);
                plan.hot_bytes += hot_pages(range) * page_bytes;
                let mut last: Option<PageRange> = None;
                for (part, heat) in heats.split(range) {
                    let chance = heat.map_or(0.0, |heat| heat.chance(known.repeat));
                    plan.lost_bytes += if is_hot(chance) { part.pages * page_bytes } else { 0 };
                    if chance * 100.0 < least_percent || chance <= 0.0 {
                        continue;
                    }
                    touched_pages += chance * part.pages as f64;
                    match &mut last {
                        Some(last) if part.first_page - last.end_page() <= GAP_PAGES => {
                            last.pages = part.end_page() - last.first_page;
                        }
                        last => {
                            let done = last.replace(part);
                            stretches.extend(done.map(|done| (swapped, range, done, process.process.pid)));
                        }
                    }
                }
                stretches.extend(last.map(|last| (swapped, range, last, process.process.pid)));
            }
        }
    }
    let stretch =
        |(swapped, range, part, pid): (&brisk_core::pages::SwappedRange, PageRange, PageRange, u32)| Stretch {
            area: swapped.area,
            slot: swapped.slot + (part.first_page - range.first_page),
            range: AddressRange { pid, start: part.first_page * page_bytes, size_bytes: part.pages * page_bytes },
        };
    let mut stretches: Vec<Stretch> = stretches.into_iter().map(stretch).collect();
    stretches.sort_by_key(|one| (one.area, one.slot, one.range));
    let requests = 1 + stretches
        .windows(2)
        .filter(|two| {
            let end = two[0].slot + two[0].range.size_bytes / page_bytes;
            two[0].area != two[1].area || two[1].slot.abs_diff(end) > GAP_PAGES
        })
        .count() as u64;
    plan.swapped = stretches.iter().flat_map(|one| chunks(one.range, page_bytes)).collect();
    plan.files = files(pages, known, least_percent);
    let speeds = config.speeds();
    // A fault reads one page; pages larger than 4 KiB take their transfer too.
    let page_us = read_us(&speeds, 1, page_bytes.saturating_sub(4096));
    plan.faults_us = touched_pages * page_us;
    plan.read_us = if stretches.is_empty() { 0.0 } else { read_us(&speeds, requests, plan.swapped_bytes()) };
    plan
}

/// All of an app that is in swap, in the order of slots, as the paper reads it.
#[must_use]
pub fn all(pages: &AppPages) -> Vec<AddressRange> {
    let page_bytes = pages.page_bytes.max(1);
    let mut stretches: Vec<Stretch> = Vec::new();
    for process in &pages.processes {
        for of in &process.mappings {
            stretches.extend(of.swapped.iter().map(|swapped| Stretch {
                area: swapped.area,
                slot: swapped.slot,
                range: of.mapping.address(process.process.pid, swapped.range, page_bytes),
            }));
        }
    }
    stretches.sort_by_key(|one| (one.area, one.slot, one.range));
    stretches.iter().flat_map(|one| chunks(one.range, page_bytes)).collect()
}

fn chunks(range: AddressRange, page_bytes: u64) -> impl Iterator<Item = AddressRange> {
    let chunk_bytes = CHUNK_BYTES.max(page_bytes) / page_bytes * page_bytes;
    let starts = (0..range.size_bytes.div_ceil(chunk_bytes)).map(move |at| at * chunk_bytes);
    starts.map(move |offset| AddressRange {
        start: range.start + offset,
        size_bytes: (range.size_bytes - offset).min(chunk_bytes),
        ..range
    })
}

/// Hot ranges of the files that a process maps and has not mapped in, file by file.
fn files(pages: &AppPages, known: &AppMemory, least_percent: f64) -> Vec<FileRanges> {
    let mut there: std::collections::BTreeMap<&MappedFile, Vec<PageRange>> = std::collections::BTreeMap::new();
    for of in pages.processes.iter().flat_map(|process| &process.mappings) {
        if let Identity::File(file) = &of.mapping.identity {
            there.entry(file).or_default().extend(&of.file);
        }
    }
    let of_file = |(file, mut there): (&MappedFile, Vec<PageRange>)| {
        there.sort_unstable();
        let mut in_memory = Heats::default();
        in_memory.note(&there, &[]);
        let likely = |chance: f64| chance > 0.0 && chance * 100.0 >= least_percent;
        let hot = known.file(file)?.ranges().iter().filter(|heat| likely(heat.chance(known.repeat)));
        let absent = hot.flat_map(|heat| in_memory.split(heat.range).filter(|(_, there)| there.is_none()));
        let mut ranges: Vec<FileRange> = Vec::new();
        for (part, _) in absent {
            let (offset_bytes, size_bytes) = (part.first_page * pages.page_bytes, part.pages * pages.page_bytes);
            match ranges.last_mut() {
                Some(last) if last.offset_bytes + last.size_bytes + GAP_PAGES * pages.page_bytes >= offset_bytes => {
                    last.size_bytes = offset_bytes + size_bytes - last.offset_bytes;
                }
                _ => ranges.push(FileRange { offset_bytes, size_bytes }),
            }
        }
        (!ranges.is_empty()).then(|| FileRanges { file: file.clone(), ranges })
    };
    there.into_iter().filter_map(of_file).collect()
}
