//! Conditions compared: what regressed, what improved, and what cannot be told apart.

mod columns;
pub(crate) mod page;
pub(crate) mod result;

use crate::declare::*;

use self::result::ComparisonReport;

impl Kind for ComparisonReport {
    fn section(&self) -> Section {
        page::section(self, false)
    }

    fn rows(&self) -> Vec<Row> {
        Vec::new()
    }

    fn mode(&self) -> Facts {
        Vec::new()
    }
}
