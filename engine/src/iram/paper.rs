//! `mode = "paper"`: dissertation 5.3 and 5.5, as far as it does no harm.
//!
//! | paper | here |
//! |---|---|
//! | Scheduler: each 20 s, with the screen off each 60 s, free memory below MIN_MEM = 60 % is cleaned | the same ([`crate::iram::schedule`]) |
//! | Priority Manager: candidates by AGGRESSION_LEVEL, from the lowest importance | the same ([`crate::iram::candidates`]), up to Visible |
//! | the nine likely next apps are filtered out | the same |
//! | candidates are killed | they are asked to end, and killed after `end_grace_ms`; at most `ends_per_minute` |
//! | levels 2 and 3: system caches | page caches of the groups of the candidates |
//! | Heap Manager: `dalvik.vm.heapsize` follows the predicted need | the need is predicted; nothing is set, since a process of Linux has no heap limit that would have to be raised, and Android has one for all apps: `brisk doctor` compares it with the needs that are recorded |
//!
//! Properties: `each_candidate_is_ended_from_the_lowest_importance`; `the_nine_likely_next_apps_stay`;
//! `level_2_frees_caches_too`; `level_3_ends_all_below_the_foreground`; `nothing_is_cleaned_above_60_percent`;
//! `no_more_apps_end_in_a_minute_than_configured`.

use brisk_core::action::Once;
use brisk_core::decision::{Decision, Needs, Objective, Observed, Request};
use brisk_core::reason::Reason;

use crate::iram::candidates::{self, Candidate, Step};
use crate::iram::config::Config;
use crate::iram::schedule;
use crate::iram::{Pending, State, observe};

pub(crate) fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
    let now_ns = observed.now.at_ns;
    let mut next = State { at_ns: now_ns, ..state };
    observe::take(&mut next, observed);
    let mut requests = Vec::new();
    let mut notes = Vec::new();
    // What adaptive mode froze, before the configuration changed.
    for (group, _) in std::mem::take(&mut next.frozen) {
        requests.push(Request::once(Once::Thaw { group }, Objective::Delay, Reason::rule("paper_freezes_nothing")));
    }
    if schedule::is_check_due(config, &next.context, next.checked_ns, now_ns) {
        next.checked_ns = Some(now_ns);
        let below_bytes = schedule::below_min_bytes(config, &observed.now.memory);
        if below_bytes > 0 {
            clean(config, &mut next, observed, &mut requests, &mut notes);
        }
    }
    let next_look_ns = next.checked_ns.map(|checked_ns| schedule::next_check_ns(config, &next.context, checked_ns));
    Decision { state: next, requests, notes, next_look_ns, needs: Needs::default() }
}

fn clean(
    config: &Config,
    next: &mut State,
    observed: &Observed<'_>,
    requests: &mut Vec<Request>,
    notes: &mut Vec<Reason>,
) {
    let outlook = next.outlook(observed.now);
    let memory = &observed.now.memory;
    let all =
        candidates::all(config, observed.now.at_ns, observed.apps, &observed.now.apps, memory, |id| outlook.of(id));
    let may_end = |one: &&Candidate<'_>| {
        one.allows(config, Step::End)
            && !next.ends.pending.contains_key(&one.app.group)
            && !next.waits_for(&one.app.group, Step::End)
    };
    let mut all_to_end: Vec<&Candidate<'_>> = all.iter().filter(may_end).collect();
    all_to_end.sort_by_key(|one| one.end_place());
    let may_end_now = (config.ends_per_minute as usize).saturating_sub(next.ends.at_ns.len());
    let (now, later) = all_to_end.split_at(may_end_now.min(all_to_end.len()));
    if !later.is_empty() {
        let most = f64::from(config.ends_per_minute);
        notes.push(Reason::rule("ends_are_limited").number("apps", later.len() as f64).number("ends_per_minute", most));
    }
    let is_ended = |one: &Candidate<'_>| now.iter().any(|ended| ended.app.group == one.app.group);
    if config.aggression_level >= 2 {
        for one in all.iter().filter(|one| one.spared.is_none() && one.has_controller && !is_ended(one)) {
            let once = Once::DropPageCache { group: one.app.group.clone() };
            requests.push(Request::once(once, Objective::Delay, one.facts("system_caches")));
        }
    }
    for one in now {
        let once = one.end(config.end_grace_ms);
        requests.push(Request::once(once, Objective::Delay, one.facts_of_end("lowest_importance")));
    }
    let ended: Vec<_> =
        now.iter().map(|one| (one.app.group.clone(), one.app.owned_id(), one.end_frees_bytes())).collect();
    for (group, id, memory_bytes) in ended {
        let at_ns = observed.now.at_ns;
        let until_ns = at_ns.saturating_add(config.end_grace_ms.saturating_mul(1_000_000));
        next.ends.began(&group, &id, Pending { at_ns, memory_bytes: memory_bytes.unwrap_or(0), until_ns });
    }
}
