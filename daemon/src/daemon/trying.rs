//! The trials of engines in the daemon: what changes a phase is published and undone, and persons switch engines.

use brisk_api::{Fault, Reply, render, reply_with};
use brisk_core::action::Once;
use brisk_core::arbiter::{Resolved, Rule};
use brisk_core::reason::Reason;
use brisk_core::trial::{Ladder, Phase, Subject};

use serde_json::json;

use super::{Daemon, timer};
use crate::trials::Change;

impl Daemon {
    /// Trials have changed their phases: what an engine that rests has left behind is undone at once; its settings are
    /// released by the next round, as they are not applied any more.
    pub(super) fn take_in_trials(&mut self, changes: &[Change]) {
        for Change { engine, subject, phase, why } in changes {
            let said = render::trial(engine, subject, *phase, *why);
            let text = said.to_string();
            self.publish("trial", said);
            self.run_hook(&json!({
                "event": "trial", "at_unix_ms": self.moment.now.wall_unix_ms(), "engine": engine, "subject": subject,
                "phase": phase, "why": why,
            }));
            if !self.options.foreground && !self.options.once {
                brisk_program::notice!("briskd: {text}");
            }
            if *phase == Phase::Resting && *subject == Subject::Machine {
                self.undo_engine(engine);
            }
        }
        if !changes.is_empty() {
            self.moment.wanted_ns = Some(self.moment.now.monotonic_ns);
            self.timers.set_at_latest(timer::SAVE_LEARNED, self.moment.now.monotonic_ns);
        }
    }

    /// A person switches an engine, or has its evidence decide.
    pub(super) fn set_trial(&mut self, engine: &str, ladder: Option<Ladder>) -> Result<Reply, Fault> {
        let now_unix_ms = self.moment.now.wall_unix_ms();
        if !self.policy.trials.switch(engine, ladder, now_unix_ms) {
            return Err(Fault::NoSuchEngine(engine.to_owned()));
        }
        if ladder == Some(Ladder::Off) {
            self.undo_engine(engine);
        }
        // Kept before the answer: the caller may rely on it from then on.
        self.save_learned();
        self.moment.wanted_ns = Some(self.moment.now.monotonic_ns);
        Ok(reply_with(&[("trials", &self.policy.trials.show(true))]))
    }

    /// Undoes what an engine has left behind, such as frozen apps.
    fn undo_engine(&mut self, engine: &str) {
        let resolved = |(engine, what): (String, Once)| Resolved {
            what,
            engine,
            rule: Rule::OnlyRequest,
            reason: Reason::rule("engine_rests"),
            over: Vec::new(),
        };
        let undone = self.policy.engines.undo(engine).into_iter().map(resolved).collect();
        self.perform_actions(undone, Vec::new());
    }
}
