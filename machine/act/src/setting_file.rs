//! Files that hold one setting each. All of them go the same way: the first value is in the journal before the file is
//! written, a value that was changed externally is left, and the first value comes back.
//!
//! A file is written for a knob (`io.weight` of a control group, `vm/swappiness`), which has a value for as long as an
//! engine requests it, or for an action that happens once: the freezer and the limits of a control group.
//! A control group is distinguished from a later one of its name by the inode of the file, which is read through a
//! descriptor of the directory, so that the file that was checked is the file that is written. A setting of virtual
//! memory is there as long as the kernel runs.
//!
//! Knobs of control groups (kernel: Documentation/admin-guide/cgroup-v2.rst, "IO Priority" and "IO Interface Files"):
//! `io.prio.class` gives requests of the group a class when they are submitted, those included that the kernel writes
//! back for it later, which no priority of a thread reaches. `io.weight` and `io.bfq.weight` divide a busy device
//! between groups beside each other. They are there when the io controller is enabled for the group and the kernel was
//! built with the policy.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use brisk_core::knob::{GroupSetting, Knob, VmSetting};
use brisk_core::outcome::Outcome;
use brisk_formats::common_value;
use rustix::fs::{AtFlags, Mode, OFlags, open, openat, statat};
use serde::{Deserialize, Serialize};

use crate::{Error, Journal};

/// State of the freezer of version 1, and the one that the kernel shows on the way to it.
pub(crate) const FROZEN: &str = "FROZEN";
const FREEZING: &str = "FREEZING";
/// What kernels before 6.5 call `promote-to-rt`; later ones know both names.
const OLD_NAME: (&str, &str) = ("promote-to-rt", "none-to-rt");

/// A file that was written, as it is journaled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    #[serde(flatten)]
    pub(crate) by: By,
    pub(crate) file: PathBuf,
    #[serde(flatten)]
    pub(crate) of: Identity,
    /// Value before the first change.
    pub(crate) original: String,
    /// Value after the last change; absent while one is under way.
    pub(crate) ours: Option<String>,
}

/// What a file was written for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    Knob(Knob),
    /// An action that happened once, on the control group of this key.
    Group(String),
}

/// Tells a file from a later one of the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Identity {
    /// Inode of the file of a control group.
    Inode(u64),
    /// The kernel has one of it from boot to shutdown. The inode of its file is not the same all the time: procfs makes
    /// a new one after it has dropped the old one.
    Kernel,
}

/// Outcome of an undo.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PutBack {
    Done,
    /// The group is gone, or another one is in its place.
    Gone,
    /// It was changed externally to this value.
    Theirs(String),
}

impl FileEntry {
    /// Name of the file: what it sets.
    pub(crate) fn setting(&self) -> &str {
        self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Key of the control group, or `vm`.
    pub(crate) fn subject(&self) -> &str {
        match &self.by {
            By::Knob(knob) => knob.subject(),
            By::Group(group) => group,
        }
    }

    /// Whether the group is still there.
    pub(crate) fn is_there(&self) -> bool {
        SettingFile::at(&self.file).is_some_and(|file| file.identity() == Some(self.of))
    }

    /// Gives the file its original value if it still has the one that brisk wrote; without `ours` a change was under
    /// way.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(crate) fn put_back(&self) -> Result<PutBack, Error> {
        let Some(file) = SettingFile::at(&self.file) else { return Ok(PutBack::Gone) };
        let gone = || file.identity() != Some(self.of);
        if gone() {
            return Ok(PutBack::Gone);
        }
        let outcome = file.get().and_then(|now| match &self.ours {
            _ if now == self.original => Ok(PutBack::Done),
            Some(ours) if now != *ours => Ok(PutBack::Theirs(now)),
            _ => file.put(&self.original).map(|()| PutBack::Done),
        });
        // It may have gone meanwhile.
        if outcome.is_err() && gone() { Ok(PutBack::Gone) } else { outcome }
    }
}

/// A file with the descriptor of its directory.
pub(crate) struct SettingFile<'a> {
    dir: OwnedFd,
    path: &'a Path,
    name: &'a str,
}

impl<'a> SettingFile<'a> {
    /// `None` when the directory is gone.
    pub(crate) fn at(path: &'a Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let dir = open(path.parent()?, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Self { dir, path, name })
    }

    /// The descriptor of its directory.
    pub(crate) fn into_dir(self) -> OwnedFd {
        self.dir
    }

    /// `None` when the group is gone.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let stat = statat(&self.dir, self.name, AtFlags::empty()).ok()?;
        Some(if vm_setting(self.name).is_some() { Identity::Kernel } else { Identity::Inode(stat.st_ino) })
    }

    fn text(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        let file = openat(&self.dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        File::from(file).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Its value, for all devices that have no line of their own; a group on its way into the freezer counts as frozen.
    ///
    /// # Errors
    /// When it cannot be read, as when the group is gone.
    pub(crate) fn get(&self) -> Result<String, Error> {
        let text = self.text(self.name).map_err(|source| Error::Read { path: self.path.to_owned(), source })?;
        let value = common_value(&text);
        Ok(if value == FREEZING { FROZEN.to_owned() } else { value.to_owned() })
    }

    /// Writes it.
    ///
    /// # Errors
    /// When the kernel refuses the value.
    pub(crate) fn put(&self, value: &str) -> Result<(), Error> {
        let write = |value: &str| {
            let file = openat(&self.dir, self.name, OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC, Mode::empty())?;
            File::from(file).write_all(value.as_bytes())
        };
        let written = match write(value) {
            Err(error) if value == OLD_NAME.0 && error.raw_os_error() == Some(libc::EINVAL) => write(OLD_NAME.1),
            written => written,
        };
        written.map_err(|source| Error::Write {
            path: self.path.to_owned(),
            value: value.to_owned(),
            hint: hint(self.name).to_owned(),
            source,
        })
    }
}

/// The setting of virtual memory whose file has this name.
fn vm_setting(name: &str) -> Option<VmSetting> {
    VmSetting::ALL.into_iter().find(|setting| Knob::Vm { setting: *setting }.file() == Some(name))
}

/// What the kernel accepts in such a file.
fn hint(name: &str) -> &'static str {
    let of_group = || GroupSetting::ALL.into_iter().find(|setting| setting.name() == name).map(GroupSetting::takes);
    vm_setting(name).map(VmSetting::takes).or_else(of_group).unwrap_or(match name {
        "memory.limit_in_bytes" => "memory in use cannot be reclaimed at once",
        _ => "it takes root, and in a container it is often read-only",
    })
}

/// Whether the kernel means the same by both.
fn is_same(requested: &str, found: &str) -> bool {
    requested == found || (requested, found) == OLD_NAME || (found, requested) == OLD_NAME
}

/// What writing `value` would do, for a dry run.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn plan(files: &[PathBuf], value: &str) -> Result<Outcome, Error> {
    let mut outcome = Outcome::Gone;
    for file in files.iter().filter_map(|file| SettingFile::at(file)) {
        let now = file.get()?;
        if !is_same(value, &now) {
            return Ok(Outcome::Planned { from: Some(now), to: Some(value.to_owned()) });
        }
        outcome = Outcome::Unchanged;
    }
    Ok(outcome)
}

/// The first of the `files` that was changed externally: the value that brisk wrote, and the one that stands.
pub(crate) fn changed_externally(journal: &mut Journal, files: &[PathBuf]) -> Option<(String, String)> {
    files.iter().find_map(|path| {
        let file = SettingFile::at(path)?;
        let of = file.identity();
        let entry = journal.files().iter().find(|entry| entry.file == *path && Some(entry.of) == of)?;
        let (ours, found) = (entry.ours.clone()?, file.get().ok()?);
        (ours != found).then_some((ours, found))
    })
}

/// Gives all `files` the `value`, journaled. A file that has the value already is left as it is. The outcome is
/// `Written` when one was written.
///
/// # Errors
/// When the journal cannot be written, or the kernel refuses the value for one, or shows another one for a knob; the
/// others have it.
pub(crate) fn hold(journal: &mut Journal, by: &By, files: &[PathBuf], value: &str) -> Result<Outcome, Error> {
    let (mut outcome, mut failed) = (Outcome::Gone, None);
    let mut to_write = Vec::new();
    for path in files {
        let Some(file) = SettingFile::at(path) else { continue };
        let Some(of) = file.identity() else { continue };
        let now = match file.get() {
            Ok(now) => now,
            Err(_) if file.identity() != Some(of) => continue,
            Err(error) => {
                failed = Some(error);
                continue;
            }
        };
        let entries = journal.files();
        entries.retain(|entry| entry.file != *path || entry.of == of);
        let entry = FileEntry { by: by.clone(), file: path.clone(), of, original: now.clone(), ours: None };
        let has_it = is_same(value, &now);
        match entries.iter_mut().find(|entry| entry.file == *path) {
            Some(known) if known.ours.as_ref().is_some_and(|ours| *ours != now) => {
                outcome = Outcome::Left { found: now };
                continue;
            }
            Some(known) if !has_it => known.ours = None,
            None if !has_it => entries.push(entry),
            _ => {}
        }
        if !has_it {
            to_write.push((path, file, now));
        } else if outcome == Outcome::Gone {
            outcome = Outcome::Unchanged;
        }
    }
    journal.save()?;
    for (path, file, from) in to_write {
        let put = file.put(value);
        let now = file.get().ok();
        let entries = journal.files();
        match (put, &now) {
            // It ended meanwhile.
            (_, None) => entries.retain(|entry| entry.file != *path),
            (Ok(()), Some(found)) if matches!(by, By::Knob(_)) && !is_same(value, found) => {
                let (path, requested, found) = (path.clone(), value.to_owned(), found.clone());
                failed = Some(Error::NotTaken { path, requested, found });
            }
            (Ok(()), Some(to)) => outcome = Outcome::Written { from, to: to.clone() },
            (Err(error), Some(now)) => {
                failed = Some(error);
                entries.retain(|entry| entry.file != *path || *now != entry.original);
            }
        }
        if let Some(entry) = entries.iter_mut().find(|entry| entry.file == *path) {
            entry.ours = now;
        }
    }
    journal.save()?;
    failed.map_or(Ok(outcome), Err)
}

/// Gives the `files` a value for as long as `during` takes, journaled: whatever ends the process, the first values come
/// back.
///
/// # Errors
/// When the journal or a file cannot be written; the files that were have their first value again, or stay in the
/// journal.
pub(crate) fn hold_during<T>(
    journal: &mut Journal,
    by: &By,
    files: &[PathBuf],
    value: &str,
    during: impl FnOnce() -> T,
) -> Result<T, Error> {
    let mut opened = Vec::new();
    for path in files {
        let Some(file) = SettingFile::at(path) else { continue };
        let (Some(of), Ok(original)) = (file.identity(), file.get()) else { continue };
        let entries = journal.files();
        entries.retain(|entry| entry.file != *path || entry.of == of);
        if entries.iter().all(|entry| entry.file != *path) {
            entries.push(FileEntry { by: by.clone(), file: path.clone(), of, original, ours: None });
        }
        opened.push(file);
    }
    journal.save()?;
    let written = opened.iter().try_for_each(|file| file.put(value));
    let done = written.map(|()| during());
    let released = release(journal, by, |entry| files.contains(&entry.file));
    done.and_then(|done| released.map(|_| done))
}

/// Puts back those files that were written for `by` and that `which` names. `None` when the journal has none.
///
/// # Errors
/// When the journal cannot be written, or the kernel refuses a value: that file stays in the journal.
pub(crate) fn release(
    journal: &mut Journal,
    by: &By,
    which: impl Fn(&FileEntry) -> bool,
) -> Result<Option<Outcome>, Error> {
    let entries: Vec<FileEntry> = journal.files().extract_if(.., |entry| entry.by == *by && which(entry)).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    let (mut outcome, mut failed) = (Outcome::Gone, None);
    for entry in entries {
        match entry.put_back() {
            Ok(PutBack::Done) => outcome = Outcome::Restored { to: entry.original },
            Ok(PutBack::Theirs(found)) if outcome == Outcome::Gone => outcome = Outcome::Left { found },
            Ok(PutBack::Theirs(_) | PutBack::Gone) => {}
            Err(error) => {
                failed = Some(error);
                journal.files().push(entry);
            }
        }
    }
    journal.save()?;
    failed.map_or(Ok(Some(outcome)), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_of_a_class_are_the_same() {
        assert!(is_same("promote-to-rt", "none-to-rt") && is_same("none-to-rt", "promote-to-rt"));
        assert!(is_same("idle", "idle") && !is_same("idle", "no-change"));
    }
}
