//! What a return to an app touched: the difference of the scans of its page tables before and after it.
//!
//! Both scans are of the same processes, so pages are compared address by address: a mapping that was split, joined or
//! cut meanwhile is compared as far as it has the same content. A page is *away* that was in swap or, of a file, not
//! mapped. It was *touched* when it is in memory afterwards. A page that was read ahead only is still in swap by the
//! page tables. The kernel maps up to 15 neighbours of a file's page with it where they are in the page cache
//! (fault-around); those count as touched.
//!
//! Properties: `the_difference_agrees_with_a_comparison_page_by_page`;
//! `a_process_that_is_not_in_both_scans_has_no_difference`; `another_content_at_the_same_address_is_not_compared`.

use super::{
    AppPages, Away, Identity, Mapping, MappingPages, MappingTouched, PageRange, ProcessPages, ProcessTouched, Touched,
};

impl AppPages {
    /// What was touched of what was away in this scan, until the later scan `after`. `read_bytes` stays `None`.
    #[must_use]
    pub fn touched_until(&self, after: &Self) -> Touched {
        let of = |later: &ProcessPages| {
            let is_same = |earlier: &&ProcessPages| {
                (earlier.process.pid, earlier.process.began_ticks) == (later.process.pid, later.process.began_ticks)
            };
            let earlier = self.processes.iter().find(is_same)?;
            let mappings =
                later.mappings.iter().filter_map(|mapping| touched(&earlier.mappings, mapping, after.page_bytes));
            let mappings: Vec<MappingTouched> = mappings.collect();
            (!mappings.is_empty()).then(|| ProcessTouched { process: later.process.clone(), mappings })
        };
        Touched {
            page_bytes: after.page_bytes,
            processes: after.processes.iter().filter_map(of).collect(),
            read_bytes: None,
        }
    }
}

/// What was touched of one mapping; `None` when nothing of it was away.
fn touched(before: &[MappingPages], after: &MappingPages, page_bytes: u64) -> Option<MappingTouched> {
    let page_bytes = page_bytes.max(1);
    let (mut was_swapped, mut was_absent) = (Vec::new(), Vec::new());
    let begin = base_page(&after.mapping, page_bytes);
    let end_address = end(&after.mapping, page_bytes);
    let from = before.partition_point(|one| end(&one.mapping, page_bytes) <= after.mapping.start);
    for one in before[from..].iter().take_while(|one| one.mapping.start < end_address) {
        // From its page numbers to those of the mapping after the return.
        let shift = base_page(&one.mapping, page_bytes) - begin;
        let is_same = match (&one.mapping.identity, &after.mapping.identity) {
            (Identity::Anonymous { .. }, Identity::Anonymous { .. }) => true,
            (Identity::File(a), Identity::File(b)) => (a.device, a.inode, shift) == (b.device, b.inode, 0),
            _ => false,
        };
        if !is_same {
            continue;
        }
        let swapped: Vec<PageRange> = one.swapped.iter().map(|swapped| swapped.range).collect();
        was_swapped.extend(moved(&swapped, shift, after.mapping.range));
        if let Identity::File(_) = after.mapping.identity {
            let known = union(&union(&one.private, &one.file), &swapped);
            was_absent.extend(moved(&without(&[one.mapping.range], &known), shift, after.mapping.range));
        }
    }
    let there = union(&after.private, &after.file);
    let swapped: Vec<PageRange> = after.swapped.iter().map(|swapped| swapped.range).collect();
    let known = union(&there, &swapped);
    let found = MappingTouched {
        mapping: after.mapping.clone(),
        swapped: Away { touched: both(&was_swapped, &there), untouched: both(&was_swapped, &swapped) },
        file: Away { touched: both(&was_absent, &there), untouched: without(&was_absent, &known) },
    };
    let is_empty = |away: &Away| away.touched.is_empty() && away.untouched.is_empty();
    (!is_empty(&found.swapped) || !is_empty(&found.file)).then_some(found)
}

/// The address, in pages, of the page 0 of a mapping's content; it may lie before address 0.
fn base_page(mapping: &Mapping, page_bytes: u64) -> i128 {
    i128::from(mapping.start / page_bytes) - i128::from(mapping.range.first_page)
}

fn end(mapping: &Mapping, page_bytes: u64) -> u64 {
    mapping.start.saturating_add(mapping.range.pages.saturating_mul(page_bytes))
}

/// `ranges` with other page numbers, as far as they are `within`.
fn moved(ranges: &[PageRange], shift: i128, within: PageRange) -> Vec<PageRange> {
    let of = |range: &PageRange| {
        let first = (i128::from(range.first_page) + shift).max(within.first_page.into());
        let end = (i128::from(range.end_page()) + shift).min(within.end_page().into());
        // Both lie within a range of u64 when there is anything between them.
        let (first_page, end) = (u64::try_from(first).ok()?, u64::try_from(end).ok()?);
        (first_page < end).then(|| PageRange { first_page, pages: end - first_page })
    };
    ranges.iter().filter_map(of).collect()
}

/// Pages of both lists; lists are ascending without overlaps.
fn both(a: &[PageRange], b: &[PageRange]) -> Vec<PageRange> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut found = Vec::new();
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        let first_page = one.first_page.max(other.first_page);
        let (end, other_end) = (one.end_page(), other.end_page());
        if first_page < end.min(other_end) {
            push(&mut found, PageRange { first_page, pages: end.min(other_end) - first_page });
        }
        let _ = if end <= other_end { a.next() } else { b.next() };
    }
    found
}

/// Pages of `a` that `b` does not have.
fn without(a: &[PageRange], b: &[PageRange]) -> Vec<PageRange> {
    let mut found = Vec::new();
    for range in a {
        let mut first_page = range.first_page;
        let from = b.partition_point(|other| other.end_page() <= first_page);
        for other in b[from..].iter().take_while(|other| other.first_page < range.end_page()) {
            if first_page < other.first_page {
                push(&mut found, PageRange { first_page, pages: other.first_page - first_page });
            }
            first_page = first_page.max(other.end_page());
        }
        if first_page < range.end_page() {
            push(&mut found, PageRange { first_page, pages: range.end_page() - first_page });
        }
    }
    found
}

/// Pages of either list.
fn union(a: &[PageRange], b: &[PageRange]) -> Vec<PageRange> {
    let mut all: Vec<PageRange> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut found = Vec::new();
    all.into_iter().for_each(|range| push(&mut found, range));
    found
}

/// Appends a range that begins at or behind the begin of the last one.
fn push(ranges: &mut Vec<PageRange>, range: PageRange) {
    match ranges.last_mut() {
        Some(last) if range.first_page <= last.end_page() => {
            last.pages = last.end_page().max(range.end_page()) - last.first_page;
        }
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MappedFile, Process, SwappedRange};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn file(inode: u64) -> Identity {
        Identity::File(MappedFile { device: 8, inode, path: format!("/usr/lib/{inode}") })
    }

    fn heap() -> Identity {
        Identity::Anonymous { name: "[heap]".to_owned(), nth: 0 }
    }

    /// Where a page is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum At {
        Nowhere,
        Private,
        File,
        Swapped,
    }

    fn in_state(first_page: u64, states: &[At], wanted: At) -> Vec<PageRange> {
        let mut found = Vec::new();
        for (page, _) in (first_page..).zip(states).filter(|(_, state)| **state == wanted) {
            push(&mut found, PageRange { first_page: page, pages: 1 });
        }
        found
    }

    /// A mapping at the page `at` of the address space, with these pages from `first_page` on.
    fn mapping(identity: Identity, at: u64, first_page: u64, states: &[At]) -> MappingPages {
        let of = |wanted| in_state(first_page, states, wanted);
        let range = PageRange { first_page, pages: states.len() as u64 };
        MappingPages {
            mapping: Mapping { identity, start: at * 4096, range, swappable: true },
            private: of(At::Private),
            file: of(At::File),
            swapped: of(At::Swapped).into_iter().map(|range| SwappedRange { range, area: 0, slot: 9 }).collect(),
        }
    }

    fn app(pid: u32, began_ticks: u64, mappings: Vec<MappingPages>) -> AppPages {
        let process = Process { pid, began_ticks, program: "x".to_owned(), nth: 0 };
        AppPages { page_bytes: 4096, processes: vec![ProcessPages { process, mappings }] }
    }

    fn range(first_page: u64, pages: u64) -> PageRange {
        PageRange { first_page, pages }
    }

    #[test]
    fn what_came_back_is_touched_and_the_rest_is_not() {
        use At::{File, Nowhere, Private, Swapped};
        let before = app(
            7,
            1,
            vec![
                mapping(file(3), 16, 100, &[Nowhere, File, Nowhere, Nowhere]),
                mapping(heap(), 40, 0, &[Swapped, Swapped, Private, Swapped]),
            ],
        );
        let after = app(
            7,
            1,
            vec![
                mapping(file(3), 16, 100, &[File, File, Nowhere, Private]),
                mapping(heap(), 40, 0, &[Swapped, Private, Private, Nowhere]),
            ],
        );
        let touched = before.touched_until(&after);
        let [library, heap] = &touched.processes[0].mappings[..] else { panic!("two mappings") };
        assert_eq!(library.file, Away { touched: vec![range(100, 1), range(103, 1)], untouched: vec![range(102, 1)] });
        // The last page was given up by the app.
        assert_eq!(heap.swapped, Away { touched: vec![range(1, 1)], untouched: vec![range(0, 1)] });
        assert_eq!((heap.file.clone(), touched.page_bytes), (Away::default(), 4096));
    }

    #[test]
    fn a_process_that_is_not_in_both_scans_has_no_difference() {
        let scan = |pid, began_ticks| app(pid, began_ticks, vec![mapping(heap(), 40, 0, &[At::Swapped])]);
        assert_eq!(scan(7, 1).touched_until(&scan(7, 2)).processes, []);
        assert_eq!(scan(7, 1).touched_until(&scan(8, 1)).processes, []);
        assert_eq!(scan(7, 1).touched_until(&scan(7, 1)).processes.len(), 1);
    }

    #[test]
    fn another_content_at_the_same_address_is_not_compared() {
        let (away, there) = ([At::Swapped, At::Nowhere], [At::Private, At::File]);
        let before = app(7, 1, vec![mapping(file(3), 16, 100, &away)]);
        for other in
            [mapping(file(4), 16, 100, &there), mapping(file(3), 16, 101, &there), mapping(heap(), 16, 0, &there)]
        {
            assert_eq!(before.touched_until(&app(7, 1, vec![other])).processes, []);
        }
        // The same content, of which the first page was cut off.
        let cut = before.touched_until(&app(7, 1, vec![mapping(file(3), 17, 101, &there[1..])]));
        assert_eq!(cut.processes[0].mappings[0].file.touched, [range(101, 1)]);
    }

    #[test]
    fn a_mapping_that_was_split_is_compared_in_its_parts() {
        let before = app(7, 1, vec![mapping(heap(), 40, 0, &[At::Swapped; 6])]);
        let after = app(
            7,
            1,
            vec![
                mapping(heap(), 40, 0, &[At::Private, At::Swapped]),
                mapping(heap(), 43, 0, &[At::Swapped, At::Private, At::Private]),
            ],
        );
        let touched = before.touched_until(&after);
        let parts: Vec<_> = touched.processes[0].mappings.iter().map(|part| part.swapped.clone()).collect();
        assert_eq!(parts[0], Away { touched: vec![range(0, 1)], untouched: vec![range(1, 1)] });
        assert_eq!(parts[1], Away { touched: vec![range(1, 2)], untouched: vec![range(0, 1)] });
    }

    /// Pages of a mapping of 60 at most: what it is, where it begins, and where its pages are.
    fn any_mappings() -> impl Strategy<Value = Vec<MappingPages>> {
        let state = prop::sample::select(vec![At::Nowhere, At::Private, At::File, At::Swapped]);
        let one = (0..4_u64, 0..3_u64, prop::collection::vec(state, 1..12));
        prop::collection::vec(one, 0..5).prop_map(|all| {
            let mut at = 10;
            all.into_iter()
                .map(|(gap, kind, mut states)| {
                    at += gap;
                    let made = if kind == 0 {
                        states.iter_mut().filter(|state| **state == At::File).for_each(|state| *state = At::Private);
                        mapping(heap(), at, 0, &states)
                    } else {
                        // The same file at the same place, or 3 pages further.
                        mapping(file(5), at, at + 3 * (kind - 1), &states)
                    };
                    at += states.len() as u64;
                    made
                })
                .collect()
        })
    }

    fn state_at(mappings: &[MappingPages], page: u64) -> Option<(At, &Identity, u64)> {
        let one = mappings.iter().find(|one| {
            let first = one.mapping.start / 4096;
            (first..first + one.mapping.range.pages).contains(&page)
        })?;
        let number = page - one.mapping.start / 4096 + one.mapping.range.first_page;
        let has =
            |ranges: &[PageRange]| ranges.iter().any(|range| (range.first_page..range.end_page()).contains(&number));
        let swapped: Vec<PageRange> = one.swapped.iter().map(|swapped| swapped.range).collect();
        let state = match () {
            () if has(&one.private) => At::Private,
            () if has(&one.file) => At::File,
            () if has(&swapped) => At::Swapped,
            () => At::Nowhere,
        };
        Some((state, &one.mapping.identity, number))
    }

    proptest! {
        #[test]
        fn the_difference_agrees_with_a_comparison_page_by_page(before in any_mappings(), after in any_mappings()) {
            let mut expected = [const { BTreeSet::new() }; 4];
            for page in 0..100 {
                let (Some((was, of, number)), Some((is, now, now_number))) =
                    (state_at(&before, page), state_at(&after, page))
                else {
                    continue;
                };
                let is_file = matches!(now, Identity::File(_));
                if is_file != matches!(of, Identity::File(_)) || (is_file && number != now_number) {
                    continue;
                }
                let place = match (was, is) {
                    (At::Swapped, At::Private | At::File) => 0,
                    (At::Swapped, At::Swapped) => 1,
                    (At::Nowhere, At::Private | At::File) if is_file => 2,
                    (At::Nowhere, At::Nowhere) if is_file => 3,
                    _ => continue,
                };
                expected[place].insert(page);
            }
            let found = app(7, 1, before).touched_until(&app(7, 1, after));
            let mut sets = [const { BTreeSet::new() }; 4];
            for one in found.processes.iter().flat_map(|process| &process.mappings) {
                let lists = [&one.swapped.touched, &one.swapped.untouched, &one.file.touched, &one.file.untouched];
                for (set, list) in sets.iter_mut().zip(lists) {
                    prop_assert!(list.windows(2).all(|pair| pair[0].end_page() < pair[1].first_page), "{list:?}");
                    set.extend(list.iter().flat_map(|range| range.first_page..range.end_page()).map(|number| {
                        number - one.mapping.range.first_page + one.mapping.start / 4096
                    }));
                }
            }
            prop_assert_eq!(sets, expected);
        }
    }
}
