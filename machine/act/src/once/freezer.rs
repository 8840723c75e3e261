//! Freezing and thawing (kernel: Documentation/admin-guide/cgroup-v2.rst, `cgroup.freeze`;
//! Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst, `freezer.state`).
//!
//! `Done` means that the kernel accepted it: it stops each process at its next way out of the kernel, and nothing waits
//! here for that. A group is thawed if brisk froze it. One that was frozen externally is left: its owner knows why.
//!
//! Where there is a keeper (`keeper.rs`), it holds the group before it is frozen.
//!
//! A session is not frozen by SIGSTOP instead: its parent shell takes the terminal back, and a process could tell.

use std::path::{Path, PathBuf};

use brisk_core::outcome::Outcome;

use super::group::{Group, pids_in};
use crate::keeper::Keeper;
use crate::setting_file::{FROZEN, FileEntry, SettingFile, hold, release};
use crate::{Error, Journal};

/// One of the kernel's freezers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Freezer {
    /// Of control groups version 2.
    Unified = 2,
    /// Of version 1.
    Old = 1,
}

impl Freezer {
    /// Its file in the directory of a group.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Unified => "cgroup.freeze",
            Self::Old => "freezer.state",
        }
    }

    /// What stands there when the group is frozen.
    fn frozen(self) -> &'static str {
        match self {
            Self::Unified => "1",
            Self::Old => FROZEN,
        }
    }

    /// What stands there when it is not.
    pub(crate) fn thawed(self) -> &'static str {
        match self {
            Self::Unified => "0",
            Self::Old => "THAWED",
        }
    }
}

/// The freezer that a file belongs to.
pub(crate) fn kind(file: &Path) -> Option<Freezer> {
    let name = file.file_name()?.to_str()?;
    [Freezer::Unified, Freezer::Old].into_iter().find(|freezer| freezer.file() == name)
}

/// Whether an entry of the journal is of a group that brisk froze.
pub(crate) fn is_freeze(entry: &FileEntry) -> bool {
    kind(&entry.file).is_some()
}

/// The files that freeze a group, and the freezer. Where both versions have it, the one that has processes.
fn files(group: &Group<'_>) -> (Vec<PathBuf>, Freezer) {
    let of = |dirs: &[PathBuf], freezer: Freezer| -> Vec<PathBuf> {
        dirs.iter().map(|dir| dir.join(freezer.file())).filter(|file| file.is_file()).collect()
    };
    let (unified, old) = (of(&group.unified, Freezer::Unified), of(&group.freezer, Freezer::Old));
    if old.is_empty() || (!unified.is_empty() && !pids_in(group.unified.iter()).is_empty()) {
        (unified, Freezer::Unified)
    } else {
        (old, Freezer::Old)
    }
}

/// Freezes it.
///
/// # Errors
/// When no freezer has this group, no keeper holds it, or the journal or the file cannot be written.
pub(super) fn freeze(journal: &mut Journal, keeper: Option<&mut Keeper>, group: &Group<'_>) -> Result<Outcome, Error> {
    group.must_be_a_control_group(Freezer::Unified.file())?;
    let (files, freezer) = files(group);
    if files.is_empty() {
        return Err(Error::NoFreezer { group: group.name() });
    }
    if let Some(keeper) = keeper {
        // What was frozen externally is not brisk's to thaw.
        let is_ours = |file: &PathBuf| journal.files().iter().any(|entry| entry.file == *file);
        let is_frozen = |file: &PathBuf| {
            SettingFile::at(file).and_then(|file| file.get().ok()).is_some_and(|state| state == freezer.frozen())
        };
        let (ours, others): (Vec<PathBuf>, Vec<PathBuf>) = files.iter().cloned().partition(is_ours);
        let to_freeze: Vec<PathBuf> =
            ours.into_iter().chain(others.into_iter().filter(|file| !is_frozen(file))).collect();
        keeper.hold(&to_freeze)?;
    }
    hold(journal, &group.by(), &files, freezer.frozen())
}

/// Thaws it if brisk froze it.
///
/// # Errors
/// When the journal or the file cannot be written.
pub(super) fn thaw(journal: &mut Journal, group: &Group<'_>) -> Result<Outcome, Error> {
    if let Some(outcome) = release(journal, &group.by(), is_freeze)? {
        return Ok(outcome);
    }
    let (files, freezer) = files(group);
    let states = files.iter().filter_map(|file| SettingFile::at(file)?.get().ok());
    let from = states.into_iter().find(|state| state == freezer.frozen());
    Ok(from.map_or(Outcome::Unchanged, |found| Outcome::Left { found }))
}

/// Lets a group run whose processes have been killed: version 1 ends them when they leave the freezer.
pub(super) fn let_die(dir: &Path) {
    // A group that is gone has no processes that wait for it.
    let _ = SettingFile::at(&dir.join(Freezer::Old.file())).map(|file| file.put(Freezer::Old.thawed()));
}
