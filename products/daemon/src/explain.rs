//! What a record says about the settings at some moment.

use brisk_record::{Item, Scene};

use crate::control::protocol::{Note, Setting};
use crate::settings::told;

/// Settings at one moment, with what engines had to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    /// When that was decided, by the clock on the wall; `None` when nothing was decided by then.
    pub decided_unix_ms: Option<u64>,
    /// All settings that were wanted.
    pub settings: Vec<Setting>,
    /// Notes of engines.
    pub notes: Vec<Note>,
}

/// Finds what held at a moment, item by item.
#[derive(Debug)]
pub struct Explainer {
    /// The moment; `None` for the end of the record.
    at_unix_ms: Option<u64>,
    scene: Scene,
    is_over: bool,
    found: Explanation,
}

impl Explainer {
    /// Looks for what held at this moment, or at the end.
    #[must_use]
    pub fn new(at_unix_ms: Option<u64>) -> Self {
        Self { at_unix_ms, scene: Scene::default(), is_over: false, found: Explanation::default() }
    }

    /// Takes the next item of the record.
    pub fn take(&mut self, item: Item) {
        let later = |wall_unix_ms: u64| self.at_unix_ms.is_some_and(|at_unix_ms| wall_unix_ms > at_unix_ms);
        match &item {
            // The clock may have been set back later on; what came first holds.
            _ if self.is_over => return,
            Item::Session(session) if later(session.started_unix_ms) => self.is_over = true,
            Item::Snapshot(snapshot) if later(snapshot.wall_unix_ms) => self.is_over = true,
            Item::Decided(decided) if later(decided.wall_unix_ms) => self.is_over = true,
            Item::End(end) if later(end.ended_unix_ms) => self.is_over = true,
            _ => {}
        }
        match item {
            _ if self.is_over => {}
            Item::Session(session) if session.part == 0 => self.found = Explanation::default(),
            // The daemon ended, and put everything back.
            Item::End(_) => self.found = Explanation::default(),
            Item::Scene(scene) => self.scene = scene,
            Item::Decided(decided) => {
                let setting = |setting: &brisk_record::Setting| {
                    let effect = decided.effects.iter().find(|effect| effect.knob == setting.resolved.knob);
                    let told = told(&setting.resolved, setting.since_unix_ms, &self.scene.devices);
                    // A decision that changed nothing about a setting has no effect to show.
                    let before = self.found.settings.iter().find(|known| known.knob == told.knob);
                    let (outcome, why_not) = match effect.map(|effect| (effect.outcome.as_str(), &effect.why)) {
                        Some(("written" | "unchanged" | "put_back", _)) => ("stands".to_owned(), None),
                        Some((outcome, why)) => (outcome.to_owned(), why.clone()),
                        None => before.map_or_else(
                            || ("stands".to_owned(), None),
                            |before| (before.outcome.clone(), before.why_not.clone()),
                        ),
                    };
                    Setting { outcome, why_not, ..told }
                };
                let settings = decided.settings.iter().map(setting).collect();
                let note =
                    |note: &brisk_record::Note| Note { engine: note.engine.clone(), text: note.reason.to_string() };
                let notes = decided.notes.iter().map(note).collect();
                self.found = Explanation { decided_unix_ms: Some(decided.wall_unix_ms), settings, notes };
            }
            _ => {}
        }
    }

    /// What was found, once the record is at its end.
    #[must_use]
    pub fn end(self) -> Explanation {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use brisk_core::arbiter::Resolved;
    use brisk_core::decision::{Device, Reason};
    use brisk_core::knob::{Knob, QueueSetting};
    use brisk_record::{Decided, Effect, End, Session};

    use super::*;

    fn decided(wall_unix_ms: u64, value: &str, outcome: Option<&str>) -> Item {
        let knob = Knob::queue("sda", QueueSetting::Scheduler);
        let resolved = Resolved {
            knob: knob.clone(),
            value: value.to_owned(),
            engine: "smartio".to_owned(),
            rule: "only_wish".to_owned(),
            reason: Reason::rule("reads_wait"),
            over: Vec::new(),
        };
        let effect = outcome.map(|outcome| Effect {
            knob,
            outcome: outcome.to_owned(),
            from: None,
            to: None,
            why: (outcome == "refused").then(|| "no such scheduler".to_owned()),
        });
        let settings = vec![brisk_record::Setting { resolved, since_unix_ms: wall_unix_ms }];
        Item::Decided(Decided { wall_unix_ms, settings, effects: effect.into_iter().collect(), ..Decided::default() })
    }

    fn at(at_unix_ms: Option<u64>) -> Explanation {
        let originals = vec![("scheduler".to_owned(), "none".to_owned())];
        let device = Device { name: "sda".to_owned(), originals, ..Device::default() };
        let session = |started_unix_ms| Item::Session(Session { started_unix_ms, ..Session::default() });
        let mut explainer = Explainer::new(at_unix_ms);
        let items = [
            session(100),
            Item::Scene(Scene { devices: vec![device], ..Scene::default() }),
            decided(200, "bfq", Some("written")),
            decided(250, "bfq", None),
            decided(300, "kyber", Some("refused")),
            Item::End(End { ended_unix_ms: 400, ..End::default() }),
            session(500),
            decided(600, "mq-deadline", Some("written")),
        ];
        items.into_iter().for_each(|item| explainer.take(item));
        explainer.end()
    }

    #[test]
    fn what_held_at_a_moment_is_found() {
        assert_eq!(at(Some(150)), Explanation::default());
        let first = at(Some(260));
        let setting = &first.settings[0];
        assert_eq!(
            (setting.value.as_str(), setting.outcome.as_str(), setting.original.as_deref()),
            ("bfq", "stands", Some("none"))
        );
        let refused = at(Some(399));
        assert_eq!(refused.settings[0].why_not.as_deref(), Some("no such scheduler"));
        assert_eq!(at(Some(550)), Explanation::default());
        assert_eq!(at(None).settings[0].value, "mq-deadline");
        assert_eq!(at(None).decided_unix_ms, Some(600));
    }
}
