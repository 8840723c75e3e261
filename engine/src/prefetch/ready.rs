//! Ready before the tap: the launch sets of the likeliest next apps are read into memory while nobody waits for the
//! device.
//!
//! *Problem*: what is read from the tap on comes late. A launch set is 10 to 12 MiB, which flash delivers in 0.2 to 3
//! s, and the app waits meanwhile. What is in memory before costs the launch nothing.
//!
//! *Approach*: the predictor of the kit tells how likely each app is next; apps that run are left out. Those that save
//! most waiting for each byte, at most `ready_apps`, are made ready one after the other, by one action each
//! ([`Once::MakeReady`]): directories and inodes by opening the files, then the pages of the plan that a launch would
//! have ([`plan`]), in small requests.
//!
//! - *When* (`when`): storage was quiet for some seconds, no app is launched, memory is not short, the battery allows
//!   it (the daemon refuses otherwise). A launch, a return or want of memory ends it within one request
//!   (`act/src/worker.rs`, without waiting for a round); writes and apps that stall on storage within a quarter of a
//!   second.
//! - *How much*: at most `ready_memory_percent` of the memory that is free beyond a reserve, and, where memory is full,
//!   of the page cache that the kernel would drop first, slowly and only without memory pressure (`cache`); at most
//!   `ready_mib_per_day` from the device, by the wall clock.
//! - *How long*: what the kernel reclaims may be of it, so that after `STALE_PAGES` of reclaim, and every half hour,
//!   it is checked by reading again, which reads only what is not in memory.
//! - *Whether it pays* is tried for each app: what is requested between two launches of it is applied or dropped, and
//!   its next launch is the outcome (the daemon's trials, `ready`).
//!
//! Properties, each with a test of the same name: `likely_apps_are_made_ready_when_storage_is_quiet`;
//! `a_launch_ends_it_and_the_app_that_runs_is_not_read`; `writes_and_apps_that_wait_for_storage_end_it`;
//! `no_more_is_read_than_memory_and_the_day_allow`; `full_memory_is_read_into_slowly_while_nobody_wants_it`;
//! `where_memory_is_wanted_nothing_is_dropped_for_it`; `what_others_miss_ends_it_for_longer_each_time`;
//! `what_is_ready_is_read_again_after_reclaim_and_not_before`;
//! `what_is_held_out_or_refused_is_not_requested_again_and_again`; `a_set_of_which_no_end_is_heard_is_given_up`;
//! `what_is_shown_says_since_when_and_why_not`.

mod cache;
mod habits;
#[cfg(test)]
mod tests;
mod when;

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::action::Once;
use brisk_core::app::{App, id_of};
use brisk_core::decision::{Decision, Objective, Observed, Request};
use brisk_core::event::EventKind;
use brisk_core::outcome::Outcome;
use brisk_core::reason::Reason;
use brisk_core::snapshot::Snapshot;
use brisk_core::survey::{Prefetched, Readiness};
use serde::{Deserialize, Serialize};

use crate::kit::S_NS;
use crate::kit::predict::Moment;
use crate::prefetch::config::{Config, Mode};
use crate::prefetch::learned::{AppLaunches, Learned};
use crate::prefetch::{State, plan};

use cache::Cache;
pub use habits::Habits;
use when::{Quiet, Room};

/// Name of its trial.
pub const NAME: &str = "ready";

/// Size of a page, as long as no launch has told another.
const PAGE_BYTES: u64 = 4096;
/// An app that is less likely than this is not made ready.
const CHANCE_MIN: f64 = 0.02;
/// Pages that the kernel reclaims until what was read is no longer taken to be in memory: 16 MiB.
const STALE_PAGES: u64 = 4096;
/// It is checked at least so often: a package may have been updated.
const CHECK_NS: u64 = 1_800 * S_NS;
/// What was refused, or not done, is not requested again for this time.
const REFUSED_NS: u64 = 600 * S_NS;
/// A set of which no end is heard for this time is given up.
const LOST_NS: u64 = 120 * S_NS;
/// How long the list of likely apps holds without an event.
const LIKELY_NS: u64 = 600 * S_NS;
/// While memory or the budget of the day is used up, it is looked at so often.
const SHORT_LOOK_NS: u64 = 20 * S_NS;
/// The same while a set is read.
const READING_LOOK_NS: u64 = S_NS / 4;

/// What is in memory before it is asked for, and what is to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ready {
    utc_offset_s: Option<i32>,
    quiet: Quiet,
    cache: Cache,
    /// Apps that are to be ready, those first that save most, and when they were chosen.
    likely: Vec<String>,
    chosen_ns: Option<u64>,
    /// What became of each of them.
    apps: BTreeMap<String, Standing>,
    /// Apps that run, of those that are known.
    running: BTreeSet<String>,
    /// The app whose set is being read, and since when.
    reading: Option<(String, u64)>,
    /// What was read from the device today.
    day_bytes: u64,
    /// Why nothing is read at present.
    waits: Option<Reason>,
}

/// Where an app stands between two of its launches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Standing {
    /// Since when its set is in memory, by the wall clock.
    since_unix_ms: Option<u64>,
    /// When that was checked last, and what the kernel had reclaimed by then.
    checked_ns: u64,
    reclaimed_pages: u64,
    /// What the device read for it, and the size of its set.
    read_bytes: u64,
    size_bytes: u64,
    /// Its trial leaves it out until its next launch.
    is_held_out: bool,
    /// Why it is not ready, and until when it is not tried again.
    why_not: Option<Reason>,
    until_ns: Option<u64>,
}

impl Ready {
    /// Forgets an app, or all.
    pub(crate) fn forget(&mut self, app: Option<&str>) {
        self.apps.retain(|id, _| app.is_some_and(|app| app != id_of(id)));
        self.likely.retain(|id| app.is_some_and(|app| app != id_of(id)));
    }

    /// How ready an app is, for people; `is_known`: a launch has taught what it uses.
    pub(crate) fn of(&self, id: &str, is_known: bool) -> Readiness {
        let standing = self.apps.get(id);
        let since_unix_ms = standing.and_then(|standing| standing.since_unix_ms);
        let why_not = || match standing {
            _ if self.running.contains(id) => Reason::rule("it_runs"),
            _ if self.is_reading(id) => Reason::rule("it_is_being_read"),
            _ if !is_known => Reason::rule("a_cold_launch_has_to_teach_what_it_uses"),
            Some(standing) if standing.is_held_out => Reason::rule("held_out_until_its_next_launch"),
            Some(Standing { why_not: Some(why_not), .. }) => why_not.clone(),
            _ if !self.likely.iter().any(|likely| likely == id) => Reason::rule("not_among_the_likely_next_apps"),
            _ => self.waits.clone().unwrap_or_else(|| Reason::rule("others_come_first")),
        };
        Readiness {
            since_unix_ms,
            why_not: since_unix_ms.is_none().then(why_not),
            read_bytes: standing.map_or(0, |standing| standing.read_bytes),
        }
    }

    /// What is known of all apps together, for people.
    pub(crate) fn totals(&self, config: &Config) -> Prefetched {
        let is_ready = |standing: &&Standing| standing.since_unix_ms.is_some();
        Prefetched {
            ready_apps: self.apps.values().filter(is_ready).count() as u64,
            ready_day_bytes: self.day_bytes,
            ready_day_max_bytes: if reads(config) { config.ready_mib_per_day.saturating_mul(1 << 20) } else { 0 },
            ready_waits: self.waits.clone(),
            ..Prefetched::default()
        }
    }

    /// Ends what is being read, for this reason.
    fn stop(&mut self, why: &Reason) -> Option<Request> {
        let (group, _) = self.reading.take()?;
        self.apps.entry(group.clone()).or_default().why_not = Some(why.clone());
        Some(Request::once(Once::EndPrefetch { group }, Objective::Delay, why.clone()))
    }

    fn is_reading(&self, id: &str) -> bool {
        self.reading.as_ref().is_some_and(|(reading, _)| reading == id)
    }

    /// What sets have in memory at most.
    fn kept_bytes(&self) -> u64 {
        self.apps.values().map(|standing| standing.read_bytes.min(standing.size_bytes)).sum()
    }

    /// The list of likely apps is made anew.
    fn choose_anew(&mut self) {
        self.chosen_ns = None;
    }

    fn performed(&mut self, habits: &mut Habits, now: &Snapshot, id: &str, outcome: &Outcome) {
        if self.is_reading(id) {
            self.reading = None;
        }
        self.quiet.read(now.at_ns);
        self.cache.ended(now.at_ns);
        // An app that was launched meanwhile has another period.
        let Some(standing) = self.apps.get_mut(id) else { return };
        match outcome {
            Outcome::Prefetched { read_bytes, complete, .. } => {
                habits.spend(now.wall_unix_ms, *read_bytes);
                standing.read_bytes = standing.read_bytes.saturating_add(*read_bytes);
                if *complete {
                    standing.since_unix_ms = standing.since_unix_ms.or(Some(now.wall_unix_ms));
                    (standing.checked_ns, standing.reclaimed_pages) = (now.at_ns, reclaimed_pages(now));
                    (standing.why_not, standing.until_ns) = (None, None);
                } else {
                    standing.since_unix_ms = None;
                    standing.why_not.get_or_insert_with(|| Reason::rule("reading_was_cut_short"));
                }
            }
            Outcome::HeldOut => (standing.is_held_out, standing.since_unix_ms) = (true, None),
            other => {
                let why = if let Outcome::Refused { why } = other { why } else { other.name() };
                standing.since_unix_ms = None;
                standing.why_not = Some(Reason::rule("not_done").word("why", why));
                standing.until_ns = Some(now.at_ns.saturating_add(REFUSED_NS));
            }
        }
    }
}

impl Standing {
    /// Whether its set is to be read, or checked.
    fn is_due(&self, now: &Snapshot) -> bool {
        let is_stale = reclaimed_pages(now).saturating_sub(self.reclaimed_pages) > STALE_PAGES
            || now.at_ns.saturating_sub(self.checked_ns) >= CHECK_NS;
        !self.is_held_out
            && self.until_ns.is_none_or(|until_ns| until_ns <= now.at_ns)
            && (self.since_unix_ms.is_none() || is_stale)
    }
}

/// Whether apps are made ready at all.
pub(crate) fn reads(config: &Config) -> bool {
    config.mode == Mode::Adaptive && config.ready_apps > 0
}

/// Takes events in, and adds what is to be read to the decision on launches.
pub(crate) fn decide(config: &Config, decision: &mut Decision<State>, observed: &Observed<'_>) {
    let State { ready, learned, launches, .. } = &mut decision.state;
    take(ready, learned, observed);
    if !reads(config) || observed.devices.is_empty() {
        // A set that is being read is ended; what was read stays in memory, and is not told of.
        decision.requests.extend(ready.stop(&Reason::rule("configured_anew")));
        *ready = Ready { utc_offset_s: ready.utc_offset_s, ..Ready::default() };
        return;
    }
    let now = observed.now;
    let running = observed.apps.iter().map(App::owned_id);
    ready.running = running.filter(|id| learned.app(id).is_some()).collect();
    ready.quiet.take(observed, ready.reading.is_some());
    let is_launching =
        launches.values().any(|launch| launch.ended_ns.is_none()) || observed.apps.iter().any(|app| app.launching);
    ready.day_bytes = learned.habits.read_bytes(now.wall_unix_ms);
    ready.cache.take(observed, is_launching);
    let room = match when::waits(observed, &ready.quiet, is_launching) {
        Some(wait) => Err(wait),
        None => when::room(config, now, ready.kept_bytes(), ready.day_bytes, &ready.cache),
    };
    let look_after_ns = match room {
        Err((why, after_ns)) => {
            decision.requests.extend(ready.stop(&why));
            ready.waits = Some(why);
            (!learned.is_empty()).then_some(after_ns)
        }
        Ok(room) => {
            ready.waits = None;
            go_on(config, ready, learned, observed, room, &mut decision.requests)
        }
    };
    let look_ns = look_after_ns.map(|after_ns| now.at_ns.saturating_add(after_ns));
    decision.next_look_ns = decision.next_look_ns.into_iter().chain(look_ns).min();
    decision.needs.prepares = ready.likely.iter().cloned().collect();
}

fn take(ready: &mut Ready, learned: &mut Learned, observed: &Observed<'_>) {
    let now = observed.now;
    learned.habits.take(observed, ready.utc_offset_s);
    for event in observed.events {
        match &event.kind {
            EventKind::LaunchBegan { group } => {
                if let Some(app) = observed.apps.iter().find(|app| app.group == *group) {
                    ready.apps.remove(&app.owned_id());
                }
                ready.choose_anew();
            }
            EventKind::AppGone { .. } | EventKind::Focused { .. } | EventKind::LaunchUsed { .. } => ready.choose_anew(),
            EventKind::LocalTime { utc_offset_s } => ready.utc_offset_s = Some(*utc_offset_s),
            EventKind::Configured => ready.apps.values_mut().for_each(|standing| standing.until_ns = None),
            EventKind::Performed { once: Once::MakeReady { group, .. }, outcome } => {
                ready.performed(&mut learned.habits, now, group, outcome);
            }
            _ => {}
        }
    }
}

/// Requests the next set. Gives how long the engine may be left alone; `None` where it has nothing to do.
fn go_on(
    config: &Config,
    ready: &mut Ready,
    learned: &Learned,
    observed: &Observed<'_>,
    room: Room,
    requests: &mut Vec<Request>,
) -> Option<u64> {
    let now = observed.now;
    if let Some((id, since_ns)) = &ready.reading {
        if now.at_ns.saturating_sub(*since_ns) < LOST_NS {
            return Some(READING_LOOK_NS);
        }
        ready.apps.entry(id.clone()).or_default().until_ns = Some(now.at_ns.saturating_add(REFUSED_NS));
        requests.extend(ready.stop(&Reason::rule("reading_takes_too_long")));
        ready.cache.ended(now.at_ns);
    }
    let is_old = |chosen_ns: u64| now.at_ns.saturating_sub(chosen_ns) >= LIKELY_NS;
    if ready.chosen_ns.is_none_or(is_old) {
        ready.likely = likely(config, learned, now, &ready.running, ready.utc_offset_s);
        ready.chosen_ns = Some(now.at_ns);
        let likely = &ready.likely;
        ready.apps.retain(|id, _| likely.contains(id));
        // Trials decide about them before they are requested, in the next call.
        return (!ready.likely.is_empty()).then_some(0);
    }
    for id in &ready.likely {
        if ready.running.contains(id) || !ready.apps.get(id).is_none_or(|of| of.is_due(now)) {
            continue;
        }
        let Some(app) = learned.app(id) else { continue };
        let standing = ready.apps.entry(id.clone()).or_default();
        let one_stream = Config { streams: 1, memory_max_percent: 100.0, window_mib: 1 << 20, ..config.clone() };
        let plan = plan::plan(&one_stream, learned, app, PAGE_BYTES, u64::MAX);
        let pieces: Vec<_> = plan.windows.into_iter().flatten().collect();
        if pieces.is_empty() {
            standing.why_not = Some(Reason::rule("no_page_of_it_is_likely_enough"));
            standing.until_ns = Some(now.at_ns.saturating_add(REFUSED_NS));
            continue;
        }
        (standing.why_not, standing.size_bytes) = (None, plan.size_bytes);
        let reason = Reason::rule("likely_next_app")
            .word("app", id.as_str())
            .number("kib", (plan.size_bytes >> 10) as f64)
            .number("free_mib", (now.memory.free_bytes >> 20) as f64);
        if room.is_of_cache {
            ready.cache.begin();
        }
        let once = Once::MakeReady { group: id.clone(), most_bytes: room.bytes, files: plan.files, pieces };
        requests.push(Request::once(once, Objective::Energy, reason));
        ready.reading = Some((id.clone(), now.at_ns));
        return Some(READING_LOOK_NS);
    }
    (!ready.likely.is_empty()).then_some(LIKELY_NS)
}

/// The apps that are to be ready: those that do not run, by the waiting that each byte of their sets saves.
fn likely(
    config: &Config,
    learned: &Learned,
    now: &Snapshot,
    running: &BTreeSet<String>,
    utc_offset_s: Option<i32>,
) -> Vec<String> {
    let at = Moment::at(now, now.at_ns, utc_offset_s);
    let mut found: Vec<(f64, String)> = Vec::new();
    for (id, chance) in learned.habits.chances(at) {
        if chance < CHANCE_MIN || running.contains(id) {
            continue;
        }
        let Some(app) = learned.app(id).filter(|app| is_known(app)) else { continue };
        let (wait_us, bytes) = cost(config, app);
        found.push((chance * wait_us / bytes.max(1) as f64, id.to_owned()));
        // The likeliest come first: those behind are not worth the weighing.
        if found.len() >= usize::from(config.ready_apps) {
            break;
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, id)| id).collect()
}

/// Whether the set of an app is worth reading: a cold launch has taught it.
pub(crate) fn is_known(app: &AppLaunches) -> bool {
    !app.files.is_empty() && !app.is_of_warm_launches()
}

/// About how long a launch of the app waits for its set, us, and the size of that: each range is a read of its own.
fn cost(config: &Config, app: &AppLaunches) -> (f64, u64) {
    let speeds = config.speeds();
    let spans = app.files.iter().flat_map(|file| file.spans.spans());
    let (ranges, pages) =
        spans.fold((0_u64, 0_u64), |(ranges, pages), span| (ranges + 1, pages + u64::from(span.pages)));
    let bytes = pages * PAGE_BYTES;
    let wait_us = ranges as f64 * speeds.random_read_us + bytes as f64 / (speeds.read_mib_per_s * 1.048_576);
    (wait_us, bytes)
}

/// Pages that the kernel has reclaimed so far.
fn reclaimed_pages(now: &Snapshot) -> u64 {
    let paging = &now.paging;
    paging.steal_kswapd_pages.unwrap_or(0).saturating_add(paging.steal_direct_pages.unwrap_or(0))
}
