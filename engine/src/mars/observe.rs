//! Takes what happened into the state: apps, scans, what returns touched, and what became of actions. The same in both
//! modes.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::action::Once;
use brisk_core::app::Role;
use brisk_core::decision::Observed;
use brisk_core::event::{Event, EventKind};
use brisk_core::outcome::Outcome;
use brisk_core::pages::{AppPages, Touched};

use crate::kit::BackOff;
use crate::mars::config::Config;
use crate::mars::window::Window;
use crate::mars::{Group, LEFT_ALONE_MAX_S, S_NS, Scan, State, live};

/// What was refused is not tried again for this time.
const REFUSED_NS: u64 = 600 * S_NS;
/// A freeze is refused for what the app does at that moment: it plays, or is in front. It is asked for again after this
/// time, doubled each time up to [`REFUSED_NS`].
const FREEZE_REFUSED_S: u64 = 15;
/// What was dropped, since another engine or app came first, is tried again after this time.
const DROPPED_NS: u64 = 5 * S_NS;
/// What was held out is scanned for, and requested, no sooner than after this time: a block of its trial begins with as
/// much that does not count.
const HELD_OUT_NS: u64 = 300 * S_NS;
/// An action of which nothing is heard for this time is given up.
const LOST_NS: u64 = 60 * S_NS;
/// A hot set that is needed again within this time was written out for nothing.
const REGRET_NS: u64 = 60 * S_NS;
/// Scans of all apps that are kept: the service has 64 MiB.
pub(super) const SCANS_BYTES_MAX: usize = 16 << 20;
/// A page-out that leaves more than this part of what it was to write did not help.
const LEFT_PART: u64 = 2;

/// Takes in events, and which apps there are.
pub(crate) fn take(config: &Config, next: &mut State, observed: &Observed<'_>) {
    let now_ns = observed.now.at_ns;
    for app in observed.apps.iter().filter(|app| app.activity.role == Role::App) {
        let group =
            next.groups.entry(app.group.clone()).or_insert_with(|| Group { left_ns: now_ns, ..Group::default() });
        let owned_id = app.owned_id();
        if group.id != owned_id {
            group.id = owned_id;
        }
    }
    for event in observed.events {
        take_event(config, next, event);
    }
    // It left for where no app is in front, such as a home screen.
    let is_left = |front: &String| {
        observed.apps.iter().any(|app| app.group == *front && app.activity.focused == Some(false) && !app.launching)
    };
    if let Some(left) = next.front.take_if(|front| is_left(front)) {
        if let Some(of) = next.groups.get_mut(&left) {
            (of.left_ns, of.hot_out_ns) = (now_ns, None);
        }
        next.before = Some(left);
    }
    let seen = observed.apps.iter().find(|app| app.activity.focused == Some(true)).map(|app| app.group.clone());
    if next.seen.as_ref().is_none_or(|(before, _)| *before != seen) {
        next.seen = Some((seen, now_ns));
    }
    let there: BTreeSet<&str> = observed.apps.iter().map(|app| app.group.as_str()).collect();
    next.groups.retain(|group, _| there.contains(group.as_str()));
    next.frozen.retain(|group, _| there.contains(group.as_str()));
    for group in next.groups.values_mut() {
        group.out = group.out.filter(|out| now_ns.saturating_sub(out.at_ns) < LOST_NS);
    }
}

fn take_event(config: &Config, next: &mut State, event: &Event) {
    let at_ns = event.at_ns;
    match &event.kind {
        EventKind::Focused { group } => {
            // The same app as before comes back from where no app is in front, such as a home screen.
            let left = next.front.replace(group.clone()).filter(|left| left != group);
            if let Some(left) = left {
                if let Some(of) = next.groups.get_mut(&left) {
                    (of.left_ns, of.hot_out_ns) = (at_ns, None);
                }
                next.before = Some(left);
            }
            begin(config, next, group, at_ns);
        }
        EventKind::LaunchBegan { group } => begin(config, next, group, at_ns),
        EventKind::LaunchEnded { group } => end(next, group, at_ns),
        EventKind::Returned { group, touched } => {
            learn(next, group, touched);
            end(next, group, at_ns);
        }
        EventKind::AppGone { group } => {
            next.groups.remove(group);
            // A later group of this name is another app.
            next.frozen.remove(group);
            next.refused.retain(|knob| knob.group() != Some(group));
            next.front.take_if(|front| front == group);
            next.before.take_if(|before| before == group);
            end(next, group, at_ns);
        }
        EventKind::Scanned { group, pages } => {
            let Some(of) = next.groups.get_mut(group) else { return };
            live::meet(&mut of.live, pages, next.learned.app(&of.id));
            of.scan = Some(Scan { at_ns, pages: pages.clone() });
            bound_scans(&mut next.groups);
        }
        EventKind::Screen { on } => next.screen_off = !on,
        EventKind::UserIdle { idle } => next.idle = *idle,
        EventKind::Performed { once, outcome } => take_outcome(next, at_ns, once, outcome),
        EventKind::Refused { knob, .. } => {
            next.refused.insert(knob.clone());
        }
        EventKind::Configured => {
            next.refused.clear();
            for group in next.groups.values_mut() {
                (group.left_alone_until_ns, group.no_freeze) = (None, BackOff::default());
            }
        }
        _ => {}
    }
}

/// A program can spread its pages so that a scan is large, and begin any number of others: the largest scans are
/// dropped, and such apps are left alone until the next one.
fn bound_scans(groups: &mut BTreeMap<String, Group>) {
    let size = |group: &Group| group.scan.as_ref().map_or(0, |scan| scan.pages.kept_bytes());
    let mut sizes: Vec<usize> = groups.values().map(size).collect();
    sizes.sort_unstable();
    let mut sum: usize = sizes.iter().sum();
    while let Some(largest) = sizes.pop().filter(|_| sum > SCANS_BYTES_MAX) {
        sum -= largest;
        if let Some(of) = groups.values_mut().find(|group| size(group) == largest) {
            of.scan = of.scan.take().map(|scan| Scan { pages: AppPages::default(), ..scan });
        }
    }
}

/// A return, or a launch, begins.
fn begin(config: &Config, next: &mut State, group: &str, at_ns: u64) {
    if let Some(of) = next.groups.get_mut(group) {
        // The rest of what was being written is dropped.
        if let Some(out) = of.out.take() {
            of.cut_short = Some(out);
            of.written_ns = Some(at_ns);
        }
        (of.settles, of.laying_out) = (None, false);
        if of.hot_out_ns.is_some_and(|out_ns| at_ns.saturating_sub(out_ns) < REGRET_NS) {
            of.regrets.begin(at_ns, config.retry_after_s, LEFT_ALONE_MAX_S);
        }
    }
    let goes_on = next.window.as_ref().is_some_and(|window| window.group == group);
    if !goes_on {
        next.window = Some(Window { group: group.to_owned(), opened_ns: at_ns, is_read: false });
    }
}

fn end(next: &mut State, group: &str, at_ns: u64) {
    if next.window.take_if(|window| window.group == group).is_some() {
        next.returned_ns = Some(at_ns);
    }
}

fn learn(next: &mut State, group: &str, touched: &Touched) {
    let Some(of) = next.groups.get_mut(group) else { return };
    let known = next.learned.returned(&of.id);
    live::note(&mut of.live, touched, known);
    known.read_bytes = touched.read_bytes.or(known.read_bytes);
    next.learned.bound();
}

/// What became of an action.
fn take_outcome(next: &mut State, at_ns: u64, once: &Once, outcome: &Outcome) {
    let group = once.group();
    let is_done = matches!(outcome, Outcome::Done | Outcome::Unchanged);
    let refused = match outcome {
        Outcome::Refused { .. } => Some(REFUSED_NS),
        // Each outcome begins a round: what a paused daemon or a dry run does not do would be requested in all of them.
        Outcome::Dropped | Outcome::Paused | Outcome::Planned { .. } => Some(DROPPED_NS),
        Outcome::HeldOut => Some(HELD_OUT_NS),
        _ => None,
    };
    let until_ns = refused.map(|span_ns| at_ns.saturating_add(span_ns));
    let Some(of) = next.groups.get_mut(group) else { return };
    match once {
        // It is frozen still, and is thawed in the next call.
        Once::Thaw { .. } if matches!(outcome, Outcome::Refused { .. } | Outcome::Dropped) => {
            next.frozen.entry(group.to_owned()).or_insert(at_ns);
        }
        // Another engine thawed it, or the daemon: at a reset, or when its keeper had ended.
        Once::Thaw { .. } => {
            next.frozen.remove(group);
            // It runs, so what a scan has found does not hold any more, nor tells the next one what a page-out left,
            // one that was under way included.
            of.cut_short = of.out.take().or(of.cut_short);
            (of.last_out, of.settles, of.written_ns) = (None, None, Some(at_ns));
        }
        Once::Freeze { .. } if !is_done => {
            next.frozen.remove(group);
            match outcome {
                Outcome::Refused { .. } => drop(of.no_freeze.begin(at_ns, FREEZE_REFUSED_S, REFUSED_NS / S_NS)),
                _ => of.no_freeze.until_ns = until_ns.or(of.no_freeze.until_ns),
            }
        }
        Once::Freeze { .. } => of.no_freeze = BackOff::default(),
        // Outcomes come in the order of requests: that of the one that was cut short is the first.
        Once::PageOut { .. } if of.cut_short.take().is_some() => {}
        Once::PageOut { .. } => {
            let Some(out) = of.out.take() else { return };
            if is_done {
                of.written_ns = Some(at_ns);
                of.settles = Some(out);
                of.hot_out_ns = if out.part == crate::mars::out::Part::Hot { Some(at_ns) } else { of.hot_out_ns };
                of.last_out = Some(out);
                of.laying_out &= out.part != crate::mars::out::Part::Hot;
            } else {
                of.left_alone_until_ns = until_ns.or(of.left_alone_until_ns);
                of.laying_out = false;
            }
        }
        // What is in memory again is to be scanned before it is written out.
        Once::MapIn { .. } if is_done => of.written_ns = Some(at_ns),
        Once::MapIn { .. } => of.laying_out = false,
        _ => {}
    }
}

/// A scan after a page-out tells whether it took effect: pages that are mapped twice, or huge, stay.
pub(crate) fn judge(group: &mut Group, left_bytes: u64, now_ns: u64) -> bool {
    let Some(out) = group.last_out.take() else { return true };
    let expected_bytes = out.before_bytes.saturating_sub(out.bytes);
    let helped = left_bytes <= expected_bytes.saturating_add(out.bytes / LEFT_PART);
    if !helped {
        group.left_alone_until_ns = Some(now_ns.saturating_add(REFUSED_NS));
    }
    helped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mars::tests::{app_pages, heap, process};

    #[test]
    fn the_largest_scans_make_room_when_all_are_too_large() {
        let scan = |ranges: u64| {
            let private: Vec<(u64, u64)> = (0..ranges).map(|at| (2 * at, 1)).collect();
            Some(Scan { at_ns: 7, pages: app_pages(&process(1, 1), &heap(0x1000_0000, 2 * ranges), &private, &[]) })
        };
        let large = SCANS_BYTES_MAX as u64 / 16 / 3;
        let sizes = [("a", 10), ("b", large), ("c", large + 1), ("d", large + 2), ("e", 20)];
        let mut groups: BTreeMap<String, Group> =
            sizes.map(|(name, ranges)| (name.to_owned(), Group { scan: scan(ranges), ..Group::default() })).into();
        bound_scans(&mut groups);
        let has = |group: &Group| group.scan.as_ref().map(|scan| (scan.at_ns, scan.pages.processes.len()));
        let found: Vec<_> = groups.values().map(has).collect();
        assert_eq!(found, [Some((7, 1)), Some((7, 1)), Some((7, 1)), Some((7, 0)), Some((7, 1))]);
    }
}
