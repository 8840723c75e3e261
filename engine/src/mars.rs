//! Swap laid out for quick returns (MARS: Guo et al., "Mobile application relaunching speed-up through flash-aware page
//! swapping").
//!
//! An app that was swapped out is to be back in the time that the bytes it *touches* take in sequence, with no write in
//! its way, and the user is not to pay for it while memory is merely tight: there the kernel keeps hot sets by itself.
//! (Measured: reading back all of an app, or writing out all of it when it is left, costs more than the kernel's
//! swapping alone.)
//!
//! - [`hot_set`]: which pages returns touch; `live`: by process and address; [`learned`]: what is kept over restarts,
//!   by mapping.
//! - `apps`: from which apps memory may be taken, in which order; `pressure`: when, and how much.
//! - `reserve`: memory that is kept free; [`out`]: what is written out, in which order; [`back`]: what is read back;
//!   `window`: what is held meanwhile.
//! - [`clean_up`]: scattered hot sets are laid out anew.
//! - `adaptive`, `paper`: the two modes; `survey`: where the pages of each app are, and why, for people.
//!
//! Pure: what is observed comes in, a decision goes out. Scans of page tables are made by the caller: of an app that
//! comes to the foreground, before it runs (told by `Scanned`) and when it has come to rest (the difference is told by
//! `Returned`), and of the groups that `Needs::scans` names.
//!
//! Properties, each with a test of the same name:
//! - `the_same_inputs_give_the_same_decision`;
//! - `nothing_is_taken_from_a_protected_app`: in front, being launched, audible, inhibitor, by configuration, services,
//!   just left;
//! - `nothing_is_written_while_nothing_is_short`; `nothing_is_written_during_a_return`;
//! - `hot_pages_go_last_and_unknown_ones_are_the_kernels`;
//! - `an_app_that_lost_little_is_not_read_back`;
//! - `what_is_frozen_runs_when_it_returns`; `settings_of_a_return_end_with_it`;
//! - `in_tight_memory_no_worse_than_doing_nothing`; `in_tight_memory_after_full_memory_no_worse_than_doing_nothing`;
//!   `in_full_memory_reads_at_most_what_it_needs` (simulations).

mod adaptive;
mod apps;
pub mod back;
pub mod clean_up;
mod config;
pub mod hot_set;
pub mod learned;
mod live;
mod observe;
pub mod out;
mod paper;
mod pressure;
mod reserve;
mod survey;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use crate::kit::{BackOff, Engine, S_NS};
use brisk_core::app::id_of;
use brisk_core::decision::{Decision, Observed, Uses};
use brisk_core::device::Device;
use brisk_core::knob::Knob;
use brisk_core::pages::AppPages;
use brisk_core::survey::{Shown, SwapWrites, Topic};
use brisk_core::trial::{Figure, Plan, Scope, Span};
use serde::{Deserialize, Serialize};

pub use config::{Config, Mode};
use learned::Learned;
pub use live::LiveProcess;
pub use reserve::Reserve;
pub use window::Window;

/// Name of this engine in configurations and records.
pub const NAME: &str = "mars";

/// Back-offs grow up to this.
const LEFT_ALONE_MAX_S: u64 = 3_600;

/// State between two calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// When it was made, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What is worth keeping over restarts.
    pub learned: Learned,
    /// Groups of apps that run, by name.
    pub groups: BTreeMap<String, Group>,
    /// The app in front, and the one before.
    pub front: Option<String>,
    /// The app that was in front before.
    pub before: Option<String>,
    /// Since when memory is short.
    pub short_since_ns: Option<u64>,
    /// The return that goes on.
    pub window: Option<Window>,
    /// Memory that is kept free.
    pub reserve: Reserve,
    /// The app that is in front by what is observed, and since when.
    pub seen: Option<(Option<String>, u64)>,
    /// When a return ended last.
    pub returned_ns: Option<u64>,
    /// Scans that the call under way asks for.
    #[serde(skip)]
    scans: BTreeSet<String>,
    /// Groups that this engine froze, and when.
    pub frozen: BTreeMap<String, u64>,
    /// The screen is off; the user is idle.
    pub screen_off: bool,
    pub idle: bool,
    /// Settings that the kernel refused: not requested again until the configuration is another one.
    pub refused: BTreeSet<Knob>,
}

/// A group of an app that runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// User and id of the app.
    pub id: String,
    /// When it was seen first, or left the foreground last.
    pub left_ns: u64,
    /// Where its pages were, and when.
    pub scan: Option<Scan>,
    pub live: Vec<LiveProcess>,
    /// What is being written out.
    pub out: Option<Out>,
    /// What a return has cut short, until its outcome tells how much of it was written.
    pub cut_short: Option<Out>,
    /// The last one that was done, until a scan tells what it left.
    pub last_out: Option<Out>,
    /// What was written, until the rest of it has left the swap cache.
    pub settles: Option<Out>,
    /// When something was written out last.
    pub written_ns: Option<u64>,
    /// When its hot set was written out, since it was in front.
    pub hot_out_ns: Option<u64>,
    /// Its hot set was written out for nothing: it came back at once. As long as this is on, the kernel has it.
    pub regrets: BackOff,
    /// Nothing is written out until then, since it was refused or did not help.
    pub left_alone_until_ns: Option<u64>,
    /// It is not frozen as long as this is on, since that was refused or dropped.
    pub no_freeze: BackOff,
    /// Its hot set is being laid out anew.
    pub laying_out: bool,
}

/// One scan of an app's page tables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    pub at_ns: u64,
    pub pages: AppPages,
}

/// One action that writes pages out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Out {
    pub at_ns: u64,
    pub bytes: u64,
    /// What of that part was in memory before.
    pub before_bytes: u64,
    /// What the group was charged with before; `None` without the memory controller.
    pub charged_bytes: Option<u64>,
    pub part: out::Part,
}

impl Group {
    /// What returns touched is not known any more.
    fn forget(&mut self) {
        self.live.iter_mut().for_each(|process| process.heats = hot_set::Heats::default());
    }

    /// The last scan, when nothing was moved since: the app has not run in front nor been written out.
    pub(crate) fn fresh_scan(&self) -> Option<&Scan> {
        let since_ns = self.left_ns.max(self.written_ns.unwrap_or(0));
        self.scan.as_ref().filter(|scan| scan.at_ns >= since_ns && self.out.is_none())
    }
}

#[derive(Debug)]
pub struct Mars;

impl Engine for Mars {
    const NAME: &'static str = NAME;
    // On a whole device with memory full no gain was measured, and longer waits where memory is tight.
    const BY_DEFAULT: bool = false;
    type Config = Config;
    type State = State;
    type Learned = Learned;
    type Measured = ();

    fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
        match config.mode {
            Mode::Adaptive => adaptive::decide(config, state, observed),
            Mode::Paper => paper::decide(config, state, observed),
        }
    }

    fn uses(_config: &Config) -> Uses {
        Uses { activities: true, memory: true, returns: true, worker: true, keeper: true, ..Uses::default() }
    }

    fn trial(config: &Config) -> Option<Plan> {
        // What was taken from apps is away for a while after.
        let (span, figure) = (Span::Time { block_s: 1_800, wash_out_s: 300 }, Figure::StallShare);
        let plan = Plan { scope: Scope::Machine, span, figure, learn: 2 };
        (config.mode == Mode::Adaptive).then_some(plan)
    }

    fn devices(config: &mut Config, devices: &[Device]) {
        config.know(devices);
    }

    fn wear(config: &mut Config, wear: SwapWrites) {
        config.wear = wear;
    }

    fn begin(_config: &Config, learned: Learned) -> State {
        State { learned, ..State::default() }
    }

    fn learned(state: &mut State) -> Option<&mut Learned> {
        Some(&mut state.learned)
    }

    fn forgotten(state: &mut State, app: Option<&str>) {
        let groups = state.groups.values_mut();
        groups.filter(|group| app.is_none_or(|app| id_of(&group.id) == app)).for_each(Group::forget);
    }

    fn show(config: &Config, state: &State, topic: Topic<'_>) -> Option<Shown> {
        match topic {
            Topic::Pages(observed) => Some(Shown::Pages(survey::survey(config, state, observed))),
            _ => None,
        }
    }

    fn frozen(state: &mut State) -> Option<&mut BTreeMap<String, u64>> {
        Some(&mut state.frozen)
    }
}

#[cfg(test)]
mod tests;
