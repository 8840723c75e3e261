//! What is in memory, what of it is used, and what a return needs (MARS figure 14).

use brisk_core::stats::median;
use brisk_results::{AppSets, MemoryStudyReport};

use super::{MIB, mib};
use crate::declare::*;
use crate::format;

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
        "{holder} holds {} of memory; coming back to it uses {} in the first second, and brings back {} from flash when all of it \
         was evicted{apps}.",
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
            Row::at("app", sets.app.clone())
                .look(Look::PLAIN)
                .put("resident", BYTES, sets.resident_bytes)
                .put("by share", BYTES, sets.proportional_bytes)
                .put("working set", BYTES, sets.working_bytes)
                .put("in swap before", BYTES, sets.swapped_bytes)
                .put("heap touched", BYTES, sets.swapped_touched_bytes)
                .put("files touched", BYTES, sets.file_touched_bytes)
                .put("of heap", SHARE, sets.swapped_touched_bytes.median / sets.swapped_bytes.median * 100.0)
                .put("time of a return", MS, sets.return_ms)
                .put("resident, by share", MIB, mib(sets.proportional_bytes.median))
                .put("used in a second", MIB, mib(sets.working_bytes.median))
                .put("touched by a return", MIB, mib(sets.touched_bytes()))
        })
        .collect();
    let caption = "Resident: in memory when settled, where a page that several processes map counts by its share. Used in a second: \
                   accessed in the first second after the app came to the front with all of it in memory; pages that others map \
                   count in full. Touched by a return: what came back from swap, and files that it mapped again (of which the kernel \
                   maps neighbours that are in memory), after all of it was evicted. After figure 14 of MARS.";
    let measures =
        [("resident, by share", Fill::Hollow), ("used in a second", Fill::Half), ("touched by a return", Fill::Full)];
    let axis = Axis::new("memory, MiB", Law::Linear, format::tick);
    let chart = bars(TITLE, axis, &rows, ["app", ""], &measures, |_, mib| format::number(mib));
    Some(
        Figure::new(TITLE, caption)
            .key(Tone::Plain, Glyph::Bar(Fill::Hollow), "resident, by share")
            .key(Tone::Plain, Glyph::Bar(Fill::Half), "used in a second")
            .key(Tone::Plain, Glyph::Bar(Fill::Full), "touched by a return from swap")
            .chart("By app", chart)
            .table(Table::of("Sets by app", &rows, "app | resident | by share | working set").dispensable("by share"))
            .table(Table::of(
                "Return after eviction",
                &rows,
                "app | in swap before | heap touched | of heap | files touched | time of a return",
            )),
    )
}
