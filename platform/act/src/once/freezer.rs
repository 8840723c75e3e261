//! Freezing and thawing (kernel: Documentation/admin-guide/cgroup-v2.rst, `cgroup.freeze`;
//! Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst, `freezer.state`).
//!
//! `Done` means that the kernel accepted it: it stops each process at its next way out of the kernel, and nothing waits here for
//! that. A group is thawed if brisk froze it. One that was frozen externally is left: its owner knows why.
//!
//! A session is not frozen by SIGSTOP instead: its parent shell takes the terminal back, and a process could tell.

use std::path::{Path, PathBuf};

use brisk_core::outcome::Outcome;

use super::group::{Group, pids_in};
use crate::setting_file::{FROZEN, FileEntry, SettingFile, hold, release};
use crate::{Error, Journal};

const UNIFIED: (&str, &str) = ("cgroup.freeze", "1");
const OLD: (&str, &str) = ("freezer.state", FROZEN);
const THAWED: &str = "THAWED";

/// The files that freeze a group, and what stands there when it is frozen. Where both versions have a group of this name, the
/// one that has processes.
fn files(group: &Group<'_>) -> (Vec<PathBuf>, &'static str) {
    let of = |dirs: &[PathBuf], name: &str| -> Vec<PathBuf> {
        dirs.iter().map(|dir| dir.join(name)).filter(|file| file.is_file()).collect()
    };
    let (unified, old) = (of(&group.unified, UNIFIED.0), of(&group.freezer, OLD.0));
    if old.is_empty() || (!unified.is_empty() && !pids_in(group.unified.iter()).is_empty()) {
        (unified, UNIFIED.1)
    } else {
        (old, OLD.1)
    }
}

/// Freezes it.
///
/// # Errors
/// When no freezer has a group of this name, or the journal or the file cannot be written.
pub(super) fn freeze(journal: &mut Journal, group: &Group<'_>) -> Result<Outcome, Error> {
    group.must_be_a_control_group(UNIFIED.0)?;
    let (files, frozen) = files(group);
    if files.is_empty() {
        return Err(Error::NoFreezer { group: group.name.to_owned() });
    }
    hold(journal, &group.by(), &files, frozen, false)
}

/// Thaws it if brisk froze it.
///
/// # Errors
/// When the journal or the file cannot be written.
pub(super) fn thaw(journal: &mut Journal, group: &Group<'_>) -> Result<Outcome, Error> {
    let is_freezer = |entry: &FileEntry| [UNIFIED.0, OLD.0].contains(&entry.setting());
    if let Some(outcome) = release(journal, &group.by(), is_freezer)? {
        return Ok(outcome);
    }
    let (files, frozen) = files(group);
    let states = files.iter().filter_map(|file| SettingFile::at(file)?.get().ok());
    let from = states.into_iter().find(|state| state == frozen);
    Ok(from.map_or(Outcome::Unchanged, |from| Outcome::Left { from }))
}

/// Lets a group run whose processes have been killed: version 1 ends them when they leave the freezer.
pub(super) fn let_die(dir: &Path) {
    // A group that is gone has no processes that wait for it.
    let _ = SettingFile::at(&dir.join(OLD.0)).map(|file| file.put(THAWED));
}
