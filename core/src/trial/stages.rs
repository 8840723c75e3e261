//! Evidence in stages: a bounded number of pairs each, which share the chance of a wrong call.

use serde::{Deserialize, Serialize};

use super::evidence::{Effect, Evidence};

/// Chance of a wrong call on each side, over all stages.
const ALPHA: f64 = 0.025;
/// Part of it that the first stage has.
const FIRST_STAGE: f64 = 0.8;
/// A stage with fewer pairs is young: the effect of the one before may be the better known one.
const YOUNG_PAIRS: u32 = 32;
/// Pairs of a stage of [`Stages::pool`].
const POOLED_PAIRS: usize = 128;

/// The stages of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stages {
    /// Number of this stage; 0 before the first.
    number: u32,
    evidence: Evidence,
    /// The effect at the end of the stage before.
    before: Option<Effect>,
    /// The evidence of the stage before, which decided to begin this one: for people.
    earlier: Evidence,
    earlier_number: u32,
}

/// Chance of a wrong call on one side that a stage may have, so that all together have no more than 0.025.
fn alpha(stage: u32) -> f64 {
    let stage = f64::from(stage);
    // 1 / (k (k - 1)) sums to 1 from the second on.
    if stage < 2.0 { ALPHA * FIRST_STAGE } else { ALPHA * (1.0 - FIRST_STAGE) / (stage * (stage - 1.0)) }
}

impl Stages {
    /// Begins the next one.
    pub fn begin(&mut self) {
        self.before = self.evidence.effect(self.alpha()).or(self.before);
        let ended = std::mem::take(&mut self.evidence);
        if ended.pairs() > 0 {
            (self.earlier, self.earlier_number) = (ended, self.number);
        }
        self.number = self.number.saturating_add(1);
    }

    /// Takes in a pair: logarithm of its ratio.
    pub fn add(&mut self, difference: f64) {
        self.evidence.add(difference);
    }

    /// Takes in a pair, of many trials together, and begins the next stage where this one is full.
    pub fn pool(&mut self, difference: f64) {
        if self.number == 0 || self.evidence.pairs() >= POOLED_PAIRS {
            self.begin();
        }
        self.add(difference);
    }

    /// Chance of a wrong call of this stage, on each side.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        alpha(self.number)
    }

    /// Evidence of this stage.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The stage before, where it had pairs, and this one: evidence with the chance of a wrong call on each side.
    pub fn both(&self) -> impl Iterator<Item = (&Evidence, f64)> {
        let both = [(&self.earlier, self.earlier_number), (&self.evidence, self.number)];
        both.into_iter().filter(|(evidence, _)| evidence.pairs() > 0).map(|(evidence, stage)| (evidence, alpha(stage)))
    }

    /// The effect: that of this stage, or of the one before while this one is young and knows it less well.
    #[must_use]
    pub fn effect(&self) -> Option<Effect> {
        match (self.evidence.effect(self.alpha()), self.before) {
            (Some(now), Some(before)) if now.pairs < YOUNG_PAIRS && before.width() < now.width() => Some(before),
            (now, before) => now.or(before),
        }
    }
}

impl Effect {
    fn width(&self) -> f64 {
        self.high / self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stages_together_have_the_chance_of_one() {
        let sum: f64 = (1..10_000).map(alpha).sum();
        assert!(sum <= ALPHA && sum > 0.999 * ALPHA, "{sum}");
    }

    #[test]
    fn people_see_the_pairs_that_decided_and_their_course_ends_with_the_effect() {
        let mut stages = Stages::default();
        stages.begin();
        (0..20).for_each(|pair| stages.add(if pair % 2 == 0 { -0.5 } else { -0.4 }));
        let decided = stages.effect();
        stages.begin();
        // A stage without pairs does not hide what decided.
        stages.begin();
        stages.add(0.3);
        let both: Vec<(Vec<f64>, f64)> =
            stages.both().map(|(evidence, alpha)| (evidence.ratios().collect(), alpha)).collect();
        assert_eq!(both.iter().map(|(ratios, _)| ratios.len()).collect::<Vec<_>>(), [20, 1]);
        let course = super::super::evidence::course(&both[0].0, both[0].1);
        assert_eq!((course[0], course.len(), *course.last().expect("20")), (None, 20, decided));
    }

    #[test]
    fn what_is_pooled_stays_bounded_and_its_effect_is_known_through() {
        let mut stages = Stages::default();
        for pair in 0..1_000 {
            stages.pool(if pair % 2 == 0 { -0.5 } else { -0.4 });
            let effect = stages.effect();
            assert!(stages.evidence.pairs() <= POOLED_PAIRS);
            assert!(pair < 12 || effect.is_some_and(|effect| effect.high < 0.8), "{pair}: {effect:?}");
        }
    }
}
