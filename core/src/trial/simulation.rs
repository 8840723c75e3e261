//! Simulated trials: how often no effect is called one, and how many episodes an effect takes.
//!
//! Outcomes are drawn as those of real launches are: with a spread of 10, 30 or 50 % (standard deviation of the
//! logarithm), and, for what has no effect, also with heavy tails, drift, times of day and dependence. The engine
//! multiplies them by a ratio when it acts. `cargo test -p brisk-core --release -- --ignored --nocapture the_table` prints
//! the figures of `docs/how/trial.md`.

use super::*;
use crate::random::Random;

const PLAN: Plan = Plan { scope: Scope::App, span: Span::Launch, figure: Figure::StorageWait, learn: 1 };

/// How outcomes vary without any effect, beside their spread.
#[derive(Debug, Clone, Copy, PartialEq)]
enum World {
    /// Each by itself, lognormal.
    Plain,
    /// Student's t with 1.5 degrees of freedom: no variance.
    HeavyTails,
    /// From one level to three times as much over 400 episodes.
    Drift,
    /// Mornings are twice as slow as nights; 20 episodes a day.
    TimeOfDay,
    /// Each is like the one before.
    Dependent,
    /// A few wild outcomes in otherwise equal ones.
    Wild,
}

const WORLDS: [World; 6] =
    [World::Plain, World::HeavyTails, World::Drift, World::TimeOfDay, World::Dependent, World::Wild];

struct Outcomes {
    world: World,
    spread: f64,
    random: Random,
    nth: f64,
    last: f64,
}

impl Outcomes {
    fn next(&mut self) -> f64 {
        self.nth += 1.0;
        let noise = self.random.normal() * self.spread;
        let ln = match self.world {
            World::Plain => noise,
            World::HeavyTails => {
                let chi: f64 = (0..3).map(|_| self.random.normal().powi(2)).sum::<f64>() / 2.0;
                noise / (chi / 1.5).sqrt().max(0.02)
            }
            World::Drift => noise + self.nth / 400.0 * 3.0_f64.ln(),
            World::TimeOfDay => noise + (self.nth / 20.0 * std::f64::consts::TAU).sin() * 0.35,
            World::Dependent => {
                self.last = 0.8 * self.last + noise;
                self.last
            }
            World::Wild => {
                let is_wild = self.random.below(10) == 0;
                0.1 * noise + if is_wild { 3.0 * self.random.normal().abs() } else { 0.0 }
            }
        };
        1e6 * ln.exp()
    }
}

/// What became of a trial within so many episodes: the first episode at which it acted for its gain, was called
/// harmful, and rested.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    gain: Option<u32>,
    harm: Option<u32>,
    rest: Option<u32>,
    /// Whether it acts at the end.
    acts: bool,
}

fn trial(world: World, spread: f64, ratio: f64, episodes: u32, seed: u64) -> Found {
    let mut outcomes = Outcomes { world, spread, random: Random::stream(seed, 1), nth: 0.0, last: 0.0 };
    let (mut trial, mut found) = (Trial::new(Ladder::Auto, 0), Found::default());
    let seed = mix(seed ^ 77);
    for episode in 1..=episodes {
        let base = outcomes.next();
        let value = if trial.arm(Ladder::Auto, seed) == Arm::On { base * ratio } else { base };
        trial.take(&PLAN, Ladder::Auto, seed, &Ended::Counts { value, sums: Sums::default() }, 0);
        match (trial.phase, trial.why) {
            (Phase::Acting, Why::Gains) => drop(found.gain.get_or_insert(episode)),
            (Phase::Resting, Why::Harms) => drop(found.harm.get_or_insert(episode)),
            _ => {}
        }
        if trial.phase == Phase::Resting {
            found.rest.get_or_insert(episode);
            break;
        }
    }
    found.acts = trial.phase == Phase::Acting;
    found
}

fn trials(world: World, spread: f64, ratio: f64, episodes: u32, runs: u64) -> Vec<Found> {
    (0..runs).map(|run| trial(world, spread, ratio, episodes, mix(run))).collect()
}

fn count(found: &[Found], of: impl Fn(&Found) -> bool) -> usize {
    found.iter().filter(|one| of(one)).count()
}

/// Median and 90 % of what all but those that never came to it took.
fn quantiles(found: &[Found], of: impl Fn(&Found) -> Option<u32>) -> (Option<u32>, Option<u32>) {
    let mut taken: Vec<u32> = found.iter().map(|one| of(one).unwrap_or(u32::MAX)).collect();
    taken.sort_unstable();
    let at = |share: f64| taken.get((share * taken.len() as f64) as usize).copied().filter(|of| *of < u32::MAX);
    (at(0.5), at(0.9))
}

#[test]
fn no_effect_is_seldom_called_one() {
    for world in WORLDS {
        for spread in [0.1, 0.5] {
            let found = trials(world, spread, 1.0, 400, 60);
            let (gain, harm) = (count(&found, |one| one.gain.is_some()), count(&found, |one| one.harm.is_some()));
            // 1.5 each are expected at most; 7 have a chance below 0.001.
            assert!(gain <= 6 && harm <= 6, "{world:?} {spread}: {gain} {harm}");
        }
    }
}

#[test]
fn gains_are_found() {
    // Spread, ratio, at least so many of 60 act, the median within so many episodes.
    for (spread, ratio, least, median) in
        [(0.1, 0.7, 60, 30), (0.3, 0.7, 57, 60), (0.5, 0.7, 50, 120), (0.1, 0.9, 57, 70), (0.3, 0.5, 60, 40)]
    {
        let found = trials(World::Plain, spread, ratio, 600, 60);
        let acts = count(&found, |one| one.gain.is_some());
        let taken = quantiles(&found, |one| one.gain).0;
        assert!(acts >= least && taken.is_some_and(|taken| taken <= median), "{spread} {ratio}: {acts} {taken:?}");
    }
}

#[test]
fn harm_is_undone() {
    for (spread, ratio, within) in
        [(0.1, 1.2, 60), (0.3, 1.2, 66), (0.5, 1.2, 66), (0.1, 1.05, 66), (0.3, 1.05, 130), (0.5, 1.05, 257)]
    {
        let found = trials(World::Plain, spread, ratio, 300, 60);
        let (gain, rests) = (count(&found, |one| one.gain.is_some()), count(&found, |one| one.rest.is_some()));
        let taken = quantiles(&found, |one| one.rest).1;
        assert!(gain <= 4 && rests >= 56, "{spread} {ratio}: {gain} {rests}");
        assert!(taken.is_some_and(|taken| taken <= within), "{spread} {ratio}: {taken:?}");
    }
}

#[test]
#[ignore = "prints the figures of the documentation; minutes without optimisation"]
fn the_table() {
    const RUNS: u64 = 4_000;
    println!("no effect, 1000 episodes: called a gain, called harm, % of {RUNS} trials");
    for world in WORLDS {
        for spread in [0.1, 0.3, 0.5] {
            let found = trials(world, spread, 1.0, 1_000, RUNS);
            let percent = |of: usize| of as f64 * 100.0 / RUNS as f64;
            let (gain, harm) = (count(&found, |one| one.gain.is_some()), count(&found, |one| one.harm.is_some()));
            println!("| {world:?} | {spread} | {:.1} | {:.1} |", percent(gain), percent(harm));
        }
    }
    println!("effects: ratio, spread, % that act, episodes to that (median, 90 %), % that rest, episodes to that");
    for ratio in [0.5, 0.7, 0.8, 0.9, 0.95, 1.05, 1.2] {
        for spread in [0.1, 0.3, 0.5] {
            let found = trials(World::Plain, spread, ratio, 1_000, RUNS);
            let percent = |of: usize| of as f64 * 100.0 / RUNS as f64;
            let act = percent(count(&found, |one| one.gain.is_some()));
            let rest = percent(count(&found, |one| one.rest.is_some()));
            let (gain, rested) = (quantiles(&found, |one| one.gain), quantiles(&found, |one| one.rest));
            let text = |(a, b): (Option<u32>, Option<u32>)| {
                let one = |of: Option<u32>| of.map_or("-".to_owned(), |of| of.to_string());
                format!("{} / {}", one(a), one(b))
            };
            println!("| {ratio} | {spread} | {act:.1} | {} | {rest:.1} | {} |", text(gain), text(rested));
        }
    }
}
