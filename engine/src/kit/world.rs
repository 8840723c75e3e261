//! Worlds for the tests of engines: apps, memory, and a machine that goes on from call to call.

use std::fmt::Debug;

use brisk_core::action::{Action, Once};
use brisk_core::app::{Activity, App, AppFacts, Role, Tolerance, classify};
use brisk_core::decision::{Decision, Needs, Observed};
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::GroupSetting;
use brisk_core::outcome::Outcome;
use brisk_core::reason::Reason;
use brisk_core::snapshot::{AppTotals, MemoryLevels, PressureTotals, Snapshot, StallTotals};

use crate::kit::{Engine, S_NS};

/// Bytes of a MiB.
pub const MIB: u64 = 1 << 20;

/// A machine of 1000 MiB with plenty of swap.
#[must_use]
pub fn memory(available_mib: u64) -> MemoryLevels {
    MemoryLevels {
        total_bytes: 1000 * MIB,
        available_bytes: Some(available_mib * MIB),
        swap_total_bytes: 1000 * MIB,
        swap_free_bytes: 900 * MIB,
        ..MemoryLevels::default()
    }
}

/// An app of a user, which was in front once and is known to do nothing now, in the group `app-ID.scope`.
pub fn app(id: &str, change: impl FnOnce(&mut Activity)) -> App {
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
    (app.activity.audible, app.activity.inhibits, app.activity.works) = (Some(false), Some(false), Some(false));
    change(&mut app.activity);
    app
}

/// An app of which nothing but this is known.
#[must_use]
pub fn plain_app(group: &str, id: &str, tolerance: Tolerance) -> App {
    App {
        group: group.to_owned(),
        id: id.to_owned(),
        user: None,
        launching: false,
        tolerance,
        reason: Reason::rule("test"),
        offers: Vec::new(),
        disks: None,
        activity: Activity::default(),
    }
}

#[must_use]
pub fn events(at_ns: u64, kinds: &[EventKind]) -> Vec<Event> {
    kinds.iter().map(|kind| Event { at_ns, kind: kind.clone() }).collect()
}

/// A machine with an engine that goes on from call to call.
pub struct Machine<E: Engine> {
    pub config: E::Config,
    pub state: E::State,
    /// Latest time of its next call.
    pub look_ns: Option<u64>,
    /// What is to be observed before it.
    pub needs: Needs,
    pub apps: Vec<App>,
    pub now: Snapshot,
    /// Share of the time in which some task stalls on memory.
    pub stall_percent: u64,
    /// The moment before.
    pub previous: Option<Snapshot>,
}

impl<E: Engine> Machine<E> {
    /// One with these apps of 100 MiB each, and 400 MiB available, none of which is likely next.
    #[must_use]
    pub fn new(config: E::Config, ids: &[&str]) -> Self {
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
        let state = E::State::default();
        Self { config, state, look_ns: None, needs: Needs::default(), apps, now, stall_percent: 0, previous: None }
    }

    /// The same, with this much memory available before the first call.
    #[must_use]
    pub fn with(mut self, available_mib: u64) -> Self {
        self.now.memory.available_bytes = Some(available_mib * MIB);
        self
    }

    /// Goes on by this time, to this much memory available.
    fn advance(&mut self, ms: u64, available_mib: u64, kinds: &[EventKind]) -> Vec<Event> {
        let focused =
            kinds.iter().filter_map(|kind| if let EventKind::Focused { group } = kind { Some(group) } else { None });
        for group in focused {
            // What is unknown stays so.
            for app in self.apps.iter_mut().filter(|app| app.activity.focused.is_some()) {
                app.activity.focused = Some(app.group == *group);
            }
        }
        self.previous = Some(self.now.clone());
        self.now.at_ns += ms * 1_000_000;
        self.now.wall_unix_ms += ms;
        self.now.memory.available_bytes = Some(available_mib * MIB);
        if let Some(stall) = &mut self.now.pressure.memory {
            stall.some_us += ms * 10 * self.stall_percent;
        }
        events(self.now.at_ns, kinds)
    }

    /// The same for long runs: the actions, and what becomes of them.
    pub fn decide(&mut self, ms: u64, available_mib: u64, kinds: &[EventKind]) -> (Decision<()>, Vec<EventKind>) {
        let events = self.advance(ms, available_mib, kinds);
        let state = std::mem::take(&mut self.state);
        let Decision { state, requests, notes, next_look_ns, needs } =
            E::decide(&self.config, state, &self.observed(&events));
        (self.state, self.look_ns, self.needs) = (state, next_look_ns, needs.clone());
        let decision = Decision { state: (), requests, notes, next_look_ns, needs };
        let performed = performed(&decision, &Outcome::Done);
        (decision, performed)
    }

    pub fn observed<'a>(&'a self, events: &'a [Event]) -> Observed<'a> {
        let previous = self.previous.as_ref();
        Observed { previous, now: &self.now, events, devices: &[], apps: &self.apps }
    }

    /// The app with this id.
    ///
    /// # Panics
    /// When there is none.
    pub fn app(&mut self, id: &str) -> &mut App {
        self.apps.iter_mut().find(|app| app.id == id).expect("an app")
    }

    /// An app ends.
    pub fn gone(&mut self, id: &str) -> EventKind {
        let group = self.app(id).group.clone();
        self.apps.retain(|app| app.id != id);
        self.now.apps.retain(|totals| totals.name != group);
        EventKind::AppGone { group }
    }
}

impl<E: Engine<State: Clone + Debug + PartialEq>> Machine<E> {
    /// One second later, with this much memory available, after these events.
    pub fn step(&mut self, available_mib: u64, kinds: &[EventKind]) -> Decision<E::State> {
        self.after(1_000, available_mib, kinds)
    }

    /// The same after another time.
    ///
    /// # Panics
    /// When the same inputs do not give the same decision.
    pub fn after(&mut self, ms: u64, available_mib: u64, kinds: &[EventKind]) -> Decision<E::State> {
        let events = self.advance(ms, available_mib, kinds);
        let decide = || E::decide(&self.config, self.state.clone(), &self.observed(&events));
        let decision = decide();
        assert_eq!(decision, decide(), "the same inputs");
        (self.state, self.look_ns) = (decision.state.clone(), decision.next_look_ns);
        self.needs.clone_from(&decision.needs);
        decision
    }
}

pub fn once<S>(decision: &Decision<S>) -> impl Iterator<Item = &Once> {
    decision.requests.iter().filter_map(|request| match &request.action {
        Action::Once(once) => Some(once),
        Action::Set(_) => None,
    })
}

pub fn actions<S>(decision: &Decision<S>) -> Vec<String> {
    once(decision).map(|once| format!("{} {}", once.name(), once.group())).collect()
}

/// An app came to the foreground.
#[must_use]
pub fn focused(id: &str) -> EventKind {
    EventKind::Focused { group: format!("app-{id}.scope") }
}

/// What became of the actions of a decision.
pub fn performed<S>(decision: &Decision<S>, outcome: &Outcome) -> Vec<EventKind> {
    once(decision).map(|once| EventKind::Performed { once: once.clone(), outcome: outcome.clone() }).collect()
}
