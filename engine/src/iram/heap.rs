//! How much memory an app will need, and the threshold above it.
//!
//! A limit below what an app needs ends it or makes it swap; a limit far above protects no other app from a leak. So
//! the threshold follows the need: the prediction for the next sample, and a margin (dissertation 5.4). *Need* is heap:
//! anonymous pages in memory and in swap. *Head-room* is threshold / need - 1. A *run* lasts from a launch to the end
//! of the app.
//!
//! One [`Heap`] serves all apps. Time is that of the samples, CLOCK_MONOTONIC. What is learned is kept by serde: below
//! 2 KiB of JSON an app in `mode = "adaptive"`, below 5 KiB in `mode = "paper"`, which keeps eleven traces; and
//! [`APPS_MAX`] apps at most.
//!
//! - `arx`, `least_squares`, `cross_validation`: equation 5.1, its coefficients, its orders;
//! - `threshold`: equation 5.3 and `mode = "paper"`;
//! - `curve`, `margin`, `adaptive`: `mode = "adaptive"`.
//!
//! Properties, each with a test of the same name:
//! - `a_threshold_is_never_below_the_present_need`, whatever the samples;
//! - `the_same_samples_give_the_same_thresholds`;
//! - `what_is_kept_of_an_app_is_bounded`;
//! - `the_share_of_misses_is_what_was_asked_for`, also for needs that jump.

mod adaptive;
pub mod arx;
pub mod cross_validation;
mod curve;
pub mod least_squares;
mod margin;
pub mod threshold;

use std::collections::BTreeMap;

use brisk_core::app::{id_of, user_of};
use brisk_core::reason::Reason;
use serde::{Deserialize, Serialize};

use crate::iram::config::Mode;
use crate::kit::learned::to_make_room;

pub use margin::MISS_SHARE;

/// Threshold of an app of which nothing is known, in its first three seconds (dissertation 5.4.2: 128 MB).
pub const DEFAULT_BYTES: u64 = 128 << 20;
/// How long after a launch [`DEFAULT_BYTES`] is the threshold in [`Mode::Paper`] (dissertation 5.4.2).
pub const DEFAULT_FOR_NS: u64 = 3_000_000_000;
/// Apps of which something is kept: the one that was sampled longest ago is forgotten first.
pub const APPS_MAX: usize = 500;
const VERSION: u32 = 1;

/// What an app may use until its next sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Never below the present need.
    pub bytes: u64,
    /// The rule, and what it compared.
    pub reason: Reason,
}

/// What was learned of the needs of all apps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Kept", into = "Kept")]
pub struct Heap {
    mode: Mode,
    /// Of all apps, for those of which little is known.
    misses: margin::Misses,
    apps: BTreeMap<String, AppHeap>,
    /// Grows with each launch and first sample.
    uses: u64,
    miss_share: f64,
}

/// The form in which it is kept. Of another version, or without one, nothing is read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    version: u32,
    mode: Mode,
    misses: margin::Misses,
    apps: BTreeMap<String, AppHeap>,
    uses: u64,
}

impl From<Kept> for Heap {
    fn from(kept: Kept) -> Self {
        let empty = Self::new(kept.mode);
        if kept.version != VERSION {
            return empty;
        }
        Self { misses: kept.misses, apps: kept.apps, uses: kept.uses, ..empty }
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new(Mode::default())
    }
}

impl From<Heap> for Kept {
    fn from(heap: Heap) -> Self {
        Self { version: VERSION, mode: heap.mode, misses: heap.misses, apps: heap.apps, uses: heap.uses }
    }
}

/// One app. What belongs to the run that goes on is not kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct AppHeap {
    #[serde(skip_serializing_if = "Option::is_none")]
    adaptive: Option<adaptive::Learned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<threshold::Learned>,
    used: u64,
    #[serde(skip)]
    run: Option<Run>,
}

#[derive(Debug, Clone, PartialEq)]
struct Run {
    /// `None` when the launch was not seen.
    began_ns: Option<u64>,
    first_ns: Option<u64>,
    adaptive: adaptive::Run,
    paper: threshold::Run,
}

impl Run {
    fn new(began_ns: Option<u64>) -> Self {
        let (adaptive, paper) = (adaptive::Run::default(), threshold::Run::default());
        Self { began_ns, first_ns: None, adaptive, paper }
    }
}

impl Heap {
    /// Nothing learned yet.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode, misses: margin::Misses::default(), apps: BTreeMap::new(), uses: 0, miss_share: MISS_SHARE }
    }

    /// The app is launched: its samples until [`Heap::ended`] are one run. A run that went on has ended.
    pub fn launch_began(&mut self, app: &str, at_ns: u64) {
        self.ended(app);
        self.used(app).run = Some(Run::new(Some(at_ns)));
    }

    /// The same with another share of samples that may be missed, from 0 to 1, in [`Mode::Adaptive`].
    #[must_use]
    pub fn missing(self, miss_share: f64) -> Self {
        Self { miss_share: if (0.0..=1.0).contains(&miss_share) { miss_share } else { MISS_SHARE }, ..self }
    }

    /// The need of an app now; returns the threshold until its next sample. An app whose launch was not seen has a
    /// threshold, but no run that could be learned.
    pub fn sample(&mut self, app: &str, at_ns: u64, need_bytes: u64) -> Threshold {
        if self.apps.get(app).is_none_or(|of| of.run.is_none()) {
            self.used(app).run = Some(Run::new(None));
        }
        let Some(of) = self.apps.get_mut(app) else {
            return Threshold { bytes: need_bytes, reason: Reason::rule("heap_need") };
        };
        let run = of.run.get_or_insert_with(|| Run::new(None));
        let since_launch_ns = run.began_ns.map(|began_ns| at_ns.saturating_sub(began_ns));
        let first_ns = *run.first_ns.get_or_insert(at_ns);
        match self.mode {
            Mode::Adaptive => {
                let learned = of.adaptive.get_or_insert_default();
                let expected = run.adaptive.sample(
                    learned,
                    &mut self.misses,
                    self.miss_share,
                    (since_launch_ns, at_ns),
                    need_bytes,
                );
                if expected.is_default {
                    return default_threshold(need_bytes);
                }
                let reason = Reason::rule("heap_curve")
                    .word("situation", expected.situation.name())
                    .number("predicted_bytes", expected.predicted_bytes)
                    .number("margin_percent", expected.margin * 1e2);
                Threshold { bytes: expected.threshold_bytes, reason }
            }
            Mode::Paper => {
                let learned = of.paper.get_or_insert_default();
                // Without a launch the trace begins with the first sample, and the default has had its time.
                let since_ns = since_launch_ns.unwrap_or_else(|| at_ns.saturating_sub(first_ns));
                let (bytes, basis) = run.paper.sample(learned, since_ns, need_bytes);
                let reason = match basis {
                    threshold::Basis::Default => return default_threshold(need_bytes),
                    threshold::Basis::NoModel => Reason::rule("heap_default_raised"),
                    threshold::Basis::Model { order, predicted_bytes, rmse_bytes } => Reason::rule("heap_arx")
                        .number("p", order.past as f64)
                        .number("q", order.historical as f64)
                        .number("predicted_bytes", predicted_bytes)
                        .number("rmse_bytes", rmse_bytes),
                };
                Threshold { bytes, reason }
            }
        }
    }

    /// The most that the app is expected to need within this time after a launch: what is to be free before it. `None`
    /// for an app of which no run is known.
    #[must_use]
    pub fn predicted_peak(&self, app: &str, within_ns: u64) -> Option<u64> {
        let of = self.apps.get(app)?;
        match self.mode {
            Mode::Adaptive => of.adaptive.as_ref()?.peak_bytes(within_ns),
            Mode::Paper => of.paper.as_ref()?.peak_bytes(within_ns),
        }
    }

    /// The most that each app has needed, by its id, in the runs that are kept: of each the first five minutes, in
    /// [`Mode::Paper`] the first.
    pub fn peaks(&self) -> impl Iterator<Item = (&str, u64)> {
        self.predicted_peaks(u64::MAX)
    }

    /// The same within a time after the launch.
    pub fn predicted_peaks(&self, within_ns: u64) -> impl Iterator<Item = (&str, u64)> {
        self.apps.keys().filter_map(move |app| Some((app.as_str(), self.predicted_peak(app, within_ns)?)))
    }

    /// The app ended: its run is learned, if its launch was seen.
    pub fn ended(&mut self, app: &str) {
        let Some(of) = self.apps.get_mut(app) else { return };
        let Some(run) = of.run.take().filter(|run| run.began_ns.is_some()) else { return };
        match self.mode {
            Mode::Adaptive => of.adaptive.get_or_insert_default().learn(run.adaptive),
            Mode::Paper => of.paper.get_or_insert_default().learn(&run.paper),
        }
    }

    /// Forgets what was learned of an app.
    pub fn forget(&mut self, app: &str) {
        self.apps.retain(|owned_id, _| id_of(owned_id) != app);
    }

    /// The app, marked as used now; another one is forgotten when there are too many.
    fn used(&mut self, app: &str) -> &mut AppHeap {
        self.uses = self.uses.saturating_add(1);
        if !self.apps.contains_key(app) && self.apps.len() >= APPS_MAX {
            let all = self.apps.iter().map(|(owned_id, of)| (user_of(owned_id), owned_id, of.used, 1));
            let oldest = to_make_room(all).cloned();
            oldest.map(|owned_id| self.apps.remove(&owned_id));
        }
        let of = self.apps.entry(app.to_owned()).or_default();
        of.used = self.uses;
        of
    }
}

fn default_threshold(need_bytes: u64) -> Threshold {
    Threshold { bytes: need_bytes.max(DEFAULT_BYTES), reason: Reason::rule("heap_default") }
}

#[cfg(test)]
mod tests;
