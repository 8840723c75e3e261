//! Limits of control groups while memory is short: a leaking app slows itself, not the device.
//!
//! - `memory.high` (version 2): the kernel reclaims from the group above it, and slows its tasks. A background app gets
//!   its predicted threshold, or what it uses if that is more, so that only growth is slowed. The app in front gets
//!   none, nor one that may be there.
//! - `memory.soft_limit_in_bytes` (version 1): when memory is short, the kernel reclaims first from groups above it. It
//!   slows nothing. The hard limit, `memory.limit_in_bytes`, is no substitute: at it the kernel ends processes of the
//!   group.
//! - `memory.low` (version 2): the kernel reclaims from the group below it last. The app in front and likely next apps
//!   get what they use, up to half of the memory together. Version 1 has nothing like it.
//!
//! While memory is plenty, and for thirty seconds after it was short, limits stay as they were before: a wrong
//! threshold would cost time and gain none. Values are rounded up to an eighth of their octave, so that a group is not
//! written each second.
//!
//! Properties: `no_limit_is_below_the_threshold_or_what_is_used`; `nothing_is_limited_while_memory_is_plenty`;
//! `protected_groups_get_no_limit`; `protection_is_bounded`.

use std::collections::BTreeSet;

use brisk_core::app::Role;
use brisk_core::decision::{Objective, Request};
use brisk_core::knob::{GroupSetting, Knob};
use brisk_core::reason::Reason;

use crate::iram::candidates::Candidate;
use crate::kit::check::share_bytes;

use crate::iram::importance::Importance;

/// Memory that `memory.low` may protect altogether.
const LOW_MAX_PERCENT: f64 = 50.0;
/// The kernel counts in pages.
const PAGE_BYTES: u64 = 4096;

/// Levels for all groups; `threshold` returns the predicted need of the app in a group.
pub(crate) fn requests(
    all: &[Candidate<'_>],
    total_bytes: u64,
    refused: &BTreeSet<Knob>,
    threshold: impl Fn(&str) -> Option<u64>,
) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut low_bytes = share_bytes(total_bytes, LOW_MAX_PERCENT);
    let apps = || all.iter().filter(|one| one.app.activity.role == Role::App && one.has_controller);
    let mut set = |one: &Candidate<'_>, setting: GroupSetting, bytes: u64, reason: Reason| {
        let knob = Knob::Group { group: one.app.group.clone(), setting };
        if one.app.offers.contains(&setting) && !refused.contains(&knob) {
            let reason = reason.word("app", &one.app.id).number("limit_mib", bytes as f64 / f64::from(1 << 20));
            requests.push(Request::set(knob, bytes.to_string(), Objective::Delay, reason));
        }
    };
    for one in apps() {
        let Some(used_bytes) = one.memory_bytes else { continue };
        let may_limit = one.spared.is_none();
        let Some(threshold_bytes) = threshold(&one.app.group).filter(|_| may_limit) else { continue };
        let limit_bytes = rounded(threshold_bytes.max(used_bytes));
        set(one, GroupSetting::MemoryHigh, limit_bytes, Reason::rule("predicted_need"));
        set(one, GroupSetting::MemorySoftLimit, limit_bytes, Reason::rule("predicted_need"));
    }
    let mut protected: Vec<&Candidate<'_>> = apps().filter(|one| is_to_keep(one)).collect();
    protected.sort_by_key(|one| (one.rated.level, one.rank));
    for one in protected {
        let bytes = one.memory_bytes.map_or(0, rounded);
        let Some(rest_bytes) = low_bytes.checked_sub(bytes).filter(|_| bytes > 0) else { continue };
        low_bytes = rest_bytes;
        set(one, GroupSetting::MemoryLow, bytes, Reason::rule("working_set_of_a_protected_app"));
    }
    requests
}

/// Whether the group is in front or protected as a likely next app.
fn is_to_keep(one: &Candidate<'_>) -> bool {
    one.rated.level == Importance::Foreground || one.spared.as_ref().is_some_and(|spared| spared.rule == "likely_next")
}

/// The next multiple of an eighth of the octave that it is in, and of a page.
fn rounded(bytes: u64) -> u64 {
    let step = (bytes.max(1).ilog2().saturating_sub(3)).min(62);
    bytes.checked_next_multiple_of((1_u64 << step).max(PAGE_BYTES)).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::iram::candidates::{self, Outlook};
    use crate::iram::config::Config;
    use crate::iram::tests::any_world;

    #[test]
    fn values_are_rounded_up_by_an_eighth_at_most() {
        for (bytes, expected) in [(1, 4096), (4097, 8192), (1 << 30, 1 << 30), ((1 << 30) + 1, (1 << 30) + (1 << 27))] {
            assert_eq!(rounded(bytes), expected);
        }
    }

    proptest! {
        #[test]
        fn no_limit_is_below_the_threshold_or_what_is_used(
            world in any_world(),
            threshold_mib in 0_u64..512,
            next in 0_usize..6,
        ) {
            let config = Config::default();
            let (apps, now) = (&world.apps, &world.now);
            let rank = |id: &str| id.parse().ok().filter(|rank| *rank < next);
            let outlook = |id: &str| Outlook { chance: 0.1, rank: rank(id), relaunch_s: None };
            let all = candidates::all(&config, now.at_ns, apps, &now.apps, &now.memory, outlook);
            let threshold_bytes = threshold_mib << 20;
            let requests = requests(&all, now.memory.total_bytes, &BTreeSet::new(), |_| Some(threshold_bytes));
            let mut low_bytes = 0;
            for setting in requests.iter().filter_map(Request::setting) {
                let bytes: u64 = setting.value.parse().expect("bytes");
                prop_assert_eq!(bytes % PAGE_BYTES, 0);
                let one = all.iter().find(|one| Some(one.app.group.as_str()) == setting.knob.group()).expect("a group");
                match setting.knob {
                    Knob::Group { setting: GroupSetting::MemoryLow, .. } => {
                        low_bytes += bytes;
                        prop_assert!(one.spared.is_some());
                    }
                    _ => {
                        prop_assert!(bytes >= threshold_bytes && Some(bytes) >= one.memory_bytes);
                        prop_assert!(one.spared.is_none() && one.app.activity.focused != Some(true));
                    }
                }
            }
            prop_assert!(low_bytes <= now.memory.total_bytes / 2);
        }
    }
}
