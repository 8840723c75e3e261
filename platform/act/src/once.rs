//! Actions that happen once ([`Once`]): a file for each mechanism.
//!
//! They act on the control group of an app, of either version, and, where a session has no need of one, on its processes. None of
//! them sleeps; reclaim and paging are done by the kernel before they return. Processes are held by descriptors: a later one of the
//! same number is never touched.
//! - Freeze, Thaw: `cgroup.freeze`, or `freezer.state` of version 1. Thaw is for what brisk froze.
//! - Protect, Unprotect: `oom_score_adj` of all processes; each gets its own value back, and what it made gets the same.
//! - EndApp: SIGTERM by pidfd; [`advance`] kills what is left at the deadline ([`next_ns`]).
//! - Reclaim, DropPageCache: `memory.reclaim`; under version 1 a limit or a swappiness that is changed for that long.
//! - PageOut, PageIn: process_madvise(2); single ranges that the kernel refuses are skipped.
//!
//! The outcome of an action is `Done` when the kernel accepted it, `Unchanged` when there was nothing to do, `Left` when the state
//! was changed externally, `Gone` when the group has no processes or is no more, `Refused` with the reason otherwise, and
//! `Planned` in a dry run, which only looks the group up. Only ending an app takes time: `Done` then means that its processes
//! were asked, and [`advance`] gives a second outcome.

mod end_app;
mod freezer;
mod group;
pub(crate) mod oom;
mod paging;
mod reclaim;

use brisk_core::action::Once;
use brisk_core::outcome::{Outcome, Performed};

pub(crate) use end_app::Ending;
use group::Group;
use paging::Paging;

use crate::setting_file::By;
use crate::{Error, Journal, Paths};

/// Does one action. Without a journal it is a dry run.
///
/// # Errors
/// Why it could not be done, and what would work.
pub(crate) fn perform(
    paths: &Paths,
    journal: Option<&mut Journal>,
    endings: &mut Vec<Ending>,
    once: &Once,
    now_ns: u64,
) -> Result<Outcome, Error> {
    let group = Group::find(paths, once.group())?;
    let stops_it = matches!(once, Once::Freeze { .. } | Once::EndApp { .. });
    if stops_it && group.has(std::process::id()) {
        return Err(Error::OwnGroup { group: group.name.to_owned() });
    }
    let Some(journal) = journal else {
        return Ok(if group.is_gone() { Outcome::Gone } else { Outcome::Planned { from: None, to: None } });
    };
    forget_gone(journal, paths);
    let outcome = match once {
        // What was protected or frozen may have left the group.
        Once::Unprotect { .. } => oom::unprotect(journal, &group).map(|outcome| or_gone(outcome, &group)),
        Once::Thaw { .. } => freezer::thaw(journal, &group).map(|outcome| or_gone(outcome, &group)),
        _ if group.is_gone() => Ok(Outcome::Gone),
        Once::Protect { .. } => oom::protect(journal, &group),
        Once::Freeze { .. } => freezer::freeze(journal, &group),
        Once::EndApp { .. } if endings.iter().any(|ending| ending.once.group() == group.name) => Ok(Outcome::Unchanged),
        Once::EndApp { grace_ms, .. } => {
            let ending = end_app::begin(journal, &group, once, end_app::deadline_ns(now_ns, *grace_ms))?;
            Ok(ending.map_or(Outcome::Gone, |ending| {
                endings.push(ending);
                Outcome::Done
            }))
        }
        Once::DropPageCache { .. } => reclaim::drop_page_cache(journal, &group),
        Once::Reclaim { size_bytes, .. } => reclaim::reclaim(journal, &group, *size_bytes),
        Once::PageOut { ranges, .. } => paging::page(&group, ranges, Paging::Out),
        Once::PageIn { ranges, .. } => paging::page(&group, ranges, Paging::In),
    }?;
    // An action that wrote or restored a file was done.
    Ok(if outcome.is_a_change() { Outcome::Done } else { outcome })
}

/// Forgets groups that are gone, which need no undo. Processes that have ended are known as long as their group has others:
/// these may have inherited from them.
fn forget_gone(journal: &mut Journal, paths: &Paths) {
    let has_heirs = |group: &str| Group::find(paths, group).is_ok_and(|group| !group.pids().is_empty());
    journal.files().retain(|entry| match &entry.by {
        By::Knob(_) => true,
        By::Group(group) => entry.is_there() || (entry.is_of_a_process() && has_heirs(group)),
    });
}

fn or_gone(outcome: Outcome, group: &Group<'_>) -> Outcome {
    if outcome == Outcome::Unchanged && group.is_gone() { Outcome::Gone } else { outcome }
}

/// When [`advance`] has something to do at the latest, CLOCK_MONOTONIC.
pub(crate) fn next_ns(endings: &[Ending]) -> Option<u64> {
    endings.iter().map(|ending| ending.deadline_ns).min()
}

/// Goes on with what takes time, and gives what came to its end.
pub(crate) fn advance(paths: &Paths, endings: &mut Vec<Ending>, now_ns: u64) -> Vec<Performed> {
    let mut performed = Vec::new();
    endings.retain(|ending| match ending.advance(paths, now_ns) {
        Some(outcome) => {
            performed.push(Performed { once: ending.once.clone(), outcome });
            false
        }
        None => true,
    });
    performed
}
