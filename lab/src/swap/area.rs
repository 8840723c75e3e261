//! The swap area: which slot a page gets.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::swap::trace::{Action, Event, Trace};

/// Slots of a cluster or extent: 1 MiB (MARS 3.3; SWAPFILE_CLUSTER of Linux).
pub const CLUSTER_SLOTS: u32 = 256;

/// How slots are allocated, and when pages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Policy {
    /// Linux: the next slot of the current cluster, whichever app the page belongs to; then a free cluster; then any
    /// free slot (MARS 3.3).
    Linux,
    /// Each app has extents of its own (MARS 3.3, figures 5 and 6).
    Extents,
    /// As [`Policy::Extents`], and nothing is written during a launch (MARS 3.4).
    Mars,
}

impl Policy {
    /// All, in the order of MARS figure 9.
    pub const ALL: [Self; 3] = [Self::Linux, Self::Extents, Self::Mars];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Extents => "extents",
            Self::Mars => "mars",
        }
    }
}

/// A page: its app, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Occupant {
    pub app: u16,
    /// Number of the page within the app.
    pub page: u64,
}

/// A swap area under one policy.
#[derive(Debug)]
pub struct Area {
    policy: Policy,
    slots: Vec<Option<Occupant>>,
    at: HashMap<Occupant, u32>,
    /// Used slots of each cluster.
    used: Vec<u32>,
    used_slots: u32,
    /// Linux: the next slot to try, and how many of the current cluster are left.
    next: u32,
    left: u32,
    /// Extents: the current one of each app, and the free ones in the order in which they became free.
    current: HashMap<u16, Extent>,
    free_extents: VecDeque<u32>,
    owner: Vec<Option<u16>>,
    /// Extents that became empty since the last [`Area::take_emptied`].
    emptied: BTreeSet<u32>,
    /// Slots that were allocated outside of an extent of their app, since no extent was free.
    strays: u64,
}

#[derive(Debug, Clone, Copy)]
struct Extent {
    cluster: u32,
    allocated: u32,
}

impl Area {
    #[must_use]
    pub fn new(policy: Policy, slots: u32) -> Self {
        let clusters = slots.div_ceil(CLUSTER_SLOTS);
        // The last cluster may be shorter; extents are whole ones only.
        let whole = slots / CLUSTER_SLOTS;
        Self {
            policy,
            slots: vec![None; slots as usize],
            at: HashMap::new(),
            used: vec![0; clusters as usize],
            used_slots: 0,
            next: 0,
            left: CLUSTER_SLOTS.min(slots),
            current: HashMap::new(),
            free_extents: (0..whole).collect(),
            owner: vec![None; clusters as usize],
            emptied: BTreeSet::new(),
            strays: 0,
        }
    }

    /// Size in slots.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// Whether nothing is swapped out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used_slots == 0
    }

    #[must_use]
    pub fn used_slots(&self) -> u32 {
        self.used_slots
    }

    /// Whether more than half is used: Linux then gives a slot up when its page is read (`vm_swap_full`).
    #[must_use]
    pub fn is_more_than_half_full(&self) -> bool {
        self.used_slots.saturating_mul(2) > self.len()
    }

    #[must_use]
    pub fn slot_of(&self, occupant: Occupant) -> Option<u32> {
        self.at.get(&occupant).copied()
    }

    #[must_use]
    pub fn occupant(&self, slot: u32) -> Option<Occupant> {
        self.slots.get(slot as usize).copied().flatten()
    }

    /// Slots of an app, ascending.
    #[must_use]
    pub fn slots_of(&self, app: u16) -> Vec<u32> {
        (0..self.len()).filter(|&slot| self.occupant(slot).is_some_and(|one| one.app == app)).collect()
    }

    /// Slots that pages got outside of an extent of their app.
    #[must_use]
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// Gives a page a slot, and gives up the one that it had; `None` when the area is full.
    pub fn allocate(&mut self, occupant: Occupant) -> Option<u32> {
        self.release(occupant);
        let slot = match self.policy {
            Policy::Linux => self.next_of_cluster(),
            Policy::Extents | Policy::Mars => self.next_of_extent(occupant.app),
        }?;
        self.put(slot, occupant);
        Some(slot)
    }

    /// Gives up the slot of a page; gives the slot.
    pub fn release(&mut self, occupant: Occupant) -> Option<u32> {
        let slot = self.at.remove(&occupant)?;
        self.slots[slot as usize] = None;
        self.used_slots -= 1;
        let cluster = slot / CLUSTER_SLOTS;
        self.used[cluster as usize] -= 1;
        let is_current = |extent: &Extent| extent.cluster == cluster && extent.allocated < CLUSTER_SLOTS;
        let serves = self.owner[cluster as usize].and_then(|app| self.current.get(&app)).is_some_and(is_current);
        if self.used[cluster as usize] == 0 && self.owner[cluster as usize].is_some() && !serves {
            self.owner[cluster as usize] = None;
            self.free_extents.push_back(cluster);
            self.emptied.insert(cluster);
        }
        Some(slot)
    }

    /// Extents that became empty since the last call, and are still: their content can be discarded. Ascending.
    pub fn take_emptied(&mut self) -> Vec<u32> {
        let emptied = std::mem::take(&mut self.emptied);
        emptied.into_iter().filter(|&cluster| self.used[cluster as usize] == 0).collect()
    }

    fn put(&mut self, slot: u32, occupant: Occupant) {
        self.slots[slot as usize] = Some(occupant);
        self.at.insert(occupant, slot);
        self.used_slots += 1;
        self.used[(slot / CLUSTER_SLOTS) as usize] += 1;
    }

    /// MARS 3.3, steps 1 to 3: within the current cluster; a free cluster; the next free slot.
    fn next_of_cluster(&mut self) -> Option<u32> {
        if self.used_slots == self.len() {
            return None;
        }
        if self.left == 0 {
            self.left = CLUSTER_SLOTS;
            if let Some(cluster) = self.used.iter().position(|&used| used == 0) {
                self.next = u32::try_from(cluster).ok()? * CLUSTER_SLOTS;
            }
        }
        let len = self.len();
        let slot = (self.next..len).chain(0..self.next).find(|&slot| self.slots[slot as usize].is_none())?;
        (self.next, self.left) = ((slot + 1) % len, self.left - 1);
        Some(slot)
    }

    /// MARS figure 6: the next slot of the app's extent, or of a new one. The paper's algorithm gives none when no
    /// extent is free, even where slots are; here the page then gets any free slot.
    fn next_of_extent(&mut self, app: u16) -> Option<u32> {
        let serves = self.current.get(&app).copied().filter(|extent| extent.allocated < CLUSTER_SLOTS);
        let extent = serves.or_else(|| {
            let cluster = self.free_extents.pop_front()?;
            self.owner[cluster as usize] = Some(app);
            Some(Extent { cluster, allocated: 0 })
        });
        if let Some(extent) = extent {
            self.current.insert(app, Extent { allocated: extent.allocated + 1, ..extent });
            return Some(extent.cluster * CLUSTER_SLOTS + extent.allocated);
        }
        self.current.remove(&app);
        let free = |slot: &u32| self.slots[*slot as usize].is_none() && !self.is_ahead(*slot);
        let slot =
            (0..self.len()).find(free).or_else(|| (0..self.len()).find(|&slot| self.slots[slot as usize].is_none()))?;
        self.strays += 1;
        // Another app's extent that hands this slot out later skips it.
        self.skip(slot);
        Some(slot)
    }

    /// Whether an app's current extent will hand the slot out.
    fn is_ahead(&self, slot: u32) -> bool {
        let cluster = slot / CLUSTER_SLOTS;
        let current = self.owner[cluster as usize].and_then(|app| self.current.get(&app));
        current.is_some_and(|extent| extent.cluster == cluster && slot % CLUSTER_SLOTS >= extent.allocated)
    }

    /// Ends the extent that would hand the slot out.
    fn skip(&mut self, slot: u32) {
        if self.is_ahead(slot) {
            let owner = self.owner[(slot / CLUSTER_SLOTS) as usize];
            owner.and_then(|app| self.current.remove(&app));
        }
    }
}

/// The trace with the slots that a policy gives its pages, without their content being read ahead. Slots are given up
/// when their page is used and more than half of the area is in use, as Linux does.
#[must_use]
pub fn with_slots(trace: &Trace, policy: Policy) -> Trace {
    let mut area = Area::new(policy, trace.area_slots);
    let slot_of = |event: &Event| {
        let occupant = Occupant { app: event.app, page: event.page };
        match event.action {
            Action::Out | Action::Held => area.allocate(occupant),
            Action::Ahead => area.slot_of(occupant),
            Action::In if !area.is_more_than_half_full() => area.slot_of(occupant),
            Action::In | Action::Free => area.release(occupant),
            Action::Front | Action::Ready => None,
        }
    };
    let slots: Vec<Option<u32>> = trace.events.iter().map(slot_of).collect();
    let events = trace.events.iter().zip(slots).map(|(event, slot)| Event { slot, ..*event });
    Trace { events: events.collect(), ..trace.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(app: u16, page: u64) -> Occupant {
        Occupant { app, page }
    }

    #[test]
    fn linux_interleaves_apps_and_extents_do_not() {
        for (policy, expected) in [(Policy::Linux, [0, 1, 2, 3]), (Policy::Extents, [0, 256, 1, 257])] {
            let mut area = Area::new(policy, 1024);
            let slots = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(app, number)| area.allocate(page(app, number)));
            assert_eq!(slots, expected.map(Some), "{policy:?}");
        }
    }

    #[test]
    fn linux_goes_to_a_free_cluster_and_fills_holes_when_there_is_none() {
        let mut area = Area::new(Policy::Linux, 3 * CLUSTER_SLOTS);
        for number in 0..u64::from(2 * CLUSTER_SLOTS) {
            area.allocate(page(0, number)).expect("room");
        }
        // Holes in the first cluster; the third is free and taken first.
        for number in [5, 6, 200] {
            area.release(page(0, number));
        }
        let mut next = || area.allocate(page(1, area.used_slots().into()));
        assert_eq!(next(), Some(512));
        for _ in 1..CLUSTER_SLOTS {
            next();
        }
        assert_eq!([next(), next(), next(), next()], [Some(5), Some(6), Some(200), None]);
    }

    #[test]
    fn an_empty_extent_is_used_again_and_reported_once() {
        let mut area = Area::new(Policy::Mars, 2 * CLUSTER_SLOTS);
        for number in 0..u64::from(2 * CLUSTER_SLOTS) {
            area.allocate(page(0, number)).expect("room");
        }
        assert_eq!(area.allocate(page(1, 0)), None, "full");
        for number in 0..u64::from(CLUSTER_SLOTS) {
            area.release(page(0, number));
        }
        assert_eq!(area.take_emptied(), [0]);
        assert_eq!(area.take_emptied(), [0_u32; 0]);
        assert_eq!(area.allocate(page(1, 0)), Some(0));
    }

    #[test]
    fn a_laid_out_trace_has_the_slots_of_its_policy() {
        let head = "#brisk-swap-trace 1 area_slots=1024\ntime_us,action,app,page,slot\n";
        let lines = "0,front,a,,\n0,out,a,1,\n0,out,b,1,\n0,out,a,2,\n1,in,a,1,\n2,free,b,1,\n";
        let trace = Trace::parse(&format!("{head}{lines}")).expect("a trace");
        let slots = |policy| with_slots(&trace, policy).events.iter().map(|event| event.slot).collect::<Vec<_>>();
        assert_eq!(slots(Policy::Linux), [None, Some(0), Some(1), Some(2), Some(0), Some(1)]);
        assert_eq!(slots(Policy::Extents), [None, Some(0), Some(256), Some(1), Some(0), Some(256)]);
    }

    proptest! {
        #[test]
        fn every_page_has_one_slot_and_every_slot_one_page(
            policy in 0_usize..3,
            steps in proptest::collection::vec((0_u16..4, 0_u64..400, proptest::bool::weighted(0.7)), 0..2000),
        ) {
            let mut area = Area::new(Policy::ALL[policy], 700);
            let mut oracle: std::collections::BTreeMap<Occupant, u32> = std::collections::BTreeMap::new();
            for (app, number, is_out) in steps {
                let one = page(app, number);
                if is_out {
                    let full = oracle.len() - usize::from(oracle.contains_key(&one)) == 700;
                    oracle.remove(&one);
                    match area.allocate(one) {
                        Some(slot) => {
                            prop_assert!(!full);
                            prop_assert!(!oracle.values().any(|&used| used == slot), "slot {} twice", slot);
                            oracle.insert(one, slot);
                        }
                        None => prop_assert!(full),
                    }
                } else {
                    prop_assert_eq!(area.release(one), oracle.remove(&one));
                }
            }
            prop_assert_eq!(area.used_slots() as usize, oracle.len());
            for (one, slot) in oracle {
                prop_assert_eq!(area.slot_of(one), Some(slot));
                prop_assert_eq!(area.occupant(slot), Some(one));
            }
        }

        #[test]
        fn an_extent_holds_pages_of_one_app(
            steps in proptest::collection::vec((0_u16..4, 0_u64..300, proptest::bool::weighted(0.6)), 0..3000),
        ) {
            // Enough extents for all apps, however their pages lie.
            let clusters = 4 * 302;
            let mut area = Area::new(Policy::Extents, clusters * CLUSTER_SLOTS);
            for (app, number, is_out) in steps {
                if is_out { area.allocate(page(app, number)); } else { area.release(page(app, number)); }
            }
            prop_assert_eq!(area.strays(), 0);
            for cluster in 0..clusters {
                let of = (0..CLUSTER_SLOTS).filter_map(|at| area.occupant(cluster * CLUSTER_SLOTS + at));
                let apps: BTreeSet<u16> = of.map(|one| one.app).collect();
                prop_assert!(apps.len() <= 1, "extent {} has pages of {:?}", cluster, apps);
            }
        }
    }
}
