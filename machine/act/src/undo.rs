//! Undo: restores the original values of a journal. A device that was plugged in again is another device, and is left
//! alone. A loop device that carries another file now is left alone as long as it does, and stays in the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use brisk_core::causes::in_one_line;
use brisk_core::group::name;
use brisk_core::knob::QueueSetting;
use serde::Serialize;

use crate::groups::{self, Ours};
use crate::journal::file::{self, journals, load, remove_unfinished, save};
use crate::journal::{Entry, PriorityEntry, Record};
use crate::queue::settle;
use crate::setting_file::{FileEntry, PutBack};
use crate::{BlockQueue, Error, Paths};

/// A setting that was not put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftSetting {
    /// Kernel name of the device, or name of the control group.
    pub device: String,
    /// The setting, such as `scheduler` or `io_priority`.
    pub knob: String,
    /// What stands there now; absent when the device is gone.
    pub found: Option<String>,
    /// What stood there before brisk.
    pub original: String,
    pub reason: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Device (or control group) and setting of everything that has its first value again.
    pub restored: Vec<(String, String)>,
    pub left: Vec<LeftSetting>,
    #[serde(skip)]
    failed: Vec<String>,
}

/// Undoes what dead owners left changed, and says for each journal whose it was and what was done. Journals of live
/// owners and files that are not journals are not touched. Of a damaged journal that is undone which can be read, and
/// it is set aside ([`damaged_journals`]).
///
/// # Errors
/// When a setting could not be put back; its journal stays.
pub fn restore_leftovers(paths: &Paths) -> Result<Vec<(String, Report)>, Error> {
    let mut reports = Vec::new();
    let mut failed = Vec::new();
    file::check_dir(&paths.journal).map_err(|source| Error::Journal { path: paths.journal.clone(), source })?;
    remove_unfinished(paths);
    for file in journals(&paths.journal) {
        let Some(file::Loaded { mut record, lost }) = load(&file, paths) else { continue };
        if record.owner.is_alive(&paths.proc) {
            continue;
        }
        let report = if record.owner.is_of_this_boot(&paths.proc) {
            let report = restore_damaged(&mut record, lost > 0, paths);
            if lost > 0 {
                file::set_aside(&file).map_err(|source| Error::Journal { path: file.clone(), source })?;
            }
            report
        } else {
            record.clear();
            Report::default()
        };
        save(&file, &record).map_err(|source| Error::Journal { path: file, source })?;
        failed.extend(report.failed.iter().cloned());
        reports.push((record.name, report));
    }
    if failed.is_empty() { Ok(reports) } else { Err(Error::Restore(failed)) }
}

/// Journals that cannot be read, whole or in part: damaged, or of a later brisk. What they tell and cannot be read is
/// not undone; a restart of the machine does that.
#[must_use]
pub fn damaged_journals(paths: &Paths) -> Vec<DamagedJournal> {
    let of = |file: PathBuf| {
        let lost = load(&file, paths).map(|loaded| loaded.lost);
        DamagedJournal { file, lost }
    };
    let unread = journals(&paths.journal).map(of).filter(|journal| journal.lost.is_none() && journal.file.exists());
    unread.chain(file::damaged(&paths.journal).map(of)).collect()
}

/// A journal that cannot be read. Shown, it says what that means and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedJournal {
    pub file: PathBuf,
    /// How many of its settings cannot be read; `None` when nothing can.
    pub lost: Option<usize>,
}

impl fmt::Display for DamagedJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.lost {
            None => write!(f, "the journal {file} cannot be read, so what it tells is not put back")?,
            Some(lost) => {
                write!(
                    f,
                    "the journal {file} is damaged: {lost} of its settings cannot be read or are none of brisk's, and \
                     are not put back"
                )?;
            }
        }
        f.write_str(": restart the machine, which does that, or set things right by hand, and remove it")
    }
}

impl Report {
    pub(crate) fn into_result(self) -> Result<Self, Error> {
        if self.failed.is_empty() { Ok(self) } else { Err(Error::Restore(self.failed)) }
    }

    fn leave(&mut self, entry: &Entry, found: Option<String>, reason: &str) {
        let (device, knob) = (entry.device_name(), entry.setting.to_string());
        let (original, reason) = (entry.original.clone(), reason.to_owned());
        self.left.push(LeftSetting { device, knob, found, original, reason });
    }
}

/// Undoes all of one queue, of which the record keeps what could not be undone.
pub(crate) fn restore_device(record: &mut Record, queue: &BlockQueue) {
    let is_of = |entry: &mut Entry| entry.device == queue.device_dir();
    let mut entries: Vec<Entry> = record.entries.extract_if(.., is_of).collect();
    entries.sort_by(|a, b| a.setting.cmp(&b.setting));
    record.entries.extend(restore_queue(queue, &entries, false, &mut Report::default()));
}

/// Undoes all of a record, which keeps what could not be undone.
pub(crate) fn restore_record(record: &mut Record, paths: &Paths) -> Report {
    restore_damaged(record, false, paths)
}

/// The same for a record of which lines may be lost.
fn restore_damaged(record: &mut Record, is_damaged: bool, paths: &Paths) -> Report {
    let mut report = Report::default();
    let mut entries = std::mem::take(&mut record.entries);
    if is_damaged {
        let known: BTreeSet<PathBuf> = entries
            .iter()
            .filter(|entry| entry.setting == QueueSetting::Scheduler)
            .map(|entry| entry.device.clone())
            .collect();
        entries.retain(|entry| {
            // Under `none` the number would be that of the driver's tags.
            let is_unclear = entry.setting == QueueSetting::NrRequests
                && !known.contains(&entry.device)
                && BlockQueue::at(&entry.device).scheduler().is_ok_and(|name| name == "none");
            if is_unclear {
                report.leave(entry, None, "the journal is damaged, so the scheduler that it belongs to is not known");
            }
            !is_unclear
        });
    }
    // Driver tags first, then the scheduler: both disturb what comes after them.
    entries.sort_by(|a, b| (&a.device, &a.setting).cmp(&(&b.device, &b.setting)));
    for of_device in entries.chunk_by(|a, b| a.device == b.device) {
        record.entries.extend(restore_queue(&BlockQueue::at(&of_device[0].device), of_device, is_damaged, &mut report));
    }
    let priorities = std::mem::take(&mut record.priorities);
    let (back, failed): (Vec<_>, Vec<_>) =
        priorities.into_iter().partition(|entry| restore_priority(entry, paths, &mut report));
    record.priorities.extend(failed);
    // What threads of these groups have made meanwhile, and what had left them before.
    if let Err(error) = groups::sweep(paths, &Ours::of(paths, &back), &BTreeSet::new()) {
        report.failed.push(format!("io_priority of what apps have started: {}", in_one_line(&error)));
        record.priorities.extend(back);
    }
    record.files.retain(|entry| !restore_file(entry, &mut report));
    report
}

/// Gives the entries that could not be put back. Where some may be lost, what is disturbed and not among them stays as
/// it is.
fn restore_queue(queue: &BlockQueue, entries: &[Entry], is_damaged: bool, report: &mut Report) -> Vec<Entry> {
    let mut leave_all = |reason| {
        entries.iter().for_each(|e| report.leave(e, None, reason));
        Vec::new()
    };
    if !queue.exists() {
        return leave_all("the device is gone");
    }
    if entries.iter().any(|e| e.is_of_another_instance(queue)) {
        return leave_all("the device was removed, and another one has its name by now");
    }
    let carries = queue.backing_file();
    if entries.iter().any(|e| carries.is_some() && carries != e.backing_file) {
        leave_all("the loop device carries another file by now");
        // The queue is still the same one, and what stands in it still ours: to be put back once it carries nothing.
        return entries.to_vec();
    }
    // Judge all before writing any, because writing one disturbs others; then each setting gets its external value, or
    // else its original.
    let theirs = |e: &Entry| match (&e.ours, queue.get(&e.setting)) {
        _ if e.setting == QueueSetting::DriverTags => None,
        (Some(ours), Ok(now)) if now != *ours && now != e.original => Some(now),
        _ => None,
    };
    let judged: Vec<(&Entry, Option<String>)> = entries.iter().map(|e| (e, theirs(e))).collect();
    let mut goals: Vec<(QueueSetting, String)> =
        judged.iter().map(|(e, theirs)| (e.setting.clone(), theirs.as_ref().unwrap_or(&e.original).clone())).collect();
    if is_damaged {
        let disturbed: BTreeSet<QueueSetting> = goals.iter().flat_map(|(goal, _)| queue.disturbed_by(goal)).collect();
        let lost = disturbed.into_iter().filter(|setting| {
            !matches!(setting, QueueSetting::DriverTags | QueueSetting::Scheduler)
                && entries.iter().all(|entry| entry.setting != *setting)
        });
        let stand: Vec<_> = lost.filter_map(|setting| queue.get(&setting).ok().map(|now| (setting, now))).collect();
        goals.extend(stand);
        goals.sort();
    }
    let settled: BTreeMap<QueueSetting, Result<String, Error>> =
        goals.iter().map(|(setting, _)| setting.clone()).zip(settle(queue, &goals)).collect();
    restored_of(queue, judged, settled, report)
}

/// Tells what became of each entry; gives those that could not be put back.
fn restored_of(
    queue: &BlockQueue,
    judged: Vec<(&Entry, Option<String>)>,
    mut settled: BTreeMap<QueueSetting, Result<String, Error>>,
    report: &mut Report,
) -> Vec<Entry> {
    let mut failed = Vec::new();
    for (entry, theirs) in judged {
        let Some(put) = settled.remove(&entry.setting) else { continue };
        match (put, theirs) {
            (Ok(_), None) => report.restored.push((entry.device_name(), entry.setting.to_string())),
            (Ok(_), Some(theirs)) => report.leave(entry, Some(theirs), "it was changed externally meanwhile"),
            // It went with its scheduler, or another scheduler was chosen externally.
            (Err(Error::NotInForce { .. }), _) => {}
            (Err(_), _) if !queue.exists() => report.leave(entry, None, "the device is gone"),
            (Err(_), _) if is_unloaded(queue, entry) => {
                report.leave(entry, queue.scheduler().ok(), "this kernel does not offer that scheduler any more");
            }
            (Err(error), _) => {
                let what = format!("{} of {}: {}", entry.setting, entry.device_name(), in_one_line(&error));
                report.failed.push(what);
                failed.push(entry.clone());
            }
        }
    }
    failed
}

/// Whether the scheduler to come back to was a module that is not loaded any more.
fn is_unloaded(queue: &BlockQueue, entry: &Entry) -> bool {
    entry.setting == QueueSetting::Scheduler
        && queue.schedulers().is_ok_and(|offered| !offered.contains(&entry.original))
}

/// Gives `false` when threads could not be put back.
fn restore_priority(entry: &PriorityEntry, paths: &Paths, report: &mut Report) -> bool {
    let group = name(&entry.group).to_owned();
    let setting = (group.clone(), "io_priority".to_owned());
    match groups::put_back(entry, paths) {
        Ok(true) => report.restored.push(setting),
        // Its settings have gone with it.
        Ok(false) => {}
        Err(error) => {
            report.failed.push(format!("io_priority of {group}: {}", in_one_line(&error)));
            return false;
        }
    }
    true
}

/// Gives `false` when the file could not be put back.
fn restore_file(entry: &FileEntry, report: &mut Report) -> bool {
    let (device, knob) = (name(entry.subject()).to_owned(), entry.setting().to_owned());
    let (found, reason) = match entry.put_back() {
        Ok(PutBack::Done) => {
            let restored = (device, knob);
            if !report.restored.contains(&restored) {
                report.restored.push(restored);
            }
            return true;
        }
        // A process or group that has gone has taken its settings along.
        Ok(PutBack::Gone) => return true,
        Ok(PutBack::Theirs(found)) => (Some(found), "it was changed externally meanwhile"),
        Err(error) => {
            report.failed.push(format!("{knob} of {device}: {}", in_one_line(&error)));
            return false;
        }
    };
    report.left.push(LeftSetting { device, knob, found, original: entry.original.clone(), reason: reason.to_owned() });
    true
}
