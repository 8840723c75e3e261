//! The io_uring engine: one ring, one thread, a fixed file and fixed buffers.
//!
//! All available completions are reaped together. Their slots are refilled and submitted in small batches, so that the
//! device gets its first request while the next ones are prepared (on a loop device over memory, submitting a whole
//! depth of 32 at once cost 10 % of the requests a second). At depth 1, one system call submits and waits. The kernel's
//! modes of completion delivery are tried from the leanest to the default; registered buffers are optional.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::{IoUring, Submitter, opcode, squeue, types};

use super::{CpuMeter, Outcome};
use crate::buffer::Buffers;
use crate::error::{Error, Result};
use crate::latency::Clock;
use crate::load::{Load, Request, Requests};
use crate::results::Direction;

/// Requests that one system call submits.
const BATCH_REQUESTS: usize = 4;

/// Checks whether io_uring works; the error is the reason why not.
pub(super) fn probe() -> std::result::Result<(), String> {
    let ring = ring(1).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring".to_owned(),
        Some(libc::EPERM) => "io_uring is switched off (sysctl kernel.io_uring_disabled) or not permitted".to_owned(),
        _ => format!("io_uring cannot be set up: {error}"),
    })?;
    let mut known = io_uring::Probe::new();
    let reads_and_writes = ring.submitter().register_probe(&mut known).is_ok()
        && known.is_supported(opcode::Read::CODE)
        && known.is_supported(opcode::Write::CODE);
    if reads_and_writes { Ok(()) } else { Err("the io_uring of this kernel is too old".to_owned()) }
}

/// A ring with the leanest completion delivery that the kernel supports.
fn ring(depth: u32) -> io::Result<IoUring> {
    let deferred = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth);
    let refused = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
    match deferred {
        Err(error) if refused(&error) => match IoUring::builder().setup_coop_taskrun().build(depth) {
            Err(error) if refused(&error) => IoUring::new(depth),
            built => built,
        },
        built => built,
    }
}

/// One request in flight.
#[derive(Clone, Copy)]
struct Slot {
    submitted_ns: u64,
    offset_bytes: u64,
    direction: Direction,
}

pub(super) fn run(file: BorrowedFd<'_>, load: &Load, stop: &AtomicBool) -> Result<Outcome> {
    let depth = load.depth_requests as usize;
    let block_bytes = load.block_bytes as usize;
    let mut buffers = Buffers::new(depth, block_bytes, load.has_writes().then_some(load.seed))
        .map_err(|e| Error::Resource("allocate buffers", e))?;
    let mut ring = ring(load.depth_requests).map_err(|e| Error::Resource("set up io_uring", e))?;
    ring.submitter().register_files(&[file.as_raw_fd()]).map_err(|e| Error::Resource("register the file", e))?;
    let memory = buffers.memory();
    let whole = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.bytes().len() };
    // SAFETY: the memory outlives the ring's use of it: all requests complete below before either is dropped.
    // Without registration (older kernels count it against RLIMIT_MEMLOCK) the kernel maps each buffer on use.
    let fixed_buffers = unsafe { ring.submitter().register_buffers(&[whole]) }.is_ok();

    let requests = Requests::new(load);
    let limit = load.end.requests.unwrap_or(u64::MAX);
    let mut slots = vec![Slot { submitted_ns: 0, offset_bytes: 0, direction: Direction::Read }; depth];
    let mut refilled: Vec<usize> = (0..depth.min(usize::try_from(limit).unwrap_or(usize::MAX))).collect();
    let mut completed: Vec<(usize, i32)> = Vec::with_capacity(depth);
    let mut outcome = Outcome { block_bytes: load.block_bytes, ..Outcome::default() };
    let mut failure = None;
    let (submitter, mut submission, mut completion) = ring.split();

    let cpu = CpuMeter::start();
    let clock = Clock::start();
    let deadline_ns = load.end.time.map_or(u64::MAX, |t| t.as_nanos() as u64);
    let (mut issued, mut in_flight, mut now_ns) = (0u64, 0usize, 0u64);
    loop {
        let mut batches = refilled.chunks(BATCH_REQUESTS).peekable();
        while let Some(batch) = batches.next() {
            // Update the consumer index from the kernel.
            submission.sync();
            for &slot in batch {
                let request = requests.at(issued);
                slots[slot].offset_bytes = request.offset_bytes;
                slots[slot].direction = request.direction;
                let buffer = match request.direction {
                    Direction::Read => buffers.of(slot),
                    Direction::Write => buffers.stamped(slot, request.offset_bytes, issued ^ load.seed),
                };
                issued += 1;
                let entry = entry(request, fixed_buffers, buffer, load.block_bytes as u32);
                // SAFETY: the slot's buffer is of `block_bytes`, belongs to this request alone until its completion is
                // reaped, and lives until all requests complete; the caller holds the file open.
                if unsafe { submission.push(&entry.user_data(slot as u64)) }.is_err() {
                    // The ring has `depth` entries, and at most `depth` requests are in flight.
                    unreachable!("the submission queue holds a full depth");
                }
                in_flight += 1;
            }
            submission.sync();
            let submitted_ns = clock.ns();
            batch.iter().for_each(|slot| slots[*slot].submitted_ns = submitted_ns);
            if batches.peek().is_some()
                && let Err(error) = enter(&submitter, 0)
            {
                // The state of the requests in flight is unknown: their memory must stay.
                std::mem::forget(buffers);
                return Err(error);
            }
        }
        refilled.clear();
        if in_flight == 0 {
            break;
        }
        if let Err(error) = enter(&submitter, 1) {
            std::mem::forget(buffers);
            return Err(error);
        }
        completion.sync();
        now_ns = clock.ns();
        completed.extend(completion.by_ref().map(|entry| (entry.user_data() as usize, entry.result())));
        let going = failure.is_none() && now_ns < deadline_ns && !stop.load(Ordering::Relaxed);
        for (slot, result) in completed.drain(..) {
            in_flight -= 1;
            let Slot { submitted_ns, offset_bytes, direction } = slots[slot];
            if result as i64 == load.block_bytes as i64 {
                let times = if direction == Direction::Read { &mut outcome.reads } else { &mut outcome.writes };
                times.add_ns(now_ns - submitted_ns);
            } else {
                failure.get_or_insert(super::calls::failed(direction, offset_bytes, load.block_bytes, result));
            }
            if going && failure.is_none() && issued + (refilled.len() as u64) < limit {
                refilled.push(slot);
            }
        }
    }
    outcome.wall_ns = now_ns;
    outcome.cpu_ns = cpu.ns();
    // The kernel frees a ring asynchronously; the file must not stay open until then.
    let _ = submitter.unregister_files();
    match failure {
        Some(error) => Err(error),
        None => Ok(outcome),
    }
}

/// Submits the queued entries and waits for `completions` completions, or for a signal.
#[inline]
fn enter(submitter: &Submitter<'_>, completions: usize) -> Result<()> {
    match submitter.submit_and_wait(completions) {
        Ok(_) => Ok(()),
        // EINTR: the caller checks the stop flag. EAGAIN, EBUSY: refused entries stay in the queue.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => Ok(()),
        Err(error) => Err(Error::Resource("submit to io_uring", error)),
    }
}

#[inline]
fn entry(request: Request, fixed: bool, buffer: *mut u8, len: u32) -> squeue::Entry {
    let (file, offset) = (types::Fixed(0), request.offset_bytes);
    let flags = if request.durable { libc::RWF_DSYNC } else { 0 };
    match (request.direction, fixed) {
        (Direction::Read, true) => opcode::ReadFixed::new(file, buffer, len, 0).offset(offset).build(),
        (Direction::Read, false) => opcode::Read::new(file, buffer, len).offset(offset).build(),
        (Direction::Write, true) => {
            opcode::WriteFixed::new(file, buffer, len, 0).offset(offset).rw_flags(flags).build()
        }
        (Direction::Write, false) => opcode::Write::new(file, buffer, len).offset(offset).rw_flags(flags).build(),
    }
}
