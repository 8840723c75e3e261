//! Which apps are spared when memory is short: nothing is taken from them, or they are not stopped.
//!
//! *Problem*: an app in the background may play, record, call, download or compute for its user, and the system does
//! not tell all of that. *Approach*: one function of what is known of an app, which engines ask when they choose and
//! the actuator asks again at the moment of acting. What is unknown spares.
//!
//! | rule | spares from | holds for |
//! |---|---|---|
//! | `brisk_itself`, `protected_by_configuration` | all | brisk, and what the person protects |
//! | `launching`, `focused` | all | an app that is launched or in front |
//! | `system_service`, `no_app` | all | what is no app of a user |
//! | `protected_by_the_system` | all | `oom_score_adj` below 0 |
//! | `audible`, `may_be_audible` | all | it plays or records, or nothing tells |
//! | `perceptible` | all | the same of Android's apps, by their score: 200 to 299 |
//! | `inhibitor` | all | it holds an inhibitor lock |
//! | `may_be_in_front` | all; batches from freezing alone | nothing tells what is in front |
//! | `may_hold_an_inhibitor` | freezing, ends | a session manager holds a lock for some app |
//! | `works`, `may_work` | freezing | processor or network in the last minute, or unknown |
//! | `frozen_by_the_system`, `no_freezer` | freezing | apps of Android; sessions without a group |
//! | `kept_by_preference` | ends | what the person told another program that ends apps |
//!
//! How long ago an app was left, and how likely it is next, is for engines to weigh.
//!
//! Properties: `each_rule_spares_an_app`; `what_is_unknown_spares`; `what_may_be_frozen_may_be_taken_from`.

use crate::app::{App, EndOrder, Role, SESSION, Tolerance};
use crate::reason::Reason;

/// Id of brisk's daemon: unit and program have this name.
const BRISK: &str = "briskd";

/// What is to be done to an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taking {
    /// Memory of it is written out or dropped, or it gets a limit.
    Memory,
    /// It stops until it is thawed.
    Freeze,
    /// It ends, or a part of it does.
    End,
}

/// Why that is not done to the app; `None` when it may be.
#[must_use]
pub fn spared(app: &App, taking: Taking) -> Option<Reason> {
    of_all(app).or_else(|| match taking {
        Taking::Memory => None,
        Taking::Freeze => not_frozen(app),
        Taking::End => not_ended(app),
    })
}

fn of_all(app: &App) -> Option<Reason> {
    let activity = &app.activity;
    if let Some(protection) = app.protection() {
        return Some(protection);
    }
    // Android rates what plays, which no stream tells there.
    let rated = activity.oom_score_adj.filter(|_| activity.is_rated);
    let rule = match () {
        () if app.id == BRISK => "brisk_itself",
        () if app.launching => "launching",
        () if activity.focused == Some(true) => "focused",
        () if app.tolerance == Tolerance::System => "system_service",
        () if activity.role != Role::App => "no_app",
        () if activity.inhibits == Some(true) => "inhibitor",
        () if activity.audible == Some(true) || app.tolerance == Tolerance::Streaming => "audible",
        () if activity.oom_score_adj.is_some_and(|adj| adj < 0) => "protected_by_the_system",
        () if rated.is_some_and(|adj| (200..300).contains(&adj)) => "perceptible",
        () if activity.audible.is_none() && rated.is_none() => "may_be_audible",
        () if activity.focused.is_none() && app.tolerance == Tolerance::Interactive => "may_be_in_front",
        () => return None,
    };
    Some(Reason::rule(rule))
}

fn not_frozen(app: &App) -> Option<Reason> {
    let activity = &app.activity;
    let rule = match () {
        () if activity.is_rated => "frozen_by_the_system",
        () if app.group.starts_with(SESSION) => "no_freezer",
        // It would not be thawed in time.
        () if activity.focused.is_none() => "may_be_in_front",
        () if activity.inhibits.is_none() => "may_hold_an_inhibitor",
        () if activity.works == Some(true) => "works",
        () if activity.works.is_none() => "may_work",
        () => return None,
    };
    Some(Reason::rule(rule))
}

fn not_ended(app: &App) -> Option<Reason> {
    let activity = &app.activity;
    match &activity.preference {
        Some(preference) if preference.order == EndOrder::Never => {
            Some(Reason::rule("kept_by_preference").word("preference", &preference.by))
        }
        _ if activity.inhibits.is_none() && !activity.is_rated => Some(Reason::rule("may_hold_an_inhibitor")),
        _ => None,
    }
}

/// A rule of [`spared`] as a sentence about the app, for messages.
#[must_use]
pub fn words(rule: &str) -> &'static str {
    match rule {
        "brisk_itself" => "it is brisk itself",
        "protected_by_configuration" => "the configuration protects it",
        "launching" => "it is being launched",
        "focused" => "it is in the foreground",
        "system_service" => "it is a service, which apps wait for",
        "no_app" => "it is no app",
        "inhibitor" => "it holds an inhibitor, as for unsaved work",
        "may_hold_an_inhibitor" => "it may hold an inhibitor: its session manager holds one for some app",
        "audible" => "it plays or records sound",
        "may_be_audible" => "it may play or record sound: nothing tells whether it does",
        "protected_by_the_system" => "the system keeps it",
        "perceptible" => "Android holds that its user hears or sees it",
        "may_be_in_front" => "it may be in the foreground: nothing tells whether it is",
        "works" => "it used processor or network in the last minute",
        "may_work" => "whether it used processor or network in the last minute is not known yet",
        "frozen_by_the_system" => {
            "Android freezes apps by itself, with their calls: the caller of one that is frozen otherwise hangs"
        }
        "no_freezer" => "it is a session without a control group; 'systemd-run --user --scope' starts an app in one",
        "kept_by_preference" => "another program was told to keep it",
        _ => "it is spared",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::app::{Activity, AppFacts, Preference, classify};

    /// An app of which everything is known, and that does nothing.
    fn app(change: impl FnOnce(&mut AppFacts)) -> App {
        let activity = Activity {
            audible: Some(false),
            inhibits: Some(false),
            works: Some(false),
            oom_score_adj: Some(100),
            ..Activity::default()
        };
        let group = "app-x-1.scope".to_owned();
        let (role, focused) = (Role::App, Some(false));
        let mut facts = AppFacts { group, of_user: true, role, focused, activity, ..AppFacts::default() };
        change(&mut facts);
        classify(&facts)
    }

    fn rules(app: &App) -> [Option<String>; 3] {
        [Taking::Memory, Taking::Freeze, Taking::End].map(|taking| spared(app, taking).map(|why| why.rule.to_string()))
    }

    #[test]
    fn each_rule_spares_an_app() {
        type Change = fn(&mut AppFacts);
        let never = || Some(Preference { order: EndOrder::Never, by: "earlyoom --avoid".to_owned() });
        let all: &[(Change, &str)] = &[
            (|f| f.id = "briskd".to_owned(), "brisk_itself"),
            (|f| f.chosen = Some(Tolerance::System), "protected_by_configuration"),
            (|f| f.listed = Some(Tolerance::System), "protected_by_configuration"),
            (|f| f.activity.protected = Some("signal".to_owned()), "protected_by_configuration"),
            (|f| f.launching = true, "launching"),
            (|f| f.focused = Some(true), "focused"),
            (|f| f.role = Role::Service, "system_service"),
            (|f| (f.role, f.nice_min) = (Role::Service, Some(19)), "no_app"),
            (|f| f.role = Role::Other, "no_app"),
            (|f| f.activity.inhibits = Some(true), "inhibitor"),
            (|f| f.activity.audible = Some(true), "audible"),
            (|f| f.chosen = Some(Tolerance::Streaming), "audible"),
            (|f| f.activity.audible = None, "may_be_audible"),
            (|f| f.activity.oom_score_adj = Some(-1), "protected_by_the_system"),
            (|f| (f.activity.is_rated, f.activity.oom_score_adj) = (true, Some(200)), "perceptible"),
            (|f| f.focused = None, "may_be_in_front"),
        ];
        for (change, rule) in all {
            assert_eq!(rules(&app(*change)), [(); 3].map(|()| Some((*rule).to_owned())));
            assert_ne!(words(rule), words(""), "{rule}");
        }
        let some: &[(Change, [Option<&str>; 3])] = &[
            (|_| (), [None; 3]),
            (|f| f.activity.works = Some(true), [None, Some("works"), None]),
            (|f| f.activity.works = None, [None, Some("may_work"), None]),
            (|f| f.group = "session-40".to_owned(), [None, Some("no_freezer"), None]),
            (|f| f.activity.inhibits = None, [None, Some("may_hold_an_inhibitor"), Some("may_hold_an_inhibitor")]),
            // A batch has no window to be in front.
            (|f| (f.focused, f.nice_min) = (None, Some(19)), [None, Some("may_be_in_front"), None]),
            (
                |f| {
                    let score = Some(900);
                    f.activity = Activity { is_rated: true, oom_score_adj: score, ..Activity::default() };
                },
                [None, Some("frozen_by_the_system"), None],
            ),
        ];
        for (change, expected) in some {
            assert_eq!(rules(&app(*change)), expected.map(|rule| rule.map(str::to_owned)));
            let mut known = expected.iter().flatten();
            assert!(known.all(|rule| words(rule) != words("")), "{expected:?}");
        }
        let kept = app(|f| f.activity.preference = never());
        assert_eq!(rules(&kept), [None, None, Some("kept_by_preference".to_owned())]);
    }

    #[test]
    fn what_is_unknown_spares() {
        let unknown = app(|f| f.activity = Activity::default());
        assert_eq!(rules(&unknown), [(); 3].map(|()| Some("may_be_audible".to_owned())));
        // A score tells what plays on Android, and no score nothing.
        let unrated = app(|f| f.activity = Activity { is_rated: true, ..Activity::default() });
        assert_eq!(rules(&unrated)[0].as_deref(), Some("may_be_audible"));
    }

    proptest! {
        #[test]
        fn what_may_be_frozen_may_be_taken_from(
            known in prop::collection::vec(prop::option::of(any::<bool>()), 4),
            launching in any::<bool>(),
            oom_score_adj in prop::option::of(-1000_i16..1000),
        ) {
            let activity = Activity {
                audible: known[0], inhibits: known[1], works: known[2], oom_score_adj, ..Activity::default()
            };
            let one = app(|f| (f.activity, f.focused, f.launching) = (activity, known[3], launching));
            let [memory, freeze, end] = rules(&one);
            prop_assert!(freeze.is_some() || (memory.is_none() && end.is_none()));
            prop_assert!(end.is_some() || memory.is_none());
            // Nothing that plays, is in front, holds a lock or works is frozen, nor what may.
            prop_assert!(freeze.is_some() || known.iter().all(|of| *of == Some(false)));
        }
    }
}
