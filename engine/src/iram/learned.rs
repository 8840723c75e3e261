//! What is learned of apps, over launches, days and restarts: the only part of the state that is worth keeping in a
//! file.
//!
//! Apps are known by user and id. The caller keeps the serde form; it holds no time of a clock that begins anew with
//! the machine. Which apps a person uses, and when, is in it: [`crate::kit::Learned::forget`] removes an app.
//!
//! Properties: `what_is_kept_is_read_back_and_forgotten_on_request`; `the_text_stays_small`.

use crate::kit::{Apps, Mode, Version};
use serde::{Deserialize, Serialize};

use crate::iram::heap::Heap;
use crate::kit::predict::{Predictor, Repeats};

/// Weight of the newest launch in the mean.
const NEWEST: f64 = 0.3;
/// Most apps of which relaunches are known; the one that was launched longest ago makes room.
const RELAUNCHES_MAX: usize = 500;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// First, so that a later form is refused for its version, not for what it has.
    version: Version<1>,
    /// Which apps come next.
    pub predictor: Predictor,
    /// How much memory apps need.
    pub heap: Heap,
    /// Mean time of a launch of each app, the newest launch with most weight.
    relaunches_s: Apps<f64>,
    /// Memory that was too little for a launch: the kernel ended the app, by id.
    lacked: Apps<u64>,
}

impl Default for Learned {
    fn default() -> Self {
        Self::new(Mode::default())
    }
}

impl crate::kit::Learned for Learned {
    fn forget(&mut self, app: Option<&str>) -> bool {
        let Some(id) = app else {
            let new = Self::new(self.predictor.mode());
            return std::mem::replace(self, new.clone()) != new;
        };
        let was_used = self.predictor.forget(id);
        self.heap.forget(id);
        self.lacked.forget(app);
        self.relaunches_s.forget(app) || was_used
    }
}

impl Learned {
    /// Nothing learned yet.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self {
            version: Version,
            predictor: Predictor::new(mode, Repeats::Collapsed),
            heap: Heap::new(mode),
            relaunches_s: Apps::default(),
            lacked: Apps::default(),
        }
    }

    /// The same for an engine of this mode: what another predictor learned is of no use, so then nothing is learned
    /// yet.
    #[must_use]
    pub fn for_mode(self, mode: Mode) -> Self {
        let new = Self::new(mode);
        if self.predictor.mode() == new.predictor.mode() { self } else { new }
    }

    /// Learns how long a launch took. Memory was enough for it.
    pub fn launched(&mut self, id: &str, elapsed_s: f64) {
        if !elapsed_s.is_finite() || elapsed_s < 0.0 {
            return;
        }
        self.lacked.forget(Some(id));
        let mean_s = self.relaunches_s.used(id, || elapsed_s);
        *mean_s += NEWEST * (elapsed_s - *mean_s);
        self.relaunches_s.bound(RELAUNCHES_MAX, |_| 0, 0);
    }

    /// Learns that a launch failed, since so much memory was too little for it.
    pub fn failed_with(&mut self, id: &str, available_bytes: u64) {
        self.lacked.make_room(id, RELAUNCHES_MAX);
        let lacked = self.lacked.used(id, || 0);
        *lacked = available_bytes.max(*lacked);
    }

    /// The most that an app is expected to need within this time after its launch; `None` for one of which no run is
    /// known. An app that the kernel ended during its launch is presumed to need twice what was too little: a part of
    /// that is files that are in use.
    #[must_use]
    pub fn peak_bytes(&self, id: &str, within_ns: u64) -> Option<u64> {
        let lacked = self.lacked.get(id).map(|bytes| bytes.saturating_mul(2));
        lacked.max(self.heap.predicted_peak(id, within_ns))
    }

    /// Mean time of the launches of an app.
    #[must_use]
    pub fn relaunch_s(&self, id: &str) -> Option<f64> {
        self.relaunches_s.get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::Learned as _;
    use crate::kit::learned::assert_keeps;

    use super::*;
    use crate::kit::predict::{Moment, Use};

    fn learned() -> Learned {
        let mut learned = Learned::default();
        for (at, id) in ["org.gnome.Evince", "mpv", "org.gnome.Evince", "gimp"].into_iter().enumerate() {
            let at = Moment { at_unix_ms: 1_795_312_800_000 + at as u64 * 60_000, local_minute_of_week: None };
            learned.predictor.observe(&Use { app: id, at });
            learned.heap.launch_began(id, 1);
            learned.heap.sample(id, 2_000_000_000, 50 << 20);
            learned.heap.ended(id);
            learned.launched(id, 2.0);
            learned.failed_with(id, 10 << 20);
        }
        learned
    }

    #[test]
    fn what_is_kept_is_read_back_and_forgotten_on_request() {
        let learned = learned();
        assert_keeps(&learned, "org.gnome.Evince");
        assert_eq!((learned.relaunch_s("mpv"), learned.relaunch_s("xterm")), (Some(2.0), None));
        assert_eq!(learned.for_mode(Mode::Paper), Learned::new(Mode::Paper));
    }

    #[test]
    fn what_was_too_little_for_a_launch_is_not_tried_again() {
        let mut learned = Learned::default();
        assert_eq!(learned.peak_bytes("gimp", 1), None);
        learned.failed_with("gimp", 100 << 20);
        learned.failed_with("gimp", 80 << 20);
        assert_eq!(learned.peak_bytes("gimp", 1), Some(200 << 20));
        learned.launched("gimp", 3.0);
        assert_eq!(learned.peak_bytes("gimp", 1), None, "it was enough at last");
        learned.failed_with("gimp", 100 << 20);
        learned.forget(Some("gimp"));
        assert_eq!(learned.peak_bytes("gimp", 1), None);
    }

    #[test]
    fn the_text_stays_small() {
        let mut learned = Learned::default();
        for launch in 0..2_000_u64 {
            learned.launched(&format!("org.example.App{launch}"), 1.0);
        }
        assert_eq!(learned.relaunches_s.iter().count(), RELAUNCHES_MAX);
        assert!(
            learned.relaunch_s("org.example.App0").is_none() && learned.relaunch_s("org.example.App1999").is_some()
        );
        let text = serde_json::to_string(&learned).expect("JSON");
        assert!(text.len() < 64 << 10, "{}", text.len());
    }
}
