//! Launch curves: how the need of an app grew after its earlier launches.
//!
//! Need rises in steps within seconds of a launch and then stands still; launches of one app climb the same steps, some
//! of them later, since storage is slower at times (figure 5.5). So a run is kept as the most that it needed up to each
//! of [`KNOTS_MS`], which are close to each other at first, and the last [`CURVES_MAX`] runs of an app are kept: an app
//! that was updated is known after six.
//!
//! A value has two bytes: the logarithm of the need, rounded up, exact within 0.07 %.

use serde::{Deserialize, Serialize};

/// Times since the launch at which a curve has a value.
pub(crate) const KNOTS_MS: [u64; 25] = [
    250, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 15_000, 20_000,
    25_000, 30_000, 40_000, 50_000, 60_000, 90_000, 120_000, 180_000, 300_000,
];
/// Runs that are kept of an app.
pub(crate) const CURVES_MAX: usize = 6;
/// Steps of a code for each doubling of the need: 64 doublings fill two bytes.
const CODES_PER_DOUBLING: f64 = 1_023.0;

/// The need of one run: the most in the time from the knot before to each knot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Curve {
    codes: Vec<u16>,
}

fn code(bytes: u64) -> u16 {
    ((bytes as f64 + 1.0).log2() * CODES_PER_DOUBLING).ceil() as u16
}

fn bytes(code: u16) -> f64 {
    (f64::from(code) / CODES_PER_DOUBLING).exp2() - 1.0
}

/// The first knot at or after a time; their number for a time after the last.
fn knot(since_launch_ns: u64) -> usize {
    KNOTS_MS.partition_point(|&knot_ms| knot_ms * 1_000_000 < since_launch_ns)
}

impl Curve {
    /// Adds a sample; the need since the one before it is held. What is after the last knot is not kept.
    pub(crate) fn add(&mut self, since_launch_ns: u64, held_bytes: u64, need_bytes: u64) {
        let at = knot(since_launch_ns);
        if at >= KNOTS_MS.len() {
            self.codes.resize(self.codes.len().max(KNOTS_MS.len()).min(KNOTS_MS.len()), code(held_bytes));
            return;
        }
        if self.codes.len() <= at {
            self.codes.resize(at, code(held_bytes));
            self.codes.push(0);
        }
        let need = code(need_bytes);
        self.codes[at] = self.codes[at].max(need);
    }

    /// The most from one time since the launch to another; `None` where the run had ended before.
    pub(crate) fn most_bytes(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let from = knot(from_ns);
        let to = knot(to_ns).saturating_add(1).min(self.codes.len());
        self.codes.get(from..to)?.iter().max().map(|&code| bytes(code))
    }

    /// The last time in a range at which the run needed no more than this: as far as another run with this need may be.
    pub(crate) fn last_at_most_ns(&self, need_bytes: f64, from_ns: u64, to_ns: u64) -> Option<u64> {
        let (from, to) = (knot(from_ns), knot(to_ns).saturating_add(1).min(self.codes.len()));
        let below = self.codes.get(from..to)?.iter().rposition(|&code| bytes(code) <= need_bytes)?;
        KNOTS_MS.get(from + below).map(|knot_ms| knot_ms * 1_000_000)
    }

    /// The most that it ever needed.
    pub(crate) fn peak_bytes(&self) -> f64 {
        self.codes.iter().max().map_or(0.0, |&code| bytes(code))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_curve_has_the_most_between_knots_and_holds_over_gaps() {
        let mut curve = Curve::default();
        curve.add(0, 0, 1_000_000);
        curve.add(SECOND_NS, 1_000_000, 30_000_000);
        curve.add(4 * SECOND_NS, 30_000_000, 20_000_000);
        let most = |from_s: f64, to_s: f64| {
            curve.most_bytes((from_s * 1e9) as u64, (to_s * 1e9) as u64).map(|bytes| (bytes / 1e6).round())
        };
        assert_eq!(most(0.0, 0.3), Some(1.0));
        assert_eq!(most(0.8, 1.0), Some(30.0));
        assert_eq!(most(0.0, 60.0), Some(30.0));
        assert_eq!(most(3.5, 4.0), Some(20.0), "the need in this second");
        assert_eq!(most(2.1, 2.4), Some(30.0), "held");
        assert_eq!(most(10.0, 20.0), None, "the run had ended");
        assert_eq!((curve.peak_bytes() / 1e6).round(), 30.0);
        let last_s = |need: f64, to_s: u64| Some(curve.last_at_most_ns(need, 0, to_s * SECOND_NS)? as f64 / 1e9);
        assert_eq!((last_s(2e6, 60), last_s(2e6, 0)), (Some(0.75), Some(0.25)), "before it grew");
        assert_eq!((last_s(25e6, 60), last_s(25e6, 3)), (Some(4.0), Some(0.75)), "after it shrank");
        assert_eq!(last_s(1e5, 60), None);
    }

    proptest! {
        #[test]
        fn a_kept_need_is_never_less_and_within_a_thousandth(need_bytes in any::<u64>()) {
            let kept = bytes(code(need_bytes));
            // What is above 2^53 is rounded before.
            prop_assert!(kept >= need_bytes as f64 * (1.0 - 1e-9));
            prop_assert!(kept <= (need_bytes as f64 + 1.0) * 1.001);
        }

        #[test]
        fn no_sample_panics_and_a_curve_is_bounded(
            samples in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..50),
            from_ns in any::<u64>(),
            to_ns in any::<u64>(),
        ) {
            let mut curve = Curve::default();
            for (at_ns, held, need) in samples {
                curve.add(at_ns, held, need);
            }
            prop_assert!(curve.codes.len() <= KNOTS_MS.len());
            prop_assert!(curve.most_bytes(from_ns, to_ns).is_none_or(f64::is_finite));
            prop_assert!(curve.last_at_most_ns(1e6, from_ns, to_ns).is_none_or(|ns| ns <= 300 * SECOND_NS));
        }
    }
}
