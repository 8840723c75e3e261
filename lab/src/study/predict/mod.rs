//! Prediction of the next app: hits of each predictor by the number of predicted apps, by user, calibration and cost.

pub(crate) mod arguments;
mod columns;
mod page;
pub(crate) mod result;
mod run;

pub(crate) use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;

impl Kind for PredictionReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let nine = self.predicted_apps.iter().position(|apps| *apps == PROTECTED_APPS);
        let mut rows = Vec::new();
        for result in &self.results {
            let at = || Row::at(PREDICTOR, result.predictor.trim()).by(WAY, result.way.name());
            rows.extend(result.users.iter().map(|user| {
                let percent = nine.and_then(|nine| user.percent(nine));
                at().by(USER, user.user.trim()).put(LAUNCHES_PREDICTED_BY_NINE_APPS, percent)
            }));
            if let Some(cost) = &result.cost {
                let next = result.calibration.first().map(|next| next.error_percent);
                rows.push(at().by(USER, "all").put(CALIBRATION_ERROR, next).put(TIME_OF_AN_UPDATE, cost.update_us_p50));
            }
        }
        rows
    }

    fn mode(&self) -> Facts {
        let trace = &self.trace;
        let context = trace.context.as_deref().unwrap_or("none");
        vec![
            ("Trace", format!("{}, context: {context}", trace.name)),
            ("Joined rows", trace.joined_rows.to_string()),
            ("Users with a time zone", trace.users_with_offset.to_string()),
        ]
    }
}

/// See the module.
const PROTECTED_APPS: u32 = 9;
