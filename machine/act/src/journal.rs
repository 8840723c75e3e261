//! Changed settings with their owner and original value: on disk before the change, so that a crash loses nothing.
//!
//! For each setting the journal keeps the original value and the last value that this owner caused. Undo (`undo.rs`)
//! restores the original if the last one is still in force; otherwise the setting was changed externally, and is left
//! alone.
//!
//! `journal/file.rs` has the format of the file.

pub(crate) mod file;
mod places;
mod setting_text;

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use brisk_core::knob::{Knob, QueueSetting};
use serde::{Deserialize, Serialize};

use crate::owner::Owner;
use crate::setting_file::{By, FileEntry};
use crate::undo::{restore_device, restore_record};
use crate::{BlockQueue, Error, Paths, Report};

use self::file::{Loaded, journals, load, save};

/// Version of the file that is written.
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) owner: Owner,
    /// Settings of block queues.
    pub(crate) entries: Vec<Entry>,
    /// Control groups whose threads were given an I/O priority.
    pub(crate) priorities: Vec<PriorityEntry>,
    /// Files that hold one setting each.
    pub(crate) files: Vec<FileEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Directory of the device in sysfs.
    pub(crate) device: PathBuf,
    /// What a loop device carried at the time.
    pub(crate) backing_file: Option<String>,
    /// [`BlockQueue::instance`] at the time.
    pub(crate) instance: Option<u64>,
    #[serde(rename = "knob", with = "setting_text")]
    pub(crate) setting: QueueSetting,
    /// What stood before the first change.
    pub(crate) original: String,
    /// What stood after the last change; absent while one is under way, and for tunables of a scheduler that left.
    pub(crate) ours: Option<String>,
}

/// The I/O priority that threads of a group without one got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PriorityEntry {
    /// Key of the group.
    pub(crate) group: String,
    /// When the first thread got it, in ticks after boot. What began later and has it, in whichever group, inherited
    /// it.
    pub(crate) since_ticks: u64,
    /// All that its threads may have from us: two while a change is under way.
    pub(crate) values: Vec<String>,
    /// Threads that had such a value before, from another program.
    pub(crate) not_ours: Vec<u32>,
}

impl Entry {
    /// Kernel name of the device.
    pub(crate) fn device_name(&self) -> String {
        self.device.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn is_of(&self, queue: &BlockQueue) -> bool {
        self.device == queue.device_dir()
    }

    /// Whether the device that was changed has gone, and another one has its name now.
    pub(crate) fn is_of_another_instance(&self, queue: &BlockQueue) -> bool {
        matches!((self.instance, queue.instance()), (Some(then), Some(now)) if then != now)
    }

    /// Whether the first value stands again.
    fn is_back(&self) -> bool {
        self.ours.as_ref() == Some(&self.original)
    }
}

/// The changes of one owner. Dropping it undoes them; a file that stays behind (the process was killed) is undone by
/// [`crate::restore_leftovers`].
#[derive(Debug)]
pub struct Journal {
    file: PathBuf,
    record: Record,
    /// What the file holds; absent when that is not known.
    saved: Option<Record>,
    paths: Paths,
}

impl Journal {
    /// Opens an empty journal for this process; `name` says for what, such as `study-schedulers`. Two processes, or two
    /// journals of different name in one process, do not meet.
    ///
    /// # Errors
    /// When `name` is not a plain file name, or the directory cannot be made.
    pub fn open(name: &str, paths: &Paths) -> Result<Self, Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(Error::Name(name.to_owned()));
        }
        let run_dir = paths.journal.parent().map_or(Ok(()), crate::make_run_dir);
        run_dir
            .and_then(|()| fs::DirBuilder::new().recursive(true).mode(0o700).create(&paths.journal))
            .and_then(|()| file::check_dir(&paths.journal))
            .map_err(|source| Error::Journal { path: paths.journal.clone(), source })?;
        let owner = Owner::this(&paths.proc);
        let file = paths.journal.join(format!("{name}.{}.json", owner.pid));
        let record = Record::of(name.to_owned(), owner);
        Ok(Self { file, record, saved: None, paths: paths.clone() })
    }

    /// The journal of this `name` of another process, with whatever that process has changed so far: to change on its
    /// behalf ([`Self::hand_over`]) or to undo in its place.
    ///
    /// # Errors
    /// As for [`Self::open`]; also when there is no such process and no journal of it.
    pub fn of_process(name: &str, pid: u32, paths: &Paths) -> Result<Self, Error> {
        let mut journal = Self::open(name, paths)?;
        journal.file = paths.journal.join(format!("{name}.{pid}.json"));
        journal.record = match (load(&journal.file, paths), Owner::of(&paths.proc, pid)) {
            (Some(Loaded { record, .. }), _) => record,
            (None, Some(owner)) => Record { owner, ..journal.record.clone() },
            (None, None) => return Err(Error::NoProcess { pid }),
        };
        Ok(journal)
    }

    /// Takes what the loop device of `queue` carries now for what it carried when it was changed: for a caller who
    /// knows by other means that it is the same, although the kernel shows another path for it.
    pub fn vouch_for(&mut self, queue: &BlockQueue) {
        for entry in self.record.entries.iter_mut().filter(|e| e.is_of(queue)) {
            entry.backing_file = queue.backing_file();
        }
    }

    /// Drops the entry of the driver tags: the new file of a loop device came with a number of its own, which sysfs
    /// does not show.
    pub(crate) fn forget_driver_tags(&mut self, queue: &BlockQueue) {
        self.record.entries.retain(|e| !e.is_of(queue) || e.setting != QueueSetting::DriverTags);
    }

    /// Leaves the changes as they are, to the process whose journal this is.
    pub fn hand_over(mut self) {
        // The file has them all; without entries the drop has nothing to undo.
        self.record.clear();
    }

    /// The file that outlives a crash. It exists while something is changed.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Undoes all changes. May be called again; then there is nothing to do.
    ///
    /// # Errors
    /// When a setting could not be put back. The others are, and the journal keeps those that are not.
    pub fn restore(&mut self) -> Result<Report, Error> {
        let report = restore_record(&mut self.record, &self.paths);
        self.save()?;
        report.into_result()
    }

    /// Undoes what was changed of one queue. What could not be put back is tried again with the rest.
    pub(crate) fn restore_device(&mut self, queue: &BlockQueue) -> Result<(), Error> {
        restore_device(&mut self.record, queue);
        self.save()
    }

    /// Journals `setting` and what it disturbs, then runs `write`, then notes what the kernel made of it.
    pub(crate) fn change(
        &mut self,
        queue: &BlockQueue,
        setting: &QueueSetting,
        write: impl FnOnce(&BlockQueue) -> Result<(), Error>,
    ) -> Result<(), Error> {
        queue.get(setting)?;
        self.begin(queue, &queue.disturbed_by(setting))?;
        let written = write(queue);
        self.note(queue);
        self.save()?;
        written
    }

    /// Puts on disk what stands in `settings`, which are about to change. Those that this kernel or device lacks
    /// cannot.
    ///
    /// # Errors
    /// When the journal cannot be written or the size of the driver tags is not known: then nothing may be changed.
    pub(crate) fn begin(&mut self, queue: &BlockQueue, settings: &[QueueSetting]) -> Result<(), Error> {
        for setting in settings {
            let Ok(now) = queue.get(setting) else { continue };
            let known = self.record.entries.iter_mut().find(|e| e.is_of(queue) && e.setting == *setting);
            if let Some(entry) = known {
                // A value that was written externally since the last change becomes the original.
                if *setting != QueueSetting::DriverTags && entry.ours.as_ref().is_some_and(|ours| *ours != now) {
                    entry.original = now;
                }
                entry.ours = None;
                continue;
            }
            let original = match setting {
                QueueSetting::DriverTags => self.driver_tags(queue)?,
                _ => now,
            };
            self.record.entries.push(Entry {
                device: queue.device_dir().to_owned(),
                backing_file: queue.backing_file(),
                instance: queue.instance(),
                setting: setting.clone(),
                original,
                ours: None,
            });
        }
        self.save()
    }

    /// Notes what the kernel made of the changes that were under way. The caller saves.
    pub(crate) fn note(&mut self, queue: &BlockQueue) {
        for entry in self.record.entries.iter_mut().filter(|e| e.is_of(queue) && e.ours.is_none()) {
            if entry.setting != QueueSetting::DriverTags {
                entry.ours = queue.get(&entry.setting).ok();
            }
        }
    }

    /// Notes the size of the driver tags, which no file shows.
    pub(crate) fn note_driver_tags(&mut self, queue: &BlockQueue, depth_requests: Option<u32>) -> Result<(), Error> {
        for entry in &mut self.record.entries {
            if entry.is_of(queue) && entry.setting == QueueSetting::DriverTags {
                entry.ours = depth_requests.map(|depth| depth.to_string());
            }
        }
        self.save()
    }

    /// What is journaled of a queue.
    pub(crate) fn entries<'a>(&'a self, queue: &'a BlockQueue) -> impl Iterator<Item = &'a Entry> {
        self.record.entries.iter().filter(|e| e.is_of(queue))
    }

    /// Devices of which something is journaled.
    pub(crate) fn devices(&self) -> Vec<PathBuf> {
        let mut devices: Vec<PathBuf> = self.record.entries.iter().map(|e| e.device.clone()).collect();
        devices.sort();
        devices.dedup();
        devices
    }

    /// What is journaled of a setting.
    pub(crate) fn entry(&self, queue: &BlockQueue, setting: &QueueSetting) -> Option<&Entry> {
        self.record.entries.iter().find(|e| e.is_of(queue) && e.setting == *setting)
    }

    /// Forgets all of a queue: the device is gone, or another one.
    pub(crate) fn forget(&mut self, queue: &BlockQueue) -> Result<(), Error> {
        self.record.entries.retain(|e| !e.is_of(queue));
        self.save()
    }

    /// Makes an external value the original one, to be restored later.
    pub(crate) fn adopt(&mut self, queue: &BlockQueue, setting: &QueueSetting, external: &str) {
        for entry in self.record.entries.iter_mut().filter(|e| e.is_of(queue) && e.setting == *setting) {
            (entry.original, entry.ours) = (external.to_owned(), Some(external.to_owned()));
        }
    }

    /// Forgets what has its first value again, unless it is `held`. While the scheduler or the driver tags are ours,
    /// what they disturb may be needed again.
    pub(crate) fn prune(&mut self, queue: &BlockQueue, held: impl Fn(&QueueSetting) -> bool) {
        let is_roots = |e: &Entry| matches!(e.setting, QueueSetting::Scheduler | QueueSetting::DriverTags);
        let back = |e: &Entry| e.is_back() && !held(&e.setting);
        let rooted = self.entries(queue).any(|e| is_roots(e) && !back(e));
        let in_force = queue.scheduler().ok();
        let original = self.entry(queue, &QueueSetting::Scheduler).map(|e| e.original.clone());
        self.record.entries.retain(|e| {
            !e.is_of(queue)
                || match &e.setting {
                    // It went with its scheduler, which is not the one to come back to.
                    QueueSetting::Tunable { scheduler, .. }
                        if in_force.as_ref() != Some(scheduler) && original.as_ref() != Some(scheduler) =>
                    {
                        false
                    }
                    _ => (rooted && !is_roots(e)) || !back(e),
                }
        });
    }

    /// What is journaled of the priorities of groups.
    pub(crate) fn priorities(&mut self) -> &mut Vec<PriorityEntry> {
        &mut self.record.priorities
    }

    /// What is journaled of files that hold one setting each.
    pub(crate) fn files(&mut self) -> &mut Vec<FileEntry> {
        &mut self.record.files
    }

    /// Value of a knob that is a file, before brisk changed it; `None` when brisk has not.
    pub(crate) fn original(&self, knob: &Knob) -> Option<&str> {
        let of_knob = |entry: &&FileEntry| matches!(&entry.by, By::Knob(of) if of == knob);
        self.record.files.iter().find(of_knob).map(|entry| entry.original.as_str())
    }

    /// Requests that the driver accepts now: what another journal made of it, or what the kernel tells.
    fn driver_tags(&self, queue: &BlockQueue) -> Result<String, Error> {
        match self.driver_tags_of_others(queue) {
            Some(tags) => Ok(tags),
            None => queue.driver_tags_shown().map(|tags| tags.to_string()),
        }
    }

    /// What another journal set the driver tags to: nothing in sysfs would tell.
    pub(crate) fn driver_tags_of_others(&self, queue: &BlockQueue) -> Option<String> {
        let dir = self.file.parent()?;
        journals(dir)
            .filter(|file| *file != self.file)
            .filter_map(|file| load(&file, &self.paths))
            .flat_map(|loaded| loaded.record.entries)
            .find(|e| e.is_of(queue) && e.setting == QueueSetting::DriverTags && e.backing_file == queue.backing_file())
            .and_then(|e| e.ours)
    }

    /// Puts it on disk, unless that is what is there.
    pub(crate) fn save(&mut self) -> Result<(), Error> {
        if self.saved.as_ref() != Some(&self.record) {
            // Until the write has succeeded the value in force is unknown.
            self.saved = None;
            let saved = save(&self.file, &self.record);
            saved.map_err(|source| Error::Journal { path: self.file.clone(), source })?;
            self.saved = Some(self.record.clone());
        }
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !self.record.is_empty() {
            // `restore` gives a report; here there is none. Entries that fail stay in the file.
            let _ = self.restore();
        }
    }
}

impl Record {
    fn of(name: String, owner: Owner) -> Self {
        let (entries, priorities, files) = (Vec::new(), Vec::new(), Vec::new());
        Self { name, owner, entries, priorities, files }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.priorities.len() + self.files.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.priorities.clear();
        self.files.clear();
    }
}
