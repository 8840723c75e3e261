//! Measures of the memory study.

use brisk_core::units::format_bytes;
use brisk_results::{FreeSample, GrowthRun, MemoryStudyReport};

use super::Measured;
use super::apps::phone;
use crate::rows::{BYTES, MS, PERCENT, Row, size};
use crate::section::Facts;
use crate::{chart, format};

impl Measured for MemoryStudyReport {
    fn measured(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(free) = &self.free {
            let until = |at_s: f64| free.samples.iter().rev().find(move |sample| sample.at_s <= at_s);
            let first = free.steps.first().and_then(|step| until(step.at_s)).or(free.samples.first());
            let returns = free.steps.iter().find(|step| step.round > 1);
            let launched = returns.map_or(free.samples.last(), |step| until(step.at_s));
            let of = |moment: &str, sample: Option<&FreeSample>| {
                let bytes = sample.map(|sample| sample.available_bytes as f64);
                Row::at("moment", moment).put("memory available", BYTES, bytes)
            };
            rows.extend([of("before", first), of("all launched", launched)]);
            rows.extend(returns.map(|_| of("all visited again", free.samples.last())));
        }
        rows.extend(self.growth.iter().map(|growth| {
            let most = growth.runs.iter().filter_map(GrowthRun::heap_bytes_max).map(|bytes| bytes as f64);
            Row::at("app", growth.app.trim()).put("most heap", BYTES, chart::runs(most))
        }));
        rows.extend(self.limits.iter().flat_map(|limits| &limits.cells).map(|cell| {
            let percent = f64::from(cell.started) / f64::from(cell.tries()) * 100.0;
            let row = Row::at("app", cell.app.trim()).by("limit", size(cell.limit_bytes));
            row.put("starts", PERCENT, Some(percent).filter(|percent| percent.is_finite()))
        }));
        rows.extend(self.sets.iter().map(|sets| {
            Row::at("app", sets.app.trim())
                .put("resident, by share", BYTES, sets.proportional_bytes)
                .put("used in a second", BYTES, sets.working_bytes)
                .put("heap touched by a return", BYTES, sets.swapped_touched_bytes)
                .put("files touched by a return", BYTES, sets.file_touched_bytes)
                .put("time of a return", MS, sets.return_ms)
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
        phone(&self.phone)
    }
}
