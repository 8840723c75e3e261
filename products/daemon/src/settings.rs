//! What became of the settings that were wanted, for those who ask.

use std::collections::{BTreeMap, BTreeSet};

use brisk_act::{Applied, Outcome};
use brisk_core::arbiter::Resolved;
use brisk_core::decision::Device;
use brisk_core::knob::Knob;
use brisk_record::{Effect, Setting};

use crate::control::protocol;
use crate::savings::Under;

/// One setting that is wanted.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    resolved: Resolved,
    since_unix_ms: u64,
    outcome: &'static str,
    why_not: Option<String>,
}

/// All settings that are wanted, with what became of each.
#[derive(Debug, Default)]
pub struct Settings {
    wanted: BTreeMap<Knob, Wanted>,
}

/// What a round changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// Effects other than that all is as it was.
    pub effects: Vec<Effect>,
    /// Whether anybody would want to read about it: another value, another reason, another outcome.
    pub differs: bool,
    /// Settings that could not be written, and could be before: knob and why.
    pub refused: Vec<(Knob, String)>,
}

impl Settings {
    /// Takes in what was decided and what came of it.
    pub fn take_in(&mut self, resolved: &[Resolved], applied: &[Applied], wall_unix_ms: u64) -> Change {
        let mut change = Change::default();
        let mut now = BTreeMap::new();
        let mut paused = Vec::new();
        for one in resolved {
            let outcome = applied.iter().find(|applied| applied.knob == one.knob).map(|applied| &applied.outcome);
            let (outcome, why_not) = words(outcome);
            let before = self.wanted.get(&one.knob);
            let same = before.is_some_and(|before| {
                let (a, b) = (&before.resolved, one);
                // Numbers in a reason change all the time; the rule is what it is held for.
                (&a.value, &a.engine, &a.rule, &a.reason.rule, &a.over)
                    == (&b.value, &b.engine, &b.rule, &b.reason.rule, &b.over)
            });
            let since_unix_ms = before.filter(|_| same).map_or(wall_unix_ms, |before| before.since_unix_ms);
            if outcome == "refused"
                && before.is_none_or(|before| before.outcome != "refused" || before.why_not != why_not)
            {
                change.refused.push((one.knob.clone(), why_not.clone().unwrap_or_default()));
            }
            if outcome == "paused" && before.is_none_or(|before| before.outcome != "paused") {
                let (outcome, knob) = (outcome.to_owned(), one.knob.clone());
                paused.push(Effect { knob, outcome, from: None, to: None, why: None });
            }
            change.differs |= !same || before.is_none_or(|before| before.outcome != outcome);
            let wanted = Wanted { resolved: one.clone(), since_unix_ms, outcome, why_not };
            now.insert(one.knob.clone(), wanted);
        }
        change.differs |= self.wanted.keys().any(|knob| !now.contains_key(knob));
        self.wanted = now;
        let happened = |applied: &&Applied| match &applied.outcome {
            Outcome::Unchanged => false,
            // Said once is enough, as long as it goes on.
            Outcome::Left { .. } | Outcome::Refused { .. } | Outcome::Planned { .. } => change.differs,
            Outcome::Written { .. } | Outcome::PutBack { .. } => true,
        };
        change.effects = applied.iter().filter(happened).map(effect).chain(paused).collect();
        change.differs |= !change.effects.is_empty();
        change
    }

    /// As a record keeps them.
    #[must_use]
    pub fn recorded(&self) -> Vec<Setting> {
        let setting =
            |wanted: &Wanted| Setting { resolved: wanted.resolved.clone(), since_unix_ms: wanted.since_unix_ms };
        self.wanted.values().map(setting).collect()
    }

    /// Names of the settings of each device that hold brisk's value now.
    #[must_use]
    pub fn held(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (knob, _) in self.wanted.iter().filter(|(_, wanted)| wanted.outcome == "stands") {
            if let Knob::Queue { device, setting } = knob {
                held.entry(device.clone()).or_default().insert(setting.to_string());
            }
        }
        held
    }

    /// Whose settings are in force on each of `devices`; one that `effects` say was just changed is left out, as what it serves
    /// now was asked for before.
    #[must_use]
    pub fn under<'a>(&self, devices: impl Iterator<Item = &'a str>, effects: &[Effect]) -> BTreeMap<String, Under> {
        let stands = || self.wanted.iter().filter(|(_, wanted)| wanted.outcome == "stands");
        let priorities = stands().any(|(knob, _)| matches!(knob, Knob::IoPriority { .. } | Knob::Group { .. }));
        let changed = |effect: &Effect| matches!(effect.outcome.as_str(), "written" | "put_back" | "left");
        let is_calm =
            |device: &&str| !effects.iter().any(|effect| effect.knob.device() == Some(*device) && changed(effect));
        let under = |device: &str| {
            let of_device = stands().filter(|(knob, _)| knob.device() == Some(device));
            let engines: BTreeSet<&str> = of_device
                .map(|(_, wanted)| wanted.resolved.engine.as_str())
                .filter(|engine| *engine != "config")
                .collect();
            let of_others =
                |(knob, wanted): (&Knob, &Wanted)| knob.device() == Some(device) && wanted.outcome == "left";
            if self.wanted.iter().any(of_others) || (engines.is_empty() && priorities) {
                Under::Unclear
            } else if engines.is_empty() {
                Under::Nobody
            } else {
                Under::Engines(engines.into_iter().collect::<Vec<_>>().join("+"))
            }
        };
        devices.filter(is_calm).map(|device| (device.to_owned(), under(device))).collect()
    }

    /// As the control socket tells them, with what each was before brisk.
    #[must_use]
    pub fn told(&self, devices: &[Device]) -> Vec<protocol::Setting> {
        let told = |wanted: &Wanted| protocol::Setting {
            outcome: wanted.outcome.to_owned(),
            why_not: wanted.why_not.clone(),
            ..told(&wanted.resolved, wanted.since_unix_ms, devices)
        };
        self.wanted.values().map(told).collect()
    }
}

/// A setting as the control socket tells it; what became of it is not known here.
#[must_use]
pub fn told(resolved: &Resolved, since_unix_ms: u64, devices: &[Device]) -> protocol::Setting {
    let original = match &resolved.knob {
        Knob::Queue { device, setting } => {
            let device = devices.iter().find(|known| known.name == *device);
            device.and_then(|device| device.original(setting)).map(str::to_owned)
        }
        Knob::IoPriority { .. } | Knob::Group { .. } => None,
    };
    let over = resolved.over.iter();
    protocol::Setting {
        knob: resolved.knob.to_string(),
        value: resolved.value.clone(),
        original,
        engine: resolved.engine.clone(),
        rule: resolved.rule.clone(),
        reason: resolved.reason.to_string(),
        over: over.map(|(engine, value)| protocol::Other { engine: engine.clone(), value: value.clone() }).collect(),
        since_unix_ms,
        outcome: "unknown".to_owned(),
        why_not: None,
    }
}

fn words(outcome: Option<&Outcome>) -> (&'static str, Option<String>) {
    match outcome {
        Some(Outcome::Unchanged | Outcome::Written { .. } | Outcome::PutBack { .. }) => ("stands", None),
        Some(Outcome::Planned { .. }) => ("planned", None),
        Some(Outcome::Left { found: Some(found) }) => ("left", Some(format!("somebody else set it to {found}"))),
        Some(Outcome::Left { found: None }) => ("left", Some("it is gone".to_owned())),
        Some(Outcome::Refused { why }) => ("refused", Some(why.clone())),
        None => ("paused", None),
    }
}

fn effect(applied: &Applied) -> Effect {
    let (outcome, from, to, why) = match &applied.outcome {
        Outcome::Unchanged => ("unchanged", None, None, None),
        Outcome::Written { from, to } => ("written", Some(from), Some(to), None),
        Outcome::PutBack { to } => ("put_back", None, Some(to), None),
        Outcome::Planned { from, to } => ("planned", Some(from), Some(to), None),
        Outcome::Left { found } => ("left", found.as_ref(), None, None),
        Outcome::Refused { why } => ("refused", None, None, Some(why)),
    };
    Effect {
        knob: applied.knob.clone(),
        outcome: outcome.to_owned(),
        from: from.cloned(),
        to: to.cloned(),
        why: why.cloned(),
    }
}

/// What was done to a knob, in a sentence.
#[must_use]
pub fn sentence(effect: &Effect, resolved: Option<&Resolved>) -> String {
    let unknown = || "?".to_owned();
    let (from, to) = (effect.from.clone().unwrap_or_else(unknown), effect.to.clone().unwrap_or_else(unknown));
    let what = match effect.outcome.as_str() {
        "written" => format!("{} is {to}, was {from}", effect.knob),
        "planned" => format!("{} would be {to}, is {from}", effect.knob),
        "put_back" => format!("{} is {to} again: nobody wants it otherwise any more", effect.knob),
        "left" => match &effect.from {
            Some(found) => format!("{} is left alone: somebody else set it to {found}", effect.knob),
            None => format!("{} is gone", effect.knob),
        },
        "refused" => format!("{} is refused: {}", effect.knob, effect.why.clone().unwrap_or_else(unknown)),
        "paused" => format!("{} is as before brisk until the configuration is read again", effect.knob),
        _ => format!("{} is as it was", effect.knob),
    };
    match resolved {
        Some(resolved) if matches!(effect.outcome.as_str(), "written" | "planned") => {
            format!("{what}; {}: {} ({})", resolved.engine, resolved.reason, resolved.rule.replace('_', " "))
        }
        _ => what,
    }
}

#[cfg(test)]
mod tests {
    use brisk_core::decision::Reason;
    use brisk_core::knob::QueueSetting;

    use super::*;

    fn resolved(value: &str, share: f64) -> Resolved {
        Resolved {
            knob: Knob::queue("sda", QueueSetting::ReadAheadKb),
            value: value.to_owned(),
            engine: "smartio".to_owned(),
            rule: "only_wish".to_owned(),
            reason: Reason::rule("reads_wait").number("share_percent", share),
            over: Vec::new(),
        }
    }

    fn applied(outcome: Outcome) -> Vec<Applied> {
        vec![Applied { knob: Knob::queue("sda", QueueSetting::ReadAheadKb), outcome }]
    }

    fn written() -> Vec<Applied> {
        applied(Outcome::Written { from: "128".into(), to: "256".into() })
    }

    #[test]
    fn a_setting_keeps_its_age_until_it_or_its_rule_changes() {
        let mut settings = Settings::default();
        let first = settings.take_in(&[resolved("256", 1.0)], &written(), 1000);
        assert!(first.differs && first.effects.len() == 1);
        let again = settings.take_in(&[resolved("256", 2.0)], &applied(Outcome::Unchanged), 2000);
        assert_eq!(again, Change::default());
        assert_eq!(settings.recorded()[0].since_unix_ms, 1000);
        let other = settings.take_in(&[resolved("512", 2.0)], &written(), 3000);
        assert!(other.differs);
        assert_eq!(settings.recorded()[0].since_unix_ms, 3000);
        let none = settings.take_in(&[], &applied(Outcome::PutBack { to: "128".into() }), 4000);
        assert!(none.differs && settings.recorded().is_empty());
        assert_eq!(settings.take_in(&[], &[], 5000), Change::default());
    }

    #[test]
    fn a_refusal_is_told_once() {
        let mut settings = Settings::default();
        let refused = || applied(Outcome::Refused { why: "too many".into() });
        let first = settings.take_in(&[resolved("256", 1.0)], &refused(), 1000);
        assert_eq!(first.refused, [(Knob::queue("sda", QueueSetting::ReadAheadKb), "too many".to_owned())]);
        let again = settings.take_in(&[resolved("256", 1.0)], &refused(), 2000);
        assert_eq!(again, Change::default());
        assert!(settings.held().is_empty());
        settings.take_in(&[resolved("256", 1.0)], &written(), 3000);
        assert_eq!(settings.held(), BTreeMap::from([("sda".to_owned(), BTreeSet::from(["read_ahead_kb".to_owned()]))]));
    }

    #[test]
    fn what_was_just_switched_or_is_of_others_is_no_ground_to_compare() {
        let mut settings = Settings::default();
        let under = |settings: &Settings, change: &Change| settings.under(["sda"].into_iter(), &change.effects);
        let engines = |of: Under| BTreeMap::from([("sda".to_owned(), of)]);
        assert_eq!(under(&settings, &Change::default()), engines(Under::Nobody));
        let switched = settings.take_in(&[resolved("256", 1.0)], &written(), 1000);
        assert_eq!(under(&settings, &switched), BTreeMap::new());
        let calm = settings.take_in(&[resolved("256", 1.0)], &applied(Outcome::Unchanged), 2000);
        assert_eq!(under(&settings, &calm), engines(Under::Engines("smartio".to_owned())));
        let fixed = Resolved { engine: "config".to_owned(), ..resolved("256", 1.0) };
        let fixed = settings.take_in(&[fixed], &applied(Outcome::Unchanged), 2000);
        assert_eq!(under(&settings, &fixed), engines(Under::Nobody));
        let _ = settings.take_in(&[resolved("256", 1.0)], &applied(Outcome::Left { found: Some("64".into()) }), 3000);
        assert_eq!(under(&settings, &Change::default()), engines(Under::Unclear));
    }

    #[test]
    fn those_who_ask_are_told_what_was_there_before() {
        let mut settings = Settings::default();
        settings.take_in(&[resolved("256", 1.0)], &applied(Outcome::Left { found: Some("64".into()) }), 1000);
        let originals = vec![("read_ahead_kb".to_owned(), "128".to_owned())];
        let device = Device { name: "sda".to_owned(), originals, ..Device::default() };
        let told = settings.told(&[device]);
        assert_eq!((told[0].original.as_deref(), told[0].outcome.as_str()), (Some("128"), "left"));
        assert_eq!(told[0].why_not.as_deref(), Some("somebody else set it to 64"));
        let paused = settings.take_in(&[resolved("256", 1.0)], &[], 2000);
        assert_eq!((paused.effects.len(), settings.told(&[])[0].outcome.as_str()), (1, "paused"));
        assert_eq!(settings.take_in(&[resolved("256", 1.0)], &[], 3000), Change::default());
    }

    #[test]
    fn what_was_done_reads_as_a_sentence() {
        let mut settings = Settings::default();
        let change = settings.take_in(&[resolved("256", 12.0)], &written(), 1000);
        assert_eq!(
            sentence(&change.effects[0], Some(&resolved("256", 12.0))),
            "queue/sda/read_ahead_kb is 256, was 128; smartio: reads wait (share_percent 12) (only wish)"
        );
    }
}
