//! With and without brisk: apps with background load and without, and a verdict for each.

mod columns;
mod gist;
mod page;
pub(crate) mod result;

use self::columns::*;
use self::result::*;
use crate::results::conditions;
use crate::study::shown::{apps, launches, sets};
use brisk_report::declare::*;

impl Kind for ProveReport {
    const RANK: Rank = Rank::Proof;

    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let gains = self.gains.iter().flat_map(|gain: &Gain| {
            let row = |condition: &str, ratio| {
                Row::at(APP, gain.app.trim())
                    .by(START, sets::temperature(gain.temperature))
                    .by(CONDITION, sets::label_words(condition))
                    .put(WITH_BRISK_OVER_WITHOUT, ratio)
            };
            [row(conditions::WRITERS, gain.loaded_ratio), row(conditions::IDLE, gain.idle_ratio)]
        });
        launches::suite(&self.apps).chain(gains).chain(launches::writers(&self.conditions)).collect()
    }

    fn mode(&self) -> Facts {
        vec![launches::background_load(&self.conditions)]
    }

    fn setting(&self) -> Facts {
        launches::phone(&self.phone)
    }

    fn verdict(documents: &[&Self], warnings: u64) -> Vec<String> {
        gist::sentences(documents, warnings)
    }

    fn form() -> Option<Form<Self>> {
        let gain = Form::new()
            .word("app", apps::SUBMITTED, |gain: &Gain| apps::submitted(&gain.app))
            .choice("temperature", "Cold or warm.", |gain| gain.temperature)
            .figure("loaded_ratio", WITH_BRISK_OVER_WITHOUT, |gain| gain.loaded_ratio)
            .figure("idle_ratio", WITH_BRISK_OVER_WITHOUT, |gain| gain.idle_ratio);
        let form = Form::new().warnings().list("gains", "App by app.", 64, gain, |report: &Self| report.gains.clone());
        Some(form)
    }
}
