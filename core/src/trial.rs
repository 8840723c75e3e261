//! The trial of an engine: whether it pays on this device, told by its own episodes.
//!
//! An *episode* is a launch of an app, a stretch of load on a disk, or a block of time ([`Span`]). It has an *arm*: the
//! engine acts, or its requests are dropped. A trial has one *subject*: an app, a disk, or the machine. Its ladder:
//!
//! | phase | held out | left when |
//! |---|---|---|
//! | *observing* | all: the engine learns | it had something to request in [`Plan::learn`] episodes |
//! | *on trial* | one of each two | gain or harm is shown, or no gain after [`TRIED_PAIRS`] pairs |
//! | *acting* | one of ten | harm is shown, or the gain is not shown again in [`SHOWN_PAIRS`] pairs |
//! | *resting* | all: undone at once | a package, kernel or device changes, or after [`REST_DAYS`] days |
//!
//! *Blocks*: on trial, two adjacent episodes; acting, ten, two adjacent of which are a pair, at a place that is drawn.
//! Of a pair a coin holds out one. Only episodes count in which the engine had something to request. A pair one of
//! which is void (its outcome is missing, or the engine says that it tells nothing) is dropped whole, and another
//! begins.
//!
//! *Verdicts* are those of [`Evidence`] on the figure of [`Plan::figure`], after each pair. Gain and harm are each
//! wrongly called with a chance of 0.025 at most in the whole of a trial, from its beginning to its rest: each phase
//! begins a *stage* with evidence of its own, and stages share that chance. A stage has a bounded number of pairs,
//! which are all kept, so that nothing falls out of it; the effect at its end is kept ([`stages`]). *Futility* cannot
//! err on that side: the engine rests when the gain is certainly less than [`GAIN_MIN`], and when after 32, 64 or 128
//! pairs the estimate is.
//!
//! Pure. Properties: `of_each_pair_one_is_held_out`; `acting_holds_out_one_of_ten`; `a_void_episode_costs_its_pair`;
//! `what_rests_is_tried_again_after_a_month_or_a_change`; and by simulation (`simulation.rs`):
//! `no_effect_is_seldom_called_one`, `gains_are_found`, `harm_is_undone`.

pub mod evidence;
#[cfg(test)]
mod simulation;
pub mod stages;
mod words;

use serde::{Deserialize, Serialize};

pub use evidence::{Effect, Evidence};
use stages::Stages;
pub use words::{Arm, Ended, Figure, Ladder, LeftOut, Phase, Plan, Scope, Span, Subject, Sums, Told, Why};

use crate::random::{Random, mix};

/// Gains below this part are not worth an engine.
pub const GAIN_MIN: f64 = 0.02;
/// Pairs on trial after which an engine whose gain is not shown rests ...
pub const TRIED_PAIRS: usize = 128;
/// ... and those after which it does where the estimate shows none.
const FUTILE_PAIRS: [usize; 2] = [32, 64];
/// Pairs of a stage while acting: where these do not show the gain again, it is tried anew.
pub const SHOWN_PAIRS: usize = 64;
/// Days of rest.
pub const REST_DAYS: u64 = 30;
/// A clock before this was not set: 2026-01-01.
const CLOCK_SET_UNIX_MS: u64 = 1_767_225_600_000;
const DAY_MS: u64 = 86_400_000;
/// Episodes of a block: on trial, and acting.
const BLOCK_TRIED: u8 = 2;
const BLOCK_ACTING: u8 = 10;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Block {
    number: u64,
    at: u8,
}

/// The first episode of a pair that goes on: whether it was held out, and the logarithm of its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Half {
    held_out: bool,
    #[serde(with = "evidence::in_steps")]
    ln: f64,
}

/// The trial of one engine on one subject.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trial {
    /// Where it is on the ladder.
    pub phase: Phase,
    /// Since when, by the wall clock.
    pub since_unix_ms: u64,
    /// Why.
    pub why: Why,
    /// Episodes in which the engine had something to request, while observing.
    pub learned: u32,
    block: Block,
    half: Option<Half>,
    stages: Stages,
    /// Sums of the episodes in which the engine acted.
    pub acted: Sums,
    /// Sums of those that were held out.
    pub held_out: Sums,
}

impl Trial {
    /// One that begins.
    #[must_use]
    pub fn new(ladder: Ladder, now_unix_ms: u64) -> Self {
        let mut trial = Self { since_unix_ms: now_unix_ms, ..Self::default() };
        match ladder {
            Ladder::Named => trial.enter(Phase::Acting, Why::Named, now_unix_ms),
            Ladder::On => trial.enter(Phase::Acting, Why::Person, now_unix_ms),
            Ladder::Auto | Ladder::Off => {}
        }
        trial
    }

    /// One that begins by a plan: where there is nothing to learn first, it is on trial at once.
    #[must_use]
    pub fn of(plan: &Plan, ladder: Ladder, now_unix_ms: u64) -> Self {
        let mut trial = Self::new(ladder, now_unix_ms);
        if plan.learn == 0 && trial.phase == Phase::Observing {
            trial.enter(Phase::OnTrial, Why::Learned, now_unix_ms);
        }
        trial
    }

    /// The arm of the episode that goes on or comes next. `seed` belongs to this trial alone.
    #[must_use]
    pub fn arm(&self, ladder: Ladder, seed: u64) -> Arm {
        let is_held_out = || self.place(seed).is_some_and(|(_, held_out)| held_out);
        match (ladder, self.phase) {
            (Ladder::Off, _) => Arm::Off,
            (_, Phase::Observing) => Arm::Observing,
            (_, Phase::Resting) => Arm::Resting,
            _ if is_held_out() => Arm::HeldOut,
            _ => Arm::On,
        }
    }

    /// Where the episode is in its pair (0 or 1) and whether it is held out; `None` outside of a pair.
    fn place(&self, seed: u64) -> Option<(u8, bool)> {
        let length = if self.phase == Phase::OnTrial { BLOCK_TRIED } else { BLOCK_ACTING };
        let mut drawn = Random(mix(seed ^ self.block.number.wrapping_mul(0xd6e8_feb8_6659_fd93)));
        let first = drawn.below(u64::from(length) - 1) as u8;
        // The high bit: the low ones have drawn the place.
        let held_out_at = u8::from(drawn.bits() >> 63 == 1);
        let nth = self.block.at.checked_sub(first).filter(|nth| *nth < 2)?;
        Some((nth, nth == held_out_at))
    }

    /// Takes in an episode for which the engine had something to request. Returns the pair that it completes: logarithm
    /// of its ratio, with the engine over without.
    pub fn take(&mut self, plan: &Plan, ladder: Ladder, seed: u64, ended: &Ended, now_unix_ms: u64) -> Option<f64> {
        if *ended == Ended::Anew {
            self.renew(ladder, now_unix_ms);
            return None;
        }
        match self.phase {
            _ if ladder == Ladder::Off => return None,
            Phase::Resting => return None,
            Phase::Observing => {
                self.learned = self.learned.saturating_add(1);
                if self.learned >= plan.learn {
                    self.enter(Phase::OnTrial, Why::Learned, now_unix_ms);
                }
                return None;
            }
            Phase::OnTrial | Phase::Acting => {}
        }
        let place = self.place(seed);
        let Ended::Counts { value, sums } = ended else {
            match place {
                // A void one outside of a pair takes its place.
                None => self.next(),
                Some(_) => self.next_block(),
            }
            return None;
        };
        let is_held_out = place.is_some_and(|(_, held_out)| held_out);
        (if is_held_out { &mut self.held_out } else { &mut self.acted }).add(sums);
        let ln = evidence::in_steps::rounded((value.max(0.0) + plan.figure.least()).ln());
        self.next();
        match (place, self.half.take()) {
            (Some((0, held_out)), _) => self.half = Some(Half { held_out, ln }),
            (Some((1, held_out)), Some(first)) if first.held_out != held_out => {
                let difference = if held_out { first.ln - ln } else { ln - first.ln };
                self.stages.add(difference);
                self.judge(ladder, now_unix_ms);
                return Some(difference);
            }
            _ => {}
        }
        None
    }

    /// Goes on by the clock: a rest may be over. One whose begin the clock does not tell any more begins anew, so that
    /// none lasts for ever, and none ends where a device without a clock of its own starts in 1970.
    pub fn pass(&mut self, ladder: Ladder, now_unix_ms: u64) {
        let is_set = |unix_ms: u64| unix_ms >= CLOCK_SET_UNIX_MS;
        match (is_set(self.since_unix_ms), is_set(now_unix_ms)) {
            _ if self.phase != Phase::Resting => {}
            (true, false) => {}
            (false, true) => self.since_unix_ms = now_unix_ms,
            _ if now_unix_ms < self.since_unix_ms => self.since_unix_ms = now_unix_ms,
            _ if now_unix_ms - self.since_unix_ms >= REST_DAYS * DAY_MS => {
                self.begin_again(ladder, Why::Rested, now_unix_ms);
            }
            _ => {}
        }
    }

    /// What the engine acts on, or the kernel, is another.
    pub fn renew(&mut self, ladder: Ladder, now_unix_ms: u64) {
        if self.phase == Phase::Observing {
            self.learned = 0;
        } else {
            self.begin_again(ladder, Why::Changed, now_unix_ms);
        }
    }

    /// A person, or the configuration, changes the rules.
    pub fn switch(&mut self, ladder: Ladder, now_unix_ms: u64) {
        match ladder {
            Ladder::Off => {}
            Ladder::On => self.enter(Phase::Acting, Why::Person, now_unix_ms),
            Ladder::Named if self.phase == Phase::Resting && self.why == Why::Harms => {}
            Ladder::Named => self.enter(Phase::Acting, Why::Named, now_unix_ms),
            Ladder::Auto if self.why == Why::Person || self.why == Why::Named => {
                // What it gained while it was on is known.
                self.enter(Phase::OnTrial, Why::Learned, now_unix_ms);
            }
            Ladder::Auto => {}
        }
    }

    /// The effect: that of this stage, or of the one before while this one is young.
    #[must_use]
    pub fn effect(&self) -> Option<Effect> {
        self.stages.effect()
    }

    /// Evidence of the stage before, where it had pairs, and of this one, with the chance of a wrong call on each side.
    pub fn stages(&self) -> impl Iterator<Item = (&Evidence, f64)> {
        self.stages.both()
    }

    /// Pairs of this stage.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.stages.evidence().pairs()
    }

    fn judge(&mut self, ladder: Ladder, now_unix_ms: u64) {
        let (alpha, evidence) = (self.stages.alpha(), self.stages.evidence());
        let pairs = evidence.pairs();
        let worth = 1.0 - GAIN_MIN;
        let harms = evidence.is_above(1.0, alpha);
        let gains = evidence.is_below(1.0, alpha);
        let is_futile = || evidence.estimate().is_none_or(|ratio| ratio > worth);
        if matches!(ladder, Ladder::On | Ladder::Named) {
            if harms && ladder == Ladder::Named {
                self.enter(Phase::Resting, Why::Harms, now_unix_ms);
            } else if pairs >= SHOWN_PAIRS {
                self.begin_stage();
            }
            return;
        }
        let on_trial = self.phase == Phase::OnTrial;
        let to = match () {
            () if harms => Some((Phase::Resting, Why::Harms)),
            () if evidence.is_above(worth, alpha) => Some((Phase::Resting, Why::GainsTooLittle)),
            () if on_trial && gains => Some((Phase::Acting, Why::Gains)),
            () if on_trial && pairs >= TRIED_PAIRS => Some((Phase::Resting, Why::NotShown)),
            () if on_trial && FUTILE_PAIRS.contains(&pairs) && is_futile() => Some((Phase::Resting, Why::NotShown)),
            () if !on_trial && pairs >= SHOWN_PAIRS && !gains => Some((Phase::OnTrial, Why::NotShownAgain)),
            () => None,
        };
        match to {
            Some((phase, why)) => self.enter(phase, why, now_unix_ms),
            None if !on_trial && pairs >= SHOWN_PAIRS => self.begin_stage(),
            None => {}
        }
    }

    fn begin_again(&mut self, ladder: Ladder, why: Why, now_unix_ms: u64) {
        // Another trial, with the whole chance of a wrong call.
        self.stages = Stages::default();
        (self.acted, self.held_out) = (Sums::default(), Sums::default());
        let phase = if matches!(ladder, Ladder::On | Ladder::Named) { Phase::Acting } else { Phase::OnTrial };
        self.enter(phase, why, now_unix_ms);
    }

    fn enter(&mut self, phase: Phase, why: Why, now_unix_ms: u64) {
        (self.phase, self.why, self.since_unix_ms) = (phase, why, now_unix_ms);
        self.begin_stage();
    }

    fn begin_stage(&mut self) {
        self.stages.begin();
        self.next_block();
    }

    fn next(&mut self) {
        let length = if self.phase == Phase::OnTrial { BLOCK_TRIED } else { BLOCK_ACTING };
        self.block.at = self.block.at.saturating_add(1);
        if self.block.at >= length {
            (self.block.number, self.block.at) = (self.block.number.wrapping_add(1), 0);
        }
    }

    fn next_block(&mut self) {
        (self.block.number, self.block.at) = (self.block.number.wrapping_add(1), 0);
        self.half = None;
    }
}

#[cfg(test)]
mod tests;
