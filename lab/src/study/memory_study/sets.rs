//! What is in memory, what of it is used, and what a return needs (MARS figure 14).

use crate::results::{AppSets, MemoryStudyReport};
use brisk_core::stats::median;

use super::columns::*;
use super::page::{MIB, mib};
use brisk_report::declare::*;
use brisk_report::format;

const TITLE: &str = "Resident, working and touched sets";

pub(super) fn verdict(report: &MemoryStudyReport) -> Option<String> {
    let over = |of: fn(&AppSets) -> f64| median(&report.sets.iter().map(of).collect::<Vec<_>>());
    let (resident, working) = (over(|app| app.proportional_bytes.median)?, over(|app| app.working_bytes.median)?);
    let touched = over(AppSets::touched_bytes)?;
    let (holder, apps) = match &report.sets[..] {
        [one] => (one.app.clone(), String::new()),
        many => ("An app".to_owned(), format!(" (medians of {})", format::plural(many.len() as u64, "app"))),
    };
    Some(format!(
        "{holder} holds {} of memory; coming back to it uses {} in the first second, and brings back {} from flash \
         when all of it was evicted{apps}.",
        format::bytes(resident),
        format::bytes(working),
        format::bytes(touched),
    ))
}

pub(super) fn figure(report: &MemoryStudyReport) -> Option<Figure> {
    if report.sets.is_empty() {
        return None;
    }
    let rows: Vec<Row> = report
        .sets
        .iter()
        .map(|sets| {
            Row::at(APP, sets.app.clone())
                .look(Look::PLAIN)
                .put(RESIDENT, sets.resident_bytes)
                .put(BY_SHARE, sets.proportional_bytes)
                .put(WORKING_SET, sets.working_bytes)
                .put(IN_SWAP_BEFORE, sets.swapped_bytes)
                .put(HEAP_TOUCHED, sets.swapped_touched_bytes)
                .put(FILES_TOUCHED, sets.file_touched_bytes)
                .put(OF_HEAP, sets.swapped_touched_bytes.median / sets.swapped_bytes.median * 100.0)
                .put(TIME_OF_A_RETURN, sets.return_ms)
                .put_in(RESIDENT_BY_SHARE, MIB, mib(sets.proportional_bytes.median))
                .put_in(USED_IN_A_SECOND, MIB, mib(sets.working_bytes.median))
                .put(TOUCHED_BY_A_RETURN, mib(sets.touched_bytes()))
        })
        .collect();
    let caption = "Resident: in memory when settled, where a page that several processes map counts by its share. Used \
                   in a second: accessed in the first second after the app came to the front with all of it in memory; \
                   pages that others map count in full. Touched by a return: what came back from swap, and files that \
                   it mapped again (of which the kernel maps neighbours that are in memory), after all of it was \
                   evicted. After figure 14 of MARS.";
    let measures =
        [(RESIDENT_BY_SHARE, Fill::Hollow), (USED_IN_A_SECOND, Fill::Half), (TOUCHED_BY_A_RETURN, Fill::Full)];
    let axis = Axis::new("memory, MiB", Law::Linear, format::tick);
    let chart = bars(TITLE, axis, &rows, [APP.into(), Column::Absent], &measures, |_, mib| format::number(mib));
    Some(
        Figure::new(TITLE, caption)
            .key(Tone::Plain, Glyph::Bar(Fill::Hollow), "resident, by share")
            .key(Tone::Plain, Glyph::Bar(Fill::Half), "used in a second")
            .key(Tone::Plain, Glyph::Bar(Fill::Full), "touched by a return from swap")
            .chart("By app", chart)
            .table(
                Table::of("Sets by app", &rows, columns![APP, RESIDENT, BY_SHARE, WORKING_SET])
                    .dispensable(columns![BY_SHARE]),
            )
            .table(Table::of(
                "Return after eviction",
                &rows,
                columns![APP, IN_SWAP_BEFORE, HEAP_TOUCHED, OF_HEAP, FILES_TOUCHED, TIME_OF_A_RETURN],
            )),
    )
}
