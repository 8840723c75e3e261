//! What is written out, and in which order.
//!
//! An app is frozen first: what runs reads back what was written (measured: the worst of all policies). Then, of the
//! app that was left longest ago, while memory is short:
//!
//! | part | pages in memory | order | when |
//! |---|---|---|---|
//! | cold | that a return left in swap | by address | memory is short |
//! | unknown | of which nothing is known | by address | severely short for five seconds, all cold parts are out, and *lost* |
//! | hot | that returns touch | by address, which makes one stretch of slots: the order of reading | the same, last |
//!
//! *Lost*: the last returns of the app, when the kernel alone had decided, found half of its hot set in swap. Where the
//! kernel keeps hot sets (memory is merely tight), this engine keeps them too; where it does not, they are written in
//! order rather than scattered. Hot sets that this engine wrote out are no evidence: after three such returns it is
//! seen anew. A hot set that is needed within a minute begins a back-off, which doubles each time, up to an hour.
//!
//! Nothing is known of an app before its first return from swap: its memory is left to the kernel, and its first return
//! costs what it costs without this engine.
//!
//! One action writes for a second at the most, one at a time, so that a return has no long write in its way; a scan
//! then tells what it left. Written pages may stay in the swap cache: the group is asked
//! to free what it is still charged with of them.
//!
//! Properties: `the_parts_of_an_app_are_disjoint_and_complete`; `hot_pages_go_last_and_unknown_ones_are_the_kernels`;
//! `an_app_that_is_not_frozen_is_not_written_out`; `what_a_page_out_left_is_not_written_again`.

use brisk_core::action::{AddressRange, Once};
use brisk_core::decision::{Objective, Request};
use brisk_core::pages::AppPages;
use brisk_core::reason::Reason;
use serde::{Deserialize, Serialize};

use crate::mars::apps::Candidate;
use crate::mars::config::Config;
use crate::mars::learned::AppMemory;
use crate::mars::live::virtual_pages;
use crate::mars::observe;
use crate::mars::pressure::Need;
use crate::mars::{Group, LiveProcess, Out, S_NS, State};

/// Less is not worth an action.
const OUT_BYTES_MIN: u64 = 1 << 20;
/// A running app's pages are as scanned for this time.
const SCAN_NS_MAX: u64 = 60 * S_NS;
/// Apps that are scanned in one round.
const SCANS_MAX: usize = 2;
/// How long memory is severely short before hot pages go.
const HOT_AFTER_NS: u64 = 5 * S_NS;
/// How long memory is short before an app of which nothing is written is frozen.
const FREEZE_AFTER_NS: u64 = 2 * S_NS;
/// An app keeps its hot set for so many times the grace time.
const HOT_GRACE_TIMES: u64 = 4;
/// Share of the hot set that is lost anyway.
pub(crate) const LOST_MIN: f64 = 0.5;

/// A part of an app's private memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Returns left it in swap.
    Cold,
    Unknown,
    /// Returns touch it.
    Hot,
}

impl Part {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Unknown => "unknown",
            Self::Hot => "hot",
        }
    }
}

/// Private pages in memory that can be swapped, by part, each by process and address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// By the order of [`Part`].
    ranges: [Vec<AddressRange>; 3],
}

impl Parts {
    #[must_use]
    pub fn of(pages: &AppPages, live: &[LiveProcess], repeat: f64, hot_min_percent: f64) -> Self {
        let mut parts = Self::default();
        for process in &pages.processes {
            let heats = live.iter().find(|one| one.process == process.process).map(|one| &one.heats);
            let pid = process.process.pid;
            for of in process.mappings.iter().filter(|of| of.mapping.swappable) {
                for range in &of.private {
                    let range = virtual_pages(&of.mapping, *range, pages.page_bytes);
                    let whole = heats.is_none().then_some((range, None));
                    let split = heats.into_iter().flat_map(|heats| heats.split(range));
                    for (part, heat) in whole.into_iter().chain(split) {
                        let kind = match heat.map(|heat| heat.chance(repeat)) {
                            None => Part::Unknown,
                            Some(chance) if chance * 100.0 >= hot_min_percent => Part::Hot,
                            Some(_) => Part::Cold,
                        };
                        let start = part.first_page.saturating_mul(pages.page_bytes);
                        let size_bytes = part.pages.saturating_mul(pages.page_bytes);
                        parts.push(kind, AddressRange { pid, start, size_bytes });
                    }
                }
            }
        }
        parts
    }

    fn push(&mut self, part: Part, range: AddressRange) {
        let ranges = &mut self.ranges[part as usize];
        match ranges.last_mut() {
            Some(last) if last.pid == range.pid && last.start.saturating_add(last.size_bytes) == range.start => {
                last.size_bytes = last.size_bytes.saturating_add(range.size_bytes);
            }
            _ => ranges.push(range),
        }
    }

    #[must_use]
    pub fn ranges(&self, part: Part) -> &[AddressRange] {
        &self.ranges[part as usize]
    }

    #[must_use]
    pub fn bytes(&self, part: Part) -> u64 {
        self.ranges(part).iter().map(|range| range.size_bytes).fold(0, u64::saturating_add)
    }
}

/// The first `most_bytes` of some ranges, in whole pages.
#[must_use]
pub fn first_bytes(ranges: &[AddressRange], most_bytes: u64, page_bytes: u64) -> Vec<AddressRange> {
    let mut rest_bytes = most_bytes - most_bytes % page_bytes.max(1);
    let take = |range: &AddressRange| {
        let size_bytes = range.size_bytes.min(rest_bytes);
        rest_bytes -= size_bytes;
        (size_bytes > 0).then_some(AddressRange { size_bytes, ..*range })
    };
    ranges.iter().map_while(take).collect()
}

/// The parts of a group at its last scan, where that still holds.
pub(crate) fn parts(config: &Config, group: &Group, known: Option<&AppMemory>) -> Option<Parts> {
    let scan = group.fresh_scan()?;
    let repeat = known.map_or(0.0, |known| known.repeat);
    Some(Parts::of(&scan.pages, &group.live, repeat, config.hot_min_percent))
}

/// One round of writing out.
pub(crate) struct Round<'a> {
    pub(crate) config: &'a Config,
    pub(crate) next: &'a mut State,
    pub(crate) all: &'a [Candidate<'a>],
    pub(crate) need: Need,
    pub(crate) swap_free_bytes: u64,
    pub(crate) requests: &'a mut Vec<Request>,
    pub(crate) notes: &'a mut Vec<Reason>,
}

impl Round<'_> {
    /// Frees the rest of what was written from the swap cache: as much as the group is still charged with, and no more,
    /// or the kernel would take hot pages.
    pub(crate) fn settle(&mut self) {
        for one in self.all.iter().filter(|one| one.spared.is_none()) {
            let Some(group) = self.next.groups.get_mut(&one.app.group) else { continue };
            let Some(out) = group.settles.take() else { continue };
            let charged_bytes = one.totals.and_then(|totals| totals.memory_bytes);
            let Some((before_bytes, now_bytes)) = out.charged_bytes.zip(charged_bytes) else { continue };
            let size_bytes = out.bytes.saturating_sub(before_bytes.saturating_sub(now_bytes));
            if size_bytes >= OUT_BYTES_MIN {
                let reason = Reason::rule("written_pages_leave_the_swap_cache").word("app", &one.app.id);
                let once = Once::Reclaim { group: one.app.group.clone(), size_bytes };
                self.requests.push(Request::once(once, Objective::Delay, reason));
            }
        }
    }

    /// Writes out what is short, or prepares that: freezes, asks for scans.
    pub(crate) fn free(&mut self) {
        let most_bytes = self.most_bytes();
        if self.next.groups.values().any(|group| group.out.is_some()) {
            return;
        }
        if most_bytes < OUT_BYTES_MIN {
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            let mut reason = self.need.reason("nothing_may_be_written");
            reason = reason.number("swap_free_mib", mib(self.swap_free_bytes));
            if let Some(left_bytes) = self.config.wear.left_bytes {
                reason = reason.number("wear_left_mib", mib(left_bytes));
            }
            self.notes.push(reason);
            return;
        }
        let is_hot_due = self.need.is_severe() && self.short_for(HOT_AFTER_NS);
        let parts: &[Part] = if is_hot_due { &[Part::Cold, Part::Unknown, Part::Hot] } else { &[Part::Cold] };
        let free: Vec<&Candidate<'_>> = self.all.iter().filter(|one| self.is_due(one)).collect();
        if self.ask_for_scans(&free) {
            return;
        }
        for part in parts {
            for one in &free {
                if self.write(one, *part, most_bytes) {
                    return;
                }
            }
        }
        if self.short_for(FREEZE_AFTER_NS)
            && let Some(one) = free.iter().find(|one| self.may_freeze(one))
        {
            self.freeze(one, "memory_is_short");
        }
    }

    fn short_for(&self, span_ns: u64) -> bool {
        self.next.short_since_ns.is_some_and(|since_ns| self.next.at_ns.saturating_sub(since_ns) >= span_ns)
    }

    /// What one action may write: a second of writing, what is short, what is left of the day and of swap.
    fn most_bytes(&self) -> u64 {
        let second_bytes = (self.config.speeds().write_mib_per_s * f64::from(1 << 20)) as u64;
        let of_swap = self.swap_free_bytes.saturating_sub(OUT_BYTES_MIN);
        let wanted_bytes = self.need.short_bytes.max(OUT_BYTES_MIN);
        wanted_bytes.min(second_bytes.max(OUT_BYTES_MIN)).min(self.budget_bytes()).min(of_swap)
    }

    pub(crate) fn budget_bytes(&self) -> u64 {
        self.config.wear.left_bytes.unwrap_or(u64::MAX)
    }

    fn is_due(&self, one: &Candidate<'_>) -> bool {
        let of = self.next.groups.get(&one.app.group);
        let waits = of.and_then(|of| of.left_alone_until_ns).is_some_and(|until_ns| self.next.at_ns < until_ns);
        one.spared.is_none() && of.is_some() && !waits
    }

    /// Asks for scans of the first apps without one; says whether the very first one is among them.
    fn ask_for_scans(&mut self, free: &[&Candidate<'_>]) -> bool {
        let now_ns = self.next.at_ns;
        let lacks = |one: &Candidate<'_>| {
            let of = self.next.groups.get(&one.app.group);
            let scan = of.and_then(Group::fresh_scan);
            let frozen_ns = self.next.frozen.get(&one.app.group).copied();
            let is_still = frozen_ns.is_some() || one.app.activity.frozen == Some(true);
            // What ran between the scan and the freeze has other pages in memory by now.
            let ran_since = |at_ns: u64| frozen_ns.is_some_and(|frozen_ns| at_ns < frozen_ns);
            scan.is_none_or(|scan| {
                ran_since(scan.at_ns) || (!is_still && now_ns.saturating_sub(scan.at_ns) > SCAN_NS_MAX)
            })
        };
        let wanted = free.iter().enumerate().filter(|(_, one)| lacks(one)).take(SCANS_MAX);
        let wanted: Vec<(usize, String)> = wanted.map(|(at, one)| (at, one.app.group.clone())).collect();
        let first = wanted.first().map(|(at, _)| *at);
        self.next.scans.extend(wanted.into_iter().map(|(_, group)| group));
        first == Some(0)
    }

    /// Writes a part of an app, or freezes the app for that. Says whether either was requested.
    fn write(&mut self, one: &Candidate<'_>, part: Part, most_bytes: u64) -> bool {
        let Some(group) = self.next.groups.get_mut(&one.app.group) else { return false };
        let known = self.next.learned.app(&group.id);
        let Some(parts) = parts(self.config, group, known) else { return false };
        if let Some(out) = group.last_out
            && !observe::judge(group, parts.bytes(out.part), self.next.at_ns)
        {
            let reason = Reason::rule("page_out_left_its_pages").word("app", &one.app.id);
            self.notes.push(reason.word("part", out.part.name()));
            return false;
        }
        let before_bytes = parts.bytes(part);
        if before_bytes < OUT_BYTES_MIN
            || (part != Part::Cold && !may_lose(self.config, group, known, one, self.next.at_ns))
        {
            return false;
        }
        if self.config.freeze && !self.is_still(one) {
            let may_freeze = self.may_freeze(one);
            if may_freeze {
                self.freeze(one, "frozen_before_page_out");
            }
            return may_freeze;
        }
        let page_bytes = self.next.groups[&one.app.group].fresh_scan().map_or(1, |scan| scan.pages.page_bytes);
        let ranges = first_bytes(parts.ranges(part), most_bytes, page_bytes);
        self.request(one, part, ranges, before_bytes, Objective::Delay);
        true
    }

    /// Requests a page-out.
    pub(crate) fn request(
        &mut self,
        one: &Candidate<'_>,
        part: Part,
        ranges: Vec<AddressRange>,
        before_bytes: u64,
        objective: Objective,
    ) {
        let bytes = ranges.iter().map(|range| range.size_bytes).fold(0, u64::saturating_add);
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let away_s = self.next.at_ns.saturating_sub(one.left_ns) as f64 / 1e9;
        let reason = self.need.reason("least_recent_app").word("app", &one.app.id).word("part", part.name());
        let reason = reason.number("part_mib", mib(before_bytes)).number("away_s", away_s);
        let once = Once::PageOut { group: one.app.group.clone(), ranges };
        self.requests.push(Request::once(once, objective, reason));
        if let Some(group) = self.next.groups.get_mut(&one.app.group) {
            let charged_bytes = one.totals.and_then(|totals| totals.memory_bytes);
            group.out = Some(Out { at_ns: self.next.at_ns, bytes, before_bytes, charged_bytes, part });
        }
    }

    fn is_still(&self, one: &Candidate<'_>) -> bool {
        one.app.activity.frozen == Some(true) || self.next.frozen.contains_key(&one.app.group)
    }

    pub(crate) fn may_freeze(&self, one: &Candidate<'_>) -> bool {
        let of = self.next.groups.get(&one.app.group);
        let refused = of.is_some_and(|of| of.no_freeze.is_on(self.next.at_ns));
        self.config.freeze && one.may_be_frozen() && !self.is_still(one) && !refused
    }

    pub(crate) fn freeze(&mut self, one: &Candidate<'_>, rule: &'static str) {
        let group = one.app.group.clone();
        let reason = self.need.reason(rule).word("app", &one.app.id);
        self.next.frozen.insert(group.clone(), self.next.at_ns);
        self.requests.push(Request::once(Once::Freeze { group }, Objective::Delay, reason));
    }
}

/// Whether the hot set of an app may go: the kernel does not keep it either, and the app was left long ago.
fn may_lose(config: &Config, group: &Group, known: Option<&AppMemory>, one: &Candidate<'_>, now_ns: u64) -> bool {
    let grace_ns = config.grace_s.saturating_mul(HOT_GRACE_TIMES).saturating_mul(S_NS);
    known.and_then(|known| known.lost).is_some_and(|lost| lost >= LOST_MIN)
        && now_ns.saturating_sub(one.left_ns) >= grace_ns
        && !group.regrets.is_on(now_ns)
}
