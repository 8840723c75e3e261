//! What pairs of episodes show: a test that may be looked at after each pair, and the interval that is its inversion.
//!
//! Of a pair of adjacent episodes one is held out, by a coin. `d` is the logarithm of the ratio of their outcomes,
//! acting over held out. Where the engine changes nothing, the coin alone gives `d` its sign: given all that came
//! before and the size of `d`, plus and minus have the same chance, whatever outcomes are like, drift or depend on each
//! other. So a bet on the sign at even odds gains nothing on average, and the *wealth* of one who bets,
//!
//! ```text
//! W = product of 1 + tanh(b * clip(d / s))        b: boldness, s: scale of earlier pairs, clip: at 3 scales
//! ```
//!
//! is a test martingale: with a chance of `alpha` at most it ever reaches `1 / alpha` (Ville 1939). The bet may depend
//! on the size of `d`, as the sign is what is drawn; the factor is the exact form of exp(bd - b^2 d^2 / 2), the
//! self-normalised bound for symmetric differences (de la Pena, Ann. Probab. 27, 1999): it is never less, as cosh(x) is
//! at most exp(x^2 / 2). How bold to be depends on the effect, which is not known: a quarter of the wealth is bet with
//! each boldness of `BOLDNESS` (mixture of Robbins; Howard, Ramdas, McAuliffe and Sekhon, Ann. Statist. 49, 2021;
//! betting: Waudby-Smith and Ramdas, JRSS B 86, 2024).
//!
//! *Interval*: that the engine multiplies outcomes by `r` makes `d - ln r` symmetric; the interval has each `r` that
//! the same test does not reject. As the scale does not depend on `r`, the wealth is monotone in it, and bisection is
//! exact.
//!
//! Properties: `without_effect_each_side_is_seldom_wrong`; `the_interval_covers_the_ratio`;
//! `wealth_is_monotone_in_the_ratio`; `what_is_kept_has_the_same_sign_as_what_was_seen`.

use serde::{Deserialize, Serialize};

/// Bets by effect over scale.
const BOLDNESS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// Differences beyond so many scales count as this many: one wild pair is no proof.
const CLIP: f64 = 3.0;
/// Scale that is presumed, and how many pairs that presumption is worth: a spread of 30 % of each episode.
const SCALE_FIRST: f64 = 0.42;
const SCALE_FIRST_PAIRS: f64 = 3.0;
/// From the mean of absolute differences of a normal distribution to its standard deviation.
const MEAN_TO_DEVIATION: f64 = 1.2533;
/// Scales below this would make the least difference a proof.
const SCALE_MIN: f64 = 0.005;
/// Differences are kept in these steps. Rounding is odd: plus and minus stay alike.
const STEP: f64 = 1e-4;
/// A difference is at most this: a factor of 20,000.
const DIFFERENCE_MAX: f64 = 10.0;

/// Numbers in steps, whole in a text.
pub(super) mod in_steps {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::STEP;

    pub(in super::super) fn rounded(value: f64) -> f64 {
        (value / STEP).round() * STEP
    }

    pub(in super::super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64((value / STEP).round() as i64)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(i64::deserialize(deserializer)? as f64 * STEP)
    }
}

/// Pairs of one stage of a trial, each as its difference and the scale of those before, in steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Evidence {
    pairs: Vec<(i32, i32)>,
}

/// Outcome with the engine as a multiple of that without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The estimate.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Pairs that went in.
    pub pairs: u32,
}

/// What the test asks: whether the difference is below a value, or above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// What was known after each of these pairs, by the ratio of each: the confidence sequence; `None` while an end is open.
#[must_use]
pub fn course(ratios: &[f64], alpha: f64) -> Vec<Option<Effect>> {
    let mut evidence = Evidence::default();
    let after = |ratio: &f64| {
        evidence.add(ratio.ln());
        evidence.effect(alpha)
    };
    ratios.iter().map(after).collect()
}

impl Evidence {
    /// Takes in a pair: logarithm of its ratio. What is no number is no pair.
    pub fn add(&mut self, difference: f64) {
        if !difference.is_finite() {
            return;
        }
        let steps = |value: f64| (value / STEP).round() as i32;
        let scale = self.next_scale();
        self.pairs.push((steps(difference.clamp(-DIFFERENCE_MAX, DIFFERENCE_MAX)), steps(scale)));
    }

    /// Pairs so far.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Whether outcomes with the engine are certainly below `ratio` times those without.
    #[must_use]
    pub fn is_below(&self, ratio: f64, alpha: f64) -> bool {
        self.ln_wealth(ratio.ln(), Side::Below) >= -alpha.ln()
    }

    /// The same above.
    #[must_use]
    pub fn is_above(&self, ratio: f64, alpha: f64) -> bool {
        self.ln_wealth(ratio.ln(), Side::Above) >= -alpha.ln()
    }

    /// The median of the means of any two pairs (Hodges and Lehmann 1963), as a ratio; `None` without pairs.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        let values: Vec<f64> = self.differences().collect();
        let each = values.iter().enumerate();
        let mut means: Vec<f64> = each.flat_map(|(at, a)| values[at..].iter().map(move |b| (a + b) / 2.0)).collect();
        median(&mut means).map(f64::exp)
    }

    /// Estimate and interval, each end of which is wrong with a chance of `alpha` at most; `None` while an end is open.
    #[must_use]
    pub fn effect(&self, alpha: f64) -> Option<Effect> {
        let limit = -alpha.ln();
        let end = |side: Side| {
            let (mut kept, mut rejected) = match side {
                Side::Below => (-DIFFERENCE_MAX, 2.0 * DIFFERENCE_MAX),
                Side::Above => (DIFFERENCE_MAX, -2.0 * DIFFERENCE_MAX),
            };
            if self.ln_wealth(rejected, side) < limit {
                return None;
            }
            for _ in 0..40 {
                let middle = f64::midpoint(kept, rejected);
                let is_rejected = self.ln_wealth(middle, side) >= limit;
                *(if is_rejected { &mut rejected } else { &mut kept }) = middle;
            }
            Some(rejected)
        };
        let (low, high) = (end(Side::Above)?.exp(), end(Side::Below)?.exp());
        // Where all pairs are alike the ends may meet.
        let (low, high) = (low.min(high), low.max(high));
        let pairs = u32::try_from(self.pairs.len()).unwrap_or(u32::MAX);
        Some(Effect { ratio: self.estimate()?.clamp(low, high), low, high, pairs })
    }

    /// The ratio of each pair, in their order.
    pub fn ratios(&self) -> impl Iterator<Item = f64> {
        self.differences().map(f64::exp)
    }

    fn differences(&self) -> impl Iterator<Item = f64> {
        self.pairs.iter().map(|(difference, _)| f64::from(*difference) * STEP)
    }

    /// Logarithm of the wealth of one who bets that differences are on this side of `value`.
    fn ln_wealth(&self, value: f64, side: Side) -> f64 {
        let mut wealths = [0.0; BOLDNESS.len()];
        for (difference, scale) in &self.pairs {
            let ahead = value - f64::from(*difference) * STEP;
            let ahead = if side == Side::Below { ahead } else { -ahead };
            let size = (ahead / (f64::from(*scale) * STEP).max(SCALE_MIN)).clamp(-CLIP, CLIP);
            for (wealth, boldness) in wealths.iter_mut().zip(BOLDNESS) {
                // ln(1 + tanh(x)), without loss where x is far from 0.
                *wealth += std::f64::consts::LN_2 - (-2.0 * boldness * size).exp().ln_1p();
            }
        }
        let most = wealths.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = wealths.iter().map(|wealth| (wealth - most).exp()).sum();
        most + (sum / BOLDNESS.len() as f64).ln()
    }

    /// Scale of the next pair: spread of those so far around their median.
    fn next_scale(&self) -> f64 {
        let mut values: Vec<f64> = self.differences().collect();
        let count = values.len() as f64;
        let Some(middle) = median(&mut values) else { return SCALE_FIRST };
        let spread = values.iter().map(|value| (value - middle).abs()).sum::<f64>() / count * MEAN_TO_DEVIATION;
        let scale = (SCALE_FIRST_PAIRS * SCALE_FIRST + count * spread) / (SCALE_FIRST_PAIRS + count);
        scale.max(SCALE_MIN)
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    Some(if values.len().is_multiple_of(2) { f64::midpoint(values[half - 1], upper) } else { upper })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    const ALPHA: f64 = 0.025;

    fn pairs(random: &mut Random, count: usize, effect: f64, deviation: f64) -> Evidence {
        let mut evidence = Evidence::default();
        (0..count).for_each(|_| evidence.add(effect + deviation * random.normal()));
        evidence
    }

    #[test]
    fn without_effect_each_side_is_seldom_wrong() {
        let mut random = Random(5);
        let (mut below, mut above) = (0, 0);
        for _ in 0..400 {
            let (mut evidence, mut is_below, mut is_above) = (Evidence::default(), false, false);
            for _ in 0..40 {
                evidence.add(0.4 * random.normal());
                is_below |= evidence.is_below(1.0, ALPHA);
                is_above |= evidence.is_above(1.0, ALPHA);
            }
            below += u32::from(is_below);
            above += u32::from(is_above);
        }
        // 10 each are expected at most; 20 have a chance below 0.003.
        assert!(below <= 20 && above <= 20, "{below} {above}");
        assert!(below + above > 0, "a test that never errs is blind");
    }

    #[test]
    fn the_interval_covers_the_ratio() {
        let mut random = Random(9);
        let effects: Vec<Effect> =
            (0..300).map(|_| pairs(&mut random, 30, -0.3, 0.4).effect(ALPHA).expect("enough")).collect();
        let covers = effects.iter().filter(|effect| (effect.low..=effect.high).contains(&(-0.3_f64).exp())).count();
        assert!(covers >= 285, "{covers} of 300");
        let wide = effects.iter().filter(|effect| effect.high / effect.low > 2.5).count();
        assert!(wide < 30, "{wide} are of no use");
        assert!(effects.iter().all(|effect| effect.low <= effect.ratio && effect.ratio <= effect.high));
    }

    #[test]
    fn few_pairs_have_no_interval() {
        let mut evidence = Evidence::default();
        (0..5).for_each(|_| evidence.add(-1.0));
        assert_eq!((evidence.effect(ALPHA), evidence.pairs()), (None, 5));
        (0..5).for_each(|_| evidence.add(-1.0));
        let effect = evidence.effect(ALPHA).expect("ten");
        assert!((effect.ratio - (-1.0_f64).exp()).abs() < 1e-3 && effect.high < 1.0, "{effect:?}");
        evidence.add(f64::NAN);
        assert_eq!((evidence.pairs(), Evidence::default().estimate()), (10, None));
    }

    #[test]
    fn equal_pairs_are_no_effect() {
        let mut evidence = Evidence::default();
        (0..64).for_each(|_| evidence.add(0.0));
        assert!(!evidence.is_below(1.0, ALPHA) && !evidence.is_above(1.0, ALPHA));
        assert!(evidence.is_above(0.9, ALPHA) && evidence.is_below(1.1, ALPHA));
    }

    proptest! {
        #[test]
        fn wealth_is_monotone_in_the_ratio(values in prop::collection::vec(-3.0..3.0_f64, 1..40), at in -2.0..2.0_f64) {
            let mut evidence = Evidence::default();
            values.iter().for_each(|value| evidence.add(*value));
            let (lower, higher) = (at, at + 0.1);
            prop_assert!(evidence.ln_wealth(lower, Side::Below) <= evidence.ln_wealth(higher, Side::Below) + 1e-9);
            prop_assert!(evidence.ln_wealth(lower, Side::Above) >= evidence.ln_wealth(higher, Side::Above) - 1e-9);
        }

        #[test]
        fn what_is_kept_has_the_same_sign_as_what_was_seen(values in prop::collection::vec(-30.0..30.0_f64, 1..20)) {
            let (mut one, mut other) = (Evidence::default(), Evidence::default());
            values.iter().for_each(|value| { one.add(*value); other.add(-value); });
            let (below, above) = (one.ln_wealth(0.0, Side::Below), other.ln_wealth(0.0, Side::Above));
            prop_assert!((below - above).abs() < 1e-6, "{below} {above}");
            let text = serde_json::to_string(&one).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Evidence>(&text).expect("the same"), one);
        }
    }
}
