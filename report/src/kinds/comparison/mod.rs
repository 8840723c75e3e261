//! Conditions compared: what regressed, what improved, and what cannot be told apart.

mod columns;
pub(crate) mod page;
mod result;

pub use result::*;

use crate::declare::*;

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
