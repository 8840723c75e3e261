//! Files whose value has to come back when brisk ends, and that an action writes which happens once: the freezer and the limits
//! of a control group, the `oom_score_adj` of a process.
//!
//! The journal has the first value before the file is written. A control group is told from a later one of its name by the
//! inode of the file, a process from a later one of its number by its start time; both are read through a descriptor of the
//! directory, so that the file that was checked is the file that is written.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use brisk_core::outcome::Outcome;
use brisk_formats::parse_process_stat;
use rustix::fs::{Mode, OFlags, open, openat, statat};
use serde::{Deserialize, Serialize};

use crate::group_file::{PutBack, put_back_value};
use crate::{Error, Journal};

/// File of a process that says how readily the out-of-memory killer takes it.
pub(crate) const OOM_SCORE_ADJ: &str = "oom_score_adj";
/// State of the freezer of version 1, and the one that the kernel shows on the way to it.
pub(crate) const FROZEN: &str = "FROZEN";
const FREEZING: &str = "FREEZING";

/// A file that was written, as it is journaled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldEntry {
    /// Name of the control group.
    pub(crate) group: String,
    /// The file.
    pub(crate) file: PathBuf,
    /// Tells it from a later one of the same path.
    pub(crate) of: Identity,
    /// Value before the first change.
    pub(crate) original: String,
    /// Value after the last change; absent while one is under way.
    pub(crate) ours: Option<String>,
}

/// Tells a file from a later one of the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Identity {
    /// Inode of the file of a control group.
    Inode(u64),
    /// Start time of the process, in clock ticks since boot.
    StartTicks(u64),
}

impl HeldEntry {
    /// Name of the file: what it sets.
    pub(crate) fn setting(&self) -> &str {
        self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether the group or process is still there.
    pub(crate) fn is_there(&self) -> bool {
        HeldFile::at(&self.file).is_some_and(|held| held.identity() == Some(self.of))
    }

    /// Whether it is of a process, not of a control group.
    pub(crate) fn is_of_a_process(&self) -> bool {
        matches!(self.of, Identity::StartTicks(_))
    }
}

/// A file with the descriptor of its directory.
pub(crate) struct HeldFile<'a> {
    dir: OwnedFd,
    file: &'a Path,
    name: &'a str,
}

impl<'a> HeldFile<'a> {
    /// `None` when the directory is gone.
    pub(crate) fn at(file: &'a Path) -> Option<Self> {
        let name = file.file_name()?.to_str()?;
        let dir = open(file.parent()?, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Self { dir, file, name })
    }

    /// `None` when the group or process is gone.
    pub(crate) fn identity(&self) -> Option<Identity> {
        if self.name == OOM_SCORE_ADJ {
            let stat = parse_process_stat(self.text("stat").ok()?.as_bytes()).ok()?;
            return (!stat.has_ended()).then_some(Identity::StartTicks(stat.start_ticks));
        }
        statat(&self.dir, self.name, rustix::fs::AtFlags::empty()).ok().map(|stat| Identity::Inode(stat.st_ino))
    }

    fn text(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        let file = openat(&self.dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        File::from(file).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Its value; a group on its way into the freezer counts as frozen.
    ///
    /// # Errors
    /// When it cannot be read, as when the group or process is gone.
    pub(crate) fn get(&self) -> Result<String, Error> {
        let text = self.text(self.name).map_err(|source| Error::Read { path: self.file.to_owned(), source })?;
        Ok(if text.trim() == FREEZING { FROZEN.to_owned() } else { text.trim().to_owned() })
    }

    /// Writes it.
    ///
    /// # Errors
    /// When the kernel refuses the value.
    pub(crate) fn put(&self, value: &str) -> Result<(), Error> {
        let file = openat(&self.dir, self.name, OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC, Mode::empty());
        let written = file.map_err(io::Error::from).and_then(|file| File::from(file).write_all(value.as_bytes()));
        written.map_err(|source| Error::Write {
            path: self.file.to_owned(),
            value: value.to_owned(),
            hint: hint(self.name).to_owned(),
            source,
        })
    }
}

/// What the kernel accepts in such a file.
fn hint(name: &str) -> &'static str {
    match name {
        OOM_SCORE_ADJ => "lowering it needs CAP_SYS_RESOURCE",
        "memory.limit_in_bytes" => "memory in use cannot be reclaimed at once",
        _ => "needs root",
    }
}

/// Gives all `files` the `value`, journaled. A file that has the value already is left as it is; with `known` it is
/// journaled all the same, so that it is told from processes that inherit the value later. The outcome is `Done` when one
/// was written.
///
/// # Errors
/// When the journal cannot be written, or the kernel refuses the value for one; the others have it.
pub(crate) fn hold(
    journal: &mut Journal,
    group: &str,
    files: &[PathBuf],
    value: &str,
    known: bool,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::Gone;
    let mut to_write = Vec::new();
    for file in files {
        let Some(held) = HeldFile::at(file) else { continue };
        let (Some(of), Ok(now)) = (held.identity(), held.get()) else { continue };
        let entries = journal.held();
        entries.retain(|entry| entry.file != *file || entry.of == of);
        let entry = HeldEntry { group: group.to_owned(), file: file.clone(), of, original: now.clone(), ours: None };
        match entries.iter_mut().find(|entry| entry.file == *file) {
            Some(known) if known.ours.as_ref().is_some_and(|ours| *ours != now) => {
                outcome = Outcome::Left { from: now };
                continue;
            }
            Some(known) if now != value => known.ours = None,
            None if now != value => entries.push(entry),
            None if known => entries.push(HeldEntry { ours: Some(now.clone()), ..entry }),
            _ => {}
        }
        if now != value {
            to_write.push((file, held));
        } else if outcome == Outcome::Gone {
            outcome = Outcome::Unchanged;
        }
    }
    journal.save()?;
    let mut failed = None;
    for (file, held) in to_write {
        let put = held.put(value);
        let now = held.get().ok();
        let entries = journal.held();
        match put {
            // It ended meanwhile.
            _ if now.is_none() => entries.retain(|entry| entry.file != *file),
            Ok(()) => outcome = Outcome::Done,
            Err(error) => {
                failed = Some(error);
                entries.retain(|entry| entry.file != *file || now.as_ref() != Some(&entry.original));
            }
        }
        if let Some(entry) = entries.iter_mut().find(|entry| entry.file == *file) {
            entry.ours = now;
        }
    }
    journal.save()?;
    failed.map_or(Ok(outcome), Err)
}

/// Gives the `files` a value for as long as `during` takes, journaled: whatever ends the process, the first values come back.
///
/// # Errors
/// When the journal or a file cannot be written; the files that were have their first value again, or stay in the journal.
pub(crate) fn hold_during<T>(
    journal: &mut Journal,
    group: &str,
    files: &[PathBuf],
    value: &str,
    during: impl FnOnce() -> T,
) -> Result<T, Error> {
    let mut opened = Vec::new();
    for file in files {
        let Some(held) = HeldFile::at(file) else { continue };
        let (Some(of), Ok(original)) = (held.identity(), held.get()) else { continue };
        let entries = journal.held();
        entries.retain(|entry| entry.file != *file || entry.of == of);
        if entries.iter().all(|entry| entry.file != *file) {
            entries.push(HeldEntry { group: group.to_owned(), file: file.clone(), of, original, ours: None });
        }
        opened.push(held);
    }
    journal.save()?;
    let written = opened.iter().try_for_each(|held| held.put(value));
    let done = written.map(|()| during());
    let released = release(journal, group, |entry| files.contains(&entry.file));
    done.and_then(|done| released.map(|_| done))
}

/// Puts back those files of a group that `which` names. `None` when the journal has none.
///
/// # Errors
/// When the journal cannot be written, or the kernel refuses a value: that file stays in the journal.
pub(crate) fn release(
    journal: &mut Journal,
    group: &str,
    which: impl Fn(&HeldEntry) -> bool,
) -> Result<Option<Outcome>, Error> {
    let entries: Vec<HeldEntry> = journal.held().extract_if(.., |entry| entry.group == group && which(entry)).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    let (mut outcome, mut failed) = (Outcome::Gone, None);
    for entry in entries {
        match put_back(&entry) {
            Ok(PutBack::Done) => outcome = Outcome::Done,
            Ok(PutBack::Theirs(from)) if outcome == Outcome::Gone => outcome = Outcome::Left { from },
            Ok(PutBack::Theirs(_) | PutBack::Gone) => {}
            Err(error) => {
                failed = Some(error);
                journal.held().push(entry);
            }
        }
    }
    journal.save()?;
    failed.map_or(Ok(Some(outcome)), Err)
}

/// Puts back what an entry says.
///
/// # Errors
/// When the kernel refuses it.
pub(crate) fn put_back(entry: &HeldEntry) -> Result<PutBack, Error> {
    let Some(held) = HeldFile::at(&entry.file) else { return Ok(PutBack::Gone) };
    let gone = || held.identity() != Some(entry.of);
    put_back_value(entry.ours.as_ref(), &entry.original, gone, || held.get(), |value| held.put(value))
}
