//! Closed loops of requests against a device in model time.

use std::collections::VecDeque;

use brisk_core::random::Random;

use crate::flash::{Completion, Device, Kind, PAGE_BYTES, Request, SubmitError};

/// Order of a load's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Sequential; wraps around at the end of the region.
    Sequential,
    /// Records at random places, each read or written sequentially in requests of at most 128 KiB.
    Scattered,
}

/// Closed-loop load of one process.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub kind: Kind,
    pub order: Order,
    /// Record size; split into requests of at most 128 KiB.
    pub record_bytes: u64,
    /// Requests in flight.
    pub outstanding: u64,
    /// First byte of its region.
    pub region_start: u64,
    pub region_bytes: u64,
    /// Bytes to move; the load continues after that until all others are done.
    pub total_bytes: u64,
}

/// Result of a load, until it had moved its total.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    /// Time until the total was moved.
    pub elapsed_ns: u64,
    /// Bytes moved until the end of the whole simulation.
    pub bytes_at_end: u64,
    /// Length of the whole simulation.
    pub simulation_ns: u64,
    records: u64,
}

impl Outcome {
    /// Mean response time of a record (dissertation, 4.2.3).
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        self.elapsed_ns as f64 / self.records as f64 / 1e6
    }

    /// Bandwidth while all loads were running, in bytes per second.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes_at_end as f64 * 1e9 / self.simulation_ns as f64
    }
}

const REQUEST_BYTES_MAX: u64 = 128 * 1024;

struct Running {
    load: Load,
    next: u64,
    record_left: u64,
    issued: u64,
    moved: u64,
    done_at: Option<u64>,
    random: Random,
}

impl Running {
    /// The next request; its tag names the load and the length in pages.
    fn next_request(&mut self, index: usize) -> Request {
        if self.record_left == 0 {
            self.record_left = self.load.record_bytes;
            let records = self.load.region_bytes / self.load.record_bytes;
            let record = match self.load.order {
                Order::Sequential => self.issued / self.load.record_bytes % records,
                Order::Scattered => self.random.below(records),
            };
            self.next = self.load.region_start + record * self.load.record_bytes;
        }
        let len_bytes = self.record_left.min(REQUEST_BYTES_MAX);
        let tag = (index as u64) << 32 | (len_bytes / PAGE_BYTES);
        let request = Request { tag, kind: self.load.kind, offset_bytes: self.next, len_bytes, fua: false };
        self.next += len_bytes;
        self.record_left -= len_bytes;
        self.issued += len_bytes;
        request
    }
}

/// Runs the loads concurrently until each has moved its total. Requests beyond the device's queue depth wait in order
/// of arrival, as in a block layer without a scheduler.
///
/// # Panics
/// When a load reaches beyond the device.
#[must_use]
pub fn simulate(device: &mut Device, loads: &[Load], seed: u64) -> Vec<Outcome> {
    let mut running: Vec<Running> = loads
        .iter()
        .enumerate()
        .map(|(i, load)| Running {
            load: *load,
            next: 0,
            record_left: 0,
            issued: 0,
            moved: 0,
            done_at: None,
            random: Random(seed.wrapping_mul(1_000_003).wrapping_add(i as u64)),
        })
        .collect();
    let mut done: Vec<Completion> = Vec::new();
    // Work left in the device by an earlier load ends first.
    while let Some(next) = device.next_event_ns() {
        device.advance(next, &mut done);
    }
    done.clear();
    let begin = device.now_ns();
    let mut now = begin;
    let mut waiting: VecDeque<Request> = VecDeque::new();
    for (index, r) in running.iter_mut().enumerate() {
        for _ in 0..r.load.outstanding {
            waiting.push_back(r.next_request(index));
        }
    }
    while running.iter().any(|r| r.done_at.is_none()) {
        while let Some(request) = waiting.front() {
            match device.submit(now, *request) {
                Ok(()) => waiting.pop_front(),
                Err(SubmitError::Full) => break,
                Err(error) => panic!("{request:?}: {error}"),
            };
        }
        let Some(next) = device.next_event_ns() else { break };
        now = next;
        device.advance(now, &mut done);
        for completion in done.drain(..) {
            let index = usize::try_from(completion.tag >> 32).unwrap_or(0);
            let r = &mut running[index];
            r.moved += (completion.tag & 0xFFFF_FFFF) * PAGE_BYTES;
            if r.moved >= r.load.total_bytes && r.done_at.is_none() {
                r.done_at = Some(completion.at_ns);
            }
            waiting.push_back(r.next_request(index));
        }
    }
    running
        .iter()
        .map(|r| Outcome {
            elapsed_ns: r.done_at.unwrap_or(now) - begin,
            bytes_at_end: r.moved,
            simulation_ns: now - begin,
            records: r.load.total_bytes / r.load.record_bytes,
        })
        .collect()
}
