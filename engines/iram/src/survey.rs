//! What the engine makes of each app, for people: what would be taken first, and why.

use std::collections::BTreeMap;

use brisk_core::app::{Branch, Preference};
use brisk_core::decision::Observed;
use brisk_core::reason::Reason;
use serde::{Deserialize, Serialize};

use crate::candidates::{self, Step};
use crate::config::{Config, Mode};
use crate::importance::Importance;
use crate::schedule;
use crate::{State, adaptive};

/// All apps at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Memory that is available.
    pub available_bytes: u64,
    /// Memory that is to be available.
    pub wanted_bytes: u64,
    /// How much is to be freed.
    pub short_bytes: u64,
    /// Apps, those first from which memory would be taken first; those from which nothing is taken last.
    pub apps: Vec<Row>,
}

/// An app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of its control group.
    pub group: String,
    /// Its id.
    pub id: String,
    /// Its importance.
    pub importance: Importance,
    /// Why it has that.
    pub reason: Reason,
    /// Memory that it has; `None` when unknown.
    pub memory_bytes: Option<u64>,
    /// What of it is in swap; `None` when unknown.
    pub swap_bytes: Option<u64>,
    /// Memory that it is expected to need at the most; `None` when unknown.
    pub threshold_bytes: Option<u64>,
    /// Chance that it is the next app, from 0 to 1.
    pub chance: f64,
    /// Time that its relaunch takes.
    pub relaunch_s: f64,
    /// Expected cost of its end: seconds of waiting for each MiB.
    pub cost_s_per_mib: f64,
    /// Why nothing is taken from it; `None` when something may be.
    pub protected: Option<Reason>,
    /// What may be done to it, least harm first.
    pub steps: Vec<Step>,
    /// Whether the engine froze it.
    pub frozen: bool,
    /// Of a terminal or session: the process that would end first, and what it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_first: Option<Branch>,
    /// A preference that the person gave to another program that ends apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
}

/// What the engine makes of each app now.
#[must_use]
pub fn survey(config: &Config, state: &State, observed: &Observed<'_>) -> Survey {
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
    let row = |one: &candidates::Candidate<'_>| Row {
        group: one.app.group.clone(),
        id: one.app.id.clone(),
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
    Survey {
        available_bytes: schedule::available_bytes(memory),
        wanted_bytes,
        short_bytes,
        apps: all.iter().map(row).collect(),
    }
}
