//! The device between the kernel's requests and the model: who waits for what, and when each reply is due.
//!
//! A request changes the store when it arrives, goes to the model, and is replied to at the instant that the model
//! names. Requests that find the model's queue full are *parked* here in their order. No system call is made here except
//! for memory, and time is an argument, so that tests run in virtual time.
//!
//! Two clocks: the *wall* clock of the caller, and the *model's*, which runs at the same pace but is ahead by as much as
//! was skipped while timing was off. The lab's own *overhead* (the way through block layer, loop, FUSE and back, measured
//! at start) is taken off by dating each arrival back by it, though never before the model's last event, which cannot be
//! undone: a device at work loses part of the compensation, and only there, where queueing hides it.
//!
//! Properties: `every_request_is_replied_to_once`; `parked_requests_keep_their_order`;
//! `what_was_flushed_survives_a_power_cut`; `time_off_replies_at_once_and_the_model_knows`.

use std::collections::{HashMap, VecDeque};

use brisk_flash::{Completion, Device, Fault, Kind, Preset, Request, Status, SubmitError};
use brisk_lab_client::Requests;

use crate::store::{PAGE_BYTES, Store};
use crate::undo::{Moment, Undo, WriteId};

/// Whose time rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    /// The model's.
    Model,
    /// Nobody's: replies at once, and the model's clock jumps to the end of each request.
    Off,
    /// Each request takes this long and the model hears of none: for the calibration of the lab itself.
    Fixed { service_ns: u64 },
}

/// What a reply carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Content of the store.
    Data { offset_bytes: u64, len_bytes: u64 },
    /// So many bytes taken.
    Written { len_bytes: u64 },
    /// Done, nothing to say.
    Done,
    /// A positive errno.
    Failed(i32),
}

/// A reply whose time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The request.
    pub(crate) unique: u64,
    /// What to say.
    pub(crate) outcome: Outcome,
    /// The instant of the model on the wall clock; absent when nobody set one.
    pub(crate) due_ns: Option<u64>,
    /// How long the model took.
    pub(crate) service_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    unique: u64,
    kind: Kind,
    offset_bytes: u64,
    len_bytes: u64,
    write: Option<WriteId>,
    /// When a flush arrived, in the order of acknowledgements.
    moment: Moment,
    /// The dated-back arrival on the model's clock.
    stamp_ns: u64,
}

/// A fault in force.
#[derive(Debug, Clone, Copy)]
struct ActiveFault {
    fault: Fault,
    /// When it goes away, on the wall clock.
    until_ns: Option<u64>,
}

/// The device.
#[derive(Debug)]
pub(crate) struct Emulated {
    pub(crate) store: Store,
    model: Device,
    undo: Undo,
    timing: Timing,
    powered: bool,
    overhead_ns: u64,
    /// Model clock less wall clock.
    ahead_ns: u64,
    /// The model cannot hear of anything before this.
    last_event_ns: u64,
    /// When the requests that are in the model now began to be, on the model's clock.
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

    /// Requests that wait for a reply.
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
    pub(crate) fn reconfigure(&mut self, now_ns: u64, preset: &Preset) -> Result<(), brisk_flash::DeviceError> {
        self.catch_up(now_ns);
        self.model.reconfigure(preset)
    }

    /// Changes whose time rules. What is in flight is finished first, at once.
    pub(crate) fn set_timing(&mut self, now_ns: u64, timing: Timing) {
        self.catch_up(now_ns);
        self.run_out();
        for (_, pending) in std::mem::take(&mut self.fixed) {
            self.reply(pending, Status::Ok, None);
        }
        self.timing = timing;
    }

    /// A read arrives.
    pub(crate) fn read(&mut self, now_ns: u64, unique: u64, offset_bytes: u64, len_bytes: u64) {
        let size = self.store.size_bytes();
        let len_bytes = len_bytes.min(size.saturating_sub(offset_bytes));
        self.requests.read.count(len_bytes);
        self.arrive(now_ns, unique, Kind::Read, offset_bytes.min(size), len_bytes, None);
    }

    /// A write arrives.
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

    /// A flush arrives.
    pub(crate) fn flush(&mut self, now_ns: u64, unique: u64) {
        self.requests.flush.count(0);
        self.requests.flush.by_size_bytes.clear();
        self.arrive(now_ns, unique, Kind::Flush, 0, 0, None);
    }

    /// A discard arrives.
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

    /// Moves on to `now_ns` and appends every reply that is due.
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

    /// When [`Self::poll`] has something to do next, on the wall clock. A device with nothing in flight has not: what it
    /// does in the background is made up for when somebody asks.
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

    /// Puts a fault in force, for a time or until [`Self::clear_faults`].
    pub(crate) fn inject(&mut self, fault: Fault, until_ns: Option<u64>) -> Result<(), SubmitError> {
        self.model.inject(fault)?;
        self.faults.push(ActiveFault { fault, until_ns });
        Ok(())
    }

    /// Takes all faults back; requests that hang come to their end.
    pub(crate) fn clear_faults(&mut self, now_ns: u64) {
        self.catch_up(now_ns);
        self.faults.clear();
        self.model.clear_faults();
        self.settle(now_ns);
    }

    /// Cuts the power. Gives how many pages lost what was written to them: of the model's volatile buffer those that the
    /// model names, of the writes on the way a seeded choice. All requests fail until [`Self::power_on`].
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

    /// Gives the power back.
    pub(crate) fn power_on(&mut self) {
        self.powered = true;
    }

    /// Lets the model work until the wall clock's `now_ns`, event by event, so that its clock stands at its last event
    /// and not at now: an arrival may be dated back to there.
    pub(crate) fn catch_up(&mut self, now_ns: u64) {
        let until_ns = self.model_ns(now_ns);
        while let Some(event_ns) = self.model.next_event_ns().filter(|&at_ns| at_ns <= until_ns) {
            self.step(event_ns);
        }
    }

    /// Collects what came to its end without an event.
    fn settle(&mut self, now_ns: u64) {
        self.step(self.model_ns(now_ns));
        self.catch_up(now_ns);
    }

    fn model_ns(&self, wall_ns: u64) -> u64 {
        wall_ns + self.ahead_ns
    }

    /// Lets the model work until its next event, and hands it parked requests for the places that came free.
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
            if !self.hand_over(pending, event_ns) {
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
            if !self.parked.is_empty() || !self.hand_over(pending, pending.stamp_ns) {
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

    /// Gives a request to the model; false when its queue is full.
    fn hand_over(&mut self, pending: Pending, at_ns: u64) -> bool {
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

    /// Lets the model finish all that it can finish, however long that takes on its own clock.
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
            // Also when it failed: then its content may be there or not, and the writer knows that.
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

/// Spreads the bits of a number (the finaliser of splitmix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests;
