//! A replay on a block device: the requests of the model's queue, in real time.
//!
//! As many threads as the device takes requests make one request each, with O_DIRECT. The clock begins with the first
//! request; latency and bandwidth are those that a thread sees, system call and wake-ups included. Unlike in the model,
//! the device may have a scheduler in front of it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::flash::{Completion, Kind, Request, Status};
use crate::swap::Target;
use brisk_core::random::Random;
use rustix::fs::OFlags;

use crate::swap_io::error::{Error, Result};

/// The largest request of a replay's queue (`REQUEST_PAGES_MAX` there).
const REQUEST_BYTES_MAX: usize = 512 << 10;
/// Alignment for direct I/O.
const ALIGN_BYTES: usize = 4096;
/// How often a stop is looked for while nothing finishes.
const POLL: Duration = Duration::from_millis(50);
/// BLKDISCARD (include/uapi/linux/fs.h): discards the range of two numbers of 64 bits.
const BLKDISCARD: libc::c_ulong = 0x1277;
const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;

/// A block device whose content is overwritten.
#[derive(Debug)]
pub struct BlockDevice<'a> {
    path: PathBuf,
    file: Arc<File>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    finished: Receiver<Finished>,
    begun: Instant,
    depth_requests: usize,
    in_flight: usize,
    failure: Option<Failure>,
    stop: &'a AtomicBool,
}

#[derive(Debug)]
struct Finished {
    completion: Completion,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Failure {
    request: Request,
    source: io::Error,
}

#[derive(Debug, Default)]
struct Work {
    requests: VecDeque<Request>,
    ends: bool,
}

#[derive(Debug, Default)]
struct Shared {
    work: Mutex<Work>,
    more: Condvar,
}

impl Shared {
    /// A thread that panicked left the list as it was.
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> BlockDevice<'a> {
    /// Opens a device for itself alone, and discards what a replay of `area_bytes` may overwrite, where the device can.
    /// At most `depth_requests` are under way at a time. A replay ends early when `stop` is set.
    ///
    /// # Errors
    /// When it is in use, smaller than `area_bytes`, or cannot be opened for direct I/O.
    pub fn open(path: &Path, area_bytes: u64, depth_requests: usize, stop: &'a AtomicBool) -> Result<Self> {
        let failed = |source| Error::Device { path: path.to_owned(), source };
        let flags = OFlags::DIRECT | OFlags::EXCL;
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path).map_err(failed)?;
        let size_bytes = size_of(&file).map_err(failed)?;
        if size_bytes < area_bytes {
            return Err(Error::TooSmall { path: path.to_owned(), size_bytes, area_bytes });
        }
        // A device without discards keeps what it holds.
        let _ = discard(&file, 0, area_bytes);
        let (file, shared) = (Arc::new(file), Arc::new(Shared::default()));
        let (sender, finished) = mpsc::channel();
        let begun = Instant::now();
        let mut device = Self {
            path: path.to_owned(),
            file,
            shared,
            threads: Vec::new(),
            finished,
            begun,
            depth_requests: depth_requests.max(1),
            in_flight: 0,
            failure: None,
            stop,
        };
        for _ in 0..device.depth_requests {
            let (file, shared, sender) = (Arc::clone(&device.file), Arc::clone(&device.shared), sender.clone());
            let thread = std::thread::Builder::new().name("brisk-swap-io".to_owned());
            let thread = thread.spawn(move || serve(&file, &shared, &sender, begun));
            device.threads.push(thread.map_err(Error::Thread)?);
        }
        Ok(device)
    }

    /// Ends the replay.
    ///
    /// # Errors
    /// When a request failed.
    pub fn finish(mut self) -> Result<()> {
        match self.failure.take() {
            None => Ok(()),
            Some(Failure { request, source }) => Err(Error::Request {
                path: self.path.clone(),
                what: match request.kind {
                    Kind::Read => "read",
                    Kind::Write => "write",
                    Kind::Flush => "flush",
                    Kind::Discard => "discard",
                },
                offset_bytes: request.offset_bytes,
                source,
            }),
        }
    }

    fn now_ns(&self) -> u64 {
        since(self.begun)
    }

    fn take(&mut self, finished: Finished, done: &mut Vec<Completion>) {
        self.in_flight -= 1;
        self.failure = self.failure.take().or(finished.failure);
        done.push(finished.completion);
    }
}

impl Target for BlockDevice<'_> {
    fn submit(&mut self, _: u64, request: Request) -> bool {
        if self.in_flight >= self.depth_requests || self.is_over() {
            return false;
        }
        self.in_flight += 1;
        self.shared.work().requests.push_back(request);
        self.shared.more.notify_one();
        true
    }

    fn wait(&mut self, now_ns: u64, until_ns: Option<u64>, done: &mut Vec<Completion>) -> u64 {
        loop {
            let now = self.now_ns().max(now_ns);
            let rest = until_ns.map(|until_ns| Duration::from_nanos(until_ns.saturating_sub(now)));
            if self.is_over() || (rest.is_none() && self.in_flight == 0) {
                return now;
            }
            match self.finished.recv_timeout(rest.unwrap_or(POLL).min(POLL)) {
                Ok(finished) => {
                    self.take(finished, done);
                    while let Ok(finished) = self.finished.try_recv() {
                        self.take(finished, done);
                    }
                    return self.now_ns().max(now_ns);
                }
                Err(RecvTimeoutError::Timeout) if rest.is_some_and(|rest| rest <= POLL) => {
                    return self.now_ns().max(until_ns.unwrap_or(0));
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The threads end with this value alone.
                Err(RecvTimeoutError::Disconnected) => return now,
            }
        }
    }

    fn is_over(&self) -> bool {
        self.failure.is_some() || self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for BlockDevice<'_> {
    fn drop(&mut self) {
        {
            let mut work = self.shared.work();
            work.ends = true;
            work.requests.clear();
        }
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // A panic was printed.
            let _ = thread.join();
        }
    }
}

/// One request after the other, until the end.
fn serve(file: &File, shared: &Shared, finished: &Sender<Finished>, begun: Instant) {
    let mut memory = noise(REQUEST_BYTES_MAX + ALIGN_BYTES);
    let skip = memory.as_ptr().align_offset(ALIGN_BYTES);
    let buffer = &mut memory[skip..skip + REQUEST_BYTES_MAX];
    loop {
        let request = {
            let mut work = shared.work();
            loop {
                if work.ends {
                    return;
                }
                match work.requests.pop_front() {
                    Some(request) => break request,
                    None => work = shared.more.wait(work).unwrap_or_else(PoisonError::into_inner),
                }
            }
        };
        let len = usize::try_from(request.len_bytes).unwrap_or(usize::MAX).min(REQUEST_BYTES_MAX);
        let result = match request.kind {
            Kind::Read => file.read_exact_at(&mut buffer[..len], request.offset_bytes),
            Kind::Write => file.write_all_at(&buffer[..len], request.offset_bytes),
            Kind::Flush => file.sync_data(),
            Kind::Discard => match discard(file, request.offset_bytes, request.len_bytes) {
                // It is a hint.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
                done => done,
            },
        };
        let status = if result.is_ok() { Status::Ok } else { Status::ReadError };
        let completion = Completion { tag: request.tag, at_ns: since(begun), status };
        let failure = result.err().map(|source| Failure { request, source });
        if finished.send(Finished { completion, failure }).is_err() {
            return;
        }
    }
}

/// Bytes that cannot be compressed.
fn noise(bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    Random(1).fill(&mut noise);
    noise
}

fn since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn size_of(file: &File) -> io::Result<u64> {
    let mut bytes = 0_u64;
    // SAFETY: the call writes one number of 64 bits to a valid place.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) };
    if done == 0 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

fn discard(file: &File, offset_bytes: u64, len_bytes: u64) -> io::Result<()> {
    let range = [offset_bytes, len_bytes];
    // SAFETY: the call reads two numbers of 64 bits from a valid place.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, &raw const range) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
