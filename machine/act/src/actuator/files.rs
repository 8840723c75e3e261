//! Knobs that are files: one way for all of them ([`crate::setting_file`]).

use std::collections::BTreeMap;
use std::path::PathBuf;

use brisk_core::knob::{GroupSetting, Knob, VmSetting};
use brisk_core::outcome::{Outcome, Outcomes};

use super::{Actuator, ExternalChange, refused};
use crate::setting_file::{By, changed_externally, hold, plan, release};
use crate::{Error, Paths, groups};

impl Actuator {
    /// Writes the files of the `requested` knobs, and restores those of knobs that are not named any more.
    pub(super) fn apply_files(&mut self, requested: &BTreeMap<Knob, String>) -> Outcomes {
        let mut outcomes = BTreeMap::new();
        if let Some(journal) = &mut self.journal {
            let journaled = journal.files().iter().filter_map(|entry| match &entry.by {
                By::Knob(knob) if !requested.contains_key(knob) => Some(knob.clone()),
                _ => None,
            });
            let released: Vec<Knob> = journaled.collect();
            for knob in released {
                match release(journal, &By::Knob(knob.clone()), |_| true) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => drop(outcomes.insert(knob, outcome)),
                    Err(error) => drop(outcomes.insert(knob, refused(&error))),
                }
            }
        }
        self.changed_externally.retain(|knob, _| knob.file().is_none() || requested.contains_key(knob));
        for (knob, value) in requested {
            let outcome = match self.verified_knob(knob, value) {
                Some(outcome) => outcome,
                None => self.set_files(knob, value).unwrap_or_else(|error| refused(&error)),
            };
            if outcome == Outcome::Unchanged {
                self.verified_knobs.insert(knob.clone(), (value.clone(), outcome.clone()));
            }
            outcomes.insert(knob.clone(), outcome);
        }
        outcomes
    }

    /// Where a knob is.
    fn files_of(&mut self, knob: &Knob) -> Result<Vec<PathBuf>, Error> {
        if let Knob::Vm { setting } = knob {
            let file = vm_file(&self.paths, *setting);
            return if file.is_file() { Ok(vec![file]) } else { Err(Error::NoVmSetting { path: file }) };
        }
        let (Some(group), Some(name)) = (knob.group(), knob.file()) else { return Ok(Vec::new()) };
        // The first version has a hierarchy for each controller.
        let is_old = matches!(knob, Knob::Group { setting: GroupSetting::MemorySoftLimit, .. });
        let dirs = self.dirs_of(group)?;
        let dirs = if is_old { groups::in_old_memory(&self.paths, group).into_iter().collect() } else { dirs };
        Ok(dirs.iter().map(|dir| dir.join(name)).filter(|file| file.is_file()).collect())
    }

    fn set_files(&mut self, knob: &Knob, value: &str) -> Result<Outcome, Error> {
        let files = self.files_of(knob)?;
        // The kernel would read 010 as 8.
        let number = matches!(knob, Knob::Vm { .. }).then(|| whole_number(value)).transpose()?;
        let value = number.as_deref().unwrap_or(value);
        if let Some(change) = self.changed_externally.get(knob) {
            return Ok(Outcome::Left { found: change.found.clone() });
        }
        let Some(journal) = &mut self.journal else { return plan(&files, value) };
        if let Some((ours, found)) = changed_externally(journal, &files) {
            self.changed_externally
                .insert(knob.clone(), ExternalChange { written: ours, found: found.clone(), reported: false });
            return Ok(Outcome::Left { found });
        }
        hold(journal, &By::Knob(knob.clone()), &files, value)
    }
}

/// The file of a setting of virtual memory.
pub(crate) fn vm_file(paths: &Paths, setting: VmSetting) -> PathBuf {
    match setting {
        VmSetting::LruGenMinTtlMs => paths.sysfs.join("kernel/mm"),
        _ => paths.proc.join("sys/vm"),
    }
    .join(setting.name())
}

/// The number as the kernel shows it.
fn whole_number(value: &str) -> Result<String, Error> {
    let number: Option<u64> = value.parse().ok();
    number.map(|number| number.to_string()).ok_or_else(|| Error::NotANumber { value: value.to_owned() })
}
