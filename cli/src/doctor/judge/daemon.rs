//! What the running daemon says of an engine: its service may allow less than a person may, and it does without what it
//! has died in. What each right that is lacking costs.

use brisk_api::Resting;
use brisk_api::resting::part as of;

use super::{Needs, Part, State};
use crate::doctor::facts::{Facts, Running};

const CHECK: &str = "daemon";

/// What each right that the service lacks costs an engine.
fn rights(facts: &Facts, needs: &mut Needs<'_>) {
    let engine = needs.part.title().0;
    // A user who asks for himself lacks most, and is told so once, by the need for privilege.
    let is_root = facts.status.as_ref().is_ok_and(|status| status.effective_uid == 0);
    if facts.daemon.is_none() && !is_root {
        return;
    }
    let who = if facts.daemon.is_some() { "the service" } else { "this process" };
    for lack in facts.lacking_rights.iter().filter(|lack| lack.engines.iter().any(|one| one == engine)) {
        needs.lacks(
            State::Degraded,
            "rights",
            format!("{who} lacks {}", lack.right),
            lack.costs.clone(),
            match facts.daemon {
                Some(_) => "grant it in the service (systemctl edit briskd): the unit as packaged has it",
                None => "in a container, grant it; as a service, briskd tries its rights for itself",
            },
        );
    }
}

/// What the daemon that runs does without, for the engine of a part.
pub(super) fn daemon(facts: &Facts, mut needs: Needs<'_>) {
    rights(facts, &mut needs);
    let Some(Running { pid, engines, resting, trouble }) = &facts.daemon else { return };
    let part = needs.part;
    let engine = part.title().0;
    for one in resting.iter().filter(|one| part_of(one) == part) {
        needs.lacks(
            State::Degraded,
            CHECK,
            format!("{} rests", one.part.replace('_', " ")),
            format!("briskd has died in it {} times, and does without it", one.crashes),
            "when the cause is removed: brisk config reload --retry",
        );
    }
    if !engines.iter().any(|name| name == engine) {
        return;
    }
    needs.ok(CHECK, format!("the engine runs in process {pid}"));
    // What it lacks is of no engine alone.
    if engines.first().is_some_and(|first| first == engine) {
        for lack in trouble {
            needs.lacks(State::Degraded, CHECK, lack.clone(), "the running briskd reports it", "brisk status");
        }
    }
}

/// The part of brisk that uses a part of the daemon most.
fn part_of(resting: &Resting) -> Part {
    match resting.part.as_str() {
        of::OPENED_FILES | of::LAUNCH_FILES | "prefetch" | "end_prefetch" | "make_ready" => Part::Prefetch,
        of::PAGE_TABLES | "page_out" | "page_in" | "map_in" | "read_ahead" => Part::Mars,
        of::WORKER | of::KEEPER | "freeze" | "thaw" | "end_app" => Part::Iram,
        "reclaim" | "drop_page_cache" => Part::Iram,
        _ => Part::SmartIo,
    }
}
