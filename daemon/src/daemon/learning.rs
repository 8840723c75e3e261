//! What engines learn: kept in files at most every ten minutes and at the end, forgotten on request; and what they
//! make of apps.

use brisk_api::dirs::JOURNAL;
use brisk_api::resting::part;
use brisk_api::{Apps, Fault, Reply, reply_with};
use brisk_core::arbiter::{Resolved, Rule};
use brisk_core::causes::in_one_line;
use brisk_core::decision::Observed;
use brisk_core::event::EventKind;
use brisk_core::reason::Reason;
use brisk_core::survey::{MemorySurvey, Shown, Topic};
use brisk_program::memory;

use super::{Daemon, timer};
use crate::engines::Engines;
use crate::learned;
use crate::returns::Returns;

/// Least time between two writes. Each replaces whole files on flash, beside the apps in use; a power cut takes what
/// was learned since.
const SAVE_NS: u64 = 600_000_000_000;

impl Daemon {
    /// Has what engines learned from `kind` written within ten minutes. Rounds without such events wake nothing.
    pub(super) fn note_learning(&mut self, kind: &EventKind) {
        let is_learned_from = matches!(
            kind,
            EventKind::LaunchEnded { .. }
                | EventKind::Focused { .. }
                | EventKind::Returned { .. }
                | EventKind::LaunchUsed { .. }
                | EventKind::AppGone { .. }
                | EventKind::Screen { .. }
        );
        if is_learned_from && !self.options.dry_run {
            self.timers.set_at_latest(timer::SAVE_LEARNED, self.moment.now.monotonic_ns.saturating_add(SAVE_NS));
        }
    }

    /// Hands over what engines have learned to be written, where it is not what was written.
    pub(super) fn save_learned(&mut self) {
        if self.options.dry_run {
            return;
        }
        let trials = self.policy.trials.text().map(|text| (learned::TRIALS.to_owned(), text));
        for (name, text) in self.policy.engines.learned().chain(trials) {
            let digest = learned::digest(&text);
            if self.policy.saved.get(&name) == Some(&digest) {
                continue;
            }
            self.writer.keep(&name, text);
            self.policy.saved.insert(name, digest);
        }
        memory::trim();
    }

    /// Reports files that could not be written; they are tried again with the next save.
    pub(super) fn take_in_failures(&mut self) {
        for (name, why) in self.writer.take_failed() {
            self.policy.saved.remove(&name);
            self.report_trouble(format!("what was learned is not kept: {why}"));
        }
    }

    /// Forgets an app, or all, in engines and files; with all, the record too, which has the launches of all.
    pub(super) fn forget(&mut self, app: Option<&str>) -> Result<Reply, Fault> {
        if !self.moment.events.is_empty() {
            // Engines would learn from what has happened before, once they have forgotten.
            self.round();
        }
        let mut known = self.policy.engines.forget(app) | self.policy.trials.forget(app);
        if !self.options.dry_run {
            // A text that waits would bring the app back. The person waits for the answer.
            self.writer.settle();
            let in_files = learned::forget(&self.options.learned_dir, app);
            known |= in_files.map_err(|error| Fault::CannotForget(in_one_line(&error)))?;
            self.policy.saved.clear();
        }
        if app.is_none() {
            // They name the apps that were used.
            self.state.actions.clear();
            let recorded = self.writer.forget_record(self.moment.now);
            known |= recorded.map_err(|error| Fault::CannotForget(in_one_line(&error)))?;
        }
        Ok(reply_with(&[("known", &known)]))
    }

    /// What an engine for memory makes of each app at this moment.
    pub(super) fn survey_memory(&mut self) -> Result<Reply, Fault> {
        self.observe_apps_when_due();
        self.machine.sampler.weigh_apps(true);
        let snapshot = self.machine.sampler.snapshot();
        self.machine.sampler.weigh_apps(self.policy.engines.uses().activities);
        let snapshot = snapshot.map_err(|error| Fault::CannotSense(in_one_line(&error)))?;
        let apps = self.list_apps(self.moment.now.monotonic_ns);
        let previous = self.moment.previous.as_ref();
        let observed = Observed { previous, now: &snapshot, events: &[], devices: &self.machine.devices, apps: &apps };
        let (active, shown) = self.policy.engines.show_or_guess(&self.policy.config, Topic::Memory(&observed));
        let survey = if let Some(Shown::Memory(survey)) = shown { survey } else { MemorySurvey::default() };
        Ok(reply_with(&[("apps", &Apps { active, survey })]))
    }

    /// Replaces the engines, which have learned what they have; what the former ones let last is undone.
    pub(super) fn replace_engines(&mut self, engines: Engines) {
        let former_ends = self.policy.engines.uses().ends;
        let undone = self.policy.engines.end();
        let undo = |(engine, what)| Resolved {
            what,
            engine,
            rule: Rule::OnlyRequest,
            reason: Reason::rule("configured_anew"),
            over: Vec::new(),
        };
        let undone = undone.into_iter().map(undo).collect();
        self.perform_actions(undone, Vec::new());
        self.policy.engines = engines;
        self.machine.told_utc_offset_s = None;
        self.machine.returns = Returns::default();
        let Self { attempts, actuator, policy, machine, .. } = self;
        let uses = policy.engines.uses();
        machine.sampler.weigh_apps(uses.activities);
        if let Some((ends, per_minute_max)) = uses.ends.filter(|ends| former_ends != Some(*ends)) {
            actuator.limit_ends(ends, per_minute_max);
        }
        let worker = uses.worker.then(|| attempts.using(part::WORKER, || actuator.start_worker(JOURNAL)));
        let keeper = uses.keeper.then(|| attempts.using(part::KEEPER, || actuator.start_keeper()));
        for error in worker.into_iter().chain(keeper).filter_map(|started| started.ok()?.err()) {
            self.report_trouble(in_one_line(&error));
        }
    }
}
