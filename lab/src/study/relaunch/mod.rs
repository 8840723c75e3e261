//! Returns to open apps with little memory, without brisk and with it.

mod columns;
mod page;
pub(crate) mod result;

use brisk_core::units::format_bytes;

use self::columns::*;
use self::result::*;
use crate::study::shown::launches;
use brisk_report::declare::*;

impl Kind for RelaunchReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for policy in &self.policies {
            for app in policy.apps.iter().filter(|app| !app.visits.is_empty()) {
                let runs = |of: &dyn Fn(&AppVisit) -> f64| brisk_report::declare::runs(app.visits.iter().map(of));
                rows.push(
                    Row::at(POLICY, policy.policy.clone())
                        .by(APP, app.app.clone())
                        .put(RETURN_TO_AN_APP, runs(&|visit| visit.counted_ms(self.limit_ms)))
                        .put(READ_FROM_STORAGE, runs(&|visit| visit.flash_read_bytes as f64))
                        .put(WRITTEN_TO_STORAGE, runs(&|visit| visit.flash_written_bytes as f64)),
                );
            }
        }
        rows
    }

    fn mode(&self) -> Facts {
        vec![
            ("Memory", format_bytes(self.memory.limit_bytes)),
            ("Each swap area", format_bytes(self.memory.swap_bytes)),
            ("Time limit of a return", brisk_report::format::ms(self.limit_ms)),
        ]
    }

    fn setting(&self) -> Facts {
        launches::phone(&self.phone)
    }

    fn verdict(documents: &[&Self], _warnings: u64) -> Vec<String> {
        documents.iter().flat_map(|report| page::gist(report)).collect()
    }
}
