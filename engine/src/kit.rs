//! What all engines share.
//!
//! - [`Engine`]: the shape of an engine: pure functions of configuration, state and observation. [`Running`] is one at
//!   work, and [`AnyEngine`] the same without its types, for the daemon.
//! - [`check`]: [`Mode`], and checks of configurations; [`Section`] is the configuration of one engine.
//! - [`learned`]: what is kept over restarts: the version of its text, apps of which the one used longest ago makes
//!   room.
//! - [`predict`]: which apps are likely to be used next.
//! - [`wear`]: how much all engines together may write to swap.
//! - [`back_off`]: what does not help is left alone, for longer each time.
//! - `world`: snapshots, apps and steps for tests.
//!
//! Pure: uses `core` alone, reads no file and no clock.
//!
//! Properties: `a_clock_that_runs_backwards_voids_all_but_what_was_learned`; `what_was_learned_goes_out_and_in_again`;
//! `an_engine_that_ends_leaves_nothing_frozen`.

pub mod back_off;
pub mod check;
pub mod learned;
pub mod predict;
pub mod wear;
#[cfg(test)]
pub mod world;

use std::collections::BTreeMap;
use std::fmt::Debug;

use brisk_core::action::Once;
use brisk_core::decision::{Decision, Objective, Observed, Request, Uses};
use brisk_core::device::Device;
use brisk_core::reason::Reason;
use brisk_core::survey::{Shown, SwapWrites, Topic};
use brisk_core::trial::{Plan, Subject, Told};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use back_off::BackOff;
pub use check::{Invalid, Mode, Section};
pub use learned::{Apps, Learned, Version};

/// Nanoseconds of a second.
pub const S_NS: u64 = 1_000_000_000;

/// Lets these groups run again, each for its reason.
pub fn thaw(frozen: &mut BTreeMap<String, u64>, groups: Vec<(String, &'static str)>) -> Vec<Request> {
    frozen.retain(|group, _| !groups.iter().any(|(thawed, _)| thawed == group));
    let request = |(group, rule)| Request::once(Once::Thaw { group }, Objective::Delay, Reason::rule(rule));
    groups.into_iter().map(request).collect()
}

/// An engine: what it requests is a function of what it sees. Same inputs, same decision.
pub trait Engine: 'static {
    /// Its name in configurations and records.
    const NAME: &'static str;
    /// Whether it runs where the configuration names no engine.
    const BY_DEFAULT: bool = true;
    /// Its section of the configuration.
    type Config: Section;
    /// Its memory between two calls.
    type State: Default;
    /// What of that is kept over restarts; `()` for an engine that learns nothing.
    type Learned: Learned;
    /// What was measured on a device for it, in a file of its own; `()` for an engine that takes none.
    type Measured: DeserializeOwned;

    /// Its requests, what it needs next and when.
    fn decide(config: &Self::Config, state: Self::State, observed: &Observed<'_>) -> Decision<Self::State>;

    /// What it uses for as long as it runs.
    fn uses(_config: &Self::Config) -> Uses {
        Uses::default()
    }

    /// How it is tried whether it pays; `None`: it acts whatever comes of it, as a mode that follows a paper does.
    fn trial(_config: &Self::Config) -> Option<Plan> {
        None
    }

    /// The same of what it does between two launches of an app ([`Once::MakeReady`]), with the name of that trial.
    fn trial_ahead(_config: &Self::Config) -> Option<(&'static str, Plan)> {
        None
    }

    /// What it has to say of its trials after a call: of which subjects the episode that ends does not count, and which
    /// begin anew.
    fn told(_state: &Self::State) -> Vec<(Subject, Told)> {
        Vec::new()
    }

    /// No person has named it: what takes that is switched off.
    fn unnamed(_config: &mut Self::Config) {}

    /// Takes in what was measured on a device.
    ///
    /// # Errors
    /// When it cannot be used.
    fn measured(_config: &mut Self::Config, _measured: Self::Measured) -> Result<(), String> {
        Ok(())
    }

    /// Takes in which devices there are: those that it works with, and how fast they are.
    fn devices(_config: &mut Self::Config, _devices: &[Device]) {}

    /// Takes in what all engines have written to swap, and what may still be.
    fn wear(_config: &mut Self::Config, _wear: SwapWrites) {}

    fn begin(_config: &Self::Config, _learned: Self::Learned) -> Self::State {
        Self::State::default()
    }

    /// What it has learned; `None` for an engine that learns nothing.
    fn learned(_state: &mut Self::State) -> Option<&mut Self::Learned> {
        None
    }

    /// An app is forgotten, or all are: what the state has of them beside what was learned goes.
    fn forgotten(_state: &mut Self::State, _app: Option<&str>) {}

    /// What it knows of a topic, for people.
    fn show(_config: &Self::Config, _state: &Self::State, _topic: Topic<'_>) -> Option<Shown> {
        None
    }

    /// Groups that it froze: they are thawed before it ends.
    fn frozen(_state: &mut Self::State) -> Option<&mut BTreeMap<String, u64>> {
        None
    }
}

/// An engine at work, whichever it is.
pub trait AnyEngine {
    /// What it uses for as long as it runs.
    fn uses(&self) -> Uses;
    /// Takes in what all engines have written to swap, and what may still be.
    fn wear(&mut self, _wear: SwapWrites) {}
    fn decide(&mut self, observed: &Observed<'_>) -> Decision<()>;
    /// How it is tried whether it pays.
    fn trial(&self) -> Option<Plan>;
    /// The same of what it does between two launches of an app, with the name of that trial.
    fn trial_ahead(&self) -> Option<(&'static str, Plan)> {
        None
    }
    /// What it has to say of its trials after a call.
    fn told(&self) -> Vec<(Subject, Told)>;
    /// What it has learned, as a text for a file; `None` for an engine that learns nothing.
    fn learned(&mut self) -> Option<String>;
    /// Forgets what it has learned of an app, or all. Says whether there was anything.
    fn forget(&mut self, app: Option<&str>) -> bool;
    fn show(&self, topic: Topic<'_>) -> Option<Shown>;
    /// Edges that undo what lasts, before it is dropped or rests.
    fn end(&mut self) -> Vec<Once>;
}

/// One engine with its configuration and state.
#[derive(Debug)]
pub struct Running<E: Engine> {
    /// Its configuration, with what was measured.
    pub config: E::Config,
    /// Its memory since the last call.
    pub state: E::State,
    /// When that was, CLOCK_MONOTONIC.
    at_ns: u64,
}

/// A file that cannot be used, and is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// By folder and name.
    pub file: String,
    /// A sentence.
    pub why: String,
}

impl<E: Engine> Running<E> {
    /// One that has learned what `files` hold (texts by folder and name, such as `iram/learned.json`), with complaints
    /// about those that cannot be used: they are left out.
    #[must_use]
    pub fn new(mut config: E::Config, files: &BTreeMap<String, String>, unusable: &mut Vec<Unusable>) -> Self {
        let own = files.iter().filter(|(name, _)| name.split('/').next() == Some(E::NAME));
        for (name, text) in own.filter(|(name, _)| !learned::is_learned(name)) {
            let of = if name.ends_with(".json") {
                serde_json::from_str(text).map_err(|error| error.to_string())
            } else {
                toml::from_str(text).map_err(|error| error.to_string())
            };
            let taken = of.and_then(|of| E::measured(&mut config, of));
            if let Err(error) = taken {
                let why = format!("the profile {name} cannot be used and is left out: {error}");
                unusable.push(Unusable { file: name.clone(), why });
            }
        }
        let learned = files.get(&learned::file_of(E::NAME)).map(|text| serde_json::from_str(text)).transpose();
        let learned = learned.unwrap_or_else(|error| {
            let name = E::NAME;
            let why = format!("what {name} has learned cannot be used, so it begins anew: {error}");
            unusable.push(Unusable { file: learned::file_of(name), why });
            None
        });
        let state = E::begin(&config, learned.unwrap_or_default());
        Self { config, state, at_ns: 0 }
    }
}

impl<E: Engine> AnyEngine for Running<E> {
    fn uses(&self) -> Uses {
        E::uses(&self.config)
    }

    fn wear(&mut self, wear: SwapWrites) {
        E::wear(&mut self.config, wear);
    }

    fn decide(&mut self, observed: &Observed<'_>) -> Decision<()> {
        let mut state = std::mem::take(&mut self.state);
        // A clock that runs backwards means another boot: all but what was learned is void.
        if observed.now.at_ns < self.at_ns {
            let learned = E::learned(&mut state).map(std::mem::take).unwrap_or_default();
            state = E::begin(&self.config, learned);
        }
        self.at_ns = observed.now.at_ns;
        E::devices(&mut self.config, observed.devices);
        let Decision { state, requests, notes, next_look_ns, needs } = E::decide(&self.config, state, observed);
        self.state = state;
        Decision { state: (), requests, notes, next_look_ns, needs }
    }

    fn trial(&self) -> Option<Plan> {
        E::trial(&self.config)
    }

    fn trial_ahead(&self) -> Option<(&'static str, Plan)> {
        E::trial_ahead(&self.config)
    }

    fn told(&self) -> Vec<(Subject, Told)> {
        E::told(&self.state)
    }

    fn learned(&mut self) -> Option<String> {
        E::learned(&mut self.state).map(|learned| text_of(learned))
    }

    fn forget(&mut self, app: Option<&str>) -> bool {
        E::forgotten(&mut self.state, app);
        E::learned(&mut self.state).is_some_and(|learned| learned.forget(app))
    }

    fn show(&self, topic: Topic<'_>) -> Option<Shown> {
        E::show(&self.config, &self.state, topic)
    }

    fn end(&mut self) -> Vec<Once> {
        let frozen = E::frozen(&mut self.state).map(std::mem::take).unwrap_or_default();
        frozen.into_keys().map(|group| Once::Thaw { group }).collect()
    }
}

/// What an engine has learned, as a text, without what it knows of an app; `None` when it knows nothing of that app.
///
/// # Errors
/// When the text cannot be understood.
pub fn without<E: Engine>(text: &str, app: &str) -> Result<Option<String>, serde_json::Error> {
    let mut learned: E::Learned = serde_json::from_str(text)?;
    Ok(learned.forget(Some(app)).then(|| text_of(&learned)))
}

fn text_of(learned: &(impl Serialize + Debug)) -> String {
    serde_json::to_string(learned).expect("maps with texts as keys are JSON")
}

#[cfg(test)]
mod tests;
