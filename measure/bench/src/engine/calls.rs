//! Engine of plain calls: pread and pwrite, one thread for each request in flight.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::io::ReadWriteFlags;

use super::{CpuMeter, Outcome};
use crate::buffer::Buffers;
use crate::error::{Error, Result};
use crate::latency::Clock;
use crate::load::{Load, Request, Requests};
use crate::results::Direction;

/// A thread needs a few frames, not the default of megabytes.
pub(crate) const STACK_BYTES: usize = 128 << 10;

/// Issues the requests of a load, one at a time.
pub(crate) struct Caller<'a> {
    file: BorrowedFd<'a>,
    requests: Requests,
    buffers: Buffers,
    block_bytes: u64,
    seed: u64,
}

impl<'a> Caller<'a> {
    /// Allocates its buffers.
    pub(crate) fn new(file: BorrowedFd<'a>, load: &Load) -> Result<Self> {
        let buffers = Buffers::new(1, load.block_bytes as usize, load.has_writes().then_some(load.seed))
            .map_err(|e| Error::Resource("allocate buffers", e))?;
        Ok(Self { file, requests: Requests::new(load), buffers, block_bytes: load.block_bytes, seed: load.seed })
    }

    /// Issues request number `index` and waits for its completion. Returns its direction and response time in
    /// nanoseconds.
    pub(crate) fn issue(&mut self, index: u64, clock: &Clock) -> Result<(Direction, u64)> {
        let Request { direction, offset_bytes, durable } = self.requests.at(index);
        let buffer = match direction {
            Direction::Read => self.buffers.of(0),
            Direction::Write => self.buffers.stamped(0, offset_bytes, index ^ self.seed),
        };
        // SAFETY: the buffer has `block_bytes` bytes, and `&mut self` makes the access exclusive.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer, self.block_bytes as usize) };
        let submitted_ns = clock.ns();
        let moved = loop {
            let moved = match direction {
                Direction::Read => rustix::io::pread(self.file, &mut *bytes, offset_bytes),
                Direction::Write if durable => {
                    rustix::io::pwritev2(self.file, &[IoSlice::new(bytes)], offset_bytes, ReadWriteFlags::DSYNC)
                }
                Direction::Write => rustix::io::pwrite(self.file, bytes, offset_bytes),
            };
            match moved {
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => break -errno.raw_os_error(),
                Ok(moved) => break moved as i32,
            }
        };
        let time_ns = clock.ns() - submitted_ns;
        if i64::from(moved) == self.block_bytes as i64 {
            Ok((direction, time_ns))
        } else {
            Err(failed(direction, offset_bytes, self.block_bytes, moved))
        }
    }
}

/// The error for a result other than the whole block: a negative error number, or too few bytes.
pub(super) fn failed(direction: Direction, offset_bytes: u64, len_bytes: u64, result: i32) -> Error {
    let operation = if direction == Direction::Read { "read" } else { "write" };
    match u64::try_from(result) {
        Ok(moved_bytes) => Error::Short { operation, offset_bytes, len_bytes, moved_bytes },
        Err(_) => Error::Request { operation, offset_bytes, len_bytes, source: io::Error::from_raw_os_error(-result) },
    }
}

/// Runs `work` on one thread for each of `workers`. The clock starts when all threads exist. Returns their results, and
/// the CPU time of this process meanwhile in nanoseconds. When a thread fails, `broken` is set, so that the others can
/// end, and the first error is returned; `doing` names the failed start of a thread.
pub(crate) fn run_together<W: Send, T: Send>(
    workers: Vec<W>,
    stack_bytes: usize,
    doing: &'static str,
    broken: &AtomicBool,
    work: impl Fn(W, Clock) -> Result<T> + Sync,
) -> Result<(Vec<T>, u64)> {
    // Threads wait for this lock, which is held until all of them exist.
    let gate = RwLock::new(Clock::start());
    thread::scope(|scope| {
        let mut closed = gate.write().expect("no other thread has the lock yet");
        let mut threads = Vec::with_capacity(workers.len());
        for worker in workers {
            let (gate, work) = (&gate, &work);
            let body = move || {
                let clock = *gate.read().expect("the thread that holds the lock does not panic meanwhile");
                work(worker, clock).inspect_err(|_| broken.store(true, Ordering::Relaxed))
            };
            match thread::Builder::new().stack_size(stack_bytes).spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    broken.store(true, Ordering::Relaxed);
                    return Err(Error::Resource(doing, error));
                }
            }
        }
        let cpu = CpuMeter::start();
        *closed = Clock::start();
        drop(closed);
        let joined: Vec<Result<T>> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        let cpu_ns = cpu.ns();
        Ok((joined.into_iter().collect::<Result<_>>()?, cpu_ns))
    })
}

pub(super) fn run(file: BorrowedFd<'_>, load: &Load, stop: &AtomicBool) -> Result<Outcome> {
    let callers = (0..load.depth_requests).map(|_| Caller::new(file, load)).collect::<Result<Vec<_>>>()?;
    let limit = load.end.requests.unwrap_or(u64::MAX);
    let deadline_ns = load.end.time.map_or(u64::MAX, |t| t.as_nanos() as u64);
    let next = AtomicU64::new(0);
    let broken = AtomicBool::new(false);
    let work = |mut caller: Caller<'_>, clock: Clock| {
        let mut own = Outcome::default();
        while !broken.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) && clock.ns() < deadline_ns {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= limit {
                break;
            }
            let (direction, time_ns) = caller.issue(index, &clock)?;
            let times = if direction == Direction::Read { &mut own.reads } else { &mut own.writes };
            times.add_ns(time_ns);
        }
        own.wall_ns = clock.ns();
        Ok(own)
    };
    let doing = "start a thread for each request in flight: use a smaller --depth";
    let (outcomes, cpu_ns) = run_together(callers, STACK_BYTES, doing, &broken, work)?;
    let mut all = Outcome { block_bytes: load.block_bytes, cpu_ns, ..Outcome::default() };
    for own in outcomes {
        all.reads.merge(&own.reads);
        all.writes.merge(&own.writes);
        all.wall_ns = all.wall_ns.max(own.wall_ns);
    }
    Ok(all)
}
