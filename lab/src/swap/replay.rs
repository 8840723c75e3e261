//! The same swapping under another policy, in model time.
//!
//! The trace says what each app wrote out and read in; the policy says where it lies, and so what reads and writes the
//! flash gets. A fault waits for its page, and the trace stands still meanwhile: what the person does next comes later
//! by as much. Writes go on in the background.
//!
//! What a replay does not know: under another layout the kernel would have chosen other pages, and reading whole
//! extents needs memory that the trace's system did not reserve; [`Outcome::reserve_pages_max`] tells how much.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::flash::{Device, DeviceError, Kind, PAGE_BYTES, Preset};
use thiserror::Error;

use crate::swap::area::{Area, CLUSTER_SLOTS, Occupant, Policy};
use crate::swap::outcome::{Launch, Outcome};
use crate::swap::queue::{Finished, Queue};
use crate::swap::target::Target;
use crate::swap::trace::{Action, Event, Trace};

/// A launch that does not end is one no longer after this time: writes go on.
const LAUNCH_NS_MAX: u64 = 20_000_000_000;

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    #[error("no device for a swap area of {slots} slots: {source}")]
    Device { slots: u32, source: DeviceError },
}

/// What is read when an app needs a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SwapIn {
    /// A fault reads its page and the neighbours in an aligned window of `2^page_cluster` slots, as Linux does (3: 32
    /// KiB).
    Window {
        /// Binary logarithm of the slots of a window; at most 8.
        page_cluster: u32,
    },
    /// A fault reads the whole cluster or extent of its page.
    Extent,
    /// All pages of an app are read when it comes to the front ("the extent will be loaded", MARS 3.3).
    App,
}

impl SwapIn {
    /// Its name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Window { .. } => "window",
            Self::Extent => "extent",
            Self::App => "app",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Allocation of slots, and when pages are written.
    pub policy: Policy,
    pub swap_in: SwapIn,
    /// Pages that were read and not yet used that memory keeps; the oldest leave first.
    pub cache_pages: usize,
    /// Slots of the area; by default those of the trace.
    pub area_slots: Option<u32>,
}

impl Settings {
    /// A policy with Linux's default of reading windows of 32 KiB. 4 MiB of the swap cache stay unused at most: under
    /// pressure the kernel reclaims those pages first (assumed).
    #[must_use]
    pub fn of(policy: Policy) -> Self {
        Self { policy, swap_in: SwapIn::Window { page_cluster: 3 }, cache_pages: 1024, area_slots: None }
    }

    /// The same with another way to read. Memory for it is there: MARS 3.4 reserves as much as the largest app needs.
    #[must_use]
    pub fn reading(self, swap_in: SwapIn) -> Self {
        let cache_pages = match swap_in {
            SwapIn::Window { .. } => self.cache_pages,
            SwapIn::Extent => 4096,
            SwapIn::App => 32_768,
        };
        Self { swap_in, cache_pages, ..self }
    }
}

/// Replays a trace on a device of that preset.
///
/// # Errors
/// When the device cannot hold the area.
pub fn replay(trace: &Trace, preset: &Preset, settings: &Settings) -> Result<Outcome, ReplayError> {
    let device = Device::new(preset, area_bytes(trace, settings))
        .map_err(|source| ReplayError::Device { slots: slots_of(trace, settings), source })?;
    Ok(replay_on(trace, settings, device))
}

/// Replays a trace on a device that holds [`area_bytes`]. Where it fails or is stopped, the figures are those until
/// then.
#[must_use]
pub fn replay_on(trace: &Trace, settings: &Settings, device: impl Target) -> Outcome {
    let mut run = Run::new(settings, slots_of(trace, settings), device);
    for event in &trace.events {
        if run.queue.device().is_over() {
            break;
        }
        run.event(event);
    }
    run.finish();
    run.outcome
}

fn slots_of(trace: &Trace, settings: &Settings) -> u32 {
    settings.area_slots.unwrap_or(trace.area_slots)
}

/// What a device holds at least for a replay: the slots of the area, in whole extents.
#[must_use]
pub fn area_bytes(trace: &Trace, settings: &Settings) -> u64 {
    let clusters = slots_of(trace, settings).div_ceil(CLUSTER_SLOTS);
    u64::from(clusters) * u64::from(CLUSTER_SLOTS) * PAGE_BYTES
}

struct Run<'a, T> {
    settings: &'a Settings,
    area: Area,
    queue: Queue<T>,
    /// How much later than in the trace everything is.
    shift_ns: u64,
    /// Pages that are being read, by slot, and the request that brings them.
    coming: HashMap<u32, u64>,
    /// Pages in the swap cache, and the order in which they came.
    cached: BTreeSet<u32>,
    order: VecDeque<u32>,
    /// Requests for reads that have not finished.
    reading: BTreeSet<u64>,
    /// Since when a read has been under way or waiting.
    read_since_ns: Option<u64>,
    last_read_end: Option<u32>,
    /// Launches that have not ended: app, begin, index in the outcome.
    open: BTreeMap<u16, (u64, usize)>,
    /// Pages whose write is put off.
    deferred: VecDeque<Occupant>,
    deferred_set: BTreeSet<Occupant>,
    outcome: Outcome,
}

impl<'a, T: Target> Run<'a, T> {
    fn new(settings: &'a Settings, slots: u32, device: T) -> Self {
        Self {
            settings,
            area: Area::new(settings.policy, slots),
            queue: Queue::new(device),
            shift_ns: 0,
            coming: HashMap::new(),
            cached: BTreeSet::new(),
            order: VecDeque::new(),
            reading: BTreeSet::new(),
            read_since_ns: None,
            last_read_end: None,
            open: BTreeMap::new(),
            deferred: VecDeque::new(),
            deferred_set: BTreeSet::new(),
            outcome: Outcome::default(),
        }
    }

    fn event(&mut self, event: &Event) {
        self.pass(event.at_us.saturating_mul(1000).saturating_add(self.shift_ns));
        let occupant = Occupant { app: event.app, page: event.page };
        match event.action {
            Action::Front => self.front(event.app),
            Action::Ready => self.ready(event.app),
            Action::Out if self.defers() => self.defer(occupant),
            Action::Out => self.write(occupant),
            Action::In => self.fault(occupant),
            // What is read with a neighbour, the replay decides.
            Action::Ahead => {}
            Action::Held => self.hold(occupant),
            Action::Free => {
                self.cancel(occupant);
                self.release(occupant);
            }
        }
    }

    /// Lets time pass; launches that last too long end meanwhile.
    fn pass(&mut self, until_ns: u64) {
        loop {
            let ends_ns = self.open.values().map(|(begun_ns, _)| begun_ns.saturating_add(LAUNCH_NS_MAX)).min();
            match ends_ns.filter(|&ends_ns| ends_ns <= until_ns) {
                Some(ends_ns) => {
                    self.advance(ends_ns);
                    if self.queue.device().is_over() {
                        return;
                    }
                    self.open.retain(|_, (begun_ns, _)| begun_ns.saturating_add(LAUNCH_NS_MAX) > ends_ns);
                    self.write_deferred();
                }
                None => return self.advance(until_ns),
            }
        }
    }

    /// Lets the device work until then.
    fn advance(&mut self, until_ns: u64) {
        loop {
            let finished = self.step(Some(until_ns));
            if self.queue.device().is_over() || (finished == 0 && self.queue.now_ns() >= until_ns) {
                return;
            }
        }
    }

    /// Lets the device work until then, or until something finishes, so that times with and without writes are apart.
    /// Gives how many requests finished.
    fn step(&mut self, until_ns: Option<u64>) -> usize {
        self.queue.dispatch();
        let (from_ns, writes) = (self.queue.now_ns(), self.queue.writes());
        let finished = self.queue.run(until_ns);
        if self.read_since_ns.is_some() && writes {
            self.outcome.reading_with_writes_ns += self.queue.now_ns().saturating_sub(from_ns);
        }
        finished.iter().for_each(|one| self.finished(one));
        finished.len()
    }

    fn finished(&mut self, one: &Finished) {
        match one.kind {
            Kind::Read => {
                self.reading.remove(&one.tag);
                self.outcome.read_latencies_ns.push(one.done_ns.saturating_sub(one.queued_ns));
                self.outcome.read_device_ns.push(one.done_ns.saturating_sub(one.taken_ns));
                for slot in one.first_slot..one.first_slot + one.pages {
                    if self.coming.remove(&slot).is_some() {
                        self.cached.insert(slot);
                        self.order.push_back(slot);
                    }
                }
                self.trim_cache();
                if self.reading.is_empty()
                    && let Some(since_ns) = self.read_since_ns.take()
                {
                    self.outcome.reading_ns += one.done_ns.saturating_sub(since_ns);
                }
            }
            Kind::Write => self.outcome.written_pages += u64::from(one.pages),
            Kind::Flush | Kind::Discard => {}
        }
    }

    fn trim_cache(&mut self) {
        while self.cached.len() > self.settings.cache_pages {
            let Some(oldest) = self.order.pop_front() else { return };
            self.cached.remove(&oldest);
        }
        // Slots that were used stay in the order until they come to its front.
        while self.order.front().is_some_and(|slot| !self.cached.contains(slot)) {
            self.order.pop_front();
        }
    }

    fn read(&mut self, slot: u32) {
        if self.coming.contains_key(&slot) || self.cached.contains(&slot) || self.queue.is_in_memory(slot) {
            return;
        }
        let tag = self.queue.add(Kind::Read, slot);
        if self.reading.insert(tag) && self.last_read_end == Some(slot) {
            self.outcome.adjacent_reads += 1;
        }
        self.last_read_end = Some(slot + 1);
        self.coming.insert(slot, tag);
        self.read_since_ns.get_or_insert(self.queue.now_ns());
        self.outcome.read_pages += 1;
    }

    fn front(&mut self, app: u16) {
        let now_ns = self.queue.now_ns();
        self.outcome.launches.push(Launch { app, waited_ns: 0, pages: 0 });
        self.open.insert(app, (now_ns, self.outcome.launches.len() - 1));
        if self.settings.swap_in == SwapIn::App {
            self.area.slots_of(app).into_iter().for_each(|slot| self.read(slot));
        }
    }

    fn ready(&mut self, app: u16) {
        self.open.remove(&app);
        if !self.defers() {
            self.write_deferred();
        }
    }

    /// Whether writes have to wait now.
    fn defers(&self) -> bool {
        self.settings.policy == Policy::Mars && !self.open.is_empty()
    }

    fn defer(&mut self, occupant: Occupant) {
        if self.deferred_set.insert(occupant) {
            self.deferred.push_back(occupant);
        }
        self.outcome.reserve_pages_max = self.outcome.reserve_pages_max.max(self.deferred_set.len() as u64);
    }

    fn write_deferred(&mut self) {
        while let Some(occupant) = self.deferred.pop_front() {
            if self.deferred_set.remove(&occupant) {
                self.write(occupant);
            }
        }
    }

    fn cancel(&mut self, occupant: Occupant) {
        self.deferred_set.remove(&occupant);
        if let Some(slot) = self.area.slot_of(occupant) {
            self.queue.cancel_write(slot);
        }
    }

    fn write(&mut self, occupant: Occupant) {
        // The old content is void, wherever it is.
        self.cancel(occupant);
        self.release(occupant);
        match self.area.allocate(occupant) {
            Some(slot) => {
                self.queue.keep_from_discard(slot);
                self.queue.add(Kind::Write, slot);
            }
            None => self.outcome.unknown_pages += 1,
        }
    }

    /// The page lay in the area before: it has a slot, and nothing is written.
    fn hold(&mut self, occupant: Occupant) {
        if self.area.slot_of(occupant).is_none() && self.area.allocate(occupant).is_none() {
            self.outcome.unknown_pages += 1;
        }
    }

    fn release(&mut self, occupant: Occupant) {
        if let Some(slot) = self.area.release(occupant) {
            self.cached.remove(&slot);
            self.coming.remove(&slot);
        }
        if matches!(self.settings.policy, Policy::Extents | Policy::Mars) {
            for cluster in self.area.take_emptied() {
                for slot in cluster * CLUSTER_SLOTS..(cluster + 1) * CLUSTER_SLOTS {
                    self.queue.add(Kind::Discard, slot);
                }
            }
        }
    }

    /// An app uses a page that was swapped out, and waits for it.
    fn fault(&mut self, occupant: Occupant) {
        self.outcome.faults += 1;
        if self.deferred_set.remove(&occupant) {
            // Its write was put off: it is in memory.
            return;
        }
        let Some(slot) = self.area.slot_of(occupant) else {
            self.outcome.unknown_pages += 1;
            return;
        };
        if self.queue.is_in_memory(slot) {
            self.queue.cancel_write(slot);
            self.release(occupant);
            return;
        }
        let begun_ns = self.queue.now_ns();
        if self.cached.contains(&slot) {
            self.outcome.cache_hits += 1;
        } else {
            if !self.coming.contains_key(&slot) {
                self.read_with_neighbours(slot);
            }
            while self.coming.contains_key(&slot) && !self.queue.device().is_over() {
                self.step(None);
            }
        }
        let waited_ns = self.queue.now_ns() - begun_ns;
        self.shift_ns += waited_ns;
        self.outcome.used_pages += 1;
        if let Some(&(_, index)) = self.open.get(&occupant.app) {
            self.outcome.launches[index].waited_ns += waited_ns;
            self.outcome.launches[index].pages += 1;
        }
        self.cached.remove(&slot);
        // Linux gives the slot up at once when more than half of the area is used. Below that it keeps it, for a page
        // that is reclaimed again unchanged; then the trace has no write of it either.
        if self.area.is_more_than_half_full() {
            self.release(occupant);
        }
    }

    /// Reads a slot and what is read with it.
    fn read_with_neighbours(&mut self, slot: u32) {
        let window = match self.settings.swap_in {
            SwapIn::Window { page_cluster } => 1 << page_cluster.min(8),
            SwapIn::Extent => CLUSTER_SLOTS,
            // What came to the front has been read; this page has left memory since.
            SwapIn::App => 1,
        };
        let begin = slot - slot % window;
        let slots = begin..(begin + window).min(self.area.len());
        if self.settings.swap_in == SwapIn::Extent {
            let app = self.area.occupant(slot).map(|one| one.app);
            let is_of_app = |at: &u32| self.area.occupant(*at).map(|one| one.app) == app;
            let all: Vec<u32> = slots.filter(is_of_app).collect();
            all.into_iter().for_each(|at| self.read(at));
            return;
        }
        // Linux stops at the first free slot on each side.
        let is_used = |at: &u32| self.area.occupant(*at).is_some();
        let first = (begin..slot).rev().take_while(is_used).last().unwrap_or(slot);
        let last = (slot + 1..slots.end).take_while(is_used).last().unwrap_or(slot);
        (first..=last).for_each(|at| self.read(at));
    }

    fn finish(&mut self) {
        self.open.clear();
        self.write_deferred();
        while self.queue.is_busy() && !self.queue.device().is_over() {
            self.step(None);
        }
        self.outcome.read_latencies_ns.sort_unstable();
        self.outcome.read_device_ns.sort_unstable();
        self.outcome.strays = self.area.strays();
        self.outcome.counters = self.queue.device().counters();
        self.outcome.duration_ns = self.queue.now_ns();
    }
}

#[cfg(test)]
#[path = "replay/tests.rs"]
mod tests;
