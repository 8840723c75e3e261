//! Takes what happened into the state: context, what is learned of launches, and what became of actions. The same in
//! both modes.
//!
//! A use of an app is that it came to the foreground. Where the system does not tell what is in front, a launch counts
//! as a use. The need of an app is its anonymous memory and what of it is in swap; where that is not sampled, the
//! memory that its group is charged with, or what is resident in its processes.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::action::Once;
use brisk_core::app::Role;
use brisk_core::decision::Observed;
use brisk_core::event::{Event, EventKind};
use brisk_core::outcome::Outcome;
use brisk_core::snapshot::Snapshot;

use crate::iram::candidates::Step;
use crate::iram::schedule::{self, S_NS};
use crate::iram::{Known, Pending, State};
use crate::kit::predict::{Moment, Note, Use};

/// A launch counts as over when the app has not waited for storage for this time, which is no part of it.
const REST_S: f64 = 1.0;
/// An app that comes back within this time of its end was ended for nothing.
const REGRET_NS: u64 = 60 * S_NS;
/// What was refused is not tried again for this time.
const REFUSED_NS: u64 = 600 * S_NS;
/// Nor, for this time, is reclaim that got less than was asked for, as what is left may be swappable later, or a
/// freeze, which is refused for what the app does at that moment.
const REFUSED_NOW_NS: u64 = 30 * S_NS;
/// What was not done, since the daemon is paused or only plans, is requested again after this time.
const NOT_DONE_NS: u64 = 30 * S_NS;
/// Apps that are sampled, those of the largest need: of fewer than run something is kept, so that all together would
/// forget each other.
const SAMPLED_MAX: usize = 300;
/// Ends of the last minute count.
const MINUTE_NS: u64 = 60 * S_NS;

/// Takes in events and memory of apps.
pub(crate) fn take(next: &mut State, observed: &Observed<'_>) {
    let now = observed.now;
    for app in observed.apps.iter().filter(|app| app.activity.role == Role::App) {
        let known = next.groups.entry(app.group.clone()).or_default();
        let owned_id = app.owned_id();
        if known.id != owned_id {
            known.id = owned_id;
        }
    }
    let tells_front = observed.apps.iter().any(|app| app.activity.focused.is_some());
    for event in observed.events {
        next.context.take(event);
        take_event(next, now, event, tells_front);
    }
    let there: BTreeSet<&str> = observed.apps.iter().map(|app| app.group.as_str()).collect();
    let is_there = |group: &String| there.contains(group.as_str());
    next.groups.retain(|group, _| is_there(group));
    next.frozen.retain(|group, _| is_there(group));
    next.waits.retain(|(group, _), until_ns| is_there(group) && *until_ns > now.at_ns);
    // An app that does not end, and is not killed, holds up the others for a minute.
    let is_fresh = |at_ns: u64| now.at_ns.saturating_sub(at_ns) < MINUTE_NS;
    next.ends.pending.retain(|group, pending| is_there(group) && is_fresh(pending.at_ns));
    next.ends.at_ns.retain(|at_ns| is_fresh(*at_ns));
    next.ends.lately.retain(|_, at_ns| now.at_ns.saturating_sub(*at_ns) < REGRET_NS);
    sample_needs(next, now);
}

fn take_event(next: &mut State, now: &Snapshot, event: &Event, tells_front: bool) {
    let at = Moment::at(now, event.at_ns, next.context.utc_offset_s);
    match &event.kind {
        EventKind::LaunchBegan { group } => {
            let Some(known) = next.groups.get_mut(group) else { return };
            known.launch_began_ns = Some(event.at_ns);
            known.launch_available_bytes = schedule::available_bytes(&now.memory);
            let id = known.id.clone();
            next.learned.heap.launch_began(&id, event.at_ns);
            if !tells_front {
                next.learned.predictor.observe(&Use { app: &id, at });
            }
            if next.ends.lately.remove(&id).is_some() {
                next.ends.regrets.begin(event.at_ns, crate::iram::REGRET_S, crate::iram::REGRET_MAX_S);
            }
        }
        EventKind::OutOfMemory { group } => {
            let known = next.groups.get_mut(group);
            if let Some(known) = known.filter(|known| known.launch_began_ns.is_some()) {
                // That launch failed, and teaches no time.
                known.launch_began_ns = None;
                next.learned.failed_with(&known.id, known.launch_available_bytes);
            }
        }
        EventKind::LaunchEnded { group } => {
            let Some(known) = next.groups.get_mut(group) else { return };
            if let Some(began_ns) = known.launch_began_ns.take() {
                let elapsed_s = event.at_ns.saturating_sub(began_ns) as f64 / 1e9;
                next.learned.launched(&known.id, (elapsed_s - REST_S).max(0.1));
            }
        }
        EventKind::Focused { group } => {
            if let Some(known) = next.groups.get(group) {
                next.learned.predictor.observe(&Use { app: &known.id, at });
            }
        }
        EventKind::AppGone { group } => {
            // A later group of this name is another app.
            next.frozen.remove(group);
            next.refused.retain(|knob| knob.group() != Some(group));
            let Some(Known { id, .. }) = next.groups.remove(group) else { return };
            if next.groups.values().all(|known| known.id != id) {
                next.learned.heap.ended(&id);
            }
        }
        EventKind::Screen { on: true } => next.learned.predictor.note(at, Note::Unlocked),
        EventKind::Performed { once, outcome } => take_outcome(next, now.at_ns, once, outcome),
        EventKind::Refused { knob, .. } => {
            next.refused.insert(knob.clone());
        }
        EventKind::Configured => {
            next.refused.clear();
            next.waits.clear();
        }
        _ => {}
    }
}

/// What became of an action.
fn take_outcome(next: &mut State, now_ns: u64, once: &Once, outcome: &Outcome) {
    let step = match once {
        Once::DropPageCache { .. } => Step::FreeCaches,
        Once::Reclaim { .. } => Step::Reclaim,
        Once::PageOut { .. } => Step::PageOut,
        Once::Freeze { .. } => Step::Freeze,
        Once::EndApp { .. } | Once::EndProcess { .. } => Step::End,
        Once::Thaw { group } => return thawed(next, now_ns, group, outcome),
        _ => return,
    };
    let group = once.group();
    let is_done = matches!(outcome, Outcome::Done | Outcome::Unchanged);
    if step == Step::Freeze && !is_done {
        next.frozen.remove(group);
    }
    // The first outcome of an end is that the app was asked, the last that it is gone, or that the rest of it was
    // killed; an app that is gone leaves the list of apps.
    if step == Step::End {
        // The app of a process that has ended stays.
        let is_over = |pending: &Pending| *outcome == Outcome::Gone || now_ns >= pending.until_ns;
        if matches!(once, Once::EndProcess { .. }) && next.ends.pending.get(group).is_some_and(is_over) {
            next.ends.pending.remove(group);
        }
        if !is_done && *outcome != Outcome::Gone {
            next.ends.refused(group, now_ns);
        }
        return;
    }
    // Each outcome begins a round: what a paused daemon or a dry run does not do would be requested in all of them.
    if matches!(outcome, Outcome::Paused | Outcome::HeldOut | Outcome::Planned { .. }) {
        // What was not taken is no proof that taking it does not help.
        next.effect.was_not_taken();
        next.waits.insert((group.to_owned(), step), now_ns.saturating_add(NOT_DONE_NS));
    }
    // Another engine swapped out in that round: the group is as good as before.
    let gave_way = *outcome == Outcome::Dropped && once.swaps_out();
    if matches!(outcome, Outcome::Refused { .. } | Outcome::Dropped) && !gave_way {
        let span_ns = if matches!(step, Step::Reclaim | Step::Freeze) { REFUSED_NOW_NS } else { REFUSED_NS };
        next.waits.insert((group.to_owned(), step), now_ns.saturating_add(span_ns));
        if step == Step::Reclaim
            && let Some(known) = next.groups.get_mut(group)
        {
            known.reclaim_refused_ns = Some(now_ns);
        }
    }
}

/// What became of a thaw, of this engine, of another one, or of the daemon: at a reset, or when the keeper of frozen
/// apps had ended.
fn thawed(next: &mut State, now_ns: u64, group: &str, outcome: &Outcome) {
    match outcome {
        // It is frozen still, and is thawed in the next call.
        Outcome::Refused { .. } | Outcome::Dropped if next.groups.contains_key(group) => {
            next.frozen.entry(group.to_owned()).or_insert(now_ns);
        }
        _ => drop(next.frozen.remove(group)),
    }
}

/// Learns the need of each app, and keeps the threshold above it.
fn sample_needs(next: &mut State, now: &Snapshot) {
    let mut needs: BTreeMap<&str, u64> = BTreeMap::new();
    for totals in &now.apps {
        let Some(known) = next.groups.get(&totals.name) else { continue };
        let heap_bytes = totals.anon_bytes.map(|anon_bytes| anon_bytes.saturating_add(totals.swap_bytes.unwrap_or(0)));
        let need_bytes = heap_bytes.or(totals.memory_bytes).or(totals.rss_bytes);
        let Some(need_bytes) = need_bytes.filter(|bytes| *bytes > 0) else { continue };
        let of = needs.entry(&known.id).or_default();
        // Of two groups of an app, the larger one.
        *of = need_bytes.max(*of);
    }
    let mut needs: Vec<(&str, u64)> = needs.into_iter().collect();
    if needs.len() > SAMPLED_MAX {
        needs.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        needs.truncate(SAMPLED_MAX);
    }
    let thresholds: BTreeMap<String, u64> = needs
        .into_iter()
        .map(|(id, need_bytes)| (id.to_owned(), next.learned.heap.sample(id, now.at_ns, need_bytes).bytes))
        .collect();
    for known in next.groups.values_mut() {
        known.threshold_bytes = thresholds.get(&known.id).copied();
    }
}
