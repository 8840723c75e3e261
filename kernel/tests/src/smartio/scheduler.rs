//! The scheduler outside of the kernel: requests are inserted, dispatched and completed by the caller.
//!
//! The caller acts as block layer, device and clock. Like the block layer, it must poll for requests after an arrival,
//! when the timer fires, and after a completion that asks for it.

use std::ptr::NonNull;

use super::NEVER;

/// Most requests of one scheduler; their numbers are below this.
pub const REQUESTS: u32 = 256;
const NONE: u32 = u32::MAX;

/// Tunables: see `README.rst`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Tunables {
    /// Longest time that a request waits for others.
    pub slice_ns: u64,
    /// Longest time that writes are held for the next read.
    pub hold_max_ns: u64,
    /// Requests of one queue in the device when others wait.
    pub quantum: u32,
    /// Least share of the device's time for background writes that wait.
    pub write_share_percent: u32,
}

impl Default for Tunables {
    fn default() -> Self {
        Self { slice_ns: 100_000_000, hold_max_ns: 1_000_000, quantum: 8, write_share_percent: 77 }
    }
}

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Op {
    Read = 0,
    Write = 1,
    Discard = 3,
}

/// Priority class of a request (ioprio_set(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Class {
    /// Not set: level 4 of best effort.
    None = 0,
    RealTime = 1,
    BestEffort = 2,
    Idle = 3,
}

#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub op: Op,
    pub sector: u64,
    pub bytes: u32,
    /// Sending thread.
    pub pid: u32,
    /// Class and level (0 to 7) of its priority.
    pub priority: (Class, u16),
    /// Whether a write is synchronous.
    pub awaited: bool,
    /// Whether it is inserted at the head: requeued by the driver, or the write after a flush.
    pub at_head: bool,
}

#[repr(C)]
struct RawRequest {
    sector: u64,
    bytes: u32,
    op: u32,
    pid: u32,
    ioprio: u16,
    awaited: bool,
    at_head: bool,
}

#[repr(C)]
struct Host {
    opaque: [u8; 0],
}

unsafe extern "C" {
    fn host_new(tunables: &Tunables, depth: u32) -> Option<NonNull<Host>>;
    fn host_free(host: NonNull<Host>);
    fn host_insert(host: NonNull<Host>, now: u64, id: u32, request: &RawRequest);
    fn host_dispatch(host: NonNull<Host>, now: u64) -> u32;
    fn host_complete(host: NonNull<Host>, now: u64, id: u32) -> bool;
    fn host_requeue(host: NonNull<Host>, now: u64, id: u32) -> bool;
    fn host_merge(host: NonNull<Host>, now: u64, id: u32, next: u32, bytes: u32, awaited: bool) -> bool;
    fn host_timer_ns(host: NonNull<Host>) -> u64;
    fn host_fire(host: NonNull<Host>, now: u64);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Waits,
    InFlight,
}

#[derive(Debug)]
pub struct Scheduler {
    host: NonNull<Host>,
    places: Vec<Place>,
}

impl Scheduler {
    /// A new scheduler, for a device with `depth` tags.
    #[must_use]
    pub fn new(tunables: &Tunables, depth: u32) -> Self {
        // SAFETY: the call takes only values.
        let host = unsafe { host_new(tunables, depth) }.expect("memory for a scheduler");
        Self { host, places: vec![Place::Nowhere; REQUESTS as usize] }
    }

    fn moves(&mut self, id: u32, from: Place, to: Place) {
        let place = &mut self.places[id as usize];
        assert_eq!(*place, from, "request {id} is elsewhere");
        *place = to;
    }

    /// Inserts a request with an unused number.
    pub fn insert(&mut self, now_ns: u64, id: u32, request: &Request) {
        self.moves(id, Place::Nowhere, Place::Waits);
        let raw = RawRequest {
            sector: request.sector,
            bytes: request.bytes,
            op: request.op as u32,
            pid: request.pid,
            ioprio: (request.priority.0 as u16) << 13 | (request.priority.1 & 7),
            awaited: request.awaited,
            at_head: request.at_head,
        };
        // SAFETY: the number is below REQUESTS and unused, as `moves` has checked, so the request is in no list.
        unsafe { host_insert(self.host, now_ns, id, &raw) }
    }

    /// Dispatches the next request, if any.
    pub fn dispatch(&mut self, now_ns: u64) -> Option<u32> {
        // SAFETY: the scheduler is alive.
        let id = unsafe { host_dispatch(self.host, now_ns) };
        if id == NONE {
            return None;
        }
        self.moves(id, Place::Waits, Place::InFlight);
        Some(id)
    }

    /// Completes a request. Returns whether the block layer polls for more.
    #[must_use]
    pub fn complete(&mut self, now_ns: u64, id: u32) -> bool {
        self.moves(id, Place::InFlight, Place::Nowhere);
        // SAFETY: the request was dispatched.
        unsafe { host_complete(self.host, now_ns, id) }
    }

    /// Requeues a request, which must then be inserted at the head. Returns whether the block layer polls for more.
    #[must_use]
    pub fn requeue(&mut self, now_ns: u64, id: u32) -> bool {
        self.moves(id, Place::InFlight, Place::Nowhere);
        // SAFETY: the request was dispatched.
        unsafe { host_requeue(self.host, now_ns, id) }
    }

    /// Merges a bio into a waiting write, at its end. Returns whether the scheduler asks the block layer to poll, which
    /// it does not do by itself.
    #[must_use]
    pub fn merge(&mut self, now_ns: u64, id: u32, bytes: u32, awaited: bool) -> bool {
        assert_eq!(self.places[id as usize], Place::Waits, "request {id} is elsewhere");
        // SAFETY: the request waits, so the scheduler has it.
        unsafe { host_merge(self.host, now_ns, id, NONE, bytes, awaited) }
    }

    /// The same when it closes the gap to the waiting request `next`, which is merged too.
    #[must_use]
    pub fn join(&mut self, now_ns: u64, id: u32, next: u32, bytes: u32, awaited: bool) -> bool {
        assert!([id, next].iter().all(|id| self.places[*id as usize] == Place::Waits), "one of them is elsewhere");
        self.places[next as usize] = Place::Nowhere;
        // SAFETY: both wait, so the scheduler has them.
        unsafe { host_merge(self.host, now_ns, id, next, bytes, awaited) }
    }

    /// Time of its timer, if armed.
    #[must_use]
    pub fn timer_ns(&self) -> Option<u64> {
        // SAFETY: the scheduler is alive.
        Some(unsafe { host_timer_ns(self.host) }).filter(|at| *at != NEVER)
    }

    pub fn fire(&mut self, now_ns: u64) {
        // SAFETY: the scheduler is alive.
        unsafe { host_fire(self.host, now_ns) }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // SAFETY: it was created by host_new, and no reference to it is left.
        unsafe { host_free(self.host) }
    }
}
