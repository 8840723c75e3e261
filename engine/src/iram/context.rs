//! What user and device do: screen, idle, the app in front, since when (dissertation 5.3, Context Aggregator).
//!
//! A state that the system does not tell is unknown; an unknown screen counts as on. Times are CLOCK_MONOTONIC.
//!
//! Properties: `events_in_any_order_of_kinds_give_the_last_state`; `an_unknown_screen_counts_as_on`.

use brisk_core::event::{Event, EventKind};
use serde::{Deserialize, Serialize};

/// A state, and since when it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    pub is: bool,
    pub since_ns: u64,
}

/// What user and device do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// The screen is on; `None`: the system does not tell.
    pub screen_on: Option<Since>,
    /// The user is idle; `None`: the system does not tell.
    pub idle: Option<Since>,
    /// Group of the app that came to the foreground last.
    pub front: Option<String>,
    pub front_since_ns: u64,
    /// When the kernel ended a process for want of memory.
    pub out_of_memory_ns: Option<u64>,
    /// What is added to UTC for local time, s; `None`: the system does not tell.
    pub utc_offset_s: Option<i32>,
}

impl Context {
    /// The same after `event`.
    pub fn take(&mut self, event: &Event) {
        let since = |before: Option<Since>, is: bool| match before {
            Some(before) if before.is == is => Some(before),
            _ => Some(Since { is, since_ns: event.at_ns }),
        };
        match &event.kind {
            EventKind::Screen { on } => self.screen_on = since(self.screen_on, *on),
            EventKind::UserIdle { idle } => self.idle = since(self.idle, *idle),
            EventKind::Focused { group } if self.front.as_ref() != Some(group) => {
                (self.front, self.front_since_ns) = (Some(group.clone()), event.at_ns);
            }
            EventKind::AppGone { group } if self.front.as_ref() == Some(group) => self.front = None,
            EventKind::LocalTime { utc_offset_s } => self.utc_offset_s = Some(*utc_offset_s),
            EventKind::OutOfMemory { .. } => self.out_of_memory_ns = Some(event.at_ns),
            _ => {}
        }
    }

    /// Whether nothing can be seen.
    #[must_use]
    pub fn is_screen_off(&self) -> bool {
        self.screen_on.is_some_and(|screen| !screen.is)
    }

    /// Whether the user is known to be idle.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.idle.is_some_and(|idle| idle.is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(events: &[(u64, EventKind)]) -> Context {
        let mut context = Context::default();
        events.iter().for_each(|(at_ns, kind)| context.take(&Event { at_ns: *at_ns, kind: kind.clone() }));
        context
    }

    #[test]
    fn an_unknown_screen_counts_as_on() {
        assert!(!after(&[]).is_screen_off() && !after(&[]).is_idle());
        assert!(after(&[(1, EventKind::Screen { on: false })]).is_screen_off());
    }

    #[test]
    fn events_in_any_order_of_kinds_give_the_last_state() {
        let focused = |group: &str| EventKind::Focused { group: group.to_owned() };
        let events = [
            (1, EventKind::Screen { on: true }),
            (2, focused("a")),
            (3, EventKind::UserIdle { idle: true }),
            (4, EventKind::Screen { on: true }),
            (5, focused("a")),
            (6, EventKind::UserIdle { idle: false }),
            (7, focused("b")),
            (8, EventKind::OutOfMemory { group: "c".to_owned() }),
        ];
        let context = after(&events);
        assert_eq!(context.screen_on, Some(Since { is: true, since_ns: 1 }), "the same again changes nothing");
        assert_eq!(context.idle, Some(Since { is: false, since_ns: 6 }));
        assert_eq!((context.front.as_deref(), context.front_since_ns), (Some("b"), 7));
        assert_eq!(context.out_of_memory_ns, Some(8));
        let gone = EventKind::AppGone { group: "b".to_owned() };
        assert_eq!(after(&[events.as_slice(), &[(9, gone)]].concat()).front, None);
    }
}
