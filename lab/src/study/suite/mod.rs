//! The app suite: many apps on an emulated phone, cold and warm, with and without a load in the background.

pub(crate) mod arguments;
pub(crate) mod bed;
mod columns;
pub(crate) mod cures;
pub(crate) mod day;
mod engine;
mod page;
pub(crate) mod relaunch;
pub(crate) mod result;
mod run;
pub(crate) mod whatif;

pub(crate) use run::*;

use self::result::*;
use crate::study::shown::launches;
use brisk_report::declare::*;

impl Kind for SuiteReport {
    const RANK: Rank = Rank::App;

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
