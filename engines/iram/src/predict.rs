//! Which apps are likely to be used next, so that they are protected and others are ended first.
//!
//! ```text
//! Use (app, when) ─> Predictor::observe ─> history, weights          Note (unlock, notification) ─> Predictor::note
//! Moment ─> Predictor::next ─> the n likeliest apps, each with its chance      Predictor::chance_within: return before a time
//! ```
//!
//! Two modes: [`Mode::Paper`] is prediction by partial matching (dissertation 5.5, `ppm.rs`); [`Mode::Adaptive`] mixes experts with weights
//! that it learns from each launch. The caller tells the time; nothing here reads a clock.

use serde::{Deserialize, Serialize};

/// How many next apps the dissertation protects (5.6.3).
pub const NEXT_APPS: usize = 9;

/// How the next app is predicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A mixture of experts whose weights are learned from each launch.
    #[default]
    Adaptive,
    /// Prediction by partial matching, as published.
    Paper,
}

/// Whether an app may follow itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// A use of the app in front is no new use, and that app is never predicted: what a killer of background apps asks for.
    #[default]
    Collapsed,
    /// Each use counts, and the app in front may be the next one too.
    Kept,
}

/// A time, as the caller reads it from its clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Unix time, ms. A time before that of the last use counts as that.
    pub at_unix_ms: u64,
    /// Local time: minutes since Monday 00:00, below 10,080. `None`: the time zone is unknown, and UTC is used.
    pub local_minute_of_week: Option<u16>,
}

/// An app came to the foreground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use<'a> {
    /// Its id, such as `org.gnome.Evince`; the same at each use.
    pub app: &'a str,
    /// When.
    pub at: Moment,
}

/// Something that tells of the next use. All are optional: without them predictions are a little worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// The device was unlocked, or its screen was switched on by the user.
    Unlocked,
    /// An app asks for attention.
    Notified {
        /// Its id, as in [`Use`].
        app: &'a str,
    },
}

/// An app, and how likely it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance<'a> {
    /// Its id.
    pub app: &'a str,
    /// That it is the next app, from 0 to 1; over all known apps they sum up to 1 less the chance of an app never used before.
    pub probability: f64,
}

/// Learns from uses, and predicts the next ones.
///
/// Its serde form is what a caller stores: at most 256 KiB as JSON. A form that is damaged or of a later version is an error
/// of the deserializer: the caller then begins with a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predictor {
    mode: Mode,
    repeats: Repeats,
    /// Most recently used last.
    recent: Vec<String>,
}

impl Predictor {
    /// One that knows no app.
    #[must_use]
    pub fn new(mode: Mode, repeats: Repeats) -> Self {
        Self { mode, repeats, recent: Vec::new() }
    }

    /// Its mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Learns that an app was brought to the foreground.
    pub fn observe(&mut self, used: &Use<'_>) {
        self.recent.retain(|app| app != used.app);
        self.recent.push(used.app.to_owned());
    }

    /// Learns something that tells of the next use.
    pub fn note(&mut self, _at: Moment, _note: Note<'_>) {}

    /// The `n` likeliest next apps, the likeliest first: fewer only where fewer are known. None stands twice.
    #[must_use]
    pub fn next(&self, now: Moment, n: usize) -> Vec<Chance<'_>> {
        let mut all = self.chances(now);
        all.truncate(n);
        all
    }

    /// All known apps that may be next, the likeliest first.
    #[must_use]
    pub fn chances(&self, _now: Moment) -> Vec<Chance<'_>> {
        let skipped = usize::from(self.repeats == Repeats::Collapsed);
        let others = self.recent.iter().rev().skip(skipped);
        let share = |rank: usize| 0.5_f64.powi(i32::try_from(rank).unwrap_or(i32::MAX).saturating_add(1));
        others.enumerate().map(|(rank, app)| Chance { app, probability: share(rank) }).collect()
    }

    /// The chance that an app that is not in front is used within `horizon_s` from now, from 0 to 1; 0 for an unknown app.
    #[must_use]
    pub fn chance_within(&self, app: &str, now: Moment, horizon_s: f64) -> f64 {
        let chance = self.chances(now).into_iter().find(|chance| chance.app == app);
        chance.map_or(0.0, |chance| 1.0 - (1.0 - chance.probability).powf(horizon_s.max(0.0) / 60.0))
    }

    /// Forgets an app: whatever was learned of it alone, and its uses. Says whether it was known.
    pub fn forget(&mut self, app: &str) -> bool {
        let before = self.recent.len();
        self.recent.retain(|known| known != app);
        self.recent.len() < before
    }

    /// Forgets all.
    pub fn forget_all(&mut self) {
        *self = Self::new(self.mode, self.repeats);
    }
}
