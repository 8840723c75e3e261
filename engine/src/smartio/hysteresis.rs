//! Something that is on or off, and does not flap.

use serde::{Deserialize, Serialize};

/// How much something is needed at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// It was needed, and what it was needed for is over: no hold-off.
    Over,
    No,
    /// Presumably: without evidence by then it ends with the minimum dwell time, without hold-off.
    Presumed,
    /// By evidence: the hold-off follows.
    Seen,
}

/// On or off, since when, and when it was last needed; all times CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hysteresis {
    pub on: bool,
    /// When it was last switched; `None` when it never was.
    pub changed_ns: Option<u64>,
    pub needed_ns: u64,
    pub needed: bool,
    /// Whether there was evidence for the need since it went on: then a hold-off follows.
    pub confirmed: bool,
}

impl Hysteresis {
    /// The same a moment later. It goes on when needed and goes off `hold_ns` after it was last needed, but never
    /// within `dwell_ns` of the last change.
    #[must_use]
    pub(crate) fn step(self, need: Need, now_ns: u64, dwell_ns: u64, hold_ns: u64) -> Self {
        let needed = need >= Need::Presumed;
        let needed_ns = if needed { now_ns } else { self.needed_ns };
        let confirmed = need == Need::Seen || self.confirmed && need != Need::Over;
        let next = Self { needed, needed_ns, confirmed, ..self };
        let due = next.due_ns(dwell_ns, hold_ns).is_some_and(|due_ns| due_ns <= now_ns);
        match due {
            true => Self { on: !self.on, changed_ns: Some(now_ns), confirmed: confirmed && !self.on, ..next },
            false => next,
        }
    }

    /// When it will change if what it stands for stays as it is.
    #[must_use]
    pub(crate) fn due_ns(self, dwell_ns: u64, hold_ns: u64) -> Option<u64> {
        let dwelt_ns = self.changed_ns.map_or(0, |changed_ns| changed_ns.saturating_add(dwell_ns));
        let hold_ns = if self.confirmed { hold_ns } else { 0 };
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

    /// Times of changes with dwell 5 and hold 3, and the state at 40.
    fn changes(need: impl Fn(u64) -> Need) -> (Vec<(u64, bool)>, Hysteresis) {
        let (mut hold, mut changes) = (Hysteresis::default(), Vec::new());
        for now in 0..40 {
            let next = hold.step(need(now), now, 5, 3);
            if next.on != hold.on {
                changes.push((now, next.on));
            }
            hold = next;
        }
        (changes, hold)
    }

    #[test]
    fn it_goes_on_at_once_and_off_when_not_needed_for_long_enough() {
        let during = |now| if (10..20).contains(&now) || (24..26).contains(&now) { Need::Seen } else { Need::No };
        let (changes, hold) = changes(during);
        // Off at 22, 3 after 19; the dwell lets it on again at 27, when it is not needed any more.
        assert_eq!(changes, [(10, true), (22, false)]);
        assert_eq!(hold.due_ns(5, 3), None);
        assert_eq!(Hysteresis { needed: true, ..hold }.due_ns(5, 3), Some(27));
    }

    #[test]
    fn a_presumed_need_has_no_hold_off_and_neither_has_one_that_is_over() {
        let (presumed, _) = changes(|now| if now == 10 { Need::Presumed } else { Need::No });
        assert_eq!(presumed, [(10, true), (15, false)]);
        let seen_then = |then| {
            move |now| match now {
                10..20 => Need::Seen,
                20.. => then,
                _ => Need::No,
            }
        };
        assert_eq!(changes(seen_then(Need::No)).0, [(10, true), (22, false)]);
        assert_eq!(changes(seen_then(Need::Over)).0, [(10, true), (20, false)]);
        let (confirmed_later, _) = changes(|now| match now {
            10 => Need::Presumed,
            12..14 => Need::Seen,
            _ => Need::No,
        });
        assert_eq!(confirmed_later, [(10, true), (16, false)]);
    }
}
