use super::trace::{NUMBERED, PROCESS_SHIFT};
use super::*;
use crate::probes::SwapPlace;
use crate::swap::layout::layout;
use crate::swap::{Event, Trace};
use proptest::prelude::*;

const AREA: u8 = 2;
const SLOTS: u32 = 64;
/// Memory groups of the apps a and b, and of another one.
const A: u64 = 71;
const B: u64 = 72;
const FOREIGN: u64 = 99;

fn place(slot: u64) -> SwapPlace {
    SwapPlace { area: AREA, slot }
}

fn out(at_ns: u64, slot: u64, pages: u32, group: u64, index: u64) -> SwapEvent {
    let what = SwapWhat::Pages { is_out: true, place: place(slot), pages, group: Some(group), index, anonymous: true };
    // Written by the process that reclaims.
    SwapEvent { at_ns, tid: 3, pid: 3, what }
}

fn read(at_ns: u64, tid: u32, slot: u64, group: Option<u64>) -> SwapEvent {
    let what = SwapWhat::Pages { is_out: false, place: place(slot), pages: 1, group, index: 0, anonymous: false };
    SwapEvent { at_ns, tid, pid: tid, what }
}

fn fault(at_ns: u64, tid: u32, page: u64, group: u64) -> SwapEvent {
    SwapEvent { at_ns, tid, pid: tid, what: SwapWhat::Fault { page, group: Some(group) } }
}

fn join() -> Join {
    Join::new(0, SLOTS, false, true)
}

/// A process: pid, app, and each swapped page with its slot.
type Swapped<'a> = (u32, &'a str, &'a [(u64, u64)]);

fn scan(at_ns: u64, processes: &[Swapped<'_>]) -> Scan {
    let run = |&(first_page, first_slot): &(u64, u64)| SwappedRun { first_page, pages: 1, area: AREA, first_slot };
    let process = |&(pid, app, pages): &Swapped<'_>| Process {
        pid,
        app: app.to_owned(),
        swapped: pages.iter().map(run).collect(),
    };
    Scan { at_ns, processes: processes.iter().map(process).collect() }
}

/// Each event as `TIME ACTION APP PAGE SLOT`.
fn lines(trace: &Trace) -> Vec<String> {
    let line = |event: &Event| {
        let app = &trace.apps[usize::from(event.app)];
        let slot = event.slot.map_or_else(String::new, |slot| slot.to_string());
        format!("{} {} {app} {:x} {slot}", event.at_us, event.action.word(), event.page).trim_end().to_owned()
    };
    trace.events.iter().map(line).collect()
}

fn joined(join: Join) -> (Vec<String>, Counts) {
    let (trace, counts) = join.finish();
    assert_eq!(Trace::parse(&trace.to_text()), Ok(trace.clone()), "a trace is read back");
    (lines(&trace), counts)
}

#[test]
fn a_slot_that_was_written_and_read_has_its_owner() {
    let mut join = join();
    for event in [out(1000, 10, 2, A, 0x700), out(2000, 12, 1, B, 0x700)] {
        join.event(&event);
    }
    for event in [fault(4000, 41, 0x701, A), read(5000, 41, 11, None)] {
        join.event(&event);
    }
    join.scan(&scan(6000, &[(41, "a", &[(0x700, 10)]), (42, "b", &[(0x700, 12)])]), &[]);
    let (lines, counts) = joined(join);
    assert_eq!(lines, ["1 out a 700 10", "1 out a 701 11", "2 out b 700 12", "5 in a 701 11"]);
    assert_eq!((counts.out_pages, counts.read_pages, counts.used_pages), (3, 1, 1));
    assert_eq!((counts.numbered_pages, counts.ownerless_pages, counts.beyond), (0, 0, 0));
}

#[test]
fn a_neighbour_that_was_read_is_used_only_where_it_faults() {
    let mut join = join();
    join.event(&out(1000, 8, 4, A, 0x100));
    // One window of four slots, for a fault on the second; later the third is used, never the others.
    join.event(&fault(2000, 41, 0x101, A));
    (8..12).for_each(|slot| join.event(&read(3000 + slot, 41, slot, Some(A))));
    join.event(&fault(9000, 41, 0x102, A));
    join.scan(&scan(9500, &[(41, "a", &[(0x100, 8), (0x103, 11)])]), &[]);
    let (lines, counts) = joined(join);
    assert_eq!(
        lines[4..],
        ["3 ahead a 100 8", "3 in a 101 9", "3 ahead a 102 10", "3 ahead a 103 11", "9 in a 102 10"]
    );
    assert_eq!((counts.read_pages, counts.used_pages, counts.in_memory_faults), (4, 2, 0));
}

#[test]
fn a_page_that_left_the_cache_unused_is_read_again_for_its_use() {
    let mut join = join();
    join.event(&out(1000, 8, 2, A, 0x100));
    join.event(&fault(2000, 41, 0x100, A));
    (8..10).for_each(|slot| join.event(&read(2000 + slot, 41, slot, Some(A))));
    // The neighbour was dropped meanwhile: its fault reads it.
    join.event(&fault(9000, 41, 0x101, A));
    join.event(&read(9500, 41, 9, Some(A)));
    // It is in memory now, so page tables do not have it as swapped, and it keeps its slot.
    join.scan(&scan(10_000, &[(41, "a", &[])]), &[]);
    let (lines, counts) = joined(join);
    assert_eq!(lines[2..], ["2 in a 100 8", "2 ahead a 101 9", "9 ahead a 101 9", "9 in a 101 9"]);
    assert_eq!((counts.read_pages, counts.used_pages), (3, 2));
}

#[test]
fn a_page_that_was_just_written_and_is_still_in_memory_is_not_read() {
    let mut join = join();
    join.event(&out(1000, 8, 1, A, 0x100));
    join.event(&fault(2000, 41, 0x100, A));
    // It may keep its slot, so page tables without it do not free that.
    join.scan(&scan(3000, &[(41, "a", &[])]), &[]);
    let (lines, counts) = joined(join);
    assert_eq!(lines, ["1 out a 100 8"]);
    assert_eq!((counts.in_memory_faults, counts.used_pages), (1, 0));
}

#[test]
fn a_page_that_is_gone_from_the_page_tables_frees_its_slot() {
    let mut join = join();
    join.event(&out(1000, 8, 3, A, 0x100));
    join.event(&out(1000, 20, 1, B, 0x100));
    let of_b: Swapped<'_> = (42, "b", &[(0x100, 20)]);
    join.scan(&scan(1200, &[(41, "a", &[(0x100, 8), (0x101, 9), (0x102, 10)]), of_b]), &[]);
    // The first is released; the second stays; the third was used, and its process ends later.
    join.event(&fault(1500, 41, 0x102, A));
    join.event(&read(1600, 41, 10, Some(A)));
    join.scan(&scan(2000, &[(41, "a", &[(0x101, 9)]), of_b]), &[]);
    join.scan(&scan(4000, &[of_b]), &[]);
    let (lines, counts) = joined(join);
    assert_eq!(lines[5..], ["2 free a 100 8", "4 free a 101 9", "4 free a 102 10"]);
    assert_eq!(counts.freed_pages, 3);
}

#[test]
fn a_slot_that_changes_during_a_scan_is_not_taken_from_it() {
    let mut join = join();
    join.event(&out(1000, 8, 1, A, 0x100));
    join.scan(&scan(1500, &[(41, "a", &[(0x100, 8)])]), &[]);
    let changed = out(2500, 8, 1, B, 0x900);
    // While page tables were read, slot 8 got another page: the old page of the page table is not that of the slot now.
    join.scan(&scan(2000, &[(41, "a", &[(0x100, 8)]), (42, "b", &[])]), &[changed]);
    join.event(&changed);
    join.scan(&scan(4000, &[(41, "a", &[]), (42, "b", &[(0x900, 8)])]), &[]);
    let (lines, _) = joined(join);
    assert_eq!(lines, ["1 out a 100 8", "2 free a 100 8", "2 out b 900 8"]);
}

#[test]
fn pages_that_were_there_before_are_held_from_the_begin() {
    let mut join = Join::new(0, SLOTS, true, true);
    join.scan(&scan(10, &[(41, "a", &[(0x100, 8), (0x101, 9)])]), &[]);
    // One that no page table had: shared memory.
    join.event(&fault(2000, 41, 0x101, A));
    join.event(&read(2100, 41, 9, Some(A)));
    join.event(&read(3000, 41, 30, Some(A)));
    let (lines, counts) = joined(join);
    assert_eq!(lines[..2], ["0 held a 100 8", "0 held a 101 9"]);
    assert!(lines[2].starts_with("0 held unknown 8") && lines[2].ends_with(" 30"), "{lines:?}");
    assert_eq!(lines[3], "2 in a 101 9");
    assert!(lines[4].starts_with("3 in unknown 8") && lines[4].ends_with(" 30"), "{lines:?}");
    assert_eq!((counts.held_pages, counts.numbered_pages), (3, 1));
}

#[test]
fn pages_of_several_processes_of_an_app_have_different_numbers() {
    let mut join = join();
    join.event(&out(1000, 8, 1, A, 0x100));
    join.event(&out(1000, 9, 1, A, 0x100));
    join.event(&out(1000, 10, 1, A, 0x555));
    join.scan(&scan(2000, &[(41, "a", &[(0x100, 8)]), (42, "a", &[(0x100, 9)])]), &[read(2500, 3, 10, None)]);
    let (trace, counts) = join.finish();
    let pages: Vec<u64> = trace.events.iter().map(|event| event.page).collect();
    // The third belongs to one of both, and to which is not known.
    assert_eq!(pages, [0x100, 1 << PROCESS_SHIFT | 0x100, NUMBERED | 2]);
    assert_eq!(counts.numbered_pages, 1);
}

#[test]
fn a_page_that_moved_to_another_slot_is_not_freed_with_the_old_one() {
    let mut join = join();
    join.event(&out(1000, 8, 1, A, 0x100));
    join.scan(&scan(1500, &[(41, "a", &[(0x100, 8)])]), &[]);
    join.event(&out(2000, 9, 1, A, 0x100));
    join.scan(&scan(2500, &[(41, "a", &[(0x100, 9)])]), &[]);
    join.event(&out(3000, 8, 1, B, 0x200));
    join.scan(&scan(3500, &[(41, "a", &[(0x100, 9)]), (42, "b", &[(0x200, 8)])]), &[]);
    let (lines, counts) = joined(join);
    assert_eq!(lines, ["1 out a 100 8", "2 out a 100 9", "3 out b 200 8"]);
    assert_eq!(counts.freed_pages, 0);
}

#[test]
fn a_page_whose_number_in_its_mapping_is_another_is_known_after_a_scan() {
    let mut join = join();
    // Data of a library: page 0x20 of the file is at 0x9020.
    join.event(&out(1000, 8, 1, A, 0x20));
    join.scan(&scan(2000, &[(41, "a", &[(0x9020, 8)])]), &[]);
    join.event(&fault(3000, 41, 0x9020, A));
    join.event(&read(3100, 41, 8, Some(A)));
    let (lines, counts) = joined(join);
    assert_eq!(lines, ["1 out a 9020 8", "3 in a 9020 8"]);
    assert_eq!((counts.used_pages, counts.numbered_pages), (1, 0));
}

#[test]
fn a_page_that_is_used_while_page_tables_are_read_keeps_its_slot() {
    let mut join = join();
    join.event(&out(1000, 8, 1, A, 0x100));
    let used = fault(2500, 41, 0x100, A);
    join.scan(&scan(2000, &[(41, "a", &[])]), &[used]);
    join.event(&used);
    join.event(&read(2600, 41, 8, Some(A)));
    assert_eq!(joined(join).0, ["1 out a 100 8", "2 in a 100 8"]);
}

#[test]
fn apps_are_processes_by_name_and_what_no_process_has_is_of_an_unknown_one() {
    let mut join = Join::new(0, SLOTS, true, true);
    join.event(&out(1000, 8, 1, A, 0x100));
    join.event(&out(1000, 9, 1, FOREIGN, 0x200));
    join.scan(&scan(2000, &[(41, "editor", &[(0x100, 8)])]), &[out(2000, 9, 1, FOREIGN, 0x200)]);
    join.event(&fault(3000, 41, 0x100, A));
    join.event(&read(3100, 41, 8, Some(A)));
    let (lines, counts) = joined(join);
    assert_eq!((lines[0].as_str(), lines[2].as_str()), ("1 out editor 100 8", "3 in editor 100 8"));
    assert!(lines[1].starts_with("1 out unknown 8") && lines[1].ends_with(" 9"), "{lines:?}");
    assert_eq!((counts.ownerless_pages, counts.numbered_pages), (1, 1));
}

#[test]
fn without_faults_each_read_is_a_use() {
    let mut join = Join::new(0, SLOTS, false, false);
    join.event(&out(1000, 8, 2, A, 0x100));
    join.scan(&scan(2000, &[(41, "a", &[(0x100, 8), (0x101, 9)])]), &[]);
    (8..10).for_each(|slot| join.event(&read(3000, 41, slot, None)));
    assert_eq!(joined(join).0[2..], ["3 in a 100 8", "3 in a 101 9"]);
}

proptest! {
    #[test]
    fn every_page_of_the_block_layer_is_in_the_trace_once(
        steps in proptest::collection::vec((0_u8..5, 0_u64..70, 1_u32..4, 0_u32..3), 0..200),
        has_faults: bool,
    ) {
        let mut join = Join::new(0, SLOTS, true, has_faults);
        let (mut written, mut readings, mut beyond) = (0, 0, 0);
        for (at, (kind, slot, pages, tid)) in steps.into_iter().enumerate() {
            let at_ns = 1000 * at as u64;
            let choice = pages as usize % 3;
            let pages = if kind == 0 { pages } else { 1 };
            let inside = (slot..slot + u64::from(pages)).filter(|&slot| slot < u64::from(SLOTS)).count() as u64;
            match kind {
                0 => {
                    join.event(&out(at_ns, slot, pages, [A, B, FOREIGN][tid as usize], slot));
                    written += inside;
                }
                1 | 2 => {
                    join.event(&read(at_ns, tid, slot, Some(A)));
                    readings += inside;
                }
                _ => join.event(&fault(at_ns, tid, slot, [A, B, FOREIGN][choice])),
            }
            beyond += if kind < 3 { u64::from(pages) - inside } else { 0 };
        }
        let (trace, counts) = join.finish();
        // What the layout counts is found from the slots alone.
        let found = layout(&trace, 1000);
        prop_assert_eq!((found.out_pages, found.in_pages), (written, readings));
        prop_assert_eq!((counts.out_pages, counts.read_pages, counts.beyond), (written, readings, beyond));
        prop_assert_eq!(counts.used_pages, found.used_pages);
        prop_assert!(trace.events.is_sorted_by_key(|event| event.at_us));
        prop_assert_eq!(Trace::parse(&trace.to_text()).map(|read| read.events.len()), Ok(trace.events.len()));
    }
}
