//! Launch prefetch: what a launch will use of files is read ahead of it, in the order of the device, while the app
//! computes.
//!
//! A cold launch reads its files by page faults: small reads, one after the other, as the app comes upon them, and
//! read-ahead around each brings in as much again that is not used. The reads of a launch are nearly the same each
//! time. So they are learned, and asked for as soon as the launch begins, deep and in long requests. (FAST, Joo et al.,
//! FAST '11; Paralfetch; the same for each app by its own files.)
//!
//! - [`learned`], [`history`]: which pages the launches of an app use. The first launch is *exact*: the kernel reads
//!   ahead little (a setting, `queue/DEVICE/read_ahead_kb`), so that what is mapped is nearly what was used. At 0 that
//!   launch would take 1.11 to 1.25 of the time. Where read-ahead costs less than another read (UFS), it stays;
//!   beside writes the first launches are left alone.
//! - [`plan`]: what is read, in which order, and how much of it at once.
//! - `launches`: launches that go on, from event to request; `survey`: what is known, for people.
//! - [`ready`]: the sets of likely next apps are read before they are launched.
//!
//! Pure: what is observed comes in, a decision goes out. What a launch used is read by the caller for the groups that
//! `Needs::launch_files` names, and told by `LaunchUsed`.
//!
//! Whether it pays for an app is tried by [`brisk_core::trial`]: in launches that are held out, what is requested here
//! is dropped.
//!
//! Reading ahead ends when the launch has ended, the app has gone, memory is short (available below a twentieth, or
//! tasks stalled on it), or the app *diverges*: it has itself read more from the device than the whole plan.
//!
//! Properties, each with a test of the same name:
//! - `the_same_inputs_give_the_same_decision`;
//! - `an_unknown_app_is_learned_exactly_and_its_next_launch_is_read_ahead`;
//! - `launches_beside_writes_are_left_alone_until_one_has_to_be_learned`;
//! - `where_read_ahead_costs_less_than_another_read_a_launch_is_learned_with_it`;
//! - `a_launch_that_tells_nothing_does_not_count`;
//! - `what_is_read_ahead_ends_with_the_launch`; `reading_ahead_ends_when_memory_is_short_or_the_app_diverges`;
//! - `windows_follow_each_other`; `nothing_of_a_launch_lasts`.

mod config;
pub mod history;
mod launches;
pub mod learned;
pub mod plan;
pub mod ready;
mod survey;

use std::collections::{BTreeMap, BTreeSet};

use crate::kit::Engine;
use brisk_core::app::id_of;
use brisk_core::decision::{Decision, Observed, Uses};
use brisk_core::device::Device;
use brisk_core::survey::{Shown, Topic};
use brisk_core::trial::{Figure, Plan, Scope, Span, Subject, Told};
use serde::{Deserialize, Serialize};

pub use config::{Config, Mode};
pub use launches::Launch;
use learned::Learned;
use ready::Ready;

/// Name of this engine in configurations and records.
pub const NAME: &str = "prefetch";

/// State between two calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// What is worth keeping over restarts.
    pub learned: Learned,
    /// Launches that go on, or whose files are to be read, by group.
    pub launches: BTreeMap<String, Launch>,
    /// Groups of which the files that the launch used are to be read before the next call.
    pub reads: BTreeSet<String>,
    /// What the last call has to say of trials, by app.
    pub told: BTreeMap<String, Told>,
    /// What is in memory before it is asked for.
    pub ready: Ready,
}

#[derive(Debug)]
pub struct Prefetch;

impl Engine for Prefetch {
    const NAME: &'static str = NAME;
    type Config = Config;
    type State = State;
    type Learned = Learned;
    type Measured = ();

    fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
        let mut decision = launches::decide(config, state, observed);
        ready::decide(config, &mut decision, observed);
        decision
    }

    fn uses(config: &Config) -> Uses {
        Uses { memory: true, worker: true, private: config.private.clone(), ..Uses::default() }
    }

    fn trial(config: &Config) -> Option<Plan> {
        let plan = Plan { scope: Scope::App, span: Span::Launch, figure: Figure::StorageWait, learn: 1 };
        (config.mode == Mode::Adaptive).then_some(plan)
    }

    fn trial_ahead(config: &Config) -> Option<(&'static str, Plan)> {
        let plan = Plan { scope: Scope::App, span: Span::Prepared, figure: Figure::StorageWait, learn: 0 };
        ready::reads(config).then_some((ready::NAME, plan))
    }

    fn told(state: &State) -> Vec<(Subject, Told)> {
        state.told.iter().map(|(id, told)| (Subject::App(id.clone()), *told)).collect()
    }

    fn devices(config: &mut Config, devices: &[Device]) {
        config.know(devices);
    }

    fn begin(_config: &Config, learned: Learned) -> State {
        State { learned, ..State::default() }
    }

    fn learned(state: &mut State) -> Option<&mut Learned> {
        Some(&mut state.learned)
    }

    fn forgotten(state: &mut State, app: Option<&str>) {
        state.launches.retain(|_, launch| app.is_some_and(|app| id_of(&launch.id) != app));
        state.ready.forget(app);
    }

    fn show(config: &Config, state: &State, topic: Topic<'_>) -> Option<Shown> {
        match topic {
            Topic::Launches => Some(Shown::Launches(survey::launches(config, state))),
            Topic::Totals => Some(Shown::Prefetched(survey::totals(config, state))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
