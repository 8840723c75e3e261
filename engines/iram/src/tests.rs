//! Worlds for all tests of this crate, and the properties of whole decisions.

use brisk_core::action::{Action, Ends, Once};
use brisk_core::app::{Activity, App, AppFacts, Role, Tolerance, classify};
use brisk_core::decision::Request;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::GroupSetting;
use brisk_core::outcome::Outcome;
use brisk_core::reason::Reason;
use brisk_core::snapshot::{AppTotals, MemoryLevels, PressureTotals, StallTotals};
use proptest::prelude::*;

use super::*;

mod launch;
mod paper;
mod whole;

pub(crate) const MIB: u64 = 1 << 20;

/// A machine of 1000 MiB with plenty of swap.
pub(crate) fn memory(available_mib: u64) -> MemoryLevels {
    MemoryLevels {
        total_bytes: 1000 * MIB,
        available_bytes: Some(available_mib * MIB),
        swap_total_bytes: 1000 * MIB,
        swap_free_bytes: 900 * MIB,
        ..MemoryLevels::default()
    }
}

/// An app of a user, which was in front once, in the group `app-ID.scope`.
pub(crate) fn app(id: &str, change: impl FnOnce(&mut Activity)) -> App {
    let facts = AppFacts {
        group: format!("app-{id}.scope"),
        id: id.to_owned(),
        of_user: true,
        role: Role::App,
        focused: Some(false),
        offers: vec![GroupSetting::MemoryHigh, GroupSetting::MemoryLow],
        ..AppFacts::default()
    };
    let mut app = classify(&facts);
    app.activity.front_at_ns = Some(0);
    change(&mut app.activity);
    app
}

/// Any app, in the group of that number.
pub(crate) fn any_app(index: usize) -> impl Strategy<Value = App> {
    let told = || prop::option::of(any::<bool>());
    let activity = (told(), told(), told(), prop::option::of(0_u64..200), prop::option::of(-1000_i16..1000));
    let ids = prop::sample::select(&["0", "1", "2", "3", "4", "5", "uid_10001", "briskd", "backup"][..]);
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

/// A machine that goes on from call to call.
pub(crate) struct Machine {
    pub(crate) config: Config,
    pub(crate) state: State,
    pub(crate) apps: Vec<App>,
    pub(crate) now: Snapshot,
    /// Share of the time in which some task stalls on memory.
    pub(crate) stall_percent: u64,
    previous: Option<Snapshot>,
}

impl Machine {
    /// One with these apps of 100 MiB each, and 400 MiB available, none of which is likely next.
    pub(crate) fn new(config: Config, ids: &[&str]) -> Self {
        let apps: Vec<App> = ids.iter().map(|id| app(id, |_| ())).collect();
        let totals =
            |app: &App| AppTotals { name: app.group.clone(), memory_bytes: Some(100 * MIB), ..AppTotals::default() };
        let now = Snapshot {
            at_ns: 100 * S_NS,
            wall_unix_ms: 1_795_312_800_000,
            memory: memory(400),
            apps: apps.iter().map(totals).collect(),
            pressure: PressureTotals { memory: Some(StallTotals::default()), ..PressureTotals::default() },
            ..Snapshot::default()
        };
        Self { config, state: State::default(), apps, now, stall_percent: 0, previous: None }
    }

    /// The same, with this much memory available before the first call.
    pub(crate) fn with(mut self, available_mib: u64) -> Self {
        self.now.memory.available_bytes = Some(available_mib * MIB);
        self
    }

    /// One second later, with this much memory available, after these events.
    pub(crate) fn step(&mut self, available_mib: u64, events: &[EventKind]) -> Decision<State> {
        self.after(1_000, available_mib, events)
    }

    /// The same after another time.
    pub(crate) fn after(&mut self, ms: u64, available_mib: u64, events: &[EventKind]) -> Decision<State> {
        self.previous = Some(self.now.clone());
        self.now.at_ns += ms * 1_000_000;
        self.now.wall_unix_ms += ms;
        self.now.memory.available_bytes = Some(available_mib * MIB);
        if let Some(stall) = &mut self.now.pressure.memory {
            stall.some_us += ms * 10 * self.stall_percent;
        }
        let event = |kind: &EventKind| Event { at_ns: self.now.at_ns, kind: kind.clone() };
        let events: Vec<Event> = events.iter().map(event).collect();
        let decision = decide(&self.config, &self.state, &self.observed(&events));
        assert_eq!(decision, decide(&self.config, &self.state, &self.observed(&events)), "the same inputs");
        self.state = decision.state.clone();
        decision
    }

    pub(crate) fn observed<'a>(&'a self, events: &'a [Event]) -> Observed<'a> {
        let previous = self.previous.as_ref();
        Observed { previous, now: &self.now, events, devices: &[], apps: &self.apps }
    }

    pub(crate) fn app(&mut self, id: &str) -> &mut App {
        self.apps.iter_mut().find(|app| app.id == id).expect("an app")
    }

    /// An app ends.
    pub(crate) fn gone(&mut self, id: &str) -> EventKind {
        let group = self.app(id).group.clone();
        self.apps.retain(|app| app.id != id);
        self.now.apps.retain(|totals| totals.name != group);
        EventKind::AppGone { group }
    }
}

/// The edges, as words.
pub(crate) fn edges(decision: &Decision<State>) -> Vec<String> {
    once(decision).map(|once| format!("{} {}", once.name(), once.group())).collect()
}

pub(crate) fn once(decision: &Decision<State>) -> impl Iterator<Item = &Once> {
    decision.requests.iter().filter_map(|request: &Request| match &request.action {
        Action::Once(once) => Some(once),
        Action::Set(_) => None,
    })
}

/// An app came to the foreground.
pub(crate) fn focused(id: &str) -> EventKind {
    EventKind::Focused { group: format!("app-{id}.scope") }
}

/// What became of the edges of a decision.
pub(crate) fn performed(decision: &Decision<State>, outcome: &Outcome) -> Vec<EventKind> {
    once(decision).map(|once| EventKind::Performed { once: once.clone(), outcome: outcome.clone() }).collect()
}
