//! Split of the wall time of a process tree by cause.
//!
//! The kernel's events show for each thread when it ran, was runnable, and waited, and for what. At each instant the
//! first of these causes that holds for any thread gets the time: running, waiting for a processor, reclaim, storage
//! read, swap-in, storage write, network, sleep. The parts are exclusive and add up to the wall time, and an idle
//! thread next to a busy one costs nothing. The order follows what can be improved: time on a processor is no waiting,
//! and a wait for storage would remain without a concurrent wait for an answer.
//!
//! Terms: *window* is the span of time that is split, in ns of CLOCK_MONOTONIC; `Waits::cause` finds the cause of a
//! *wait* from the thread's requests when it left the processor.
//!
//! Properties, each with a test of the same name:
//! - the parts add up to the window;
//! - splits of adjoining windows add up to the split of both;
//! - no list of events makes it panic.

use std::collections::HashMap;
use std::ops::Range;

use crate::probes::{Event, Kind};
use crate::results::{Cause, Part, Split, SplitMethod};

pub(crate) mod network;
mod system_call;
#[cfg(test)]
mod tests;
mod waits;

use waits::Waits;

/// Nanoseconds by cause, exclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exclusive {
    /// A thread ran.
    pub running_ns: u64,
    /// A thread was runnable, none ran.
    pub cpu_wait_ns: u64,
    /// A thread slept in reclaim.
    pub reclaim_ns: u64,
    /// A thread waited for a read of a file.
    pub storage_read_ns: u64,
    /// A thread waited for a page from swap.
    pub swap_in_ns: u64,
    /// A thread waited for a write.
    pub storage_write_ns: u64,
    /// Only an answer over IP was awaited.
    pub network_ns: u64,
    /// All threads slept.
    pub sleep_ns: u64,
}

impl Exclusive {
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.running_ns
            + self.cpu_wait_ns
            + self.reclaim_ns
            + self.storage_read_ns
            + self.swap_in_ns
            + self.storage_write_ns
            + self.network_ns
            + self.sleep_ns
    }

    /// The result. `user_share` (0 to 1) divides the running time into user and system time.
    #[must_use]
    pub fn to_split(&self, user_share: f64, lost_events: u64) -> Split {
        let ms = |ns: u64| ns as f64 / 1e6;
        let user_share = if user_share.is_finite() { user_share.clamp(0.0, 1.0) } else { 1.0 };
        let parts = [
            (Cause::UserCpu, ms(self.running_ns) * user_share),
            (Cause::SystemCpu, ms(self.running_ns) * (1.0 - user_share)),
            (Cause::CpuWait, ms(self.cpu_wait_ns)),
            (Cause::Reclaim, ms(self.reclaim_ns)),
            (Cause::StorageRead, ms(self.storage_read_ns)),
            (Cause::SwapIn, ms(self.swap_in_ns)),
            (Cause::StorageWrite, ms(self.storage_write_ns)),
            (Cause::Network, ms(self.network_ns)),
            (Cause::Sleep, ms(self.sleep_ns)),
        ];
        Split {
            method: SplitMethod::Bpf,
            wall_ms: ms(self.total_ns()),
            parts: parts.into_iter().map(|(cause, time_ms)| Part { cause, time_ms }).collect(),
            lost_events,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Runnable,
    /// Sleeping with a cause; `None` for a voluntary sleep.
    Waiting(Option<Cause>),
}

/// Number of threads in each relevant state.
#[derive(Debug, Default)]
struct Census {
    running: u32,
    runnable: u32,
    reclaiming: u32,
    reading: u32,
    swapping_in: u32,
    writing: u32,
}

impl Census {
    fn count(&mut self, thread: &Thread, step: i32) {
        let slot = match thread.state {
            State::Running => Some(&mut self.running),
            State::Runnable => Some(&mut self.runnable),
            // Within its own reclaim, a thread waits for memory, whatever else it waits for.
            State::Waiting(_) if thread.reclaims => Some(&mut self.reclaiming),
            State::Waiting(Some(Cause::StorageRead)) => Some(&mut self.reading),
            State::Waiting(Some(Cause::SwapIn)) => Some(&mut self.swapping_in),
            State::Waiting(Some(Cause::StorageWrite)) => Some(&mut self.writing),
            State::Waiting(_) => None,
        };
        if let Some(slot) = slot {
            *slot = slot.saturating_add_signed(step);
        }
    }

    fn account(&self, ns: u64, network: bool, into: &mut Exclusive) {
        let slot = match self {
            Self { running: 1.., .. } => &mut into.running_ns,
            Self { runnable: 1.., .. } => &mut into.cpu_wait_ns,
            Self { reclaiming: 1.., .. } => &mut into.reclaim_ns,
            Self { reading: 1.., .. } => &mut into.storage_read_ns,
            Self { swapping_in: 1.., .. } => &mut into.swap_in_ns,
            Self { writing: 1.., .. } => &mut into.storage_write_ns,
            _ if network => &mut into.network_ns,
            _ => &mut into.sleep_ns,
        };
        *slot += ns;
    }
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    state: State,
    reclaims: bool,
}

/// Splits `window` (`start..end`) of the threads in `events`; see [`split_between`].
#[must_use]
pub fn split(events: &[Event], window: Range<u64>) -> Exclusive {
    split_between(events, &[window.start, window.end]).into_iter().next().unwrap_or_default()
}

/// Splits the windows between adjacent `bounds` (ascending) in one pass; events are in order of time and may reach
/// beyond the bounds.
///
/// A thread whose first event shows that it ran before (it leaves the processor, or does something) is assumed to have
/// run since the begin of the list; one whose first event wakes it is assumed to have slept.
#[must_use]
pub fn split_between(events: &[Event], bounds: &[u64]) -> Vec<Exclusive> {
    let Some((&start, &end)) = bounds.first().zip(bounds.last()) else { return Vec::new() };
    let mut walk = Walk {
        now: start,
        bounds,
        windows: vec![Exclusive::default(); bounds.len() - 1],
        window: 0,
        network: network::awaited(events),
        span: 0,
    };
    let mut census = Census::default();
    let mut threads: HashMap<u32, Thread> = HashMap::new();
    for (tid, state) in states_before(events) {
        let thread = Thread { state, reclaims: false };
        census.count(&thread, 1);
        threads.insert(tid, thread);
    }
    let mut waits = Waits::default();
    for event in events {
        if event.at_ns >= end {
            break;
        }
        walk.advance(&census, event.at_ns);
        waits.note(event);
        let before = threads.get(&event.tid).copied();
        let after = next(before, event, &waits);
        if let Some(thread) = before {
            census.count(&thread, -1);
        }
        match after {
            Some(thread) => {
                census.count(&thread, 1);
                threads.insert(event.tid, thread);
            }
            None => {
                threads.remove(&event.tid);
            }
        }
    }
    walk.advance(&census, end);
    walk.windows
}

/// The state of a thread after one of its events; `None` when it has ended or is unknown.
fn next(before: Option<Thread>, event: &Event, waits: &Waits) -> Option<Thread> {
    let reclaims = before.is_some_and(|thread| thread.reclaims);
    match &event.kind {
        Kind::Died => None,
        // Not runnable before its first wake-up.
        Kind::Born { .. } => Some(Thread { state: State::Waiting(None), reclaims: false }),
        Kind::Running => Some(Thread { state: State::Running, reclaims }),
        Kind::Runnable => Some(Thread { state: State::Runnable, reclaims }),
        Kind::Waiting(wait) => Some(Thread { state: State::Waiting(waits.cause(event.tid, wait)), reclaims }),
        Kind::ReclaimBegan => before.map(|thread| Thread { reclaims: true, ..thread }),
        Kind::ReclaimEnded => before.map(|thread| Thread { reclaims: false, ..thread }),
        Kind::Exec { .. } | Kind::Network(_) | Kind::Submitted(_) | Kind::Completed { .. } => before,
    }
}

/// Adds time to the current window, as a wait for the network or not.
struct Walk<'a> {
    now: u64,
    bounds: &'a [u64],
    windows: Vec<Exclusive>,
    window: usize,
    network: Vec<Range<u64>>,
    span: usize,
}

impl Walk<'_> {
    /// Adds the time until `until` under one census.
    fn advance(&mut self, census: &Census, until: u64) {
        while self.now < until && self.window < self.windows.len() {
            let window_ends = self.bounds[self.window + 1];
            if window_ends <= self.now {
                self.window += 1;
                continue;
            }
            let to = until.min(window_ends);
            let (to, awaited) = match self.network.get(self.span) {
                Some(span) if span.end <= self.now => {
                    self.span += 1;
                    continue;
                }
                Some(span) if span.start <= self.now => (to.min(span.end), true),
                Some(span) => (to.min(span.start), false),
                None => (to, false),
            };
            census.account(to - self.now, awaited, &mut self.windows[self.window]);
            self.now = to;
        }
    }
}

/// State of each thread before its first event, as far as that event shows.
fn states_before(events: &[Event]) -> HashMap<u32, State> {
    let mut states = HashMap::new();
    for event in events {
        states.entry(event.tid).or_insert_with(|| match event.kind {
            Kind::Born { .. } | Kind::Runnable => None,
            // It leaves a run queue without having been seen running: it was runnable.
            Kind::Running => Some(State::Runnable),
            // Its request completes; its state is unknown.
            Kind::Completed { .. } => None,
            _ => Some(State::Running),
        });
    }
    states.into_iter().filter_map(|(tid, state)| state.map(|state| (tid, state))).collect()
}
