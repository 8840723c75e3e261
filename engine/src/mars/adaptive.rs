//! `mode = "adaptive"`: reads back what a return touches, writes out what it does not, and leaves the rest to the
//! kernel.
//!
//! In each call: what happened is taken in; an app that returns is thawed and read back, and nothing else is done until
//! its return has ended; otherwise, while memory is short, one step of writing out, and while it is plenty, frozen apps
//! run again, the one left last first; while the user is idle, one step of cleaning up.

use brisk_core::action::Once;
use brisk_core::decision::{Decision, Needs, Objective, Observed, Request};
use brisk_core::reason::Reason;

use crate::mars::apps::{self, Candidate};
use crate::mars::config::Config;
use crate::mars::out::Round;
use crate::mars::pressure::{self, Need};
use crate::mars::{S_NS, State, back, clean_up, observe, reserve, window};

/// Nothing is written out for this time after a return.
const CALM_NS: u64 = S_NS;
/// Files of so many apps are dropped for one return.
const DROPS_MAX: usize = 2;
/// Time to the next call: while something is under way; otherwise, at most.
const LOOK_BUSY_NS: u64 = S_NS;
const LOOK_CALM_NS: u64 = 30 * S_NS;
/// After a request for scans.
const LOOK_SCANS_NS: u64 = S_NS / 10;

pub(crate) fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
    let now_ns = observed.now.at_ns;
    let mut next = State { at_ns: now_ns, ..state };
    observe::take(config, &mut next, observed);
    close(config, &mut next);
    let all = apps::all(config, &next, observed);
    let need = pressure::need(config, &next, observed);
    let is_short = need.short_bytes > 0;
    next.short_since_ns = is_short.then(|| next.short_since_ns.unwrap_or(now_ns));
    let mut notes = Vec::new();
    let mut requests = thaw(&mut next, &all, &need);
    if next.window.is_some() {
        bring_back(config, &mut next, &all, need, observed, &mut requests, &mut notes);
    } else if !is_calm(&next) {
        requests.extend(reserve::request(config, &mut next, &need, observed.now.memory.total_bytes));
        let memory = &observed.now.memory;
        let mut round = Round {
            config,
            next: &mut next,
            all: &all,
            need,
            swap_free_bytes: memory.swap_free_bytes,
            requests: &mut requests,
            notes: &mut notes,
        };
        round.settle();
        if config.page_out && is_short {
            round.free();
        } else if config.page_out && (round.next.idle || round.next.screen_off) {
            clean_up::lay_out(&mut round, memory);
        }
    }
    let next_look_ns = Some(now_ns.saturating_add(look_after_ns(&next, is_short)));
    let needs = Needs { scans: std::mem::take(&mut next.scans), ..Needs::default() };
    Decision { state: next, requests, notes, next_look_ns, needs }
}

/// Ends a window that has been open for too long.
pub(crate) fn close(config: &Config, next: &mut State) {
    let now_ns = next.at_ns;
    if next.window.take_if(|window| window.is_over(config, now_ns)).is_some() {
        next.returned_ns = Some(now_ns);
    }
}

/// Whether a return ended just now.
pub(crate) fn is_calm(next: &State) -> bool {
    next.returned_ns.is_some_and(|returned_ns| next.at_ns.saturating_sub(returned_ns) < CALM_NS)
}

pub(crate) fn look_after_ns(next: &State, is_short: bool) -> u64 {
    let is_under_way = next.window.is_some()
        || next.groups.values().any(|group| group.out.is_some() || group.settles.is_some() || group.laying_out);
    match () {
        () if !next.scans.is_empty() => LOOK_SCANS_NS,
        () if is_short || is_under_way || !next.frozen.is_empty() || next.reserve.since_ns.is_some() => LOOK_BUSY_NS,
        // Memory runs out most often soon after another app has come to the foreground.
        () => {
            let front_ns = next.seen.as_ref().map_or(0, |(_, since_ns)| *since_ns);
            next.at_ns.saturating_sub(front_ns).clamp(LOOK_BUSY_NS, LOOK_CALM_NS)
        }
    }
}

/// Lets apps run again that return or are in use, and while memory is plenty one in each call, the one that was left
/// last first.
pub(crate) fn thaw(next: &mut State, all: &[Candidate<'_>], need: &Need) -> Vec<Request> {
    let of_group = |group: &String| all.iter().find(|one| one.app.group == *group);
    let again = |id: &str| all.iter().any(|other| other.app.launching && other.app.owned_id() == id);
    let is_used = |group: &String| {
        let returns = next.window.as_ref().is_some_and(|window| window.group == *group);
        // Grace times spare what was left; they are no use.
        let is_spared = |one: &Candidate<'_>| {
            one.spared.as_ref().is_some_and(|spared| !matches!(spared.rule.as_ref(), "just_left" | "the_app_before"))
        };
        // It plays, or was sent something, while it was frozen; or that is not known any more.
        let is_used = |one: &Candidate<'_>| is_spared(one) || !one.may_be_frozen();
        returns || of_group(group).is_none_or(|one| is_used(one) || again(&one.app.owned_id()))
    };
    let used = next.frozen.keys().filter(|group| is_used(group));
    let mut thawed: Vec<(String, &'static str)> = used.map(|group| (group.clone(), "frozen_app_is_used")).collect();
    if thawed.is_empty() && need.is_plenty() && next.window.is_none() {
        let last = next.frozen.keys().max_by_key(|group| (of_group(group).map(|one| one.left_ns), *group));
        thawed.extend(last.map(|group| (group.clone(), "memory_is_plenty")));
    }
    crate::kit::thaw(&mut next.frozen, thawed)
}

/// Reads back the hot set of the app that returns, once, as soon as a scan tells where it is; and holds what would be
/// in the way.
fn bring_back(
    config: &Config,
    next: &mut State,
    all: &[Candidate<'_>],
    need: Need,
    observed: &Observed<'_>,
    requests: &mut Vec<Request>,
    notes: &mut Vec<Reason>,
) {
    let Some(open) = next.window.clone() else { return };
    let known_need_bytes =
        next.groups.get(&open.group).and_then(|of| next.learned.app(&of.id)).map_or(0, back::need_bytes);
    let app = observed.apps.iter().find(|app| app.group == open.group);
    requests.extend(window::requests(&open, app, &observed.now.memory, known_need_bytes, &next.refused));
    if open.is_read || !config.read_back {
        return;
    }
    let Some(of) = next.groups.get_mut(&open.group) else { return };
    let Some(known) = next.learned.known_mut(&of.id) else { return };
    let Some(scan) = of.fresh_scan() else {
        // Of an app that runs already, the scan comes too late to learn from, but not to read by.
        next.scans.insert(open.group);
        return;
    };
    let is_short = need.available_bytes < known_need_bytes;
    let plan = back::plan(config, &scan.pages, &of.live, known, is_short);
    if let Some(lost) = plan.lost() {
        known.found(lost, of.hot_out_ns.is_some());
    }
    if let Some(window) = &mut next.window {
        window.is_read = true;
    }
    let (rule, swapped) = match plan.verdict() {
        Ok(rule) => (rule, plan.swapped.clone()),
        Err(_) if plan.reads_files() => ("hot_files_are_dropped", Vec::new()),
        Err(rule) => {
            notes.push(plan.reason(rule).word("group", &open.group));
            return;
        }
    };
    if is_short {
        let missing = need.reason("room_for_a_return").number("need_mib", known_need_bytes as f64 / f64::from(1 << 20));
        for one in all.iter().filter(|one| one.spared.is_none() && one.has_controller()).take(DROPS_MAX) {
            let once = Once::DropPageCache { group: one.app.group.clone() };
            requests.push(Request::once(once, Objective::Delay, missing.clone().word("app", &one.app.id)));
        }
    }
    let reason = plan.reason(rule).word("group", &open.group);
    // Files first: that call returns when the requests are in the queue, and programs wait for their code before they
    // touch their data.
    if !plan.files.is_empty() {
        let once = Once::ReadAhead { group: open.group.clone(), files: plan.files };
        requests.push(Request::once(once, Objective::Delay, reason.clone()));
    }
    if !swapped.is_empty() {
        let once = Once::PageIn { group: open.group, ranges: swapped };
        requests.push(Request::once(once, Objective::Delay, reason));
    }
}
