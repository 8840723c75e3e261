//! End of an app's work: the `UntilIdle` of Revisiting storage, section 3.2.
//!
//! The paper compares the CPU time of the whole phone with a low threshold for a minimum time, and states neither. Here
//! an app works while its processes run, wait for a processor, for memory, for storage or for an answer from the
//! network in [`BUSY_PERCENT`] of a tenth of a second or more; blinking and polling stay below that.

use std::ops::Range;

use crate::probes::Event;

use crate::launch::split::{self, Exclusive, network};

/// Least share of [`SPAN_NS`] that counts as work.
pub const BUSY_PERCENT: u64 = 10;
/// Time over which that share is computed.
pub const SPAN_NS: u64 = STEP_NS * STEPS as u64;

const STEP_NS: u64 = 20_000_000;
const STEPS: usize = 5;

/// End of the last work within `window`, precise to the event that ended it; `None` without any.
///
/// Whether an app works is judged over [`SPAN_NS`], in steps of 20 ms; within the last busy step, the end is that of
/// the last busy moment. Requests to the network that are never answered in `events` do not count as work.
#[must_use]
pub fn last_work_ns(events: &[Event], window: Range<u64>) -> Option<u64> {
    let count = window.end.saturating_sub(window.start) / STEP_NS;
    let mut bounds: Vec<u64> = (0..=count).map(|step| window.start + step * STEP_NS).collect();
    if bounds.last().is_some_and(|last| *last < window.end) {
        bounds.push(window.end);
    }
    let answers = network::answered_spans(events);
    let busy = busy_between(events, &bounds, &answers);
    let threshold = SPAN_NS * BUSY_PERCENT / 100;
    let last = (0..busy.len()).rev().find(|at| {
        let span = &busy[at.saturating_sub(STEPS - 1)..=*at];
        busy[*at] > 0 && span.iter().sum::<u64>() >= threshold
    })?;
    // Within the step, only an event or an answer can end work.
    let step = bounds[last]..bounds[last + 1];
    let moments = events.iter().map(|event| event.at_ns).chain(answers.iter().flat_map(|span| [span.start, span.end]));
    let mut bounds: Vec<u64> = moments.filter(|at_ns| step.contains(at_ns)).chain([step.start, step.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let last = busy_between(events, &bounds, &answers).iter().rposition(|busy_ns| *busy_ns > 0)?;
    Some(bounds[last + 1])
}

/// Busy time between adjacent `bounds`.
fn busy_between(events: &[Event], bounds: &[u64], answers: &[Range<u64>]) -> Vec<u64> {
    let parts = split::split_between(events, bounds);
    parts.iter().zip(bounds.windows(2)).map(|(part, ends)| busy_ns(part, answers, ends[0]..ends[1])).collect()
}

fn busy_ns(part: &Exclusive, answers: &[Range<u64>], step: Range<u64>) -> u64 {
    let local = part.total_ns() - part.sleep_ns - part.network_ns;
    // Only where the network was the cause, and only for requests with an answer.
    let from = answers.partition_point(|span| span.end <= step.start);
    let awaited: u64 = answers[from..]
        .iter()
        .take_while(|span| span.start < step.end)
        .map(|span| span.end.min(step.end) - span.start.max(step.start))
        .sum();
    local + awaited.min(part.network_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::recorded::{FAULT, MS, SLEEP, at};
    use crate::probes::{Connection, Kind};

    #[test]
    fn work_ends_with_the_last_busy_tenth_of_a_second() {
        let events = [at(0, Kind::Running), at(300, SLEEP)];
        assert_eq!(last_work_ns(&events, 0..2_000 * MS), Some(300 * MS));
        assert_eq!(last_work_ns(&events, 1_000 * MS..2_000 * MS), None);
        assert_eq!(last_work_ns(&[], 0..2_000 * MS), None);
    }

    #[test]
    fn a_blink_is_not_work_and_a_read_is() {
        let mut events = vec![at(0, Kind::Running), at(300, SLEEP)];
        for blink in [800, 1_400] {
            events.extend([at(blink, Kind::Running), at(blink + 3, SLEEP)]);
        }
        assert_eq!(last_work_ns(&events, 0..2_000 * MS), Some(300 * MS));
        events.extend([at(1_500, Kind::Running), at(1_500, FAULT), at(1_620, Kind::Runnable)]);
        events.extend([at(1_620, Kind::Running), at(1_620, SLEEP)]);
        assert_eq!(last_work_ns(&events, 0..2_000 * MS), Some(1_620 * MS));
    }

    #[test]
    fn the_end_of_work_is_that_of_the_event_and_not_of_a_step() {
        for end in [301, 307, 319, 320, 333] {
            let events = [at(0, Kind::Running), at(end, SLEEP)];
            assert_eq!(last_work_ns(&events, 0..2_000 * MS), Some(end * MS));
            // The window ends with the work, within a step.
            assert_eq!(last_work_ns(&events, 0..end * MS), Some(end * MS));
        }
    }

    #[test]
    fn an_answered_request_counts_as_work() {
        let socket = 1;
        let mut events = vec![
            at(0, Kind::Running),
            at(100, Kind::Network(Connection::Sent { socket, bytes: 1, loopback: false })),
            at(100, SLEEP),
        ];
        assert_eq!(last_work_ns(&events, 0..2_000 * MS), Some(100 * MS));
        events.push(at(900, Kind::Network(Connection::Received { socket, bytes: 1 })));
        assert_eq!(last_work_ns(&events, 0..2_000 * MS), Some(900 * MS));
    }
}
