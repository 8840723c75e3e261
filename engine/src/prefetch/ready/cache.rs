//! Reading where memory is full of page cache: the kernel drops the oldest clean pages for what is read, so that it is
//! done only without memory pressure, a little at a time, and pauses for long when dropped pages are read again.
//!
//! *No memory pressure* by the kernel's own counters: over [`CALM_NS`] no task stalled on memory (PSI), no page of a
//! file had to be read again soon after it was dropped (refault), and nothing was swapped out; up to small tolerances.
//! A kernel that counts no pressure or no refaults gets nothing read this way.
//!
//! *A little at a time*: [`STEP_BYTES`], then [`PAUSE_NS`] in which this engine reads nothing, so that what others miss
//! shows. Of refaults while a step is read, as many as it may read pages are its own: sets were in memory before.
//!
//! *Dropped pages are missed*: within [`WATCH_NS`] of a step pages of files are read again, or pages are swapped out.
//! Then nothing is read this way for ten minutes, for twice as long each further time, up to four hours. What a launch
//! reads again is left out: it reads what was dropped long before as well.

use brisk_core::decision::Observed;
use brisk_core::reason::Reason;
use brisk_core::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

use super::PAGE_BYTES;
use crate::kit::S_NS;
use crate::kit::back_off::BackOff;

/// How long memory pressure has to be absent.
const CALM_NS: u64 = 10 * S_NS;
/// What is read in one step at most.
pub(super) const STEP_BYTES: u64 = 8 << 20;
/// Between two steps.
const PAUSE_NS: u64 = 5 * S_NS;
/// So long after a step others may miss what was dropped for it.
const WATCH_NS: u64 = 60 * S_NS;
const BACK_OFF_FIRST_S: u64 = 600;
const BACK_OFF_MAX_S: u64 = 4 * 3_600;
/// So many pages (256 KiB) that are read again or swapped out are no want of memory.
const PAGES_TOLERATED: u64 = 64;
/// Nor are stalls of a thousandth of the time, or a millisecond.
const STALL_PART: u64 = 1_000;
const STALL_MIN_US: u64 = 1_000;
/// The kernel's own thread counts as stalled while it drops pages for what is read here, and stalls are told up to 2 s
/// late: so long after a step they are not those of others.
const STALL_LATE_NS: u64 = 3 * S_NS;

/// What the kernel says of memory that is full, and what came of reading into it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Cache {
    /// Since when there is no memory pressure; `None`: not yet.
    calm_since_ns: Option<u64>,
    /// The last sign of memory pressure.
    by: Option<Reason>,
    step: Step,
    back_off: BackOff,
}

/// The last step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// There is none whose effect is watched.
    #[default]
    None,
    Reads,
    Ended {
        at_ns: u64,
    },
}

impl Cache {
    /// Takes in what became of memory.
    pub(super) fn take(&mut self, observed: &Observed<'_>, is_launching: bool) {
        let now = observed.now;
        let Some(previous) = observed.previous else {
            (self.calm_since_ns, self.by) = (None, Some(Reason::rule("what_goes_on_is_not_known_yet")));
            return;
        };
        if matches!(self.step, Step::Ended { at_ns } if previous.at_ns.saturating_sub(at_ns) >= WATCH_NS) {
            self.step = Step::None;
            self.back_off.helped();
        }
        let (reads, is_stall_others) = match self.step {
            Step::None => (false, true),
            Step::Reads => (true, false),
            Step::Ended { at_ns } => (previous.at_ns < at_ns, previous.at_ns >= at_ns.saturating_add(STALL_LATE_NS)),
        };
        let missed = missed(previous, now, reads);
        if missed.is_some() && self.step != Step::None && !is_launching {
            self.step = Step::None;
            self.back_off.begin(now.at_ns, BACK_OFF_FIRST_S, BACK_OFF_MAX_S);
        }
        match missed.or_else(|| stalled(previous, now).filter(|_| is_stall_others)) {
            None => self.calm_since_ns = self.calm_since_ns.or(Some(previous.at_ns)),
            by => (self.calm_since_ns, self.by) = (None, by),
        }
    }

    /// A step begins.
    pub(super) fn begin(&mut self) {
        self.step = Step::Reads;
    }

    /// What was being read has ended.
    pub(super) fn ended(&mut self, now_ns: u64) {
        if self.step == Step::Reads {
            self.step = Step::Ended { at_ns: now_ns };
        }
    }

    /// Why nothing may be read this way now, and when to look again.
    pub(super) fn waits(&self, now_ns: u64) -> Option<(Reason, u64)> {
        let rest_ns = |until_ns: u64| until_ns.checked_sub(now_ns).filter(|rest_ns| *rest_ns > 0);
        if let Some(rest_ns) = self.back_off.until_ns.and_then(rest_ns) {
            return Some((Reason::rule("others_missed_what_was_dropped_for_it"), rest_ns));
        }
        let calm_ns = self.calm_since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        if calm_ns < CALM_NS {
            let by = self.by.clone().unwrap_or_else(|| Reason::rule("what_goes_on_is_not_known_yet"));
            return Some((by, CALM_NS - calm_ns));
        }
        match self.step {
            Step::Ended { at_ns } => {
                let rest_ns = rest_ns(at_ns.saturating_add(PAUSE_NS))?;
                Some((Reason::rule("memory_is_full_and_is_read_into_slowly"), rest_ns))
            }
            Step::None | Step::Reads => None,
        }
    }
}

/// What says that pages are missed; `reads`: this engine has read within this span.
fn missed(previous: &Snapshot, now: &Snapshot, reads: bool) -> Option<Reason> {
    let refaults = previous.paging.refault_file_pages.zip(now.paging.refault_file_pages);
    let Some((before, after)) = refaults else { return Some(unknown()) };
    let own_pages = if reads { STEP_BYTES / PAGE_BYTES } else { 0 };
    let refault_pages = after.saturating_sub(before).saturating_sub(own_pages);
    if refault_pages > PAGES_TOLERATED {
        return Some(Reason::rule("pages_are_read_again").number("pages", refault_pages as f64));
    }
    let swapped_pages = now.paging.swap_out_pages.saturating_sub(previous.paging.swap_out_pages);
    let is_swapped = swapped_pages > PAGES_TOLERATED;
    is_swapped.then(|| Reason::rule("pages_are_swapped_out").number("pages", swapped_pages as f64))
}

/// What says that tasks wait for memory.
fn stalled(previous: &Snapshot, now: &Snapshot) -> Option<Reason> {
    let Some((before, after)) = previous.pressure.memory.zip(now.pressure.memory) else { return Some(unknown()) };
    let stall_us = after.some_us.saturating_sub(before.some_us);
    let elapsed_us = now.at_ns.saturating_sub(previous.at_ns) / 1_000;
    let is_stalled = stall_us > (elapsed_us / STALL_PART).max(STALL_MIN_US);
    is_stalled.then(|| Reason::rule("memory_is_short").number("stall_us", stall_us as f64))
}

fn unknown() -> Reason {
    Reason::rule("the_kernel_does_not_tell_who_wants_memory")
}
