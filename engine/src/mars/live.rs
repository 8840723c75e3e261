//! Histories of the private pages of the processes that run, by address: within a process that is the surest name of a
//! page.
//!
//! A scan introduces processes that are new, with what [`crate::mars::learned`] knows of their mappings, and drops
//! those that ended. A return is taken in by address, and then kept by mapping for later processes.
//!
//! Properties: `a_new_process_finds_its_hot_set_at_other_addresses`; `what_is_found_again_counts_as_one_return`;
//! `a_process_number_that_is_used_again_inherits_nothing`.

use brisk_core::pages::{AppPages, Away, Identity, Mapping, MappingTouched, PageRange, Process, Touched};
use serde::{Deserialize, Serialize};

use crate::mars::hot_set::{Heat, Heats, Repeated};
use crate::mars::learned::{AppMemory, ProcessHeats, RANGES_MAX};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveProcess {
    pub process: Process,
    /// Histories by virtual page number.
    pub heats: Heats,
}

/// Virtual page numbers of a range of a mapping's pages.
pub(crate) fn virtual_pages(mapping: &Mapping, range: PageRange, page_bytes: u64) -> PageRange {
    let offset_pages = range.first_page.saturating_sub(mapping.range.first_page);
    PageRange { first_page: mapping.start / page_bytes.max(1) + offset_pages, pages: range.pages }
}

/// The other way round: pages of the mapping, from virtual page numbers.
fn mapped_pages(mapping: &Mapping, virtual_pages: PageRange, page_bytes: u64) -> Option<PageRange> {
    let begin = mapping.start / page_bytes.max(1);
    let end = begin + mapping.range.pages;
    let (first, last) = (virtual_pages.first_page.max(begin), virtual_pages.end_page().min(end));
    (first < last).then(|| PageRange { first_page: mapping.range.first_page + (first - begin), pages: last - first })
}

/// Takes in which processes run now.
pub(crate) fn meet(live: &mut Vec<LiveProcess>, pages: &AppPages, known: Option<&AppMemory>) {
    let is_there = |one: &LiveProcess| pages.processes.iter().any(|process| process.process == one.process);
    live.retain(is_there);
    for one in &pages.processes {
        if live.iter().any(|known| known.process == one.process) {
            continue;
        }
        let found = one.mappings.iter().flat_map(|of| {
            let mapping = &of.mapping;
            let heats = known
                .and_then(|known| known.mapping(&one.process.program, one.process.nth, &mapping.identity))
                .map_or(&[][..], Heats::ranges);
            let again = |heat: &Heat| {
                // What a former process touched counts as one return of this one.
                let first = heat.range.first_page.max(mapping.range.first_page);
                let end = heat.range.end_page().min(mapping.range.end_page());
                let range = (first < end).then(|| PageRange { first_page: first, pages: end - first })?;
                Some(Heat { range: virtual_pages(mapping, range, pages.page_bytes), history: 1, returns: 1 })
            };
            heats.iter().filter(|heat| heat.chance(1.0) >= 0.5).filter_map(again).collect::<Vec<_>>()
        });
        live.push(LiveProcess { process: one.process.clone(), heats: Heats::new(found.collect()) });
    }
}

/// Takes in what a return touched, and keeps it for later processes.
pub(crate) fn note(live: &mut Vec<LiveProcess>, touched: &Touched, known: &mut AppMemory) {
    let mut repeated = Repeated::default();
    for of in &touched.processes {
        let at = live.iter().position(|one| one.process == of.process).unwrap_or_else(|| {
            live.push(LiveProcess { process: of.process.clone(), heats: Heats::default() });
            live.len() - 1
        });
        let heats = &mut live[at].heats;
        let by_address = |which: fn(&Away) -> &[PageRange]| -> Vec<PageRange> {
            let of_mapping = |one: &MappingTouched| {
                let at = |range: &PageRange| virtual_pages(&one.mapping, *range, touched.page_bytes);
                which(&one.swapped).iter().map(at).collect::<Vec<_>>()
            };
            let mut ranges: Vec<PageRange> = of.mappings.iter().flat_map(of_mapping).collect();
            ranges.sort_unstable();
            ranges
        };
        let of_process = heats.note(&by_address(|away| &away.touched), &by_address(|away| &away.untouched));
        repeated.before_pages += of_process.before_pages;
        repeated.again_pages += of_process.again_pages;
        heats.bound(RANGES_MAX, known.repeat);
        let kept = kept(heats, of.mappings.iter().map(|one| &one.mapping), touched.page_bytes);
        known.keep(ProcessHeats { program: of.process.program.clone(), nth: of.process.nth, mappings: kept });
    }
    known.repeated(repeated);
    note_files(touched, known);
}

/// The touched pages, by mapping.
fn kept<'a>(heats: &Heats, mappings: impl Iterator<Item = &'a Mapping>, page_bytes: u64) -> Vec<(Identity, Heats)> {
    let of = |mapping: &Mapping| {
        let ranges = virtual_pages(mapping, mapping.range, page_bytes);
        let by_page = heats.split(ranges).filter_map(|(part, heat)| {
            let heat = heat.filter(|heat| heat.history != 0)?;
            Some(Heat { range: mapped_pages(mapping, part, page_bytes)?, ..*heat })
        });
        (mapping.identity.clone(), Heats::new(by_page.collect()))
    };
    mappings.map(of).collect()
}

/// Pages of files: one that any process touched was touched.
fn note_files(touched: &Touched, known: &mut AppMemory) {
    let mut files: std::collections::BTreeMap<_, Away> = std::collections::BTreeMap::new();
    for one in touched.processes.iter().flat_map(|process| &process.mappings) {
        if let Identity::File(file) = &one.mapping.identity {
            let of = files.entry(file).or_default();
            of.touched.extend(&one.file.touched);
            of.untouched.extend(&one.file.untouched);
        }
    }
    for (file, mut away) in files {
        away.touched.sort_unstable();
        away.untouched.sort_unstable();
        if away.touched.is_empty() && known.file(file).is_none() {
            continue;
        }
        let heats = known.file_mut(file);
        heats.note(&away.touched, &away.untouched);
        // Where a file was never touched is not kept.
        *heats = Heats::new(heats.ranges().iter().filter(|heat| heat.history != 0).copied().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mars::tests::{app_pages, heap, process, returned};

    #[test]
    fn a_new_process_finds_its_hot_set_at_other_addresses() {
        let (mut live, mut known) = (Vec::new(), AppMemory::default());
        let old = process(7, 1);
        note(&mut live, &returned(&old, &heap(0x10_0000, 100), &[(5, 10)], &[(15, 85)]), &mut known);
        meet(&mut live, &app_pages(&old, &heap(0x10_0000, 100), &[], &[]), Some(&known));
        assert_eq!(live[0].heats.ranges()[0].range, PageRange { first_page: 0x105, pages: 10 });
        let new = process(8, 2);
        meet(&mut live, &app_pages(&new, &heap(0x70_0000, 12), &[], &[]), Some(&known));
        assert_eq!(live.len(), 1, "the old one ended");
        let found = live[0].heats.ranges();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].range, PageRange { first_page: 0x705, pages: 7 }, "as far as the mapping reaches");
    }

    #[test]
    fn what_is_found_again_counts_as_one_return() {
        let (mut live, mut known) = (Vec::new(), AppMemory::default());
        for _ in 0..8 {
            note(&mut live, &returned(&process(7, 1), &heap(0x10_0000, 100), &[(5, 10)], &[]), &mut known);
        }
        meet(&mut live, &app_pages(&process(8, 2), &heap(0x10_0000, 100), &[], &[]), Some(&known));
        assert_eq!((live[0].heats.ranges()[0].history, live[0].heats.ranges()[0].returns), (1, 1));
    }

    #[test]
    fn a_process_number_that_is_used_again_inherits_nothing() {
        let (mut live, mut known) = (Vec::new(), AppMemory::default());
        note(&mut live, &returned(&process(7, 1), &heap(0x10_0000, 100), &[(5, 10)], &[]), &mut known);
        meet(&mut live, &app_pages(&process(7, 9), &heap(0x10_0000, 100), &[], &[]), None);
        assert_eq!(live.len(), 1);
        assert!(live[0].heats.ranges().is_empty());
    }
}
