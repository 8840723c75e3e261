//! Machines for all tests of this crate, and the properties of whole decisions.

use brisk_core::action::{AddressRange, Once};
use brisk_core::app::{App, Role};
use brisk_core::event::EventKind;
use brisk_core::outcome::Outcome;
use brisk_core::pages::{
    Away, Identity, Mapping, MappingPages, MappingTouched, PageRange, Process, ProcessPages, ProcessTouched,
    SwappedRange, Touched,
};

use super::*;

mod ladder;
mod phone;
mod properties;
mod rules;
mod whole;

pub(crate) use crate::kit::world::{MIB, actions, app, focused, memory, once, performed};

pub(crate) const PAGE: u64 = 4096;

pub(crate) type Machine = crate::kit::world::Machine<Mars>;

/// A process of the program x.
pub(crate) fn process(pid: u32, began_ticks: u64) -> Process {
    Process { pid, began_ticks, program: "x".to_owned(), nth: 0 }
}

pub(crate) fn heap(start: u64, pages: u64) -> Mapping {
    let identity = Identity::Anonymous { name: "[heap]".to_owned(), nth: 0 };
    Mapping { identity, start, range: PageRange { first_page: 0, pages }, swappable: true }
}

fn ranges(pairs: &[(u64, u64)]) -> Vec<PageRange> {
    pairs.iter().map(|pair| PageRange::from(*pair)).collect()
}

/// A scan of one process with one mapping: pages in memory, and in swap (page, pages, slot).
pub(crate) fn app_pages(
    process: &Process,
    mapping: &Mapping,
    private: &[(u64, u64)],
    swapped: &[(u64, u64, u64)],
) -> AppPages {
    let swapped = swapped.iter().map(|&(first_page, pages, slot)| SwappedRange {
        range: PageRange { first_page, pages },
        area: 0,
        slot,
    });
    let of = MappingPages {
        mapping: mapping.clone(),
        private: ranges(private),
        file: Vec::new(),
        swapped: swapped.collect(),
    };
    AppPages { page_bytes: PAGE, processes: vec![ProcessPages { process: process.clone(), mappings: vec![of] }] }
}

/// What a return touched in one mapping of one process.
pub(crate) fn returned(
    process: &Process,
    mapping: &Mapping,
    touched: &[(u64, u64)],
    untouched: &[(u64, u64)],
) -> Touched {
    let swapped = Away { touched: ranges(touched), untouched: ranges(untouched) };
    let of = MappingTouched { mapping: mapping.clone(), swapped, file: Away::default() };
    let processes = vec![ProcessTouched { process: process.clone(), mappings: vec![of] }];
    Touched { page_bytes: PAGE, processes, read_bytes: None }
}
