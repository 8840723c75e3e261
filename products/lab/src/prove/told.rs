//! What the daemon did while it was measured, by its own record.

use std::collections::BTreeMap;
use std::path::Path;

use brisk_core::decision::Value;
use brisk_core::knob::Knob;
use brisk_record::{Decided, Item, Reader};
use brisk_results::ChangedSetting;

/// What it wrote, and from where it had the values.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) settings: Vec<ChangedSetting>,
    /// Such as `smartio: default for emmc`.
    pub(super) set_ups: Vec<String>,
}

/// The settings and profiles in the record `file`; empty without one.
pub(super) fn told(file: &Path) -> Told {
    let items = Reader::open(file).into_iter().flatten();
    of(items.filter_map(|item| match item {
        Ok(Item::Decided(decided)) => Some(decided),
        _ => None,
    }))
}

fn of(all: impl Iterator<Item = Decided>) -> Told {
    let mut found: BTreeMap<String, ChangedSetting> = BTreeMap::new();
    let mut set_ups: Vec<String> = Vec::new();
    for decided in all {
        for setting in decided.settings {
            let facts = setting.resolved.reason.facts.iter();
            for word in facts.filter(|fact| fact.name == "set-up").filter_map(|fact| match &fact.value {
                Value::Word(word) => Some(format!("{}: {word}", setting.resolved.engine)),
                Value::Number(_) => None,
            }) {
                if !set_ups.contains(&word) {
                    set_ups.push(word);
                }
            }
        }
        for effect in decided.effects.into_iter().filter(|effect| effect.outcome == "written") {
            let (Some(from), Some(to)) = (effect.from, effect.to) else { continue };
            // Each launch has a group of its own; a setting that all of them got is reported once.
            let knob = match effect.knob {
                Knob::IoPriority { group } if group.starts_with("app-") => "io_priority of the app".to_owned(),
                Knob::Group { group, setting } if group.starts_with("app-") => format!("{setting} of the app"),
                knob => knob.to_string(),
            };
            let entry = found.entry(knob.clone()).or_insert(ChangedSetting { knob, before: from, values: Vec::new() });
            if !entry.values.contains(&to) {
                entry.values.push(to);
            }
        }
    }
    Told { settings: found.into_values().collect(), set_ups }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::arbiter::Resolved;
    use brisk_core::decision::Reason;
    use brisk_record::{Effect, Setting};

    fn decided(knob: &str, outcome: &str, to: &str) -> Decided {
        let knob: Knob = knob.parse().expect("a knob");
        let resolved = Resolved {
            knob: knob.clone(),
            value: to.to_owned(),
            engine: "smartio".to_owned(),
            rule: "delay".to_owned(),
            reason: Reason::rule("launch_beside_writes").word("set-up", "default for emmc"),
            over: Vec::new(),
        };
        let (from, to) = (Some("4".to_owned()), Some(to.to_owned()));
        Decided {
            settings: vec![Setting { resolved, since_unix_ms: 0 }],
            effects: vec![Effect { knob, outcome: outcome.to_owned(), from, to, why: None }],
            ..Decided::default()
        }
    }

    #[test]
    fn what_all_launches_got_is_told_once_and_what_was_put_back_is_no_change() {
        let all = [
            decided("queue/sda/nr_requests", "written", "8"),
            decided("queue/sda/nr_requests", "put_back", "4"),
            decided("queue/sda/nr_requests", "written", "8"),
            decided("queue/sda/nr_requests", "written", "16"),
            decided("io_priority/app-a-1.scope", "written", "realtime 4"),
            decided("io_priority/app-a-2.scope", "written", "realtime 4"),
        ];
        let told = of(all.into_iter());
        let values: Vec<(&str, &[String])> =
            told.settings.iter().map(|one| (one.knob.as_str(), one.values.as_slice())).collect();
        let words = |all: &[&str]| all.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let expected =
            [("io_priority of the app", words(&["realtime 4"])), ("queue/sda/nr_requests", words(&["8", "16"]))];
        assert_eq!(values, expected.each_ref().map(|(knob, values)| (*knob, values.as_slice())));
        assert_eq!(told.set_ups, ["smartio: default for emmc"]);
    }

    #[test]
    fn without_a_record_nothing_is_told() {
        assert_eq!(super::told(Path::new("/no/such/record")), Told::default());
    }
}
