//! I/O priorities of control groups.

use std::collections::BTreeMap;
use std::path::PathBuf;

use brisk_core::knob::Knob;
use brisk_core::outcome::Outcome;

use super::{Actuator, refused};
use crate::ioprio::IoPriority;
use crate::journal::PriorityEntry;
use crate::{Error, groups};

impl Actuator {
    /// Gives threads of the `wanted` groups their priorities, those that came since the last time included, and takes away
    /// those of groups that are not named any more.
    pub(super) fn apply_priorities(&mut self, wanted: &BTreeMap<String, String>) -> BTreeMap<Knob, Outcome> {
        let mut outcomes = BTreeMap::new();
        let knob = |group: &str| Knob::IoPriority { group: group.to_owned() };
        let known: Vec<String> =
            self.journal.iter_mut().flat_map(|journal| journal.priorities().iter().map(|e| e.group.clone())).collect();
        if wanted.is_empty() && known.is_empty() {
            return outcomes;
        }
        for group in known.iter().filter(|group| !wanted.contains_key(*group)) {
            let outcome = self.take_back(group).unwrap_or_else(|error| refused(&error));
            outcomes.insert(knob(group), outcome);
        }
        for (group, value) in wanted {
            let knob = knob(group);
            let settled = self.settled_knob(&knob, value);
            let outcome = settled
                .map_or_else(|| self.dirs_of(group).and_then(|dirs| self.give_priority(group, &dirs, value)), Ok);
            outcomes.insert(knob, outcome.unwrap_or_else(|error| refused(&error)));
        }
        outcomes
    }

    fn give_priority(&mut self, group: &str, dirs: &[PathBuf], value: &str) -> Result<Outcome, Error> {
        let priority: IoPriority = value.parse()?;
        let value = priority.to_string();
        let Some(journal) = &mut self.journal else {
            return Ok(match (dirs.is_empty(), groups::takers(dirs)) {
                (true, _) => Outcome::Gone,
                (false, 0) => Outcome::Unchanged,
                (false, _) => Outcome::Planned { from: Some(groups::NONE.to_owned()), to: Some(value) },
            });
        };
        let place = journal.priorities().iter().position(|entry| entry.group == group);
        if dirs.is_empty() {
            // With the group went its threads.
            if let Some(place) = place {
                journal.priorities().remove(place);
                journal.save()?;
            }
            return Ok(Outcome::Gone);
        }
        let mut entry = match place {
            Some(place) => journal.priorities()[place].clone(),
            None => PriorityEntry { group: group.to_owned(), values: Vec::new(), not_ours: Vec::new() },
        };
        if entry.values == [value.clone()] {
            let given = groups::give(&entry, dirs, Some(priority))?;
            // A process that enters a group does so some time after the group was made.
            if given.threads > 0 && given.changed == 0 {
                let knob = Knob::IoPriority { group: group.to_owned() };
                self.settled_knobs.insert(knob, (value, Outcome::Unchanged));
            }
            return Ok(Outcome::Unchanged);
        }
        let from = entry.values.last().cloned().unwrap_or_else(|| groups::NONE.to_owned());
        if !entry.values.contains(&value) {
            entry.not_ours.extend(groups::holders(dirs, priority));
            entry.values.push(value.clone());
        }
        let mut put = |entry: &PriorityEntry| {
            let entries = journal.priorities();
            entries.retain(|other| other.group != group);
            if !entry.values.is_empty() {
                entries.push(entry.clone());
            }
            journal.save()
        };
        put(&entry)?;
        match groups::give(&entry, dirs, Some(priority)) {
            Ok(_) => {
                entry.values = vec![value.clone()];
                put(&entry)?;
                Ok(Outcome::Written { from, to: value })
            }
            Err(error) => {
                // What some threads have by now is undone with the rest, at the latest.
                if groups::give(&entry, dirs, None).is_ok() {
                    entry.values.clear();
                    put(&entry)?;
                }
                Err(error)
            }
        }
    }

    fn take_back(&mut self, group: &str) -> Result<Outcome, Error> {
        let Some(journal) = &mut self.journal else { return Ok(Outcome::Unchanged) };
        let entry = journal.priorities().iter().find(|entry| entry.group == group).cloned();
        let there = entry.map_or(Ok(false), |entry| groups::put_back(&entry, &self.paths))?;
        journal.priorities().retain(|entry| entry.group != group);
        journal.save()?;
        Ok(if there { Outcome::Restored { to: groups::NONE.to_owned() } } else { Outcome::Gone })
    }
}
