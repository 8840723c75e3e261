//! Files of control groups.

use std::collections::BTreeMap;
use std::path::PathBuf;

use brisk_core::knob::{GroupSetting, Knob};
use brisk_core::outcome::Outcome;

use super::{Actuator, Taken, refused};
use crate::group_file::{self, PutBack};
use crate::journal::GroupEntry;
use crate::{Error, Journal};

impl Actuator {
    /// Writes the files of the `wanted` settings of groups, and puts those back that are not named any more.
    pub(super) fn apply_group_settings(
        &mut self,
        wanted: &BTreeMap<(String, GroupSetting), String>,
    ) -> BTreeMap<Knob, Outcome> {
        let mut outcomes = BTreeMap::new();
        let is_wanted = |knob: &Knob| matches!(knob, Knob::Group { group, setting } if wanted.contains_key(&(group.clone(), *setting)));
        if let Some(journal) = &mut self.journal {
            let mut released: Vec<Knob> = journal.groups().iter().map(|entry| entry.knob.clone()).collect();
            released.retain(|knob| !is_wanted(knob));
            released.dedup();
            for knob in released {
                let outcome = release(journal, &knob).unwrap_or_else(|error| refused(&error));
                outcomes.insert(knob, outcome);
            }
        }
        self.taken.retain(|knob, _| !matches!(knob, Knob::Group { .. }) || is_wanted(knob));
        for ((group, setting), value) in wanted {
            let knob = Knob::Group { group: group.clone(), setting: *setting };
            let outcome = match self.settled_group(&knob, value) {
                Some(outcome) => outcome,
                None => self
                    .dirs_of(group)
                    .and_then(|dirs| self.set_group(&knob, &group_file::files(&dirs, *setting), value))
                    .unwrap_or_else(|error| refused(&error)),
            };
            if outcome == Outcome::Unchanged {
                self.settled_groups.insert(knob.clone(), (value.clone(), outcome.clone()));
            }
            outcomes.insert(knob, outcome);
        }
        outcomes
    }

    /// Writes one setting into all its files: groups of two users may have one name.
    fn set_group(&mut self, knob: &Knob, files: &[PathBuf], value: &str) -> Result<Outcome, Error> {
        if let Some(taken) = self.taken.get(knob) {
            return Ok(Outcome::Left { from: taken.found.clone() });
        }
        let mut outcome = Outcome::Gone;
        for file in files {
            let now = group_file::get(file)?;
            let Some(journal) = &mut self.journal else {
                if !group_file::is_same(value, &now) {
                    return Ok(Outcome::Planned { from: Some(now), to: Some(value.to_owned()) });
                }
                outcome = Outcome::Unchanged;
                continue;
            };
            let inode = group_file::inode(file).unwrap_or_default();
            journal.groups().retain(|entry| entry.file != *file || entry.inode == inode);
            let place = journal.groups().iter().position(|entry| entry.file == *file);
            let ours = place.and_then(|place| journal.groups()[place].ours.clone());
            if let Some(ours) = ours.filter(|ours| *ours != now) {
                self.taken.insert(knob.clone(), Taken { ours, found: now.clone(), told: false });
                return Ok(Outcome::Left { from: now });
            }
            if group_file::is_same(value, &now) {
                if outcome == Outcome::Gone {
                    outcome = Outcome::Unchanged;
                }
                continue;
            }
            let place = place.unwrap_or_else(|| {
                let (knob, file, original) = (knob.clone(), file.clone(), now.clone());
                journal.groups().push(GroupEntry { knob, file, inode, original, ours: None });
                journal.groups().len() - 1
            });
            journal.groups()[place].ours = None;
            journal.save()?;
            let put = group_file::put(file, value);
            let entry = &mut journal.groups()[place];
            entry.ours = group_file::get(file).ok();
            if put.is_err() && entry.ours.as_ref() == Some(&entry.original) {
                journal.groups().remove(place);
            }
            journal.save()?;
            outcome = Outcome::Written { from: now, to: put? };
        }
        Ok(outcome)
    }
}

/// Puts back all files of a knob.
fn release(journal: &mut Journal, knob: &Knob) -> Result<Outcome, Error> {
    let entries: Vec<GroupEntry> = journal.groups().iter().filter(|entry| entry.knob == *knob).cloned().collect();
    let mut outcome = Outcome::Gone;
    for entry in entries {
        match group_file::put_back(&entry)? {
            PutBack::Done => outcome = Outcome::Restored { to: entry.original.clone() },
            PutBack::Theirs(found) => outcome = Outcome::Left { from: found },
            PutBack::Gone => {}
        }
        journal.groups().retain(|other| *other != entry);
    }
    journal.save()?;
    Ok(outcome)
}
