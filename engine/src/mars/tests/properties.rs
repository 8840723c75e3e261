//! Properties of whole decisions, for any machine.

use brisk_core::knob::GroupSetting;
use proptest::prelude::*;

use super::rules::{PAGES, nothing_of, pages_of, scanned, used};
use super::*;
use crate::mars::out::{Part, Parts, first_bytes};

/// Any runs of pages, ascending.
fn any_runs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0_u64..40, 1_u64..40), 0..30).prop_map(|gaps| {
        let mut at = 0;
        let place = |(gap, pages): (u64, u64)| {
            let first = at + gap;
            at = first + pages;
            (first, pages)
        };
        gaps.into_iter().map(place).collect()
    })
}

/// Each page of ranges of first page and number, in their order.
fn singles(ranges: &[(u64, u64)]) -> impl Iterator<Item = u64> {
    ranges.iter().flat_map(|(first, count)| *first..first + count)
}

proptest! {
    #[test]
    fn the_parts_of_an_app_are_disjoint_and_complete(
        private in any_runs(),
        touched in any_runs(),
        untouched in any_runs(),
        most in 0_u64..4_000_000,
    ) {
        let (mut live, mut known) = (Vec::new(), learned::AppMemory::default());
        live::note(&mut live, &returned(&process(1, 1), &heap(0x1000_0000, PAGES), &touched, &untouched), &mut known);
        let pages = app_pages(&process(1, 1), &heap(0x1000_0000, PAGES), &private, &[]);
        let parts = Parts::of(&pages, &live, known.repeat, 25.0);
        let of_part = |part| pages_of(parts.ranges(part));
        let mut all: Vec<_> = [Part::Cold, Part::Unknown, Part::Hot].into_iter().flat_map(of_part).collect();
        all.sort_unstable();
        prop_assert!(all.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0));
        let single = |ranges: &[(u64, u64)]| singles(ranges).collect::<BTreeSet<u64>>();
        prop_assert_eq!(single(&all), single(&private));
        let hot: BTreeSet<u64> = single(&pages_of(parts.ranges(Part::Hot)));
        prop_assert_eq!(hot, single(&touched).intersection(&single(&private)).copied().collect::<BTreeSet<_>>());
        let cold = single(&pages_of(parts.ranges(Part::Cold)));
        prop_assert!(cold.iter().all(|page| single(&untouched).contains(page)));
        let first = first_bytes(parts.ranges(Part::Unknown), most, PAGE);
        let bytes: u64 = first.iter().map(|range| range.size_bytes).sum();
        prop_assert!(bytes <= most && bytes.is_multiple_of(PAGE));
        prop_assert!(bytes == parts.bytes(Part::Unknown) || bytes + PAGE > most);
    }

    #[test]
    fn every_hot_page_in_swap_is_read_once_in_the_order_of_slots(
        touched in any_runs(),
        untouched in any_runs(),
        runs in any_runs(),
        turn in 0_u64..2_000,
    ) {
        let (mut live, mut known) = (Vec::new(), learned::AppMemory::default());
        live::note(&mut live, &returned(&process(1, 1), &heap(0x1000_0000, PAGES), &touched, &untouched), &mut known);
        // Slots in another order than addresses, without overlap.
        let slot = |page: u64| (page * 7_919 + turn) % 100_003 * 64;
        let swapped: Vec<(u64, u64, u64)> = runs.iter().map(|&(first, pages)| (first, pages, slot(first))).collect();
        let pages = app_pages(&process(1, 1), &heap(0x1000_0000, PAGES), &[], &swapped);
        let plan = back::plan(&Config::default(), &pages, &live, &known, false);
        let single = |ranges: &[(u64, u64)]| singles(ranges).collect::<Vec<u64>>();
        let read = single(&pages_of(&plan.swapped));
        let unique: BTreeSet<u64> = read.iter().copied().collect();
        prop_assert_eq!(unique.len(), read.len());
        let there: BTreeSet<u64> = single(&runs).into_iter().collect();
        let hot: BTreeSet<u64> = single(&touched).into_iter().filter(|page| there.contains(page)).collect();
        prop_assert!(hot.is_subset(&unique) && unique.is_subset(&there));
        prop_assert_eq!(plan.lost_bytes, hot.len() as u64 * PAGE);
        let slot_of = |page: u64| {
            let run = swapped.iter().find(|run| (run.0..run.0 + run.1).contains(&page)).expect("in swap");
            run.2 + (page - run.0)
        };
        prop_assert!(read.windows(2).all(|two| slot_of(two[0]) < slot_of(two[1])));
        // ranges_are_at_most_a_chunk
        prop_assert!(plan.swapped.iter().all(|range| range.size_bytes > 0 && range.size_bytes <= MIB));
    }

    #[test]
    fn nothing_is_taken_from_a_protected_app(
        which in 0..7_usize,
        available_mib in 0_u64..40,
        stall_percent in 0_u64..100,
        mode in prop::sample::select(&[Mode::Adaptive, Mode::Paper][..]),
    ) {
        let mut machine = used(Config { mode, ..Config::default() });
        machine.stall_percent = stall_percent;
        machine.state.learned.known_mut("a").expect("known").lost = Some(1.0);
        let protect: fn(&mut App) = [
            |app: &mut App| app.launching = true,
            |app: &mut App| app.activity.focused = Some(true),
            |app: &mut App| app.activity.audible = Some(true),
            |app: &mut App| app.activity.audible = None,
            |app: &mut App| app.activity.inhibits = Some(true),
            |app: &mut App| app.activity.role = Role::Service,
            |app: &mut App| app.tolerance = brisk_core::app::Tolerance::System,
        ][which];
        protect(machine.app("a"));
        machine.app("a").offers = GroupSetting::ALL.into();
        for _ in 0..12 {
            let decision = machine.step(available_mib, &[scanned(&[(0, PAGES)], &[]), nothing_of("b")]);
            prop_assert!(once(&decision).all(|once| once.group() != "app-a.scope" || once.favours_the_app()));
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_decision(
        steps in prop::collection::vec((0_u64..200, 0..9_usize, 1_u64..90_000), 1..40),
    ) {
        // The machine asserts it in each step; here no order of events panics, and the state survives its record.
        let mut machine = used(Config::default());
        let mut last = Vec::new();
        for (available_mib, kind, ms) in steps {
            let group = "app-a.scope".to_owned();
            let event = match kind {
                0 => focused("a"),
                1 => focused("b"),
                2 => EventKind::LaunchBegan { group },
                3 => EventKind::LaunchEnded { group },
                4 => EventKind::UserIdle { idle: true },
                5 => EventKind::Screen { on: false },
                6 => {
                    let heap = heap(0x2000_0000, 50);
                    EventKind::Returned { group, touched: returned(&process(2, 1), &heap, &[(1, 3)], &[(9, 30)]) }
                }
                7 => scanned(&[(0, 9_000)], &[(9_000, 3_000, 77)]),
                _ => EventKind::Configured,
            };
            last.push(event);
            let decision = machine.after(ms, available_mib, &last);
            last = performed(&decision, if kind % 3 == 0 { &Outcome::Dropped } else { &Outcome::Done });
        }
        let text = serde_json::to_string(&machine.state).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<State>(&text).expect("the same"), machine.state);
    }
}
