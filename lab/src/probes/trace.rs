//! A trace: attached programs, a reader and the recorded events.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use aya::maps::{Array, MapData, RingBuf};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::probes::collector::{Activity, Collector};
use crate::probes::error::Error;
use crate::probes::event::{Event, Inode};
use crate::probes::group::Group;
use crate::probes::load::Programs;
use crate::probes::record::parse;

const SMALLEST_RING_BYTES: u32 = 64 << 10;
const LARGEST_RING_BYTES: u32 = 512 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Size of the buffer between kernel and reader; rounded to a power of two. An event takes 24 to 72 bytes.
    pub ring_bytes: u32,
    /// Interval at which the buffer is drained.
    pub interval: Duration,
    /// Most events in the list, about 80 bytes each; further ones are counted as lost.
    pub most_events: usize,
    /// Enables the kernel's run time statistics of programs, which cost about 50 ns a run, for all programs of the
    /// machine.
    pub count_cost: bool,
}

impl Default for Options {
    /// 16 MiB, drained every 100 ms: enough for six million events a second. Ten million events, cost not counted.
    fn default() -> Self {
        Self { ring_bytes: 16 << 20, interval: Duration::from_millis(100), most_events: 10_000_000, count_cost: false }
    }
}

/// Result of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    pub events: Vec<Event>,
    /// Paths of the files in requests, from the root of their file system, which may be mounted anywhere (mountinfo
    /// knows [`Inode::device`]). A file without a name, or deeper than 32 directories, has none.
    pub files: HashMap<Inode, Vec<u8>>,
    /// The last name of each thread: first 15 bytes, any but NUL.
    pub names: HashMap<u32, Vec<u8>>,
    /// Lost events: the buffer was full, or [`Options::most_events`] was reached.
    pub lost: u64,
    /// Inferred events: not seen, but implied by a later one (a thread that does something must have become runnable
    /// and run). They have the time of the later one, which is too late.
    pub mended: u64,
    /// What this kernel does not show, with reasons.
    pub missing: Vec<String>,
    pub cost: Cost,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time of the readers of events, in ns.
    pub reader_ns: u64,
    /// Time in the programs, on all processors and for all threads of the machine, in ns; `None` when the kernel did
    /// not count it ([`Options::count_cost`], kernel.bpf_stats_enabled).
    pub programs_ns: Option<u64>,
    /// How often the programs ran meanwhile.
    pub program_runs: Option<u64>,
    /// From start to stop, in ns.
    pub wall_ns: u64,
}

impl Cost {
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.reader_ns + self.programs_ns.unwrap_or(0)
    }
}

/// Drains the buffer, called by the reader's thread and by queries in turns.
struct Reader {
    ring: RingBuf<MapData>,
    lost: Array<MapData, u64>,
    collector: Collector,
    /// CPU time of its thread, known when that ends, and of queries.
    cpu_ns: u64,
    stop: bool,
}

impl Reader {
    fn drain(&mut self) {
        while let Some(record) = self.ring.next() {
            self.collector.take(parse(&record));
        }
    }

    fn lost(&self) -> u64 {
        // An array always has its first element.
        self.lost.get(&0, 0).unwrap_or(0)
    }
}

struct Shared {
    reader: Mutex<Reader>,
    stopping: Condvar,
}

impl Shared {
    /// A reader that panicked left no event incomplete.
    fn reader(&self) -> MutexGuard<'_, Reader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, interval: Duration) {
        let mut reader = self.reader();
        while !reader.stop {
            reader.drain();
            reader = match self.stopping.wait_timeout(reader, interval) {
                Ok((reader, _)) => reader,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        reader.cpu_ns += now_ns(ClockId::ThreadCPUTime);
    }
}

/// A watched group. Dropping it ends the trace.
pub struct Trace {
    programs: Programs,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    started_ns: u64,
    _counting: Option<OwnedFd>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("started_ns", &self.started_ns).finish_non_exhaustive()
    }
}

impl Trace {
    /// Begins to watch the threads of a cgroup2 control group and of those up to four levels below it.
    ///
    /// `group` is its directory; it may still be empty. All events after the return are recorded.
    ///
    /// # Errors
    ///
    /// When the directory is no such group, and when this process or this kernel cannot run the programs.
    pub fn start(group: &Path, options: &Options) -> Result<Self, Error> {
        let ring_bytes = ring_bytes(options.ring_bytes)?;
        let group = Group::open(group)?;
        let mut programs = Programs::load(&group, ring_bytes)?;
        // Watching works without the right to enable statistics.
        let counting = options.count_cost.then(|| aya::sys::enable_stats(aya::sys::Stats::RunTime).ok()).flatten();
        let reader = Reader {
            ring: programs.ring()?,
            lost: programs.lost()?,
            collector: Collector::new(options.most_events),
            cpu_ns: 0,
            stop: false,
        };
        let shared = Arc::new(Shared { reader: Mutex::new(reader), stopping: Condvar::new() });
        let (of_thread, interval) = (Arc::clone(&shared), options.interval);
        let thread = std::thread::Builder::new()
            .name("brisk-probes".to_owned())
            .spawn(move || of_thread.run(interval))
            .map_err(Error::Thread)?;
        let mut trace = Self {
            programs,
            shared,
            thread: Some(thread),
            started_ns: now_ns(ClockId::Monotonic),
            _counting: counting,
        };
        trace.programs.attach()?;
        Ok(trace)
    }

    /// The current state of the group. Drains the buffer, which is most of its cost.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let before_ns = now_ns(ClockId::ThreadCPUTime);
        let mut reader = self.shared.reader();
        reader.drain();
        let lost = reader.lost();
        let activity = reader.collector.activity(now_ns(ClockId::Monotonic), lost);
        reader.cpu_ns += now_ns(ClockId::ThreadCPUTime).saturating_sub(before_ns);
        activity
    }

    /// Calls `look` with all events so far, in order of time. New events stay in the buffer meanwhile, so `look` should
    /// be fast.
    pub fn with_events<T>(&self, look: impl FnOnce(&[Event]) -> T) -> T {
        let before_ns = now_ns(ClockId::ThreadCPUTime);
        let mut reader = self.shared.reader();
        reader.drain();
        let events = reader.collector.in_order();
        let drained_ns = now_ns(ClockId::ThreadCPUTime);
        let result = look(events);
        reader.cpu_ns += drained_ns.saturating_sub(before_ns);
        result
    }

    /// What this kernel does not show, with reasons.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.programs.missing
    }

    /// Ends the trace and returns its result.
    #[must_use]
    pub fn stop(mut self) -> Recording {
        let statistics = self.programs.statistics();
        let wall_ns = now_ns(ClockId::Monotonic).saturating_sub(self.started_ns);
        self.end();
        let mut reader = self.shared.reader();
        reader.drain();
        let collector = std::mem::take(&mut reader.collector);
        let all = collector.finish();
        let counted = |value| (statistics.runs > 0).then_some(value);
        Recording {
            events: all.events,
            files: all.files,
            names: all.names,
            lost: reader.lost() + all.dropped + statistics.missed,
            mended: all.mended,
            missing: std::mem::take(&mut self.programs.missing),
            cost: Cost {
                reader_ns: reader.cpu_ns,
                programs_ns: counted(statistics.run_ns),
                program_runs: counted(statistics.runs),
                wall_ns,
            },
        }
    }

    fn end(&mut self) {
        self.programs.detach();
        self.shared.reader().stop = true;
        self.shared.stopping.notify_all();
        if let Some(thread) = self.thread.take() {
            // It returns nothing; a panic was printed.
            let _ = thread.join();
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn ring_bytes(wanted: u32) -> Result<u32, Error> {
    match wanted.checked_next_power_of_two() {
        Some(bytes) if (SMALLEST_RING_BYTES..=LARGEST_RING_BYTES).contains(&bytes) => Ok(bytes),
        _ => Err(Error::Buffer { bytes: wanted, smallest: SMALLEST_RING_BYTES, largest: LARGEST_RING_BYTES }),
    }
}

fn now_ns(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    u64::try_from(tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_a_power_of_two_within_limits() {
        assert_eq!(ring_bytes(16 << 20).unwrap(), 16 << 20);
        assert_eq!(ring_bytes((1 << 20) + 1).unwrap(), 2 << 20);
        for bytes in [0, 4096, (512 << 20) + 1, u32::MAX] {
            assert!(matches!(ring_bytes(bytes), Err(Error::Buffer { .. })), "{bytes}");
        }
    }
}
