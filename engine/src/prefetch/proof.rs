//! Whether reading ahead pays for an app.
//!
//! Launches of an app are in two *arms*, with reading ahead and without. They come in blocks: of each block one launch,
//! drawn by a seed, goes without. A block has two launches until the verdict is known, and `prove_every` afterwards, so
//! that an app that gains keeps nearly all of it, and one that stops gaining is noticed.
//!
//! What is compared is the time that the app waited for storage until it came to rest, of launches alone that found
//! much of what they use not in memory. Its logarithm is taken, since waits are skewed, and the interval of the ratio
//! of both arms is Welch's (two samples, unequal variances, 95 %) over the last 24 launches of each arm.
//!
//! Verdict: *left alone* when the whole interval is above 1 less the least gain: the loss, or that the gain is less
//! than that, is certain (p < 0.05); or when after 24 launches of each arm the ratio itself is. *Gains* when the whole
//! interval is below 1. An app that is left alone is so for a number of days by the wall clock; a clock that jumps by
//! more than that ends it, and a changed package does.
//!
//! Properties: `each_block_has_one_launch_without`; `an_app_that_loses_is_left_alone_and_one_that_gains_is_not`;
//! `the_verdict_is_seldom_wrong`; `a_clock_that_jumps_leaves_no_app_alone_for_ever`.

use brisk_core::random::mix;
use serde::{Deserialize, Serialize};

/// Launches of one arm that are kept.
pub const SAMPLES_MAX: usize = 24;
/// Launches of each arm before a verdict.
pub const SAMPLES_MIN: usize = 6;
/// Launches of a block until the verdict is known.
const BLOCK_FIRST: u32 = 2;
/// Added to a wait before the logarithm: waits below a millisecond are alike to a user.
const LEAST_US: f64 = 1_000.0;
const DAY_MS: u64 = 86_400_000;

/// What is known of the gain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Not enough launches yet.
    #[default]
    Unknown,
    /// Launches wait less.
    Gains,
    LeftAlone {
        /// Since when, by the wall clock.
        since_unix_ms: u64,
    },
}

/// Wait of launches with reading ahead as a multiple of that without, with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Ratio of the geometric means.
    pub ratio: f64,
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Block {
    number: u32,
    /// Its launches so far, and all of them.
    begun: u32,
    length: u32,
}

/// The comparison for one app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proof {
    /// Waits of launches with reading ahead, us, oldest first.
    with_us: Vec<u32>,
    without_us: Vec<u32>,
    pub verdict: Verdict,
    block: Block,
}

impl Proof {
    /// Whether the next launch goes without; `seed` is the same for all launches of an app.
    pub fn next_goes_without(&mut self, seed: u64, every: u32) -> bool {
        if self.block.begun >= self.block.length {
            let length = if self.verdict == Verdict::Gains { every.max(BLOCK_FIRST) } else { BLOCK_FIRST };
            self.block = Block { number: self.block.number.wrapping_add(1), begun: 0, length };
        }
        let drawn = mix(seed ^ u64::from(self.block.number)) % u64::from(self.block.length.max(1));
        let goes_without = u64::from(self.block.begun) == drawn;
        self.block.begun = self.block.begun.saturating_add(1);
        goes_without
    }

    /// Takes in a launch that waited so long for storage.
    pub fn add(&mut self, goes_without: bool, waited_us: u64) {
        let arm = if goes_without { &mut self.without_us } else { &mut self.with_us };
        arm.push(u32::try_from(waited_us).unwrap_or(u32::MAX));
        // What was damaged on disk may be longer.
        let excess = arm.len().saturating_sub(SAMPLES_MAX);
        arm.drain(..excess);
    }

    /// Launches with and without that count.
    #[must_use]
    pub fn launches(&self) -> (usize, usize) {
        (self.with_us.len(), self.without_us.len())
    }

    /// Ratio of the waits; `None` with fewer than two launches of an arm.
    #[must_use]
    pub fn ratio(&self) -> Option<Ratio> {
        let (with, without) = (Mean::of(&self.with_us)?, Mean::of(&self.without_us)?);
        let difference = with.mean - without.mean;
        let (a, b) = (with.variance / with.count, without.variance / without.count);
        let error = (a + b).sqrt();
        // Welch and Satterthwaite.
        let freedom = if error > 0.0 {
            (a + b).powi(2) / (a * a / (with.count - 1.0) + b * b / (without.count - 1.0))
        } else {
            with.count + without.count - 2.0
        };
        let half = t_975(freedom) * error;
        Some(Ratio { ratio: difference.exp(), low: (difference - half).exp(), high: (difference + half).exp() })
    }

    pub fn judge(&mut self, gain_min_percent: f64, now_unix_ms: u64) {
        let (with, without) = self.launches();
        if with.min(without) < SAMPLES_MIN || matches!(self.verdict, Verdict::LeftAlone { .. }) {
            return;
        }
        let Some(Ratio { ratio, low, high }) = self.ratio() else { return };
        let most = 1.0 - gain_min_percent / 100.0;
        let is_full = with.min(without) >= SAMPLES_MAX;
        self.verdict = if low > most || (is_full && ratio > most) {
            Verdict::LeftAlone { since_unix_ms: now_unix_ms }
        } else if high < 1.0 {
            Verdict::Gains
        } else {
            Verdict::Unknown
        };
    }

    /// Whether the app is left alone at this time; where that is over, the comparison begins anew.
    pub fn is_left_alone(&mut self, days: u32, now_unix_ms: u64) -> bool {
        let Verdict::LeftAlone { since_unix_ms } = self.verdict else { return false };
        let is_over = now_unix_ms.abs_diff(since_unix_ms) >= u64::from(days).saturating_mul(DAY_MS);
        if is_over {
            *self = Self::default();
        }
        !is_over
    }
}

/// Mean and variance of the logarithms of one arm.
struct Mean {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Mean {
    fn of(waits_us: &[u32]) -> Option<Self> {
        if waits_us.len() < 2 {
            return None;
        }
        let logs: Vec<f64> = waits_us.iter().map(|us| (f64::from(*us) + LEAST_US).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(Self { count, mean, variance })
    }
}

/// The 97.5th percentile of Student's t, within 0.2 % from 3 degrees of freedom on (Abramowitz and Stegun 26.7.5);
/// wider below.
fn t_975(freedom: f64) -> f64 {
    const Z: f64 = 1.959_964;
    let n = freedom.max(1.0);
    if n < 3.0 {
        // Between the exact values 12.706 and 4.303, and on to 3.182; the larger neighbour is safe.
        return if n < 2.0 { 12.706 } else { 4.303 };
    }
    let (z3, z5, z7) = (Z.powi(3), Z.powi(5), Z.powi(7));
    let (z9, one) = (Z.powi(9), (z3 + Z) / 4.0);
    let two = (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / 96.0;
    let three = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / 384.0;
    let four = (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * Z) / 92160.0;
    Z + one / n + two / n.powi(2) + three / n.powi(3) + four / n.powi(4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW_MS: u64 = 1_795_000_000_000;

    /// A proof after so many launches, whose waits are 1 s times the factor of their arm and a spread of up to
    /// `spread`.
    fn after(launches: u32, seed: u64, factor: f64, spread: f64) -> Proof {
        let mut proof = Proof::default();
        for launch in 0..launches {
            let without = proof.next_goes_without(seed, 10);
            let random = mix(seed ^ (u64::from(launch) << 32)) as f64 / u64::MAX as f64;
            let noise = ((random - 0.5) * 2.0 * spread).exp();
            proof.add(without, (1e6 * noise * if without { 1.0 } else { factor }) as u64);
            proof.judge(2.0, NOW_MS);
        }
        proof
    }

    #[test]
    fn percentiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(3.0, 3.182), (4.0, 2.776), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042), (1e6, 1.960)]
        {
            assert!((t_975(freedom) / expected - 1.0).abs() < 0.005, "{freedom}: {}", t_975(freedom));
        }
        assert!(t_975(1.5) > t_975(2.5) && t_975(2.5) > t_975(3.0));
    }

    #[test]
    fn an_app_that_loses_is_left_alone_and_one_that_gains_is_not() {
        for seed in 0..20 {
            assert!(matches!(after(80, seed, 1.2, 0.1).verdict, Verdict::LeftAlone { .. }), "{seed}");
            assert!(matches!(after(80, seed, 1.0, 0.1).verdict, Verdict::LeftAlone { .. }), "no gain, {seed}");
            assert_eq!(after(80, seed, 0.6, 0.1).verdict, Verdict::Gains, "{seed}");
        }
    }

    #[test]
    fn the_verdict_is_seldom_wrong() {
        let wrong = (0..200).filter(|seed| matches!(after(40, *seed, 0.8, 0.3).verdict, Verdict::LeftAlone { .. }));
        assert!(wrong.count() <= 6);
        let wrong = (0..200).filter(|seed| after(12, *seed, 1.0, 0.3).verdict == Verdict::Gains);
        assert!(wrong.count() <= 12, "5 % of 200, one side, with room");
    }

    #[test]
    fn nothing_is_said_before_there_are_enough_launches() {
        assert_eq!(after(11, 1, 3.0, 0.01).verdict, Verdict::Unknown);
        assert_eq!(Proof::default().ratio(), None);
        let mut equal = Proof::default();
        (0..12).for_each(|launch| equal.add(launch % 2 == 0, 500));
        assert_eq!(equal.ratio().map(|of| (of.ratio, of.low, of.high)), Some((1.0, 1.0, 1.0)));
    }

    #[test]
    fn a_clock_that_jumps_leaves_no_app_alone_for_ever() {
        let left = after(80, 3, 1.5, 0.1);
        let alone = |now_ms: u64| left.clone().is_left_alone(30, now_ms);
        assert!(alone(NOW_MS) && alone(NOW_MS + 29 * DAY_MS) && alone(NOW_MS - DAY_MS));
        assert!(!alone(NOW_MS + 30 * DAY_MS) && !alone(0) && !alone(u64::MAX));
        let mut over = left.clone();
        assert!(!over.is_left_alone(30, 0) && over == Proof::default());
    }

    proptest! {
        #[test]
        fn each_block_has_one_launch_without(seed: u64, every in 2..12_u32, gains: bool) {
            let verdict = if gains { Verdict::Gains } else { Verdict::Unknown };
            let mut proof = Proof { verdict, ..Proof::default() };
            let length = if gains { every } else { BLOCK_FIRST };
            for block in 0..9 {
                let without = (0..length).filter(|_| proof.next_goes_without(seed, every)).count();
                prop_assert_eq!(without, 1, "block {}", block);
            }
        }

        #[test]
        fn the_same_launches_give_the_same_verdict_and_a_text_keeps_it(seed: u64, launches in 0..60_u32, factor in 0.3..2.0_f64) {
            let proof = after(launches, seed, factor, 0.4);
            prop_assert_eq!(&proof, &after(launches, seed, factor, 0.4));
            let text = serde_json::to_string(&proof).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Proof>(&text).expect("the same"), proof);
        }
    }
}
