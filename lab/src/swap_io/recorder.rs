//! The recording: a thread that drains events and reads page tables.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::probes::{SwapEvent, SwapTrace};
use crate::swap::Trace;
use brisk_sense::{PageState, ProcessPages, Sense};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::swap_io::area::Area;
use crate::swap_io::error::{Error, Result};
use crate::swap_io::join::{Counts, Join, Process, Scan, SwappedRun};

/// Most of the time that reading page tables takes: one part in so many. A machine with many processes is read less
/// often.
const SCAN_SHARE: u32 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Interval at which events are taken from the kernel.
    pub drain_interval: Duration,
    /// Interval at which page tables are read.
    pub scan_interval: Duration,
    /// Size of the buffer between kernel and recorder; an event takes 48 bytes.
    pub buffer_bytes: u32,
    /// Most events of a trace; the recording ends there.
    pub events_max: usize,
}

impl Default for Options {
    /// Every 100 ms and every 2 s, 16 MiB (350,000 events), ten million events.
    fn default() -> Self {
        Self {
            drain_interval: Duration::from_millis(100),
            scan_interval: Duration::from_secs(2),
            buffer_bytes: 16 << 20,
            events_max: 10_000_000,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Recorded {
    /// The trace, in the order of time.
    pub trace: Trace,
    pub counts: Counts,
    /// Events that were lost, since the buffer was full.
    pub lost: u64,
    /// What this kernel does not show, with reasons.
    pub missing: Vec<String>,
    /// Whether it ended at [`Options::events_max`].
    pub is_full: bool,
    /// Processes whose page tables this process may not read: their pages have the owner that the block layer knows.
    pub unread_processes: usize,
    /// How often page tables were read.
    pub scans: u64,
    /// Processor time of reading them, in ns.
    pub scan_cpu_ns: u64,
    /// Processor time of taking and joining events, in ns. The eBPF programs are not in it.
    pub events_cpu_ns: u64,
    /// From start to end, in ns.
    pub wall_ns: u64,
}

#[derive(Debug, Default)]
struct State {
    stop: bool,
    is_full: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    stopping: Condvar,
}

impl Shared {
    /// A thread that panicked left nothing incomplete.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recording that runs. Dropping it ends it.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Recorded>>,
}

impl Recorder {
    /// Begins to record: pages that are in the area now are in the trace, and so is all that comes after the return.
    ///
    /// # Errors
    /// When the area is not in use, or this process or kernel cannot watch it.
    pub fn start(area: &Path, options: &Options) -> Result<Self> {
        let sense = Sense::default();
        let area = Area::find(&sense, area)?;
        let start_ns = now_ns(ClockId::Monotonic);
        let probes = SwapTrace::start(area.device, options.buffer_bytes)?;
        let missing = probes.missing().to_vec();
        let join = Join::new(start_ns, area.slots, area.is_sole, missing.is_empty());
        let mut work = Work {
            probes,
            join,
            sense,
            options: *options,
            start_ns,
            pending: Vec::new(),
            unread: BTreeSet::new(),
            scans: 0,
            scan_cpu_ns: 0,
            missing,
        };
        work.scan()?;
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("brisk-swap-rec".to_owned()).spawn(move || work.run(&of_thread));
        Ok(Self { shared, thread: Some(thread.map_err(Error::Thread)?) })
    }

    /// Whether it has as many events as it may have, and records no more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.shared.state().is_full
    }

    /// Whether it records. It does not when the thread has failed.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// When the thread that records has failed.
    pub fn finish(mut self) -> Result<Recorded> {
        self.stop();
        let thread = self.thread.take().ok_or(Error::Ended)?;
        thread.join().map_err(|_| Error::Ended)
    }

    fn stop(&self) {
        self.shared.state().stop = true;
        self.shared.stopping.notify_all();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Its result is not wanted; a panic was printed.
            let _ = thread.join();
        }
    }
}

struct Work {
    probes: SwapTrace,
    join: Join,
    sense: Sense,
    options: Options,
    start_ns: u64,
    /// Events that are not joined yet.
    pending: Vec<SwapEvent>,
    unread: BTreeSet<u32>,
    scans: u64,
    scan_cpu_ns: u64,
    missing: Vec<String>,
}

impl Work {
    fn run(mut self, shared: &Shared) -> Recorded {
        let (mut is_full, mut scanned_ns) = (false, now_ns(ClockId::Monotonic));
        let mut took_ns = scanned_ns - self.start_ns;
        loop {
            let stops = {
                let mut state = shared.state();
                if !state.stop {
                    state = match shared.stopping.wait_timeout(state, self.options.drain_interval) {
                        Ok((state, _)) => state,
                        Err(poisoned) => poisoned.into_inner().0,
                    };
                }
                state.stop
            };
            if !is_full {
                self.drain();
                let now = now_ns(ClockId::Monotonic);
                let rest_ns = took_ns * u64::from(SCAN_SHARE);
                // In the end pages that no fault identified get their names.
                if stops || now - scanned_ns >= rest_ns.max(nanos(self.options.scan_interval)) {
                    if self.scan().is_err() {
                        // What could not be read now, the next scan may tell.
                        self.feed();
                    }
                    scanned_ns = now_ns(ClockId::Monotonic);
                    took_ns = scanned_ns - now;
                } else {
                    self.feed();
                }
                is_full = self.join.len() >= self.options.events_max;
                shared.state().is_full = is_full;
            }
            if stops {
                break;
            }
        }
        let lost = self.probes.lost();
        let cpu_ns = now_ns(ClockId::ThreadCPUTime);
        let (trace, counts) = self.join.finish();
        Recorded {
            trace,
            counts,
            lost,
            missing: self.missing,
            is_full,
            unread_processes: self.unread.len(),
            scans: self.scans,
            scan_cpu_ns: self.scan_cpu_ns,
            events_cpu_ns: cpu_ns.saturating_sub(self.scan_cpu_ns),
            wall_ns: now_ns(ClockId::Monotonic).saturating_sub(self.start_ns),
        }
    }

    fn drain(&mut self) {
        let pending = &mut self.pending;
        self.probes.drain(|event| pending.push(event));
    }

    /// Joins the events that came.
    fn feed(&mut self) {
        // Events of different processors are some microseconds off.
        self.pending.sort_by_key(|event| event.at_ns);
        for event in self.pending.drain(..) {
            self.join.event(&event);
        }
    }

    /// Reads page tables. Events that come meanwhile are joined after them, and their slots are not taken from page
    /// tables.
    fn scan(&mut self) -> Result<()> {
        self.drain();
        self.feed();
        let before_ns = now_ns(ClockId::ThreadCPUTime);
        let scan = self.page_tables();
        self.scan_cpu_ns += now_ns(ClockId::ThreadCPUTime).saturating_sub(before_ns);
        self.scans += 1;
        self.drain();
        let scan = scan?;
        self.join.scan(&scan, &self.pending);
        self.feed();
        Ok(())
    }

    fn page_tables(&mut self) -> Result<Scan> {
        let mut scan = Scan { at_ns: now_ns(ClockId::Monotonic), processes: Vec::new() };
        let own = std::process::id();
        for pid in self.sense.process_ids()?.into_iter().filter(|&pid| pid != own) {
            let Some(stat) = self.sense.process_stat(pid)? else { continue };
            scan.processes.extend(self.process(pid, &stat.comm.to_string_lossy())?);
        }
        Ok(scan)
    }

    fn process(&mut self, pid: u32, app: &str) -> Result<Option<Process>> {
        match self.sense.process_pages(pid) {
            Err(brisk_sense::Error::Denied { .. }) => {
                self.unread.insert(pid);
                Ok(None)
            }
            pages => Ok(pages?.map(|pages| swapped(pid, app, &pages))),
        }
    }
}

fn swapped(pid: u32, app: &str, pages: &ProcessPages) -> Process {
    let swapped = pages.runs.iter().filter_map(|run| match run.state {
        PageState::Swapped { area, slot } => {
            Some(SwappedRun { first_page: run.first_page, pages: run.pages, area, first_slot: slot })
        }
        _ => None,
    });
    // Names of processes may hold anything; a trace is a text table.
    let app: String = app.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    let app = if app.is_empty() { "?".to_owned() } else { app };
    Process { pid, app, swapped: swapped.collect() }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn now_ns(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    u64::try_from(tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or(0)
}
