//! `mode = "adaptive"`: the launch curve of earlier runs, and a margin at the price of a miss.
//!
//! Launches climb the same steps, faster or slower. So in each earlier run the place is sought that this run is at: the
//! last time, not too far from its own ([`SLOWER`]), with no more need. Where earlier runs grew after it, the
//! prediction for the next sample is what they reached, or the present need once that is more. At all other times it is
//! the present need: needs stand still between steps. Recursive least squares with forgetting instead of the present
//! need gained nothing where it was measured: 7.18 % of head-room against 7.21 % on 495 runs of a browser at the same
//! coverage, 8.2 % against 6.4 % on 15 runs of five Linux apps.

use serde::{Deserialize, Serialize};

use super::DEFAULT_BYTES;
use super::curve::{CURVES_MAX, Curve};
use super::margin::{Misses, Price, Situation};

/// A launch may take half the time of an earlier one, or twice its time, and a second.
const SLOWER: f64 = 0.5;
const SLOWER_NS: f64 = 1e9;
/// A need is alike that is no more than this multiple.
const ALIKE: f64 = 1.05;
/// Where an earlier run had no such need: its place is a little before the present time.
const EARLIER: f64 = 0.8;
/// From the place on, an earlier run may have gone so much further than the time to the next sample.
const LATER: f64 = 1.3;
const LATER_NS: f64 = 0.5e9;
/// Growth below this share is standing still.
const GROWTH_MIN: f64 = 0.01;
/// From this share of what earlier runs reached on, a run has reached it.
const REACHED: f64 = 0.9;
/// Time to the next sample, where it is not known from the one before.
const INTERVAL_NS: u64 = 1_000_000_000;
/// A gap longer than this says nothing of the next.
const INTERVAL_MAX_NS: u64 = 10_000_000_000;
/// So long a launch may take; of a first one the default is the least threshold.
const YOUNG_NS: u64 = 30_000_000_000;

/// What is learned of an app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Learned {
    /// Oldest first.
    curves: Vec<Curve>,
    misses: Misses,
    price: Price,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Run {
    curve: Curve,
    /// Time since the launch, and need.
    last: Option<(u64, u64)>,
    /// What the next sample is judged by.
    expected: Option<Expected>,
}

/// A prediction and the threshold above it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Expected {
    pub(crate) situation: Situation,
    pub(crate) predicted_bytes: f64,
    pub(crate) margin: f64,
    pub(crate) threshold_bytes: u64,
    /// Whether it is the default of an app of which nothing is known.
    pub(crate) is_default: bool,
}

impl Run {
    /// Adds a sample of a run whose launch was seen, or not; returns the threshold for the next.
    pub(crate) fn sample(
        &mut self,
        learned: &mut Learned,
        all: &mut Misses,
        miss_share: f64,
        (since_launch_ns, at_ns): (Option<u64>, u64),
        need_bytes: u64,
    ) -> Expected {
        if let Some(expected) = self.expected.take() {
            learned.judge(all, &expected, need_bytes, miss_share);
        }
        let time_ns = since_launch_ns.unwrap_or(at_ns);
        let (last_ns, last_bytes) = self.last.unwrap_or((time_ns, need_bytes));
        let interval_ns = match time_ns.saturating_sub(last_ns) {
            0 => INTERVAL_NS,
            interval_ns => interval_ns.min(INTERVAL_MAX_NS),
        };
        if let Some(since_launch_ns) = since_launch_ns {
            self.curve.add(since_launch_ns, last_bytes, need_bytes);
        }
        self.last = Some((time_ns, need_bytes));
        let mut expected = learned.expect(all, since_launch_ns, interval_ns, need_bytes);
        // Of a first launch nothing is known, and with a margin above each of its steps there would be misses of no
        // meaning.
        if learned.curves.is_empty() && since_launch_ns.is_some_and(|since_ns| since_ns < YOUNG_NS) {
            expected.is_default = expected.threshold_bytes < DEFAULT_BYTES;
            expected.threshold_bytes = expected.threshold_bytes.max(DEFAULT_BYTES);
        }
        self.expected = Some(expected);
        expected
    }
}

impl Learned {
    /// Learns whether a threshold held.
    fn judge(&mut self, all: &mut Misses, expected: &Expected, need_bytes: u64, miss_share: f64) {
        // Of nothing no multiple is enough.
        let needed = if need_bytes == 0 { -1.0 } else { need_bytes as f64 / expected.predicted_bytes - 1.0 };
        self.misses.add(expected.situation, needed);
        all.add(expected.situation, needed);
        self.price.learn(need_bytes > expected.threshold_bytes, miss_share);
    }

    fn expect(&self, all: &Misses, since_launch_ns: Option<u64>, interval_ns: u64, need_bytes: u64) -> Expected {
        let need = need_bytes as f64;
        let (situation, predicted_bytes) = match since_launch_ns {
            Some(since_ns) => self.predict(since_ns, interval_ns, need),
            None => (Situation::Unknown, need),
        };
        let margin = self.price.margin(situation, &self.misses, all);
        let threshold_bytes = ((predicted_bytes * (1.0 + margin)).ceil() as u64).max(need_bytes);
        Expected { situation, predicted_bytes, margin, threshold_bytes, is_default: false }
    }

    /// The need at the next sample.
    fn predict(&self, since_ns: u64, interval_ns: u64, need: f64) -> (Situation, f64) {
        let at = |time: f64| time as u64;
        let now = since_ns as f64;
        let (mut known, mut reached) = (false, 0.0f64);
        for curve in &self.curves {
            let before = curve.most_bytes(at(now * EARLIER), at(now * EARLIER));
            let Some(before) = before else { continue };
            let (from, to) = (at(now * SLOWER), at(now / SLOWER + SLOWER_NS));
            let place = curve.last_at_most_ns(need * ALIKE, from, to).map_or(now * EARLIER, |ns| ns as f64);
            let later = curve.most_bytes(at(place), at(place + interval_ns as f64 * LATER + LATER_NS)).unwrap_or(0.0);
            known = true;
            if later > before * (1.0 + GROWTH_MIN) {
                reached = reached.max(later);
            }
        }
        if !known {
            (Situation::Unknown, need)
        } else if reached > 0.0 && need < reached * REACHED {
            (Situation::Launch, reached)
        } else if reached > 0.0 {
            (Situation::Growth, need.max(reached))
        } else if since_ns < YOUNG_NS {
            (Situation::Young, need)
        } else {
            (Situation::Settled, need)
        }
    }

    pub(crate) fn learn(&mut self, run: Run) {
        if run.curve.is_empty() {
            return;
        }
        let excess = (self.curves.len() + 1).saturating_sub(CURVES_MAX);
        self.curves.drain(..excess.min(self.curves.len()));
        self.curves.push(run.curve);
    }

    /// The most that a run has within a time after the launch.
    pub(crate) fn peak_bytes(&self, within_ns: u64) -> Option<u64> {
        let within = |curve: &Curve| curve.most_bytes(0, within_ns).unwrap_or_else(|| curve.peak_bytes());
        self.curves.iter().map(within).max_by(f64::total_cmp).map(|bytes| bytes.ceil() as u64)
    }
}
