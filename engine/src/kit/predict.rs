//! Which apps are likely to be used next, so that memory is kept or made ready for them and others are ended first.
//!
//! ```text
//! Use (app, when) ─> Predictor::observe ─> history, weights          Note (unlock, notification) ─> Predictor::note
//! Moment ─> Predictor::next ─> the n likeliest apps, each with its chance
//!           Predictor::chance_within ─> chance of a return before a time
//! ```
//!
//! Two modes: [`Mode::Paper`] is prediction by partial matching (dissertation 5.5, `ppm.rs`); [`Mode::Adaptive`] mixes
//! experts with weights that it learns from each launch (`mixture.rs`, `experts.rs`). Both remember the same bounded
//! history (`history.rs`), and both tell the chance that an app returns within a time (`returns.rs`). The caller tells
//! the time; nothing here reads a clock.
//!
//! Properties, each with a test of the same name:
//! - `the_same_uses_give_the_same_prediction`;
//! - `a_prediction_has_at_most_n_apps_none_twice_and_not_the_one_in_front`;
//! - `chances_lie_between_0_and_1_and_sum_up_to_at_most_1`;
//! - `years_of_500_apps_stay_below_256_kib`, and `a_stored_predictor_goes_on_as_before`;
//! - `a_state_that_is_damaged_or_newer_is_an_error`, and `any_bytes_are_an_error_or_a_predictor_and_no_panic`;
//! - `a_forgotten_app_leaves_no_trace`.

mod experts;
mod history;
mod mixture;
mod ppm;
mod returns;
mod saved;
mod start;

use brisk_core::app::id_of;
use brisk_core::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

use crate::kit::Mode;

use history::{Here, History};
use mixture::{Forecast, Mixture};
use returns::Hazards;
pub use saved::StateError;

/// How many next apps the dissertation protects (5.6.3).
pub const NEXT_APPS: usize = 9;

/// Whether an app may follow itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// A use of the app in front is no new use, and that app is never predicted: what a killer of background apps asks
    /// for.
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

impl Moment {
    /// The moment of the wall clock at which `at_ns` (CLOCK_MONOTONIC) was. Days and weeks are local where the system
    /// tells, otherwise those of UTC.
    #[must_use]
    pub fn at(now: &Snapshot, at_ns: u64, utc_offset_s: Option<i32>) -> Self {
        const MINUTES_A_DAY: i64 = 24 * 60;
        let ago_ms = now.at_ns.saturating_sub(at_ns) / 1_000_000;
        let at_unix_ms = now.wall_unix_ms.saturating_sub(ago_ms);
        let minute_of_week = |utc_offset_s: i32| {
            let local_s = (at_unix_ms / 1_000) as i64 + i64::from(utc_offset_s);
            // 1970-01-01 was a Thursday.
            (local_s.div_euclid(60) + 3 * MINUTES_A_DAY).rem_euclid(7 * MINUTES_A_DAY) as u16
        };
        Self { at_unix_ms, local_minute_of_week: utc_offset_s.map(minute_of_week) }
    }
}

/// An app came to the foreground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use<'a> {
    /// Its id, such as `org.gnome.Evince`; the same at each use.
    pub app: &'a str,
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
    pub app: &'a str,
    /// That it is the next app, from 0 to 1; over all known apps at most 1, since the next one may be an app never used
    /// before.
    pub probability: f64,
}

/// Longest id of an app: as long as the name of a file, and so of a control group, may be. A use of a longer one is
/// ignored.
pub const APP_BYTES_MAX: usize = 255;

/// Learns from uses, and predicts the next ones.
///
/// Its serde form is what a caller stores: at most 256 KiB as JSON with 500 apps and years of use. A form that is
/// damaged or of a later version is an error of the deserializer, after which the caller begins with a new predictor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "saved::Saved", into = "saved::Saved")]
pub struct Predictor {
    mode: Mode,
    repeats: Repeats,
    history: History,
    mixture: Mixture,
}

impl Predictor {
    /// One that knows no app.
    #[must_use]
    pub fn new(mode: Mode, repeats: Repeats) -> Self {
        Self { mode, repeats, history: History::default(), mixture: Mixture::default() }
    }

    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Learns that an app was brought to the foreground.
    pub fn observe(&mut self, used: &Use<'_>) {
        if used.app.len() > APP_BYTES_MAX || used.app.is_empty() {
            return;
        }
        let here = self.history.here(used.at);
        let known = self.history.find(used.app);
        if self.repeats == Repeats::Collapsed && known.is_some() && known == self.history.front() {
            self.history.still_in_front(here);
            return;
        }
        if let (Mode::Adaptive, Some(id)) = (self.mode, known) {
            let forecast = self.forecast(here);
            self.mixture.learn(&forecast, id);
        }
        self.history.add(used.app, here, experts::CANDIDATES_MAX);
    }

    /// Learns something that tells of the next use.
    pub fn note(&mut self, at: Moment, note: Note<'_>) {
        let Here { at_s, .. } = self.history.here(at);
        match note {
            Note::Unlocked => self.history.unlocked = true,
            Note::Notified { app } => {
                if let Some(id) = self.history.find(app) {
                    let app = &mut self.history.apps[usize::from(id)];
                    (app.notified_s, app.notes) = (Some(at_s), app.notes.saturating_add(1));
                }
            }
        }
    }

    /// The `n` likeliest next apps, the likeliest first: fewer only where fewer are known. None stands twice.
    #[must_use]
    pub fn next(&self, now: Moment, n: usize) -> Vec<Chance<'_>> {
        let mut ranked = self.ranked(now);
        ranked.truncate(n);
        self.named(ranked)
    }

    /// All known apps that may be next, the likeliest first.
    #[must_use]
    pub fn chances(&self, now: Moment) -> Vec<Chance<'_>> {
        self.named(self.ranked(now))
    }

    /// The chance that an app is used within `horizon_s` from now, from 0 to 1: 1 for the app in front where repeats
    /// are collapsed, and 0 for an unknown app.
    #[must_use]
    pub fn chance_within(&self, app: &str, now: Moment, horizon_s: f64) -> f64 {
        let history = &self.history;
        let Some(id) = history.find(app) else { return 0.0 };
        if self.excluded() == Some(id) {
            return 1.0;
        }
        let at_s = history.here(now).at_s;
        let away_s = |last_s: u64| at_s.saturating_sub(last_s);
        let open = history.apps.iter().map(|app| returns::bin(&returns::TIMES_S, away_s(app.last_s)));
        let hazards = Hazards::new(returns::TIMES_S, &history.returns.times, open);
        let app = &history.apps[usize::from(id)];
        hazards.within(&app.returns.times, away_s(app.last_s) as f64, horizon_s.max(0.0))
    }

    /// Forgets an app: its name, its uses, and what was counted of it. Says whether it was known. Weights of experts,
    /// which hold nothing of a single app, stay.
    pub fn forget(&mut self, app: &str) -> bool {
        let mut is_known = false;
        while let Some(id) = self.history.find_by(|owned_id| id_of(owned_id) == app) {
            self.history.forget(id);
            is_known = true;
        }
        is_known
    }

    /// The app that is never the next one.
    fn excluded(&self) -> Option<u16> {
        self.history.front().filter(|_| self.repeats == Repeats::Collapsed)
    }

    fn forecast(&self, here: Here) -> Forecast {
        let ranks = &self.mixture.ranks[here.context];
        let candidates = experts::candidates(&self.history, here, self.excluded(), ranks);
        self.mixture.forecast(here, candidates)
    }

    /// All apps that may be next with their chances, the likeliest first.
    fn ranked(&self, now: Moment) -> Vec<(u16, f32)> {
        let history = &self.history;
        if self.mode == Mode::Paper {
            return ppm::chances(history, self.excluded());
        }
        let here = history.here(now);
        let forecast = self.forecast(here);
        let others = history.recent.iter().filter(|&&id| Some(id) != self.excluded());
        let far: Vec<u16> = others.skip(experts::CANDIDATES_MAX).copied().collect();
        let known = 1.0 - history.new_chance();
        let away = if far.is_empty() { 0.0 } else { history.far_chance() };
        let mut ranked: Vec<(u16, f32)> =
            forecast.apps().map(|(id, chance)| (id, chance * known * (1.0 - away))).collect();
        let each = known * away / far.len().max(1) as f32;
        ranked.extend(far.into_iter().map(|id| (id, each)));
        // Stable: recency decides between equals.
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    fn named(&self, ranked: Vec<(u16, f32)>) -> Vec<Chance<'_>> {
        let named = |(id, chance): (u16, f32)| Chance {
            app: &self.history.apps[usize::from(id)].name,
            probability: f64::from(chance),
        };
        ranked.into_iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests;
