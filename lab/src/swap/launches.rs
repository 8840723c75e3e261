//! Changes of a trace before it is replayed: marks of launches that a recording lacks, found from the pages that apps
//! used, and shorter pauses.
//!
//! An app that comes to the front after a pause uses many swapped pages at once. A launch begins with the first use
//! after a pause of 2 s, and is one when 32 uses (128 KiB) follow within 1 s; it ends with the last use before the next
//! 0.5 s without any. The thresholds are assumed; a launch that swaps nothing is not found.

use crate::swap::trace::{Action, Event, Trace};

/// An app that used nothing for so long was in the background, or idle.
const PAUSE_US: u64 = 2_000_000;
/// What an app in front uses at least of swap in the first `BEGIN_US` of a launch: 128 KiB.
const USES_MIN: usize = 32;
/// See `USES_MIN`.
const BEGIN_US: u64 = 1_000_000;
/// A launch has ended when nothing was used for so long.
const REST_US: u64 = 500_000;

impl Trace {
    /// Whether it has marks of launches.
    #[must_use]
    pub fn has_launches(&self) -> bool {
        self.events.iter().any(|event| event.action == Action::Front)
    }

    /// The trace with marks where an app used many pages after a pause. Marks that it has stay, and no others are
    /// added.
    #[must_use]
    pub fn with_launches(mut self) -> Self {
        if self.has_launches() {
            return self;
        }
        let mut marks: Vec<Event> = Vec::new();
        for app in 0..self.apps.len() as u16 {
            let is_use = |event: &&Event| event.app == app && event.action == Action::In;
            let uses: Vec<u64> = self.events.iter().filter(is_use).map(|event| event.at_us).collect();
            let mut at = 0;
            while at < uses.len() {
                let begin_us = uses[at];
                let begins = at == 0 || begin_us - uses[at - 1] >= PAUSE_US;
                let first = uses[at..].iter().take_while(|&&use_us| use_us - begin_us <= BEGIN_US).count();
                if !begins || first < USES_MIN {
                    at += 1;
                    continue;
                }
                let end =
                    (at + 1..uses.len()).find(|&next| uses[next] - uses[next - 1] >= REST_US).unwrap_or(uses.len());
                let mark = |at_us, action| Event { at_us, action, app, page: 0, slot: None };
                marks.extend([mark(begin_us, Action::Front), mark(uses[end - 1], Action::Ready)]);
                at = end;
            }
        }
        // A launch begins before the first use of its time, and ends after the last.
        let order = |event: &Event| match event.action {
            Action::Front => 0,
            Action::Ready => 2,
            _ => 1,
        };
        self.events.append(&mut marks);
        self.events.sort_by_key(|event| (event.at_us, order(event)));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(lines: &str) -> Trace {
        let head = "#brisk-swap-trace 1 area_slots=2048\ntime_us,action,app,page,slot\n";
        Trace::parse(&format!("{head}{lines}")).expect("a trace")
    }

    fn marks(trace: &Trace) -> Vec<(u64, &'static str, u16)> {
        let marked = trace.events.iter().filter(|event| !event.action.is_of_page());
        marked.map(|event| (event.at_us, event.action.word(), event.app)).collect()
    }

    #[test]
    fn many_uses_after_a_pause_are_a_launch_that_ends_with_the_last_of_them() {
        let mut lines = String::new();
        let mut uses = |app: &str, from_us: u64, count: u64| {
            (0..count).for_each(|n| lines += &format!("{},in,{app},{n},\n", from_us + 1000 * n));
        };
        uses("a", 0, 40);
        // Few uses, and many without a pause before: neither is a launch.
        uses("b", 100_000, 10);
        uses("a", 1_000_000, 40);
        uses("a", 9_000_000, 200);
        uses("b", 10_000_000, 32);
        let found = trace(&lines).with_launches();
        let expected = [
            (0, "front", 0),
            (39_000, "ready", 0),
            (9_000_000, "front", 0),
            (9_199_000, "ready", 0),
            (10_000_000, "front", 1),
            (10_031_000, "ready", 1),
        ];
        assert_eq!(marks(&found), expected);
        let first: Vec<_> = found.events.iter().take(2).map(|event| event.action).collect();
        assert_eq!(first, [Action::Front, Action::In]);
        assert_eq!(Trace::parse(&found.to_text()), Ok(found));
    }

    #[test]
    fn marks_that_are_there_stay_alone() {
        let mut lines = "0,front,a,,\n".to_owned();
        (0..50).for_each(|n| lines += &format!("{n},in,b,{n},\n"));
        let marked = trace(&lines);
        assert_eq!(marked.clone().with_launches(), marked);
    }
}
