//! Protection from the out-of-memory killer (proc_pid_oom_score_adj(5); kernel: Documentation/filesystems/proc.rst).
//!
//! Each process of the group gets [`PROTECTED`]. What such a process makes inherits it and is in no journal: when the
//! protection ends, a process of the group that has the value and was not there before gets the first value of its parent.
//! A process that was given another value externally is left.

use std::path::{Path, PathBuf};

use brisk_core::outcome::Outcome;

use super::group::Group;
use crate::setting_file::{FileEntry, OOM_SCORE_ADJ, SettingFile, hold, release};
use crate::{Error, Journal, Paths, groups};

/// ExternalChange after all that has no protection (a score of 1000 is all memory of the machine), but before the machine has nothing
/// left to kill: -1000 would never be taken. Lowering needs CAP_SYS_RESOURCE.
pub(crate) const PROTECTED: &str = "-900";

/// How often processes are listed that were made meanwhile by one that was not dealt with yet.
pub(crate) const PASSES_MAX: u32 = 4;

fn files(group: &Group<'_>) -> Vec<PathBuf> {
    group.pids().into_iter().map(|pid| file(group.paths, pid)).collect()
}

fn file(paths: &Paths, pid: u32) -> PathBuf {
    paths.proc.join(pid.to_string()).join(OOM_SCORE_ADJ)
}

/// Protects all processes of the group.
///
/// # Errors
/// When the journal cannot be written, or the kernel refuses the value for a process.
pub(super) fn protect(journal: &mut Journal, group: &Group<'_>) -> Result<Outcome, Error> {
    // The first time whatever has the value has it from elsewhere; later it may have inherited it.
    let mut is_first = !journal.files().iter().any(|entry| is_protection(entry) && entry.subject() == group.name);
    let mut outcome = Outcome::Gone;
    for _ in 0..PASSES_MAX {
        // A process that leaves the group between the two lines is protected with it, and journaled.
        let held = hold(journal, &group.by(), &files(group), PROTECTED, is_first)?;
        is_first = false;
        if !held.is_a_change() {
            return Ok(if outcome.is_a_change() { outcome } else { held });
        }
        outcome = held;
    }
    Ok(outcome)
}

/// Ends the protection.
///
/// # Errors
/// When the journal cannot be written, or the kernel refuses a process.
pub(super) fn unprotect(journal: &mut Journal, group: &Group<'_>) -> Result<Outcome, Error> {
    let known: Vec<FileEntry> =
        journal.files().iter().filter(|entry| is_protection(entry) && entry.subject() == group.name).cloned().collect();
    let mut outcome = Outcome::Unchanged;
    for pass in 0..PASSES_MAX {
        let heirs = heirs(&known, group.paths);
        if pass > 0 && heirs.is_empty() {
            break;
        }
        journal.files().extend(heirs);
        match release(journal, &group.by(), is_protection)? {
            Some(Outcome::Gone) | None => {}
            Some(released) => outcome = released,
        }
    }
    Ok(outcome)
}

pub(crate) fn is_protection(entry: &FileEntry) -> bool {
    entry.setting() == OOM_SCORE_ADJ
}

/// Entries for processes that inherited the protection of those in `known`.
pub(crate) fn heirs(known: &[FileEntry], paths: &Paths) -> Vec<FileEntry> {
    let mut groups: Vec<&str> =
        known.iter().filter(|entry| is_protection(entry)).map(|entry| entry.subject()).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut found: Vec<FileEntry> = Vec::new();
    for name in groups {
        let Ok(group) = Group::find(paths, name) else { continue };
        let of_group: Vec<&FileEntry> =
            known.iter().filter(|entry| is_protection(entry) && entry.subject() == name).collect();
        for file in files(&group) {
            let Some(held) = SettingFile::at(&file) else { continue };
            let (Some(of), Ok(now)) = (held.identity(), held.get()) else { continue };
            if now != PROTECTED || of_group.iter().any(|entry| entry.file == file && entry.of == of) {
                continue;
            }
            // The nearest process above it that was there at the time; if that has ended, the first one of the group.
            let above = ancestors(paths, &file)
                .into_iter()
                .find_map(|parent| of_group.iter().find(|entry| entry.file == parent));
            if let Some(from) = above.or(of_group.first()).filter(|from| from.original != PROTECTED) {
                found.push(FileEntry { file, of, ours: Some(now), ..(*from).clone() });
            }
        }
    }
    found
}

/// The same file of the processes that made this one, nearest first.
fn ancestors(paths: &Paths, of: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut next = of.to_owned();
    while let Some(parent) = next.parent().and_then(groups::parent_of).filter(|parent| *parent > 1) {
        next = file(paths, parent);
        if found.contains(&next) {
            break;
        }
        found.push(next.clone());
    }
    found
}
