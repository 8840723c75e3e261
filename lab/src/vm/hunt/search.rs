//! Search for worse loads, and shrinking of what is found. Pure: results in, next loads out.
//!
//! The search changes one to three dimensions of the worst loads of each bound; the changed loads are measured, and may
//! be the worst ones of the next round. Shrinking tries all loads that are simpler in one dimension at once, since
//! loads share a boot; then the simplifications that still show the effect together, and halves of them; and so on,
//! until no simpler load shows it.
//!
//! Properties, each with a test: nothing is tried twice; a shrunk load still shows what was found, and no load that is
//! simpler in one dimension does.

use std::collections::HashSet;

use brisk_core::random::Random;

use super::load::Levels;
use super::score::Bound;

/// Worst loads of a bound that the search changes.
const WORST: usize = 3;
/// Tries to find a load that is not known.
const DRAWS_MAX: usize = 50;

/// A load with the values of its bounds over what the bounds allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    pub load: Levels,
    /// By bound: above 1 is missed.
    pub excess: Vec<(Bound, f64)>,
}

/// Up to `count` new loads, made of the worst ones of each bound in turn. `step` numbers the calls with one seed.
#[must_use]
pub fn next(tried: &[Tried], seed: u64, step: u64, count: usize) -> Vec<Levels> {
    let mut random = Random::stream(!seed, step);
    let mut known: HashSet<Levels> = tried.iter().map(|one| one.load).collect();
    let worst: Vec<Vec<Levels>> =
        Bound::ALL.iter().map(|bound| worst(tried, *bound, WORST)).filter(|of| !of.is_empty()).collect();
    let mut found = Vec::new();
    for turn in 0..count * usize::from(!worst.is_empty()) {
        let of = &worst[turn % worst.len()];
        let from = of[random.below(of.len() as u64) as usize];
        let changed = (0..DRAWS_MAX).map(|_| from.changed(&mut random)).find(|changed| known.insert(*changed));
        found.extend(changed);
    }
    found
}

/// The worst loads of a bound, worst first.
#[must_use]
pub fn worst(tried: &[Tried], bound: Bound, count: usize) -> Vec<Levels> {
    let value = |one: &Tried| one.excess.iter().find(|(of, _)| *of == bound).map(|(_, excess)| *excess);
    let mut all: Vec<(f64, Levels)> = tried.iter().filter_map(|one| Some((value(one)?, one.load))).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(count).map(|(_, load)| load).collect()
}

#[derive(Debug, Clone)]
pub struct Shrink {
    /// The smallest load that shows the effect so far.
    best: Levels,
    /// What the last simplifications were made from, and those that showed the effect.
    passed: (Levels, Vec<Levels>),
    tried: HashSet<Levels>,
}

impl Shrink {
    /// A load that shows the effect.
    #[must_use]
    pub fn new(load: Levels) -> Self {
        Self { best: load, passed: (load, Vec::new()), tried: HashSet::from([load]) }
    }

    /// The smallest load that shows the effect so far.
    #[must_use]
    pub fn best(&self) -> Levels {
        self.best
    }

    /// Loads tried, without the first one.
    #[must_use]
    pub fn tried(&self) -> usize {
        self.tried.len() - 1
    }

    /// Loads to try next; empty at the end.
    #[must_use]
    pub fn next(&self) -> Vec<Levels> {
        let (from, passed) = &self.passed;
        let half = passed.len() / 2;
        let merges = [&passed[..], &passed[..half], &passed[half..]].map(|some| from.merged(some));
        let new = |all: Vec<Levels>| -> Vec<Levels> {
            let mut seen = HashSet::new();
            all.into_iter()
                .filter(|load| load.size() < self.best.size() && !self.tried.contains(load) && seen.insert(*load))
                .collect()
        };
        let merges = new(merges.to_vec());
        if merges.is_empty() { new(self.best.simpler()) } else { merges }
    }

    /// Takes the results of [`Shrink::next`]: whether each load shows the effect.
    pub fn tell(&mut self, results: &[(Levels, bool)]) {
        let from = self.best;
        self.tried.extend(results.iter().map(|(load, _)| *load));
        let passing: Vec<Levels> = results.iter().filter(|(_, shows)| *shows).map(|(load, _)| *load).collect();
        let merged = self.passed.1.len() > 1;
        if let Some(smallest) = passing.iter().min_by_key(|load| load.size())
            && smallest.size() < self.best.size()
        {
            self.best = *smallest;
        }
        self.passed = if merged { (self.best, Vec::new()) } else { (from, passing) };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vm::hunt::load::{DIMENSIONS, Dim};

    /// Shrinks a load with a made-up scorer; the result, and the rounds.
    fn shrunk(load: Levels, shows: impl Fn(Levels) -> bool) -> (Levels, usize) {
        let mut shrink = Shrink::new(load);
        let mut rounds = 0;
        loop {
            let next = shrink.next();
            if next.is_empty() {
                return (shrink.best(), rounds);
            }
            rounds += 1;
            let results: Vec<(Levels, bool)> = next.iter().map(|load| (*load, shows(*load))).collect();
            shrink.tell(&results);
        }
    }

    #[test]
    fn a_cause_in_two_dimensions_is_found_in_few_rounds() {
        let shows = |load: Levels| load.value(Dim::Readers) >= 4 && load.value(Dim::ReadPauseUs) >= 1_000;
        let large = (0..).map(|number| Levels::draw(1, number)).find(|load| shows(*load) && load.size() > 40);
        let (small, rounds) = shrunk(large.expect("one of many"), shows);
        assert_eq!((small.value(Dim::Readers), small.value(Dim::ReadPauseUs)), (4, 1_000));
        assert_eq!(small.words(), "4 random readers of 4 KiB, pause 1 ms on 4 dies of 70/400 us");
        assert!(rounds <= 12, "{rounds} boots");
    }

    #[test]
    fn the_search_finds_what_draws_do_not() {
        // The more dimensions are at one level, the worse.
        let wanted = Levels::draw(99, 0);
        let scored = |load: Levels| {
            let same = (0..DIMENSIONS).filter(|place| wanted.merged(&[load]).level(*place) == wanted.level(*place));
            Tried { load, excess: vec![(Bound::ReadMean, same.count() as f64)] }
        };
        let best = |tried: &[Tried]| scored(worst(tried, Bound::ReadMean, 1)[0]).excess[0].1;
        let drawn: Vec<Tried> = (0..400).map(|number| scored(Levels::draw(1, number))).collect();
        let mut found = drawn[..100].to_vec();
        for step in 0..30 {
            let new = next(&found, 1, step, 10);
            assert!(new.iter().all(|load| found.iter().all(|one| one.load != *load)), "nothing is tried twice");
            found.extend(new.into_iter().map(scored));
        }
        assert_eq!(found.len(), 400);
        assert!(best(&found) > best(&drawn), "{} by search, {} by draws", best(&found), best(&drawn));
        assert_eq!(next(&[], 1, 0, 10), [], "nothing to start from");
    }

    proptest! {
        #[test]
        fn a_shrunk_load_shows_the_effect_and_no_simpler_one_does(
            number in 0u64..1_000_000,
            least in prop::array::uniform27(0u8..6),
            used in prop::collection::vec(0usize..DIMENSIONS, 0..5),
        ) {
            let load = Levels::draw(5, number);
            // Naive scorer: in some dimensions the level is at least that of the load, or so.
            let shows = |other: Levels| used.iter().all(|place| {
                other.level(*place) >= least[*place].min(load.level(*place))
            });
            let (small, _) = shrunk(load, shows);
            prop_assert!(shows(small) && small.size() <= load.size());
            prop_assert!(small.simpler().into_iter().all(|simpler| !shows(simpler)), "{}", small.words());
        }
    }
}
