//! What the running daemon says of an engine: its service may allow less than a person may, and it does without what it
//! has died in.

use brisk_api::Resting;
use brisk_api::resting::part as of;

use super::{Needs, Part, State};
use crate::doctor::facts::{Facts, Running};

const CHECK: &str = "daemon";

/// What the daemon that runs does without, for the engine of a part.
pub(super) fn daemon(facts: &Facts, mut needs: Needs<'_>) {
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
        of::OPENED_FILES | of::LAUNCH_FILES | "prefetch" | "end_prefetch" => Part::Prefetch,
        of::PAGE_TABLES | "page_out" | "page_in" | "map_in" | "read_ahead" => Part::Mars,
        of::WORKER | of::KEEPER | "freeze" | "thaw" | "end_app" => Part::Iram,
        "reclaim" | "drop_page_cache" => Part::Iram,
        _ => Part::SmartIo,
    }
}
