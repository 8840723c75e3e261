//! Settings that the daemon changed during a measurement, by its own record.

use std::collections::BTreeMap;
use std::path::Path;

use crate::results::ChangedSetting;
use brisk_core::outcome::Outcome;
use brisk_core::reason::Value;
use brisk_record::{Decided, Item, Reader};

/// What it wrote, and from where it had the values.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changes {
    pub(super) settings: Vec<ChangedSetting>,
    /// Such as `smartio: default for emmc`.
    pub(super) set_ups: Vec<String>,
    /// Names of settings that another program changed while brisk had set them.
    pub(super) changed_externally: Vec<String>,
}

/// The settings and profiles in the record `file`; empty without one.
pub(super) fn read(file: &Path) -> Changes {
    let items = Reader::open(file).into_iter().flatten();
    of(items.filter_map(|item| match item {
        Ok(Item::Decided(decided)) => Some(decided),
        _ => None,
    }))
}

fn of(all: impl Iterator<Item = Decided>) -> Changes {
    let mut found: BTreeMap<String, ChangedSetting> = BTreeMap::new();
    let mut set_ups: Vec<String> = Vec::new();
    let mut changed_externally: Vec<String> = Vec::new();
    for decided in all {
        for setting in decided.settings {
            let facts = setting.resolved.reason.facts.iter();
            for word in facts.filter(|fact| fact.name == "profile").filter_map(|fact| match &fact.value {
                Value::Word(word) => Some(format!("{}: {word}", setting.resolved.engine)),
                Value::Number(_) => None,
            }) {
                if !set_ups.contains(&word) {
                    set_ups.push(word);
                }
            }
        }
        for (knob, outcome) in decided.outcomes {
            // Each launch has a group of its own; a setting that all of them got is reported once.
            let is_of_an_app = knob.group().is_some_and(|group| brisk_core::group::name(group).starts_with("app-"));
            let knob = if is_of_an_app { format!("{} of the app", knob.setting()) } else { knob.to_string() };
            let (from, to) = match outcome {
                Outcome::Written { from, to } => (from, to),
                Outcome::Left { .. } if !changed_externally.contains(&knob) => {
                    changed_externally.push(knob);
                    continue;
                }
                _ => continue,
            };
            let entry = found.entry(knob.clone()).or_insert(ChangedSetting { knob, before: from, values: Vec::new() });
            if !entry.values.contains(&to) {
                entry.values.push(to);
            }
        }
    }
    Changes { settings: found.into_values().collect(), set_ups, changed_externally }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::action::Setting;
    use brisk_core::arbiter::Resolved;
    use brisk_core::arbiter::Rule;
    use brisk_core::knob::Knob;
    use brisk_core::outcome::Outcomes;
    use brisk_core::reason::Reason;
    use brisk_core::state::SettingState;

    fn decided(knob: &str, is_written: bool, to: &str) -> Decided {
        let (from, to) = ("4".to_owned(), to.to_owned());
        with_outcome(knob, if is_written { Outcome::Written { from, to } } else { Outcome::Restored { to } })
    }

    fn with_outcome(knob: &str, outcome: Outcome) -> Decided {
        let knob: Knob = knob.parse().expect("a knob");
        let resolved = Resolved {
            what: Setting::new(knob.clone(), "8"),
            engine: "smartio".to_owned(),
            rule: Rule::DelayBeforeEnergy,
            reason: Reason::rule("launch_with_writes").word("profile", "default for emmc"),
            over: Vec::new(),
        };
        let state = SettingState { resolved, original: None, since_unix_ms: 0, outcome: outcome.clone() };
        Decided { settings: vec![state], outcomes: Outcomes::from([(knob, outcome)]), ..Decided::default() }
    }

    #[test]
    fn a_setting_of_all_launches_is_reported_once_and_a_restored_one_is_no_change() {
        let all = [
            decided("queue/sda/nr_requests", true, "8"),
            decided("queue/sda/nr_requests", false, "4"),
            decided("queue/sda/nr_requests", true, "8"),
            decided("queue/sda/nr_requests", true, "16"),
            decided("io_priority/app-a-1.scope", true, "best-effort 0"),
            decided("io_priority/app-a-2.scope", true, "best-effort 0"),
        ];
        let changes = of(all.into_iter());
        let values: Vec<(&str, &[String])> =
            changes.settings.iter().map(|one| (one.knob.as_str(), one.values.as_slice())).collect();
        let words = |all: &[&str]| all.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let expected =
            [("io_priority of the app", words(&["best-effort 0"])), ("queue/sda/nr_requests", words(&["8", "16"]))];
        assert_eq!(values, expected.each_ref().map(|(knob, values)| (*knob, values.as_slice())));
        assert_eq!(changes.set_ups, ["smartio: default for emmc"]);
    }

    #[test]
    fn a_setting_that_another_program_changed_is_named_once() {
        let left = |from: &str| with_outcome("queue/sda/nr_requests", Outcome::Left { found: from.to_owned() });
        let changes = of([left("7"), left("9")].into_iter());
        assert_eq!(changes.changed_externally, ["queue/sda/nr_requests"]);
        assert_eq!(changes.settings, []);
    }

    #[test]
    fn without_a_record_there_are_no_changes() {
        assert_eq!(super::read(Path::new("/no/such/record")), Changes::default());
    }
}
