//! The trace that a join makes: apps and page numbers of all that was seen, and what is not known of it.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::swap::{Action, Event, Trace};

use super::{Join, Occupant, Owner};

/// Where the number of a page has the number of its process within the app: above all virtual page numbers.
pub(super) const PROCESS_SHIFT: u32 = 48;
/// Marks a number that is no virtual page number.
pub(super) const NUMBERED: u64 = 1 << 63;
/// App of pages that no process has.
const UNKNOWN: &str = "unknown";

/// What a recording has, and what it lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages written to the area.
    pub out_pages: u64,
    pub read_pages: u64,
    /// Pages that were used: read for a fault, or read ahead and faulted on later.
    pub used_pages: u64,
    /// Pages that lay in it at the begin.
    pub held_pages: u64,
    /// Slots whose content was no longer needed.
    pub freed_pages: u64,
    /// Faults that found their page in memory, since it had just been written.
    pub in_memory_faults: u64,
    /// Pages whose virtual page is not known: each has a number of its own.
    pub numbered_pages: u64,
    /// Pages whose app is not known.
    pub ownerless_pages: u64,
    /// Events with a slot beyond the end of the area, which are left out.
    pub beyond: u64,
}

impl Join {
    /// The trace of all that came.
    #[must_use]
    pub fn finish(mut self) -> (Trace, Counts) {
        self.entries.sort_by_key(|entry| entry.at_ns);
        let mut names = Names::default();
        let pages: Vec<(u16, u64)> = self.number(&mut names);
        let mut counts = self.counts;
        let mut events = Vec::with_capacity(self.entries.len());
        // The slot that each page has, by the trace. A page that was seen to have moved on has no old slot to free.
        let mut latest: HashMap<(u16, u64), u32> = HashMap::new();
        let mut ahead: HashSet<u32> = HashSet::new();
        for entry in &self.entries {
            let at_us = entry.at_ns.saturating_sub(self.start_ns) / 1000;
            let ((app, page), slot) = (pages[entry.occupant], entry.slot);
            let was_ahead = ahead.remove(&slot);
            match entry.action {
                Action::Out => {
                    latest.insert((app, page), slot);
                    counts.out_pages += 1;
                }
                Action::Held => {
                    latest.insert((app, page), slot);
                    counts.held_pages += 1;
                }
                Action::In => {
                    counts.used_pages += 1;
                    counts.read_pages += u64::from(!was_ahead);
                }
                Action::Ahead => {
                    counts.read_pages += 1;
                    ahead.insert(slot);
                }
                Action::Free if latest.get(&(app, page)) != Some(&slot) => continue,
                Action::Free => {
                    latest.remove(&(app, page));
                    counts.freed_pages += 1;
                }
                _ => {}
            }
            events.push(Event { at_us, action: entry.action, app, page, slot: Some(slot) });
        }
        counts.in_memory_faults += self.slots.values().filter(|slot| slot.found_in_memory()).count() as u64;
        for &(app, page) in pages.iter().collect::<BTreeSet<_>>() {
            let name = names.all[usize::from(app)].as_str();
            counts.numbered_pages += u64::from(page & NUMBERED != 0);
            counts.ownerless_pages += u64::from(name == UNKNOWN);
        }
        (Trace { area_slots: self.area_slots, apps: names.all, events }, counts)
    }

    /// App and page number of each occupant.
    fn number(&self, names: &mut Names) -> Vec<(u16, u64)> {
        let mut of_app: HashMap<String, Vec<u32>> = HashMap::new();
        for pid in &self.appeared {
            of_app.entry(self.processes[pid].clone()).or_default().push(*pid);
        }
        let apps: Vec<String> = self.occupants.iter().map(|occupant| self.app(occupant)).collect();
        // Processes that ended before a scan saw them.
        for (occupant, app) in self.occupants.iter().zip(&apps) {
            if let Owner::Page { pid, .. } = occupant.owner {
                let pids = of_app.entry(app.clone()).or_default();
                if !pids.contains(&pid) {
                    pids.push(pid);
                }
            }
        }
        let none = Vec::new();
        let number = |(index, (occupant, app)): (usize, (&Occupant, &String))| {
            let pids = of_app.get(app).unwrap_or(&none);
            let page = match occupant.owner {
                Owner::Page { pid, page } => {
                    let process = pids.iter().position(|&known| known == pid).unwrap_or(0) as u64;
                    process << PROCESS_SHIFT | page
                }
                Owner::Index(_) | Owner::Unknown => NUMBERED | index as u64,
            };
            (names.index(app), page)
        };
        self.occupants.iter().zip(&apps).enumerate().map(number).collect()
    }

    fn app(&self, occupant: &Occupant) -> String {
        let of_process = match occupant.owner {
            Owner::Page { pid, .. } => self.processes.get(&pid).cloned(),
            _ => None,
        };
        of_process.unwrap_or_else(|| UNKNOWN.to_owned())
    }
}

/// Names of apps, in the order of their first use.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    index: HashMap<String, u16>,
}

impl Names {
    fn index(&mut self, name: &str) -> u16 {
        if let Some(&index) = self.index.get(name) {
            return index;
        }
        // More names than a trace can have share the last.
        let index = u16::try_from(self.all.len()).unwrap_or(u16::MAX);
        if self.all.len() <= usize::from(u16::MAX) {
            self.all.push(name.to_owned());
        }
        self.index.insert(name.to_owned(), index);
        index
    }
}
