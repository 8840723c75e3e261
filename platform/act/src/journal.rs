//! What was changed, by whom, and what stood there before: on disk before the change, so that a crash loses nothing.
//!
//! For each knob the journal keeps the first value that it found and the last that this owner caused. Undo puts the
//! first one back if the last one still stands; otherwise someone else has changed the knob, and it is theirs. A loop
//! device that carries another file by now is another device, and all of it is left.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use brisk_core::causes::in_one_line;
use serde::{Deserialize, Serialize};

use crate::owner::Owner;
use crate::{BlockQueue, Error, Knob, Paths};

const SCHEMA_VERSION: u32 = 1;
/// Extension of a journal that is being written.
const FRESH: &str = "new";

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    schema_version: u32,
    name: String,
    owner: Owner,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    /// Directory of the device in sysfs.
    device: PathBuf,
    /// What a loop device carried at the time.
    backing_file: Option<String>,
    knob: Knob,
    /// What stood before the first change.
    original: String,
    /// What stood after the last change; absent while one is under way.
    ours: Option<String>,
}

/// A knob that was not put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Kernel name of the device.
    pub device: String,
    /// The knob.
    pub knob: Knob,
    /// What stands there now; absent when the device is gone.
    pub found: Option<String>,
    /// What stood there before brisk.
    pub original: String,
    /// Why it was left.
    pub reason: String,
}

/// What an undo did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Device and knob of everything that has its first value again.
    pub restored: Vec<(String, Knob)>,
    /// What was left, and why.
    pub left: Vec<Left>,
    #[serde(skip)]
    failed: Vec<(Entry, String)>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.device == other.device && self.knob == other.knob
    }
}
impl Eq for Entry {}

/// The changes of one owner. Dropping it undoes them; a file that stays behind (the process was killed) is undone by
/// [`restore_leftovers`].
#[derive(Debug)]
pub struct Journal {
    file: PathBuf,
    record: Record,
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
        fs::create_dir_all(&paths.journal).map_err(|source| Error::Journal { path: paths.journal.clone(), source })?;
        let owner = Owner::this(&paths.proc);
        let file = paths.journal.join(format!("{name}.{}.json", owner.pid));
        Ok(Self {
            file,
            record: Record { schema_version: SCHEMA_VERSION, name: name.to_owned(), owner, entries: vec![] },
        })
    }

    /// The journal of this `name` of another process, with whatever that process has changed so far: to change on its
    /// behalf ([`Self::hand_over`]) or to undo in its place.
    ///
    /// # Errors
    /// As for [`Self::open`]; also when there is no such process and no journal of it.
    pub fn of_process(name: &str, pid: u32, paths: &Paths) -> Result<Self, Error> {
        let mut journal = Self::open(name, paths)?;
        journal.file = paths.journal.join(format!("{name}.{pid}.json"));
        journal.record = match (load(&journal.file), Owner::of(&paths.proc, pid)) {
            (Some(record), _) => record,
            (None, Some(owner)) => Record { owner, ..journal.record.clone() },
            (None, None) => return Err(Error::NoProcess { pid }),
        };
        Ok(journal)
    }

    /// Takes what the loop device of `queue` carries now for what it carried when it was changed: for a caller who knows
    /// by other means that it is the same, although the kernel shows another path for it.
    pub fn vouch_for(&mut self, queue: &BlockQueue) {
        for entry in self.record.entries.iter_mut().filter(|e| e.device == queue.device_dir()) {
            entry.backing_file = queue.backing_file();
        }
    }

    /// Leaves the changes as they are, to the process whose journal this is.
    pub fn hand_over(mut self) {
        // The file has them all; without entries the drop has nothing to undo.
        self.record.entries.clear();
    }

    /// The file that outlives a crash. It exists while something is changed.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Undoes all changes. May be called again; then there is nothing to do.
    ///
    /// # Errors
    /// When a knob could not be put back. The others are, and the journal keeps those that are not.
    pub fn restore(&mut self) -> Result<Report, Error> {
        let report = restore_record(&mut self.record);
        self.save()?;
        report.into_result()
    }

    /// Journals `disturbed`, then runs `write`, then notes what the kernel made of it.
    pub(crate) fn change(
        &mut self,
        queue: &BlockQueue,
        disturbed: &[Knob],
        write: impl FnOnce(&BlockQueue) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // The first knob must exist; of the others some kernels lack one, and then it cannot be disturbed.
        queue.get(disturbed[0])?;
        for &knob in disturbed {
            if let Ok(now) = queue.get(knob) {
                self.begin(queue, knob, now);
            }
        }
        self.save()?;
        let written = write(queue);
        for entry in self.record.entries.iter_mut().filter(|e| e.device == queue.device_dir() && e.ours.is_none()) {
            entry.ours = queue.get(entry.knob).ok();
        }
        self.save()?;
        written
    }

    /// Notes the size of the driver tags, which no file shows.
    pub(crate) fn note_driver_tags(&mut self, queue: &BlockQueue, depth_requests: u32) -> Result<(), Error> {
        for entry in &mut self.record.entries {
            if entry.device == queue.device_dir() && entry.knob == Knob::DriverTags {
                entry.ours = Some(depth_requests.to_string());
            }
        }
        self.save()
    }

    fn begin(&mut self, queue: &BlockQueue, knob: Knob, now: String) {
        let same = |e: &&mut Entry| e.device == queue.device_dir() && e.knob == knob;
        if let Some(entry) = self.record.entries.iter_mut().find(same) {
            // What someone else wrote since our last change becomes what is to be put back.
            if knob != Knob::DriverTags && entry.ours.as_ref().is_some_and(|ours| *ours != now) {
                entry.original = now;
            }
            entry.ours = None;
            return;
        }
        let original = match knob {
            Knob::DriverTags => self.driver_tags_of_others(queue).unwrap_or_else(|| driver_tags_full(queue, now)),
            _ => now,
        };
        self.record.entries.push(Entry {
            device: queue.device_dir().to_owned(),
            backing_file: queue.backing_file(),
            knob,
            original,
            ours: None,
        });
    }

    /// What another journal set the driver tags to: nothing in sysfs would tell.
    fn driver_tags_of_others(&self, queue: &BlockQueue) -> Option<String> {
        let dir = self.file.parent()?;
        journals(dir)
            .filter(|file| *file != self.file)
            .filter_map(|file| load(&file))
            .flat_map(|record| record.entries)
            .find(|e| {
                e.device == queue.device_dir() && e.knob == Knob::DriverTags && e.backing_file == queue.backing_file()
            })
            .and_then(|e| e.ours)
    }

    fn save(&self) -> Result<(), Error> {
        save(&self.file, &self.record).map_err(|source| Error::Journal { path: self.file.clone(), source })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !self.record.entries.is_empty() {
            // Whoever wants the report calls `restore`. What fails stays in the file.
            let _ = self.restore();
        }
    }
}

/// Undoes what dead owners left changed, and says for each journal whose it was and what was done. Journals of live
/// owners and files that are not journals are not touched.
///
/// # Errors
/// When a knob could not be put back; its journal stays.
pub fn restore_leftovers(paths: &Paths) -> Result<Vec<(String, Report)>, Error> {
    let mut reports = Vec::new();
    let mut failed = Vec::new();
    remove_unfinished(paths);
    for file in journals(&paths.journal) {
        let Some(mut record) = load(&file) else { continue };
        if record.owner.is_alive(&paths.proc) {
            continue;
        }
        let report = if record.owner.is_of_this_boot(&paths.proc) {
            restore_record(&mut record)
        } else {
            record.entries.clear();
            Report::default()
        };
        save(&file, &record).map_err(|source| Error::Journal { path: file, source })?;
        failed.extend(report.failed.iter().map(|(_, why)| why.clone()));
        reports.push((record.name, report));
    }
    if failed.is_empty() { Ok(reports) } else { Err(Error::Restore(failed)) }
}

impl Report {
    fn into_result(self) -> Result<Self, Error> {
        if self.failed.is_empty() {
            Ok(self)
        } else {
            Err(Error::Restore(self.failed.into_iter().map(|(_, why)| why).collect()))
        }
    }

    fn leave(&mut self, entry: &Entry, found: Option<String>, reason: &str) {
        let device = device_name(entry);
        let (knob, original, reason) = (entry.knob, entry.original.clone(), reason.to_owned());
        self.left.push(Left { device, knob, found, original, reason });
    }
}

fn restore_record(record: &mut Record) -> Report {
    let mut report = Report::default();
    let mut devices: Vec<PathBuf> = record.entries.iter().map(|e| e.device.clone()).collect();
    devices.sort();
    devices.dedup();
    for device in devices {
        let mut entries: Vec<Entry> = record.entries.iter().filter(|e| e.device == device).cloned().collect();
        // Driver tags first, then the scheduler: both disturb what comes after them in the order of `Knob`.
        entries.sort_by_key(|e| e.knob);
        restore_queue(&BlockQueue::at(&device), &entries, &mut report);
    }
    record.entries = report.failed.iter().map(|(entry, _)| entry.clone()).collect();
    report
}

fn restore_queue(queue: &BlockQueue, entries: &[Entry], report: &mut Report) {
    if !queue.exists() {
        return entries.iter().for_each(|e| report.leave(e, None, "the device is gone"));
    }
    let carries = queue.backing_file();
    if entries.iter().any(|e| carries.is_some() && carries != e.backing_file) {
        return entries.iter().for_each(|e| report.leave(e, None, "the loop device carries another file by now"));
    }
    // Judge all before writing any, because writing one disturbs others; then everybody gets the value that is theirs.
    let targets: Vec<(&Entry, Result<String, String>)> = entries
        .iter()
        .map(|e| match (&e.ours, queue.get(e.knob)) {
            _ if e.knob == Knob::DriverTags => (e, Ok(e.original.clone())),
            (Some(ours), Ok(now)) if now != *ours && now != e.original => (e, Err(now)),
            _ => (e, Ok(e.original.clone())),
        })
        .collect();
    for (entry, target) in targets {
        let value = target.as_ref().unwrap_or_else(|theirs| theirs);
        let put = match (entry.knob, value.parse()) {
            (Knob::DriverTags, Ok(tags)) => queue.put_driver_tags(tags),
            _ => queue.put(entry.knob, value),
        };
        match (put, &target) {
            (Err(error), _) => {
                let why = format!("{} of {}: {}", entry.knob, device_name(entry), in_one_line(&error));
                report.failed.push((entry.clone(), why));
            }
            (Ok(()), Ok(_)) => report.restored.push((device_name(entry), entry.knob)),
            (Ok(()), Err(theirs)) => report.leave(entry, Some(theirs.clone()), "someone else changed it meanwhile"),
        }
    }
}

/// Tags that the driver has when nobody shrank them.
fn driver_tags_full(queue: &BlockQueue, shown: String) -> String {
    let is_loop = queue.backing_file().is_some();
    let sysfs = queue.device_dir().parent().and_then(Path::parent);
    match sysfs.filter(|_| is_loop) {
        Some(sysfs) => fs::read_to_string(sysfs.join("module/loop/parameters/hw_queue_depth"))
            .map_or(shown, |text| text.trim().to_owned()),
        None => shown,
    }
}

fn device_name(entry: &Entry) -> String {
    entry.device.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn journals(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|ext| ext == "json"))
        .collect();
    files.sort();
    files.into_iter()
}

fn load(file: &Path) -> Option<Record> {
    let record: Record = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    (record.schema_version == SCHEMA_VERSION).then_some(record)
}

/// Replaces the file in one step; removes it when nothing is changed any more.
fn save(file: &Path, record: &Record) -> io::Result<()> {
    let fresh = file.with_extension(FRESH);
    if record.entries.is_empty() {
        // Who was killed in the middle of saving has left the fresh one.
        return remove(file).and_then(|()| remove(&fresh));
    }
    let mut out = File::create(&fresh)?;
    out.write_all(&serde_json::to_vec_pretty(record)?)?;
    out.sync_all()?;
    fs::rename(&fresh, file)?;
    if let Some(dir) = file.parent() {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes half-written journals of dead processes: what they were about to journal was not changed yet.
fn remove_unfinished(paths: &Paths) {
    for file in fs::read_dir(&paths.journal).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let pid = file.file_stem().map(Path::new).and_then(Path::extension).and_then(|pid| pid.to_str());
        let unfinished = file.extension().is_some_and(|extension| extension == FRESH);
        if unfinished && pid.is_some_and(|pid| pid.parse::<u32>().is_ok() && !paths.proc.join(pid).exists()) {
            // Another brisk may do the same at the same time.
            let _ = remove(&file);
        }
    }
}
