//! `mode = "adaptive"`: takes what is short, where it costs least, and only as long as that helps.
//!
//! Steps, least harm first; a later one is taken for what the earlier ones do not give:
//!
//! | step | action | when |
//! |---|---|---|
//! | free caches | `DropPageCache` | memory is short |
//! | reclaim | `Reclaim`, 16 MiB at a time | and there is swap |
//! | page out | `PageOut` of all of an app, where its group has no memory controller or reclaim was refused | and there is swap |
//! | freeze | `Freeze` | short for two seconds; thawed when the app is needed, or memory is not short |
//! | end | `EndApp`, one at a time | short for three seconds, or the kernel has ended a process, and severe ([`Need::is_severe`]); or without swap, when apps have waited for longer than the end costs, or a launch is likely to fail ([`crate::iram::price`], [`crate::iram::launch`]) |
//!
//! An app that is ended for a launch has 200 ms to end by itself ([`crate::iram::launch::GRACE_MS`]), and none when the
//! launch takes what is available before; the grace time of one that was asked before is shortened then. Rounds follow
//! each other after 50 ms meanwhile.
//!
//! The first three are one: what of them does not help begins a back-off of all ([`crate::iram::effect`]). An app that
//! comes back within a minute of its end begins one of ends, and doubles their price. Caches of likely next apps stay:
//! reclaim of clean pages takes the kernel a microsecond each, and their return reads them from flash.

use std::collections::BTreeMap;

use brisk_core::action::Once;
use brisk_core::app::Role;
use brisk_core::decision::{Decision, Needs, Objective, Observed, Request};
use brisk_core::event::EventKind;
use brisk_core::reason::Reason;
use brisk_core::snapshot::{Interval, MemoryLevels};

use crate::iram::candidates::{self, Candidate, Step};
use crate::kit::check::share_bytes;

use crate::iram::config::Config;
use crate::iram::effect::{Sight, refault_pages};
use crate::iram::launch::{Danger, Launch};
use crate::iram::schedule::{self, Demand, Need, S_NS};
use crate::iram::{Outlooks, Pending, State, heap, launch, limits, observe, price};

const MS_NS: u64 = 1_000_000;
/// Least time between two rounds of freeing.
const FREE_NS_MIN: u64 = S_NS / 2;
/// Memory that one action reclaims: flash writes 16 MB/s, and the daemon waits for it.
const RECLAIM_BYTES_MAX: u64 = 16 << 20;
const RECLAIM_BYTES_MIN: u64 = 1 << 20;
/// Actions of one step in one round.
const ACTIONS_MAX: usize = 4;
/// An app of which reclaim was refused up to this time ago is paged out instead.
const RECLAIM_FAILED_NS: u64 = 30 * S_NS;
/// Part of its memory that one action takes from an app.
const PART: u64 = 2;
/// Part of what is reclaimed that was anonymous: caches count as available before.
const ANON_PART: u64 = 2;
/// Caches in the memory of a background app: a seventh.
const CACHE_PART: u64 = 7;
/// An app with less is not worth its end.
const END_BYTES_MIN: u64 = 8 << 20;
/// Least shortage that thrashing stands for.
const THRASH_STEP_PERCENT: f64 = 2.0;
/// How long memory is short before an app is frozen, and before one is ended.
const FREEZE_AFTER_NS: u64 = 2 * S_NS;
const END_AFTER_NS: u64 = 3 * S_NS;
/// An out-of-memory kill counts for this time.
const OUT_OF_MEMORY_NS: u64 = 10 * S_NS;
/// How long limits stay after memory was short.
const LIMITS_NS: u64 = 30 * S_NS;
/// Length of a launch that is predicted.
const LAUNCH_NS: u64 = 20 * S_NS;
/// A return to an app that runs reads back this part of its memory (measured: typically a tenth, and files).
const RETURN_PART: u64 = 8;

pub(crate) fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
    let now_ns = observed.now.at_ns;
    let mut next = State { at_ns: now_ns, ..state };
    observe::take(&mut next, observed);
    // Rates across a suspend are void.
    let void = observed.events.iter().any(|event| matches!(event.kind, EventKind::Resumed { .. }));
    let previous = observed.previous.filter(|_| !void);
    let mut interval = previous.and_then(|previous| observed.now.since(previous));
    let memory = &observed.now.memory;
    if let Some((previous, interval)) = previous.zip(interval.as_ref()) {
        follow_trend(&mut next, &previous.memory, memory, interval);
    }
    let outlook = next.outlook(observed.now);
    let all = candidates::all(config, now_ns, observed.apps, &observed.now.apps, memory, |id| outlook.of(id));
    let launching = observed.apps.iter().any(|app| app.launching);
    follow_growth(&mut next, &all);
    let stall = interval.as_ref().and_then(|interval| interval.pressure.memory).unwrap_or_default();
    if let Some(interval) = &mut interval {
        next.stalls.follow(interval.elapsed_ns, stall.some_percent, stall.full_percent.unwrap_or(0.0));
        if let Some(memory) = &mut interval.pressure.memory {
            memory.some_percent = next.stalls.some_percent;
            memory.full_percent = memory.full_percent.map(|_| next.stalls.full_percent);
        }
    }
    let needs = needs(&next, &all);
    let mut need = need(config, &next, &all, (&outlook, &needs), memory, interval.as_ref());
    let elapsed_s = interval.as_ref().map_or(0.0, |interval| interval.elapsed_ns as f64 / 1e9);
    let may_thrash = may_thrash(config, &need, memory.total_bytes);
    next.paid.take(elapsed_s, if may_thrash { stall.some_percent / 100.0 * elapsed_s } else { 0.0 });
    let thrashes = may_thrash && next.paid.is_thrashing();
    // With swap, a launch that does not fit swaps.
    let launches = if need.has_swap() { Vec::new() } else { seen(launches(&next, &all)).collect() };
    let danger = Danger { launches, needs, available_bytes: need.available_bytes, may_end: may_thrash };
    let is_unseen = |one: &Candidate<'_>| one.app.launching && one.memory_bytes.is_none();
    let is_watched = danger.is_watched() || (may_thrash && all.iter().any(is_unseen));
    if thrashes {
        need.short_bytes = need.short_bytes.max(share_bytes(memory.total_bytes, THRASH_STEP_PERCENT));
    }
    let sight = Sight {
        at_ns: now_ns,
        available_bytes: need.available_bytes,
        falls_bytes_per_s: next.falls_bytes_per_s,
        refault_pages: refault_pages(&observed.now.paging),
        refaults_per_s: interval.as_ref().and_then(|interval| interval.paging.refault_file_pages_per_s).map(|file| {
            file + interval.as_ref().and_then(|interval| interval.paging.refault_anon_pages_per_s).unwrap_or(0.0)
        }),
        launching,
    };
    let mut notes: Vec<Reason> = next.effect.judge(config.retry_after_s, &sight).into_iter().collect();

    let is_short = need.short_bytes > 0;
    next.short_since_ns = is_short.then(|| next.short_since_ns.unwrap_or(now_ns));
    next.short_ns = if is_short { Some(now_ns) } else { next.short_ns };
    let mut requests = thaw(config, &mut next, &all, is_short);
    let is_asleep = next.context.is_screen_off();
    let is_paced = next.freed_ns.is_some_and(|freed_ns| now_ns.saturating_sub(freed_ns) < FREE_NS_MIN);
    if is_short && !is_asleep && (!is_paced || danger.chance(0) > 0.0) {
        let mut round = Round {
            config,
            need,
            sight,
            thrashes,
            danger,
            next: &mut next,
            requests: &mut requests,
            planned_bytes: 0,
            wear_left_bytes: config.wear.left_bytes.unwrap_or(u64::MAX),
        };
        round.free(&all);
    }
    let limits_hold = next.short_ns.is_some_and(|short_ns| now_ns.saturating_sub(short_ns) < LIMITS_NS);
    if config.limits && limits_hold && !is_asleep {
        let threshold = |group: &str| next.groups.get(group)?.threshold_bytes;
        requests.extend(limits::requests(&all, memory.total_bytes, &next.refused, threshold));
    }
    if let Some(until_ns) = next.effect.back_off.until_ns.filter(|until_ns| now_ns < *until_ns && is_short) {
        let rest_s = ((until_ns - now_ns) / S_NS) as f64;
        notes.push(need.reason("short_in_back_off").number("left_alone_s", rest_s));
    }
    let is_busy =
        thrashes || launching || next.effect.is_watched() || !next.ends.pending.is_empty() || !next.frozen.is_empty();
    let mut look_ns = schedule::next_look_ns(&next.context, &need, next.falls_bytes_per_s, is_busy, now_ns);
    if is_watched {
        let soon_ns = now_ns.saturating_add(launch::ROUND_NS);
        look_ns = look_ns.map(|look_ns| look_ns.min(soon_ns));
    }
    Decision { state: next, requests, notes, next_look_ns: look_ns, needs: Needs::default() }
}

/// Follows how fast available memory falls. An interval in which memory was taken says nothing about that.
fn follow_trend(next: &mut State, before: &MemoryLevels, now: &MemoryLevels, interval: &Interval) {
    let begun_ns = next.at_ns.saturating_sub(interval.elapsed_ns);
    if next.freed_ns.is_some_and(|freed_ns| freed_ns >= begun_ns) {
        return;
    }
    let fell_bytes = schedule::available_bytes(before) as f64 - schedule::available_bytes(now) as f64;
    next.falls_bytes_per_s = schedule::trend(next.falls_bytes_per_s, fell_bytes, interval.elapsed_ns as f64 / 1e9);
}

/// Follows how the memory of launches grows; what is not charged to a group is not sampled often enough for that.
fn follow_growth(next: &mut State, all: &[Candidate<'_>]) {
    let at_ns = next.at_ns;
    for one in all {
        let Some(known) = next.groups.get_mut(&one.app.group) else { continue };
        match one.memory_bytes.filter(|_| one.app.launching && one.has_controller) {
            Some(memory_bytes) => known.growth.follow(at_ns, memory_bytes),
            None => known.growth = launch::Growth::default(),
        }
    }
}

fn launches<'a>(state: &'a State, all: &'a [Candidate<'a>]) -> impl Iterator<Item = (&'a Candidate<'a>, Launch)> {
    let of = |one: &'a Candidate<'a>| {
        let growth = state.groups.get(&one.app.group).map(|known| known.growth).unwrap_or_default();
        let launch = Launch {
            memory_bytes: one.memory_bytes.unwrap_or(0),
            known_bytes: state.learned.peak_bytes(&one.app.owned_id(), LAUNCH_NS),
            growth,
        };
        (one, launch)
    };
    all.iter().filter(|one| one.app.launching).map(of)
}

/// Those whose memory is known. Of the others it is unknown, too, from where it comes.
fn seen<'a>(launches: impl Iterator<Item = (&'a Candidate<'a>, Launch)>) -> impl Iterator<Item = Launch> {
    launches.filter(|(one, _)| one.memory_bytes.is_some()).map(|(_, launch)| launch)
}

/// Needs of all known apps, those that are launched left out, or the default; empty when there is no launch that they
/// would be for.
pub(crate) fn needs(state: &State, all: &[Candidate<'_>]) -> Vec<u64> {
    if launches(state, all).all(|(_, launch)| launch.known_bytes.is_some()) {
        return Vec::new();
    }
    let known = state.learned.heap.predicted_peaks(LAUNCH_NS).map(|(owned_id, bytes)| (owned_id.to_owned(), bytes));
    let mut needs: BTreeMap<String, u64> = known.collect();
    for one in all.iter().filter(|one| one.app.activity.role == Role::App) {
        if let Some(memory_bytes) = one.memory_bytes {
            let need = needs.entry(one.app.owned_id()).or_default();
            *need = memory_bytes.max(*need);
        }
    }
    for one in all.iter().filter(|one| one.app.launching) {
        needs.remove(&one.app.owned_id());
    }
    if needs.is_empty() { vec![heap::DEFAULT_BYTES] } else { needs.into_values().collect() }
}

/// What is wanted: for launches that go on, for the next one, and in any case.
pub(crate) fn need(
    config: &Config,
    state: &State,
    all: &[Candidate<'_>],
    (outlook, needs): (&Outlooks, &[u64]),
    memory: &MemoryLevels,
    interval: Option<&Interval>,
) -> Need {
    let known_peak = |id: &str| state.learned.peak_bytes(id, LAUNCH_NS);
    let peak_bytes = |id: &str| known_peak(id).unwrap_or(heap::DEFAULT_BYTES);
    let sum = |known_only: bool| {
        let launches = seen(launches(state, all)).filter(|launch| !known_only || launch.known_bytes.is_some());
        launches.map(|launch| launch.rest_bytes(needs)).fold(0, u64::saturating_add)
    };
    let (launch_bytes, known_launch_bytes) = (sum(false), sum(true));
    let likely = outlook.likeliest(config.protected_apps).map(|(id, chance)| {
        let running = all.iter().filter(|one| one.app.owned_id() == id).filter_map(|one| one.memory_bytes).max();
        (chance, running.map_or_else(|| peak_bytes(id), |memory_bytes| memory_bytes / RETURN_PART))
    });
    let reserve_bytes = schedule::front_reserve_bytes(config, memory.total_bytes, likely);
    let demand = Demand { reserve_bytes, launch_bytes, known_launch_bytes };
    schedule::need(config, memory, interval, state.falls_bytes_per_s, demand)
}

/// Whether stalls tell that files of programs do not fit: without swap, and while no more is available than is ever
/// kept. With more, they are those of one group under its own limit.
fn may_thrash(config: &Config, need: &Need, total_bytes: u64) -> bool {
    !need.has_swap() && need.available_bytes < share_bytes(total_bytes, config.reserve_max_percent)
}

/// Lets apps run again that are needed, or for which there is memory again: then one in each call, the likeliest first.
fn thaw(config: &Config, next: &mut State, all: &[Candidate<'_>], is_short: bool) -> Vec<Request> {
    let of_group = |group: &str| all.iter().find(|one| one.app.group == group);
    let is_needed = |group: &str| {
        let Some(one) = of_group(group) else { return true };
        let again = all.iter().any(|other| other.app.launching && other.app.owned_id() == one.app.owned_id());
        again || !one.allows(config, Step::Freeze)
    };
    let mut thawed: Vec<(String, &'static str)> = next
        .frozen
        .keys()
        .filter(|group| is_needed(group))
        .map(|group| (group.clone(), "frozen_app_is_needed"))
        .collect();
    if thawed.is_empty() && !is_short {
        let chance = |group: &String| of_group(group).map_or(0.0, |one| one.chance);
        let likeliest = next.frozen.keys().max_by(|a, b| chance(a).total_cmp(&chance(b)).then_with(|| b.cmp(a)));
        thawed.extend(likeliest.map(|group| (group.clone(), "memory_is_not_short")));
    }
    crate::kit::thaw(&mut next.frozen, thawed)
}

struct Round<'a> {
    config: &'a Config,
    need: Need,
    sight: Sight,
    /// Without swap, files of programs are read again and again.
    thrashes: bool,
    /// What launches that go on mean.
    danger: Danger,
    next: &'a mut State,
    requests: &'a mut Vec<Request>,
    /// Memory that the steps make available.
    planned_bytes: u64,
    /// What may still be written to swap.
    wear_left_bytes: u64,
}

impl Round<'_> {
    fn free(&mut self, all: &[Candidate<'_>]) {
        let before = self.requests.len();
        // What was asked to end frees its memory soon.
        self.planned_bytes = self.next.ends.pending.values().map(|pending| pending.memory_bytes).sum();
        let is_left_alone = self.next.effect.back_off.is_on(self.sight.at_ns);
        let mut taken_bytes = 0;
        for step in Step::ALL {
            match step {
                Step::FreeCaches | Step::Reclaim | Step::PageOut if is_left_alone => {}
                Step::FreeCaches => self.free_caches(all),
                Step::Reclaim | Step::PageOut if !self.need.has_swap() => {}
                Step::Reclaim | Step::PageOut => taken_bytes += self.reclaim(all, step),
                Step::Freeze => self.freeze(all),
                Step::End => self.end(all),
            }
        }
        if taken_bytes > 0 {
            self.next.effect.took(&self.sight, taken_bytes);
        }
        if self.requests.len() > before {
            self.next.freed_ns = Some(self.sight.at_ns);
        }
    }

    fn is_covered(&self) -> bool {
        self.planned_bytes >= self.need.short_bytes
    }

    fn short_for(&self, span_ns: u64) -> bool {
        self.next.short_since_ns.is_some_and(|since_ns| self.sight.at_ns.saturating_sub(since_ns) >= span_ns)
    }

    /// Candidates for `step` that it was not done to a moment ago.
    fn due<'b, 'c>(&self, all: &'b [Candidate<'c>], step: Step) -> Vec<&'b Candidate<'c>> {
        let reclaim_failed = |group: &String| {
            let refused_ns = self.next.groups.get(group).and_then(|known| known.reclaim_refused_ns);
            refused_ns.is_some_and(|at_ns| self.sight.at_ns.saturating_sub(at_ns) < RECLAIM_FAILED_NS)
        };
        let is_due = |one: &&Candidate<'_>| {
            let group = &one.app.group;
            let in_place = step == Step::PageOut && reclaim_failed(group) && one.may_be_paged_out(self.config);
            (in_place || one.allows(self.config, step))
                && !self.next.waits_for(group, step)
                && !self.next.ends.pending.contains_key(group)
        };
        let mut due: Vec<&Candidate<'_>> = all.iter().filter(is_due).collect();
        if step == Step::End {
            // Stable: without preferences the order stays.
            due.sort_by_key(|one| one.end_place());
        }
        due
    }

    fn request(&mut self, one: &Candidate<'_>, step: Step, once: Once, repeat_s: u64) {
        let facts = if step == Step::End { one.facts_of_end(step.name()) } else { one.facts(step.name()) };
        let reason = facts.number("short_mib", self.need.short_bytes as f64 / f64::from(1 << 20));
        self.requests.push(Request::once(once, Objective::Delay, reason));
        let until_ns = self.sight.at_ns.saturating_add(repeat_s * S_NS);
        self.next.waits.insert((one.app.group.clone(), step), until_ns);
    }

    /// Caches count as available already: what is freed spares a launch the reclaim, and makes nothing available.
    fn free_caches(&mut self, all: &[Candidate<'_>]) {
        let mut freed_bytes = 0;
        for one in self.due(all, Step::FreeCaches).into_iter().take(ACTIONS_MAX) {
            if freed_bytes >= self.need.short_bytes {
                break;
            }
            freed_bytes += one.memory_bytes.unwrap_or(0) / CACHE_PART;
            self.request(one, Step::FreeCaches, Once::DropPageCache { group: one.app.group.clone() }, 30);
        }
    }

    fn reclaim(&mut self, all: &[Candidate<'_>], step: Step) -> u64 {
        let before_bytes = self.planned_bytes;
        for one in self.due(all, step).into_iter().take(ACTIONS_MAX) {
            let rest_bytes = self.need.short_bytes.saturating_sub(self.planned_bytes);
            if rest_bytes == 0 {
                break;
            }
            let group = one.app.group.clone();
            let part_bytes = one.memory_bytes.unwrap_or(0) / PART;
            if step == Step::PageOut {
                let all_bytes = one.memory_bytes.unwrap_or(0);
                if all_bytes > self.wear_left_bytes {
                    continue;
                }
                self.wear_left_bytes -= all_bytes;
                self.planned_bytes += part_bytes;
                self.request(one, step, Once::PageOut { group, ranges: Vec::new() }, 60);
                continue;
            }
            let size_bytes = rest_bytes.saturating_mul(ANON_PART).min(part_bytes).min(RECLAIM_BYTES_MAX);
            let size_bytes = size_bytes.min(self.wear_left_bytes);
            if size_bytes < RECLAIM_BYTES_MIN {
                continue;
            }
            self.wear_left_bytes -= size_bytes;
            self.planned_bytes += size_bytes / ANON_PART;
            self.request(one, step, Once::Reclaim { group, size_bytes }, 1);
        }
        self.planned_bytes - before_bytes
    }

    /// What runs reads back what was reclaimed.
    fn freeze(&mut self, all: &[Candidate<'_>]) {
        if !self.short_for(FREEZE_AFTER_NS) {
            return;
        }
        for one in self.due(all, Step::Freeze).into_iter().take(ACTIONS_MAX) {
            let group = one.app.group.clone();
            if self.next.frozen.insert(group.clone(), self.sight.at_ns).is_none() {
                self.request(one, Step::Freeze, Once::Freeze { group }, 5);
            }
        }
    }

    fn end(&mut self, all: &[Candidate<'_>]) {
        self.hasten(all);
        while self.end_one(all) {}
    }

    /// Leaves less time to apps that were asked to end, when a launch takes what is available before they have to.
    fn hasten(&mut self, all: &[Candidate<'_>]) {
        let now_ns = self.sight.at_ns;
        let grace_ms = self.danger.grace_ms(self.config);
        let until_ns = now_ns.saturating_add(grace_ms.saturating_mul(MS_NS));
        for one in all {
            let is_still_away = one.allows(self.config, Step::End) || one.may_end_for_launch(self.config);
            let Some(pending) = self.next.ends.pending.get_mut(&one.app.group).filter(|_| is_still_away) else {
                continue;
            };
            let rest_ns = pending.until_ns.saturating_sub(now_ns);
            if until_ns < pending.until_ns && self.danger.runs_out_within(rest_ns) {
                pending.until_ns = until_ns;
                self.request(one, Step::End, one.end(grace_ms), 60);
            }
        }
    }

    /// The app that may be ended although it was in front a moment ago, for a launch that will not fit: not the one
    /// before, to which half of the returns are.
    fn lately_in_front<'b, 'c>(&self, all: &'b [Candidate<'c>]) -> Option<&'b Candidate<'c>> {
        let others = || all.iter().filter(|one| one.app.activity.role == Role::App && !one.app.launching);
        let in_front = |one: &&Candidate<'_>| (one.app.activity.focused == Some(true), one.app.activity.front_at_ns);
        let before = others().max_by_key(in_front)?;
        others().find(|one| {
            one.may_end_for_launch(self.config)
                && one.app.group != before.app.group
                && is_worth_an_end(one)
                && !self.next.waits_for(&one.app.group, Step::End)
                && !self.next.ends.pending.contains_key(&one.app.group)
        })
    }

    /// Ends the app that costs least, if that is worth it.
    fn end_one(&mut self, all: &[Candidate<'_>]) -> bool {
        let now_ns = self.sight.at_ns;
        let kernel_ends =
            self.next.context.out_of_memory_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < OUT_OF_MEMORY_NS);
        let is_time = self.short_for(END_AFTER_NS) || kernel_ends;
        let ends = &self.next.ends;
        let is_limited = ends.at_ns.len() >= self.config.ends_per_minute as usize || ends.was_refused(now_ns);
        if is_limited {
            return false;
        }
        let in_background = self.due(all, Step::End).into_iter().find(|one| is_worth_an_end(one));
        let Some(one) = in_background.or_else(|| self.lately_in_front(all)) else { return false };
        // One at a time: what it frees is known when it is gone. A launch does not wait for that.
        let is_next = ends.pending.is_empty() && in_background.is_some() && !self.is_covered();
        let price_s = price::price_s(one, ends.regrets.times);
        let is_severe = is_next && is_time && self.need.is_severe() && !ends.regrets.is_on(now_ns);
        let is_paid = is_next && self.thrashes && self.next.paid.stalled_s >= price_s;
        let chance = self.danger.chance(self.planned_bytes);
        let is_for_launch = chance > 0.0 && chance * price::FAILED_LAUNCH_S >= price_s;
        if !is_severe && !is_paid && !is_for_launch {
            return false;
        }
        self.next.paid = price::Paid::default();
        let group = one.app.group.clone();
        let grace_ms = match is_for_launch {
            true => self.danger.grace_ms(self.config),
            false => self.config.end_grace_ms,
        };
        // Whatever else was to be taken from it, it ends.
        self.requests.retain(
            |request| !matches!(&request.action, brisk_core::action::Action::Once(once) if once.group() == group),
        );
        self.next.frozen.remove(&group);
        self.request(one, Step::End, one.end(grace_ms), 60);
        let memory_bytes = one.end_frees_bytes().unwrap_or(0);
        let until_ns = now_ns.saturating_add(grace_ms.saturating_mul(MS_NS));
        self.next.ends.began(&one.app.group, &one.app.owned_id(), Pending { at_ns: now_ns, memory_bytes, until_ns });
        self.planned_bytes = self.planned_bytes.saturating_add(memory_bytes);
        true
    }
}

fn is_worth_an_end(one: &Candidate<'_>) -> bool {
    one.end_frees_bytes().is_some_and(|bytes| bytes >= END_BYTES_MIN)
}
