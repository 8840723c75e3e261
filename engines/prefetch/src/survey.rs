//! What is known of the launches of apps, for people.

use serde::{Deserialize, Serialize};

use crate::State;
use crate::config::Config;
use crate::learned::{AppLaunches, Learned, Tally};
use crate::plan;
use crate::proof::{Ratio, Verdict};

/// Size of a page of the survey: sizes are estimates for people.
const PAGE_BYTES: u64 = 4096;

/// One app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppSurvey {
    /// Its id.
    pub id: String,
    /// Its launches so far, and those of them that were learned.
    pub launches: u64,
    /// Launches that were learned.
    pub learned: u64,
    /// Whether the pages that it uses are known exactly.
    pub exact: bool,
    /// Files that its next launch is expected to use.
    pub files: u64,
    /// What is read ahead of its next launch, where memory is not short.
    pub planned_bytes: u64,
    /// What of that is of files that other apps use as well.
    pub shared_bytes: u64,
    /// Whether it pays.
    pub verdict: Verdict,
    /// Launches with reading ahead, and without, that are compared.
    pub compared_launches: (u64, u64),
    /// Wait for storage with reading ahead as a multiple of that without; `None` with fewer than two launches of each.
    pub wait_ratio: Option<Ratio>,
    /// What was read ahead so far.
    pub tally: Tally,
}

/// All apps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The apps, by id.
    pub apps: Vec<AppSurvey>,
}

impl Survey {
    /// Sum of what was read ahead.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.apps.iter().map(|app| app.tally).fold(Tally::default(), |sum, one| Tally {
            launches: sum.launches.saturating_add(one.launches),
            asked_bytes: sum.asked_bytes.saturating_add(one.asked_bytes),
            read_bytes: sum.read_bytes.saturating_add(one.read_bytes),
            used_bytes: sum.used_bytes.saturating_add(one.used_bytes),
        })
    }
}

/// What is known of each app.
#[must_use]
pub fn survey(config: &Config, state: &State) -> Survey {
    let learned = &state.learned;
    Survey { apps: learned.apps().map(|(id, app)| of_app(config, learned, id, app)).collect() }
}

fn of_app(config: &Config, learned: &Learned, id: &str, app: &AppLaunches) -> AppSurvey {
    let plan = plan::plan(config, learned, app, PAGE_BYTES, u64::MAX);
    let of_shared = plan.files.iter().zip(&plan.pages).filter(|(file, _)| learned.sharers(&file.file) > 1);
    let shared_pages: u64 = of_shared.flat_map(|(_, ranges)| ranges).map(|range| range.pages).sum();
    let (with, without) = app.proof.launches();
    AppSurvey {
        id: id.to_owned(),
        launches: app.launches,
        learned: app.learned,
        exact: app.exact,
        files: plan.files.len() as u64,
        planned_bytes: plan.size_bytes,
        shared_bytes: shared_pages * PAGE_BYTES,
        verdict: app.proof.verdict,
        compared_launches: (with as u64, without as u64),
        wait_ratio: app.proof.ratio(),
        tally: app.tally,
    }
}
