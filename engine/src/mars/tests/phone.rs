//! A model of a phone: memory, swap on flash, apps whose hot sets drift, and a kernel that reclaims what was used
//! longest ago.
//!
//! Pages of 4 KiB. Reclaim takes the least recently used page and gives it the next free slot; a fault reads the eight
//! slots around (`vm/page-cluster` 3), and brings in what is there. Costs are those of a Nexus 4 (MARS, tables 1 and
//! 2): a random read, sequential pages behind it, and writes while an app returns, which wait before its reads.
//! Background apps stand still, with the engine and without. Nothing but anonymous memory is modelled: what is free is
//! what is available.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::trial::Arm;

use super::ladder::Tried;
use super::*;

const RANDOM_US: f64 = 585.0;
const NEXT_US: f64 = 4096.0 / (63.0 * 1048576.0) * 1e6;
const WRITE_US: f64 = 4096.0 / (16.0 * 1048576.0) * 1e6;
const CLUSTER: u64 = 8;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Memory { used: u64 },
    Swap { slot: u64 },
}

/// What an app is like.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    pub(super) pages: u64,
    pub(super) hot: BTreeSet<u64>,
}

#[derive(Debug, Clone)]
struct Running {
    profile: Profile,
    places: Vec<Place>,
}

/// What was measured of returns.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) return_us: f64,
    /// Read from flash in returns.
    pub(super) read_pages: u64,
    /// Read by the engine's wish.
    pub(super) ahead_pages: u64,
    pub(super) useful_pages: u64,
    /// Touched in returns while in swap at their begin.
    pub(super) needed_pages: u64,
    /// Written to swap, in returns and between.
    pub(super) written_pages: u64,
}

impl Totals {
    /// Adds what came between two moments.
    pub(super) fn add(&mut self, before: &Self, after: &Self) {
        self.return_us += after.return_us - before.return_us;
        self.read_pages += after.read_pages - before.read_pages;
        self.ahead_pages += after.ahead_pages - before.ahead_pages;
        self.useful_pages += after.useful_pages - before.useful_pages;
        self.needed_pages += after.needed_pages - before.needed_pages;
        self.written_pages += after.written_pages - before.written_pages;
    }
}

/// The phone, with the engine or without.
pub(super) struct Phone {
    machine: Option<Machine>,
    apps: Vec<Running>,
    total_pages: u64,
    /// By time of the last use: application and page.
    lru: BTreeMap<u64, (usize, u64)>,
    slots: BTreeMap<u64, (usize, u64)>,
    slots_end: u64,
    next_slot: u64,
    uses: u64,
    events: Vec<EventKind>,
    returning: bool,
    touched: BTreeSet<u64>,
    /// Returns to each app.
    returns: BTreeMap<usize, u64>,
    /// The trial of the engine; without one it acts.
    pub(super) tried: Option<Tried>,
    pub(super) totals: Totals,
}

fn id(app: usize) -> String {
    format!("a{app}")
}

fn group(app: usize) -> String {
    format!("app-a{app}.scope")
}

fn number(group: &str) -> usize {
    let digits = group.strip_prefix("app-a").and_then(|rest| rest.strip_suffix(".scope")).expect("an app's group");
    digits.parse().expect("a number")
}

/// Adjacent pages as ranges.
fn joined(pages: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for page in pages {
        match ranges.last_mut() {
            Some((first, count)) if *first + *count == page => *count += 1,
            _ => ranges.push((page, 1)),
        }
    }
    ranges
}

impl Phone {
    pub(super) fn new(config: Option<Config>, total_pages: u64, profiles: &[Profile]) -> Self {
        let ids: Vec<String> = (0..profiles.len()).map(id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let machine = config.map(|config| Machine::new(config, &ids));
        let needed: u64 = profiles.iter().map(|profile| profile.pages).sum();
        let mut phone = Self {
            machine,
            apps: Vec::new(),
            total_pages,
            lru: BTreeMap::new(),
            slots: BTreeMap::new(),
            slots_end: needed * 3 / 2,
            next_slot: 0,
            uses: 0,
            events: Vec::new(),
            returning: false,
            touched: BTreeSet::new(),
            returns: BTreeMap::new(),
            tried: None,
            totals: Totals::default(),
        };
        for (app, profile) in profiles.iter().enumerate() {
            phone.apps.push(Running { profile: profile.clone(), places: Vec::new() });
            for page in 0..profile.pages {
                phone.make_room(1);
                phone.apps[app].places.push(Place::Memory { used: 0 });
                phone.touch_in_memory(app, page);
            }
        }
        phone
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.machine.as_ref().map_or(0, |machine| machine.now.at_ns)
    }

    fn free_pages(&self) -> u64 {
        self.total_pages - self.lru.len() as u64
    }

    fn touch_in_memory(&mut self, app: usize, page: u64) {
        if let Place::Memory { used } = self.apps[app].places[page as usize] {
            self.lru.remove(&used);
        }
        self.uses += 1;
        self.lru.insert(self.uses, (app, page));
        self.apps[app].places[page as usize] = Place::Memory { used: self.uses };
    }

    fn write_out(&mut self, app: usize, page: u64) {
        let Place::Memory { used } = self.apps[app].places[page as usize] else { return };
        self.lru.remove(&used);
        while self.slots.contains_key(&self.next_slot) {
            self.next_slot = (self.next_slot + 1) % self.slots_end;
        }
        let slot = self.next_slot;
        self.next_slot = (slot + 1) % self.slots_end;
        self.slots.insert(slot, (app, page));
        self.apps[app].places[page as usize] = Place::Swap { slot };
        self.totals.written_pages += 1;
        if self.returning {
            self.totals.return_us += WRITE_US;
        }
    }

    fn make_room(&mut self, pages: u64) {
        while self.free_pages() < pages {
            // The kernel reclaims 32 pages at a time.
            for _ in 0..32 {
                let Some((_, &(app, page))) = self.lru.first_key_value() else { break };
                self.write_out(app, page);
            }
        }
    }

    fn read_in(&mut self, app: usize, page: u64) {
        if let Place::Swap { slot } = self.apps[app].places[page as usize] {
            self.make_room(1);
            self.slots.remove(&slot);
            self.totals.read_pages += u64::from(self.returning);
            self.touch_in_memory(app, page);
        }
    }

    fn fault(&mut self, app: usize, page: u64) {
        let Place::Swap { slot } = self.apps[app].places[page as usize] else {
            self.touch_in_memory(app, page);
            return;
        };
        let first = slot - slot % CLUSTER;
        let around: Vec<(usize, u64)> = self.slots.range(first..first + CLUSTER).map(|(_, of)| *of).collect();
        if self.returning {
            self.totals.return_us += RANDOM_US + NEXT_US * (around.len() - 1) as f64;
        }
        around.into_iter().for_each(|(app, page)| self.read_in(app, page));
    }

    fn scanned(&self, app: usize) -> EventKind {
        let places = &self.apps[app].places;
        let private =
            joined((0..).zip(places).filter(|(_, at)| matches!(at, Place::Memory { .. })).map(|(page, _)| page));
        let mut swapped: Vec<(u64, u64, u64)> = Vec::new();
        for (page, at) in (0..).zip(places) {
            let Place::Swap { slot } = *at else { continue };
            match swapped.last_mut() {
                Some((first, count, begin)) if *first + *count == page && *begin + *count == slot => *count += 1,
                _ => swapped.push((page, 1, slot)),
            }
        }
        let pages = app_pages(&process(app as u32 + 1, 1), &Self::mapping(&self.apps[app]), &private, &swapped);
        EventKind::Scanned { group: group(app), pages }
    }

    fn mapping(app: &Running) -> Mapping {
        heap(0x1000_0000, app.profile.pages)
    }

    /// One call of the engine after so many milliseconds, and its actions; the time of reads ahead counts as the
    /// return's.
    fn decide(&mut self, ms: u64) {
        let available_mib = self.free_pages() * PAGE / MIB;
        let swap_free_bytes = (self.slots_end - self.slots.len() as u64) * PAGE;
        let Some(machine) = &mut self.machine else { return };
        machine.now.memory.total_bytes = self.total_pages * PAGE;
        machine.now.memory.swap_total_bytes = self.slots_end * PAGE;
        machine.now.memory.swap_free_bytes = swap_free_bytes;
        let events = std::mem::take(&mut self.events);
        let (decision, _) = machine.decide(ms, available_mib, &events);
        let now_ns = machine.now.at_ns;
        let is_held_out = |once: &Once| self.tried.as_ref().is_some_and(|tried| tried.drops(once));
        let outcome = |once: &Once| if is_held_out(once) { Outcome::HeldOut } else { Outcome::Done };
        let performed = |once: &Once| EventKind::Performed { once: once.clone(), outcome: outcome(once) };
        self.events = once(&decision).map(performed).collect();
        let applied: Vec<Once> = once(&decision).filter(|once| !is_held_out(once)).cloned().collect();
        if let Some(tried) = &mut self.tried {
            tried.go_on(now_ns, &decision.requests, &events, &self.totals);
        }
        for once in &applied {
            let app = number(once.group());
            match once {
                Once::PageOut { ranges, .. } => {
                    assert!(!self.returning, "nothing is written during a return");
                    self.each_page(ranges, |phone, page| phone.write_out(app, page));
                }
                Once::PageIn { ranges, .. } => self.read_ahead(app, ranges),
                Once::MapIn { ranges, .. } => self.each_page(ranges, |phone, page| phone.read_in(app, page)),
                _ => {}
            }
        }
        let scans: Vec<usize> =
            self.machine.iter().flat_map(|machine| &machine.needs.scans).map(|group| number(group)).collect();
        for app in scans {
            let scanned = self.scanned(app);
            self.events.push(scanned);
        }
    }

    fn each_page(&mut self, ranges: &[AddressRange], mut each: impl FnMut(&mut Self, u64)) {
        for range in ranges {
            let first = (range.start - 0x1000_0000) / PAGE;
            (first..first + range.size_bytes / PAGE).for_each(|page| each(self, page));
        }
    }

    fn read_ahead(&mut self, app: usize, ranges: &[AddressRange]) {
        let mut last_slot = u64::MAX;
        self.each_page(ranges, |phone, page| {
            let Place::Swap { slot } = phone.apps[app].places[page as usize] else { return };
            let is_next = slot.checked_sub(last_slot).is_some_and(|gap| gap <= CLUSTER);
            phone.totals.return_us += if is_next { NEXT_US } else { RANDOM_US };
            phone.totals.ahead_pages += 1;
            phone.totals.useful_pages += u64::from(phone.touched.contains(&page));
            last_slot = slot;
            phone.read_in(app, page);
        });
    }

    /// The user returns to an app, which touches these pages, and then uses it for that time.
    pub(super) fn returns(&mut self, app: usize, touched: &BTreeSet<u64>, dwell_s: u64) {
        let away: Vec<u64> = {
            let places = (0..).zip(&self.apps[app].places);
            places.filter(|(_, at)| matches!(at, Place::Swap { .. })).map(|(page, _)| page).collect()
        };
        let before = self.totals;
        self.returning = true;
        self.touched.clone_from(touched);
        if let Some(machine) = &mut self.machine {
            let now_ns = machine.now.at_ns;
            for (other, one) in machine.apps.iter_mut().enumerate() {
                one.activity.focused = Some(other == app);
                if other == app {
                    one.activity.front_at_ns = Some(now_ns);
                }
            }
        }
        let nth = self.returns.entry(app).and_modify(|nth| *nth += 1).or_insert(1);
        // As the daemon does: while nothing is read back, scans are left out that only teach.
        let is_scanned =
            self.tried.as_ref().is_none_or(|tried| tried.arm() == Arm::On || *nth <= 2 || nth.is_multiple_of(8));
        let scanned = is_scanned.then(|| self.scanned(app));
        self.events.extend(scanned.into_iter().chain([EventKind::Focused { group: group(app) }]));
        self.decide(1);
        touched.iter().for_each(|page| self.fault(app, *page));
        self.returning = false;
        self.totals.needed_pages += away.iter().filter(|page| touched.contains(page)).count() as u64;
        let pairs = |is_touched: bool| joined(away.iter().copied().filter(|page| touched.contains(page) == is_touched));
        let mapping = Self::mapping(&self.apps[app]);
        let mut returned = returned(&process(app as u32 + 1, 1), &mapping, &pairs(true), &pairs(false));
        returned.read_bytes = Some((self.totals.read_pages - before.read_pages) * PAGE);
        if is_scanned {
            self.events.push(EventKind::Returned { group: group(app), touched: returned });
        }
        // kswapd keeps a hundredth free.
        self.make_room(self.total_pages / 100);
        let mut rest_ms = dwell_s * 1_000;
        while rest_ms > 0 {
            let now_ns = self.machine.as_ref().map_or(0, |machine| machine.now.at_ns);
            let look_ns = self.machine.as_ref().and_then(|machine| machine.look_ns);
            let wait_ms = look_ns.map_or(1_000, |look_ns| look_ns.saturating_sub(now_ns) / 1_000_000);
            let step_ms = if self.events.is_empty() { wait_ms.clamp(100, rest_ms.max(100)) } else { 100 };
            rest_ms = rest_ms.saturating_sub(step_ms);
            self.decide(step_ms);
        }
    }
}
