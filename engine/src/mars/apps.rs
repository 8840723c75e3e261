//! From which apps memory may be taken, in which order.
//!
//! Never from an app that is spared ([`brisk_core::app::spare`]): in front, audible, or not known to be neither, and so
//! on; nor from a service: only apps have a return (MARS 3.2: foreground apps and long-lived services bypass swapping).
//! In adaptive mode neither from one that has just left: a third to half of all switches go straight back (measured on
//! four users), so that the app before keeps its memory for five times as long as the others.
//!
//! The one that was in front longest ago comes first. (Measured: choosing by transitions instead saves a fifth of the
//! misses.)
//!
//! Properties: `an_app_that_left_for_a_home_screen_is_not_in_front_any_more`; `what_is_spared_keeps_everything`;
//! `the_one_left_longest_ago_comes_first`.

use std::collections::BTreeMap;

use brisk_core::app::App;
use brisk_core::app::spare::{self, Taking};
use brisk_core::decision::Observed;
use brisk_core::reason::Reason;
use brisk_core::snapshot::AppTotals;

use crate::mars::config::{Config, Mode};
use crate::mars::{S_NS, State};

/// The app before keeps its memory for so many times the grace time.
const BEFORE_TIMES: u64 = 5;

/// An app with what decides about it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<'a> {
    pub(crate) app: &'a App,
    pub(crate) totals: Option<&'a AppTotals>,
    /// When it left the foreground, or was seen first.
    pub(crate) left_ns: u64,
    /// Why nothing is taken from it; `None` when something may be.
    pub(crate) spared: Option<Reason>,
}

impl Candidate<'_> {
    /// Whether its group has the memory controller.
    pub(crate) fn has_controller(&self) -> bool {
        self.totals.is_some_and(|totals| totals.memory_bytes.is_some())
    }

    /// Whether it may be frozen.
    pub(crate) fn may_be_frozen(&self) -> bool {
        spare::spared(self.app, Taking::Freeze).is_none()
    }
}

/// All apps in the order in which memory is taken from them: those that are spared come last.
pub(crate) fn all<'a>(config: &Config, state: &State, observed: &Observed<'a>) -> Vec<Candidate<'a>> {
    let totals: BTreeMap<&str, &AppTotals> =
        observed.now.apps.iter().map(|totals| (totals.name.as_str(), totals)).collect();
    let candidate = |app: &'a App| {
        let seen_ns = state.groups.get(&app.group).map_or(state.at_ns, |group| group.left_ns);
        let left_ns = app.activity.front_at_ns.unwrap_or(0).max(seen_ns);
        let spared = spared(state, app).or_else(|| match config.mode {
            Mode::Adaptive => has_just_left(config, state, app, left_ns),
            Mode::Paper => None,
        });
        Candidate { totals: totals.get(app.group.as_str()).copied(), left_ns, spared, app }
    };
    let mut all: Vec<Candidate<'a>> = observed.apps.iter().map(candidate).collect();
    all.sort_by(|a, b| {
        let key = |one: &Candidate<'_>| (one.spared.is_some(), one.left_ns);
        key(a).cmp(&key(b)).then_with(|| a.app.group.cmp(&b.app.group))
    });
    all
}

/// Why nothing may be taken from an app, whenever it was in front; an event told of some that are in front by now.
fn spared(state: &State, app: &App) -> Option<Reason> {
    spare::spared(app, Taking::Memory).or_else(|| match () {
        () if state.front.as_ref() == Some(&app.group) => Some(Reason::rule("focused")),
        () if state.window.as_ref().is_some_and(|window| window.group == app.group) => Some(Reason::rule("returning")),
        () => None,
    })
}

fn has_just_left(config: &Config, state: &State, app: &App, left_ns: u64) -> Option<Reason> {
    let is_before = state.before.as_ref() == Some(&app.group);
    let (rule, times) = if is_before { ("the_app_before", BEFORE_TIMES) } else { ("just_left", 1) };
    let away_ns = state.at_ns.saturating_sub(left_ns);
    let grace_ns = config.grace_s.saturating_mul(times).saturating_mul(S_NS);
    (away_ns < grace_ns)
        .then(|| Reason::rule(rule).number("away_s", away_ns as f64 / 1e9).number("grace_s", grace_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mars::tests::{Machine, focused};

    fn rule(machine: &Machine, id: &str) -> Option<String> {
        let all = all(&machine.config, &machine.state, &machine.observed(&[]));
        let one = all.iter().find(|one| one.app.id == id).expect("an app");
        one.spared.as_ref().map(|spared| spared.rule.to_string())
    }

    #[test]
    fn what_is_spared_keeps_everything() {
        type Change = fn(&mut App);
        let cases: [(Change, Option<&str>); 4] = [
            (|_| (), None),
            (|app| app.activity.audible = Some(true), Some("audible")),
            // Behind a sound server that nobody asks.
            (|app| app.activity.audible = None, Some("may_be_audible")),
            (|app| app.activity.focused = Some(true), Some("focused")),
        ];
        for (change, expected) in cases {
            let mut machine = Machine::new(Config::default(), &["a", "b"]);
            machine.step(400, &[focused("b")]);
            machine.after(60_000, 400, &[]);
            change(machine.app("a"));
            let id = machine.apps[0].id.clone();
            assert_eq!(rule(&machine, &id).as_deref(), expected);
        }
    }

    #[test]
    fn an_app_that_left_for_a_home_screen_is_not_in_front_any_more() {
        let mut machine = Machine::new(Config::default(), &["a"]);
        machine.step(400, &[focused("a")]);
        assert_eq!(rule(&machine, "a").as_deref(), Some("focused"));
        machine.app("a").activity.focused = Some(false);
        machine.after(20_000, 400, &[]);
        assert_eq!((rule(&machine, "a").as_deref(), machine.state.front.as_deref()), (Some("the_app_before"), None));
        assert_eq!(machine.state.groups["app-a.scope"].left_ns, machine.state.at_ns);
        machine.after(151_000, 400, &[]);
        assert_eq!(rule(&machine, "a"), None, "it has left long ago");
        // And comes back.
        machine.after(1_000, 400, &[focused("a")]);
        assert_eq!(rule(&machine, "a").as_deref(), Some("focused"));
        assert!(machine.state.window.is_some());
    }

    #[test]
    fn the_one_left_longest_ago_comes_first() {
        let mut machine = Machine::new(Config::default(), &["a", "b", "c", "d"]);
        for id in ["c", "a", "b", "d"] {
            machine.after(60_000, 400, &[focused(id)]);
        }
        let order = |machine: &Machine| {
            let all = all(&machine.config, &machine.state, &machine.observed(&[]));
            all.into_iter().map(|one| (one.app.id.clone(), one.spared.is_none())).collect::<Vec<_>>()
        };
        let named = |id: &str, free| (id.to_owned(), free);
        assert_eq!(order(&machine)[..2], [named("c", true), named("a", true)]);
        assert_eq!(rule(&machine, "b").as_deref(), Some("the_app_before"));
        machine.after(120_000, 400, &[]);
        assert_eq!(rule(&machine, "b").as_deref(), Some("the_app_before"));
        machine.after(60_000, 400, &[]);
        assert_eq!(rule(&machine, "b"), None, "five times the grace time");
    }
}
