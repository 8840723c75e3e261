//! The settings at a moment of a record, with their reasons.

use brisk_core::decision::Note;
use brisk_core::device::Device;
use brisk_core::knob::Knob;
use brisk_core::state::SettingState;
use brisk_record::{Decided, Item, Scene};

/// Settings at one moment, with what engines had to say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// When that was decided, by the wall clock; `None` when nothing was decided by then.
    pub decided_unix_ms: Option<u64>,
    pub settings: Vec<SettingState>,
    /// Messages of engines.
    pub notes: Vec<Note>,
}

/// Finds the settings at a moment, item by item.
#[derive(Debug)]
pub struct Explainer {
    /// The moment; `None` for the end of the record.
    at_unix_ms: Option<u64>,
    scene: Scene,
    is_over: bool,
    found: Explanation,
}

impl Explainer {
    /// Explains this moment, or the end of the record.
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
            // The daemon ended, and restored everything.
            Item::End(_) => self.found = Explanation::default(),
            Item::Scene(scene) => self.scene = scene,
            Item::Decided(decided) => self.found = self.explained(decided),
            _ => {}
        }
    }

    /// What was found, once the record is at its end.
    #[must_use]
    pub fn end(self) -> Explanation {
        self.found
    }

    fn explained(&self, decided: Decided) -> Explanation {
        let original = |knob: &Knob| Device::original_of(&self.scene.devices, knob).map(str::to_owned);
        let explained = |setting: SettingState| SettingState {
            original: setting.original.clone().or_else(|| original(setting.knob())),
            ..setting
        };
        let decided_unix_ms = Some(decided.wall_unix_ms);
        let settings = decided.settings.into_iter().map(explained).collect();
        Explanation { decided_unix_ms, settings, notes: decided.notes }
    }
}

#[cfg(test)]
mod tests {
    use brisk_core::action::Setting;
    use brisk_core::arbiter::{Resolved, Rule};
    use brisk_core::knob::QueueSetting;
    use brisk_core::outcome::Outcome;
    use brisk_core::reason::Reason;
    use brisk_record::{End, Session};

    use super::*;

    fn decided(wall_unix_ms: u64, value: &str, outcome: Outcome) -> Item {
        let resolved = Resolved {
            what: Setting::new(Knob::queue("sda", QueueSetting::Scheduler), value),
            engine: "smartio".to_owned(),
            rule: Rule::OnlyRequest,
            reason: Reason::rule("reads_wait"),
            over: Vec::new(),
        };
        let settings = vec![SettingState { resolved, original: None, since_unix_ms: wall_unix_ms, outcome }];
        Item::Decided(Decided { wall_unix_ms, settings, ..Decided::default() })
    }

    fn written() -> Outcome {
        Outcome::Written { from: "none".to_owned(), to: "bfq".to_owned() }
    }

    fn at(at_unix_ms: Option<u64>) -> Explanation {
        let originals = vec![("scheduler".to_owned(), "none".to_owned())];
        let device = Device { name: "sda".to_owned(), originals, ..Device::default() };
        let session = |started_unix_ms| Item::Session(Session { started_unix_ms, ..Session::default() });
        let mut explainer = Explainer::new(at_unix_ms);
        let items = [
            session(100),
            Item::Scene(Scene { devices: vec![device], ..Scene::default() }),
            decided(200, "bfq", written()),
            decided(250, "bfq", Outcome::Unchanged),
            decided(300, "kyber", Outcome::Refused { why: "no such scheduler".to_owned() }),
            Item::End(End { ended_unix_ms: 400, ..End::default() }),
            session(500),
            decided(600, "mq-deadline", written()),
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
            (setting.resolved.what.value.as_str(), setting.is_in_force(), setting.original.as_deref()),
            ("bfq", true, Some("none"))
        );
        let refused = at(Some(399));
        assert_eq!(refused.settings[0].outcome, Outcome::Refused { why: "no such scheduler".to_owned() });
        assert_eq!(at(Some(550)), Explanation::default());
        assert_eq!(at(None).settings[0].resolved.what.value, "mq-deadline");
        assert_eq!(at(None).decided_unix_ms, Some(600));
    }
}
