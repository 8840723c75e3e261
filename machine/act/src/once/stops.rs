//! The second check of the two actions that stop an app, freeze and end, at the moment of acting: an engine decided by
//! what was sensed before, and the user may have come back to the app since.
//!
//! Not stopped: what the configuration protects, services and whatever is no app, an app that is launched or in the
//! foreground, one that plays or records sound, one that holds an inhibitor, and one of which nothing is known. Not
//! ended either: what the system keeps (`oom_score_adj` below zero), anything while another program ends apps when
//! memory is short, and more apps than a number a minute.
//!
//! Two killers at once would free twice what is needed: each sees the shortage, and neither what the other is ending.
//!
//! Properties: `an_app_in_use_is_neither_frozen_nor_ended`; `no_app_is_ended_while_another_killer_is_active`;
//! `no_more_apps_end_in_a_minute_than_allowed`.

use brisk_core::action::{Ends, Once};
use brisk_core::app::{App, EndOrder, Role, Tolerance};
use brisk_core::token_bucket::TokenBucket;

use crate::Error;

const MINUTE_NS: u64 = 60_000_000_000;

/// Apps that may be ended in a minute, without another choice.
pub const ENDS_PER_MINUTE_MAX: u32 = 6;

/// What the caller has sensed just now.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sensed<'a> {
    /// The app that is acted on; `None` when nothing is known of it.
    pub app: Option<&'a App>,
    /// Names of other programs that end apps when memory is short.
    pub killers: &'a [String],
}

/// How many apps are ended, and whether any.
#[derive(Debug)]
pub(crate) struct Limit {
    ends: Ends,
    per_minute_max: u32,
    bucket: TokenBucket,
}

impl Default for Limit {
    fn default() -> Self {
        Self::new(Ends::default(), ENDS_PER_MINUTE_MAX)
    }
}

impl Limit {
    /// At most `per_minute_max` ends in any minute: a third of them at once, the rest evenly.
    pub(crate) fn new(ends: Ends, per_minute_max: u32) -> Self {
        let all = u64::from(per_minute_max.max(1));
        let burst = all.div_ceil(3);
        let interval_ns = MINUTE_NS.div_ceil((all - burst).max(1));
        Self { ends, per_minute_max, bucket: TokenBucket::new(burst, interval_ns) }
    }

    /// Fails when the app may not be stopped now.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, once: &Once, sensed: &Sensed<'_>, now_ns: u64) -> Result<(), Error> {
        let (what, ends) = match once {
            Once::Freeze { .. } => ("frozen", false),
            Once::EndApp { .. } | Once::EndProcess { .. } => ("ended", true),
            _ => return Ok(()),
        };
        let why = in_use(sensed.app)
            .or_else(|| if ends { self.not_ended(sensed, now_ns) } else { frozen_by_others(sensed.app) });
        why.map_or(Ok(()), |why| Err(Error::NotNow { group: once.group().to_owned(), what, why }))
    }

    /// An app was asked to end.
    pub(crate) fn note_end(&mut self, now_ns: u64) {
        self.bucket.spend(now_ns);
    }

    fn not_ended(&self, sensed: &Sensed<'_>, now_ns: u64) -> Option<String> {
        match (self.ends, sensed.killers) {
            (Ends::Never, _) => return Some("the configuration says that brisk ends no app".to_owned()),
            (Ends::Auto, killers @ [_, ..]) => {
                return Some(format!("{} runs, which ends apps when memory is short", killers.join(", ")));
            }
            _ => {}
        }
        if let Some(adj) = sensed.app.and_then(|app| app.activity.oom_score_adj).filter(|adj| *adj < 0) {
            return Some(format!("the system keeps it (oom_score_adj {adj})"));
        }
        let preference = sensed.app.and_then(|app| app.activity.preference.as_ref());
        if let Some(preference) = preference.filter(|preference| preference.order == EndOrder::Never) {
            return Some(format!("{} keeps it", preference.by));
        }
        if self.per_minute_max == 0 {
            return Some("no app may be ended".to_owned());
        }
        let wait_ns = self.bucket.next_ns(now_ns)?.saturating_sub(now_ns);
        let (most, wait_s) = (self.per_minute_max, wait_ns.div_ceil(1_000_000_000));
        Some(format!("at most {most} apps are ended in a minute, the next in {wait_s} s"))
    }
}

/// Why an app may be ended and not frozen.
fn frozen_by_others(app: Option<&App>) -> Option<String> {
    let is_rated = app.is_some_and(|app| app.activity.is_rated);
    let why = "Android freezes apps by itself, with their calls: the caller of one that is frozen otherwise hangs";
    is_rated.then(|| why.to_owned())
}

/// Why an app may not be stopped, whatever the limits; `None` when it may.
fn in_use(app: Option<&App>) -> Option<String> {
    let Some(app) = app else { return Some("nothing is known of it".to_owned()) };
    let activity = &app.activity;
    if let Some(name) = &activity.protected {
        return Some(format!("the configuration protects it ([apps] protect names {name})"));
    }
    let why = match () {
        () if app.tolerance == Tolerance::System && app.reason.rule == "service" => {
            "it is a service, which apps wait for"
        }
        () if app.tolerance == Tolerance::System => "the configuration protects it",
        () if activity.role != Role::App => "it is no app",
        () if app.launching => "it is being launched",
        () if activity.focused == Some(true) => "it is in the foreground",
        () if activity.audible == Some(true) => "it plays or records sound",
        () if activity.inhibits == Some(true) => "it holds an inhibitor, as for unsaved work",
        () => return None,
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::app::{Activity, AppFacts, classify};
    use proptest::prelude::*;

    fn end() -> Once {
        Once::EndApp { group: "a".to_owned(), grace_ms: 1 }
    }

    fn app(change: impl FnOnce(&mut AppFacts)) -> App {
        let mut facts = AppFacts { group: "a".to_owned(), of_user: true, role: Role::App, ..AppFacts::default() };
        change(&mut facts);
        classify(&facts)
    }

    fn why(limit: &Limit, once: &Once, app: Option<&App>, killers: &[String], now_ns: u64) -> Option<String> {
        limit.check(once, &Sensed { app, killers }, now_ns).err().map(|error| error.to_string())
    }

    #[test]
    fn an_app_in_use_is_neither_frozen_nor_ended() {
        let activity = |activity: Activity| move |facts: &mut AppFacts| facts.activity = activity;
        let cases = [
            (app(|facts| facts.chosen = Some(Tolerance::System)), "the configuration protects it"),
            (app(|facts| facts.listed = Some(Tolerance::System)), "the configuration protects it"),
            (
                app(|facts| facts.activity.protected = Some("signal".to_owned())),
                "the configuration protects it ([apps] protect names signal)",
            ),
            (app(|facts| facts.role = Role::Service), "it is a service, which apps wait for"),
            // A service that is no one's to wait for, and a container.
            (app(|facts| (facts.role, facts.nice_min) = (Role::Service, Some(19))), "it is no app"),
            (app(|facts| facts.role = Role::Other), "it is no app"),
            (app(|facts| facts.launching = true), "it is being launched"),
            (app(|facts| facts.focused = Some(true)), "it is in the foreground"),
            (app(activity(Activity { audible: Some(true), ..Activity::default() })), "it plays or records sound"),
            (
                app(activity(Activity { inhibits: Some(true), ..Activity::default() })),
                "it holds an inhibitor, as for unsaved work",
            ),
        ];
        let (limit, freeze) = (Limit::default(), Once::Freeze { group: "a".to_owned() });
        for (app, expected) in &cases {
            assert_eq!(why(&limit, &end(), Some(app), &[], 0), Some(format!("a is not ended: {expected}")));
            assert_eq!(why(&limit, &freeze, Some(app), &[], 0), Some(format!("a is not frozen: {expected}")));
            // What takes nothing from it is done.
            assert_eq!(why(&limit, &Once::Thaw { group: "a".to_owned() }, Some(app), &[], 0), None);
        }
        assert_eq!(why(&limit, &freeze, None, &[], 0).as_deref(), Some("a is not frozen: nothing is known of it"));
        assert_eq!(why(&limit, &end(), Some(&app(|_| ())), &[], 0), None);
        // What the system keeps is not ended, and may be frozen.
        let kept = app(activity(Activity { oom_score_adj: Some(-800), ..Activity::default() }));
        assert!(why(&limit, &end(), Some(&kept), &[], 0).is_some_and(|why| why.contains("oom_score_adj -800")));
        assert_eq!(why(&limit, &freeze, Some(&kept), &[], 0), None);
        // Android's may be ended, and are not frozen from outside.
        let rated = app(activity(Activity { is_rated: true, oom_score_adj: Some(900), ..Activity::default() }));
        assert_eq!(why(&limit, &end(), Some(&rated), &[], 0), None);
        assert!(why(&limit, &freeze, Some(&rated), &[], 0).is_some_and(|why| why.contains("Android")));
    }

    #[test]
    fn no_app_is_ended_while_another_killer_is_active() {
        let (app, killers) = (app(|_| ()), ["earlyoom".to_owned(), "systemd-oomd".to_owned()]);
        let with = |ends, killers: &[String]| why(&Limit::new(ends, 6), &end(), Some(&app), killers, 0);
        let refused = with(Ends::Auto, &killers).expect("refused");
        assert_eq!(refused, "a is not ended: earlyoom, systemd-oomd runs, which ends apps when memory is short");
        assert_eq!((with(Ends::Auto, &[]), with(Ends::Always, &killers)), (None, None));
        assert!(with(Ends::Never, &[]).is_some());
        let freeze = Once::Freeze { group: "a".to_owned() };
        assert_eq!(why(&Limit::default(), &freeze, Some(&app), &killers, 0), None);
    }

    proptest! {
        #[test]
        fn no_more_apps_end_in_a_minute_than_allowed(
            most in 0u32..20,
            steps_ms in prop::collection::vec(0u64..20_000, 1..200),
        ) {
            let app = app(|_| ());
            let mut limit = Limit::new(Ends::Auto, most);
            let (mut now_ns, mut ended_ns) = (MINUTE_NS, Vec::new());
            for step_ms in steps_ms {
                now_ns += step_ms * 1_000_000;
                if why(&limit, &end(), Some(&app), &[], now_ns).is_none() {
                    limit.note_end(now_ns);
                    ended_ns.push(now_ns);
                }
                let last = ended_ns.iter().filter(|at_ns| now_ns - **at_ns < MINUTE_NS).count();
                prop_assert!(last <= most as usize, "{last} of {most}");
            }
            // It is a limit, no ban.
            if most > 0 {
                prop_assert!(!ended_ns.is_empty());
            }
        }
    }
}
