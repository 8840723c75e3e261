//! The second check of the two actions that stop an app, freeze and end, at the moment of acting: an engine decided by
//! what was sensed before, and the user may have come back to the app since.
//!
//! Not stopped: what is spared by the same function by which engines choose ([`brisk_core::app::spare`]), and an app of
//! which nothing is known. Not ended either: anything while another program ends apps when memory is short, and more
//! apps than a number a minute.
//!
//! Two killers at once would free twice what is needed: each sees the shortage, and neither what the other is ending.
//!
//! Properties: `what_is_spared_is_neither_frozen_nor_ended`; `no_app_is_ended_while_another_killer_is_active`;
//! `no_more_apps_end_in_a_minute_than_allowed`.

use brisk_core::action::{Ends, Once};
use brisk_core::app::App;
use brisk_core::app::spare::{self, Taking};
use brisk_core::group::name;
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
        let (what, taking) = match once {
            Once::Freeze { .. } => ("frozen", Taking::Freeze),
            Once::EndApp { .. } | Once::EndProcess { .. } => ("ended", Taking::End),
            _ => return Ok(()),
        };
        let limit = || if taking == Taking::End { self.not_ended(sensed, now_ns) } else { None };
        let why = spared(sensed.app, taking).or_else(limit);
        why.map_or(Ok(()), |why| Err(Error::NotNow { group: name(once.group()).to_owned(), what, why }))
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
        if self.per_minute_max == 0 {
            return Some("no app may be ended".to_owned());
        }
        let wait_ns = self.bucket.next_ns(now_ns)?.saturating_sub(now_ns);
        let (most, wait_s) = (self.per_minute_max, wait_ns.div_ceil(1_000_000_000));
        Some(format!("at most {most} apps are ended in a minute, the next in {wait_s} s"))
    }
}

/// Why an app may not be stopped, whatever the limits; `None` when it may.
fn spared(app: Option<&App>, taking: Taking) -> Option<String> {
    let Some(app) = app else { return Some("nothing is known of it".to_owned()) };
    let reason = spare::spared(app, taking)?;
    // The facts as the reason itself has them.
    let text = reason.to_string();
    let facts = text.find(" (").map_or("", |at| &text[at..]);
    Some(format!("{}{facts}", spare::words(&reason.rule)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::app::{Activity, AppFacts, Role, classify};
    use proptest::prelude::*;

    fn end() -> Once {
        Once::EndApp { group: "a".to_owned(), grace_ms: 1 }
    }

    /// An app in the background that is known to do nothing.
    fn app(change: impl FnOnce(&mut AppFacts)) -> App {
        let known = Some(false);
        let activity = Activity { audible: known, inhibits: known, works: known, ..Activity::default() };
        let (of_user, role, focused) = (true, Role::App, Some(false));
        let mut facts = AppFacts { group: "a".to_owned(), of_user, role, focused, activity, ..AppFacts::default() };
        change(&mut facts);
        classify(&facts)
    }

    fn why(limit: &Limit, once: &Once, app: Option<&App>, killers: &[String], now_ns: u64) -> Option<String> {
        limit.check(once, &Sensed { app, killers }, now_ns).err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_spared_is_neither_frozen_nor_ended() {
        let (limit, freeze) = (Limit::default(), Once::Freeze { group: "a".to_owned() });
        let whys = |app: &App| [&end(), &freeze].map(|once| why(&limit, once, Some(app), &[], 0));
        let both = |why: &str| ["ended", "frozen"].map(|what| Some(format!("a is not {what}: {why}")));
        for (app, expected) in [
            (app(|facts| facts.activity.audible = Some(true)), "it plays or records sound"),
            (app(|facts| facts.activity.audible = None), "it may play or record sound: nothing tells whether it does"),
            (app(|facts| facts.focused = Some(true)), "it is in the foreground"),
            (
                app(|facts| facts.activity.protected = Some("signal".to_owned())),
                "the configuration protects it (protect signal)",
            ),
        ] {
            assert_eq!(whys(&app), both(expected));
            // What takes nothing from it is done.
            assert_eq!(why(&limit, &Once::Thaw { group: "a".to_owned() }, Some(&app), &[], 0), None);
        }
        assert_eq!(why(&limit, &freeze, None, &[], 0).as_deref(), Some("a is not frozen: nothing is known of it"));
        assert_eq!(whys(&app(|_| ())), [None, None]);
        // One that works goes on: a download, a build. Where memory is severely short it may end.
        let [ended, frozen] = whys(&app(|facts| facts.activity.works = Some(true)));
        let busy = "a is not frozen: it used processor or network in the last minute";
        assert_eq!((ended, frozen.as_deref()), (None, Some(busy)));
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
