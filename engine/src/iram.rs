//! Memory for the app in front and for the apps that come next (dissertation, chapter 5 and "Advanced iRAM" in chapter
//! 6).
//!
//! Little free memory makes launches wait, and the kernel ends apps that the user comes back to. This engine frees
//! memory before it is needed, from where it costs least, and protects the likely next apps.
//!
//! - [`crate::kit::predict`]: which apps are likely next; the others may be ended first.
//! - [`heap`]: how much memory an app will need, and the threshold above it.
//! - [`importance`]: eight levels of apps; [`candidates`]: from which apps memory may be taken, in which order.
//! - [`launch`]: launches that may not fit; [`price`]: when an end is worth its cost.
//! - [`context`]: screen, idle, the app in front; [`schedule`]: when memory is freed, and how much; [`effect`]: whether
//!   that helped.
//! - `paper`, `adaptive`: the two modes; `limits`: limits of groups; [`learned`]: what is kept over restarts.
//! - `survey`: all of that for each app, for people.
//!
//! Pure: what is observed comes in, a decision goes out.
//!
//! Properties, each with a test of the same name:
//! - `the_same_inputs_give_the_same_decision`;
//! - `nothing_is_taken_from_a_protected_app`: in front and above, audible, inhibitor, by configuration, likely next,
//!   brisk itself;
//! - `nothing_is_taken_while_nothing_is_short`;
//! - `no_more_apps_end_in_a_minute_than_configured`;
//! - `an_app_ends_only_after_the_gentler_steps`;
//! - `while_the_screen_is_off_the_engine_sleeps`;
//! - `a_frozen_app_is_thawed_when_it_is_needed`;
//! - `what_does_not_help_is_left_alone`; `an_app_that_comes_back_at_once_ends_ends`.

mod adaptive;
pub mod candidates;
mod config;
pub mod context;
pub mod effect;
pub mod heap;
pub mod importance;
pub mod launch;
pub mod learned;
mod limits;
mod observe;
mod paper;
pub mod price;
pub mod schedule;
mod survey;

use std::collections::{BTreeMap, BTreeSet};

use crate::kit::predict::{Chance, Moment};
use crate::kit::{BackOff, Engine};
use brisk_core::action::Ends;
use brisk_core::decision::{Decision, Observed, Uses};
use brisk_core::knob::Knob;
use brisk_core::snapshot::Snapshot;
use brisk_core::survey::{Shown, SwapWrites, Topic};
use brisk_core::trial::{Figure, Plan, Scope, Span};
use serde::{Deserialize, Serialize};

use candidates::{Outlook, Step};
pub use config::{Config, Mode};
use context::Context;
use effect::Effect;
use learned::Learned;
use schedule::S_NS;

/// Name of this engine in configurations and records.
pub const NAME: &str = "iram";

/// First back-off of ends after an app came back at once; doubled each time, up to an hour.
const REGRET_S: u64 = 300;
const REGRET_MAX_S: u64 = 3_600;
/// Ends are left alone for this time after one was refused.
const REFUSED_NS: u64 = 15 * S_NS;

/// State between two calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// When it was made, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What user and device do.
    pub context: Context,
    /// What is worth keeping over restarts.
    pub learned: Learned,
    /// Groups of apps that run, by name.
    pub groups: BTreeMap<String, Known>,
    /// By how much available memory falls; below zero while it grows.
    pub falls_bytes_per_s: f64,
    /// Since when memory is short.
    pub short_since_ns: Option<u64>,
    pub short_ns: Option<u64>,
    /// When memory was taken last.
    pub freed_ns: Option<u64>,
    pub effect: Effect,
    /// Shares of the time for which tasks stalled on memory.
    pub stalls: Stalls,
    /// Time that apps have waited since they lack memory.
    pub paid: price::Paid,
    /// Steps that are not done again to a group until then.
    #[serde(with = "pairs")]
    pub waits: BTreeMap<(String, Step), u64>,
    /// Groups that this engine froze, and when.
    pub frozen: BTreeMap<String, u64>,
    /// Apps that this engine ended.
    pub ends: Ended,
    /// Paper: when memory was checked.
    pub checked_ns: Option<u64>,
    /// Limits that the kernel refused: not requested again until the configuration is another one.
    pub refused: BTreeSet<Knob>,
}

/// A group of an app that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Known {
    pub id: String,
    /// When its launch began that goes on.
    pub launch_began_ns: Option<u64>,
    /// Memory that was available then.
    pub launch_available_bytes: u64,
    /// How its memory grows, while its launch goes on.
    pub growth: launch::Growth,
    /// The threshold above its predicted need.
    pub threshold_bytes: Option<u64>,
    /// When reclaim of its group was refused last.
    pub reclaim_refused_ns: Option<u64>,
}

/// Apps that this engine ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ended {
    /// Times of the last minute.
    pub at_ns: Vec<u64>,
    /// Groups that were asked to end and are still there.
    pub pending: BTreeMap<String, Pending>,
    /// Ids of apps that were ended in the last minute.
    pub lately: BTreeMap<String, u64>,
    /// Apps came back at once: nothing is ended while this is on but what costs less than it spares ([`price`]).
    pub regrets: BackOff,
    /// Nothing is ended until then, since an end was refused.
    pub refused_until_ns: Option<u64>,
}

/// Shares of the time for which tasks stalled on memory, of a second: rounds follow each other within less during a
/// launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stalls {
    pub some_percent: f64,
    pub full_percent: f64,
}

impl Stalls {
    fn follow(&mut self, elapsed_ns: u64, some_percent: f64, full_percent: f64) {
        let weight = (elapsed_ns as f64 / S_NS as f64).min(1.0);
        self.some_percent += weight * (some_percent - self.some_percent);
        self.full_percent += weight * (full_percent - self.full_percent);
    }
}

/// A group that was asked to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pending {
    pub at_ns: u64,
    pub memory_bytes: u64,
    /// When what is left of it is killed.
    pub until_ns: u64,
}

impl Ended {
    /// An app is asked to end.
    fn began(&mut self, group: &str, id: &str, pending: Pending) {
        let at_ns = pending.at_ns;
        self.at_ns.push(at_ns);
        self.pending.insert(group.to_owned(), pending);
        self.lately.insert(id.to_owned(), at_ns);
    }

    /// The app is not asked after all: too many were, another program ends apps, or the app is in use by now.
    fn refused(&mut self, group: &str, now_ns: u64) {
        if let Some(pending) = self.pending.remove(group) {
            self.at_ns.retain(|at_ns| *at_ns != pending.at_ns);
            self.lately.retain(|_, at_ns| *at_ns != pending.at_ns);
        }
        self.refused_until_ns = Some(now_ns.saturating_add(REFUSED_NS));
    }

    fn was_refused(&self, now_ns: u64) -> bool {
        self.refused_until_ns.is_some_and(|until_ns| now_ns < until_ns)
    }
}

impl State {
    fn waits_for(&self, group: &str, step: Step) -> bool {
        self.waits.get(&(group.to_owned(), step)).is_some_and(|until_ns| self.at_ns < *until_ns)
    }

    /// What is expected of apps at this moment.
    fn outlook(&self, now: &Snapshot) -> Outlooks {
        let chances = self.learned.predictor.chances(Moment::at(now, now.at_ns, self.context.utc_offset_s));
        let by_id = |(rank, chance): (usize, &Chance<'_>)| {
            let relaunch_s = self.learned.relaunch_s(chance.app);
            (chance.app.to_owned(), Outlook { chance: chance.probability, rank: Some(rank), relaunch_s })
        };
        let of_others = self.groups.values().map(|known| &known.id);
        let mut by_id: BTreeMap<String, Outlook> = chances.iter().enumerate().map(by_id).collect();
        for id in of_others {
            if !by_id.contains_key(id) {
                let relaunch_s = self.learned.relaunch_s(id);
                by_id.insert(id.clone(), Outlook { chance: 0.0, rank: None, relaunch_s });
            }
        }
        Outlooks {
            likeliest: chances.iter().map(|chance| (chance.app.to_owned(), chance.probability)).collect(),
            by_id,
        }
    }
}

/// What is expected of apps.
struct Outlooks {
    by_id: BTreeMap<String, Outlook>,
    likeliest: Vec<(String, f64)>,
}

impl Outlooks {
    fn of(&self, id: &str) -> Outlook {
        self.by_id.get(id).copied().unwrap_or_default()
    }

    /// The likeliest next apps, with their chances.
    fn likeliest(&self, n: usize) -> impl Iterator<Item = (&str, f64)> {
        self.likeliest.iter().take(n).map(|(id, chance)| (id.as_str(), *chance))
    }
}

#[derive(Debug)]
pub struct Iram;

impl Engine for Iram {
    const NAME: &'static str = NAME;
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

    fn uses(config: &Config) -> Uses {
        let ends = Some((config.ends, config.ends_per_minute));
        Uses { activities: true, memory: true, worker: true, keeper: true, ends, ..Uses::default() }
    }

    fn trial(config: &Config) -> Option<Plan> {
        // What was taken from apps is away for a while after.
        let (span, figure) = (Span::Time { block_s: 1_800, wash_out_s: 300 }, Figure::StallShare);
        let plan = Plan { scope: Scope::Machine, span, figure, learn: 2 };
        (config.mode == Mode::Adaptive).then_some(plan)
    }

    fn unnamed(config: &mut Config) {
        // What an app loses by its end is not in the figure of the trial: a person has to want that.
        if config.ends == Ends::Auto {
            config.ends = Ends::Never;
        }
        // What goes to swap is waited for at returns, and on a whole device no gain of it was measured.
        config.reclaim = false;
    }

    fn wear(config: &mut Config, wear: SwapWrites) {
        config.wear = wear;
    }

    fn begin(config: &Config, learned: Learned) -> State {
        State { learned: learned.for_mode(config.mode), ..State::default() }
    }

    fn learned(state: &mut State) -> Option<&mut Learned> {
        Some(&mut state.learned)
    }

    fn show(config: &Config, state: &State, topic: Topic<'_>) -> Option<Shown> {
        match topic {
            Topic::Memory(observed) => Some(Shown::Memory(survey::survey(config, state, observed))),
            _ => None,
        }
    }

    fn frozen(state: &mut State) -> Option<&mut BTreeMap<String, u64>> {
        Some(&mut state.frozen)
    }
}

/// A map whose keys are pairs, as a list: texts alone are keys in JSON.
mod pairs {
    use super::{BTreeMap, Deserialize, Step};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<(String, Step), u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<(String, Step), u64>, D::Error> {
        Vec::<((String, Step), u64)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
