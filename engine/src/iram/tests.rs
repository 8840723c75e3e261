//! Worlds for all tests of this crate, and the properties of whole decisions.

use brisk_core::action::{Ends, Once};
use brisk_core::app::{Activity, App, AppFacts, Role, Tolerance, classify};
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::GroupSetting;
use brisk_core::outcome::Outcome;
use brisk_core::reason::Reason;
use brisk_core::snapshot::{AppTotals, MemoryLevels};
use proptest::prelude::*;

use super::*;

mod launch;
mod paper;
mod whole;

pub(crate) use crate::kit::world::{MIB, actions, app, focused, memory, once, performed};
pub(crate) type Machine = crate::kit::world::Machine<Iram>;

/// Any app, in the group of that number.
pub(crate) fn any_app(index: usize) -> impl Strategy<Value = App> {
    let told = || prop::option::of(any::<bool>());
    let activity = (told(), told(), told(), prop::option::of(0_u64..200), prop::option::of(-1000_i16..1000));
    let ids = prop::sample::select(&["0", "1", "2", "3", "4", "5", "rated", "briskd", "backup"][..]);
    let roles = prop::sample::select(&[Role::App, Role::App, Role::Service, Role::Other][..]);
    let chosen = prop::option::weighted(0.2, prop::sample::select(&Tolerance::ALL[..]));
    let rest = (any::<bool>(), prop::bool::weighted(0.1), prop::option::weighted(0.1, 10_i8..19));
    (ids, roles, chosen, rest, activity).prop_map(move |(id, role, chosen, rest, activity)| {
        let (of_user, launching, nice_min) = rest;
        let (focused, audible, inhibits, front_s, oom_score_adj) = activity;
        classify(&AppFacts {
            group: format!("app-{index}.scope"),
            id: id.to_owned(),
            launching,
            focused,
            of_user,
            role,
            nice_min,
            chosen: chosen.map(|(tolerance, _)| tolerance),
            offers: GroupSetting::ALL.into(),
            activity: Activity {
                audible,
                inhibits,
                front_at_ns: front_s.map(|at_s| at_s * S_NS),
                oom_score_adj,
                is_rated: id == "rated",
                ..Activity::default()
            },
            ..AppFacts::default()
        })
    })
}

/// Apps and memory at one moment.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) apps: Vec<App>,
    pub(crate) now: Snapshot,
}

/// Any moment of a machine of 1000 MiB, up to two minutes after its start.
pub(crate) fn any_world() -> impl Strategy<Value = World> {
    let apps = (0_usize..12).prop_flat_map(|count| (0..count).map(any_app).collect::<Vec<_>>());
    let sizes = prop::collection::vec((prop::option::of(0_u64..200), prop::option::of(0_u64..200)), 12);
    (apps, sizes, 0_u64..1000, 0_u64..900, 0_u64..120).prop_map(|(apps, sizes, available_mib, swap_mib, at_s)| {
        let totals = |(app, (charged_mib, resident_mib)): (&App, (Option<u64>, Option<u64>))| AppTotals {
            name: app.group.clone(),
            memory_bytes: charged_mib.map(|mib| mib * MIB),
            rss_bytes: resident_mib.map(|mib| mib * MIB),
            ..AppTotals::default()
        };
        let now = Snapshot {
            at_ns: at_s * S_NS,
            wall_unix_ms: 1_795_312_800_000 + at_s * 1000,
            memory: MemoryLevels { swap_free_bytes: swap_mib * MIB, ..memory(available_mib) },
            apps: apps.iter().zip(sizes).map(totals).collect(),
            ..Snapshot::default()
        };
        World { apps, now }
    })
}
