//! The app suite: many apps on an emulated phone, cold and warm, with and without a load in the background.

mod columns;
mod page;
mod result;

pub use result::*;

use crate::declare::*;
use crate::launches;

impl Kind for SuiteReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        launches::suite(&self.apps).chain(launches::writers(&self.conditions)).collect()
    }

    fn mode(&self) -> Facts {
        vec![launches::background_load(&self.conditions)]
    }

    fn setting(&self) -> Facts {
        launches::phone(&self.phone)
    }
}
