//! The join of events and page tables: whose page each slot has, at any time. Pure.

mod trace;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::probes::{SwapEvent, SwapWhat};
use crate::swap::Action;

pub use trace::Counts;

/// Adjacent pages of a process in adjacent slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwappedRun {
    /// Virtual page number of the first.
    pub first_page: u64,
    pub pages: u64,
    pub area: u8,
    pub first_slot: u64,
}

/// What the page table of a process has of swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// The app that it belongs to.
    pub app: String,
    pub swapped: Vec<SwappedRun>,
}

/// The page tables of all processes that are recorded, at about one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// When reading began.
    pub at_ns: u64,
    pub processes: Vec<Process>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Unknown,
    Index(u64),
    Page { pid: u32, page: u64 },
}

/// Content of a slot, from the write to the next.
#[derive(Debug, Clone, Copy)]
struct Occupant {
    group: Option<u64>,
    owner: Owner,
    /// Of a process, and thus in a page table.
    anonymous: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    /// Read with a neighbour, and not used.
    Ahead,
    /// Used after it was read ahead, by the entry with this index.
    Hit(usize),
    Used,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    occupant: usize,
    state: State,
    /// A fault found it before anything was read: its page was still in memory, or a read follows.
    faulted: bool,
}

impl Slot {
    fn found_in_memory(self) -> bool {
        self.state == State::Out && self.faulted
    }
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    slot: u32,
    pid: u32,
    page: u64,
}

/// A page by its number in its mapping, within the memory group that is charged.
type Index = (Option<u64>, u64);

#[derive(Debug, Clone, Copy)]
struct Entry {
    at_ns: u64,
    action: Action,
    occupant: usize,
    slot: u32,
}

/// Events and page tables so far.
#[derive(Debug)]
pub struct Join {
    start_ns: u64,
    area_slots: u32,
    /// Number of the area, once it is known.
    area: Option<u8>,
    is_sole: bool,
    has_faults: bool,
    occupants: Vec<Occupant>,
    slots: BTreeMap<u32, Slot>,
    /// Where each page that is known is.
    at: HashMap<(u32, u64), u32>,
    /// Where each page of a process was written last, by its number in its mapping, which is mostly its virtual page
    /// number.
    by_index: HashMap<Index, u32>,
    /// The last fault of each thread.
    faults: HashMap<u32, Fault>,
    /// App of each process, and the processes in the order in which they appeared.
    processes: HashMap<u32, String>,
    appeared: Vec<u32>,
    entries: Vec<Entry>,
    counts: Counts,
}

impl Join {
    /// Nothing yet. `is_sole`: no other area is in use; `has_faults`: faults are among the events.
    #[must_use]
    pub fn new(start_ns: u64, area_slots: u32, is_sole: bool, has_faults: bool) -> Self {
        Self {
            start_ns,
            area_slots,
            area: None,
            is_sole,
            has_faults,
            occupants: Vec::new(),
            slots: BTreeMap::new(),
            at: HashMap::new(),
            by_index: HashMap::new(),
            faults: HashMap::new(),
            processes: HashMap::new(),
            appeared: Vec::new(),
            entries: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Events of the trace so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn event(&mut self, event: &SwapEvent) {
        match event.what {
            SwapWhat::Pages { is_out, place, pages, group, index, anonymous } => {
                self.area.get_or_insert(place.area);
                for n in 0..u64::from(pages) {
                    let Some(slot) = self.inside(place.slot + n) else {
                        self.counts.beyond += 1;
                        continue;
                    };
                    if is_out {
                        let owner = if anonymous { Owner::Index(index + n) } else { Owner::Unknown };
                        self.out(event.at_ns, slot, Occupant { group, owner, anonymous });
                    } else {
                        self.read(event.at_ns, event.tid, slot, group);
                    }
                }
            }
            SwapWhat::Fault { page, group } => {
                if let Some(slot) = self.slot_of(event.pid, page, group) {
                    self.fault(event.at_ns, event.tid, Fault { slot, pid: event.pid, page });
                }
            }
        }
    }

    /// Where a page of a process is, if it is in the area.
    fn slot_of(&self, pid: u32, page: u64, group: Option<u64>) -> Option<u32> {
        let owner = |slot: &u32| self.slots.get(slot).map(|found| self.occupants[found.occupant].owner);
        let known = self.at.get(&(pid, page)).copied();
        let known = known.filter(|slot| owner(slot) == Some(Owner::Page { pid, page }));
        let by_index =
            || self.by_index.get(&(group, page)).copied().filter(|slot| owner(slot) == Some(Owner::Index(page)));
        known.or_else(by_index)
    }

    fn inside(&self, slot: u64) -> Option<u32> {
        u32::try_from(slot).ok().filter(|&slot| slot < self.area_slots)
    }

    fn push(&mut self, at_ns: u64, action: Action, occupant: usize, slot: u32) {
        self.entries.push(Entry { at_ns, action, occupant, slot });
    }

    fn out(&mut self, at_ns: u64, slot: u32, occupant: Occupant) {
        self.free(at_ns, slot);
        if let Owner::Index(index) = occupant.owner {
            self.by_index.insert((occupant.group, index), slot);
        }
        let occupant = self.add(slot, occupant);
        self.push(at_ns, Action::Out, occupant, slot);
    }

    /// The content of a slot, if it has any, is not needed any more.
    fn free(&mut self, at_ns: u64, slot: u32) {
        let Some(old) = self.slots.remove(&slot) else { return };
        self.counts.in_memory_faults += u64::from(old.found_in_memory());
        self.push(at_ns, Action::Free, old.occupant, slot);
    }

    /// New content of a slot.
    fn add(&mut self, slot: u32, occupant: Occupant) -> usize {
        self.occupants.push(occupant);
        let index = self.occupants.len() - 1;
        self.slots.insert(slot, Slot { occupant: index, state: State::Out, faulted: false });
        index
    }

    /// The same, that was there before the recording.
    fn hold(&mut self, slot: u32, occupant: Occupant) {
        let index = self.add(slot, occupant);
        self.push(self.start_ns, Action::Held, index, slot);
    }

    fn fault(&mut self, at_ns: u64, tid: u32, fault: Fault) {
        self.faults.insert(tid, fault);
        self.identify(fault.slot, fault.pid, fault.page);
        let Some(slot) = self.slots.get_mut(&fault.slot) else { return };
        slot.faulted = true;
        if slot.state == State::Ahead {
            slot.state = State::Hit(self.entries.len());
            let occupant = slot.occupant;
            self.push(at_ns, Action::In, occupant, fault.slot);
        }
    }

    fn read(&mut self, at_ns: u64, tid: u32, slot: u32, group: Option<u64>) {
        let fault = self.faults.get(&tid).copied().filter(|fault| fault.slot == slot);
        if fault.is_some() {
            self.faults.remove(&tid);
        }
        if !self.slots.contains_key(&slot) {
            let owner = fault.map_or(Owner::Unknown, |fault| Owner::Page { pid: fault.pid, page: fault.page });
            self.hold(slot, Occupant { group, owner, anonymous: fault.is_some() });
        }
        let Some(found) = self.slots.get_mut(&slot) else { return };
        let occupant = &mut self.occupants[found.occupant];
        occupant.group = occupant.group.or(group);
        // Shared memory has no faults here.
        let is_used = fault.is_some() || !self.has_faults || !occupant.anonymous;
        found.faulted = false;
        let occupant = found.occupant;
        let action = match (is_used, found.state) {
            // It had left the cache after it was read ahead, and is read again for this use, which is the last entry of
            // both.
            (true, State::Hit(entry)) => {
                self.entries[entry].action = Action::Ahead;
                Action::In
            }
            (true, State::Ahead) | (false, _) => Action::Ahead,
            (true, State::Out | State::Used) => Action::In,
        };
        found.state = if action == Action::In { State::Used } else { State::Ahead };
        self.push(at_ns, action, occupant, slot);
    }

    /// The page in a slot is this one.
    fn identify(&mut self, slot: u32, pid: u32, page: u64) {
        let Some(found) = self.slots.get(&slot) else { return };
        let occupant = &mut self.occupants[found.occupant];
        // A page of several processes (after fork) keeps the first.
        if !matches!(occupant.owner, Owner::Page { .. }) {
            (occupant.owner, occupant.anonymous) = (Owner::Page { pid, page }, true);
        }
        self.at.insert((pid, page), slot);
    }

    /// The page tables at one time. `during` are events that came while they were read: their slots are not taken from
    /// them.
    pub fn scan(&mut self, scan: &Scan, during: &[SwapEvent]) {
        let slots = |event: &SwapEvent| match event.what {
            SwapWhat::Pages { place, pages, .. } => place.slot..place.slot + u64::from(pages),
            SwapWhat::Fault { page, group } => {
                self.slot_of(event.pid, page, group).map_or(0..0, |slot| u64::from(slot)..u64::from(slot) + 1)
            }
        };
        let touched: HashSet<u64> = during.iter().flat_map(slots).collect();
        for process in &scan.processes {
            if self.processes.insert(process.pid, process.app.clone()).is_none() {
                self.appeared.push(process.pid);
            }
        }
        let mut runs = scan.processes.iter().flat_map(|process| &process.swapped);
        if self.is_sole && self.area.is_none() {
            self.area = runs.next().map(|run| run.area);
        }
        let area = self.area;
        let mut seen: HashSet<u32> = HashSet::new();
        for process in &scan.processes {
            for run in process.swapped.iter().filter(|run| area == Some(run.area)) {
                for n in 0..run.pages {
                    let place = run.first_slot + n;
                    let Some(slot) = self.inside(place).filter(|_| !touched.contains(&place)) else { continue };
                    let page = run.first_page + n;
                    seen.insert(slot);
                    if !self.slots.contains_key(&slot) {
                        let owner = Owner::Page { pid: process.pid, page };
                        self.hold(slot, Occupant { group: None, owner, anonymous: true });
                    }
                    self.identify(slot, process.pid, page);
                }
            }
        }
        let living: HashSet<u32> = scan.processes.iter().map(|process| process.pid).collect();
        let is_gone = |(&at, slot): (&u32, &Slot)| {
            let is_certain =
                !seen.contains(&at) && !touched.contains(&u64::from(at)) && self.occupants[slot.occupant].anonymous;
            let is_gone = match slot.state {
                // A fault that read nothing brought it back from the swap cache: the slot may keep it.
                State::Out => !slot.faulted || !self.lives(slot, &living),
                State::Ahead => true,
                State::Hit(_) | State::Used => !self.lives(slot, &living),
            };
            (is_certain && is_gone).then_some(at)
        };
        let gone: Vec<u32> = self.slots.iter().filter_map(is_gone).collect();
        gone.into_iter().for_each(|slot| self.free(scan.at_ns, slot));
    }

    fn lives(&self, slot: &Slot, living: &HashSet<u32>) -> bool {
        match self.occupants[slot.occupant].owner {
            Owner::Page { pid, .. } => living.contains(&pid),
            _ => true,
        }
    }
}

#[cfg(test)]
#[path = "join/tests.rs"]
mod tests;
