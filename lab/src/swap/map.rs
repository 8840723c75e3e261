//! The map of a trace: which slots were written and read at which time, and for which app (as MARS figure 8, with
//! apps).
//!
//! Time and slots are divided into a number of columns and rows, so that the map of a long trace is not larger than
//! that of a short one. A cell has the app with the most pages in it, and how many pages all apps have.

use std::collections::{BTreeMap, BTreeSet};

use crate::swap::trace::{Action, Trace};

/// A cell in which something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// From the begin of the trace.
    pub column: u32,
    /// From slot 0.
    pub row: u32,
    /// Written; else read.
    pub is_out: bool,
    /// Index of the app with the most pages.
    pub app: u16,
    pub app_pages: u64,
    pub pages: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppPages {
    pub in_pages: u64,
    pub used_pages: u64,
    pub out_pages: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Map {
    pub column_us: u64,
    pub row_slots: u64,
    /// Pages of each app, as in [`Trace::apps`].
    pub apps: Vec<AppPages>,
    /// Cells in which something happened: written before read, by column and row.
    pub cells: Vec<Cell>,
}

/// The map of a trace, in at most so many columns and rows. Rows end at the highest slot that was used.
#[must_use]
pub fn map(trace: &Trace, columns: u32, rows: u32) -> Map {
    let last_us = trace.events.last().map_or(0, |event| event.at_us);
    let last_slot = trace.events.iter().filter_map(|event| event.slot).max().unwrap_or(0);
    let column_us = (last_us + 1).div_ceil(u64::from(columns.max(1)));
    let row_slots = (u64::from(last_slot) + 1).div_ceil(u64::from(rows.max(1)));
    let mut ahead: BTreeSet<u32> = BTreeSet::new();
    let mut apps = vec![AppPages::default(); trace.apps.len()];
    let mut found: BTreeMap<(bool, u32, u32), BTreeMap<u16, u64>> = BTreeMap::new();
    for event in &trace.events {
        let Some(slot) = event.slot else { continue };
        // A use of what was read ahead reads nothing.
        let was_ahead = if event.action == Action::Ahead { !ahead.insert(slot) } else { ahead.remove(&slot) };
        let app = apps.get_mut(usize::from(event.app));
        let mut counted = AppPages::default();
        let app = app.unwrap_or(&mut counted);
        app.used_pages += u64::from(event.action == Action::In);
        let is_out = match event.action {
            Action::Out => true,
            Action::Ahead => false,
            Action::In if !was_ahead => false,
            _ => continue,
        };
        if is_out {
            app.out_pages += 1
        } else {
            app.in_pages += 1
        }
        let (column, row) = (event.at_us / column_us, u64::from(slot) / row_slots);
        *found.entry((!is_out, column as u32, row as u32)).or_default().entry(event.app).or_default() += 1;
    }
    let cell = |((is_read, column, row), apps): ((bool, u32, u32), BTreeMap<u16, u64>)| {
        // Of equal ones the first.
        let most = apps.iter().max_by_key(|(app, pages)| (**pages, std::cmp::Reverse(**app)));
        let (&app, &app_pages) = most?;
        Some(Cell { column, row, is_out: !is_read, app, app_pages, pages: apps.values().sum() })
    };
    Map { column_us, row_slots, apps, cells: found.into_iter().filter_map(cell).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swap::layout::layout;
    use proptest::prelude::*;

    #[test]
    fn a_cell_has_the_app_with_the_most_pages() {
        let text = "#brisk-swap-trace 1 area_slots=600\ntime_us,action,app,page,slot\n\
                    0,held,a,9,0\n0,out,a,0,0\n0,out,b,0,1\n10,out,b,1,2\n99,out,a,1,39\n50,in,a,0,0\n";
        let sorted = text.replace("99,out,a,1,39\n50,in,a,0,0\n", "50,in,a,0,0\n99,out,a,1,39\n");
        let map = map(&Trace::parse(&sorted).expect("a trace"), 10, 4);
        assert_eq!((map.column_us, map.row_slots), (10, 10));
        let cells: Vec<_> = map
            .cells
            .iter()
            .map(|cell| (cell.column, cell.row, cell.is_out, cell.app, cell.app_pages, cell.pages))
            .collect();
        assert_eq!(
            cells,
            [(0, 0, true, 0, 1, 2), (1, 0, true, 1, 1, 1), (9, 3, true, 0, 1, 1), (5, 0, false, 0, 1, 1)]
        );
    }

    #[test]
    fn an_empty_trace_has_an_empty_map() {
        assert_eq!(map(&Trace::default(), 10, 10).cells, []);
    }

    proptest! {
        #[test]
        fn a_map_is_bounded_and_has_every_page_of_the_layout(
            events in proptest::collection::vec((0_u64..5000, 0_usize..4, 0_u16..3, 0_u32..900), 0..200),
            columns in 1_u32..50,
            rows in 1_u32..50,
        ) {
            let mut at_us = 0;
            let actions = [Action::Out, Action::In, Action::Ahead, Action::Free];
            let events = events.into_iter().map(|(after_us, action, app, slot)| {
                at_us += after_us;
                crate::swap::Event { at_us, action: actions[action], app, page: u64::from(slot), slot: Some(slot) }
            });
            let trace = Trace { area_slots: 900, apps: ["a", "b", "c"].map(str::to_owned).to_vec(),
                events: events.collect() };
            let map = map(&trace, columns, rows);
            prop_assert!(map.cells.iter().all(|cell| cell.column < columns && cell.row < rows));
            prop_assert!(map.cells.iter().all(|cell| cell.app_pages <= cell.pages));
            let of = |is_out| map.cells.iter().filter(move |cell| cell.is_out == is_out);
            let pages = |is_out| of(is_out).map(|cell| cell.pages).sum::<u64>();
            let layout = layout(&trace, 1000);
            prop_assert_eq!((pages(true), pages(false)), (layout.out_pages, layout.in_pages));
            let sum = |of: fn(&AppPages) -> u64| map.apps.iter().map(of).sum::<u64>();
            let apps = (sum(|app| app.out_pages), sum(|app| app.in_pages), sum(|app| app.used_pages));
            prop_assert_eq!(apps, (layout.out_pages, layout.in_pages, layout.used_pages));
        }
    }
}
