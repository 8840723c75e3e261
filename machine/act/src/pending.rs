//! Undo of everything that ended processes left changed, when some of them may be ending at this moment.
//!
//! A process that was killed lives on for a while: it has closed its sockets and files, and still has its number. Until
//! it has ended, nothing tells whether it will restore its settings itself; so [`restore_all`] waits for the end of the
//! owners of journals, for a limited time, and names those that run on.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::journal::file::{journals, load};
use crate::owner::Owner;
use crate::{Error, Paths, Report, restore_leftovers};

/// A process that runs and keeps settings changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningOwner {
    /// Name of its journal, such as `briskd`.
    pub name: String,
    pub pid: u32,
    /// How many settings it has changed.
    pub settings: usize,
    owner: Owner,
}

/// What [`restore_all`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Name of each journal whose owner has ended, and what was done.
    pub reports: Vec<(String, Report)>,
    /// Owners that still run; what they have changed stays.
    pub living: Vec<RunningOwner>,
}

/// As [`restore_leftovers`], but waits up to `patience` for owners that still run to end; `waits` gets them before the
/// first wait.
///
/// # Errors
/// As [`restore_leftovers`]; also when the directory of the journals cannot be read.
pub fn restore_all(paths: &Paths, patience: Duration, waits: impl FnOnce(&[RunningOwner])) -> Result<Restored, Error> {
    let deadline = Instant::now() + patience;
    let mut waits = Some(waits);
    let mut reports: Vec<(String, Report)> = Vec::new();
    loop {
        // Before the undo: an owner that ends in between is waited for in vain at most, and never missed.
        let living = living(paths)?;
        for report in restore_leftovers(paths)? {
            // A setting that stays in its journal is reported by each undo.
            if !reports.contains(&report) {
                reports.push(report);
            }
        }
        if living.is_empty() {
            return Ok(Restored { reports, living });
        }
        if let Some(waits) = waits.take().filter(|_| !patience.is_zero()) {
            waits(&living);
        }
        if !ends_before(&living, &paths.proc, deadline) {
            return Ok(Restored { reports, living });
        }
    }
}

/// Owners of journals that run and keep something changed.
fn living(paths: &Paths) -> Result<Vec<RunningOwner>, Error> {
    match std::fs::read_dir(&paths.journal) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(Error::Journal { path: paths.journal.clone(), source });
        }
        _ => {}
    }
    let of = |file: &Path| {
        let record = load(file, paths)?.record;
        let changes = !record.is_empty() && record.owner.is_alive(&paths.proc);
        changes.then(|| RunningOwner {
            settings: record.len(),
            pid: record.owner.pid,
            name: record.name,
            owner: record.owner,
        })
    };
    Ok(journals(&paths.journal).filter_map(|file| of(&file)).collect())
}

/// Whether one of them ends before the deadline.
fn ends_before(living: &[RunningOwner], proc: &Path, deadline: Instant) -> bool {
    let open = |one: &RunningOwner| -> Option<OwnedFd> {
        let pid = Pid::from_raw(i32::try_from(one.pid).ok()?)?;
        // Opened, then checked: the number may have gone to a later process.
        pidfd_open(pid, PidfdFlags::empty()).ok().filter(|_| one.owner.is_alive(proc))
    };
    let Some(pidfds) = living.iter().map(open).collect::<Option<Vec<_>>>() else { return true };
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let mut polled: Vec<PollFd<'_>> = pidfds.iter().map(|pidfd| PollFd::new(pidfd, PollFlags::IN)).collect();
        match poll(&mut polled, timeout.as_ref()) {
            Err(Errno::INTR) => {}
            Ok(0) | Err(_) => return false,
            Ok(_) => return true,
        }
    }
}
