//! Where the pages of each app are, and why, for people.

use brisk_core::decision::Observed;
use brisk_core::survey::{AppPages, PagesSurvey, PrivatePages};

use crate::mars::config::Config;
use crate::mars::out::{Part, Parts};
use crate::mars::{State, apps, back, observe, pressure};

/// Where pages are now, events that are observed included; no decision is made of it.
pub(crate) fn survey(config: &Config, state: &State, observed: &Observed<'_>) -> PagesSurvey {
    let mut state = State { at_ns: observed.now.at_ns, ..state.clone() };
    observe::take(config, &mut state, observed);
    let state = &state;
    let need = pressure::need(config, state, observed);
    let row = |one: &apps::Candidate<'_>| {
        let of = state.groups.get(&one.app.group);
        let known = state.learned.app(&one.app.owned_id());
        let pages = of.and_then(|of| of.scan.as_ref().zip(Some(&of.live))).map(|(scan, live)| {
            let repeat = known.map_or(0.0, |known| known.repeat);
            let parts = Parts::of(&scan.pages, live, repeat, config.hot_min_percent);
            let plan = known.map(|known| back::plan(config, &scan.pages, live, known, false)).unwrap_or_default();
            PrivatePages {
                scanned_ns: scan.at_ns,
                cold_bytes: parts.bytes(Part::Cold),
                unknown_bytes: parts.bytes(Part::Unknown),
                hot_bytes: parts.bytes(Part::Hot),
                hot_swapped_bytes: plan.lost_bytes,
                read_us: plan.read_us,
            }
        });
        AppPages {
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
    PagesSurvey {
        at_ns: observed.now.at_ns,
        available_bytes: need.available_bytes,
        wanted_bytes: need.wanted_bytes,
        wear_left_bytes: config.wear.left_bytes,
        written_bytes: config.wear.written_bytes,
        apps: apps::all(config, state, observed).iter().map(row).collect(),
    }
}
