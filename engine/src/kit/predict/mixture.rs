//! The mixture of experts, whose weights are learned from each launch.
//!
//! The chance of a candidate is a conditional logit (softmax) over candidates:
//! `p(a) = exp(w . x(a)) / sum over b of exp(w . x(b))`. `x(a)` has the logarithm of the chance by each expert, that of
//! their linear mixture, and facts. `w` is the sum of weights for all launches and of weights for the context: begin of
//! a session, the launch after, later within 15 s of the last, and later.
//!
//! The log-loss is convex in `w`, so it is learned by online gradient descent with a rate for each weight (AdaGrad:
//! Duchi, Hazan, Singer, J. Mach. Learn. Res. 12, 2011), projected onto the box of [`REACH`] around the first weights.
//! The loss over `T` launches exceeds that of any fixed weights in the box by at most
//! `2 REACH^2 / RATE * sum_j sqrt(D + G_j) + RATE * sum_j sqrt(G_j)`, with `G_j` the sum of the squared gradients of
//! weight `j` and `D` the constant [`DAMPING`] (ibid., theorem 5, for a diameter of `2 REACH`). Features are bounded,
//! hence gradients, so this grows with the square root of `T`.
//!
//! The linear mixture is that of Herbster and Warmuth (Mach. Learn. 32, 1998; fixed share): each launch multiplies the
//! weight of an expert by the chance that it gave, and a small [`SHARE`] is then spread evenly, so that the loss
//! exceeds that of the best sequence of experts with `k` changes by about `(k + 1) ln EXPERTS + k ln(T / k)`.

use super::experts::{Candidate, EXPERTS, FACTS, RANKS, first_ranks};
use super::history::{CONTEXTS, Here};
use super::start;

pub(super) const FEATURES: usize = EXPERTS + 1 + FACTS;
/// Sets of weights: for all launches, then by context.
pub(super) const SETS: usize = 1 + CONTEXTS;
pub(super) type Weights = [[f32; FEATURES]; SETS];

/// Least chance that counts in a logarithm, which bounds the features.
const CHANCE_LEAST: f32 = 1e-5;
/// How far a weight can go from where it begins.
const REACH: f32 = 1.0;
/// Rate of learning, and what is added to the sum of squared gradients: with it the first steps are small, since the
/// first weights are good.
const RATE: f32 = 0.03;
const DAMPING: f32 = 30.0;
/// Share of all weights of experts that is spread evenly at each launch.
const SHARE: f32 = 0.01;
/// What a launch leaves of the counts of ranks.
const KEPT_RANKS: f32 = 0.999;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mixture {
    pub(super) weights: Weights,
    /// Sums of their squared gradients.
    pub(super) squares: Weights,
    /// Weights of the linear mixture by context; each sums up to 1.
    pub(super) shares: [[f32; EXPERTS]; CONTEXTS],
    /// How often the app of each rank by recency was next, by context, decayed.
    pub(super) ranks: [[f32; RANKS]; CONTEXTS],
}

impl Default for Mixture {
    fn default() -> Self {
        Self {
            weights: start::WEIGHTS,
            squares: [[0.0; FEATURES]; SETS],
            shares: [[1.0 / EXPERTS as f32; EXPERTS]; CONTEXTS],
            ranks: [first_ranks(); CONTEXTS],
        }
    }
}

/// A prediction with what is needed to learn from its outcome.
#[derive(Debug)]
pub(super) struct Forecast {
    context: usize,
    candidates: Vec<Candidate>,
    features: Vec<[f32; FEATURES]>,
    /// Chances of the candidates, which sum up to 1.
    pub(super) chances: Vec<f32>,
}

impl Forecast {
    /// Candidates with their chances, in no order.
    pub(super) fn apps(&self) -> impl Iterator<Item = (u16, f32)> {
        self.candidates.iter().map(|one| one.app).zip(self.chances.iter().copied())
    }
}

impl Mixture {
    /// Chances of the candidates.
    pub(super) fn forecast(&self, here: Here, candidates: Vec<Candidate>) -> Forecast {
        let context = here.context;
        let features: Vec<[f32; FEATURES]> = candidates.iter().map(|one| self.features(context, one)).collect();
        let mut weights = self.weights[0];
        weights.iter_mut().zip(self.weights[1 + context]).for_each(|(weight, of_context)| *weight += of_context);
        let mut chances: Vec<f32> = features.iter().map(|x| x.iter().zip(weights).map(|(x, w)| x * w).sum()).collect();
        let most = chances.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut total = 0.0;
        for chance in &mut chances {
            *chance = (*chance - most).exp();
            total += *chance;
        }
        chances.iter_mut().for_each(|chance| *chance /= total);
        Forecast { context, candidates, features, chances }
    }

    fn features(&self, context: usize, of: &Candidate) -> [f32; FEATURES] {
        let log = |chance: f32| chance.max(CHANCE_LEAST).ln();
        let mut features = [0.0; FEATURES];
        features.iter_mut().zip(of.chances).for_each(|(x, chance)| *x = log(chance));
        let mixed: f32 = self.shares[context].iter().zip(of.chances).map(|(share, chance)| share * chance).sum();
        features[EXPERTS] = log(mixed);
        features[EXPERTS + 1..].copy_from_slice(&of.facts);
        features
    }

    /// Learns which app it was; one that was no candidate tells nothing of the weights.
    pub(super) fn learn(&mut self, forecast: &Forecast, used: u16) {
        let Some(used) = forecast.candidates.iter().position(|one| one.app == used) else { return };
        let mut gradient = forecast.features[used].map(|x| -x);
        for (x, chance) in forecast.features.iter().zip(&forecast.chances) {
            gradient.iter_mut().zip(x).for_each(|(gradient, x)| *gradient += chance * x);
        }
        for set in [0, 1 + forecast.context] {
            for (n, gradient) in gradient.iter().enumerate() {
                let square = &mut self.squares[set][n];
                *square += gradient * gradient;
                let first = start::WEIGHTS[set][n];
                let weight = &mut self.weights[set][n];
                *weight -= RATE * gradient / (DAMPING + *square).sqrt();
                *weight = weight.clamp(first - REACH, first + REACH);
            }
        }
        let ranks = &mut self.ranks[forecast.context];
        ranks.iter_mut().for_each(|count| *count *= KEPT_RANKS);
        ranks[used.min(RANKS - 1)] += 1.0;
        let shares = &mut self.shares[forecast.context];
        let mut total = 0.0;
        for (share, chance) in shares.iter_mut().zip(forecast.candidates[used].chances) {
            *share *= chance.max(CHANCE_LEAST);
            total += *share;
        }
        shares.iter_mut().for_each(|share| *share = *share / total * (1.0 - SHARE) + SHARE / EXPERTS as f32);
    }

    /// Whether all numbers are such as learning leaves them, but for the box of the weights.
    pub(super) fn is_sound(&self) -> bool {
        let numbers = |sets: &Weights| sets.iter().flatten().all(|number| number.is_finite());
        let sums = self.shares.iter().all(|shares| (shares.iter().sum::<f32>() - 1.0).abs() < 1e-3);
        let squares = self.squares.iter().flatten().all(|square| *square >= 0.0);
        let shares = self.shares.iter().flatten().all(|share| (0.0..=1.0).contains(share));
        let ranks = self.ranks.iter().flatten().all(|count| (0.0..1e6).contains(count));
        numbers(&self.weights) && numbers(&self.squares) && squares && sums && shares && ranks
    }

    /// The same with weights that lie in the box of this version's first weights.
    pub(super) fn within_reach(mut self) -> Self {
        for (weight, first) in self.weights.iter_mut().flatten().zip(start::WEIGHTS.iter().flatten()) {
            *weight = weight.clamp(first - REACH, first + REACH);
        }
        self
    }
}
