//! The replay loop: switch by switch through a plan, on whatever a [`Visitor`] is.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::results::{AppState, DayFlash, DayMemory, DayState, DaySwitch, EndedApp, Ending, Split};

use super::plan::{Plan, PlannedVisit};

/// An app that came to the front.
#[derive(Debug, Clone, PartialEq)]
pub struct Came {
    pub state: AppState,
    /// How the wait ended.
    pub ending: Ending,
    /// From the switch until the app has answered.
    pub wait_ms: f64,
    /// What the wait went to.
    pub split: Option<Split>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// The app, or why it did not come.
    pub outcome: Result<Came, String>,
    /// The flash during the wait.
    pub flash: DayFlash,
    pub ended: Vec<EndedApp>,
}

/// What happened while an app was in front.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dwelt {
    pub flash: DayFlash,
    pub ended: Vec<EndedApp>,
    /// Memory of the apps that run, at the end.
    pub memory: Vec<DayMemory>,
}

/// Memory of a phone, and what was paged so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Paging {
    /// Read from swap by all apps, bytes.
    pub swap_in_bytes: u64,
    pub swap_out_bytes: u64,
    /// Pages that were read again soon after they had been reclaimed; `None` where the kernel does not count them.
    pub refault_pages: Option<u64>,
    /// Memory that is available now; `None` where it cannot be read.
    pub available_bytes: Option<u64>,
}

/// A phone to a person who uses it.
pub trait Visitor {
    /// Why it cannot go on: what is wrong with one app is an [`Arrival`].
    type Error;

    /// Time since the begin of the run.
    fn clock(&self) -> Duration;

    /// Its memory.
    ///
    /// # Errors
    /// When its swap cannot be read.
    fn paging(&mut self) -> Result<Paging, Self::Error>;

    /// Brings `app` to the front, launching it where it does not run, and waits until it answers.
    ///
    /// # Errors
    /// When the phone cannot go on.
    fn go_to(&mut self, app: &str) -> Result<Arrival, Self::Error>;

    /// Lets the app stay in front for `time`, or until the person asked to stop.
    ///
    /// # Errors
    /// When the phone cannot go on.
    fn dwell(&mut self, time: Duration) -> Result<Dwelt, Self::Error>;

    /// Sends `app` to the background.
    ///
    /// # Errors
    /// When the phone cannot go on.
    fn leave(&mut self, app: &str) -> Result<(), Self::Error>;
}

/// Why a replay has no result.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplayError<E> {
    Stopped,
    /// The phone cannot go on.
    Visitor(E),
}

impl<E> From<E> for ReplayError<E> {
    fn from(error: E) -> Self {
        Self::Visitor(error)
    }
}

/// Replays `plan`. `progress` hears of each visit, with its number from 0, before it begins.
///
/// # Errors
/// When `stop` is set, or the phone cannot go on.
pub fn replay<V: Visitor>(
    plan: &Plan,
    visitor: &mut V,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(usize, &PlannedVisit),
) -> Result<Vec<DaySwitch>, ReplayError<V::Error>> {
    let mut switches = Vec::with_capacity(plan.visits.len());
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut before = visitor.paging()?;
    for (n, visit) in plan.visits.iter().enumerate() {
        let check = || if stop.load(Ordering::Relaxed) { Err(ReplayError::Stopped) } else { Ok(()) };
        check()?;
        progress(n, visit);
        let at_s = visitor.clock().as_secs_f64();
        let began = visitor.clock();
        let arrival = visitor.go_to(&visit.app)?;
        let arrived = visitor.clock();
        let mut ended = arrival.ended;
        let is_first = known.insert(&visit.app);
        let (state, ending, wait_ms, split, failure) = match arrival.outcome {
            // An app that was never started was not killed.
            Ok(came) if came.state == AppState::Killed && is_first => {
                (DayState::First, Some(came.ending), came.wait_ms, came.split, None)
            }
            Ok(came) => (came.state.into(), Some(came.ending), came.wait_ms, came.split, None),
            Err(why) => (DayState::Failed, None, (arrived - began).as_secs_f64() * 1e3, None, Some(why)),
        };
        if failure.is_some() && is_first {
            known.remove(visit.app.as_str());
        }
        check()?;
        let dwelt = visitor.dwell(Duration::from_millis(visit.dwell_ms))?;
        let dwell_ms = (visitor.clock() - arrived).as_secs_f64() * 1e3;
        check()?;
        visitor.leave(&visit.app)?;
        ended.extend(dwelt.ended);
        let now = visitor.paging()?;
        switches.push(DaySwitch {
            trace_s: visit.trace_ms as f64 / 1e3,
            at_s,
            app: visit.app.clone(),
            state,
            ending,
            wait_ms,
            split,
            dwell_ms,
            waiting: arrival.flash,
            dwelling: dwelt.flash,
            swap_in_bytes: now.swap_in_bytes.saturating_sub(before.swap_in_bytes),
            swap_out_bytes: now.swap_out_bytes.saturating_sub(before.swap_out_bytes),
            available_bytes: before.available_bytes,
            refault_pages: now.refault_pages.zip(before.refault_pages).map(|(now, before)| now.saturating_sub(before)),
            ended,
            failure,
            memory: dwelt.memory,
        });
        before = now;
    }
    Ok(switches)
}

#[cfg(test)]
mod tests;
