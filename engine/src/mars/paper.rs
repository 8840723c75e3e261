//! `mode = "paper"`: MARS 3.1 to 3.4 on a kernel without changes.
//!
//! | paper | here |
//! |---|---|
//! | foreground apps and services bypass swapping (3.2) | the same |
//! | no garbage collection in background apps (3.2) | they are frozen before they are written out |
//! | slots from extents of one app (3.3) | an app is written out as a whole, by address |
//! | its extents are loaded when it comes to the foreground (3.3) | all of it in swap is read, by slot |
//! | watermarks are raised by delta, the largest swap-in of all background apps, and lowered in a launch (3.4) | memory is short below delta; and `vm/min_free_kbytes` holds it outside of returns |
//! | no write-back in a launch (3.4) | `vm/dirty_writeback_centisecs` 0 |
//! | extents without valid slots are trimmed when idle (3.4) | the kernel's matter |
//!
//! The value of `vm/min_free_kbytes` from before brisk is not known to an engine; the kernel's own rule gives it
//! (`init_per_zone_wmark_min` of mm/page_alloc.c: the square root of 16 times the memory in KiB, from 128 to 262144).
//!
//! Measured: reading all of an app loses to the kernel's own swapping on apps whose returns touch a tenth.

use crate::kit::check::share_bytes;
use brisk_core::action::Once;
use brisk_core::decision::{Decision, Needs, Objective, Observed, Request};
use brisk_core::knob::{Knob, VmSetting};
use brisk_core::reason::Reason;

use crate::mars::adaptive::{close, look_after_ns, thaw};
use crate::mars::apps::{self, Candidate};
use crate::mars::config::Config;
use crate::mars::out::{Part, Parts, Round};
use crate::mars::pressure::{self, Need};
use crate::mars::{Group, State, back, observe, window};

/// Bounds of the kernel's rule.
const MIN_FREE_KIB: (u64, u64) = (128, 262_144);

pub(crate) fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
    let now_ns = observed.now.at_ns;
    let mut next = State { at_ns: now_ns, ..state };
    observe::take(config, &mut next, observed);
    close(config, &mut next);
    let all = apps::all(config, &next, observed);
    let memory = &observed.now.memory;
    let delta_bytes = delta_bytes(config, &next, memory.total_bytes);
    let available_bytes = pressure::available_bytes(memory);
    let short_bytes = delta_bytes.saturating_sub(available_bytes);
    let need = Need { wanted_bytes: delta_bytes, available_bytes, short_bytes, stalls: false };
    let mut notes = Vec::new();
    // What was frozen stays so: nothing runs in the background.
    let mut requests = thaw(&mut next, &all, &Need { wanted_bytes: u64::MAX, ..need });
    if let Some(open) = next.window.clone() {
        let app = observed.apps.iter().find(|app| app.group == open.group);
        // Free memory is there by the reserve: swappiness stays.
        requests.extend(window::requests(&open, app, memory, 0, &next.refused));
        bring_back(config, &mut next, &open.group, &mut requests);
    } else {
        requests.extend(reserve(&next, memory.total_bytes, delta_bytes));
        if config.page_out && short_bytes > 0 {
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
            write_all(&mut round);
        }
    }
    let next_look_ns = Some(now_ns.saturating_add(look_after_ns(&next, short_bytes > 0)));
    let needs = Needs { scans: std::mem::take(&mut next.scans), ..Needs::default() };
    Decision { state: next, requests, notes, next_look_ns, needs }
}

/// The largest swap-in of all background apps: what each has in swap by its last scan.
fn delta_bytes(config: &Config, next: &State, total_bytes: u64) -> u64 {
    let of_group = |group: &Group| {
        let pages = &group.scan.as_ref()?.pages;
        let swapped = pages.processes.iter().flat_map(|process| &process.mappings).flat_map(|of| &of.swapped);
        Some(swapped.map(|swapped| swapped.range.pages).sum::<u64>().saturating_mul(pages.page_bytes))
    };
    let background = next.groups.iter().filter(|(group, _)| next.front.as_ref() != Some(group));
    let largest_bytes = background.filter_map(|(_, group)| of_group(group)).max().unwrap_or(0);
    let most_bytes = share_bytes(total_bytes, config.reserve_max_percent);
    largest_bytes.clamp(share_bytes(total_bytes, config.reserve_min_percent).min(most_bytes), most_bytes)
}

/// Watermarks that hold delta; in a return they are those from before.
fn reserve(next: &State, total_bytes: u64, delta_bytes: u64) -> Option<Request> {
    let knob = Knob::Vm { setting: VmSetting::MinFreeKbytes };
    let default_kib = (total_bytes >> 10).saturating_mul(16).isqrt().clamp(MIN_FREE_KIB.0, MIN_FREE_KIB.1);
    let value_kib = default_kib + (delta_bytes >> 10);
    let reason = Reason::rule("reserve_for_the_largest_return").number("delta_mib", (delta_bytes >> 20) as f64);
    (!next.refused.contains(&knob)).then(|| Request::set(knob, value_kib.to_string(), Objective::Delay, reason))
}

fn bring_back(config: &Config, next: &mut State, group: &str, requests: &mut Vec<Request>) {
    let Some(window) = next.window.as_mut().filter(|window| !window.is_read && config.read_back) else { return };
    let Some(of) = next.groups.get(group) else { return };
    let Some(scan) = of.fresh_scan() else {
        next.scans.insert(group.to_owned());
        return;
    };
    window.is_read = true;
    let ranges = back::all(&scan.pages);
    if !ranges.is_empty() {
        let once = Once::PageIn { group: group.to_owned(), ranges };
        requests.push(Request::once(once, Objective::Delay, Reason::rule("all_of_the_app_is_read")));
    }
}

/// Writes out the app that was left longest ago, as a whole.
fn write_all(round: &mut Round<'_>) {
    if round.next.groups.values().any(|group| group.out.is_some()) {
        return;
    }
    let all = round.all;
    for one in all.iter().filter(|one| one.spared.is_none()) {
        let Some(group) = round.next.groups.get(&one.app.group) else { continue };
        if group.left_alone_until_ns.is_some_and(|until_ns| round.next.at_ns < until_ns) {
            continue;
        }
        let Some(scan) = group.fresh_scan() else {
            round.next.scans.insert(one.app.group.clone());
            return;
        };
        let mut ranges: Vec<_> = {
            let parts = Parts::of(&scan.pages, &[], 0.0, 100.0);
            parts.ranges(Part::Unknown).to_vec()
        };
        let bytes: u64 = ranges.iter().map(|range| range.size_bytes).fold(0, u64::saturating_add);
        if let Some(group) = round.next.groups.get_mut(&one.app.group)
            && group.last_out.is_some()
            && !observe::judge(group, bytes, round.next.at_ns)
        {
            continue;
        }
        // What wears the flash more than it may is left to the kernel.
        if bytes == 0 || bytes > round.budget_bytes() {
            continue;
        }
        if freeze(round, one) {
            return;
        }
        ranges.sort_unstable_by_key(|range| (range.pid, range.start));
        round.request(one, Part::Unknown, ranges, bytes, Objective::Delay);
        return;
    }
}

/// Freezes an app that runs. Where it cannot be frozen it is written out all the same, as the paper does.
fn freeze(round: &mut Round<'_>, one: &Candidate<'_>) -> bool {
    let may_freeze = round.may_freeze(one);
    if may_freeze {
        round.freeze(one, "nothing_runs_in_the_background");
    }
    may_freeze
}
