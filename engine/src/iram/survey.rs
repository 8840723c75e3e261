//! What the engine makes of each app, for people: what would be taken first, and why.

use std::collections::BTreeMap;

use brisk_core::decision::Observed;
use brisk_core::survey::{AppMemory, MemorySurvey};

use crate::iram::candidates::{self, Step};
use crate::iram::config::{Config, Mode};
use crate::iram::schedule;
use crate::iram::{State, adaptive};

/// What the engine makes of each app now.
pub(crate) fn survey(config: &Config, state: &State, observed: &Observed<'_>) -> MemorySurvey {
    let memory = &observed.now.memory;
    let outlook = state.outlook(observed.now);
    let all =
        candidates::all(config, observed.now.at_ns, observed.apps, &observed.now.apps, memory, |id| outlook.of(id));
    let (wanted_bytes, short_bytes) = match config.mode {
        Mode::Adaptive => {
            let interval = observed.previous.and_then(|previous| observed.now.since(previous));
            let needs = adaptive::needs(state, &all);
            let need = adaptive::need(config, state, &all, (&outlook, &needs), memory, interval.as_ref());
            (need.wanted_bytes, need.short_bytes)
        }
        Mode::Paper => {
            let below_bytes = schedule::below_min_bytes(config, memory);
            (schedule::available_bytes(memory) + below_bytes, below_bytes)
        }
    };
    let swapped = observed.now.apps.iter().map(|app| (app.name.as_str(), app.swap_bytes));
    let swapped: BTreeMap<&str, Option<u64>> = swapped.collect();
    let row = |one: &candidates::Candidate<'_>| AppMemory {
        group: one.app.group.clone(),
        id: one.app.id.clone(),
        user: one.app.user,
        importance: one.rated.level,
        reason: one.rated.reason.clone(),
        memory_bytes: one.memory_bytes,
        swap_bytes: swapped.get(one.app.group.as_str()).copied().flatten(),
        threshold_bytes: state.groups.get(&one.app.group).and_then(|known| known.threshold_bytes),
        chance: one.chance,
        relaunch_s: one.relaunch_s,
        cost_s_per_mib: one.cost_s_per_mib(),
        protected: one.spared.clone(),
        steps: Step::ALL.into_iter().filter(|step| one.allows(config, *step)).collect(),
        frozen: state.frozen.contains_key(&one.app.group),
        ends_first: one.branch().cloned(),
        preference: one.app.activity.preference.clone(),
    };
    MemorySurvey {
        available_bytes: schedule::available_bytes(memory),
        wanted_bytes,
        short_bytes,
        apps: all.iter().map(row).collect(),
    }
}
