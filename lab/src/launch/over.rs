//! Decides when a launch or an answer is over.
//!
//! It is over when the screen is settled and the app has been idle for [`QUIET_NS`], or when a limit is reached: the
//! app ended, no window appeared, the screen never stands still, the work never ends. Pure: the watcher passes what it
//! knows, and gets the ending or the time of the next check.
//!
//! Without a screen nothing but the program itself shows that it is done: it ends. A program that keeps running may
//! sleep before or between its work, which looks like being done; it counts as done when it was idle for
//! [`Limits::idle_ns`], much longer than [`QUIET_NS`], and the result states that limit.

use crate::results::Ending;

use crate::launch::settle::{Judgement, QUIET_NS};

/// Default of [`Limits::idle_ns`].
pub const IDLE_NS: u64 = 5_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For a window, while the app does no work.
    pub window_ns: u64,
    /// For an animated screen or endless work, from the window or the last wait for storage on.
    pub unsettled_ns: u64,
    /// For a program without a screen that keeps running, while it does no work.
    pub idle_ns: u64,
    /// For the whole launch.
    pub total_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { window_ns: 15_000_000_000, unsettled_ns: 10_000_000_000, idle_ns: IDLE_NS, total_ns: 120_000_000_000 }
    }
}

/// State of the observation at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub now_ns: u64,
    /// Begin of the launch or the input.
    pub begin_ns: u64,
    /// Time of the input whose answer is watched; the begin, without one. It can be later than the begin of a return,
    /// when bringing the window to the front takes time.
    pub asked_ns: u64,
    /// Whether a screen is watched.
    pub has_screen: bool,
    /// Time of the app's window; the begin, for an app that already had one.
    pub window_ns: Option<u64>,
    /// State of the screen's changes.
    pub screen: Judgement,
    pub last_work_ns: Option<u64>,
    /// End of the last wait of the app for its storage.
    pub last_storage_ns: Option<u64>,
    /// Status and signal of the app when no process is left.
    pub exited: Option<(Option<i32>, Option<i32>)>,
}

/// Result of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Over(Ending),
    /// Check again at this time, or at the next event.
    AskAgain(u64),
}

/// Checks whether the launch or answer is over.
#[must_use]
pub fn verdict(known: &Known, limits: &Limits) -> Verdict {
    use Verdict::{AskAgain, Over};
    let Known { now_ns, begin_ns, .. } = *known;
    if let Some((code, signal)) = known.exited {
        return Over(Ending::Exited { code, signal });
    }
    let quiet_ns = if known.has_screen { QUIET_NS } else { limits.idle_ns };
    let work_until = known.last_work_ns.unwrap_or(begin_ns).max(known.asked_ns) + quiet_ns;
    let works = now_ns < work_until;
    let timed_out = now_ns >= begin_ns + limits.total_ns;
    if !known.has_screen {
        return if !works {
            Over(Ending::Headless)
        } else if timed_out {
            Over(Ending::StillWorking)
        } else {
            AskAgain(work_until)
        };
    }
    let Some(window_ns) = known.window_ns else {
        let until = (begin_ns + limits.window_ns).max(work_until);
        return if now_ns >= until || timed_out { Over(Ending::NoWindow) } else { AskAgain(until) };
    };
    // A window without any drawing yet gets the same time limit.
    let quiet_from_ns = window_ns.max(known.asked_ns);
    let settled = known.screen.settled && now_ns >= quiet_from_ns + QUIET_NS;
    let limit = window_ns.max(known.last_storage_ns.unwrap_or(begin_ns)) + limits.unsettled_ns;
    match (settled, works) {
        (true, false) => Over(Ending::Settled),
        (true, true) if now_ns >= limit || timed_out => Over(Ending::StillWorking),
        (false, _) if now_ns >= limit || timed_out => Over(Ending::Animating),
        (true, true) => AskAgain(work_until.min(limit)),
        (false, _) => AskAgain(known.screen.ask_again_ns.max(quiet_from_ns + QUIET_NS).min(limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn known() -> Known {
        Known {
            now_ns: 5 * S,
            begin_ns: 0,
            asked_ns: 0,
            has_screen: true,
            window_ns: Some(S),
            screen: Judgement { last_change_ns: Some(2 * S), settled: true, ask_again_ns: 3 * S, periodic: false },
            last_work_ns: Some(2 * S),
            last_storage_ns: Some(S),
            exited: None,
        }
    }

    #[test]
    fn each_ending_has_its_reason() {
        let unsettled = Judgement { settled: false, ask_again_ns: 100 * S, ..known().screen };
        for (known, ending) in [
            (known(), Ending::Settled),
            (Known { exited: Some((Some(3), None)), ..known() }, Ending::Exited { code: Some(3), signal: None }),
            (Known { window_ns: None, now_ns: 15 * S, ..known() }, Ending::NoWindow),
            (Known { has_screen: false, window_ns: None, now_ns: 7 * S, ..known() }, Ending::Headless),
            (Known { screen: unsettled, now_ns: 11 * S, last_work_ns: Some(11 * S), ..known() }, Ending::Animating),
            (Known { now_ns: 12 * S, last_work_ns: Some(12 * S), ..known() }, Ending::StillWorking),
            (
                Known { has_screen: false, now_ns: 120 * S, last_work_ns: Some(120 * S), ..known() },
                Ending::StillWorking,
            ),
        ] {
            assert_eq!(verdict(&known, &Limits::default()), Verdict::Over(ending), "{known:?}");
        }
    }

    #[test]
    fn an_input_that_is_sent_late_gets_its_time() {
        let asked = Known { asked_ns: 5 * S - QUIET_NS / 2, window_ns: Some(0), ..known() };
        let until = asked.asked_ns + QUIET_NS;
        assert_eq!(verdict(&asked, &Limits::default()), Verdict::AskAgain(until));
        assert_eq!(verdict(&Known { now_ns: until, ..asked }, &Limits::default()), Verdict::Over(Ending::Settled));
    }

    #[test]
    fn waiting_for_storage_does_not_count_as_animation() {
        let screen = Judgement { settled: false, ask_again_ns: 100 * S, ..known().screen };
        let known =
            Known { screen, now_ns: 40 * S, last_work_ns: Some(40 * S), last_storage_ns: Some(39 * S), ..known() };
        assert_eq!(verdict(&known, &Limits::default()), Verdict::AskAgain(49 * S));
    }

    #[test]
    fn a_program_without_a_screen_may_sleep_before_and_between_its_work() {
        let headless = Known { has_screen: false, window_ns: None, ..known() };
        let asleep = Known { now_ns: 4 * S, last_work_ns: None, ..headless };
        assert_eq!(verdict(&asleep, &Limits::default()), Verdict::AskAgain(5 * S));
        assert_eq!(verdict(&headless, &Limits::default()), Verdict::AskAgain(7 * S));
        let patient = Limits { idle_ns: 60 * S, ..Limits::default() };
        assert_eq!(verdict(&Known { now_ns: 61 * S, ..headless }, &patient), Verdict::AskAgain(62 * S));
    }

    #[test]
    fn an_app_that_works_on_its_window_gets_more_time() {
        let known = Known { window_ns: None, now_ns: 30 * S, last_work_ns: Some(30 * S), ..known() };
        assert_eq!(verdict(&known, &Limits::default()), Verdict::AskAgain(30 * S + QUIET_NS));
    }

    #[test]
    fn work_that_just_ended_may_continue() {
        let known = Known { last_work_ns: Some(5 * S - 1), ..known() };
        assert_eq!(verdict(&known, &Limits::default()), Verdict::AskAgain(5 * S - 1 + QUIET_NS));
    }

    proptest! {
        #[test]
        fn every_launch_ends(
            now in 120u64..200, window in proptest::option::of(0u64..120), works in any::<bool>(),
            settled in any::<bool>(), has_screen in any::<bool>(),
        ) {
            let known = Known {
                now_ns: now * S,
                has_screen,
                window_ns: window.map(|s| s * S),
                screen: Judgement { settled, ..known().screen },
                last_work_ns: works.then_some(now * S),
                last_storage_ns: works.then_some(now * S),
                ..known()
            };
            prop_assert!(matches!(verdict(&known, &Limits::default()), Verdict::Over(_)));
        }

        #[test]
        fn the_next_check_is_never_in_the_past(
            now in 0u64..200, window in proptest::option::of(0u64..200), work in 0u64..200, ask in 0u64..200,
            settled in any::<bool>(), has_screen in any::<bool>(),
        ) {
            let screen = Judgement { settled, ask_again_ns: (now + ask) * S, ..known().screen };
            let known = Known {
                now_ns: now * S,
                has_screen,
                window_ns: window.map(|s| s.min(now) * S),
                screen,
                last_work_ns: Some(work.min(now) * S),
                ..known()
            };
            if let Verdict::AskAgain(at_ns) = verdict(&known, &Limits::default()) {
                prop_assert!(at_ns >= now * S);
            }
        }
    }
}
