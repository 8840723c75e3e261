//! Launch prefetch: what a launch will use of files is read ahead of it, in the order of the device, while the app computes.
//!
//! A cold launch reads its files by page faults: small reads, one after the other, as the app comes upon them, and read-ahead around each
//! brings in as much again that is not used. The reads of a launch are nearly the same each time. So they are learned, and asked for as
//! soon as the launch begins, deep and in long requests. (FAST, Joo et al., FAST '11; Paralfetch; the same for each app by its own files.)
//!
//! - [`learned`], [`history`]: which pages the launches of an app use. The first launch is *exact*: read-ahead of the kernel is off
//!   (a level, `queue/DEVICE/read_ahead_kb`), so that what is mapped is what was used.
//! - [`plan`]: what is read, in which order, and how much of it at once.
//! - [`proof`]: whether it pays; an app for which it does not is left alone.
//! - `launches`: launches that go on, from event to request; [`survey()`]: what is known, for people.
//!
//! Pure: what is observed comes in, a decision goes out. What a launch used is read by the caller for the groups that [`State::reads`] names,
//! and told by `LaunchUsed`.
//!
//! Reading ahead ends when the launch has ended, the app has gone, memory is short (available below a twentieth, or tasks stalled on it), or
//! the app *diverges*: it has itself read more from the device than the whole plan.
//!
//! Properties, each with a test of the same name:
//! - `the_same_inputs_give_the_same_decision`;
//! - `an_unknown_app_is_learned_exactly_and_its_next_launch_is_read_ahead`;
//! - `an_app_for_which_it_does_not_pay_is_left_alone`;
//! - `what_is_read_ahead_ends_with_the_launch`; `reading_ahead_ends_when_memory_is_short_or_the_app_diverges`;
//! - `windows_follow_each_other`; `nothing_of_a_launch_lasts`; `a_clock_that_runs_backwards_voids_all_but_what_was_learned`.

mod config;
pub mod history;
mod launches;
pub mod learned;
pub mod plan;
pub mod proof;
mod survey;

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::decision::{Decision, Observed};
use serde::{Deserialize, Serialize};

pub use config::{Config, Flash, Invalid, Mode};
pub use launches::Launch;
use learned::Learned;
pub use survey::{AppSurvey, Survey, survey};

/// Name of this engine in configurations and records.
pub const NAME: &str = "prefetch";

/// State between two calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// When it was made, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Latest time of the next call.
    pub look_ns: Option<u64>,
    /// What is worth keeping over restarts.
    pub learned: Learned,
    /// Launches that go on, or whose files are to be read, by group.
    pub launches: BTreeMap<String, Launch>,
    /// Groups of which the files that the launch used are to be read before the next call.
    pub reads: BTreeSet<String>,
}

impl State {
    /// A state that begins with what was learned before.
    #[must_use]
    pub fn with(learned: Learned) -> Self {
        Self { learned, ..Self::default() }
    }

    /// Forgets what was learned of an app. Says whether anything was known.
    pub fn forget(&mut self, app: &str) -> bool {
        self.launches.retain(|_, launch| launch.id != app);
        self.learned.forget(app)
    }

    /// Forgets all apps. Says whether anything was known.
    pub fn forget_all(&mut self) -> bool {
        self.launches.clear();
        self.learned.forget_all()
    }

    /// Latest time of the next call, CLOCK_MONOTONIC.
    #[must_use]
    pub fn next_look_ns(&self) -> Option<u64> {
        self.look_ns
    }

    /// Groups of which the files that the launch used are to be read before the next call.
    pub fn reads(&self) -> impl Iterator<Item = &str> {
        self.reads.iter().map(String::as_str)
    }

    /// Groups that are being launched and of which it is learned what they use: their opens are to be watched.
    pub fn watches(&self) -> impl Iterator<Item = &str> {
        self.launches.iter().filter(|(_, launch)| launch.learns).map(|(group, _)| group.as_str())
    }

    /// The state to go on with at `now_ns`. A clock that runs backwards means another boot: all but what was learned is void.
    fn at(self, now_ns: u64) -> Self {
        let kept = if now_ns < self.at_ns { Self::with(self.learned) } else { self };
        Self { at_ns: now_ns, ..kept }
    }
}

/// Decides. Same inputs, same decision.
#[must_use]
pub fn decide(config: &Config, state: &State, observed: &Observed<'_>) -> Decision<State> {
    go_on(config, state.clone(), observed)
}

/// The same for a caller that needs the former state no longer: what is learned is not copied.
#[must_use]
pub fn go_on(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
    launches::decide(config, state.at(observed.now.at_ns), observed)
}

#[cfg(test)]
mod tests;
