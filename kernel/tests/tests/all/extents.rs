//! Slots by memory group under random loads, next to a naive model of the same rules: plain vectors that are searched
//! from end to end. The model knows which slots are in use, as the kernel does by its map.

use std::collections::{BTreeMap, BTreeSet};

use brisk_kernel_tests::mars::{Area, LOOKS, State};
use proptest::prelude::*;

/// Owner 0 is the kernel's own allocator.
#[derive(Debug, Clone)]
enum Step {
    /// A page of the owner is swapped out.
    Out(u16),
    /// The kernel's own allocator takes the n-th free slot, counted modulo.
    Stock(usize),
    /// The n-th slot in use is freed.
    Free(usize),
    /// All slots of an owner are freed: its process ended.
    End(u16),
    /// A pass of the worker begins, with so many extents at most.
    TrimBegin(u32),
    TrimEnd,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (1_u16..6).prop_map(|owner| Step::Out(owner * 64 % 257)),
        1 => any::<usize>().prop_map(Step::Stock),
        8 => any::<usize>().prop_map(Step::Free),
        1 => (1_u16..6).prop_map(|owner| Step::End(owner * 64 % 257)),
        1 => (0_u32..6).prop_map(Step::TrimBegin),
        1 => Just(Step::TrimEnd),
    ];
    prop::collection::vec(step, 0..600)
}

/// The rules of mars_extents.h by search.
struct Model {
    slots: u32,
    reserve: usize,
    /// Who uses a slot.
    used: BTreeMap<u32, u16>,
    /// Owner of an extent, and whether and where it takes swap-outs.
    owner: Vec<u16>,
    cursor: Vec<Option<u32>>,
    /// Empty extents in the order in which they became so.
    trimmed: Vec<u32>,
    stale: Vec<u32>,
    trimming: BTreeSet<u32>,
    /// Extents with holes, the one that changed last at the end.
    holes: Vec<u32>,
}

impl Model {
    fn new(extents: u32, slots: u32, reserve: u32) -> Self {
        Self {
            slots,
            reserve: reserve as usize,
            used: BTreeMap::new(),
            owner: vec![0; extents as usize],
            cursor: vec![None; extents as usize],
            trimmed: (0..extents).collect(),
            stale: Vec::new(),
            trimming: BTreeSet::new(),
            holes: Vec::new(),
        }
    }

    fn used_of(&self, extent: u32) -> u32 {
        self.used.range(extent * self.slots..(extent + 1) * self.slots).count() as u32
    }

    fn free(&self) -> usize {
        self.trimmed.len() + self.stale.len() + self.trimming.len()
    }

    /// The end of the list of extents with holes is where a change puts one.
    fn update_holes(&mut self, extent: u32) {
        let at = extent as usize;
        self.holes.retain(|e| *e != extent);
        let is_left = self.owner[at] != 0 && self.cursor[at].is_none();
        if is_left && self.used_of(extent) < self.slots {
            self.holes.push(extent);
        }
    }

    fn next(&mut self, owner: u16) -> Option<u32> {
        let current = (0..self.owner.len()).find(|e| self.owner[*e] == owner && self.cursor[*e].is_some());
        if let Some(extent) = current {
            let cursor = self.cursor[extent].expect("found with one");
            if cursor < self.slots {
                return Some(extent as u32 * self.slots + cursor);
            }
            self.cursor[extent] = None;
            self.update_holes(extent as u32);
        }
        let behind = current.map(|extent| extent as u32 + 1);
        let free = behind
            .filter(|e| self.trimmed.contains(e) || self.stale.contains(e))
            .or_else(|| self.trimmed.first().copied())
            .or_else(|| self.stale.first().copied());
        if free.is_none() || self.free() <= self.reserve {
            let own = self.holes.iter().filter(|e| self.owner[**e as usize] == owner).take(LOOKS);
            let best = own.copied().min_by_key(|e| self.used_of(*e));
            if let Some(best) = best.filter(|e| free.is_none() || self.used_of(*e) <= self.slots / 2) {
                self.cursor[best as usize] = Some(0);
                self.update_holes(best);
                return Some(best * self.slots);
            }
        }
        let free = free?;
        self.trimmed.retain(|e| *e != free);
        self.stale.retain(|e| *e != free);
        self.owner[free as usize] = owner;
        self.cursor[free as usize] = Some(0);
        Some(free * self.slots)
    }

    fn take(&mut self, slot: u32, owner: u16) {
        let extent = slot / self.slots;
        self.trimmed.retain(|e| *e != extent);
        self.stale.retain(|e| *e != extent);
        assert_eq!(self.used.insert(slot, owner), None, "slot {slot} was in use");
        self.update_holes(extent);
    }

    fn free_slot(&mut self, slot: u32) {
        let extent = slot / self.slots;
        self.used.remove(&slot).expect("a slot in use");
        if self.used_of(extent) == 0 {
            self.owner[extent as usize] = 0;
            self.cursor[extent as usize] = None;
            self.stale.push(extent);
        }
        self.update_holes(extent);
    }
}

/// Both, and the slots that a driver sees.
struct Pair {
    area: Area,
    model: Model,
    extents: u32,
    /// Slots by [`Step::Stock`] in an extent that has an owner.
    mixed: BTreeSet<u32>,
}

impl Pair {
    fn new(extents: u32, slots: u32, reserve: u32) -> Self {
        let (area, model) = (Area::new(extents, slots, reserve), Model::new(extents, slots, reserve));
        Self { area, model, extents, mixed: BTreeSet::new() }
    }

    fn slots(&self) -> u32 {
        self.extents * self.model.slots
    }

    /// As the kernel does: the first free slot from there to the end of the extent, or another extent, or the stock
    /// path.
    fn swap_out(&mut self, owner: u16) -> Option<u32> {
        loop {
            let (plenty, free) = (self.area.plenty(), self.area.nr_free());
            let can_begin = free as usize > self.model.trimming.len();
            let current = self.model.cursor.clone();
            let expected = self.model.next(owner);
            let next = self.area.next(owner);
            assert_eq!(next, expected, "owner {owner}");
            let Some(next) = next else {
                assert!(self.model.trimmed.is_empty() && self.model.stale.is_empty(), "refused with {free} free");
                return None;
            };
            let extent = next / self.model.slots;
            let (state, of, used) = self.area.extent(extent);
            assert_eq!((state, of), (State::Current, owner));
            // While more extents than the reserve are free, only an empty one becomes current: holes are not filled.
            let begins = current[extent as usize].is_none();
            assert!(!begins || !plenty || !can_begin || used == 0, "extent {extent} is filled with {free} free");
            let end = (extent + 1) * self.model.slots;
            let found = (next..end).find(|slot| !self.model.used.contains_key(slot));
            let cursor = found.map_or(end, |slot| slot + 1);
            if let Some(slot) = found {
                assert!(!self.model.trimming.contains(&extent), "slot {slot} is being discarded");
                self.area.taken(slot);
                self.model.take(slot, owner);
            }
            self.area.advance(owner, cursor);
            self.model.cursor[extent as usize] = Some(cursor - extent * self.model.slots);
            if found.is_some() {
                return found;
            }
        }
    }

    fn stock(&mut self, nth: usize) {
        let model = &self.model;
        let free: Vec<u32> = (0..self.slots())
            .filter(|slot| !model.used.contains_key(slot) && !model.trimming.contains(&(slot / model.slots)))
            .collect();
        let Some(slot) = (!free.is_empty()).then(|| free[nth % free.len()]) else { return };
        self.area.taken(slot);
        self.model.take(slot, 0);
        if self.model.owner[(slot / self.model.slots) as usize] != 0 {
            self.mixed.insert(slot);
        }
    }

    fn free(&mut self, slot: u32) {
        self.area.freed(slot);
        self.model.free_slot(slot);
        self.mixed.remove(&slot);
    }

    fn trim_begin(&mut self, max: u32) {
        let most = (self.model.free() / 2).saturating_sub(self.model.trimming.len()).min(max as usize);
        let mut expected = self.model.stale.clone();
        expected.sort_unstable();
        expected.truncate(most);
        assert_eq!(self.area.trim_begin(max), expected);
        self.model.stale.retain(|e| !expected.contains(e));
        let expected_len = expected.len();
        self.model.trimming.extend(expected);
        // Only empty extents, and at most half of the free ones.
        assert!(self.model.trimming.iter().all(|e| self.model.used_of(*e) == 0));
        assert!(expected_len == 0 || self.model.trimming.len() * 2 <= self.model.free());
    }

    fn trim_end(&mut self) {
        for extent in std::mem::take(&mut self.model.trimming) {
            self.area.trim_end(extent);
            self.model.trimmed.push(extent);
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Out(owner) => {
                self.swap_out(owner);
            }
            Step::Stock(nth) => self.stock(nth),
            Step::Free(nth) => {
                let slot = self.model.used.keys().nth(nth % self.model.used.len().max(1)).copied();
                if let Some(slot) = slot {
                    self.free(slot);
                }
            }
            Step::End(owner) => {
                let slots: Vec<u32> = self.model.used.iter().filter(|(_, o)| **o == owner).map(|(s, _)| *s).collect();
                for slot in slots {
                    self.free(slot);
                }
            }
            Step::TrimBegin(max) => self.trim_begin(max),
            Step::TrimEnd => self.trim_end(),
        }
    }

    /// The whole state, recomputed from the slots in use.
    fn check(&self) {
        let model = &self.model;
        assert_eq!(self.area.nr_free() as usize, model.free());
        assert_eq!(self.area.plenty(), model.free() > model.reserve);
        let mut counts = [0; 6];
        for extent in 0..self.extents {
            let (state, owner, used) = self.area.extent(extent);
            counts[state as usize] += 1;
            assert_eq!(used, model.used_of(extent), "extent {extent}");
            assert_eq!(owner, model.owner[extent as usize], "extent {extent}");
            let expected = if model.trimmed.contains(&extent) {
                State::Trimmed
            } else if model.stale.contains(&extent) {
                State::Stale
            } else if model.trimming.contains(&extent) {
                State::Trimming
            } else if model.cursor[extent as usize].is_some() {
                State::Current
            } else if owner != 0 {
                State::Left
            } else {
                State::Stock
            };
            assert_eq!(state, expected, "extent {extent}");
            for slot in extent * model.slots..(extent + 1) * model.slots {
                // An extent with slots of a group gets none of another, except by the kernel's own allocator.
                let user = model.used.get(&slot).copied().unwrap_or(owner);
                assert!(user == owner || self.mixed.contains(&slot), "slot {slot} of {user} in an extent of {owner}");
                assert_eq!(self.area.reserved(slot), owner != 0 && model.free() > 0);
            }
        }
        for (state, count) in [State::Trimmed, State::Stale, State::Trimming, State::Current, State::Left, State::Stock]
            .iter()
            .zip(counts)
        {
            assert_eq!(self.area.nr_in(*state), count, "{state:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn it_agrees_with_a_naive_model(
        extents in 0_u32..14, slots in 1_u32..9, reserve in 0_u32..5, steps in steps()
    ) {
        let mut pair = Pair::new(extents, slots, reserve);
        for step in &steps {
            pair.step(step);
            pair.check();
        }
    }

    #[test]
    fn the_slots_of_groups_swapped_out_in_turn_are_consecutive(
        order in prop::collection::vec(1_u16..5, 1..400), slots in 2_u32..64
    ) {
        let mut pair = Pair::new(400 / slots + 5, slots, 0);
        let mut of: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for owner in order {
            of.entry(owner).or_default().push(pair.swap_out(owner).expect("room for all"));
        }
        for taken in of.values() {
            for pair in taken.windows(2) {
                prop_assert!(pair[1] == pair[0] + 1 || (pair[0] + 1) % slots == 0 && pair[1] % slots == 0, "{pair:?}");
            }
        }
    }
}

/// The share of slots that follow the one before when the area is filled to a part, by groups of equal size in turn.
fn filled(percent: u32) -> (Pair, BTreeMap<u16, Vec<u32>>) {
    let mut pair = Pair::new(64, 256, 4);
    // The header's slot is never free, so its extent stays out.
    pair.area.taken(0);
    pair.model.take(0, 0);
    let mut of: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    for page in 0..64 * 256 * percent / 100 {
        let owner = 1 + (page % 8) as u16;
        let slot = pair.swap_out(owner);
        let slot = slot.unwrap_or_else(|| {
            pair.stock(0);
            *pair.model.used.iter().rfind(|(_, owner)| **owner == 0).expect("a slot of the stock path").0
        });
        of.entry(owner).or_default().push(slot);
    }
    (pair, of)
}

#[test]
fn at_75_percent_all_slots_come_from_extents() {
    let (pair, of) = filled(75);
    assert_eq!(pair.area.nr_refused(), 0);
    let breaks = of.values().flat_map(|taken| taken.windows(2)).filter(|pair| pair[1] != pair[0] + 1).count();
    // Eight groups of six extents.
    assert!(breaks <= 8 * 6, "{breaks} breaks");
}

#[test]
fn at_95_percent_the_stock_path_takes_what_extents_do_not_have() {
    let (pair, of) = filled(95);
    assert!(pair.area.nr_refused() > 0);
    assert!(!pair.area.plenty());
    let distinct: BTreeSet<u32> = of.values().flatten().copied().collect();
    assert_eq!(distinct.len(), of.values().map(Vec::len).sum::<usize>(), "a slot was given twice");
}

#[test]
fn slots_that_were_never_free_stay_out_of_it() {
    let mut pair = Pair::new(4, 8, 0);
    for bad in [0, 17] {
        pair.area.taken(bad);
        pair.model.take(bad, 0);
    }
    for _ in 0..16 {
        let slot = pair.swap_out(1).expect("two extents are whole");
        assert!(slot / 8 != 0 && slot / 8 != 2, "slot {slot}");
    }
    assert_eq!(pair.swap_out(1), None);
}

#[test]
fn the_rest_behind_the_last_extent_is_ignored() {
    let mut area = Area::new(2, 8, 0);
    assert!(area.covers(15) && !area.covers(16));
    area.taken(16);
    area.freed(16);
    area.advance(1, 17);
    assert!(!area.reserved(16));
    assert_eq!(area.nr_free(), 2);
}

#[test]
fn a_late_report_does_not_move_the_cursor_back() {
    let mut area = Area::new(2, 8, 0);
    assert_eq!(area.next(1), Some(0));
    // Two processors report their slots in the other order; a third one of another group has no part in it.
    area.advance(1, 5);
    area.advance(1, 3);
    area.advance(2, 7);
    assert_eq!(area.next(1), Some(5));
}
