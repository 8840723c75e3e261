//! Autoregression with exogenous inputs: equation 5.1 of the dissertation.
//!
//! The heap y(t) of this run is predicted from its last p values and from the heap u of an earlier run of the same app,
//! at the same time since the launch and before it: y(t) = sum a_i y(t-i), i = 1..p, + sum b_j u(t-j), j = 0..q-1.
//! There is no constant term. u(t) is known at t-1, since that run is over. After its end an earlier run is held at its
//! last value.
//!
//! The text says that "a_i and a_j" are estimated by least squares; a_i and b_j are meant, since 5.1 has no other
//! coefficients.

use serde::{Deserialize, Serialize};

use super::least_squares::{self, Error};

/// Largest p: the first prediction is to be for the fourth second (5.4.2).
pub const PAST_MAX: usize = 3;
/// Largest q, for the same reason.
pub const HISTORICAL_MAX: usize = 4;

/// The first sample that all orders predict, from 1.
pub const COMMON_SAMPLE: usize = if PAST_MAX + 1 > HISTORICAL_MAX { PAST_MAX + 1 } else { HISTORICAL_MAX };

/// p and q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Order {
    pub past: usize,
    /// q: values of an earlier run.
    pub historical: usize,
}

impl Order {
    /// The order that the dissertation finds for Angry Birds: p = 2, q = 1 (table 5.2).
    pub const PAPER: Self = Self { past: 2, historical: 1 };

    /// All orders of table 5.2, by p, then q.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=PAST_MAX).flat_map(|past| (0..=HISTORICAL_MAX).map(move |historical| Self { past, historical }))
    }

    /// p = q = 0, which predicts nothing: "null" in table 5.2.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.past == 0 && self.historical == 0
    }

    /// The first sample that can be predicted, from 1: max(p + 1, q).
    #[must_use]
    pub fn first_sample(self) -> usize {
        (self.past + 1).max(self.historical)
    }
}

/// This run and an earlier one of the same app, both sampled at the same times since their launch.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    pub current: &'a [f64],
    pub historical: &'a [f64],
}

impl Pair<'_> {
    /// What equation 5.1 multiplies for sample `t` (from 0): y(t-1) .. y(t-p), then u(t) .. u(t-q+1).
    fn inputs(&self, order: Order, t: usize) -> Option<Vec<f64>> {
        if order.is_null() || t + 1 < order.first_sample() || self.current.len() < t || self.historical.is_empty() {
            return None;
        }
        let past = (1..=order.past).map(|i| self.current[t - i]);
        let last = self.historical.len() - 1;
        let historical = (0..order.historical).map(|j| self.historical[(t - j).min(last)]);
        Some(past.chain(historical).collect())
    }
}

/// Equation 5.1 with its coefficients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// p and q.
    pub order: Order,
    /// a_1 .. a_p, then b_0 .. b_(q-1).
    pub coefficients: Vec<f64>,
    /// Whether some inputs were multiples of others: then other coefficients fit as well.
    pub is_singular: bool,
}

impl Model {
    /// Fits it to all samples of the pairs that can be predicted.
    ///
    /// # Errors
    /// When no sample can be predicted, as for p = q = 0, or a value is not finite.
    pub fn fit(order: Order, pairs: &[Pair<'_>]) -> Result<Self, Error> {
        let (mut rows, mut targets) = (Vec::new(), Vec::new());
        for pair in pairs {
            for (t, y) in pair.current.iter().enumerate() {
                if let Some(inputs) = pair.inputs(order, t) {
                    rows.push(inputs);
                    targets.push(*y);
                }
            }
        }
        let found = least_squares::fit(&rows, &targets)?;
        Ok(Self { order, is_singular: found.is_singular(), coefficients: found.coefficients })
    }

    /// Predicts sample `t` (from 0) from the samples before it; `None` before [`Order::first_sample`].
    #[must_use]
    pub fn predict(&self, pair: &Pair<'_>, t: usize) -> Option<f64> {
        let inputs = pair.inputs(self.order, t).filter(|inputs| inputs.len() == self.coefficients.len())?;
        let sum = inputs.iter().zip(&self.coefficients).map(|(x, c)| x * c).sum::<f64>();
        sum.is_finite().then_some(sum)
    }

    /// All samples of a pair that can be predicted, with their prediction: (predicted, real).
    pub fn predictions<'a>(&'a self, pair: &'a Pair<'a>) -> impl Iterator<Item = (f64, f64)> + 'a {
        self.predictions_from(pair, 0)
    }

    /// The same, from sample `first` on (from 0).
    pub fn predictions_from<'a>(&'a self, pair: &'a Pair<'a>, first: usize) -> impl Iterator<Item = (f64, f64)> + 'a {
        let samples = pair.current.iter().enumerate().skip(first);
        samples.filter_map(|(t, real)| Some((self.predict(pair, t)?, *real)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_orders_are_those_of_table_5_2_and_predict_from_the_fourth_second_on() {
        assert_eq!(Order::all().count(), 20);
        assert_eq!(Order::all().filter(|order| order.is_null()).count(), 1);
        assert!(Order::all().all(|order| order.first_sample() <= COMMON_SAMPLE) && COMMON_SAMPLE == 4);
        let first = |past, historical| Order { past, historical }.first_sample();
        assert_eq!([first(0, 1), first(0, 4), first(1, 0), first(2, 1), first(3, 4), first(1, 3)], [1, 4, 2, 3, 4, 3]);
    }

    #[test]
    fn the_inputs_of_a_sample_are_those_of_equation_5_1() {
        let (current, historical) = ([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0]);
        let pair = Pair { current: &current, historical: &historical };
        let of = |past, historical, t| pair.inputs(Order { past, historical }, t);
        assert_eq!(of(2, 1, 2), Some(vec![2.0, 1.0, 30.0]));
        assert_eq!(of(2, 1, 1), None, "y(t-2) is before the launch");
        assert_eq!(of(0, 3, 2), Some(vec![30.0, 20.0, 10.0]));
        assert_eq!(of(1, 2, 4), Some(vec![4.0, 30.0, 30.0]), "the next sample; the earlier run is held");
        assert_eq!(of(1, 0, 5), None, "the sample before it is missing");
        assert_eq!(of(0, 0, 2), None);
    }

    #[test]
    fn known_coefficients_are_found_and_heaps_that_stand_still_are_named() {
        let historical: Vec<f64> = (0..40).map(|t| 50.0 + f64::from(t * t % 17)).collect();
        let mut current = vec![60.0, 61.0];
        for t in 2..40 {
            current.push(0.5 * current[t - 1] + 0.2 * current[t - 2] + 0.3 * historical[t]);
        }
        let pair = Pair { current: &current, historical: &historical };
        let found = Model::fit(Order::PAPER, &[pair]).expect("fits");
        let wanted = [0.5, 0.2, 0.3];
        assert!(found.coefficients.iter().zip(wanted).all(|(c, w)| (c - w).abs() < 1e-9), "{found:?}");
        assert!(!found.is_singular && found.predictions(&pair).all(|(p, y)| (p - y).abs() < 1e-6));

        let still = Pair { current: &[5e6; 30], historical: &[4e6; 30] };
        let found = Model::fit(Order::PAPER, &[still]).expect("fits");
        assert!(found.is_singular);
        assert!(found.predictions(&still).all(|(p, y)| (p - y).abs() < 1.0));
        assert_eq!(Model::fit(Order { past: 0, historical: 0 }, &[still]), Err(Error::Empty));
    }
}
