//! The trials of all engines: which requests are left out at this moment, and what episodes tell.
//!
//! ```text
//! left_out ──> arbiter drops ──> Round::trials (touched, told) + Snapshot ──> after ──> pairs, phases
//! ```
//!
//! A trial's arm stands until its episode has ended: what is left out in a round is known before the engines are asked,
//! and a record holds it, so that a replay needs no trial. Everything here is a function of what was observed.
//!
//! - `episode`: one that goes on, from the moment at which it began to its outcome.
//! - `kept`: what is kept over restarts: trials by engine and subject, at most [`kept::SUBJECTS_MAX`] of each engine,
//!   and what persons switched.
//!
//! Properties: `what_is_observed_changes_nothing`; `half_of_the_launches_are_held_out_and_their_waits_compared`;
//! `an_episode_in_which_nothing_was_requested_does_not_count`; `a_suspend_voids_launches_and_no_blocks_of_time`;
//! `a_block_in_which_nobody_used_the_device_does_not_count`; `a_block_that_the_end_of_the_daemon_cuts_short_counts`;
//! `a_disk_is_tried_by_stretches_of_load`; `a_disk_that_rests_between_loads_is_tried_all_the_same`;
//! `memory_is_tried_by_blocks_of_time_after_a_wash_out`; `a_forgotten_app_has_no_trial`;
//! `another_kernel_begins_trials_anew`.

mod episode;
pub mod kept;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use brisk_api::{EngineTrial, StageOfTrial, SubjectTrial, Trials as Shown};
use brisk_core::app::App;
use brisk_core::decision::Observed;
use brisk_core::device::Device;
use brisk_core::event::EventKind;
use brisk_core::trial::{Arm, Ended, Evidence, Ladder, LeftOut, Phase, Plan, Scope, Span, Subject, Told, Trial, Why};

use crate::config::{self, Order};
use crate::engines::ForTrials;
use episode::Episode;
use kept::Kept;

/// A trial has changed its phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Name of the engine.
    pub engine: String,
    pub subject: Subject,
    pub phase: Phase,
    pub why: Why,
}

/// When page tables are scanned for an engine, the cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scans {
    /// Never: it is off, or rests, and what it would learn may wait.
    None,
    /// Where the user waits for nothing: it learns, or is held out. So what scans cost is in the difference of both
    /// arms.
    AtRest,
    /// As an app returns: it reads back.
    AtReturns,
}

/// What engines do to the machine, but for launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acts {
    /// Nothing: they learn, are held out, or rest.
    No,
    /// An app that comes to the foreground needs nothing of them; mixed load may.
    OnDisks,
    /// They act on the memory of the machine.
    OnMemory,
}

/// All trials.
#[derive(Debug, Default)]
pub struct Trials {
    kept: Kept,
    /// Engines that run, with their plans.
    plans: BTreeMap<String, Option<Plan>>,
    /// Whether engines are tried.
    is_on: bool,
    /// Episodes that go on.
    open: BTreeMap<(String, Subject), Episode>,
    /// Ids of apps that do not run and for whose launch an engine may request something now.
    expected: BTreeSet<String>,
    /// Launches that come and for which an engine had something to request.
    prepared: BTreeSet<(String, Subject)>,
}

impl Trials {
    /// Trials as a text keeps them; `None` for none.
    ///
    /// # Errors
    /// When it cannot be understood.
    pub fn of(text: Option<&str>) -> Result<Self, serde_json::Error> {
        let kept = text.map(serde_json::from_str).transpose()?;
        Ok(Self { kept: kept.unwrap_or_default(), ..Self::default() })
    }

    /// Text that keeps them; `None` where nothing is known.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let text = || serde_json::to_string(&self.kept).expect("maps with texts as keys are JSON");
        (!self.kept.is_empty()).then(text)
    }

    /// These engines run from now on, on this kernel.
    pub fn configure(
        &mut self,
        config: &config::Engines,
        plans: BTreeMap<String, Option<Plan>>,
        kernel: &str,
        now_unix_ms: u64,
    ) {
        let base = if config.order == Order::Auto { Ladder::Auto } else { Ladder::Named };
        (self.plans, self.is_on) = (plans, config.trial);
        self.void();
        self.kept.begin(base, kernel, now_unix_ms);
    }

    /// Switches an engine. Says whether there is one of that name.
    pub fn switch(&mut self, engine: &str, ladder: Option<Ladder>, now_unix_ms: u64) -> bool {
        if !self.plans.contains_key(engine) {
            return false;
        }
        self.open.retain(|(of, _), _| of != engine);
        self.prepared.retain(|(of, _)| of != engine);
        self.kept.switch(engine, ladder, now_unix_ms);
        true
    }

    /// Forgets an app, or all. Says whether anything was known.
    pub fn forget(&mut self, app: Option<&str>) -> bool {
        self.void();
        self.kept.forget(app)
    }

    /// An outcome would be wrong: nothing is applied at present, or time was lost.
    pub fn void(&mut self) {
        self.open.clear();
        self.prepared.clear();
    }

    /// Engines may request something for the next launches of these apps, which do not run.
    pub fn expect(&mut self, ids: BTreeSet<String>) {
        self.expected = ids;
    }

    /// What is not applied at this moment, of the apps and devices that are there.
    pub fn left_out(&mut self, apps: &[App], devices: &[Device], now_ns: u64, now_unix_ms: u64) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        for (engine, plan) in &self.plans {
            if self.kept.ladder(engine) == Ladder::Off {
                left_out.push(LeftOut { engine: engine.clone(), subject: None, arm: Arm::Off, reads_back: false });
                continue;
            }
            let Some(plan) = plan.as_ref().filter(|_| self.is_on) else { continue };
            let subjects: BTreeSet<Subject> = match plan.scope {
                Scope::Machine => [Subject::Machine].into(),
                Scope::Disk => devices.iter().map(Subject::disk).collect(),
                Scope::App if plan.span == Span::Prepared => self.expected.iter().cloned().map(Subject::App).collect(),
                Scope::App => apps.iter().map(|app| Subject::App(app.owned_id())).collect(),
            };
            for subject in subjects {
                let arm = self.kept.arm(engine, Some(plan), &subject, now_unix_ms);
                if arm == Arm::On {
                    continue;
                }
                let is_washing_out = self.is_washing_out(engine, &subject, now_ns);
                let reads_back = arm == Arm::HeldOut && is_washing_out && matches!(plan.span, Span::Time { .. });
                left_out.push(LeftOut { engine: engine.clone(), subject: Some(subject), arm, reads_back });
            }
        }
        left_out
    }

    /// Whether what an episode begins with still counts for nothing.
    fn is_washing_out(&self, engine: &str, subject: &Subject, now_ns: u64) -> bool {
        let open = self.open.iter().find(|((of, about), _)| of == engine && about == subject);
        open.is_none_or(|(_, open)| open.is_in_wash_out(now_ns))
    }

    /// When page tables are to be scanned for an engine.
    #[must_use]
    pub fn scans(&mut self, engine: &str, now_ns: u64, now_unix_ms: u64) -> Scans {
        let is_tried = self.is_on && self.plans.get(engine).is_some_and(Option::is_some);
        if self.kept.ladder(engine) == Ladder::Off {
            return Scans::None;
        }
        match self.kept.arm(engine, None, &Subject::Machine, now_unix_ms) {
            _ if !is_tried => Scans::AtReturns,
            Arm::Off | Arm::Resting => Scans::None,
            // What was taken from apps before is still read back.
            Arm::HeldOut if self.is_washing_out(engine, &Subject::Machine, now_ns) => Scans::AtReturns,
            Arm::Observing | Arm::HeldOut => Scans::AtRest,
            Arm::On => Scans::AtReturns,
        }
    }

    /// What engines do at present to the memory of the machine, and to these devices.
    pub fn acts(&mut self, devices: &[Device], now_ns: u64, now_unix_ms: u64) -> Acts {
        let plans: Vec<(String, Option<Scope>)> =
            self.plans.iter().map(|(engine, plan)| (engine.clone(), plan.map(|plan| plan.scope))).collect();
        let of_memory = |scope: Option<Scope>| scope.is_none_or(|scope| scope == Scope::Machine);
        let mut of = plans.iter().filter(|(_, scope)| of_memory(*scope));
        if of.any(|(engine, _)| self.scans(engine, now_ns, now_unix_ms) == Scans::AtReturns) {
            return Acts::OnMemory;
        }
        let mut of_disks = plans.iter().filter(|(_, scope)| *scope == Some(Scope::Disk));
        let is_on_disk = of_disks.any(|(engine, _)| {
            !self.is_on
                || devices.iter().any(|one| self.kept.arm(engine, None, &Subject::disk(one), now_unix_ms) == Arm::On)
        });
        if is_on_disk { Acts::OnDisks } else { Acts::No }
    }

    /// Takes in a round: episodes begin and end by it. Gives the trials that changed their phase.
    pub fn after(&mut self, round: &ForTrials, observed: &Observed<'_>) -> Vec<Change> {
        if observed.events.iter().any(|event| event.kind == EventKind::Configured) {
            // Settings begin anew.
            self.void();
        }
        if observed.events.iter().any(|event| matches!(event.kind, EventKind::Resumed { .. })) {
            // A launch or load across a gap is void. Of a block of time the clock stood still with the machine: a phone
            // that sleeps each few minutes would complete none, and a busy machine on which the daemon is late none.
            self.open.retain(|_, episode| episode.is_of_time());
        }
        let mut changes = Vec::new();
        let tried = self.plans.iter().filter(|_| self.is_on);
        let tried: Vec<(String, Plan)> = tried.filter_map(|(name, plan)| Some((name.clone(), (*plan)?))).collect();
        for (engine, plan) in tried {
            self.begin(&engine, &plan, round, observed);
            for (subject, ended) in self.ended(&engine, &plan, round, observed) {
                changes.extend(self.take(&engine, &plan, subject, &ended, observed.now.wall_unix_ms));
            }
        }
        let anew = round.told.iter().filter(|(_, _, told)| *told == Told::Anew);
        for (engine, subject, _) in anew {
            self.open.remove(&(engine.clone(), subject.clone()));
            self.prepared.remove(&(engine.clone(), subject.clone()));
            self.kept.renew(engine, subject, observed.now.wall_unix_ms);
        }
        changes
    }

    /// The daemon ends in order: blocks of time that are long enough count, as a device may be on for less than one at
    /// a time. Gives the trials that changed their phase.
    pub fn end(&mut self, now_unix_ms: u64) -> Vec<Change> {
        let mut changes = Vec::new();
        for ((engine, subject), episode) in std::mem::take(&mut self.open) {
            let plan = self.plans.get(&engine).copied().flatten().filter(|_| self.is_on);
            let (Some(plan), Some(ended)) = (plan, episode.cut_short()) else { continue };
            changes.extend(self.take(&engine, &plan, subject, &ended, now_unix_ms));
        }
        changes
    }

    /// When an episode ends by time.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.open.values().filter_map(Episode::next_ns).min()
    }

    fn begin(&mut self, engine: &str, plan: &Plan, round: &ForTrials, observed: &Observed<'_>) {
        let Self { open, prepared, expected, .. } = self;
        let mut begin = |subject: Subject, was_prepared: bool| {
            let new = || Episode::begin(plan.span, &subject, observed);
            let episode = open.entry((engine.to_owned(), subject.clone())).or_insert_with(new);
            if was_prepared {
                episode.was_prepared();
            }
        };
        match plan.span {
            Span::Launch => {
                for event in observed.events {
                    let EventKind::LaunchBegan { group } = &event.kind else { continue };
                    let app = observed.apps.iter().find(|app| app.group == *group);
                    app.into_iter().for_each(|app| begin(Subject::App(app.owned_id()), false));
                }
            }
            Span::Prepared => {
                let touched = round.touched.iter().filter(|(of, _)| of == engine);
                prepared.extend(touched.cloned());
                if prepared.len() > kept::SUBJECTS_MAX {
                    // Apps can be invented without end: those that are no longer likely are dropped.
                    prepared.retain(|(_, of)| matches!(of, Subject::App(id) if expected.contains(id)));
                }
                for event in observed.events {
                    let EventKind::LaunchBegan { group } = &event.kind else { continue };
                    let Some(app) = observed.apps.iter().find(|app| app.group == *group) else { continue };
                    let subject = Subject::App(app.owned_id());
                    if prepared.remove(&(engine.to_owned(), subject.clone())) {
                        begin(subject, true);
                    }
                }
            }
            Span::Load { .. } => {
                let touched = round.touched.iter().filter(|(of, _)| of == engine);
                touched.for_each(|(_, subject)| begin(subject.clone(), false));
            }
            Span::Time { .. } => begin(Subject::Machine, false),
        }
        for ((of, subject), episode) in &mut self.open {
            if of == engine {
                episode.go_on(round.touched.contains(&(of.clone(), subject.clone())), plan.figure, observed);
            }
        }
    }

    /// Episodes of the engine that have ended, with what they tell.
    fn ended(
        &mut self,
        engine: &str,
        plan: &Plan,
        round: &ForTrials,
        observed: &Observed<'_>,
    ) -> Vec<(Subject, Ended)> {
        let of_engine: Vec<Subject> =
            self.open.keys().filter(|(of, _)| of == engine).map(|(_, subject)| subject.clone()).collect();
        let mut ended = Vec::new();
        for subject in of_engine {
            let key = (engine.to_owned(), subject.clone());
            let Some(episode) = self.open.get(&key) else { continue };
            let Some(is_whole) = episode.has_ended(observed) else { continue };
            let tells = |episode: &Episode| episode.counts() && !episode.is_at_rest(observed);
            let Some(episode) = self.open.remove(&key).filter(tells) else { continue };
            let is_void = round.told.contains(&(engine.to_owned(), subject.clone(), Told::Void)) || !is_whole;
            let value = if is_void { None } else { episode.outcome(plan.figure, observed) };
            let outcome = value.map_or(Ended::Void, |(value, sums)| Ended::Counts { value, sums });
            ended.push((subject, outcome));
        }
        // One block of time follows the other.
        if matches!(plan.span, Span::Time { .. }) {
            let next = || Episode::begin(plan.span, &Subject::Machine, observed);
            self.open.entry((engine.to_owned(), Subject::Machine)).or_insert_with(next);
        }
        ended
    }

    fn take(&mut self, engine: &str, plan: &Plan, subject: Subject, ended: &Ended, now_unix_ms: u64) -> Option<Change> {
        let trial = self.kept.take(engine, plan, &subject, ended, now_unix_ms)?;
        Some(Change { engine: engine.to_owned(), phase: trial.phase, why: trial.why, subject })
    }

    /// Everything, for people; without the subjects where only engines are wanted.
    #[must_use]
    pub fn show(&self, with_subjects: bool) -> Shown {
        let engines = self.plans.iter().map(|(engine, plan)| self.show_engine(engine, plan.as_ref(), with_subjects));
        Shown { on: self.is_on, engines: engines.collect() }
    }

    fn show_engine(&self, engine: &str, plan: Option<&Plan>, with_subjects: bool) -> EngineTrial {
        let ladder = self.kept.ladder(engine);
        let trials: Vec<(&Subject, &Trial)> = self.kept.trials(engine).collect();
        // The engine is as far as its furthest subject; one that rests for all rests.
        let rank = |phase: Phase| match phase {
            Phase::Acting => 3,
            Phase::OnTrial => 2,
            Phase::Observing => 1,
            Phase::Resting => 0,
        };
        let first = trials
            .iter()
            .map(|(_, trial)| *trial)
            .max_by_key(|trial| (rank(trial.phase), std::cmp::Reverse(trial.since_unix_ms)));
        // Steps of what is kept.
        let rounded = |ratio: f64| (ratio * 1e4).round().max(1.0) / 1e4;
        let of_stage = |(evidence, alpha): (&Evidence, f64)| StageOfTrial {
            ratios: evidence.ratios().map(rounded).collect(),
            alpha,
        };
        let of_subject = |(subject, trial): &(&Subject, &Trial)| SubjectTrial {
            subject: subject.to_string(),
            phase: trial.phase,
            since_unix_ms: trial.since_unix_ms,
            why: trial.why,
            learned: u64::from(trial.learned),
            pairs: trial.pairs() as u64,
            effect: trial.effect(),
            acted: trial.acted,
            held_out: trial.held_out,
            stages: trial.stages().map(of_stage).collect(),
        };
        let count = |phase: Phase| trials.iter().filter(|(_, trial)| trial.phase == phase).count() as u64;
        EngineTrial {
            engine: engine.to_owned(),
            tried: plan.is_some() && self.is_on,
            ladder,
            phase: first.map_or(Phase::default(), |trial| trial.phase),
            since_unix_ms: first.map(|trial| trial.since_unix_ms),
            why: first.map_or(Why::default(), |trial| trial.why),
            figure: plan.map(|plan| plan.figure),
            effect: self.kept.effect(engine).or_else(|| first.and_then(Trial::effect)),
            acting: count(Phase::Acting),
            on_trial: count(Phase::OnTrial),
            observing: count(Phase::Observing),
            resting: count(Phase::Resting),
            subjects: if with_subjects { trials.iter().map(of_subject).collect() } else { Vec::new() },
        }
    }
}
