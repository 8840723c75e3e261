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
//! Of a pair a coin holds out one. Only episodes count in which the engine had something to request. A pair one of which
//! is void (its outcome is missing, or the engine says that it tells nothing) is dropped whole, and another begins.
//!
//! *Verdicts* are those of [`Evidence`] on the figure of [`Plan::figure`], after each pair. Gain and harm are each wrongly
//! called with a chance of 0.025 at most in the whole of a trial, from its beginning to its rest: each phase begins a
//! *stage* with evidence of its own, and stages share that chance. A stage has a bounded number of pairs,
//! which are all kept, so that nothing falls out of it; the effect at its end is kept ([`stages`]).
//! *Futility* cannot err on that side: the engine rests when the gain is certainly less than [`GAIN_MIN`], and when after
//! 32, 64 or 128 pairs the estimate is.
//!
//! Pure. Properties: `of_each_pair_one_is_held_out`; `acting_holds_out_one_of_ten`; `a_void_episode_costs_its_pair`;
//! `what_rests_is_tried_again_after_a_month_or_a_change`; and by simulation (`simulation.rs`):
//! `no_effect_is_seldom_called_one`, `gains_are_found`, `harm_is_undone`.

pub mod evidence;
#[cfg(test)]
mod simulation;
pub mod stages;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use evidence::{Effect, Evidence};
use stages::Stages;

use crate::device::Device;
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
const DAY_MS: u64 = 86_400_000;
/// Episodes of a block: on trial, and acting.
const BLOCK_TRIED: u8 = 2;
const BLOCK_ACTING: u8 = 10;

/// What a trial is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Subject {
    /// The machine as a whole.
    Machine,
    /// Block devices of a model, which outlives the kernel's names; by that name where a device reports no model.
    Disk(String),
    /// An app, by its id.
    App(String),
}

impl Subject {
    /// The subject of a disk.
    #[must_use]
    pub fn disk(device: &Device) -> Self {
        Self::Disk(if device.model.is_empty() { &device.name } else { &device.model }.clone())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => f.write_str("machine"),
            Self::Disk(name) => write!(f, "disk {name}"),
            Self::App(id) => write!(f, "app {id}"),
        }
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.to_string()
    }
}

impl TryFrom<String> for Subject {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(' ') {
            None if text == "machine" => Ok(Self::Machine),
            Some(("disk", name)) => Ok(Self::Disk(name.to_owned())),
            Some(("app", id)) => Ok(Self::App(id.to_owned())),
            _ => Err(format!("'{text}' is no subject of a trial: machine, disk NAME or app ID")),
        }
    }
}

/// What an episode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// A launch of the app.
    Launch,
    /// A stretch in which the engine has requests, cut after this time.
    Load {
        /// The time.
        most_s: u64,
    },
    /// A block of time. What the engine did before carries over, so that the first part counts for nothing.
    Time {
        /// All of it.
        block_s: u64,
        /// The first part.
        wash_out_s: u64,
    },
}

/// The outcome by which an engine is judged; the others of an episode are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Time that the app waited for storage.
    StorageWait,
    /// Share of the time that apps in front waited for storage.
    StorageShare,
    /// Share of the time that apps in front waited for storage or memory.
    StallShare,
    /// Time that the disk was busy for each request.
    BusyTime,
}

impl Figure {
    /// Added to both outcomes before their ratio is taken: what is smaller makes no difference to a user.
    #[must_use]
    pub fn least(self) -> f64 {
        match self {
            // us, a share, ms.
            Self::StorageWait => 1_000.0,
            Self::StorageShare | Self::StallShare => 0.001,
            Self::BusyTime => 0.005,
        }
    }

    /// What the ratio is a ratio of, as the beginning of "... 0.62 times as long".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::StorageWait => "launches wait for storage",
            Self::StorageShare => "apps in mixed load wait for storage",
            Self::StallShare => "apps wait for storage and memory",
            Self::BusyTime => "the disk is busy for a request",
        }
    }
}

/// Whether a trial is of an app, a disk or the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The machine.
    Machine,
    /// Each disk.
    Disk,
    /// Each app.
    App,
}

/// How the trial of an engine is made: data that the engine declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Of what each trial is.
    pub scope: Scope,
    /// What an episode is.
    pub span: Span,
    /// What decides.
    pub figure: Figure,
    /// Episodes in which it had something to request, before its trial begins.
    pub learn: u32,
}

/// By which rules a trial goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ladder {
    /// Evidence alone decides.
    #[default]
    Auto,
    /// The configuration names the engine: it begins with acting, and rests only where harm is certain.
    Named,
    /// A person wants it on: it acts whatever the evidence, one of ten held out so that there is any.
    On,
    /// A person wants it off.
    Off,
}

/// A place on the ladder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It learns, and changes nothing.
    #[default]
    Observing,
    /// Half of the episodes are held out.
    OnTrial,
    /// One of ten is.
    Acting,
    /// It changes nothing.
    Resting,
}

impl Phase {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Observing => "observing",
            Self::OnTrial => "on trial",
            Self::Acting => "acting",
            Self::Resting => "resting",
        }
    }
}

/// Why a trial is in its phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing was seen yet.
    #[default]
    New,
    /// It knows enough to act.
    Learned,
    /// The gain is certain.
    Gains,
    /// The harm is certain.
    Harms,
    /// The gain is certainly less than the least that is worth it.
    GainsTooLittle,
    /// No gain was shown.
    NotShown,
    /// A gain that was shown is not shown any more.
    NotShownAgain,
    /// The rest is over.
    Rested,
    /// A package, kernel or device is another.
    Changed,
    /// The configuration names it.
    Named,
    /// A person switched it.
    Person,
}

impl Why {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::New => "nothing was seen yet",
            Self::Learned => "it has learned enough",
            Self::Gains => "it gains",
            Self::Harms => "it makes things worse",
            Self::GainsTooLittle => "it gains too little",
            Self::NotShown => "no gain was found",
            Self::NotShownAgain => "its gain was not found again",
            Self::Rested => "its rest is over",
            Self::Changed => "a package, the kernel or the device changed",
            Self::Named => "the configuration names it",
            Self::Person => "switched by a person",
        }
    }
}

/// What happens to the requests of an engine for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// They are applied.
    On,
    /// They are dropped: this episode is compared with others.
    HeldOut,
    /// They are dropped: the engine only observes.
    Observing,
    /// They are dropped: it did not pay.
    Resting,
    /// They are dropped: a person switched the engine off.
    Off,
}

impl Arm {
    /// Why requests are dropped, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::On => "applied",
            Self::HeldOut => "held out for comparison",
            Self::Observing => "the engine only observes so far",
            Self::Resting => "the engine rests, as it did not pay here",
            Self::Off => "the engine is switched off",
        }
    }
}

/// Requests that are not applied at this moment: those of one engine for one subject, or all of it. What a record needs
/// to have the same decisions again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name of the engine.
    pub engine: String,
    /// The subject; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// Why: never [`Arm::On`].
    pub arm: Arm,
    /// What reads back for an app is applied all the same: what the engine had done before carries over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_back: bool,
}

/// Sums over the episodes of an arm, for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Episodes.
    pub episodes: u64,
    /// Their length.
    pub length_s: f64,
    /// Time that their apps waited for storage.
    pub storage_s: f64,
    /// The same for memory.
    pub memory_s: f64,
    /// The same for a processor.
    pub processor_s: f64,
    /// Bytes that their apps, or the disk, read.
    pub read_mib: f64,
    /// The same for writes.
    pub written_mib: f64,
    /// Pages of the machine that came back after reclaim.
    pub refault_pages: u64,
    /// Apps that were ended.
    pub ended_apps: u64,
}

impl Sums {
    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.episodes += other.episodes;
        self.length_s += other.length_s;
        self.storage_s += other.storage_s;
        self.memory_s += other.memory_s;
        self.processor_s += other.processor_s;
        self.read_mib += other.read_mib;
        self.written_mib += other.written_mib;
        self.refault_pages += other.refault_pages;
        self.ended_apps += other.ended_apps;
    }
}

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

/// What an engine says of its trial on a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The episode that ends now tells nothing, such as a launch that found all of its files in memory.
    Void,
    /// What it acts on is another thing now, such as an app whose package changed.
    Anew,
}

/// An episode that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// With this outcome, and what else is known of it.
    Counts {
        /// Value of the plan's figure.
        value: f64,
        /// Sums of one episode.
        sums: Sums,
    },
    /// It tells nothing.
    Void,
    /// What the engine acts on is another thing now: the trial begins anew.
    Anew,
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

    /// Takes in an episode for which the engine had something to request. Gives the pair that it completes: logarithm
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

    /// Goes on by the clock: a rest may be over.
    pub fn pass(&mut self, ladder: Ladder, now_unix_ms: u64) {
        // A clock that jumps back by as much ends it too: no rest lasts for ever.
        if self.phase == Phase::Resting && now_unix_ms.abs_diff(self.since_unix_ms) >= REST_DAYS * DAY_MS {
            self.begin_again(ladder, Why::Rested, now_unix_ms);
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAN: Plan = Plan { scope: Scope::App, span: Span::Launch, figure: Figure::StorageWait, learn: 1 };
    const NOW_MS: u64 = 1_795_000_000_000;

    fn ended(value: f64) -> Ended {
        Ended::Counts { value, sums: Sums { episodes: 1, ..Sums::default() } }
    }

    /// One that has learned.
    fn on_trial() -> Trial {
        let mut trial = Trial::new(Ladder::Auto, 0);
        assert_eq!(trial.arm(Ladder::Auto, 7), Arm::Observing);
        trial.take(&PLAN, Ladder::Auto, 7, &ended(1.0), NOW_MS);
        assert_eq!((trial.phase, trial.why, trial.since_unix_ms), (Phase::OnTrial, Why::Learned, NOW_MS));
        trial
    }

    /// So many episodes, in which the engine makes outcomes `ratio` times as large; gives their arms.
    fn run(trial: &mut Trial, ladder: Ladder, seed: u64, episodes: usize, ratio: f64) -> Vec<Arm> {
        let mut episode = || {
            let arm = trial.arm(ladder, seed);
            let value = 1e6 * if arm == Arm::On { ratio } else { 1.0 };
            trial.take(&PLAN, ladder, seed, &ended(value), NOW_MS);
            arm
        };
        (0..episodes).map(|_| episode()).collect()
    }

    #[test]
    fn a_gain_climbs_the_ladder_and_harm_leaves_it() {
        let mut trial = on_trial();
        run(&mut trial, Ladder::Auto, 7, 30, 0.6);
        assert_eq!((trial.phase, trial.why), (Phase::Acting, Why::Gains));
        let effect = trial.effect().expect("known");
        assert!(effect.high < 1.0 && (effect.low..effect.high).contains(&0.6), "{effect:?}");
        assert!(trial.acted.episodes > 0 && trial.held_out.episodes > 0);
        run(&mut trial, Ladder::Auto, 7, 200, 1.3);
        // Before the harm is certain, it is certain that there is no gain worth it.
        assert_eq!((trial.phase, trial.why), (Phase::Resting, Why::GainsTooLittle));
        assert_eq!(trial.arm(Ladder::Auto, 7), Arm::Resting);
        let mut harms = on_trial();
        run(&mut harms, Ladder::Auto, 8, 30, 4.0);
        assert_eq!((harms.phase, harms.why), (Phase::Resting, Why::Harms));
        let mut little = on_trial();
        run(&mut little, Ladder::Auto, 9, 200, 1.0);
        assert_eq!(little.phase, Phase::Resting, "nothing is gained");
    }

    #[test]
    fn a_gain_that_fades_is_tried_anew() {
        let mut trial = on_trial();
        run(&mut trial, Ladder::Auto, 7, 30, 0.6);
        assert_eq!(trial.phase, Phase::Acting);
        run(&mut trial, Ladder::Auto, 7, 10 * SHOWN_PAIRS, 0.9);
        assert_eq!(trial.phase, Phase::Acting, "it is still a gain");
        run(&mut trial, Ladder::Auto, 7, 10 * SHOWN_PAIRS, 1.0);
        assert_eq!(trial.phase, Phase::Resting);
    }

    #[test]
    fn a_person_goes_before_evidence() {
        let mut trial = on_trial();
        run(&mut trial, Ladder::Auto, 7, 30, 1.5);
        assert_eq!(trial.phase, Phase::Resting);
        trial.switch(Ladder::On, NOW_MS);
        let arms = run(&mut trial, Ladder::On, 7, 1_500, 1.5);
        assert_eq!((trial.phase, trial.why), (Phase::Acting, Why::Person), "worse, and on");
        assert_eq!(arms.iter().filter(|arm| **arm == Arm::HeldOut).count(), 150);
        assert!(trial.effect().is_some_and(|effect| effect.low > 1.0));
        assert_eq!(trial.arm(Ladder::Off, 7), Arm::Off);
        trial.switch(Ladder::Auto, NOW_MS);
        assert_eq!(trial.phase, Phase::OnTrial);
        let mut named = Trial::new(Ladder::Named, 0);
        run(&mut named, Ladder::Named, 7, 400, 1.0);
        assert_eq!(named.phase, Phase::Acting, "no gain is no harm");
        run(&mut named, Ladder::Named, 7, 400, 1.5);
        assert_eq!((named.phase, named.why), (Phase::Resting, Why::Harms));
    }

    #[test]
    fn what_rests_is_tried_again_after_a_month_or_a_change() {
        let mut rests = on_trial();
        run(&mut rests, Ladder::Auto, 7, 30, 1.5);
        let after = |ms: u64| {
            let mut trial = rests.clone();
            trial.pass(Ladder::Auto, ms);
            trial.phase
        };
        assert_eq!((after(NOW_MS), after(NOW_MS + 29 * DAY_MS)), (Phase::Resting, Phase::Resting));
        assert_eq!(after(NOW_MS + 30 * DAY_MS), Phase::OnTrial);
        assert_eq!((after(0), after(u64::MAX)), (Phase::OnTrial, Phase::OnTrial), "a clock that jumps");
        let mut changed = rests.clone();
        changed.take(&PLAN, Ladder::Auto, 7, &Ended::Anew, NOW_MS);
        assert_eq!((changed.phase, changed.why, changed.effect()), (Phase::OnTrial, Why::Changed, None));
    }

    #[test]
    fn subjects_are_texts() {
        for (subject, text) in [
            (Subject::Machine, "machine"),
            (Subject::Disk("mmcblk0".to_owned()), "disk mmcblk0"),
            (Subject::App("org.gnome.Evince".to_owned()), "app org.gnome.Evince"),
        ] {
            assert_eq!(subject.to_string(), text);
            assert_eq!(Subject::try_from(text.to_owned()), Ok(subject));
        }
        assert!(Subject::try_from("phone x".to_owned()).is_err());
    }

    proptest! {
        #[test]
        fn of_each_pair_one_is_held_out(seed: u64, pairs in 1..20_usize) {
            let mut trial = on_trial();
            // All are alike: nothing is decided before the first check.
            let arms = run(&mut trial, Ladder::Auto, seed, 2 * pairs.min(9), 1.0);
            for pair in arms.chunks(2) {
                prop_assert_eq!(pair.iter().filter(|arm| **arm == Arm::HeldOut).count(), 1);
            }
        }

        #[test]
        fn acting_holds_out_one_of_ten(seed: u64) {
            let mut trial = Trial::new(Ladder::On, 0);
            let arms = run(&mut trial, Ladder::On, seed, 100, 1.0);
            for block in arms.chunks(10) {
                prop_assert_eq!(block.iter().filter(|arm| **arm == Arm::HeldOut).count(), 1);
            }
            prop_assert_eq!(trial.pairs(), 10);
        }

        #[test]
        fn a_void_episode_costs_its_pair(seed: u64, voids in prop::collection::vec(any::<bool>(), 40)) {
            let mut trial = on_trial();
            let (mut open, mut pairs) = (0, 0);
            for void in voids {
                let end = if void { Ended::Void } else { ended(1e6) };
                let pair = trial.take(&PLAN, Ladder::Auto, seed, &end, NOW_MS);
                open = if void { 0 } else { open + 1 };
                prop_assert_eq!(pair.is_some(), open == 2);
                if open == 2 {
                    (open, pairs) = (0, pairs + 1);
                }
                if trial.phase != Phase::OnTrial {
                    break;
                }
                prop_assert_eq!(trial.pairs(), pairs);
            }
        }

        #[test]
        fn a_trial_is_read_back(seed: u64, episodes in 0..40_usize, ratio in 0.3..2.0_f64) {
            let mut trial = on_trial();
            run(&mut trial, Ladder::Auto, seed, episodes, ratio);
            let text = serde_json::to_string(&trial).expect("JSON");
            let again: Trial = serde_json::from_str(&text).expect("the same");
            let of = |trial: &Trial| (trial.half, trial.block, trial.pairs(), trial.phase, trial.why);
            prop_assert_eq!(of(&again), of(&trial));
            prop_assert!(text.len() < 4_096, "{}", text.len());
        }
    }
}
