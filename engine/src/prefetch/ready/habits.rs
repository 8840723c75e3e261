//! What is kept over restarts to make apps ready: which apps are used when, and what was read today.

use brisk_core::app::Role;
use brisk_core::decision::Observed;
use brisk_core::event::EventKind;
use serde::{Deserialize, Serialize};

use crate::kit::Mode;
use crate::kit::predict::{Moment, Note, Predictor, Repeats, Use};

const DAY_MS: u64 = 86_400_000;

/// A use of an app is that it came to the foreground; where the system does not tell what is in front, its launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Habits {
    predictor: Predictor,
    /// The day of the budget, since 1970 in UTC, and what was read on it.
    day: u64,
    read_bytes: u64,
}

impl Default for Habits {
    fn default() -> Self {
        // An app that ended may be the next one again.
        Self { predictor: Predictor::new(Mode::Adaptive, Repeats::Kept), day: 0, read_bytes: 0 }
    }
}

impl Habits {
    /// Forgets an app, or all. Says whether it was known.
    pub fn forget(&mut self, app: Option<&str>) -> bool {
        match app {
            Some(id) => self.predictor.forget(id),
            // What was read today stays: otherwise forgetting would be a way around the budget.
            None => {
                let new = Self::default().predictor;
                std::mem::replace(&mut self.predictor, new.clone()) != new
            }
        }
    }

    pub(super) fn take(&mut self, observed: &Observed<'_>, utc_offset_s: Option<i32>) {
        let tells_front = observed.apps.iter().any(|app| app.activity.focused.is_some());
        let app = |group: &str| observed.apps.iter().find(|app| app.group == group && app.activity.role == Role::App);
        for event in observed.events {
            let at = Moment::at(observed.now, event.at_ns, utc_offset_s);
            let used = match &event.kind {
                EventKind::LaunchBegan { group } if !tells_front => app(group),
                EventKind::Focused { group } => app(group),
                EventKind::Screen { on: true } => {
                    self.predictor.note(at, Note::Unlocked);
                    None
                }
                _ => None,
            };
            if let Some(app) = used {
                self.predictor.observe(&Use { app: &app.owned_id(), at });
            }
        }
    }

    /// Each app that may be next with its chance, the likeliest first.
    pub(super) fn chances(&self, now: Moment) -> impl Iterator<Item = (&str, f64)> {
        self.predictor.chances(now).into_iter().map(|chance| (chance.app, chance.probability))
    }

    /// What was read on the day of this time.
    #[must_use]
    pub fn read_bytes(&self, now_unix_ms: u64) -> u64 {
        if self.day == now_unix_ms / DAY_MS { self.read_bytes } else { 0 }
    }

    pub(super) fn spend(&mut self, now_unix_ms: u64, read_bytes: u64) {
        self.read_bytes = self.read_bytes(now_unix_ms).saturating_add(read_bytes);
        self.day = now_unix_ms / DAY_MS;
    }
}
