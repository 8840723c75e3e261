//! Cures of slow storage: the run time of two apps under each solution (Revisiting storage, figures 13 to 15), with the
//! gains that the paper states.

pub(crate) mod arguments;
mod columns;
mod page;
pub(crate) mod result;
mod run;

pub(crate) use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;

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
