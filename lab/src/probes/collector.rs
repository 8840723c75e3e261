//! Converts records into the list of events, and tracks the current state of the group.
//!
//! Pure: records in, events and state out. Properties, each with a test of the same name:
//! - a process that comes into the group is born once, however often it moves within;
//! - a process that leaves the group takes its threads along;
//! - a thread that becomes its process by exec gives up its number;
//! - what must have happened unseen is put in, and counted;
//! - beyond the limit events are counted, and the state stays right.

use std::collections::{BTreeSet, HashMap};

use crate::probes::event::{Connection, Event, Inode, Kind};
use crate::probes::files::Names;
use crate::probes::record::Record;

/// Current state of the group's threads, according to the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// Time of this state, in ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Known live threads. A process that was in the group before the trace began becomes known by its first event.
    pub threads: usize,
    pub running: usize,
    pub runnable: usize,
    /// Threads that wait for the completion of a request at the block layer (`in_iowait`).
    pub waiting_for_io: usize,
    /// Requests submitted to the block layer in the last five seconds that are not complete. An older one has most
    /// likely completed unseen.
    pub in_flight_requests: usize,
    /// Last time at which a thread ran, in ns of CLOCK_MONOTONIC; `at_ns` while one runs, `None` when none ever ran.
    pub last_running_ns: Option<u64>,
    /// CPU time, summed over threads, in ns.
    pub running_ns_total: u64,
    /// Events since the start.
    pub events: u64,
    /// Events lost since the start: the buffer was full, or the list's limit was reached.
    pub lost: u64,
}

/// Time after which a request is assumed to have completed unseen.
const BELIEVED_NS: u64 = 5_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Born,
    Running { since_ns: u64 },
    Runnable,
    Waiting { io: bool },
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    /// Its process; `None` when its birth was not seen.
    pid: Option<u32>,
    state: State,
}

/// The list and the state.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    limit: usize,
    events: Vec<Event>,
    threads: HashMap<u32, Thread>,
    thread_names: HashMap<u32, Vec<u8>>,
    file_names: Names,
    files: BTreeSet<Inode>,
    /// By device and sector: submission time of each request.
    in_flight: HashMap<(u32, u64), Vec<u64>>,
    last_ran_ns: Option<u64>,
    ran_ns: u64,
    seen: u64,
    dropped: u64,
    mended: u64,
}

/// Result of a [`Collector`].
pub(crate) struct Collected {
    pub(crate) events: Vec<Event>,
    pub(crate) files: HashMap<Inode, Vec<u8>>,
    pub(crate) names: HashMap<u32, Vec<u8>>,
    pub(crate) dropped: u64,
    pub(crate) mended: u64,
}

impl Collector {
    /// A collector of at most `limit` events.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Adds a record from [`crate::probes::record::parse`].
    pub(crate) fn take(&mut self, record: Option<Record>) {
        match record {
            Some(Record::Event(event)) => self.event(event),
            Some(Record::Late(event)) => {
                self.mended += 1;
                self.push(event);
            }
            Some(Record::Born { at_ns, tid, pid, parent_tid, name }) => {
                self.thread_names.insert(tid, name);
                self.event(Event { at_ns, tid, kind: Kind::Born { pid, parent_tid } });
            }
            Some(Record::MovedIn { at_ns, tid, pid, parent_tid, name, running }) => {
                if self.threads.contains_key(&tid) {
                    return;
                }
                self.thread_names.insert(tid, name);
                self.push(Event { at_ns, tid, kind: Kind::Born { pid, parent_tid } });
                if running {
                    self.push(Event { at_ns, tid, kind: Kind::Running });
                }
            }
            Some(Record::MovedOut { at_ns, tid, pid, whole }) => {
                let went = |(&other, thread): (&u32, &Thread)| {
                    (other == tid || (whole && thread.pid == Some(pid))).then_some(other)
                };
                let mut tids: Vec<u32> = self.threads.iter().filter_map(went).collect();
                tids.sort_unstable();
                for tid in tids {
                    self.push(Event { at_ns, tid, kind: Kind::Died });
                }
            }
            Some(Record::Exec { at_ns, tid, old_tid, name }) => {
                if old_tid != tid {
                    self.push(Event { at_ns, tid: old_tid, kind: Kind::Died });
                    self.push(Event { at_ns, tid, kind: Kind::Born { pid: tid, parent_tid: old_tid } });
                    self.push(Event { at_ns, tid, kind: Kind::Running });
                }
                self.thread_names.insert(tid, name.clone());
                self.event(Event { at_ns, tid, kind: Kind::Exec { name } });
            }
            Some(Record::Renamed { tid, name }) => {
                self.thread_names.insert(tid, name);
            }
            Some(Record::FileName { inode, parent, name }) => self.file_names.learn(inode, parent, name),
            None => self.dropped += 1,
        }
    }

    /// Adds an event, after the unseen events that must have preceded it.
    ///
    /// The programs do not see all events: not when one of them interrupts itself, nor when the buffer is full, and
    /// some virtual machines block them while a thread of process 1 runs.
    fn event(&mut self, event: Event) {
        let state = self.threads.get(&event.tid).map(|thread| thread.state);
        let off = matches!(state, Some(State::Born | State::Waiting { .. }));
        let (runnable, running) = match &event.kind {
            Kind::Running => (off, false),
            kind if done_by_running(kind) => (off, off || state == Some(State::Runnable)),
            _ => (false, false),
        };
        for (missing, kind) in [(runnable, Kind::Runnable), (running, Kind::Running)] {
            if missing {
                self.mended += 1;
                self.push(Event { at_ns: event.at_ns, tid: event.tid, kind });
            }
        }
        self.push(event);
    }

    fn push(&mut self, event: Event) {
        self.seen += 1;
        match &event.kind {
            Kind::Born { pid, .. } => {
                self.threads.insert(event.tid, Thread { pid: Some(*pid), state: State::Born });
            }
            Kind::Running => self.enters(&event, State::Running { since_ns: event.at_ns }),
            Kind::Runnable => self.enters(&event, State::Runnable),
            Kind::Waiting(wait) => self.enters(&event, State::Waiting { io: wait.io }),
            Kind::Died => {
                self.enters(&event, State::Born);
                self.threads.remove(&event.tid);
            }
            Kind::Submitted(request) => {
                self.in_flight.entry((request.device, request.sector)).or_default().push(event.at_ns);
                self.files.extend(request.file.map(|(inode, _)| inode));
            }
            Kind::Completed { device, sector } => {
                if let Some(since) = self.in_flight.get_mut(&(*device, *sector)) {
                    since.remove(0);
                    if since.is_empty() {
                        self.in_flight.remove(&(*device, *sector));
                    }
                }
            }
            Kind::Exec { .. } | Kind::ReclaimBegan | Kind::ReclaimEnded | Kind::Network(_) => {}
        }
        if self.events.len() < self.limit {
            self.events.push(event);
        } else {
            self.dropped += 1;
        }
    }

    fn enters(&mut self, event: &Event, state: State) {
        let thread = self.threads.entry(event.tid).or_insert(Thread { pid: None, state: State::Born });
        if let State::Running { since_ns } = thread.state {
            self.ran_ns += event.at_ns.saturating_sub(since_ns);
            self.last_ran_ns = self.last_ran_ns.max(Some(event.at_ns));
        }
        thread.state = state;
    }

    /// The state at `at_ns`; `lost` events were lost before they arrived here.
    pub(crate) fn activity(&self, at_ns: u64, lost: u64) -> Activity {
        let believed = |since_ns: &&u64| at_ns.saturating_sub(**since_ns) <= BELIEVED_NS;
        let mut activity = Activity {
            at_ns,
            threads: self.threads.len(),
            in_flight_requests: self.in_flight.values().flatten().filter(believed).count(),
            last_running_ns: self.last_ran_ns,
            running_ns_total: self.ran_ns,
            events: self.seen,
            lost: lost + self.dropped,
            ..Activity::default()
        };
        for thread in self.threads.values() {
            match thread.state {
                State::Running { since_ns } => {
                    activity.running += 1;
                    activity.running_ns_total += at_ns.saturating_sub(since_ns);
                    activity.last_running_ns = Some(at_ns);
                }
                State::Runnable => activity.runnable += 1,
                State::Waiting { io: true } => activity.waiting_for_io += 1,
                State::Waiting { io: false } | State::Born => {}
            }
        }
        activity
    }

    /// All events so far, in order of time.
    pub(crate) fn in_order(&mut self) -> &[Event] {
        // Processors reserve space in the buffer in nearly the order of time.
        self.events.sort_by_key(|event| event.at_ns);
        &self.events
    }

    /// Everything, in order of time.
    pub(crate) fn finish(mut self) -> Collected {
        self.in_order();
        let path = |inode| self.file_names.path(inode).map(|path| (inode, path));
        Collected {
            files: self.files.iter().copied().filter_map(path).collect(),
            events: self.events,
            names: self.thread_names,
            dropped: self.dropped,
            mended: self.mended,
        }
    }
}

/// Whether only a running thread can cause this event.
fn done_by_running(kind: &Kind) -> bool {
    match kind {
        Kind::Born { .. } | Kind::Runnable | Kind::Running | Kind::Completed { .. } => false,
        Kind::Exec { .. } | Kind::Died | Kind::Waiting(_) | Kind::Submitted(_) => true,
        Kind::ReclaimBegan | Kind::ReclaimEnded => true,
        Kind::Network(connection) => !matches!(connection, Connection::Opened { .. }),
    }
}

#[cfg(test)]
mod tests;
