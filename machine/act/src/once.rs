//! Actions that happen once ([`Once`]): a file for each mechanism.
//!
//! They act on the control group of an app, of either version, and, where a session has no need of one, on its
//! processes. None of them sleeps; reclaim and paging are done by the kernel before they return, so that a worker does
//! them where there is one (`worker.rs`). Processes are held by descriptors: a later one of the
//! same number is never touched.
//! - Freeze, Thaw: `cgroup.freeze`, or `freezer.state` of version 1. Thaw is for what brisk froze.
//! - Freeze and EndApp stop an app, and are checked once more at the moment of acting (`stops.rs`).
//! - EndApp: SIGTERM by pidfd; [`advance`] kills what is left at the deadline ([`next_ns`]). A second one with less
//!   grace time brings the deadline forward.
//! - Reclaim, DropPageCache: `memory.reclaim`; under version 1 a limit or a swappiness that is changed for that long.
//! - PageOut, PageIn: process_madvise(2); single ranges that the kernel refuses are skipped.
//! - MapIn: process_vm_readv(2), whose reads map the pages of the app.
//! - ReadAhead: posix_fadvise(2) on files that the app maps; a file that was replaced is skipped.
//! - Prefetch: the same by several threads, ahead of a launch; EndPrefetch ends it between two ranges.
//! - MakeReady: the same by one thread, of an app that does not run; only a worker does it.
//!
//! The outcome of an action is `Done` when the kernel accepted it, `Unchanged` when there was nothing to do, `Left`
//! when the state was changed externally, `Gone` when the group has no processes or is no more, `Refused` with the
//! reason otherwise, and `Planned` in a dry run, which only looks the group up. An app that is ended gives two
//! outcomes: `Done` when its processes were asked, and one by [`advance`]. So does what a worker does: `Begun`, and its
//! outcome, which is `Cancelled` when an app returned meanwhile.

mod end_app;
pub(crate) mod freezer;
mod group;
mod held_file;
mod make_ready;
mod map_in;
mod paging;
mod prefetch;
mod read_ahead;
mod reclaim;
pub(crate) mod stops;

use std::collections::BTreeSet;
use std::path::PathBuf;

use brisk_core::action::Once;
use brisk_core::outcome::Outcome;

pub(crate) use end_app::Ending;
use group::Group;
use paging::Paging;
use stops::{Limit, Sensed};

use crate::keeper::Keeper;
use crate::setting_file::By;
use crate::worker::{Cancel, Worker};
use crate::{Error, Journal, Paths};

/// Names of the files of control groups that actions change and put back.
pub(crate) fn files_of_groups() -> [&'static str; 4] {
    [freezer::Freezer::Unified.file(), freezer::Freezer::Old.file(), reclaim::LIMIT, reclaim::SWAPPINESS]
}

/// What actions use of the actuator.
pub(crate) struct Means<'a> {
    pub(crate) paths: &'a Paths,
    /// `None` in a dry run.
    pub(crate) journal: Option<&'a mut Journal>,
    pub(crate) keeper: Option<&'a mut Keeper>,
    pub(crate) endings: &'a mut Vec<Ending>,
    pub(crate) limit: &'a mut Limit,
    /// Does what takes time; the caller waits without one.
    pub(crate) worker: Option<&'a mut Worker>,
}

/// Does one action. Without a journal it is a dry run.
///
/// # Errors
/// Why it could not be done, and what would work.
pub(crate) fn perform(means: Means<'_>, once: &Once, sensed: &Sensed<'_>, now_ns: u64) -> Result<Outcome, Error> {
    let Means { paths, journal, mut keeper, endings, limit, mut worker } = means;
    if let Once::MakeReady { .. } = once {
        // Of an app that has no group.
        return match (journal, worker) {
            (None, _) => Ok(Outcome::Planned { from: None, to: None }),
            (_, Some(worker)) => Ok(worker.begin(once)),
            (_, None) => Err(Error::NoWorker),
        };
    }
    let group = Group::find(paths, once.group())?;
    let stops_it = once.ends() || matches!(once, Once::Freeze { .. });
    let own = [Some(std::process::id()), keeper.as_ref().and_then(|keeper| keeper.pid())];
    if stops_it && own.into_iter().flatten().any(|pid| group.has(pid)) {
        return Err(Error::OwnGroup { group: group.name() });
    }
    let is_under_way = |endings: &[Ending]| endings.iter().any(|ending| ending.once.group() == group.key);
    if !group.is_gone() && !is_under_way(endings) {
        limit.check(once, sensed, now_ns)?;
    }
    let Some(journal) = journal else {
        return Ok(if group.is_gone() { Outcome::Gone } else { Outcome::Planned { from: None, to: None } });
    };
    forget_gone(journal);
    if is_of_a_return(once)
        && let Some(worker) = &worker
    {
        worker.cancel_page_outs();
    }
    // A launch that a launcher told has no group yet.
    if takes_time(once)
        && (!group.is_gone() || matches!(once, Once::Prefetch { .. }))
        && let Some(worker) = &mut worker
    {
        return Ok(worker.begin(once));
    }
    let outcome: Result<Outcome, Error> = match once {
        // What was frozen may have left the group.
        Once::Thaw { .. } => freezer::thaw(journal, &group).map(|outcome| or_gone(outcome, &group)),
        _ if group.is_gone() && !matches!(once, Once::EndPrefetch { .. }) => Ok(Outcome::Gone),
        Once::Freeze { .. } => freezer::freeze(journal, keeper.as_deref_mut(), &group),
        Once::EndApp { grace_ms, .. } | Once::EndProcess { grace_ms, .. } if is_under_way(endings) => {
            let of_group = endings.iter_mut().find(|ending| ending.once.group() == group.key);
            let is_sooner = of_group.is_some_and(|ending| ending.hasten(now_ns, *grace_ms));
            Ok(if is_sooner { Outcome::Done } else { Outcome::Unchanged })
        }
        Once::EndApp { grace_ms, .. } | Once::EndProcess { grace_ms, .. } => {
            let ending = end_app::begin(journal, &group, once, now_ns, *grace_ms);
            ending.map(|ending| {
                ending.map_or(Outcome::Gone, |ending| {
                    limit.note_end(now_ns);
                    endings.push(ending);
                    Outcome::Done
                })
            })
        }
        Once::EndPrefetch { group } => {
            let had_any = worker.is_some_and(|worker| worker.end_prefetch(group));
            Ok(if had_any { Outcome::Done } else { Outcome::Unchanged })
        }
        once => move_memory(&group, journal, once, Cancel::NEVER),
    };
    if let Some(keeper) = keeper {
        // Whatever the outcome, it holds what the journal says is frozen.
        keeper.keep_only(frozen(journal).iter());
    }
    let outcome = outcome?;
    // An action that wrote or restored a file was done.
    let is_told = matches!(outcome, Outcome::Prefetched { .. });
    Ok(if outcome.is_a_change() && !is_told { Outcome::Done } else { outcome })
}

/// Whether the kernel moves memory for it before it returns. All do but those that [`move_memory`] has none of.
pub(crate) fn takes_time(once: &Once) -> bool {
    !once.ends() && !matches!(once, Once::Freeze { .. } | Once::Thaw { .. } | Once::EndPrefetch { .. })
}

/// Whether it is for an app that returns: page-outs end then. `MapIn` is not, which lays memory out anew while nothing
/// else happens.
pub(crate) fn is_of_a_return(once: &Once) -> bool {
    matches!(once, Once::Thaw { .. } | Once::PageIn { .. } | Once::ReadAhead { .. } | Once::Prefetch { .. })
}

/// Whether it reads back what an app that returns needs.
pub(crate) fn reads_back(once: &Once) -> bool {
    matches!(once, Once::PageIn { .. } | Once::ReadAhead { .. })
}

/// Whether a return of an app ends it before it is complete.
pub(crate) fn ends_at_a_return(once: &Once) -> bool {
    matches!(once, Once::PageOut { .. } | Once::MapIn { .. })
}

/// Does an action that [`takes_time`], for a worker.
///
/// # Errors
/// As [`perform`].
pub(crate) fn take_time(
    paths: &Paths,
    journal: &mut Journal,
    once: &Once,
    cancel: Cancel<'_>,
) -> Result<Outcome, Error> {
    if let Once::MakeReady { most_bytes, files, pieces, .. } = once {
        let requested = make_ready::Requested { files, pieces, most_bytes: *most_bytes };
        return make_ready::make_ready(requested, || cancel.is_over());
    }
    let group = Group::find(paths, once.group())?;
    let is_gone = group.is_gone() && !matches!(once, Once::Prefetch { .. });
    if is_gone { Ok(Outcome::Gone) } else { move_memory(&group, journal, once, cancel) }
}

fn move_memory(group: &Group<'_>, journal: &mut Journal, once: &Once, cancel: Cancel<'_>) -> Result<Outcome, Error> {
    match once {
        Once::DropPageCache { .. } => reclaim::drop_page_cache(journal, group),
        Once::Reclaim { size_bytes, .. } => reclaim::reclaim(journal, group, *size_bytes, || cancel.is_last()),
        Once::PageOut { ranges, .. } => paging::page(group, ranges, Paging::Out, || cancel.is_due()),
        Once::PageIn { ranges, .. } => paging::page(group, ranges, Paging::In, || cancel.is_over()),
        Once::MapIn { ranges, .. } => map_in::map_in(group, ranges, || cancel.is_due()),
        Once::ReadAhead { files, .. } => Ok(read_ahead::read_ahead(group, files, || cancel.is_over())),
        Once::Prefetch { files, pieces, streams, priority, .. } => {
            let requested = prefetch::Requested { files, pieces, streams: *streams, priority };
            prefetch::prefetch(group, requested, || cancel.is_over())
        }
        Once::Freeze { .. }
        | Once::Thaw { .. }
        | Once::EndApp { .. }
        | Once::EndProcess { .. }
        | Once::EndPrefetch { .. }
        | Once::MakeReady { .. } => Ok(Outcome::Unchanged),
    }
}

/// Files of the freezers of groups that brisk has frozen.
pub(crate) fn frozen(journal: &mut Journal) -> Vec<PathBuf> {
    journal.files().iter().filter(|entry| freezer::is_freeze(entry)).map(|entry| entry.file.clone()).collect()
}

/// Keys of groups that brisk has frozen.
pub(crate) fn frozen_groups(journal: &mut Journal) -> BTreeSet<String> {
    let files = journal.files().iter().filter(|entry| freezer::is_freeze(entry));
    files.map(|entry| entry.subject().to_owned()).collect()
}

/// Thaws all groups that brisk has frozen; their keys, and what could not be thawed.
pub(crate) fn thaw_all(paths: &Paths, journal: &mut Journal) -> (Vec<String>, Vec<Error>) {
    let (mut thawed, mut failed) = (Vec::new(), Vec::new());
    for name in frozen_groups(journal) {
        match Group::find(paths, &name).and_then(|group| freezer::thaw(journal, &group)) {
            Ok(_) => thawed.push(name),
            Err(error) => failed.push(error),
        }
    }
    (thawed, failed)
}

/// Forgets groups that are gone, which need no undo.
fn forget_gone(journal: &mut Journal) {
    journal.files().retain(|entry| matches!(entry.by, By::Knob(_)) || entry.is_there());
}

fn or_gone(outcome: Outcome, group: &Group<'_>) -> Outcome {
    if outcome == Outcome::Unchanged && group.is_gone() { Outcome::Gone } else { outcome }
}

/// When [`advance`] has something to do at the latest, CLOCK_MONOTONIC.
pub(crate) fn next_ns(endings: &[Ending]) -> Option<u64> {
    endings.iter().map(|ending| ending.deadline_ns).min()
}

/// Goes on with what takes time, and gives what came to its end.
pub(crate) fn advance(paths: &Paths, endings: &mut Vec<Ending>, now_ns: u64) -> Vec<(Once, Outcome)> {
    let mut performed = Vec::new();
    endings.retain(|ending| match ending.advance(paths, now_ns) {
        Some(outcome) => {
            performed.push((ending.once.clone(), outcome));
            false
        }
        None => true,
    });
    performed
}
