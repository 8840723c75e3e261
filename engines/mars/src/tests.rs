//! Machines for all tests of this crate, and the properties of whole decisions.

use brisk_core::action::{Action, AddressRange, Once};
use brisk_core::app::{Activity, App, AppFacts, Role, classify};
use brisk_core::decision::Request;
use brisk_core::event::{Event, EventKind};
use brisk_core::outcome::Outcome;
use brisk_core::pages::{
    Away, Identity, Mapping, MappingPages, MappingTouched, PageRange, Process, ProcessPages, ProcessTouched,
    SwappedRange, Touched,
};
use brisk_core::snapshot::{AppTotals, MemoryLevels, PressureTotals, Snapshot, StallTotals};

use super::*;

mod phone;
mod properties;
mod rules;
mod whole;

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const PAGE: u64 = 4096;

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
        ..AppFacts::default()
    };
    let mut app = classify(&facts);
    app.activity.front_at_ns = Some(0);
    change(&mut app.activity);
    app
}

/// A process of the program x.
pub(crate) fn process(pid: u32, began_ticks: u64) -> Process {
    Process { pid, began_ticks, program: "x".to_owned(), nth: 0 }
}

/// A heap at an address.
pub(crate) fn heap(start: u64, pages: u64) -> Mapping {
    let identity = Identity::Anonymous { name: "[heap]".to_owned(), nth: 0 };
    Mapping { identity, start, range: PageRange { first_page: 0, pages }, swappable: true }
}

fn ranges(pairs: &[(u64, u64)]) -> Vec<PageRange> {
    pairs.iter().map(|pair| PageRange::from(*pair)).collect()
}

/// A scan of one process with one mapping: pages in memory, and in swap (page, pages, slot).
pub(crate) fn app_pages(
    process: &Process,
    mapping: &Mapping,
    private: &[(u64, u64)],
    swapped: &[(u64, u64, u64)],
) -> AppPages {
    let swapped = swapped.iter().map(|&(first_page, pages, slot)| SwappedRange {
        range: PageRange { first_page, pages },
        area: 0,
        slot,
    });
    let of = MappingPages {
        mapping: mapping.clone(),
        private: ranges(private),
        file: Vec::new(),
        swapped: swapped.collect(),
    };
    AppPages { page_bytes: PAGE, processes: vec![ProcessPages { process: process.clone(), mappings: vec![of] }] }
}

/// What a return touched in one mapping of one process.
pub(crate) fn returned(
    process: &Process,
    mapping: &Mapping,
    touched: &[(u64, u64)],
    untouched: &[(u64, u64)],
) -> Touched {
    let swapped = Away { touched: ranges(touched), untouched: ranges(untouched) };
    let of = MappingTouched { mapping: mapping.clone(), swapped, file: Away::default() };
    let processes = vec![ProcessTouched { process: process.clone(), mappings: vec![of] }];
    Touched { page_bytes: PAGE, processes, read_bytes: None }
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
    /// One with these apps of 100 MiB each, and 400 MiB available.
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

    /// One second later, with this much memory available, after these events.
    pub(crate) fn step(&mut self, available_mib: u64, events: &[EventKind]) -> Decision<State> {
        self.after(1_000, available_mib, events)
    }

    /// The same after another time.
    pub(crate) fn after(&mut self, ms: u64, available_mib: u64, events: &[EventKind]) -> Decision<State> {
        let before = self.state.clone();
        let decision = self.go_on(ms, available_mib, events);
        let event = |kind: &EventKind| Event { at_ns: self.now.at_ns, kind: kind.clone() };
        let events: Vec<Event> = events.iter().map(event).collect();
        assert_eq!(decision, decide(&self.config, &before, &self.observed(&events)), "the same inputs");
        decision
    }

    /// The same for long runs: the edges, and what becomes of them.
    pub(crate) fn decide(&mut self, ms: u64, available_mib: u64, events: &[EventKind]) -> (Vec<Once>, Vec<EventKind>) {
        let decision = self.observe(ms, available_mib, events);
        let performed = performed(&decision, &Outcome::Done);
        let edges = once(&decision).cloned().collect();
        self.state = decision.state;
        (edges, performed)
    }

    /// The same without proof that the decision is reproducible.
    fn go_on(&mut self, ms: u64, available_mib: u64, events: &[EventKind]) -> Decision<State> {
        let decision = self.observe(ms, available_mib, events);
        self.state = decision.state.clone();
        decision
    }

    fn observe(&mut self, ms: u64, available_mib: u64, events: &[EventKind]) -> Decision<State> {
        for event in events {
            let EventKind::Focused { group } = event else { continue };
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
        let event = |kind: &EventKind| Event { at_ns: self.now.at_ns, kind: kind.clone() };
        let events: Vec<Event> = events.iter().map(event).collect();
        go_on(&self.config, std::mem::take(&mut self.state), &self.observed(&events))
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

pub(crate) fn once(decision: &Decision<State>) -> impl Iterator<Item = &Once> {
    decision.requests.iter().filter_map(|request: &Request| match &request.action {
        Action::Once(once) => Some(once),
        Action::Set(_) => None,
    })
}

/// The edges, as words.
pub(crate) fn edges(decision: &Decision<State>) -> Vec<String> {
    once(decision).map(|once| format!("{} {}", once.name(), once.group())).collect()
}

/// An app came to the foreground.
pub(crate) fn focused(id: &str) -> EventKind {
    EventKind::Focused { group: format!("app-{id}.scope") }
}

/// What became of the edges of a decision.
pub(crate) fn performed(decision: &Decision<State>, outcome: &Outcome) -> Vec<EventKind> {
    once(decision).map(|once| EventKind::Performed { once: once.clone(), outcome: outcome.clone() }).collect()
}
