//! What is kept of trials over restarts: one text, which root alone reads, as it tells which apps are used.

use std::collections::BTreeMap;

use brisk_core::app::{id_of, user_of};
use brisk_core::random::mix;
use brisk_core::trial::stages::Stages;
use brisk_core::trial::{Arm, Effect, Ended, Ladder, Phase, Plan, Subject, Trial};
use brisk_engine::kit::Version;
use brisk_engine::kit::learned::to_make_room;
use serde::{Deserialize, Serialize};

/// Trials of an engine: of the user who has most, that of the app used longest ago makes room.
pub const SUBJECTS_MAX: usize = 200;

/// Everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// First, so that a later form is refused for its version.
    version: Version<1>,
    /// Draws which episodes are held out. Not predictable from what is tried.
    seed: u64,
    /// Release of the kernel: with another one, trials begin anew.
    kernel: String,
    /// How engines begin that no person has switched.
    base: Ladder,
    engines: BTreeMap<String, OfEngine>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct OfEngine {
    /// What a person wants.
    ladder: Option<Ladder>,
    /// Number of the last use.
    uses: u64,
    /// Each with the number of its last use.
    trials: BTreeMap<Subject, (u64, Trial)>,
    /// The pairs of all that act, together: chosen before they were made, so that their effect is not that of the luck
    /// by which a trial was won.
    pooled: Stages,
}

impl Kept {
    /// The daemon begins, or its configuration changed.
    pub fn begin(&mut self, base: Ladder, kernel: &str, now_unix_ms: u64) {
        if self.seed == 0 {
            self.seed = mix(now_unix_ms) | 1;
        }
        let is_other_kernel = self.kernel != kernel && !self.kernel.is_empty();
        kernel.clone_into(&mut self.kernel);
        let before = std::mem::replace(&mut self.base, base);
        for of in self.engines.values_mut() {
            let ladder = of.ladder.unwrap_or(base);
            for (_, trial) in of.trials.values_mut() {
                if of.ladder.is_none() && before != base {
                    trial.switch(base, now_unix_ms);
                }
                if is_other_kernel {
                    trial.renew(ladder, now_unix_ms);
                }
            }
            if is_other_kernel {
                of.pooled = Stages::default();
            }
        }
    }

    /// By which rules the trials of an engine go on.
    #[must_use]
    pub fn ladder(&self, engine: &str) -> Ladder {
        self.engines.get(engine).and_then(|of| of.ladder).unwrap_or(self.base)
    }

    /// Switches an engine; `None`: as the configuration says.
    pub fn switch(&mut self, engine: &str, ladder: Option<Ladder>, now_unix_ms: u64) {
        let base = self.base;
        let of = self.engines.entry(engine.to_owned()).or_default();
        of.ladder = ladder;
        of.trials.values_mut().for_each(|(_, trial)| trial.switch(ladder.unwrap_or(base), now_unix_ms));
    }

    /// The arm of the episode of a subject that goes on or comes next.
    pub fn arm(&mut self, engine: &str, plan: Option<&Plan>, subject: &Subject, now_unix_ms: u64) -> Arm {
        let (ladder, seed) = (self.ladder(engine), self.seed_of(engine, subject));
        match self.engines.get_mut(engine).and_then(|of| of.trials.get_mut(subject)) {
            Some((_, trial)) => {
                trial.pass(ladder, now_unix_ms);
                trial.arm(ladder, seed)
            }
            None => {
                let new =
                    plan.map_or_else(|| Trial::new(ladder, now_unix_ms), |plan| Trial::of(plan, ladder, now_unix_ms));
                new.arm(ladder, seed)
            }
        }
    }

    /// Takes in an episode. Gives the trial where its phase is another than before.
    pub fn take(
        &mut self,
        engine: &str,
        plan: &Plan,
        subject: &Subject,
        ended: &Ended,
        now_unix_ms: u64,
    ) -> Option<&Trial> {
        let (ladder, seed) = (self.ladder(engine), self.seed_of(engine, subject));
        let of = self.engines.entry(engine.to_owned()).or_default();
        of.uses += 1;
        let new = || (0, Trial::of(plan, ladder, now_unix_ms));
        let (used, trial) = of.trials.entry(subject.clone()).or_insert_with(new);
        *used = of.uses;
        let before = trial.phase;
        let pair = trial.take(plan, ladder, seed, ended, now_unix_ms);
        pair.into_iter().filter(|_| before == Phase::Acting).for_each(|difference| of.pooled.pool(difference));
        while of.trials.len() > SUBJECTS_MAX {
            let all = of.trials.iter().map(|(subject, (used, _))| (owner(subject), subject, *used, 1));
            let Some(oldest) = to_make_room(all).cloned() else { break };
            of.trials.remove(&oldest);
        }
        of.trials.get(subject).map(|(_, trial)| trial).filter(|trial| trial.phase != before)
    }

    /// What the engine acts on for this subject is another thing now.
    pub fn renew(&mut self, engine: &str, subject: &Subject, now_unix_ms: u64) {
        let ladder = self.ladder(engine);
        if let Some((_, trial)) = self.engines.get_mut(engine).and_then(|of| of.trials.get_mut(subject)) {
            trial.renew(ladder, now_unix_ms);
        }
    }

    /// Forgets an app, or all. What persons switched stays. Says whether anything was known.
    pub fn forget(&mut self, app: Option<&str>) -> bool {
        let mut known = false;
        for of in self.engines.values_mut() {
            let before = of.trials.len();
            let is_app = |subject: &Subject, id: &str| matches!(subject, Subject::App(owned) if id_of(owned) == id);
            let is_it = |subject: &Subject| app.is_none_or(|id| is_app(subject, id));
            of.trials.retain(|subject, _| !is_it(subject));
            known |= of.trials.len() < before;
            if app.is_none() {
                of.pooled = Stages::default();
            }
        }
        if app.is_none() {
            self.engines.retain(|_, of| of.ladder.is_some());
        }
        known
    }

    /// Whether nothing is known, and no engine was switched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.engines.is_empty()
    }

    /// The trials of an engine.
    pub fn trials(&self, engine: &str) -> impl Iterator<Item = (&Subject, &Trial)> {
        let of = self.engines.get(engine).into_iter().flat_map(|of| &of.trials);
        of.map(|(subject, (_, trial))| (subject, trial))
    }

    /// The effect of the only subject, or of all together that act; `None` while it is not known.
    #[must_use]
    pub fn effect(&self, engine: &str) -> Option<Effect> {
        let of = self.engines.get(engine)?;
        let mut trials = of.trials.values();
        match (trials.next(), trials.next()) {
            (Some((_, only)), None) => only.effect(),
            _ => of.pooled.effect(),
        }
    }

    /// Trials draw independently of each other (FNV-1a).
    fn seed_of(&self, engine: &str, subject: &Subject) -> u64 {
        let text = format!("{engine}/{subject}");
        let hash = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3_u64));
        mix(self.seed ^ hash)
    }
}

/// Machine and disks are of no user.
fn owner(subject: &Subject) -> Option<u32> {
    if let Subject::App(id) = subject { user_of(id) } else { None }
}
