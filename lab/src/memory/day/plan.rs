//! The plan: which apps of the phone come to the front in which order, and for how long.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::units::format_duration_ns;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::usage::{Session, UsageError, UsageTrace};

/// Why a trace gives no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("{user} has no session in the span: it begins {} after the first session, and the last is {} after \
             it", words(*.from_ms), words(*.last_ms))]
    NoSessions { user: String, from_ms: u64, last_ms: u64 },
    #[error("the span has no app '{app}' to map: it has {known}")]
    NoSuchApp { app: String, known: String },
    #[error("'{app}' is mapped twice")]
    MappedTwice { app: String },
    #[error("'{app}' is not among the apps of the phone that were chosen: {known}")]
    NotChosen { app: String, known: String },
    #[error(
        "in this span {user} uses one of the mapped apps only, so there is no switch: choose a longer span (--span) or \
         more apps (--apps)"
    )]
    NoSwitch { user: String },
}

fn words(ms: u64) -> String {
    if ms == 0 { "0 s".to_owned() } else { format_duration_ns(ms.saturating_mul(1_000_000)) }
}

/// What is taken of a trace, and how it is replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The user; may be absent where the trace has one.
    pub user: Option<String>,
    /// Where the span begins, counted from the user's first session.
    pub from_ms: u64,
    /// How long it is; absent: up to the end.
    pub time_ms: Option<u64>,
    pub visits_max: usize,
    /// The phone's apps; the first gets the most used app of the span.
    pub phone_apps: Vec<String>,
    /// Apps of the trace with the app of the phone that stands for each; they are taken out of the ranks.
    pub fixed: Vec<(String, String)>,
    /// By what the dwell of the trace is divided.
    pub speed: f64,
    pub dwell_min_ms: u64,
    pub dwell_max_ms: u64,
}

/// A visit of an app of the phone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedVisit {
    /// When it begins in the trace, counted from the begin of the span.
    pub trace_ms: u64,
    pub app: String,
    pub trace_dwell_ms: u64,
    pub dwell_ms: u64,
}

/// An app of the trace, and the app of the phone that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankedApp {
    pub app: String,
    pub phone_app: String,
    pub sessions: u64,
}

/// A use of an app before the span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastUse {
    /// App of the phone that stands for it.
    pub app: String,
    /// How long before the begin of the span.
    pub before_ms: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub user: String,
    /// The mapping, the most used app of the trace first.
    pub apps: Vec<RankedApp>,
    pub visits: Vec<PlannedVisit>,
    /// What the user did before the span with the apps that are mapped, in order: what a device of this user has
    /// learned by then.
    pub history: Vec<PastUse>,
    /// Time of the trace from the begin of the span to the end of the last visit.
    pub span_ms: u64,
    /// Sessions of apps that have no app of the phone, up to the last visit.
    pub dropped_sessions: u64,
    pub dropped_apps: u64,
    /// Visits whose dwell was raised to the least.
    pub lengthened: u64,
    /// Visits whose dwell was lowered to the most.
    pub shortened: u64,
}

impl Plan {
    /// The part that is replayed, without what the plan was made of.
    #[must_use]
    pub fn of(visits: Vec<PlannedVisit>) -> Self {
        Self { visits, ..Self::default() }
    }

    /// Time of all dwells of the replay.
    #[must_use]
    pub fn dwell_ms(&self) -> u64 {
        self.visits.iter().map(|visit| visit.dwell_ms).sum()
    }
}

/// Makes the plan.
///
/// # Errors
/// When the user, the span or an app that is mapped is not there, or no switch is left.
pub fn plan(trace: &UsageTrace, choice: &Choice) -> Result<Plan, PlanError> {
    let of_user = trace.of_user(choice.user.as_deref())?;
    let user = of_user.user.clone();
    let first_ms = of_user.sessions.first().map_or(0, |session| session.at_ms);
    let from_ms = first_ms.saturating_add(choice.from_ms);
    let until_ms = choice.time_ms.map_or(u64::MAX, |time_ms| from_ms.saturating_add(time_ms));
    let span: Vec<&Session> =
        of_user.sessions.iter().filter(|session| (from_ms..until_ms).contains(&session.at_ms)).collect();
    if span.is_empty() {
        let last_ms = of_user.sessions.last().map_or(0, |session| session.at_ms);
        return Err(PlanError::NoSessions { user, from_ms: choice.from_ms, last_ms: last_ms - first_ms });
    }
    let apps = mapping(&span, choice)?;
    let stands_for: BTreeMap<&str, &str> = apps.iter().map(|one| (one.app.as_str(), one.phone_app.as_str())).collect();
    let past = of_user.sessions.iter().take_while(|session| session.at_ms < from_ms).filter_map(|session| {
        let app = (*stands_for.get(session.app.as_str())?).to_owned();
        Some(PastUse { app, before_ms: from_ms - session.at_ms })
    });
    let history = past.collect();
    let mut visits: Vec<PlannedVisit> = Vec::new();
    let mut end_ms = from_ms;
    // Counted up to the last visit: what follows it is not replayed anyway.
    let mut dropped: Vec<&str> = Vec::new();
    let mut dropped_since: Vec<&str> = Vec::new();
    for session in span {
        let Some(&app) = stands_for.get(session.app.as_str()) else {
            dropped_since.push(&session.app);
            continue;
        };
        let is_full = visits.len() == choice.visits_max;
        match visits.last_mut() {
            Some(last) if last.app == app => last.trace_dwell_ms = last.trace_dwell_ms.saturating_add(session.front_ms),
            _ if is_full => break,
            _ => visits.push(PlannedVisit {
                trace_ms: session.at_ms - from_ms,
                app: app.to_owned(),
                trace_dwell_ms: session.front_ms,
                dwell_ms: 0,
            }),
        }
        dropped.append(&mut dropped_since);
        end_ms = end_ms.max(session.at_ms.saturating_add(session.front_ms));
    }
    if visits.len() < 2 {
        return Err(PlanError::NoSwitch { user });
    }
    let (mut lengthened, mut shortened) = (0, 0);
    for visit in &mut visits {
        let wanted_ms = (visit.trace_dwell_ms as f64 / choice.speed).round() as u64;
        lengthened += u64::from(wanted_ms < choice.dwell_min_ms);
        shortened += u64::from(wanted_ms > choice.dwell_max_ms);
        visit.dwell_ms = wanted_ms.clamp(choice.dwell_min_ms, choice.dwell_max_ms.max(choice.dwell_min_ms));
    }
    Ok(Plan {
        user,
        apps,
        visits,
        history,
        span_ms: end_ms - from_ms,
        dropped_sessions: dropped.len() as u64,
        dropped_apps: dropped.iter().collect::<BTreeSet<_>>().len() as u64,
        lengthened,
        shortened,
    })
}

/// Gives the apps of the span to those of the phone: first as told, then by rank. Of apps with as many sessions, the
/// one that comes first in the span is first.
fn mapping(span: &[&Session], choice: &Choice) -> Result<Vec<RankedApp>, PlanError> {
    let mut counts: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for (n, session) in span.iter().enumerate() {
        counts.entry(session.app.as_str()).or_insert((0, n)).0 += 1;
    }
    let mut ranked: Vec<(&str, u64, usize)> = counts.into_iter().map(|(app, (count, n))| (app, count, n)).collect();
    ranked.sort_by_key(|&(_, count, n)| (std::cmp::Reverse(count), n));
    for (n, (app, phone_app)) in choice.fixed.iter().enumerate() {
        let earlier = &choice.fixed[..n];
        if earlier.iter().any(|(known, _)| known == app) {
            return Err(PlanError::MappedTwice { app: app.clone() });
        }
        if earlier.iter().any(|(_, known)| known == phone_app) {
            return Err(PlanError::MappedTwice { app: phone_app.clone() });
        }
        if !choice.phone_apps.contains(phone_app) {
            return Err(PlanError::NotChosen { app: phone_app.clone(), known: choice.phone_apps.join(", ") });
        }
        if !ranked.iter().any(|(known, ..)| known == app) {
            return Err(PlanError::NoSuchApp { app: app.clone(), known: most_used(&ranked) });
        }
    }
    let mut free = choice.phone_apps.iter().filter(|app| !choice.fixed.iter().any(|(_, phone_app)| phone_app == *app));
    let stand_in = |(app, sessions, _): (&str, u64, usize)| {
        let fixed = choice.fixed.iter().find(|(known, _)| known == app).map(|(_, phone_app)| phone_app);
        let phone_app = fixed.or_else(|| free.next())?.clone();
        Some(RankedApp { app: app.to_owned(), phone_app, sessions })
    };
    Ok(ranked.into_iter().filter_map(stand_in).collect())
}

fn most_used(ranked: &[(&str, u64, usize)]) -> String {
    let names: Vec<&str> = ranked.iter().take(10).map(|(app, ..)| *app).collect();
    let more = ranked.len().saturating_sub(names.len());
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn choice() -> Choice {
        Choice {
            user: None,
            from_ms: 0,
            time_ms: None,
            visits_max: 100,
            phone_apps: vec!["xterm".to_owned(), "evince".to_owned()],
            fixed: Vec::new(),
            speed: 10.0,
            dwell_min_ms: 1_000,
            dwell_max_ms: 5_000,
        }
    }

    /// Sessions one after another: app and seconds in front.
    fn trace(sessions: &[(&str, u64)]) -> UsageTrace {
        let mut at_s = 1_700_000_000;
        let mut text = "user_id,timestamp,app,duration_s\n".to_owned();
        for (app, front_s) in sessions {
            text += &format!("u,{at_s},{app},{front_s}\n");
            at_s += front_s;
        }
        UsageTrace::parse(&text).expect("a trace")
    }

    fn apps(plan: &Plan) -> Vec<&str> {
        plan.visits.iter().map(|visit| visit.app.as_str()).collect()
    }

    #[test]
    fn the_most_used_apps_get_the_phones_apps_and_others_are_dropped_and_counted() {
        let trace =
            trace(&[("mail", 20), ("chat", 30), ("maps", 5), ("chat", 10), ("mail", 40), ("chat", 8), ("maps", 9)]);
        let plan = plan(&trace, &choice()).expect("a plan");
        let mapped = |app: &str, phone_app: &str, sessions| RankedApp {
            app: app.to_owned(),
            phone_app: phone_app.to_owned(),
            sessions,
        };
        assert_eq!(plan.apps, [mapped("chat", "xterm", 3), mapped("mail", "evince", 2)]);
        // The maps between the two chats are dropped, so these are one visit.
        assert_eq!(apps(&plan), ["evince", "xterm", "evince", "xterm"]);
        assert_eq!(plan.visits[1].trace_dwell_ms, 40_000);
        // The maps at the end are behind the last visit.
        assert_eq!((plan.dropped_sessions, plan.dropped_apps, plan.span_ms), (1, 1, 113_000));
    }

    #[test]
    fn dwell_is_divided_by_the_speed_between_least_and_most() {
        let trace = trace(&[("mail", 20), ("chat", 3), ("mail", 600)]);
        let plan = plan(&trace, &choice()).expect("a plan");
        assert_eq!(plan.visits.iter().map(|visit| visit.dwell_ms).collect::<Vec<_>>(), [2_000, 1_000, 5_000]);
        assert_eq!((plan.lengthened, plan.shortened, plan.dwell_ms()), (1, 1, 8_000));
    }

    #[test]
    fn a_mapping_that_was_told_comes_before_the_ranks() {
        let trace = trace(&[("chat", 1), ("mail", 1), ("chat", 1), ("maps", 1)]);
        let fixed = |pairs: &[(&str, &str)]| {
            let pair = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
            Choice { fixed: pairs.iter().map(pair).collect(), ..choice() }
        };
        let plan = |pairs: &[(&str, &str)]| super::plan(&trace, &fixed(pairs));
        assert_eq!(apps(&plan(&[("maps", "xterm")]).expect("a plan")), ["evince", "xterm"]);
        let said = |pairs: &[(&str, &str)]| plan(pairs).expect_err("refused").to_string();
        assert_eq!(said(&[("game", "xterm")]), "the span has no app 'game' to map: it has chat, mail, maps");
        assert_eq!(
            said(&[("chat", "gimp")]),
            "'gimp' is not among the apps of the phone that were chosen: xterm, evince"
        );
        assert_eq!(said(&[("chat", "xterm"), ("mail", "xterm")]), "'xterm' is mapped twice");
        assert_eq!(said(&[("chat", "xterm"), ("chat", "evince")]), "'chat' is mapped twice");
    }

    #[test]
    fn a_span_is_counted_from_the_first_session() {
        let trace = trace(&[("chat", 60), ("mail", 60), ("chat", 60), ("mail", 60)]);
        let span = |from_ms, time_ms| plan(&trace, &Choice { from_ms, time_ms, ..choice() });
        assert_eq!(apps(&span(60_000, Some(120_000)).expect("a plan")), ["xterm", "evince"]);
        assert_eq!(span(60_000, None).expect("a plan").visits[0].trace_ms, 0);
        let said = span(600_000, Some(1_000)).expect_err("after the end").to_string();
        let wanted = "u has no session in the span: it begins 10 min 0 s after the first session, and the last is 3 \
                      min 0 s after it";
        assert_eq!(said, wanted);
        let said = span(0, Some(60_000)).expect_err("one app").to_string();
        assert!(said.contains("uses one of the mapped apps only"), "{said}");
    }

    #[test]
    fn the_history_has_the_mapped_apps_before_the_span_only() {
        let trace = trace(&[("chat", 60), ("mail", 60), ("game", 60), ("chat", 60), ("mail", 60)]);
        let plan = plan(&trace, &Choice { from_ms: 180_000, ..choice() }).expect("a plan");
        let past = |app: &str, before_ms| PastUse { app: app.to_owned(), before_ms };
        assert_eq!(plan.history, [past("xterm", 180_000), past("evince", 120_000)]);
    }

    #[test]
    fn no_more_visits_than_asked_for() {
        let trace = trace(&[("chat", 1), ("mail", 1), ("chat", 2), ("chat", 3), ("mail", 1)]);
        let plan = plan(&trace, &Choice { visits_max: 3, ..choice() }).expect("a plan");
        // The third visit has both of its sessions.
        assert_eq!((plan.visits.len(), plan.visits[2].trace_dwell_ms), (3, 5_000));
    }

    proptest! {
        #[test]
        fn the_same_trace_and_choice_give_the_same_plan_and_no_app_follows_itself(
            sessions in prop::collection::vec(("[a-f]", 0_u64..300), 1..60),
            visits_max in 2_usize..40,
        ) {
            let sessions: Vec<(&str, u64)> = sessions.iter().map(|(app, front_s)| (app.as_str(), *front_s)).collect();
            let trace = trace(&sessions);
            let choice = Choice { visits_max, ..choice() };
            let found = plan(&trace, &choice);
            prop_assert_eq!(&found, &plan(&trace, &choice));
            if let Ok(plan) = found {
                prop_assert!(plan.visits.windows(2).all(|two| two[0].app != two[1].app));
                prop_assert!((2..=visits_max).contains(&plan.visits.len()));
                prop_assert!(plan.visits.iter().all(|visit| (1_000..=5_000).contains(&visit.dwell_ms)));
                // All sessions are in a visit, dropped, or behind the last visit.
                let front_ms: u64 = plan.visits.iter().map(|visit| visit.trace_dwell_ms).sum();
                prop_assert!(front_ms <= sessions.iter().map(|(_, front_s)| front_s * 1000).sum());
            }
        }
    }
}
