//! Measures of cures: the run time of each app on each card under each solution.

use brisk_results::CuresReport;

use super::Measured;
use crate::rows::{Row, S};
use crate::section::Facts;

impl Measured for CuresReport {
    fn measured(&self) -> Vec<Row> {
        let row = |row: &brisk_results::CureRow| {
            Row::at("app", row.workload.trim())
                .by("card", row.preset.trim())
                .by("solution", row.solution.trim())
                .put("run time", S, row.run_s)
        };
        self.rows.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        let pages = |of: &brisk_results::CureWorkload| format!("{} {}", of.name.trim(), of.pages);
        vec![("Pages", self.workloads.iter().map(pages).collect::<Vec<_>>().join(", "))]
    }
}
