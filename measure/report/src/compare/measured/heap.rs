//! Measures of the heap study.

use brisk_results::{HeapApp, HeapOrder, HeapStudyReport};

use super::Measured;
use crate::format;
use crate::rows::{BYTES, PERCENT, Row};
use crate::section::Facts;

impl Measured for HeapStudyReport {
    fn measured(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for app in &self.apps {
            let name = app.app.trim();
            rows.extend(app.thresholds.iter().map(|one| {
                Row::at("app", name).by("rule", one.rule.clone()).put("time covered", PERCENT, one.covered_percent).put(
                    "head-room",
                    PERCENT,
                    Some(one.head_room_percent_of_sum).filter(|percent| *percent > 0.0),
                )
            }));
            rows.extend(least(app).map(|error| Row::at("app", name).put("error of predictions", BYTES, error)));
        }
        rows
    }

    fn mode(&self) -> Facts {
        vec![("Table", self.table.name.clone()), ("Interval", format::seconds(self.table.interval_s))]
    }
}

/// The least error of all orders.
fn least(app: &HeapApp) -> Option<f64> {
    let errors = app.orders.iter().filter_map(|order: &HeapOrder| order.rmse_bytes);
    errors.filter(|error| *error > 0.0).min_by(f64::total_cmp)
}
