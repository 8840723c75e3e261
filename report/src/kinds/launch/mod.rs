//! A launch: when the app is on the screen, when the screen is final and the work done, and what the time went to.

mod columns;
mod page;
mod reads;
mod result;
mod verdict;

pub use result::*;

use crate::declare::*;
use crate::{format, launches};

impl Kind for LaunchReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        self.sets
            .iter()
            .map(|set| launches::costs(launches::launches(&self.app, set, &self.sets, &launches::STAGES), set))
            .collect()
    }

    fn mode(&self) -> Facts {
        vec![("Command", format::shorten(&self.command.join(" "), 120)), launches::screen(&self.screen)]
    }

    fn setting(&self) -> Facts {
        self.phone.as_ref().map(launches::phone).unwrap_or_default()
    }
}
