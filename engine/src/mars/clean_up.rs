//! Hot sets that lie scattered in swap are laid out anew, while the user is idle.
//!
//! Where the kernel has chosen, the pages of a hot set lie between those of others: each stretch of slots costs a
//! random read. Laying out anew is: the hot set is mapped in, scanned, and written out in order of addresses, as any
//! hot set is. It is done
//! - while the user is idle or the screen is off, no app returns, and memory is not short even with the hot set in it;
//! - while more than half of swap is used: below that the kernel keeps the slot of a page that was not changed, and
//!   nothing would move;
//! - where reading takes at least twice as long as in one stretch, and 100 ms longer;
//! - within the budget of wear, one app at a time, and only of an app that is frozen.
//!
//! Slots of apps that ended are free at once; which flash blocks that leaves invalid is told to the device by the
//! kernel (the patch of `kernel/mars` does so in batches).
//!
//! Property: `a_scattered_hot_set_is_laid_out_anew_when_idle`.

use brisk_core::action::Once;
use brisk_core::decision::{Objective, Request};
use brisk_core::snapshot::MemoryLevels;

use crate::mars::apps::Candidate;
use crate::mars::back::{self, Plan};
use crate::mars::config::Config;
use crate::mars::out::{Part, Round, first_bytes, parts};
use crate::mars::pressure::Need;
use brisk_core::device::Speeds;

/// Reading has to take so many times as long as in one stretch, and this longer.
const SCATTERED_TIMES: f64 = 2.0;
const SCATTERED_US: f64 = 100_000.0;

/// Whether swap is so full that a page that is read leaves its slot.
#[must_use]
pub fn slots_are_freed(memory: &MemoryLevels) -> bool {
    memory.swap_used_bytes() > memory.swap_total_bytes / 2
}

/// Whether reading takes much longer than in one stretch.
#[must_use]
pub fn is_scattered(speeds: &Speeds, plan: &Plan) -> bool {
    let best_us = back::read_us(speeds, 1, plan.swapped_bytes());
    plan.read_us >= best_us * SCATTERED_TIMES && plan.read_us >= best_us + SCATTERED_US
}

/// What to lay out anew now.
pub(crate) fn lay_out(round: &mut Round<'_>, memory: &MemoryLevels) {
    if round.next.groups.values().any(|group| group.out.is_some()) {
        return;
    }
    let all = round.all;
    let is_begun = |one: &&Candidate<'_>| round.next.groups.get(&one.app.group).is_some_and(|group| group.laying_out);
    if let Some(one) = all.iter().find(is_begun) {
        write(round, one);
        return;
    }
    if !slots_are_freed(memory) {
        return;
    }
    let frozen = |one: &&Candidate<'_>| one.spared.is_none() && round.next.frozen.contains_key(&one.app.group);
    let found = all.iter().filter(frozen).find_map(|one| Some((one, scattered(round.config, round, one)?)));
    let Some((one, plan)) = found else { return };
    let reason = plan.reason("scattered_hot_set").word("app", &one.app.id);
    let group = one.app.group.clone();
    if let Some(of) = round.next.groups.get_mut(&group) {
        of.laying_out = true;
    }
    let once = Once::MapIn { group, ranges: plan.swapped };
    round.requests.push(Request::once(once, Objective::Energy, reason));
}

/// The hot set of an app, if it is scattered and laying it out is allowed.
fn scattered(config: &Config, round: &Round<'_>, one: &Candidate<'_>) -> Option<Plan> {
    let group = round.next.groups.get(&one.app.group)?;
    let known = round.next.learned.app(&group.id)?;
    let plan = back::plan(config, &group.fresh_scan()?.pages, &group.live, known, false);
    let bytes = plan.swapped_bytes();
    let is_affordable = config.wear.left_bytes.is_none_or(|left_bytes| left_bytes >= bytes);
    let Need { available_bytes, wanted_bytes, .. } = round.need;
    let fits = available_bytes >= wanted_bytes.saturating_add(bytes);
    (plan.verdict().is_ok() && is_scattered(&config.speeds(), &plan) && is_affordable && fits).then_some(plan)
}

/// The second half: what was mapped in is written, in order.
fn write(round: &mut Round<'_>, one: &Candidate<'_>) {
    let Some(group) = round.next.groups.get(&one.app.group) else { return };
    let parts = parts(round.config, group, round.next.learned.app(&group.id));
    let Some((parts, scan)) = parts.zip(group.fresh_scan()) else {
        round.next.scans.insert(one.app.group.clone());
        return;
    };
    let bytes = parts.bytes(Part::Hot);
    let ranges = first_bytes(parts.ranges(Part::Hot), bytes, scan.pages.page_bytes);
    if ranges.is_empty() {
        if let Some(group) = round.next.groups.get_mut(&one.app.group) {
            group.laying_out = false;
        }
        return;
    }
    round.request(one, Part::Hot, ranges, bytes, Objective::Energy);
}
