//! Eight levels of importance, highest first (dissertation 5.5; Android: "Processes and app lifecycle").
//!
//! On Android the framework rates each process in `oom_score_adj`; its bands are those of
//! `services/core/java/com/android/server/am/ProcessList.java` (Android 7 and later, in thousandths):
//!
//! | `oom_score_adj` | constants of ProcessList | level |
//! |---|---|---|
//! | up to -900 | NATIVE -1000, SYSTEM -900 | System |
//! | -899 to -1 | PERSISTENT_PROC -800, PERSISTENT_SERVICE -700 | Persistent |
//! | 0 to 99 | FOREGROUND_APP 0, PERCEPTIBLE_RECENT_FOREGROUND_APP 50 | Foreground |
//! | 100 to 199 | VISIBLE_APP 100 | Visible |
//! | 200 to 399 | PERCEPTIBLE_APP 200, 225, 250, BACKUP_APP 300 | Perceptible |
//! | 400 to 599 | HEAVY_WEIGHT_APP 400, SERVICE 500 | Service |
//! | 600 to 949 | HOME_APP 600, PREVIOUS_APP 700, SERVICE_B 800, CACHED_APP_MIN 900 | Background |
//! | from 950 | CACHED_APP_LMK_FIRST 950, CACHED_APP_MAX 999 | Empty |
//!
//! Elsewhere `oom_score_adj` is 0 for nearly all, so only what a service manager sets below zero counts (systemd gives
//! its own parts -1000 to -900, container managers -500), and the level comes from what the app does for its user. The
//! first rule that holds:
//!
//! | rule | holds for | level |
//! |---|---|---|
//! | `brisk_itself` | brisk's daemon | System |
//! | `protected_by_configuration` | class `system` by the configuration or its list of protected services | System |
//! | `oom_score_adj` | up to -900; up to -500 | System; Persistent |
//! | `launching` | an app that is being launched | Foreground |
//! | `focused` | the app in front | Foreground |
//! | `system_service` | a service that apps wait for | Persistent, of a user's session Service |
//! | `audible`, `inhibitor`, `streaming` | it plays or records, holds an inhibitor, or is chosen as a stream | Perceptible |
//! | `may_be_in_front` | an interactive app, where the system does not tell which is in front | Visible |
//! | `front_lately` | it was in front up to ten seconds ago | Visible |
//! | `work_without_window` | background services, groups that are no apps, batches that were never in front | Service |
//! | `never_in_front` | an app that has not been in front, where the system tells | Empty |
//! | `not_in_front` | any other app | Background |
//!
//! An app that was in front lately, other than the one before, may be ended in one case: for a launch that will not fit
//! ([`crate::iram::launch`]), when no app in the background can be.
//!
//! Ten seconds: half of the switches between apps return to the app before, most of them within seconds (measured on
//! four users).
//!
//! Properties: `each_band_of_android_has_its_level`; `the_first_rule_that_holds_gives_the_level`;
//! `what_is_protected_is_never_below_system`.

use brisk_core::app::{App, Role, Tolerance};
use brisk_core::reason::Reason;
pub use brisk_core::survey::Importance;
use serde::{Deserialize, Serialize};

/// Rule of an app that was in front a moment ago.
pub(crate) const FRONT_LATELY: &str = "front_lately";
/// An app counts as visible for this time after it left the foreground.
const LATELY_NS: u64 = 10_000_000_000;
/// Id of brisk's daemon: unit and program have this name.
const BRISK: &str = "briskd";

/// A level with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rated {
    pub level: Importance,
    /// The rule that held.
    pub reason: Reason,
}

/// Rates an app at the time `now_ns`, CLOCK_MONOTONIC.
#[must_use]
pub fn rate(app: &App, now_ns: u64) -> Rated {
    let rated = |level, rule| Rated { level, reason: Reason::rule(rule) };
    if app.id == BRISK {
        return rated(Importance::System, "brisk_itself");
    }
    // One of the list of protected apps is as important as what it does.
    if app.activity.protected.is_none() && app.protection().is_some() {
        return rated(Importance::System, "protected_by_configuration");
    }
    match app.activity.oom_score_adj {
        Some(adj) if app.activity.is_rated => return of_android(app, adj),
        Some(adj @ ..=-500) => {
            let level = if adj <= -900 { Importance::System } else { Importance::Persistent };
            return Rated { level, reason: Reason::rule("oom_score_adj").number("oom_score_adj", f64::from(adj)) };
        }
        _ => {}
    }
    of_linux(app, now_ns)
}

fn of_android(app: &App, adj: i16) -> Rated {
    let level = match adj {
        ..=-900 => Importance::System,
        -899..=-1 => Importance::Persistent,
        0..=99 => Importance::Foreground,
        100..=199 => Importance::Visible,
        200..=399 => Importance::Perceptible,
        400..=599 => Importance::Service,
        600..=949 => Importance::Background,
        950.. => Importance::Empty,
    };
    // The framework rates a launch when the process is there, which is later than the launch.
    let (level, rule) = match () {
        () if app.launching => (level.min(Importance::Foreground), "launching"),
        () if app.activity.focused == Some(true) => (level.min(Importance::Foreground), "focused"),
        () => (level, "oom_score_adj"),
    };
    Rated { level, reason: Reason::rule(rule).number("oom_score_adj", f64::from(adj)) }
}

fn of_linux(app: &App, now_ns: u64) -> Rated {
    let activity = &app.activity;
    let is_service = app.tolerance == Tolerance::System;
    let was_in_front = |within_ns| activity.front_at_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) <= within_ns);
    let (level, rule) = match () {
        () if app.launching => (Importance::Foreground, "launching"),
        () if activity.focused == Some(true) => (Importance::Foreground, "focused"),
        () if is_service && activity.of_user => (Importance::Service, "system_service"),
        () if is_service => (Importance::Persistent, "system_service"),
        () if activity.audible == Some(true) => (Importance::Perceptible, "audible"),
        () if activity.inhibits == Some(true) => (Importance::Perceptible, "inhibitor"),
        () if app.tolerance == Tolerance::Streaming => (Importance::Perceptible, "streaming"),
        () if activity.focused.is_none() && app.tolerance == Tolerance::Interactive => {
            (Importance::Visible, "may_be_in_front")
        }
        () if was_in_front(LATELY_NS) => (Importance::Visible, FRONT_LATELY),
        // What was in front has a window, whatever its nice value.
        () if activity.role != Role::App || (app.tolerance == Tolerance::Batch && !was_in_front(u64::MAX)) => {
            (Importance::Service, "work_without_window")
        }
        () if activity.focused == Some(false) && !was_in_front(u64::MAX) => (Importance::Empty, "never_in_front"),
        () => (Importance::Background, "not_in_front"),
    };
    Rated { level, reason: Reason::rule(rule) }
}

#[cfg(test)]
mod tests {
    use brisk_core::app::{Activity, AppFacts, classify};
    use proptest::prelude::*;

    use super::*;
    use crate::iram::tests::any_app;

    const NOW_NS: u64 = 100_000_000_000;

    fn app(change: impl FnOnce(&mut AppFacts)) -> App {
        let mut facts = AppFacts {
            group: "app-x-1.scope".to_owned(),
            id: "x".to_owned(),
            of_user: true,
            role: Role::App,
            focused: Some(false),
            activity: Activity { front_at_ns: Some(NOW_NS - 60_000_000_000), ..Activity::default() },
            ..AppFacts::default()
        };
        change(&mut facts);
        classify(&facts)
    }

    #[test]
    fn each_band_of_android_has_its_level() {
        for (adj, level) in [
            (-1000, Importance::System),
            (-900, Importance::System),
            (-800, Importance::Persistent),
            (-700, Importance::Persistent),
            (0, Importance::Foreground),
            (50, Importance::Foreground),
            (100, Importance::Visible),
            (200, Importance::Perceptible),
            (250, Importance::Perceptible),
            (300, Importance::Perceptible),
            (400, Importance::Service),
            (500, Importance::Service),
            (600, Importance::Background),
            (700, Importance::Background),
            (800, Importance::Background),
            (900, Importance::Background),
            (906, Importance::Background),
            (950, Importance::Empty),
            (999, Importance::Empty),
        ] {
            let rated = rate(
                &app(|facts| {
                    facts.activity.is_rated = true;
                    facts.activity.oom_score_adj = Some(adj);
                }),
                NOW_NS,
            );
            assert_eq!((rated.level, rated.reason.rule.as_ref()), (level, "oom_score_adj"), "{adj}");
        }
        let launched = app(|facts| {
            (facts.activity.is_rated, facts.launching) = (true, true);
            facts.activity.oom_score_adj = Some(900);
        });
        assert_eq!(rate(&launched, NOW_NS).level, Importance::Foreground);
    }

    #[test]
    fn the_first_rule_that_holds_gives_the_level() {
        type Change = fn(&mut AppFacts);
        let cases: &[(Change, Importance, &str)] = &[
            (|_| (), Importance::Background, "not_in_front"),
            (|f| f.activity.front_at_ns = None, Importance::Empty, "never_in_front"),
            (|f| f.activity.front_at_ns = Some(NOW_NS - 9_000_000_000), Importance::Visible, "front_lately"),
            (|f| f.focused = None, Importance::Visible, "may_be_in_front"),
            (|f| f.focused = Some(true), Importance::Foreground, "focused"),
            (|f| (f.launching, f.nice_min) = (true, Some(19)), Importance::Foreground, "launching"),
            (|f| f.activity.audible = Some(true), Importance::Perceptible, "audible"),
            (|f| f.activity.inhibits = Some(true), Importance::Perceptible, "inhibitor"),
            (|f| f.chosen = Some(Tolerance::Streaming), Importance::Perceptible, "streaming"),
            (|f| f.nice_min = Some(19), Importance::Background, "not_in_front"),
            (|f| (f.nice_min, f.activity.front_at_ns) = (Some(19), None), Importance::Service, "work_without_window"),
            (|f| f.role = Role::Other, Importance::Service, "work_without_window"),
            (|f| f.role = Role::Service, Importance::Service, "system_service"),
            (|f| (f.role, f.of_user) = (Role::Service, false), Importance::Persistent, "system_service"),
            (|f| f.activity.oom_score_adj = Some(-1000), Importance::System, "oom_score_adj"),
            (|f| f.activity.oom_score_adj = Some(-500), Importance::Persistent, "oom_score_adj"),
            (|f| f.activity.oom_score_adj = Some(900), Importance::Background, "not_in_front"),
            (|f| f.chosen = Some(Tolerance::System), Importance::System, "protected_by_configuration"),
            (|f| f.listed = Some(Tolerance::System), Importance::System, "protected_by_configuration"),
            (|f| f.id = "briskd".to_owned(), Importance::System, "brisk_itself"),
        ];
        for (index, (change, level, rule)) in cases.iter().enumerate() {
            let rated = rate(&app(change), NOW_NS);
            assert_eq!((rated.level, rated.reason.rule.as_ref()), (*level, *rule), "case {index}");
        }
    }

    #[test]
    fn levels_have_their_names_and_order() {
        for (index, (level, name)) in Importance::ALL.into_iter().enumerate() {
            assert_eq!((level as usize, level.name()), (index, name));
            assert_eq!(serde_json::to_value(level).expect("JSON").as_str(), Some(name));
            assert_eq!(level.is_untouchable(), index < 3, "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_is_protected_is_never_below_system(app in any_app(0), now_ns in any::<u64>()) {
            let rated = rate(&app, now_ns);
            let is_protected = app.activity.protected.is_none() && app.protection().is_some();
            prop_assert!(!is_protected || rated.level == Importance::System);
            prop_assert!(!app.launching || rated.level <= Importance::Foreground);
        }
    }
}
