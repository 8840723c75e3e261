//! Synthetic swapping: a person who goes back and forth between apps on a phone whose memory is too small for all of
//! them.
//!
//! Each app has a heap of pages. A launch uses part of it, in runs of adjacent pages; then the app goes on using its
//! working set and new pages while it is in front. Memory holds a number of pages; of those that were not used for
//! long, batches of 32 (SWAP_CLUSTER_MAX of Linux) are written out. Linux's lists of inactive pages follow the order of
//! use only roughly, and mix apps (MARS 2.3): a batch is made of pieces from a window of the oldest uses. The trace has
//! no slots: a replay allocates them.
//!
//! The same seed gives the same trace.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::random::Random;
use thiserror::Error;

use crate::swap::area::Occupant;
use crate::swap::trace::{Action, Event, Trace};

/// Pages that reclaim writes out at a time.
const BATCH_PAGES: usize = 32;
/// Pages of a batch that follow each other in the order of use.
const PIECE_PAGES: usize = 8;
/// Time that an app computes for each page that it uses in a launch: 400 us make 0.8 s for 2,000 pages.
const PAGE_US: u64 = 400;

/// Why there is no such workload.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WorkloadError {
    #[error("a workload needs at least two apps, this one has {0}")]
    TooFewApps(usize),
    #[error("memory of {memory_pages} pages is too small: the largest app has {largest_pages}")]
    TooLittleMemory { memory_pages: u64, largest_pages: u64 },
    #[error("the swap area of {area_slots} slots is too small: {needed_slots} pages do not fit into memory")]
    TooSmallArea { area_slots: u32, needed_slots: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSize {
    pub name: String,
    pub pages: u64,
}

/// What a person does, and with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The apps, the most used first.
    pub apps: Vec<AppSize>,
    /// Pages that memory has for apps.
    pub memory_pages: u64,
    /// Size of the swap area.
    pub area_slots: u32,
    /// How often the person changes to another app.
    pub switches: u32,
    /// Share of its heap that an app uses in a launch, 0 to 1.
    pub launch_share: f64,
    /// Mean length of a run of adjacent pages.
    pub run_pages: f64,
    /// Reclaim takes pieces of 8 pages from so many of the oldest uses; 0 is exact order.
    pub mix_pages: u64,
    /// Mean time that an app stays in front.
    pub stay_us: u64,
    /// Seed of all that is random.
    pub seed: u64,
}

impl Workload {
    /// Twelve apps from messaging (10 MB) to games (over 100 MB), as MARS figure 14 has them, 40 % of them in memory,
    /// in an area of which three quarters are used (MARS 4.3). A launch uses the whole heap: all that was swapped out
    /// comes back (MARS 3.4).
    #[must_use]
    pub fn mars(seed: u64) -> Self {
        let sizes_mb = [
            ("messaging", 10),
            ("mail", 16),
            ("browser", 60),
            ("social", 45),
            ("weather", 14),
            ("photos", 50),
            ("maps", 70),
            ("notes", 20),
            ("news", 35),
            ("video call", 40),
            ("game", 90),
            ("large game", 120),
        ];
        let pages = |megabytes: u64| megabytes * 1_000_000 / 4096;
        let apps = sizes_mb.map(|(name, megabytes)| AppSize { name: name.to_owned(), pages: pages(megabytes) });
        let total: u64 = apps.iter().map(|app| app.pages).sum();
        let memory_pages = total * 2 / 5;
        // Three quarters are used when all that memory does not hold is swapped out.
        let area_slots = u32::try_from((total - memory_pages) * 4 / 3).unwrap_or(u32::MAX);
        Self {
            apps: apps.to_vec(),
            memory_pages,
            area_slots,
            switches: 120,
            launch_share: 1.0,
            run_pages: 12.0,
            mix_pages: 8192,
            stay_us: 20_000_000,
            seed,
        }
    }

    /// The trace of it.
    ///
    /// # Errors
    /// When apps, memory and area do not fit each other.
    pub fn trace(&self) -> Result<Trace, WorkloadError> {
        if self.apps.len() < 2 {
            return Err(WorkloadError::TooFewApps(self.apps.len()));
        }
        let largest_pages = self.apps.iter().map(|app| app.pages).max().unwrap_or(0);
        if self.memory_pages < largest_pages + BATCH_PAGES as u64 {
            return Err(WorkloadError::TooLittleMemory { memory_pages: self.memory_pages, largest_pages });
        }
        let total: u64 = self.apps.iter().map(|app| app.pages).sum();
        let needed_slots = total.saturating_sub(self.memory_pages) + BATCH_PAGES as u64;
        if u64::from(self.area_slots) < needed_slots {
            return Err(WorkloadError::TooSmallArea { area_slots: self.area_slots, needed_slots });
        }
        let mut person = Person {
            workload: self,
            random: Random(self.seed),
            now_us: 0,
            uses: 0,
            resident: BTreeMap::new(),
            by_use: BTreeSet::new(),
            swapped: BTreeSet::new(),
            events: Vec::new(),
        };
        let mut front = 0;
        // At first each app is opened once, and uses all of its heap.
        for app in 0..self.apps.len() {
            person.launch(app, 1.0);
        }
        for _ in 0..self.switches {
            front = person.next_app(front);
            person.launch(front, self.launch_share);
        }
        Ok(Trace {
            area_slots: self.area_slots,
            apps: self.apps.iter().map(|app| app.name.clone()).collect(),
            events: person.events,
        })
    }
}

struct Person<'a> {
    workload: &'a Workload,
    random: Random,
    now_us: u64,
    /// Uses of pages so far, which order them.
    uses: u64,
    /// Last use of each page in memory, and the same the other way round.
    resident: BTreeMap<Occupant, u64>,
    by_use: BTreeSet<(u64, Occupant)>,
    swapped: BTreeSet<Occupant>,
    events: Vec<Event>,
}

impl Person<'_> {
    /// Another app than that in front; the first ones are used most (weights 1, 1/2, 1/3, ...).
    fn next_app(&mut self, front: usize) -> usize {
        let weight = |app: usize| if app == front { 0.0 } else { 1.0 / (app + 1) as f64 };
        let sum: f64 = (0..self.workload.apps.len()).map(weight).sum();
        let mut at = self.random.unit() * sum;
        for app in 0..self.workload.apps.len() {
            at -= weight(app);
            if at < 0.0 {
                return app;
            }
        }
        usize::from(front == 0)
    }

    fn launch(&mut self, app: usize, share: f64) {
        let (number, pages) = (app as u16, self.workload.apps[app].pages);
        self.push(Action::Front, Occupant { app: number, page: 0 });
        self.use_share(number, pages, share);
        self.push(Action::Ready, Occupant { app: number, page: 0 });
        let stays_us = self.exponential(self.workload.stay_us as f64) as u64;
        // While in front it uses another tenth of its heap, spread over that time.
        let runs = (pages as f64 / 10.0 / self.workload.run_pages).ceil() as u64;
        for _ in 0..runs {
            self.now_us += stays_us / runs.max(1);
            self.use_run(number, pages);
        }
    }

    /// Uses that share of the heap: runs of adjacent pages, in random order.
    fn use_share(&mut self, app: u16, pages: u64, share: f64) {
        let mut runs = Vec::new();
        let mut first = 0;
        while first < pages {
            let len = (self.exponential(self.workload.run_pages).ceil() as u64).clamp(1, pages - first);
            runs.push(first..first + len);
            first += len;
        }
        self.random.shuffle(&mut runs);
        let wanted = (pages as f64 * share.clamp(0.0, 1.0)) as u64;
        let mut used = 0;
        for run in runs {
            if used >= wanted {
                return;
            }
            used += run.end - run.start;
            run.for_each(|page| self.use_page(Occupant { app, page }));
        }
    }

    fn use_run(&mut self, app: u16, pages: u64) -> u64 {
        // Heaps have parts that are used most: the square of a uniform number prefers low pages.
        let at = self.random.unit();
        let first = ((at * at * pages as f64) as u64).min(pages.saturating_sub(1));
        let len = (self.exponential(self.workload.run_pages).ceil() as u64).clamp(1, pages - first);
        (first..first + len).for_each(|page| self.use_page(Occupant { app, page }));
        len
    }

    fn use_page(&mut self, page: Occupant) {
        self.now_us += PAGE_US;
        if self.swapped.remove(&page) {
            self.push(Action::In, page);
        }
        self.uses += 1;
        if let Some(before) = self.resident.insert(page, self.uses) {
            self.by_use.remove(&(before, page));
        }
        self.by_use.insert((self.uses, page));
        if self.resident.len() as u64 > self.workload.memory_pages {
            for _ in 0..BATCH_PAGES / PIECE_PAGES {
                self.write_out_piece();
            }
        }
    }

    /// Writes out pages that were used one after the other, not far from the oldest.
    fn write_out_piece(&mut self) {
        let Some(&(oldest, _)) = self.by_use.first() else { return };
        let from = oldest + (self.random.unit() * self.workload.mix_pages as f64) as u64;
        let first = Occupant { app: 0, page: 0 };
        let mut piece: Vec<(u64, Occupant)> = self.by_use.range((from, first)..).take(PIECE_PAGES).copied().collect();
        if piece.len() < PIECE_PAGES {
            piece = self.by_use.iter().take(PIECE_PAGES).copied().collect();
        }
        for (used, page) in piece {
            self.by_use.remove(&(used, page));
            self.resident.remove(&page);
            self.swapped.insert(page);
            self.push(Action::Out, page);
        }
    }

    fn push(&mut self, action: Action, of: Occupant) {
        self.events.push(Event { at_us: self.now_us, action, app: of.app, page: of.page, slot: None });
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.random.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_read_before_it_was_written_and_none_is_written_twice_in_a_row() {
        let trace = Workload { switches: 5, ..Workload::mars(7) }.trace().expect("a workload");
        let mut out = BTreeSet::new();
        for event in &trace.events {
            let page = (event.app, event.page);
            match event.action {
                Action::Out => assert!(out.insert(page), "{event:?}"),
                Action::In => assert!(out.remove(&page), "{event:?}"),
                _ => {}
            }
            assert!(out.len() <= trace.area_slots as usize);
        }
        assert!(trace.events.iter().any(|event| event.action == Action::In));
        assert_eq!(Trace::parse(&trace.to_text()), Ok(trace));
    }

    #[test]
    fn the_same_seed_gives_the_same_trace_and_another_seed_another_one() {
        let of = |seed| Workload { switches: 1, ..Workload::mars(seed) }.trace().expect("a workload");
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let few = Workload { apps: vec![], ..Workload::mars(1) };
        assert_eq!(few.trace(), Err(WorkloadError::TooFewApps(0)));
        let small = Workload { memory_pages: 10, ..Workload::mars(1) };
        assert!(matches!(small.trace(), Err(WorkloadError::TooLittleMemory { memory_pages: 10, .. })));
        let area = Workload { area_slots: 10, ..Workload::mars(1) };
        assert!(matches!(area.trace(), Err(WorkloadError::TooSmallArea { area_slots: 10, .. })));
    }
}
