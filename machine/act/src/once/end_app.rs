//! Ending an app: SIGTERM to all its processes, SIGKILL to what is left when the grace time is over.
//!
//! Nothing waits: [`begin`] asks, and the daemon calls [`Ending::advance`] when the time has come. Each process is held
//! by a pidfd from before it is known to be in the group, so that a later process of its number is never ended. At the
//! end `cgroup.kill` (Linux 5.14) ends the group as a whole, those included that were made meanwhile; without it the
//! processes are listed until no new ones come. A group that was made anew in the same place is another app, and
//! left.
//!
//! A group that brisk froze is thawed once its processes have the signal, since a frozen process does not end by
//! itself. One that was frozen externally is killed without grace: it can answer nothing, and would otherwise end just
//! when its owner thaws it, in front of the user.
//!
//! Of a terminal or session a process ends with all that it has started (`EndProcess`), and the rest stays: those that
//! are its children, or theirs, when it is asked and when it is killed. One of its number that started at another time
//! is another process, and left.
//!
//! Properties: `a_process_ends_with_what_it_started_and_its_shell_stays`; `an_app_that_others_froze_is_killed_at_once`;
//! `an_app_that_ends_in_time_is_not_killed`; `an_app_that_ignores_sigterm_is_killed_at_the_deadline`;
//! `less_grace_time_brings_the_deadline_forward`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use brisk_core::action::Once;
use brisk_core::outcome::Outcome;
use brisk_formats::parse_process_stat;
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use super::freezer;
use super::group::{Group, has_ended, pids_in};
use crate::{Error, Journal, Paths};

const NS_PER_MS: u64 = 1_000_000;
const KILL: &str = "cgroup.kill";

/// How often processes are listed that were made while others were killed.
const PASSES_MAX: u32 = 4;

/// An app that was asked to end.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(super) once: Once,
    /// When what is left is killed, CLOCK_MONOTONIC.
    pub(super) deadline_ns: u64,
    /// Its directories, each with the inode that tells it from a later one.
    dirs: Vec<(PathBuf, Option<u64>)>,
    /// The processes that were asked.
    asked: Vec<(u32, OwnedFd)>,
    /// Of a part of a group: the process at its root.
    root: Option<Root>,
}

/// Asks all processes of the group to end. `None` with the outcome when there are none.
///
/// # Errors
/// When not one of them could be asked.
pub(super) fn begin(
    journal: &mut Journal,
    group: &Group<'_>,
    once: &Once,
    now_ns: u64,
    grace_ms: u64,
) -> Result<Option<Ending>, Error> {
    let (mut asked, mut refused) = (Vec::new(), None);
    let (pids, root) = match once {
        Once::EndProcess { pid, start_ticks, .. } => {
            let root = Root { pid: *pid, start_ticks: *start_ticks };
            (root.tree(group, &BTreeSet::new()), Some(root))
        }
        _ => (group.pids(), None),
    };
    for pid in pids {
        let ask = |pidfd: OwnedFd| send(&pidfd, Signal::TERM).map(|is_there| is_there.then_some((pid, pidfd)));
        match group.open(pid).and_then(|pidfd| pidfd.map_or(Ok(None), ask)) {
            Ok(pidfd) => asked.extend(pidfd),
            Err(source) => refused = Some((pid, source)),
        }
    }
    if asked.is_empty() {
        let group = group.name();
        return refused.map_or(Ok(None), |(pid, source)| Err(Error::Process { pid, group, what: "end", source }));
    }
    // What cannot be thawed stays in the journal, and is killed at the deadline.
    let is_frozen = !group.is_session() && matches!(freezer::thaw(journal, group), Ok(Outcome::Left { .. }));
    let deadline_ns = if is_frozen { now_ns } else { deadline_ns(now_ns, grace_ms) };
    let dirs = group.unified.iter().chain(&group.freezer).chain(&group.memory);
    let dirs = if group.is_session() || root.is_some() {
        Vec::new()
    } else {
        dirs.map(|dir| (dir.clone(), inode(dir))).collect()
    };
    Ok(Some(Ending { once: once.clone(), deadline_ns, dirs, asked, root }))
}

/// The process at the root of what ends.
#[derive(Debug, Clone, Copy)]
struct Root {
    pid: u32,
    start_ticks: u64,
}

impl Root {
    /// It, those of `known` and all that they have started, as far as they are in the group.
    fn tree(self, group: &Group<'_>, known: &BTreeSet<u32>) -> BTreeSet<u32> {
        let stat = |pid: &u32| {
            let text = fs::read(group.paths.proc.join(pid.to_string()).join("stat")).ok()?;
            parse_process_stat(&text).ok().map(|stat| (stat.pid, stat.parent, stat.start_ticks))
        };
        let there: Vec<(u32, u32, u64)> = group.pids().iter().filter_map(stat).collect();
        let is_root = |(pid, _, start_ticks): &&(u32, u32, u64)| *pid == self.pid && *start_ticks == self.start_ticks;
        let mut tree: BTreeSet<u32> = there.iter().filter(is_root).map(|(pid, ..)| *pid).collect();
        tree.extend(there.iter().map(|(pid, ..)| pid).filter(|pid| known.contains(pid)));
        loop {
            let before = tree.len();
            let children = there.iter().filter(|(_, parent, _)| tree.contains(parent)).map(|(pid, ..)| *pid);
            tree.extend(children.collect::<Vec<_>>());
            if tree.len() == before {
                return tree;
            }
        }
    }
}

fn inode(dir: &Path) -> Option<u64> {
    fs::metadata(dir).ok().map(|metadata| metadata.ino())
}

impl Ending {
    /// Less grace time, where that is sooner; says whether it is.
    pub(super) fn hasten(&mut self, now_ns: u64, grace_ms: u64) -> bool {
        let sooner_ns = deadline_ns(now_ns, grace_ms);
        let is_sooner = sooner_ns < self.deadline_ns;
        if is_sooner {
            (self.deadline_ns, self.once) = (sooner_ns, self.once.clone().with_grace_ms(grace_ms));
        }
        is_sooner
    }

    /// What became of it; `None` while it has time. `Gone` when all of it has ended by itself, `Done` when the rest was
    /// killed.
    pub(super) fn advance(&self, paths: &Paths, now_ns: u64) -> Option<Outcome> {
        let has_time = now_ns < self.deadline_ns;
        if self.asked.iter().all(|(_, pidfd)| has_ended(pidfd)) && self.pids().is_empty() {
            return Some(Outcome::Gone);
        }
        if has_time {
            return None;
        }
        Some(self.kill(paths).map_or_else(|error| crate::actuator::refused(&error), |()| Outcome::Done))
    }

    /// Directories that are still those of the app.
    fn dirs(&self) -> impl Iterator<Item = &PathBuf> {
        self.dirs.iter().filter(|(dir, then)| then.is_some() && inode(dir) == *then).map(|(dir, _)| dir)
    }

    fn pids(&self) -> BTreeSet<u32> {
        pids_in(self.dirs())
    }

    fn kill(&self, paths: &Paths) -> Result<(), Error> {
        let mut refused = None;
        if self.root.is_none() {
            for (_, pidfd) in &self.asked {
                refused = send(pidfd, Signal::KILL).err().or(refused);
            }
        }
        for dir in self.dirs().filter(|dir| dir.join(KILL).is_file()) {
            // What it refuses, as a group of threads, is ended one by one.
            let _ = fs::write(dir.join(KILL), "1");
        }
        let group = Group::find(paths, self.once.group())?;
        let mut seen = BTreeSet::new();
        let left = || match self.root {
            Some(root) => {
                let live = self.asked.iter().filter(|(_, pidfd)| !has_ended(pidfd)).map(|(pid, _)| *pid);
                root.tree(&group, &live.collect())
            }
            None => self.pids(),
        };
        // A parent that is dead by now is not found above its children any more.
        let first = left();
        for pass in 0..PASSES_MAX {
            let now = if pass == 0 { first.clone() } else { left() };
            let fresh: Vec<u32> = now.into_iter().filter(|pid| seen.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            for pid in fresh {
                let killed =
                    group.open(pid).and_then(|pidfd| pidfd.map_or(Ok(true), |pidfd| send(&pidfd, Signal::KILL)));
                refused = killed.err().or(refused);
            }
        }
        for (_, pidfd) in &self.asked {
            refused = send(pidfd, Signal::KILL).err().or(refused);
        }
        // After the signals: not one of its processes runs again.
        self.dirs().filter(|dir| dir.join("freezer.state").is_file()).for_each(|dir| freezer::let_die(dir));
        refused.map_or(Ok(()), |source| Err(Error::NotKilled { group: group.name(), source }))
    }
}

/// Sends a signal; `false` when the process has ended.
fn send(pidfd: &OwnedFd, signal: Signal) -> io::Result<bool> {
    match pidfd_send_signal(pidfd, signal) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// When the grace time of an action that is begun now is over.
fn deadline_ns(now_ns: u64, grace_ms: u64) -> u64 {
    now_ns.saturating_add(grace_ms.saturating_mul(NS_PER_MS))
}
