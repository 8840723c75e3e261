//! Measures of prediction: nine apps, as many as are protected, by user; calibration and time of each predictor.

use brisk_results::PredictionReport;

use super::Measured;
use crate::rows::{PERCENT, Row, US};
use crate::section::Facts;

/// See the module.
const PROTECTED_APPS: u32 = 9;

impl Measured for PredictionReport {
    fn measured(&self) -> Vec<Row> {
        let nine = self.predicted_apps.iter().position(|apps| *apps == PROTECTED_APPS);
        let mut rows = Vec::new();
        for result in &self.results {
            let at = || Row::at("predictor", result.predictor.trim()).by("way", result.way.name());
            rows.extend(result.users.iter().map(|user| {
                let percent = nine.and_then(|nine| user.percent(nine));
                at().by("user", user.user.trim()).put("launches predicted by nine apps", PERCENT, percent)
            }));
            if let Some(cost) = &result.cost {
                let next = result.calibration.first().map(|next| next.error_percent);
                rows.push(at().by("user", "all").put("calibration error", PERCENT, next).put(
                    "time of an update",
                    US,
                    cost.update_us_p50,
                ));
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
