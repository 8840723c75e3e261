//! What an app did in the last minute: sound between two tracks, a build, a download.
//!
//! Processor time is compared between two observations, connections are read with the scores. An app is known to do
//! nothing after a minute in which it was seen to do nothing; before that it is unknown.
//!
//! Property: `an_app_is_known_to_rest_after_a_minute_of_rest`.

/// How far back sound counts.
const MINUTE_NS: u64 = 60_000_000_000;
/// More than this share of one processor between two observations is work: a program at rest wakes up for less.
const WORK_PERCENT: u64 = 2;

#[derive(Debug, Default)]
pub(super) struct Recent {
    sounded_ns: Option<u64>,
    /// Since when the processor time is followed.
    followed_ns: Option<u64>,
    /// The last observation, and the processor time by then.
    cpu: Option<(u64, u64)>,
    worked_ns: Option<u64>,
    is_connected: Option<bool>,
}

impl Recent {
    /// Takes in whether it plays or records now; says whether it did in the last minute.
    pub(super) fn hear(&mut self, at_ns: u64, audible: Option<bool>) -> Option<bool> {
        if audible == Some(true) {
            self.sounded_ns = Some(at_ns);
        }
        if is_within_minute(self.sounded_ns, at_ns) { Some(true) } else { audible }
    }

    /// Takes in its processor time so far; `None` where that is not told.
    pub(super) fn follow(&mut self, at_ns: u64, cpu_us: Option<u64>) {
        let Some(cpu_us) = cpu_us else {
            (self.cpu, self.followed_ns) = (None, None);
            return;
        };
        self.followed_ns.get_or_insert(at_ns);
        let Some((then_ns, before_us)) = self.cpu.replace((at_ns, cpu_us)) else { return };
        let elapsed_us = at_ns.saturating_sub(then_ns) / 1_000;
        if cpu_us.saturating_sub(before_us).saturating_mul(100) > elapsed_us.saturating_mul(WORK_PERCENT) {
            self.worked_ns = Some(at_ns);
        }
    }

    /// Takes in whether it has a connection to another machine; `None` where that is not told.
    pub(super) fn connect(&mut self, is_connected: Option<bool>) {
        self.is_connected = is_connected;
    }

    /// Whether it used processor or network in the last `rest_ns`; `None` until it was followed for as long.
    pub(super) fn works(&self, at_ns: u64, rest_ns: u64) -> Option<bool> {
        let is_within = |then_ns: u64| at_ns.saturating_sub(then_ns) < rest_ns;
        if self.worked_ns.is_some_and(is_within) || self.is_connected == Some(true) {
            return Some(true);
        }
        let is_followed = self.followed_ns.is_some_and(|since_ns| !is_within(since_ns));
        (is_followed && self.is_connected.is_some()).then_some(false)
    }
}

fn is_within_minute(then_ns: Option<u64>, at_ns: u64) -> bool {
    then_ns.is_some_and(|then_ns| at_ns.saturating_sub(then_ns) < MINUTE_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S_NS: u64 = 1_000_000_000;

    #[test]
    fn an_app_is_known_to_rest_after_a_minute_of_rest() {
        let mut recent = Recent::default();
        // Seconds, and processor time in ms by then.
        let mut works = |at_s: u64, cpu_ms: u64| {
            recent.follow(at_s * S_NS, Some(cpu_ms * 1_000));
            recent.connect(Some(false));
            recent.works(at_s * S_NS, MINUTE_NS)
        };
        assert_eq!((works(0, 0), works(2, 30), works(59, 100)), (None, None, None), "not for a minute");
        assert_eq!(works(60, 110), Some(false));
        // A build, for one stretch.
        assert_eq!(works(62, 160), Some(true));
        assert_eq!((works(64, 160), works(121, 160), works(122, 160)), (Some(true), Some(true), Some(false)));
        // What is not told any more is unknown, and for a minute after it.
        recent.follow(130 * S_NS, None);
        assert_eq!(recent.works(130 * S_NS, MINUTE_NS), None);
        recent.follow(131 * S_NS, Some(0));
        assert_eq!((recent.works(190 * S_NS, MINUTE_NS), recent.works(191 * S_NS, MINUTE_NS)), (None, Some(false)));
        recent.connect(Some(true));
        assert_eq!(recent.works(191 * S_NS, MINUTE_NS), Some(true));
        recent.connect(None);
        assert_eq!(recent.works(191 * S_NS, MINUTE_NS), None);
    }

    #[test]
    fn between_two_tracks_a_player_plays() {
        let mut recent = Recent::default();
        assert_eq!(recent.hear(0, Some(false)), Some(false));
        assert_eq!(recent.hear(S_NS, Some(true)), Some(true));
        assert_eq!(recent.hear(2 * S_NS, Some(false)), Some(true));
        assert_eq!(recent.hear(3 * S_NS, None), Some(true));
        assert_eq!((recent.hear(61 * S_NS, Some(false)), recent.hear(62 * S_NS, None)), (Some(false), None));
    }
}
