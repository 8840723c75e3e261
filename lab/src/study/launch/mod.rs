//! A launch: when the app is on the screen, when the screen is final and the work done, and what the time went to.

pub(crate) mod arguments;
mod columns;
mod page;
mod reads;
pub(crate) mod result;
mod run;
mod verdict;

pub(crate) use run::*;

use brisk_core::stats::Summary;
use brisk_report::declare::*;
use brisk_report::{causes, format};

use self::result::*;
use crate::results::{LaunchSet, Stage};
use crate::study::shown::{apps, launches};

impl Kind for LaunchReport {
    const RANK: Rank = Rank::App;

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

    fn form() -> Option<Form<Self>> {
        let set = Form::new()
            .choice("temperature", "Cold or warm.", |(set, _): &(LaunchSet, Summary)| set.temperature)
            .figure("settled_ms", SETTLED, |(_, settled)| *settled)
            .figure("storage_ms", STORAGE_TIME, |(set, _)| {
                set.split.as_ref().map(|split| causes::storage_ms(split).unwrap_or_default())
            });
        let form = Form::new()
            .warnings()
            .word("app", apps::SUBMITTED, |report: &Self| apps::submitted(&report.app))
            .list("sets", "Cold and warm, of launches without a condition of the user's own.", 8, set, Self::own_sets);
        Some(form)
    }
}

impl LaunchReport {
    /// The sets that settled: of two command lines, neither is the app's launch as such.
    fn own_sets(&self) -> Vec<(LaunchSet, Summary)> {
        let Some(first) = self.sets.first() else { return Vec::new() };
        let own = self.sets.iter().filter(|set| set.label == first.label);
        own.filter_map(|set| Some((set.clone(), *set.stage(Stage::Settled)?))).collect()
    }
}
