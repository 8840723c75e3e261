//! Something that is on or off, and does not flap.

use serde::{Deserialize, Serialize};

/// On or off, since when, and when it was last needed; all times CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hysteresis {
    /// Whether it is on.
    pub on: bool,
    /// When it was last switched; `None` when it never was.
    pub changed_ns: Option<u64>,
    /// When it was last needed.
    pub needed_ns: u64,
    /// Whether it is needed now.
    pub needed: bool,
}

impl Hysteresis {
    /// The same a moment later. It goes on when needed and goes off `hold_ns` after it was last needed, but never
    /// within `dwell_ns` of the last change.
    #[must_use]
    pub(crate) fn step(self, needed: bool, now_ns: u64, dwell_ns: u64, hold_ns: u64) -> Self {
        let needed_ns = if needed { now_ns } else { self.needed_ns };
        let next = Self { needed, needed_ns, ..self };
        let due = next.due_ns(dwell_ns, hold_ns).is_some_and(|due_ns| due_ns <= now_ns);
        if due { Self { on: !self.on, changed_ns: Some(now_ns), ..next } } else { next }
    }

    /// When it will change if what it stands for stays as it is.
    #[must_use]
    pub(crate) fn due_ns(self, dwell_ns: u64, hold_ns: u64) -> Option<u64> {
        let dwelt_ns = self.changed_ns.map_or(0, |changed_ns| changed_ns.saturating_add(dwell_ns));
        match (self.on, self.needed) {
            (false, true) => Some(dwelt_ns),
            (true, false) => Some(dwelt_ns.max(self.needed_ns.saturating_add(hold_ns))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_at_once_and_off_when_not_needed_for_long_enough() {
        let mut hold = Hysteresis::default();
        let mut changes = Vec::new();
        // Needed from 10 to 20 and again from 24; dwell 5, hold 3.
        for now in 0..40 {
            let next = hold.step((10..20).contains(&now) || (24..26).contains(&now), now, 5, 3);
            if next.on != hold.on {
                changes.push((now, next.on));
            }
            hold = next;
        }
        // Off at 22, 3 after 19; the dwell lets it on again at 27, when it is not needed any more.
        assert_eq!(changes, [(10, true), (22, false)]);
        assert_eq!(hold.due_ns(5, 3), None);
        assert_eq!(Hysteresis { needed: true, ..hold }.due_ns(5, 3), Some(27));
    }
}
