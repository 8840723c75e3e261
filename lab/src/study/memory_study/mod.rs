//! The memory study (dissertation 5.2 with figures 5.1, 5.2, 5.5 and table 5.1; MARS figure 14): what apps take of a
//! phone's memory, and with how little they start.

pub(crate) mod arguments;
mod columns;
mod free;
mod growth;
mod limits;
mod page;
pub(crate) mod result;
mod run;
mod sets;

pub(crate) use run::*;

use brisk_core::units::format_bytes;

use self::columns::*;
use self::result::*;
use crate::study::shown::launches;
use brisk_report::declare::*;
use brisk_report::format;

impl Kind for MemoryStudyReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(free) = &self.free {
            let until = |at_s: f64| free.samples.iter().rev().find(move |sample| sample.at_s <= at_s);
            let first = free.steps.first().and_then(|step| until(step.at_s)).or(free.samples.first());
            let returns = free.steps.iter().find(|step| step.round > 1);
            let launched = returns.map_or(free.samples.last(), |step| until(step.at_s));
            let of = |moment: &str, sample: Option<&FreeSample>| {
                let bytes = sample.map(|sample| sample.available_bytes as f64);
                Row::at(MOMENT, moment).put(MEMORY_AVAILABLE, bytes)
            };
            rows.extend([of("before", first), of("all launched", launched)]);
            rows.extend(returns.map(|_| of("all visited again", free.samples.last())));
        }
        rows.extend(self.growth.iter().map(|growth| {
            let most = growth.runs.iter().filter_map(GrowthRun::heap_bytes_max).map(|bytes| bytes as f64);
            Row::at(APP, growth.app.trim()).put(MOST_HEAP, runs(most))
        }));
        rows.extend(self.limits.iter().flat_map(|limits| &limits.cells).map(|cell| {
            let percent = f64::from(cell.started) / f64::from(cell.tries()) * 100.0;
            let row = Row::at(APP, cell.app.trim()).by(LIMIT, size(cell.limit_bytes));
            row.put(STARTS, Some(percent).filter(|percent| percent.is_finite()))
        }));
        rows.extend(self.sets.iter().map(|sets| {
            Row::at(APP, sets.app.trim())
                .put(RESIDENT_BY_SHARE, sets.proportional_bytes)
                .put(USED_IN_A_SECOND, sets.working_bytes)
                .put(HEAP_TOUCHED_BY_A_RETURN, sets.swapped_touched_bytes)
                .put(FILES_TOUCHED_BY_A_RETURN, sets.file_touched_bytes)
                .put(TIME_OF_A_RETURN, sets.return_ms)
        }));
        rows
    }

    fn mode(&self) -> Facts {
        let mut mode = vec![("Memory", format_bytes(self.limit_bytes)), ("Apps", self.apps.join(", "))];
        mode.extend(self.free.as_ref().map(|free| ("Time in front", format::seconds(free.dwell_s))));
        mode.extend(self.limits.as_ref().map(|limits| ("Timeout of a start", format::seconds(limits.timeout_s))));
        mode
    }

    fn setting(&self) -> Facts {
        launches::phone(&self.phone)
    }
}
