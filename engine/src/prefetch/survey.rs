//! What is known of the launches of apps, for people.

use std::collections::BTreeSet;

use brisk_core::app::{id_of, user_of};
use brisk_core::survey::{AppLaunches, Prefetched};

use crate::prefetch::State;
use crate::prefetch::config::Config;
use crate::prefetch::learned;
use crate::prefetch::{plan, ready};

/// Size of a page of the survey: sizes are estimates for people.
const PAGE_BYTES: u64 = 4096;

/// What is known of each app; where several users have one of the same id, with the user.
pub(crate) fn launches(config: &Config, state: &State) -> Vec<AppLaunches> {
    let learned = &state.learned;
    let shared = learned.shared_paths();
    let is_alone = |id: &str| learned.apps().filter(|(other, _)| id_of(other) == id).nth(1).is_none();
    let name = |owned_id: &str| match (id_of(owned_id), user_of(owned_id)) {
        (id, Some(user)) if !is_alone(id) => format!("{id} (user {user})"),
        (id, _) => id.to_owned(),
    };
    learned.apps().map(|(owned_id, app)| of_app(config, state, &shared, owned_id, name(owned_id), app)).collect()
}

/// What was read ahead of launches, and what they used of it.
pub(crate) fn totals(config: &Config, State { learned, ready, .. }: &State) -> Prefetched {
    learned.apps().fold(ready.totals(config), |sum, (_, app)| Prefetched {
        apps: sum.apps + 1,
        launches: sum.launches.saturating_add(app.tally.launches),
        asked_bytes: sum.asked_bytes.saturating_add(app.tally.asked_bytes),
        read_bytes: sum.read_bytes.saturating_add(app.tally.read_bytes),
        used_bytes: sum.used_bytes.saturating_add(app.tally.used_bytes),
        ..sum
    })
}

fn of_app(
    config: &Config,
    State { learned, ready, .. }: &State,
    shared: &BTreeSet<&str>,
    owned_id: &str,
    id: String,
    app: &learned::AppLaunches,
) -> AppLaunches {
    let plan = plan::plan(config, learned, app, PAGE_BYTES, u64::MAX);
    let of_shared = plan.files.iter().zip(&plan.pages).filter(|(file, _)| shared.contains(file.file.path.as_str()));
    let shared_pages: u64 = of_shared.flat_map(|(_, ranges)| ranges).map(|range| range.pages).sum();
    AppLaunches {
        id,
        launches: app.launches,
        learned: app.learned,
        exact: app.exact,
        files: plan.files.len() as u64,
        planned_bytes: plan.size_bytes,
        shared_bytes: shared_pages * PAGE_BYTES,
        asked_bytes: app.tally.asked_bytes,
        read_bytes: app.tally.read_bytes,
        used_bytes: app.tally.used_bytes,
        ready: ready.of(owned_id, ready::is_known(app)),
    }
}
