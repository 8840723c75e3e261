//! Cures of slow storage: the run time of two apps under each solution (Revisiting storage, figures 13 to 15), with the
//! gains that the paper states.

mod columns;
mod page;
mod result;

pub use result::*;

use self::columns::*;
use crate::declare::*;

impl Kind for CuresReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let row = |row: &crate::results::CureRow| {
            Row::at(APP, row.workload.trim())
                .by(CARD, row.preset.trim())
                .by(SOLUTION, row.solution.trim())
                .put(RUN_TIME, row.run_s)
        };
        self.rows.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        let pages = |of: &crate::results::CureWorkload| format!("{} {}", of.name.trim(), of.pages);
        vec![("Pages", self.workloads.iter().map(pages).collect::<Vec<_>>().join(", "))]
    }
}
