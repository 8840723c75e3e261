//! The settings that are requested, with what became of each: the state behind `brisk status` and `brisk explain`.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::action::Setting;
use brisk_core::arbiter::{CONFIG, Resolved};
use brisk_core::knob::Knob;
use brisk_core::outcome::{Outcome, Outcomes};
use brisk_core::state::SettingState;

use crate::savings::EnginesInForce;

#[derive(Debug, Default)]
pub struct Settings {
    states: BTreeMap<Knob, SettingState>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    pub outcomes: Outcomes,
    /// Whether a reader would want to know: another value, another reason, another outcome.
    pub differs: bool,
    /// Settings that were refused now and not before, with the reason.
    pub refused: Vec<(Knob, String)>,
}

impl Settings {
    /// Takes in what was decided (`resolved` and `dropped`) and its outcomes; without an outcome the daemon is paused.
    pub fn update(
        &mut self,
        resolved: &[Resolved<Setting>],
        dropped: &[Resolved<Setting>],
        outcomes: Outcomes,
        wall_unix_ms: u64,
    ) -> Change {
        let mut change = Change::default();
        let mut states = BTreeMap::new();
        let decided = resolved.iter().map(|one| (one, false)).chain(dropped.iter().map(|one| (one, true)));
        for (one, is_dropped) in decided {
            let knob = &one.what.knob;
            let outcome = match outcomes.get(knob) {
                _ if is_dropped => one.rule.outcome_of_dropped(),
                Some(outcome) => outcome.clone(),
                None => Outcome::Paused,
            };
            let before = self.states.get(knob);
            let is_same = before.is_some_and(|before| {
                let (a, b) = (&before.resolved, one);
                // Numbers in a reason change all the time; its rule does not.
                (&a.what, &a.engine, a.rule, &a.reason.rule, &a.over)
                    == (&b.what, &b.engine, b.rule, &b.reason.rule, &b.over)
            });
            let since_unix_ms = before.filter(|_| is_same).map_or(wall_unix_ms, |before| before.since_unix_ms);
            let outcome_before = before.map(|before| &before.outcome);
            if outcome_before != Some(&outcome) {
                match &outcome {
                    Outcome::Refused { why } => change.refused.push((knob.clone(), why.clone())),
                    Outcome::Paused => drop(change.outcomes.insert(knob.clone(), Outcome::Paused)),
                    _ => {}
                }
            }
            change.differs |= !is_same || outcome_before.is_none_or(|before| !before.is_like(&outcome));
            states.insert(knob.clone(), SettingState { resolved: one.clone(), original: None, since_unix_ms, outcome });
        }
        change.differs |= self.states.keys().any(|knob| !states.contains_key(knob));
        self.states = states;
        let is_news = |outcome: &Outcome| match outcome {
            Outcome::Unchanged => false,
            outcome if outcome.is_a_change() => true,
            // Once is enough, as long as it lasts.
            _ => change.differs,
        };
        let news: Outcomes = outcomes.into_iter().filter(|(_, outcome)| is_news(outcome)).collect();
        change.outcomes.extend(news);
        change.differs |= !change.outcomes.is_empty();
        change
    }

    /// All states; `original` gives the value of a knob from before brisk.
    #[must_use]
    pub fn states<'a>(&self, original: impl Fn(&Knob) -> Option<&'a str>) -> Vec<SettingState> {
        let with_original = |state: &SettingState| SettingState {
            original: original(state.knob()).map(str::to_owned),
            ..state.clone()
        };
        self.states.values().map(with_original).collect()
    }

    /// Names of the settings of each device that are in force.
    #[must_use]
    pub fn in_force_by_device(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for state in self.in_force() {
            if let Some(device) = state.knob().device() {
                names.entry(device.to_owned()).or_default().insert(state.knob().setting());
            }
        }
        names
    }

    /// Engines whose settings are in force on each of `devices`. A device that `outcomes` changed just now is left out:
    /// the requests that it serves now were made before.
    #[must_use]
    pub fn under<'a>(
        &self,
        devices: impl Iterator<Item = &'a str>,
        outcomes: &Outcomes,
    ) -> BTreeMap<String, EnginesInForce> {
        let priorities = self.in_force().any(|state| state.knob().group().is_some());
        let is_switch =
            |outcome: &Outcome| outcome.is_a_change() || matches!(outcome, Outcome::Left { .. } | Outcome::Gone);
        let is_calm = |device: &&str| {
            !outcomes.iter().any(|(knob, outcome)| knob.device() == Some(*device) && is_switch(outcome))
        };
        let under = |device: &str| {
            let of_device = |state: &&SettingState| state.knob().device() == Some(device);
            let engines: BTreeSet<&str> =
                self.in_force().filter(of_device).map(|state| state.resolved.engine.as_str()).collect();
            let engines: Vec<&str> = engines.into_iter().filter(|engine| *engine != CONFIG).collect();
            let is_left = |state: &SettingState| matches!(state.outcome, Outcome::Left { .. } | Outcome::Gone);
            if self.states.values().filter(of_device).any(is_left) || (engines.is_empty() && priorities) {
                EnginesInForce::Unclear
            } else if engines.is_empty() {
                EnginesInForce::NoEngine
            } else {
                EnginesInForce::Engines(engines.join("+"))
            }
        };
        devices.filter(is_calm).map(|device| (device.to_owned(), under(device))).collect()
    }

    /// Whether any setting is in force.
    #[must_use]
    pub fn is_any_in_force(&self) -> bool {
        self.in_force().next().is_some()
    }

    fn in_force(&self) -> impl Iterator<Item = &SettingState> {
        self.states.values().filter(|state| state.is_in_force())
    }
}

#[cfg(test)]
mod tests {
    use brisk_core::arbiter::Rule;
    use brisk_core::device::Device;
    use brisk_core::knob::QueueSetting;
    use brisk_core::reason::Reason;

    use super::*;

    fn resolved(value: &str, share: f64) -> Resolved<Setting> {
        Resolved {
            what: Setting { knob: Knob::queue("sda", QueueSetting::ReadAheadKb), value: value.to_owned() },
            engine: "smartio".to_owned(),
            rule: Rule::OnlyRequest,
            reason: Reason::rule("reads_wait").number("share_percent", share),
            over: Vec::new(),
        }
    }

    fn only(outcome: Outcome) -> Outcomes {
        Outcomes::from([(Knob::queue("sda", QueueSetting::ReadAheadKb), outcome)])
    }

    fn written() -> Outcomes {
        only(Outcome::Written { from: "128".into(), to: "256".into() })
    }

    #[test]
    fn a_setting_keeps_its_age_until_it_or_its_rule_changes() {
        let mut settings = Settings::default();
        let first = settings.update(&[resolved("256", 1.0)], &[], written(), 1000);
        assert!(first.differs && first.outcomes.len() == 1);
        let again = settings.update(&[resolved("256", 2.0)], &[], only(Outcome::Unchanged), 2000);
        assert_eq!(again, Change::default());
        assert_eq!(settings.states(|_| None)[0].since_unix_ms, 1000);
        let other = settings.update(&[resolved("512", 2.0)], &[], written(), 3000);
        assert!(other.differs);
        assert_eq!(settings.states(|_| None)[0].since_unix_ms, 3000);
        let none = settings.update(&[], &[], only(Outcome::Restored { to: "128".into() }), 4000);
        assert!(none.differs && settings.states(|_| None).is_empty());
        assert_eq!(settings.update(&[], &[], Outcomes::new(), 5000), Change::default());
    }

    #[test]
    fn a_refusal_is_reported_once() {
        let mut settings = Settings::default();
        let refused = || only(Outcome::Refused { why: "too many".into() });
        let first = settings.update(&[resolved("256", 1.0)], &[], refused(), 1000);
        assert_eq!(first.refused, [(Knob::queue("sda", QueueSetting::ReadAheadKb), "too many".to_owned())]);
        let again = settings.update(&[resolved("256", 1.0)], &[], refused(), 2000);
        assert_eq!(again, Change::default());
        assert!(settings.in_force_by_device().is_empty());
        settings.update(&[resolved("256", 1.0)], &[], written(), 3000);
        assert_eq!(
            settings.in_force_by_device(),
            BTreeMap::from([("sda".to_owned(), BTreeSet::from(["read_ahead_kb".to_owned()]))])
        );
    }

    #[test]
    fn a_device_that_was_just_switched_or_changed_externally_is_not_compared() {
        let mut settings = Settings::default();
        let under = |settings: &Settings, change: &Change| settings.under(["sda"].into_iter(), &change.outcomes);
        let engines = |of: EnginesInForce| BTreeMap::from([("sda".to_owned(), of)]);
        assert_eq!(under(&settings, &Change::default()), engines(EnginesInForce::NoEngine));
        let switched = settings.update(&[resolved("256", 1.0)], &[], written(), 1000);
        assert_eq!(under(&settings, &switched), BTreeMap::new());
        let calm = settings.update(&[resolved("256", 1.0)], &[], only(Outcome::Unchanged), 2000);
        assert_eq!(under(&settings, &calm), engines(EnginesInForce::Engines("smartio".to_owned())));
        let fixed = Resolved { engine: CONFIG.to_owned(), ..resolved("256", 1.0) };
        let fixed = settings.update(&[fixed], &[], only(Outcome::Unchanged), 2000);
        assert_eq!(under(&settings, &fixed), engines(EnginesInForce::NoEngine));
        let _ = settings.update(&[resolved("256", 1.0)], &[], only(Outcome::Left { found: "64".into() }), 3000);
        assert_eq!(under(&settings, &Change::default()), engines(EnginesInForce::Unclear));
    }

    #[test]
    fn a_state_has_the_value_from_before_brisk() {
        let mut settings = Settings::default();
        settings.update(&[resolved("256", 1.0)], &[], only(Outcome::Left { found: "64".into() }), 1000);
        let originals = vec![("read_ahead_kb".to_owned(), "128".to_owned())];
        let device = Device { name: "sda".to_owned(), originals, ..Device::default() };
        let states = settings.states(|knob| Device::original_of(std::slice::from_ref(&device), knob));
        assert_eq!(states[0].original.as_deref(), Some("128"));
        assert_eq!(states[0].outcome, Outcome::Left { found: "64".into() });
        let paused = settings.update(&[resolved("256", 1.0)], &[], Outcomes::new(), 2000);
        assert_eq!((paused.outcomes.len(), settings.states(|_| None)[0].outcome.clone()), (1, Outcome::Paused));
        assert_eq!(settings.update(&[resolved("256", 1.0)], &[], Outcomes::new(), 3000), Change::default());
    }

    #[test]
    fn an_outcome_reads_as_a_sentence() {
        let mut settings = Settings::default();
        let change = settings.update(&[resolved("256", 12.0)], &[], written(), 1000);
        let (knob, outcome) = change.outcomes.first_key_value().expect("one");
        assert_eq!(
            brisk_api::render::setting(knob, outcome, Some(&resolved("256", 12.0))).to_string(),
            "queue/sda/read_ahead_kb is 256, was 128; smartio: reads wait (share_percent 12); no other engine requests \
             it"
        );
    }

    #[test]
    fn a_dropped_tunable_is_shown_with_its_rule() {
        let mut settings = Settings::default();
        let dropped = Resolved { rule: Rule::TunableWithoutScheduler, ..resolved("256", 1.0) };
        let change = settings.update(&[], &[dropped], Outcomes::new(), 1000);
        let state = &settings.states(|_| None)[0];
        assert_eq!((state.resolved.rule, &state.outcome), (Rule::TunableWithoutScheduler, &Outcome::Dropped));
        assert!(change.differs && change.outcomes.is_empty() && settings.in_force_by_device().is_empty());
    }
}
