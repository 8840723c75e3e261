//! One trial: foreground readers concurrent with background writers.
//!
//! A reader is rate-limited: it issues its next read a fixed interval after the last one, or at once when that one took
//! longer. Reads then take the same small share of the device under every setting that serves them in time, and a
//! setting that serves them faster is not charged with slower writes. Writers are not limited:
//!
//! - *install*: buffered sequential writes of 512 KiB, made durable every 2 MiB, as in package installation;
//! - *sync*: four random pages of 4 KiB, each synchronous (RWF_DSYNC), thirty times a second, as in databases;
//! - *direct*: random blocks with direct I/O, one at a time.
//!
//! Write throughput is taken from the device's counters, because a buffered write returns long before it is written.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use brisk_core::random::mix;
use brisk_sense::Sense;
use rustix::io::ReadWriteFlags;

use crate::address::{Addresses, Region};
use crate::buffer::Buffers;
use crate::control::Control;
use crate::engine::Caller;
use crate::error::{Error, Result};
use crate::foreign::{Flow, Own};
use crate::latency::{Clock, Times};
use crate::load::Load;
use crate::results::{Direction, Pattern};
use crate::study::Testbed;

/// One buffered write of an install.
const INSTALL_WRITE_BYTES: u64 = 512 << 10;
/// Bytes that an install writes between two calls of fdatasync.
const INSTALL_SYNC_BYTES: u64 = 2 << 20;
/// Page of a database, pages written together, and the interval between them.
const PAGE_BYTES: u64 = 4096;
const PAGES_PER_SYNC: u64 = 4;
const SYNC_INTERVAL: Duration = Duration::from_millis(33);
/// Time that writers run before the first measured read, to fill queues and buffers.
const HEAD_START: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    None,
    InstallAndSync,
    Direct(u32),
}

impl Writers {
    /// The load as a phase.
    fn name(self) -> &'static str {
        match self {
            Self::None => "reads alone",
            Self::InstallAndSync => "reads with an install and a database",
            Self::Direct(_) => "reads with direct writers",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) readers: u32,
    /// Interval between the reads of a reader.
    pub(super) interval: Duration,
    /// Whether readers have the I/O priority best effort 0.
    pub(super) prioritised: bool,
    pub(super) writers: Writers,
    pub(super) length: Duration,
    pub(super) block_bytes: u64,
    pub(super) seed: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) reads: Times,
    /// Small writes: direct ones, and synchronous pages.
    pub(super) writes: Times,
    /// From the device's counters.
    pub(super) write_bytes_per_s: f64,
}

/// Quarter `number` of the work file: readers and each kind of writer have their own.
fn quarter(size_bytes: u64, number: u64) -> Region {
    Region::nth(number, size_bytes / 4 / INSTALL_SYNC_BYTES * INSTALL_SYNC_BYTES)
}

/// The smallest work file for all quarters.
pub(super) const SIZE_MIN_BYTES: u64 = 4 * INSTALL_SYNC_BYTES;

/// Runs a trial, then settles.
pub(super) fn run(sense: &Sense, bed: &Testbed, disk: &str, trial: &Trial, control: &Control<'_>) -> Result<Outcome> {
    control.check()?;
    let size_bytes = bed.work.size_bytes;
    let over = AtomicBool::new(false);
    let clock = Clock::start();
    let buffered = buffered(bed)?;
    let measured = thread::scope(|scope| {
        let (over, stop) = (&over, control.stop);
        let ends = SetOnDrop(over);
        let go_on = move || !over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed);
        let mut writers = Vec::new();
        match trial.writers {
            Writers::None => {}
            Writers::InstallAndSync => {
                let region = quarter(size_bytes, 1);
                let (file, seed) = (buffered.as_fd(), mix(trial.seed));
                writers.push(scope.spawn(move || install(file, region, seed, go_on)));
                let (file, region) = (bed.work.fd(), quarter(size_bytes, 2));
                writers.push(scope.spawn(move || sync(file, region, seed, &clock, go_on)));
            }
            Writers::Direct(count) => {
                for number in 0..count {
                    let load = load(trial, Direction::Write, quarter(size_bytes, 3), number);
                    let caller = Caller::new(bed.work.fd(), &load);
                    writers.push(scope.spawn(move || direct(caller?, &clock, go_on)));
                }
            }
        }
        let began = Instant::now() + HEAD_START;
        let end = began + trial.length;
        let mut readers = Vec::new();
        for number in 0..trial.readers {
            let load = load(trial, Direction::Read, quarter(size_bytes, 0), number);
            let caller = Caller::new(bed.work.fd(), &load);
            // Readers are staggered over an interval, so that their reads are not always simultaneous.
            let first = began + trial.interval * number / trial.readers.max(1);
            readers.push(scope.spawn(move || read(caller?, trial, &clock, (first, end), go_on)));
        }
        until(began);
        let begun = bed.foreign.begin();
        let (before, counted_at) = (written_bytes(sense, disk), Instant::now());
        let reads = join(readers);
        if let Ok(reads) = &reads {
            // Of buffered writes, only the device knows when they are written.
            let writes = (trial.writers == Writers::None).then(Flow::default);
            let own = Own { reads: Flow::of(reads.count(), trial.block_bytes), writes, block_bytes: trial.block_bytes };
            bed.foreign.end(begun, trial.writers.name(), own);
        }
        let rate = before.and_then(|before| {
            let bytes = written_bytes(sense, disk)?.saturating_sub(before);
            Ok(bytes as f64 / counted_at.elapsed().as_secs_f64())
        });
        drop(ends);
        let writes = join(writers);
        Ok::<_, Error>((reads?, writes?, rate?))
    });
    let (reads, writes, write_bytes_per_s) = measured?;
    bed.settle()?;
    control.check()?;
    Ok(Outcome { reads, writes, write_bytes_per_s })
}

/// Sets its flag when dropped: after a panic, writers would otherwise run forever.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Merged times of all threads, or the first error.
fn join(threads: Vec<thread::ScopedJoinHandle<'_, Result<Times>>>) -> Result<Times> {
    let mut all = Ok(Times::default());
    for thread in threads {
        let one = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (&mut all, one) {
            (Ok(all), Ok(times)) => all.merge(&times),
            (Ok(_), Err(error)) => all = Err(error),
            (Err(_), _) => {}
        }
    }
    all
}

/// Sleeps until `moment`.
fn until(moment: Instant) {
    let left = moment.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        thread::sleep(left);
    }
}

fn written_bytes(sense: &Sense, disk: &str) -> Result<u64> {
    let stats = sense.disk_stats_of(disk)?;
    stats.map(|stats| stats.write.bytes).ok_or_else(|| Error::Missing(format!("/dev/{disk}").into()))
}

/// The work file, opened without O_DIRECT.
fn buffered(bed: &Testbed) -> Result<File> {
    let path = format!("/proc/self/fd/{}", bed.work.fd().as_raw_fd());
    OpenOptions::new().read(true).write(true).open(&path).map_err(|error| Error::system("open", path, error))
}

fn load(trial: &Trial, direction: Direction, region: Region, number: u32) -> Load {
    let seed = mix(trial.seed ^ (u64::from(number) << 32) ^ u64::from(direction == Direction::Write));
    Load { seed, ..Load::plain(Pattern::Random, direction, trial.block_bytes, region) }
}

fn read(
    mut caller: Caller<'_>,
    trial: &Trial,
    clock: &Clock,
    (first, end): (Instant, Instant),
    go_on: impl Fn() -> bool,
) -> Result<Times> {
    if trial.prioritised {
        prioritise().map_err(|error| Error::Resource("give readers the I/O priority best effort 0", error))?;
    }
    let mut times = Times::default();
    let mut due = first;
    let mut number = 0;
    while due < end && go_on() {
        until(due);
        let (_, time_ns) = caller.issue(number, clock)?;
        times.add_ns(time_ns);
        number += 1;
        due = (due + trial.interval).max(Instant::now());
    }
    Ok(times)
}

/// Gives the calling thread the I/O priority best effort 0, as apps in front get it. The thread ends with its trial, so
/// nothing is restored.
fn prioritise() -> io::Result<()> {
    /// `IOPRIO_WHO_PROCESS`, and the class with level 0 (linux/ioprio.h).
    const WHO_THREAD: i32 = 1;
    const BEST_EFFORT_0: i32 = 2 << 13;
    // SAFETY: the call takes three numbers and no pointer; thread 0 is the caller.
    let outcome = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_THREAD, 0, BEST_EFFORT_0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn direct(mut caller: Caller<'_>, clock: &Clock, go_on: impl Fn() -> bool) -> Result<Times> {
    let mut times = Times::default();
    let mut number = 0;
    while go_on() {
        let (_, time_ns) = caller.issue(number, clock)?;
        times.add_ns(time_ns);
        number += 1;
    }
    Ok(times)
}

/// The buffer with a new stamp.
fn stamped(buffers: &mut Buffers, len_bytes: u64, offset_bytes: u64, number: u64) -> &[u8] {
    let start = buffers.stamped(0, offset_bytes, number);
    // SAFETY: the buffer has `len_bytes` bytes, and the borrow makes the access exclusive.
    unsafe { std::slice::from_raw_parts(start, len_bytes as usize) }
}

fn buffers(len_bytes: u64, seed: u64) -> Result<Buffers> {
    Buffers::new(1, len_bytes as usize, Some(seed)).map_err(|error| Error::Resource("allocate buffers", error))
}

fn install(file: BorrowedFd<'_>, region: Region, seed: u64, go_on: impl Fn() -> bool) -> Result<Times> {
    let mut buffers = buffers(INSTALL_WRITE_BYTES, seed)?;
    let places = region.len_bytes / INSTALL_WRITE_BYTES;
    let per_sync = INSTALL_SYNC_BYTES / INSTALL_WRITE_BYTES;
    let mut number = 0;
    while go_on() {
        let offset_bytes = region.start_bytes + number % places * INSTALL_WRITE_BYTES;
        let bytes = stamped(&mut buffers, INSTALL_WRITE_BYTES, offset_bytes, number ^ seed);
        write_all(file, bytes, offset_bytes, ReadWriteFlags::empty())?;
        number += 1;
        if number % per_sync == 0 {
            rustix::fs::fdatasync(file).map_err(|errno| Error::system("sync", "the work file", errno))?;
        }
    }
    // Install calls include whole flushes: they say nothing about the latency of one write.
    Ok(Times::default())
}

fn sync(file: BorrowedFd<'_>, region: Region, seed: u64, clock: &Clock, go_on: impl Fn() -> bool) -> Result<Times> {
    let mut buffers = buffers(PAGE_BYTES, seed)?;
    let addresses = Addresses::new(Pattern::Random, region, PAGE_BYTES, seed);
    let mut times = Times::default();
    let mut due = Instant::now();
    let mut number = 0;
    while go_on() {
        until(due);
        for _ in 0..PAGES_PER_SYNC {
            let offset_bytes = addresses.at(number);
            let bytes = stamped(&mut buffers, PAGE_BYTES, offset_bytes, number ^ seed);
            let begun_ns = clock.ns();
            write_all(file, bytes, offset_bytes, ReadWriteFlags::DSYNC)?;
            times.add_ns(clock.ns() - begun_ns);
            number += 1;
        }
        due = (due + SYNC_INTERVAL).max(Instant::now());
    }
    Ok(times)
}

fn write_all(file: BorrowedFd<'_>, bytes: &[u8], offset_bytes: u64, flags: ReadWriteFlags) -> Result<()> {
    let len_bytes = bytes.len() as u64;
    loop {
        return match rustix::io::pwritev2(file, &[io::IoSlice::new(bytes)], offset_bytes, flags) {
            Ok(moved) if moved == bytes.len() => Ok(()),
            Ok(moved) => Err(Error::Short { operation: "write", offset_bytes, len_bytes, moved_bytes: moved as u64 }),
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => {
                Err(Error::Request { operation: "write", offset_bytes, len_bytes, source: io::Error::from(errno) })
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::study::{Common, exactly};

    #[test]
    fn readers_keep_their_interval_under_writes_that_the_device_counts() {
        let dir = tempfile::tempdir().expect("a directory");
        let (sense, stop) = (Sense::default(), AtomicBool::new(false));
        let control = Control { stop: &stop, progress: &|_, _| () };
        let place = Place::find(&sense, dir.path(), false).expect("a place");
        let Some(disk) = place.device.map(|located| located.disk.name) else {
            let reason = format!("no single block device below {}", dir.path().display());
            return brisk_requires::skip(brisk_requires::Capability::Disk, reason);
        };
        let common = Common {
            path: dir.path().to_owned(),
            destroy_data: false,
            block_bytes: 4096,
            runs: 1,
            engine: None,
            seed: 1,
        };
        let bed = Testbed::prepare(&sense, &common, exactly(SIZE_MIN_BYTES), &control).expect("prepared");
        let trial = Trial {
            readers: 2,
            interval: Duration::from_millis(20),
            prioritised: false,
            writers: Writers::Direct(2),
            length: Duration::from_millis(200),
            block_bytes: 4096,
            seed: 1,
        };
        for writers in [Writers::None, Writers::InstallAndSync, Writers::Direct(2)] {
            let outcome = run(&sense, &bed, &disk, &Trial { writers, ..trial }, &control).expect("measured");
            // 10 reads each; a slow device completes fewer.
            assert!((1..=20).contains(&outcome.reads.count()), "{writers:?}: {}", outcome.reads.count());
            assert_eq!(outcome.writes.count() > 0, writers != Writers::None, "{writers:?}");
            assert!(outcome.write_bytes_per_s > 0.0 || writers == Writers::None, "{writers:?}");
        }
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(run(&sense, &bed, &disk, &trial, &control), Err(Error::Stopped)));
    }
}
