//! Open-loop load: requests are issued when they are due, whether or not earlier ones are complete.
//!
//! Users and apps do not wait for a queue to empty; a closed-loop load would hide an overloaded device. Arrivals follow
//! from the seed alone, or from a recording, so that every setting gets the same requests at the same times. One
//! thread, one io_uring; between arrivals it sleeps in the kernel.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brisk_bench::address::{Addresses, Region};
use brisk_bench::buffer::Buffers;
use brisk_bench::cpu::process_cpu_ns;
use brisk_bench::latency::Times;
use brisk_core::random::Random;
use io_uring::{IoUring, opcode, types};

use crate::error::{Error, Result};
use crate::workload::{Action, Arrival, Stream};

/// Most requests in flight; due requests beyond wait, and their latency counts.
const IN_FLIGHT_MAX: usize = 128;
/// Time limit for requests in flight at the end; a slower device hangs.
const DRAIN_S_MAX: u64 = 30;
/// Share of unissued due requests above which a workload counts as saturating the device.
const LEFT_SHARE_MAX: f64 = 0.02;

/// Result of a load.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// Latency of reads, from their due times.
    pub reads: Times,
    pub writes: Times,
    pub flushes: Times,
    /// Due requests that were not issued by the end.
    pub left: u64,
    /// From the start to the last completion.
    pub elapsed: Duration,
    /// CPU time of this process meanwhile, without the preparation of buffers.
    pub cpu_ns: u64,
}

impl Served {
    /// Completed requests, without flushes.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    /// Whether the device was saturated.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.left as f64 > LEFT_SHARE_MAX * (self.requests() + self.left) as f64
    }
}

enum Source {
    Drawn(Box<Drawn>),
    Recorded(Recorded),
}

/// A stream on its way.
struct Drawn {
    stream: Stream,
    addresses: Addresses,
    random: Random,
    index: u64,
    due_ns: u64,
}

struct Recorded {
    arrivals: Vec<Arrival>,
    region: Region,
    index: usize,
}

struct Request {
    action: Action,
    offset_bytes: u64,
    block_bytes: u64,
    /// Among those of its source.
    number: u64,
}

impl Drawn {
    /// Draws when the next is due: gaps between arrivals of a Poisson process.
    fn advance(&mut self) {
        let gap_s = -(1.0 - self.random.unit()).ln() / self.stream.requests_per_s;
        self.due_ns += (gap_s * 1e9) as u64;
        self.index += 1;
    }
}

impl Recorded {
    fn next(&self) -> Option<&Arrival> {
        self.arrivals.get(self.index)
    }

    /// Where a request goes, wrapped into the region.
    fn offset_bytes(&self, arrival: &Arrival) -> u64 {
        let span_pages = (self.region.len_bytes - arrival.size_bytes.min(self.region.len_bytes)) / 4096;
        self.region.start_bytes + arrival.offset_bytes / 4096 % (span_pages + 1) * 4096
    }
}

impl Source {
    /// When the next is due; never, when there is none.
    fn due_ns(&self) -> u64 {
        match self {
            Self::Drawn(drawn) => drawn.due_ns,
            Self::Recorded(recorded) => recorded.next().map_or(u64::MAX, |next| next.at_us * 1_000),
        }
    }

    /// The next; nothing when a recording is over.
    fn request(&self) -> Option<Request> {
        match self {
            Self::Drawn(drawn) => Some(Request {
                action: drawn.stream.action,
                offset_bytes: drawn.addresses.at(drawn.index),
                block_bytes: drawn.stream.block_bytes,
                number: drawn.index,
            }),
            Self::Recorded(recorded) => recorded.next().map(|next| Request {
                action: next.action,
                offset_bytes: recorded.offset_bytes(next),
                block_bytes: next.size_bytes,
                number: recorded.index as u64,
            }),
        }
    }

    fn advance(&mut self) {
        match self {
            Self::Drawn(drawn) => drawn.advance(),
            Self::Recorded(recorded) => recorded.index += 1,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct InFlight {
    action: Action,
    due_ns: u64,
    offset_bytes: u64,
    len_bytes: u64,
}

/// The loop, with buffers that are kept between loads, as filling them with noise takes longer than many loads.
#[derive(Debug, Default)]
pub struct OpenLoop {
    buffers: Option<Buffers>,
}

impl OpenLoop {
    /// Issues `streams` for `time` on `region` of `file`, and completes the requests in flight.
    ///
    /// # Errors
    /// When io_uring does not work, a request fails, or the stop flag is raised.
    pub fn run(
        &mut self,
        file: BorrowedFd<'_>,
        region: Region,
        streams: &[Stream],
        time: Duration,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Served> {
        let largest_bytes = streams.iter().map(|stream| stream.block_bytes).max().unwrap_or(0).max(4096);
        if region.len_bytes < largest_bytes * streams.len().max(1) as u64 {
            return Err(too_small("open"));
        }
        self.serve(file, sources(region, streams, seed), largest_bytes, time, seed, stop)
    }

    /// Replays the requests of a recording at their times, for `time`.
    ///
    /// # Errors
    /// As [`OpenLoop::run`].
    pub fn replay(
        &mut self,
        file: BorrowedFd<'_>,
        region: Region,
        arrivals: Vec<Arrival>,
        time: Duration,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Served> {
        let largest_bytes = arrivals.iter().map(|arrival| arrival.size_bytes).max().unwrap_or(0).max(4096);
        if region.len_bytes < largest_bytes {
            return Err(too_small("recording"));
        }
        let sources = vec![Source::Recorded(Recorded { arrivals, region, index: 0 })];
        self.serve(file, sources, largest_bytes, time, seed, stop)
    }

    fn serve(
        &mut self,
        file: BorrowedFd<'_>,
        sources: Vec<Source>,
        largest_bytes: u64,
        time: Duration,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Served> {
        let large_enough = |buffers: &Buffers| buffers.block_bytes() as u64 >= largest_bytes;
        let mut buffers = match self.buffers.take().filter(large_enough) {
            Some(buffers) => buffers,
            None => Buffers::new(IN_FLIGHT_MAX, largest_bytes as usize, Some(seed)).map_err(Error::NoUring)?,
        };
        match serve(file, sources, &mut buffers, time, seed, stop) {
            Err(Unserved { error, in_flight: true }) => {
                // The state of the requests in flight is unknown: their memory must stay.
                std::mem::forget(buffers);
                Err(error)
            }
            outcome => {
                self.buffers = Some(buffers);
                outcome.map_err(|unserved| unserved.error)
            }
        }
    }
}

fn too_small(name: &str) -> Error {
    Error::Workload { name: name.to_owned(), why: "the place is smaller than its requests".to_owned() }
}

/// Why a load ended early.
struct Unserved {
    error: Error,
    /// Whether the kernel may still use the buffers.
    in_flight: bool,
}

impl From<Error> for Unserved {
    fn from(error: Error) -> Self {
        Self { error, in_flight: false }
    }
}

/// Issues due requests and reaps completions.
fn serve(
    file: BorrowedFd<'_>,
    mut sources: Vec<Source>,
    buffers: &mut Buffers,
    time: Duration,
    seed: u64,
    stop: &AtomicBool,
) -> std::result::Result<Served, Unserved> {
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(IN_FLIGHT_MAX as u32)
        .or_else(|_| IoUring::new(IN_FLIGHT_MAX as u32))
        .map_err(Error::NoUring)?;
    if !ring.params().is_feature_ext_arg() {
        return Err(Error::NoUring(io::Error::from(io::ErrorKind::Unsupported)).into());
    }
    let descriptor = types::Fd(file.as_raw_fd());
    let mut slots: Vec<Option<InFlight>> = vec![None; IN_FLIGHT_MAX];
    let mut free: Vec<usize> = (0..IN_FLIGHT_MAX).collect();
    let mut served = Served::default();
    let mut failure = None;
    let end_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let (cpu_ns, begun) = (process_cpu_ns(), Instant::now());
    let ns = || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    loop {
        let now_ns = ns();
        let going = now_ns < end_ns && failure.is_none() && !stop.load(Ordering::Relaxed);
        while going && let Some(source) = sources.iter_mut().filter(|s| s.due_ns() <= now_ns).min_by_key(|s| s.due_ns())
        {
            let Some(request) = source.request() else { break };
            let Some(slot) = free.pop() else { break };
            let Request { action, offset_bytes, block_bytes, number } = request;
            let len = block_bytes as u32;
            let entry = match action {
                Action::Read => opcode::Read::new(descriptor, buffers.of(slot), len).offset(offset_bytes).build(),
                Action::Write => {
                    let buffer = buffers.stamped_part(slot, block_bytes as usize, offset_bytes, number ^ seed);
                    opcode::Write::new(descriptor, buffer, len).offset(offset_bytes).build()
                }
                Action::Flush => opcode::Fsync::new(descriptor).flags(types::FsyncFlags::DATASYNC).build(),
            };
            slots[slot] = Some(InFlight { action, due_ns: source.due_ns(), offset_bytes, len_bytes: block_bytes });
            // SAFETY: the slot's buffer holds the largest request, belongs to this one until its completion is reaped,
            // and lives until all are (or is leaked by the caller, who holds the file).
            if unsafe { ring.submission().push(&entry.user_data(slot as u64)) }.is_err() {
                unreachable!("the submission queue holds all slots");
            }
            source.advance();
        }
        let in_flight = IN_FLIGHT_MAX - free.len();
        if !going && in_flight == 0 {
            break;
        }
        let next_ns = if going && !free.is_empty() {
            sources.iter().map(Source::due_ns).min().unwrap_or(end_ns).min(end_ns)
        } else {
            end_ns.max(now_ns) + Duration::from_secs(DRAIN_S_MAX).as_nanos() as u64
        };
        let pause = types::Timespec::from(Duration::from_nanos(next_ns.saturating_sub(ns())));
        let waited = ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&pause));
        let timed_out = match waited {
            Ok(_) => false,
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME)) => true,
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => false,
            Err(error) => return Err(Unserved { error: Error::NoUring(error), in_flight: true }),
        };
        let now_ns = ns();
        let mut reaped = 0;
        for completion in ring.completion() {
            let slot = completion.user_data() as usize;
            let Some(request) = slots.get_mut(slot).and_then(Option::take) else { continue };
            free.push(slot);
            reaped += 1;
            if i64::from(completion.result()) == request.len_bytes as i64 {
                let times = match request.action {
                    Action::Read => &mut served.reads,
                    Action::Write => &mut served.writes,
                    Action::Flush => &mut served.flushes,
                };
                times.add_ns(now_ns.saturating_sub(request.due_ns));
            } else {
                failure.get_or_insert(failed(&request, completion.result()));
            }
        }
        if timed_out && reaped == 0 && !going {
            let error = Error::NoUring(io::Error::from(io::ErrorKind::TimedOut));
            return Err(Unserved { error, in_flight: true });
        }
    }
    served.elapsed = begun.elapsed();
    served.cpu_ns = process_cpu_ns().saturating_sub(cpu_ns);
    served.left = sources.iter_mut().map(|source| left(source, end_ns)).sum();
    match failure {
        Some(error) => Err(error.into()),
        None if stop.load(Ordering::Relaxed) => Err(Error::Stopped.into()),
        None => Ok(served),
    }
}

/// Requests that were due before the end and never issued.
fn left(source: &mut Source, end_ns: u64) -> u64 {
    let mut left = 0;
    while source.due_ns() < end_ns
        && let Some(request) = source.request()
    {
        // A stream of flushes has no end, and flushes are counted apart.
        if request.action == Action::Flush && matches!(source, Source::Drawn(_)) {
            break;
        }
        left += u64::from(request.action != Action::Flush);
        source.advance();
    }
    left
}

/// Each stream has its own part of the region, so that sequential ones stay sequential.
fn sources(region: Region, streams: &[Stream], seed: u64) -> Vec<Source> {
    let share_bytes = region.len_bytes / streams.len().max(1) as u64 / 4096 * 4096;
    (0..)
        .zip(streams)
        .map(|(number, stream)| {
            let part = Region { start_bytes: region.start_bytes + number * share_bytes, len_bytes: share_bytes };
            let mut random = Random::stream(seed, number);
            let mut source = Drawn {
                stream: *stream,
                addresses: Addresses::new(stream.pattern, part, stream.block_bytes.max(4096), random.bits()),
                random,
                index: 0,
                due_ns: 0,
            };
            source.advance();
            source.index = 0;
            Source::Drawn(Box::new(source))
        })
        .collect()
}

fn failed(request: &InFlight, result: i32) -> Error {
    let operation = match request.action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Flush => "flush",
    };
    let InFlight { offset_bytes, len_bytes, .. } = *request;
    match u64::try_from(result) {
        Ok(moved_bytes) => brisk_bench::Error::Short { operation, offset_bytes, len_bytes, moved_bytes },
        Err(_) => {
            let source = io::Error::from_raw_os_error(-result);
            brisk_bench::Error::Request { operation, offset_bytes, len_bytes, source }
        }
    }
    .into()
}

#[cfg(test)]
mod tests;
