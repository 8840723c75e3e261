//! Cause of a thread's wait, from the earlier requests of the thread and its tree.

use std::collections::HashMap;

use crate::probes::{Event, Kind, Operation, Wait};
use crate::results::Cause;

use super::system_call::{Family, family};

/// Requests in flight, by submitting thread.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    in_flight: HashMap<(u32, u64), (u32, Operation)>,
    by_thread: HashMap<(u32, Class), u32>,
    by_class: HashMap<Class, u32>,
}

/// Kind of a request for a thread that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    Read,
    SwapIn,
    Write,
}

fn class(operation: Operation) -> Class {
    match operation {
        Operation::Read => Class::Read,
        Operation::SwapIn => Class::SwapIn,
        Operation::Write | Operation::SwapOut | Operation::Flush | Operation::Discard => Class::Write,
    }
}

impl Waits {
    /// Tracks the requests in flight.
    pub(crate) fn note(&mut self, event: &Event) {
        match &event.kind {
            Kind::Submitted(request) => {
                let key = (request.device, request.sector);
                if let Some(earlier) = self.in_flight.insert(key, (event.tid, request.operation)) {
                    self.count(earlier, -1);
                }
                self.count((event.tid, request.operation), 1);
            }
            Kind::Completed { device, sector } => {
                if let Some(done) = self.in_flight.remove(&(*device, *sector)) {
                    self.count(done, -1);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, (tid, operation): (u32, Operation), step: i32) {
        let class = class(operation);
        let own = self.by_thread.entry((tid, class)).or_default();
        *own = own.saturating_add_signed(step);
        if *own == 0 {
            self.by_thread.remove(&(tid, class));
        }
        let all = self.by_class.entry(class).or_default();
        *all = all.saturating_add_signed(step);
    }

    /// The cause of a wait of `tid`; `None` for a sleep without relation to storage.
    ///
    /// In a call that makes data durable every uninterruptible sleep is a wait for storage, including the journal. In
    /// one that changes files it is a write, unless a read of the thread itself is in flight. Elsewhere a sleep that
    /// the scheduler counts as I/O belongs to the thread's own request, else to a request of the tree, else to a read
    /// (read-ahead by another thread, or a page that another process reads). Other uninterruptible sleeps are locks.
    pub(crate) fn cause(&self, tid: u32, wait: &Wait) -> Option<Cause> {
        let own = |class| self.by_thread.contains_key(&(tid, class));
        let tree = |class| self.by_class.get(&class).is_some_and(|count| *count > 0);
        let family = wait.system_call.map_or(Family::Other, family);
        match family {
            _ if !wait.io && !wait.uninterruptible => None,
            Family::Sync => Some(Cause::StorageWrite),
            _ if wait.io && own(Class::SwapIn) => Some(Cause::SwapIn),
            _ if wait.io && own(Class::Read) => Some(Cause::StorageRead),
            Family::Change => Some(Cause::StorageWrite),
            Family::Other if !wait.io => None,
            Family::Other if own(Class::Write) => Some(Cause::StorageWrite),
            Family::Other if tree(Class::Read) => Some(Cause::StorageRead),
            Family::Other if tree(Class::SwapIn) => Some(Cause::SwapIn),
            Family::Other if tree(Class::Write) => Some(Cause::StorageWrite),
            Family::Other => Some(Cause::StorageRead),
        }
    }
}
