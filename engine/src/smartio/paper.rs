//! `mode = "paper"`: dissertation 4.3 and 4.4.1, as far as a stock kernel goes.
//!
//! The paper adds a third level of priority below class and level: in each section of the dispatch queue (real-time,
//! best effort, idle) reads stand before writes; a time slice of 100 ms keeps writes from starving; a queue that has
//! company has at most 8 requests in flight (`quantum`). It is a patch of CFQ, which left the kernel in 5.0.
//! mq-deadline has the same three sections with reads before writes in each, so it stands in:
//!
//! | paper | here |
//! |---|---|
//! | reads before writes in each section | `writes_starved`: as many reads as a slice of 100 ms holds at 0.187 ms each (4.2.3) |
//! | time slice of 100 ms against starvation | `prio_aging_expire` 100 |
//! | at most 8 in flight of a queue with company | `async_depth` 8, which bounds writes only |
//! | sequential reads at once, the S5's parameter: 2 (4.2.5) | `fifo_batch` 2 |
//!
//! What no stock scheduler can do is a note in the decision: the eight levels within a class, one queue for each
//! process, and a concurrency parameter for each of the four kinds of load.

use brisk_core::decision::{Decision, Needs, Objective, Observed};
use brisk_core::reason::Reason;

use crate::smartio::State;
use crate::smartio::hunted;
use crate::smartio::profile::QueueSettings;
use crate::smartio::requests::Requests;

/// The paper's time slice.
pub(crate) const SLICE_MS: u32 = 100;
/// Random reads of 0.187 ms in a slice.
const READS_PER_SLICE: u32 = 534;
/// The paper's quantum.
const QUANTUM: u32 = 8;
/// Sequential reads at once on the paper's Galaxy S5.
const SEQUENTIAL_READS: u32 = 2;

/// The paper's parameters, in mq-deadline's terms.
pub(crate) fn setup() -> QueueSettings {
    let tunables = [
        ("async_depth", QUANTUM),
        ("fifo_batch", SEQUENTIAL_READS),
        ("prio_aging_expire", SLICE_MS),
        ("writes_starved", READS_PER_SLICE),
    ];
    QueueSettings {
        scheduler: Some("mq-deadline".to_owned()),
        priorities: true,
        tunables: tunables.map(|(name, value)| (name.to_owned(), value.to_string())).into(),
        ..QueueSettings::default()
    }
}

pub(crate) fn decide(state: State, observed: &Observed<'_>) -> Decision<State> {
    let mut requests = Requests::new(&state.refused);
    let mut notes: Vec<Reason> = observed.devices.iter().filter_map(hunted::objection).collect();
    let reason = Reason::rule("reads_before_writes").word("source", "dissertation 4.4.1");
    for device in observed.devices {
        if requests.kernel_scheduler(device, true, SLICE_MS, Objective::Delay, &reason) {
            continue;
        }
        requests.setup(device, &setup(), SLICE_MS, Objective::Delay, &reason);
        let lacks = if device.has_scheduler("mq-deadline") {
            "levels within a class, a queue for each process, a concurrency parameter for each kind of load"
        } else {
            "mq-deadline, which stands in for the paper's scheduler"
        };
        notes.push(Reason::rule("not_in_this_kernel").word("device", &device.name).word("lacks", lacks));
    }
    let requests = requests.all;
    let state = State { refused: state.refused, ..State::default() };
    Decision { state, requests, notes, next_look_ns: None, needs: Needs::default() }
}
