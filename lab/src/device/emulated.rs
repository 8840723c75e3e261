//! The emulated device: applies requests to the store, passes them to the model, and computes when each reply is due.
//!
//! A request changes the store when it arrives, goes to the model, and is replied to at the time that the model gives.
//! Requests that find the model's queue full are *parked* here in order. Time is an argument, and there are no system
//! calls except for memory, so that tests run in virtual time.
//!
//! Two clocks: the *wall* clock of the caller, and the *model* clock, which runs at the same pace but is ahead by the
//! time skipped while timing was off. The lab's own *overhead* (block layer, loop, FUSE and back, measured at start) is
//! compensated by back-dating each arrival, but never before the model's last event, which cannot be undone. A busy
//! device therefore loses part of the compensation, where queueing hides it.
//!
//! Properties: `every_request_is_replied_to_once`; `parked_requests_keep_their_order`;
//! `what_was_flushed_survives_a_power_cut`; `time_off_replies_at_once_and_the_model_knows`.

use std::collections::{HashMap, VecDeque};

use crate::flash::{Completion, Device, Fault, Kind, Preset, Request, Status, SubmitError};
use brisk_core::random::mix;
use brisk_profile::lab_client::Requests;

use crate::device::store::{PAGE_BYTES, Store};
use crate::device::undo::{Moment, Undo, WriteId};

/// Source of reply times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    Model,
    /// None: replies are immediate, and the model's clock jumps to the end of each request.
    Off,
    /// A fixed time for each request, which bypasses the model: for calibration.
    Fixed {
        service_ns: u64,
    },
}

/// Content of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Content of the store.
    Data {
        offset_bytes: u64,
        len_bytes: u64,
    },
    Written {
        len_bytes: u64,
    },
    /// Success without content.
    Done,
    /// A positive errno.
    Failed(i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) unique: u64,
    pub(crate) outcome: Outcome,
    /// Due time on the wall clock; absent for untimed replies.
    pub(crate) due_ns: Option<u64>,
    /// Service time in the model.
    pub(crate) service_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    unique: u64,
    kind: Kind,
    offset_bytes: u64,
    len_bytes: u64,
    write: Option<WriteId>,
    /// Arrival of a flush, in the order of acknowledgements.
    moment: Moment,
    /// Back-dated arrival on the model's clock.
    stamp_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct ActiveFault {
    fault: Fault,
    /// Its end, on the wall clock.
    until_ns: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Emulated {
    pub(crate) store: Store,
    model: Device,
    undo: Undo,
    timing: Timing,
    powered: bool,
    overhead_ns: u64,
    /// Model clock minus wall clock.
    ahead_ns: u64,
    /// Earliest time of the model's next input.
    last_event_ns: u64,
    /// Begin of the current busy period, on the model's clock.
    busy_since_ns: u64,
    in_model: HashMap<u64, Pending>,
    parked: VecDeque<Pending>,
    fixed: VecDeque<(u64, Pending)>,
    flushes_outstanding: usize,
    faults: Vec<ActiveFault>,
    finished: Vec<Completion>,
    due: Vec<Reply>,
    pub(crate) requests: Requests,
}

impl Emulated {
    pub(crate) fn new(store: Store, model: Device) -> Self {
        Self {
            store,
            model,
            undo: Undo::default(),
            timing: Timing::Off,
            powered: true,
            overhead_ns: 0,
            ahead_ns: 0,
            last_event_ns: 0,
            busy_since_ns: 0,
            in_model: HashMap::new(),
            parked: VecDeque::new(),
            fixed: VecDeque::new(),
            flushes_outstanding: 0,
            faults: Vec::new(),
            finished: Vec::new(),
            due: Vec::new(),
            requests: Requests::default(),
        }
    }

    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }

    pub(crate) fn is_powered(&self) -> bool {
        self.powered
    }

    pub(crate) fn model(&self) -> &Device {
        &self.model
    }

    /// Pages whose earlier content is kept for a power cut.
    pub(crate) fn undo_pages(&self) -> usize {
        self.undo.pages()
    }

    /// Requests without a reply yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_model.len() + self.parked.len() + self.fixed.len() + self.due.len()
    }

    pub(crate) fn set_overhead_ns(&mut self, overhead_ns: u64) {
        self.overhead_ns = overhead_ns;
    }

    pub(crate) fn reset_model_counters(&mut self) {
        self.model.reset_counters();
    }

    /// Gives the model new parameters.
    pub(crate) fn reconfigure(&mut self, now_ns: u64, preset: &Preset) -> Result<(), crate::flash::DeviceError> {
        self.catch_up(now_ns);
        self.model.reconfigure(preset)
    }

    /// Changes the timing. Requests in flight are completed first, at once.
    pub(crate) fn set_timing(&mut self, now_ns: u64, timing: Timing) {
        self.catch_up(now_ns);
        self.run_out();
        for (_, pending) in std::mem::take(&mut self.fixed) {
            self.reply(pending, Status::Ok, None);
        }
        self.timing = timing;
    }

    pub(crate) fn read(&mut self, now_ns: u64, unique: u64, offset_bytes: u64, len_bytes: u64) {
        let size = self.store.size_bytes();
        let len_bytes = len_bytes.min(size.saturating_sub(offset_bytes));
        self.requests.read.count(len_bytes);
        self.arrive(now_ns, unique, Kind::Read, offset_bytes.min(size), len_bytes, None);
    }

    pub(crate) fn write(&mut self, now_ns: u64, unique: u64, offset_bytes: u64, data: &[u8]) {
        let len_bytes = data.len() as u64;
        self.requests.write.count(len_bytes);
        if !self.store.holds(offset_bytes, len_bytes) {
            return self.refuse(unique, libc::ENOSPC);
        }
        if !self.powered {
            return self.refuse(unique, libc::EIO);
        }
        self.catch_up(now_ns.saturating_sub(self.overhead_ns));
        let model = &self.model;
        let write = self.undo.before_write(&self.store, offset_bytes, len_bytes, |page| model.is_volatile(page));
        self.store.write(offset_bytes, data);
        self.arrive(now_ns, unique, Kind::Write, offset_bytes, len_bytes, Some(write));
    }

    pub(crate) fn flush(&mut self, now_ns: u64, unique: u64) {
        self.requests.flush.count(0);
        self.requests.flush.by_size_bytes.clear();
        self.arrive(now_ns, unique, Kind::Flush, 0, 0, None);
    }

    pub(crate) fn discard(&mut self, now_ns: u64, unique: u64, offset_bytes: u64, len_bytes: u64) {
        self.requests.discard.count(len_bytes);
        if !self.store.holds(offset_bytes, len_bytes) {
            return self.refuse(unique, libc::ENOSPC);
        }
        if !self.powered {
            return self.refuse(unique, libc::EIO);
        }
        self.undo.discarded(offset_bytes, len_bytes);
        self.store.discard(offset_bytes, len_bytes);
        self.arrive(now_ns, unique, Kind::Discard, offset_bytes, len_bytes, None);
    }

    /// Advances to `now_ns` and appends every due reply.
    pub(crate) fn poll(&mut self, now_ns: u64, replies: &mut Vec<Reply>) {
        if !self.in_model.is_empty() {
            self.catch_up(now_ns);
        }
        while let Some(&(due_ns, pending)) = self.fixed.front().filter(|(due_ns, _)| *due_ns <= now_ns) {
            self.fixed.pop_front();
            self.reply(pending, Status::Ok, Some(due_ns));
        }
        self.expire_faults(now_ns);
        replies.append(&mut self.due);
    }

    /// Time of the next call of [`Self::poll`], on the wall clock; `None` for an idle device, whose background work is
    /// simulated at the next request.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        if !self.due.is_empty() {
            return Some(0);
        }
        let model = if self.in_model.is_empty() { None } else { self.model.next_event_ns() };
        let model = model.map(|at_ns| at_ns.saturating_sub(self.ahead_ns));
        let fixed = self.fixed.front().map(|(due_ns, _)| *due_ns);
        let fault = self.faults.iter().filter_map(|f| f.until_ns).min();
        [model, fixed, fault].into_iter().flatten().min()
    }

    /// Injects a fault, for a time or until [`Self::clear_faults`].
    pub(crate) fn inject(&mut self, fault: Fault, until_ns: Option<u64>) -> Result<(), SubmitError> {
        self.model.inject(fault)?;
        self.faults.push(ActiveFault { fault, until_ns });
        Ok(())
    }

    /// Removes all faults; hanging requests complete.
    pub(crate) fn clear_faults(&mut self, now_ns: u64) {
        self.catch_up(now_ns);
        self.faults.clear();
        self.model.clear_faults();
        self.settle(now_ns);
    }

    /// Cuts the power. Returns how many pages lost data: those of the model's volatile buffer, and a seeded choice of
    /// the writes in flight. All requests fail until [`Self::power_on`].
    pub(crate) fn power_cut(&mut self, now_ns: u64, seed: u64) -> u64 {
        self.catch_up(now_ns);
        let lost = self.model.power_cut(self.model_ns(now_ns), seed);
        let torn = |page: u64| mix(seed ^ mix(page)) & 1 == 1;
        let is_lost = |page: u64, on_the_way: bool| lost.binary_search(&page).is_ok() || on_the_way && torn(page);
        let pages = self.undo.cut(&mut self.store, is_lost);
        self.powered = false;
        self.flushes_outstanding = 0;
        let waiting: Vec<u64> = self.in_model.keys().copied().collect();
        self.in_model.clear();
        let queued = self.parked.drain(..).chain(self.fixed.drain(..).map(|(_, p)| p)).map(|p| p.unique);
        let all: Vec<u64> = waiting.into_iter().chain(queued).collect();
        all.into_iter().for_each(|unique| self.refuse(unique, libc::EIO));
        pages
    }

    pub(crate) fn power_on(&mut self) {
        self.powered = true;
    }

    /// Advances the model to the wall clock's `now_ns`, event by event, so that its clock is at its last event and not
    /// at now: an arrival may be back-dated to that time.
    pub(crate) fn catch_up(&mut self, now_ns: u64) {
        let until_ns = self.model_ns(now_ns);
        while let Some(event_ns) = self.model.next_event_ns().filter(|&at_ns| at_ns <= until_ns) {
            self.step(event_ns);
        }
    }

    /// Collects requests that complete without an event.
    fn settle(&mut self, now_ns: u64) {
        self.step(self.model_ns(now_ns));
        self.catch_up(now_ns);
    }

    fn model_ns(&self, wall_ns: u64) -> u64 {
        wall_ns + self.ahead_ns
    }

    /// Advances the model to its next event, and submits parked requests as slots become free.
    fn step(&mut self, event_ns: u64) {
        let mut finished = std::mem::take(&mut self.finished);
        self.model.advance(event_ns, &mut finished);
        self.last_event_ns = self.last_event_ns.max(event_ns);
        for completion in finished.drain(..) {
            let Some(pending) = self.in_model.remove(&completion.tag) else { continue };
            if self.in_model.is_empty() && self.parked.is_empty() {
                self.requests.busy_ns += completion.at_ns.saturating_sub(self.busy_since_ns);
            }
            let due_ns = completion.at_ns.saturating_sub(self.ahead_ns);
            if completion.at_ns.saturating_sub(pending.stamp_ns) < self.overhead_ns {
                self.requests.faster_than_lab += 1;
            }
            self.reply(pending, completion.status, Some(due_ns).filter(|_| self.timing == Timing::Model));
        }
        self.finished = finished;
        while let Some(pending) = self.parked.pop_front() {
            if !self.submit(pending, event_ns) {
                self.parked.push_front(pending);
                break;
            }
        }
    }

    fn arrive(
        &mut self,
        now_ns: u64,
        unique: u64,
        kind: Kind,
        offset_bytes: u64,
        len_bytes: u64,
        write: Option<WriteId>,
    ) {
        let moment = self.undo.moment();
        let mut pending = Pending { unique, kind, offset_bytes, len_bytes, write, moment, stamp_ns: 0 };
        if !self.powered {
            return self.refuse(unique, libc::EIO);
        }
        self.flushes_outstanding += usize::from(kind == Kind::Flush);
        if let Timing::Fixed { service_ns } = self.timing {
            pending.stamp_ns = self.model_ns(now_ns);
            self.fixed.push_back((now_ns + service_ns, pending));
        } else if len_bytes == 0 && kind != Kind::Flush {
            self.reply(pending, Status::Ok, None);
        } else {
            let dated_back_ns = now_ns.saturating_sub(self.overhead_ns);
            self.catch_up(dated_back_ns);
            pending.stamp_ns = self.model_ns(dated_back_ns).max(self.last_event_ns);
            if self.in_model.is_empty() && self.parked.is_empty() {
                self.busy_since_ns = pending.stamp_ns;
            }
            if !self.parked.is_empty() || !self.submit(pending, pending.stamp_ns) {
                self.requests.parked += 1;
                self.parked.push_back(pending);
            }
            if self.timing == Timing::Off {
                self.run_out();
                self.ahead_ns = self.ahead_ns.max(self.last_event_ns.saturating_sub(now_ns));
            }
        }
        self.requests.in_flight_max = self.requests.in_flight_max.max(self.in_flight() as u64);
    }

    /// Submits a request to the model; false when its queue is full.
    fn submit(&mut self, pending: Pending, at_ns: u64) -> bool {
        let first = pending.offset_bytes / PAGE_BYTES * PAGE_BYTES;
        let end = (pending.offset_bytes + pending.len_bytes).next_multiple_of(PAGE_BYTES);
        let request = Request {
            tag: pending.unique,
            kind: pending.kind,
            offset_bytes: first,
            len_bytes: end - first,
            fua: false,
        };
        match self.model.submit(at_ns, request) {
            Ok(()) => {
                self.in_model.insert(pending.unique, pending);
                true
            }
            Err(SubmitError::Full) => false,
            Err(SubmitError::OutOfRange | SubmitError::Misaligned) => {
                self.refuse(pending.unique, libc::EIO);
                true
            }
        }
    }

    /// Lets the model complete all requests that can complete, on its own clock.
    fn run_out(&mut self) {
        while !self.in_model.is_empty() {
            let Some(event_ns) = self.model.next_event_ns() else { break };
            self.step(event_ns);
        }
    }

    fn reply(&mut self, pending: Pending, status: Status, due_ns: Option<u64>) {
        let Pending { unique, offset_bytes, len_bytes, .. } = pending;
        if pending.kind == Kind::Flush {
            self.flushes_outstanding = self.flushes_outstanding.saturating_sub(1);
        }
        if let Some(write) = pending.write {
            // Also after a failure: its content is then undefined, which the writer expects.
            self.undo.acknowledged(write, offset_bytes, len_bytes, self.flushes_outstanding > 0);
        }
        let outcome = match (status, pending.kind) {
            (Status::ReadError, _) => Outcome::Failed(libc::EIO),
            (Status::TimedOut, _) => Outcome::Failed(libc::ETIMEDOUT),
            (Status::Ok, Kind::Read) => Outcome::Data { offset_bytes, len_bytes },
            (Status::Ok, Kind::Write) => Outcome::Written { len_bytes },
            (Status::Ok, Kind::Flush) => {
                self.undo.flushed(pending.moment);
                Outcome::Done
            }
            (Status::Ok, Kind::Discard) => Outcome::Done,
        };
        self.requests.failed += u64::from(matches!(outcome, Outcome::Failed(_)));
        let service_ns = due_ns.map_or(0, |due_ns| self.model_ns(due_ns).saturating_sub(pending.stamp_ns));
        self.due.push(Reply { unique, outcome, due_ns, service_ns });
    }

    fn refuse(&mut self, unique: u64, errno: i32) {
        self.requests.failed += 1;
        self.due.push(Reply { unique, outcome: Outcome::Failed(errno), due_ns: None, service_ns: 0 });
    }

    fn expire_faults(&mut self, now_ns: u64) {
        let before = self.faults.len();
        self.faults.retain(|f| f.until_ns.is_none_or(|until_ns| until_ns > now_ns));
        if self.faults.len() < before {
            self.model.clear_faults();
            for active in &self.faults {
                self.model.inject(active.fault).expect("it was accepted before, and there are fewer now");
            }
            self.settle(now_ns);
        }
    }
}

#[cfg(test)]
mod tests;
