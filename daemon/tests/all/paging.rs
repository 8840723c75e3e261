//! Memory of a real app on its way to swap and back: what act does, sense sees. With a swap area of its own; needs
//! root.

use crate::swapped;
use brisk_act::{Actuator, Paths};
use brisk_core::action::{AddressRange, Once};
use brisk_core::outcome::Outcome;
use brisk_core::pages::{AppPages, MappingPages, PageRange};
use brisk_requires::requires;
use brisk_sense::Sense;
use swapped::{App, Kind, PAGE, PAGES, perform, swap};

#[test]
#[ignore = "is run by another test"]
fn app_that_uses_its_pages() {
    swapped::be_the_app();
}

fn mapping(scan: &AppPages, address: u64) -> &MappingPages {
    let has = |one: &&MappingPages| {
        (one.mapping.start..one.mapping.start + one.mapping.range.pages * scan.page_bytes).contains(&address)
    };
    scan.processes[0].mappings.iter().find(has).expect("mapped")
}

fn pages(ranges: impl Iterator<Item = PageRange>) -> Vec<u64> {
    ranges.flat_map(|range| range.first_page..range.end_page()).collect()
}

#[test]
fn a_return_touches_what_the_app_used_and_not_what_was_read_ahead() {
    requires!(Mount, Loop, Swap, Nice, SwapFile, Program("mkfs.ext4"), Program("mkswap"), Program("setsid"));
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let Some(swap) = swap(dir.path()) else { return };
    let mut actuator = Actuator::new(&Paths::with_run_dir(dir.path().join("run")), "briskd", false).expect("a journal");
    actuator.start_worker("briskd").expect("threads");
    let (mut app, address) = App::start(None, Kind::Plain);
    let (pid, group) = (app.pid(), format!("session-{}", app.pid()));
    let range = |first_page: u64, pages: u64| AddressRange {
        pid,
        start: address + first_page * PAGE as u64,
        size_bytes: pages * PAGE as u64,
    };
    let scan = || Sense::default().app_pages(&[pid]).expect("readable");

    let out = Once::PageOut { group: group.clone(), ranges: vec![range(0, PAGES)] };
    assert_eq!(perform(&mut actuator, &out), Outcome::Done);
    let before = scan();
    let of_it = mapping(&before, address);
    // A neighbouring mapping may have been joined with it.
    let first = (address - of_it.mapping.start) / PAGE as u64 + of_it.mapping.range.first_page;
    let own = |all: Vec<u64>| -> Vec<u64> {
        all.into_iter().filter(|page| (first..first + PAGES).contains(page)).map(|page| page - first).collect()
    };
    let swapped = own(pages(of_it.swapped.iter().map(|swapped| swapped.range)));
    assert!(swapped.len() as u64 > PAGES * 9 / 10, "{} of {PAGES} pages are in swap", swapped.len());
    assert!(of_it.mapping.swappable && of_it.swapped.iter().all(|swapped| swapped.slot > 0));

    // Read ahead only: still in swap by the page tables.
    let back = Once::PageIn { group: group.clone(), ranges: vec![range(100, 100)] };
    assert_eq!(perform(&mut actuator, &back), Outcome::Done);
    let ahead = before.touched_until(&scan());
    assert!(
        ahead
            .processes
            .iter()
            .flat_map(|one| &one.mappings)
            .all(|one| one.mapping.start != of_it.mapping.start || one.swapped.touched.is_empty())
    );
    app.use_pages(100, 150);
    let after = scan();
    let touched = before.touched_until(&after);
    let found = touched.processes[0].mappings.iter().find(|one| one.mapping.start == of_it.mapping.start);
    let found = found.expect("it was in swap");
    let expected: Vec<u64> = swapped.iter().copied().filter(|page| (100..150).contains(page)).collect();
    assert_eq!(own(pages(found.swapped.touched.iter().copied())), expected);
    let untouched: Vec<u64> = swapped.iter().copied().filter(|page| !(100..150).contains(page)).collect();
    assert_eq!(own(pages(found.swapped.untouched.iter().copied())), untouched);

    // All content is as it was.
    let map_in = Once::MapIn { group, ranges: vec![range(0, PAGES)] };
    assert_eq!(perform(&mut actuator, &map_in), Outcome::Done);
    assert_eq!(own(pages(mapping(&scan(), address).swapped.iter().map(|swapped| swapped.range))), Vec::<u64>::new());
    app.use_pages(0, PAGES);
    drop((app, actuator, swap));
}
