//! SmartStorage: the scheduler and queue depth of least cost for the present workload (dissertation, chapter 3).
//!
//! The counters of the kernel show the requests of apps; the best setting for each of some workloads was measured
//! before. The engine matches the present pattern with the patterns of a table, and requests the setting of the best
//! match.
//!
//! - [`paper`] does what the dissertation does: once a minute, by one number, the rate proportion, with its table of
//!   eight benchmarks.
//! - [`adaptive`] matches within two seconds, over all counters, with a [`Model`] that `brisk profile`
//!   measured on the device; it recognises unknown patterns, and rolls back a switch that regressed.
//!
//! Terms: a *pattern* is what a device is asked for in a second ([`pattern::Pattern`]); a *setting* is a scheduler and
//! a queue depth, and perhaps read-ahead and throttling ([`Setting`]); the *cost* of a setting is its energy or delay
//! over that of the device's own setting.
//!
//! Properties, each with a test: `nearest_proportion_gives_18_of_the_20_published_rows`;
//! `an_unknown_pattern_gets_no_request_where_no_setting_is_safe`; `it_never_flaps`;
//! `a_regressing_switch_is_rolled_back_and_remembered`; `same_inputs_give_the_same_decision`.

pub mod adaptive;
mod config;
pub mod model;
pub mod paper;
pub mod pattern;
mod setting;
mod state;

pub use crate::kit::Engine;
use brisk_core::decision::{Decision, Observed};
use brisk_core::trial::{Figure, Plan, Scope, Span};

pub use config::{Config, Mode};
pub use model::Model;
pub use setting::Setting;
pub use state::State;

/// Name of this engine in configurations and records.
pub const NAME: &str = "smartstorage";

#[derive(Debug)]
pub struct Smartstorage;

impl Engine for Smartstorage {
    const NAME: &'static str = NAME;
    type Config = Config;
    type State = State;
    type Learned = ();
    type Measured = Model;

    fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
        match config.mode {
            Mode::Paper => paper::decide(config, state, observed),
            Mode::Adaptive => adaptive::decide(config, state, observed),
        }
    }

    fn trial(config: &Config) -> Option<Plan> {
        let (span, figure) = (Span::Load { most_s: 60 }, Figure::BusyTime);
        let plan = Plan { scope: Scope::Disk, span, figure, learn: 1 };
        (config.mode == Mode::Adaptive).then_some(plan)
    }

    fn measured(config: &mut Config, model: Model) -> Result<(), String> {
        model.check().map_err(|error| error.to_string())?;
        config.models.push(model);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
