//! I/O priorities of control groups. All groups of one call share the writes of the journal: each syncs a file and a
//! directory to the disk that the foreground waits for.
//!
//! Threads inherit a priority, and take it to another group. A launch of their own gives them that of their group; when
//! a priority is taken back, it is taken from all that inherited it ([`groups::sweep`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use brisk_core::knob::Knob;
use brisk_core::outcome::{Outcome, Outcomes};

use super::{Actuator, refused};
use crate::groups::Ours;
use crate::ioprio::IoPriority;
use crate::journal::PriorityEntry;
use crate::{Error, groups};

/// A group whose threads are to get a priority.
struct Plan {
    dirs: Vec<PathBuf>,
    priority: IoPriority,
    value: String,
    /// What they had from brisk before.
    from: String,
    /// What the journal has to have before they get it.
    entry: PriorityEntry,
}

impl Actuator {
    /// Gives threads of the `requested` groups their priorities, those that came since the last time included, and
    /// takes away those of groups that are not named any more.
    pub(super) fn apply_priorities(&mut self, requested: &BTreeMap<String, String>) -> Outcomes {
        let known: Vec<String> =
            self.journal.iter_mut().flat_map(|journal| journal.priorities().iter().map(|e| e.group.clone())).collect();
        if requested.is_empty() && known.is_empty() {
            return BTreeMap::new();
        }
        let verified = |group: &String| self.verified_knob(&knob(group), requested.get(group)?);
        let mut outcomes: brisk_core::outcome::Outcomes =
            requested.keys().filter_map(|group| Some((knob(group), verified(group)?))).collect();
        let open: Vec<String> =
            requested.keys().filter(|group| !outcomes.contains_key(&knob(group))).cloned().collect();
        let released: Vec<String> = known.into_iter().filter(|group| !requested.contains_key(group)).collect();
        if open.is_empty() && released.is_empty() {
            return outcomes;
        }
        let mut plans = Vec::new();
        for group in &open {
            let planned = self.dirs_of(group).and_then(|dirs| self.plan_priority(group, dirs, &requested[group]));
            match planned {
                Ok(Ok(plan)) => plans.push(plan),
                Ok(Err(outcome)) => drop(outcomes.insert(knob(group), outcome)),
                Err(error) => drop(outcomes.insert(knob(group), refused(&error))),
            }
        }
        let gone = open.iter().filter(|group| outcomes.get(&knob(group)) == Some(&Outcome::Gone));
        let ended: Vec<String> = released.into_iter().chain(gone.cloned()).collect();
        for (group, outcome) in self.give_priorities(plans).into_iter().chain(self.take_back(&ended)) {
            outcomes.insert(knob(&group), outcome);
        }
        outcomes
    }

    /// What is to be done for a group, or the outcome where nothing is.
    fn plan_priority(&mut self, group: &str, dirs: Vec<PathBuf>, value: &str) -> Result<Result<Plan, Outcome>, Error> {
        let priority: IoPriority = value.parse()?;
        let value = priority.to_string();
        let Some(journal) = &mut self.journal else {
            return Ok(Err(match (dirs.is_empty(), groups::takers(&dirs)) {
                (true, _) => Outcome::Gone,
                (false, 0) => Outcome::Unchanged,
                (false, _) => Outcome::Planned { from: Some(groups::NONE.to_owned()), to: Some(value) },
            }));
        };
        let ours = Ours::of(&self.paths, journal.priorities().iter());
        let known = journal.priorities().iter().find(|entry| entry.group == group).cloned();
        if dirs.is_empty() {
            return Ok(Err(Outcome::Gone));
        }
        let nothing = || PriorityEntry {
            group: group.to_owned(),
            since_ticks: groups::now_ticks(),
            values: Vec::new(),
            not_ours: Vec::new(),
        };
        let mut entry = known.unwrap_or_else(nothing);
        if entry.values == [value.clone()] {
            let given = groups::give(&entry, &dirs, Some(priority), &ours)?;
            // A process that enters a group does so some time after the group was made.
            if given.threads > 0 && given.changed == 0 {
                self.verified_knobs.insert(knob(group), (value, Outcome::Unchanged));
            }
            return Ok(Err(Outcome::Unchanged));
        }
        let from = entry.values.last().cloned().unwrap_or_else(|| groups::NONE.to_owned());
        if !entry.values.contains(&value) {
            entry.not_ours.extend(groups::holders(&dirs, priority, &ours));
            entry.values.push(value.clone());
        }
        Ok(Ok(Plan { dirs, priority, value, from, entry }))
    }

    /// Puts all plans on disk at once, and then gives the priorities.
    fn give_priorities(&mut self, mut plans: Vec<Plan>) -> Vec<(String, Outcome)> {
        let Some(journal) = self.journal.as_mut().filter(|_| !plans.is_empty()) else { return Vec::new() };
        // The foreground first.
        plans.sort_by_key(|plan| plan.priority);
        let before = journal.priorities().clone();
        plans.iter().for_each(|plan| put(journal.priorities(), &plan.entry));
        let ours = Ours::of(&self.paths, journal.priorities().iter());
        if let Err(error) = journal.save() {
            *journal.priorities() = before;
            return plans.into_iter().map(|plan| (plan.entry.group, refused(&error))).collect();
        }
        let mut outcomes = Vec::new();
        for Plan { dirs, priority, value, from, mut entry } in plans {
            let outcome = match groups::give(&entry, &dirs, Some(priority), &ours) {
                Ok(_) => {
                    entry.values = vec![value.clone()];
                    Outcome::Written { from, to: value }
                }
                Err(error) => {
                    // What some threads have by now is undone with the rest, at the latest.
                    if groups::give(&entry, &dirs, None, &ours).is_ok() {
                        entry.values.clear();
                    }
                    refused(&error)
                }
            };
            put(journal.priorities(), &entry);
            outcomes.push((entry.group, outcome));
        }
        // Without a change to what is on disk this writes nothing; when it fails, the file tells of more than there is
        // to undo.
        if let Err(error) = journal.save() {
            outcomes.iter_mut().for_each(|(_, outcome)| *outcome = refused(&error));
        }
        outcomes
    }

    /// Takes priorities back from groups that are not to have them any more, and from what inherited them. What is not
    /// complete stays in the journal.
    fn take_back(&mut self, ended: &[String]) -> Vec<(String, Outcome)> {
        let known = self.journal.as_mut().map(|journal| journal.priorities().clone()).unwrap_or_default();
        let (ended, mut kept): (Vec<PriorityEntry>, Vec<PriorityEntry>) =
            known.into_iter().partition(|entry| ended.contains(&entry.group));
        if ended.is_empty() {
            return Vec::new();
        }
        let ours = Ours::of(&self.paths, &ended);
        let (mut outcomes, mut failed) = (Vec::new(), Vec::new());
        for entry in &ended {
            let dirs = match self.dirs_of(&entry.group) {
                Err(Error::NoGroups | Error::NotAGroup(_)) => Ok(Vec::new()),
                found => found,
            };
            let outcome = match dirs.and_then(|dirs| groups::give(entry, &dirs, None, &ours).map(|_| dirs.is_empty())) {
                Ok(true) => Outcome::Gone,
                Ok(false) => Outcome::Restored { to: groups::NONE.to_owned() },
                Err(error) => {
                    failed.push(entry.clone());
                    refused(&error)
                }
            };
            outcomes.push((entry.group.clone(), outcome));
        }
        let stays = kept.iter().flat_map(|entry| groups::kept(entry, &self.dirs_of(&entry.group).unwrap_or_default()));
        let stays: BTreeSet<_> = stays.collect();
        if let Err(error) = groups::sweep(&self.paths, &ours, &stays) {
            failed.clone_from(&ended);
            outcomes.iter_mut().for_each(|(_, outcome)| *outcome = refused(&error));
        }
        // What these groups have by inheritance is taken back with the rest of theirs.
        for entry in &mut kept {
            let has_it = |of: &&PriorityEntry| of.values.iter().any(|value| entry.values.contains(value));
            let since_ticks = ended.iter().filter(has_it).map(|of| of.since_ticks).min();
            entry.since_ticks = entry.since_ticks.min(since_ticks.unwrap_or(u64::MAX));
        }
        let Some(journal) = &mut self.journal else { return outcomes };
        *journal.priorities() = kept.into_iter().chain(failed).collect();
        if let Err(error) = journal.save() {
            outcomes.iter_mut().for_each(|(_, outcome)| *outcome = refused(&error));
        }
        outcomes
    }
}

fn knob(group: &str) -> Knob {
    Knob::IoPriority { group: group.to_owned() }
}

/// Replaces the entry of a group; one without values is removed.
fn put(entries: &mut Vec<PriorityEntry>, entry: &PriorityEntry) {
    entries.retain(|other| other.group != entry.group);
    if !entry.values.is_empty() {
        entries.push(entry.clone());
    }
}
