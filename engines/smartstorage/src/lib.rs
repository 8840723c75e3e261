//! SmartStorage: which scheduler and queue depth cost least for what the storage is asked to do now (dissertation,
//! chapter 3).
//!
//! What apps ask of the storage shows in the counters of the kernel; which setting serves it best was measured before.
//! So the engine matches the pattern of now with the patterns of a table, and requests the setting of the best match.
//!
//! - [`paper`] does what the dissertation does: once a minute, by one number, the rate proportion, with its table of eight
//!   benchmarks.
//! - [`adaptive`] matches within two seconds, over all that the counters tell, with a [`Model`] that `brisk profile`
//!   measured on the device; it knows when it does not know, and takes back what made things worse.
//!
//! Terms: a *pattern* is what a device is asked for in a second ([`pattern::Pattern`]); a *setting* is a scheduler and a
//! queue depth, and perhaps read-ahead and throttling ([`Setting`]); the *cost* of a setting is its energy or delay over that of the device's own setting.
//!
//! Properties, each with a test: `nearest_proportion_gives_18_of_the_20_published_rows`; `a_pattern_like_none_gets_no_wish`;
//! `it_never_flaps`; `what_made_things_worse_is_taken_back_and_remembered`; `same_inputs_give_the_same_decision`.

pub mod adaptive;
mod config;
pub mod model;
pub mod paper;
pub mod pattern;
mod setting;
pub mod shipped;
mod state;

use brisk_core::decision::{Decision, Observed};

pub use config::{Config, ConfigError, Mode};
pub use model::Model;
pub use setting::Setting;
pub use state::State;

/// What to request for, given what was seen.
#[must_use]
pub fn decide(config: &Config, state: &State, observed: &Observed<'_>) -> Decision<State> {
    match config.mode {
        Mode::Paper => paper::decide(config, state, observed),
        Mode::Adaptive => adaptive::decide(config, state, observed),
    }
}

#[cfg(test)]
mod tests;
