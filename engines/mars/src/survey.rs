//! Where the pages of each app are, and why, for people.

use brisk_core::decision::Observed;
use brisk_core::reason::Reason;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::out::{Part, Parts};
use crate::{State, apps, back, observe, pressure};

/// All apps at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Memory that is available.
    pub available_bytes: u64,
    /// Memory that is to be available for returns.
    pub wanted_bytes: u64,
    /// What may still be written out today at once; `None` is no limit.
    pub wear_left_bytes: Option<u64>,
    /// What was written out since the engine began to count.
    pub written_bytes: u64,
    /// Apps, those first that are written out first; those that are spared last.
    pub apps: Vec<Row>,
}

/// An app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of its control group.
    pub group: String,
    /// Its id.
    pub id: String,
    /// When it was in front last, or seen first, CLOCK_MONOTONIC.
    pub left_ns: u64,
    /// Why nothing is taken from it; `None` when something may be.
    pub spared: Option<Reason>,
    /// Its pages; `None` when they were not scanned.
    pub pages: Option<Pages>,
    /// Memory that a return needs; `None` when none was seen.
    pub need_bytes: Option<u64>,
    /// Share of the hot set that the kernel does not keep, from 0 to 1; `None` when unknown.
    pub lost: Option<f64>,
    /// Whether this engine froze it.
    pub frozen: bool,
}

/// Private pages of an app at its last scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pages {
    /// When it was scanned, CLOCK_MONOTONIC.
    pub scanned_ns: u64,
    /// Cold pages in memory.
    pub cold_bytes: u64,
    /// Pages in memory of which nothing is known.
    pub unknown_bytes: u64,
    /// Hot pages in memory.
    pub hot_bytes: u64,
    /// Hot pages in swap.
    pub hot_swapped_bytes: u64,
    /// Expected time of reading these.
    pub read_us: f64,
}

/// Where pages are now, events that are observed included; no decision is made of it.
#[must_use]
pub fn survey(config: &Config, state: &State, observed: &Observed<'_>) -> Survey {
    let mut state = state.clone().at(observed.now.at_ns);
    observe::take(config, &mut state, observed);
    let state = &state;
    let need = pressure::need(config, state, observed);
    let row = |one: &apps::Candidate<'_>| {
        let of = state.groups.get(&one.app.group);
        let known = state.learned.app(&one.app.id);
        let pages = of.and_then(|of| of.scan.as_ref().zip(Some(&of.live))).map(|(scan, live)| {
            let repeat = known.map_or(0.0, |known| known.repeat);
            let parts = Parts::of(&scan.pages, live, repeat, config.hot_min_percent);
            let plan = known.map(|known| back::plan(config, &scan.pages, live, known, false)).unwrap_or_default();
            Pages {
                scanned_ns: scan.at_ns,
                cold_bytes: parts.bytes(Part::Cold),
                unknown_bytes: parts.bytes(Part::Unknown),
                hot_bytes: parts.bytes(Part::Hot),
                hot_swapped_bytes: plan.lost_bytes,
                read_us: plan.read_us,
            }
        });
        Row {
            group: one.app.group.clone(),
            id: one.app.id.clone(),
            left_ns: one.left_ns,
            spared: one.spared.clone(),
            pages,
            need_bytes: known.map(back::need_bytes),
            lost: known.and_then(|known| known.lost),
            frozen: state.frozen.contains_key(&one.app.group),
        }
    };
    Survey {
        at_ns: observed.now.at_ns,
        available_bytes: need.available_bytes,
        wanted_bytes: need.wanted_bytes,
        wear_left_bytes: (config.wear_mib_per_day > 0).then(|| state.learned.budget.left_bytes()),
        written_bytes: state.learned.budget.written_bytes,
        apps: apps::all(config, state, observed).iter().map(row).collect(),
    }
}
