//! Predicted memory needs and thresholds (dissertation 5.4 with table 5.2).

pub(crate) mod arguments;
mod columns;
mod page;
pub(crate) mod result;
mod run;

pub(crate) use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;
use brisk_report::format;

impl Kind for HeapStudyReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for app in &self.apps {
            let name = app.app.trim();
            rows.extend(app.thresholds.iter().map(|one| {
                Row::at(APP, name)
                    .by(RULE, one.rule.clone())
                    .put(TIME_COVERED, one.covered_percent)
                    .put(HEAD_ROOM, Some(one.head_room_percent_of_sum).filter(|percent| *percent > 0.0))
            }));
            rows.extend(least(app).map(|error| Row::at(APP, name).put(ERROR_OF_PREDICTIONS, error)));
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
