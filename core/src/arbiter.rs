//! Resolves what engines request into one value for each knob and a list of actions that do not contradict each other.
//!
//! Settings. The first rule that holds decides, and is part of the outcome:
//!
//! 1. `fixed_choice`: a value that the configuration fixes.
//! 2. `delay_before_energy`: a request for the latency of the foreground before one for energy.
//! 3. `order_of_engines`: the engine that the configuration names first.
//! 4. `only_request`: no other engine requests the knob.
//!
//! A tunable of a scheduler is dropped when another scheduler is in force (`tunable_without_scheduler`).
//!
//! Before all that, what the trial of an engine leaves out is dropped ([`Claim::arm`]): `held_out` for comparison,
//! `observing`, `resting`, `switched_off`. It is in the way of no other engine. Actions that only end what an earlier
//! one left behind are never left out ([`Once::only_restores`]).
//!
//! Actions. All that are requested happen, except:
//!
//! 1. `protected`: what takes from an app that the person protects ([`App::protection`](crate::app::App::protection))
//!    is dropped.
//! 2. `delay_before_energy`, `order_of_engines`: of two actions on one group, one of which favours the app and the
//!    other takes from it, the one that these rules put first happens; of one engine, what favours the app.
//! 3. `app_ends`: whatever else takes from an app that is to be ended is dropped.
//! 4. `swap_out_by_another`: engines see the same shortage of memory, so that one of them swaps out (reclaim, page-out)
//!    in each round, the one that `delay_before_energy` and `order_of_engines` put first; the next round sees what that
//!    gave.
//!
//! Properties: `each_knob_has_one_value_whatever_the_order`; `every_outcome_was_requested_or_fixed`;
//! `no_app_is_favoured_and_restricted_at_once`; `a_protected_app_is_never_restricted`;
//! `one_engine_swaps_out_in_each_round`; `actions_do_not_depend_on_the_order`;
//! `what_is_held_out_is_dropped_as_if_it_were_not_requested`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::action::{Action, Once, Setting};
use crate::decision::{Objective, Request};
use crate::device::Device;
use crate::knob::{Knob, QueueSetting};
use crate::outcome::Outcome;
use crate::reason::Reason;
use crate::trial::Arm;

/// Requester of a value that the configuration fixes.
pub const CONFIG: &str = "config";

/// A request with the engine that made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Name of the engine.
    pub engine: String,
    /// What it requests.
    pub request: Request,
    /// Whether the engine's trial has it applied.
    pub arm: Arm,
}

/// The rule that decided; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The configuration fixes the value.
    FixedChoice,
    /// Latency of the foreground goes before energy.
    DelayBeforeEnergy,
    /// The engine that the configuration names first.
    OrderOfEngines,
    /// No other engine requests it.
    OnlyRequest,
    /// Dropped: another scheduler is in force than the one that has the tunable.
    TunableWithoutScheduler,
    /// Dropped: the person protects the app.
    Protected,
    /// Dropped: the app is to be ended anyway.
    AppEnds,
    /// Dropped: another engine swaps out in this round.
    SwapOutByAnother,
    /// Dropped: the episode is compared with those in which the engine acts.
    HeldOut,
    /// Dropped: the engine learns, and its trial has not begun.
    Observing,
    /// Dropped: the engine did not pay, and rests.
    Resting,
    /// Dropped: a person switched the engine off.
    SwitchedOff,
    /// A rule of another version of brisk, in a record.
    #[serde(other)]
    Unknown,
}

impl Rule {
    /// Of a request that this rule dropped: what became of it.
    #[must_use]
    pub fn outcome_of_dropped(self) -> Outcome {
        match self {
            Self::HeldOut | Self::Observing | Self::Resting | Self::SwitchedOff => Outcome::HeldOut,
            _ => Outcome::Dropped,
        }
    }

    /// Its name, as in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FixedChoice => "fixed_choice",
            Self::DelayBeforeEnergy => "delay_before_energy",
            Self::OrderOfEngines => "order_of_engines",
            Self::OnlyRequest => "only_request",
            Self::TunableWithoutScheduler => "tunable_without_scheduler",
            Self::Protected => "protected",
            Self::AppEnds => "app_ends",
            Self::SwapOutByAnother => "swap_out_by_another",
            Self::HeldOut => "held_out",
            Self::Observing => "observing",
            Self::Resting => "resting",
            Self::SwitchedOff => "switched_off",
            Self::Unknown => "unknown",
        }
    }
}

/// The rule by which an arm drops requests; `None` where they are applied.
fn rule_of(arm: Arm) -> Option<Rule> {
    match arm {
        Arm::On => None,
        Arm::HeldOut => Some(Rule::HeldOut),
        Arm::Observing => Some(Rule::Observing),
        Arm::Resting => Some(Rule::Resting),
        Arm::Off => Some(Rule::SwitchedOff),
    }
}

/// A request that lost to one of higher precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overruled {
    /// The engine.
    pub engine: String,
    /// The value that it requested, or the name of the action.
    pub value: String,
}

/// A setting or a one-shot action ([`Once`]) with what decided about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolved<T> {
    /// The setting or action.
    #[serde(flatten)]
    pub what: T,
    /// Requester: an engine, or [`CONFIG`].
    pub engine: String,
    /// The rule that decided.
    pub rule: Rule,
    /// Why it is requested.
    pub reason: Reason,
    /// Requests that it went before; of a dropped one, the request that went before it.
    pub over: Vec<Overruled>,
}

/// The outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resolution {
    /// The value of each knob that is to have one, in the order in which knobs are to be written.
    pub settings: Vec<Resolved<Setting>>,
    /// Settings that are not to be written, with the rule that dropped them.
    pub dropped_settings: Vec<Resolved<Setting>>,
    /// What is to happen, in the order of execution.
    pub actions: Vec<Resolved<Once>>,
    /// What is not to happen, with the rule that dropped it.
    pub dropped_actions: Vec<Resolved<Once>>,
}

/// Choices of the configuration, which go before every engine.
#[derive(Debug, Clone, Copy)]
pub struct Person<'a> {
    /// Values that the configuration fixes.
    pub fixed: &'a BTreeMap<Knob, String>,
    /// Groups of protected apps: no action may cost them anything.
    pub protected: &'a BTreeSet<String>,
}

/// Decides. `engines` is their order; `devices` says which scheduler is in force where no engine requests one.
#[must_use]
pub fn resolve(person: Person<'_>, engines: &[&str], claims: &[Claim], devices: &[Device]) -> Resolution {
    let (mut settings, mut actions) = (Vec::new(), Vec::new());
    let (mut left_out_settings, mut left_out_actions) = (Vec::new(), Vec::new());
    for claim in claims {
        let by = By {
            objective: claim.request.objective,
            place: engines.iter().position(|engine| *engine == claim.engine).unwrap_or(engines.len()),
            claim,
        };
        match (&claim.request.action, rule_of(claim.arm)) {
            (Action::Set(setting), None) => settings.push((setting, by)),
            (Action::Set(setting), Some(rule)) => {
                left_out_settings.push(by.resolved(setting.clone(), rule, Vec::new()))
            }
            (Action::Once(once), Some(rule)) if !once.only_restores() => {
                left_out_actions.push(by.resolved(once.clone(), rule, Vec::new()));
            }
            (Action::Once(once), _) => actions.push((once, by)),
        }
    }
    let (settings, mut dropped_settings) = resolve_settings(person.fixed, settings, devices);
    let (actions, mut dropped_actions) = resolve_actions(person.protected, actions);
    // One state for each knob: what is in force goes before what is not, and of the others the first.
    for one in left_out_settings {
        if !settings.iter().chain(&dropped_settings).any(|known| known.what.knob == one.what.knob) {
            dropped_settings.push(one);
        }
    }
    dropped_settings.sort_by(|a, b| a.what.knob.cmp(&b.what.knob));
    dropped_actions.extend(left_out_actions);
    order_of_execution(&mut dropped_actions);
    Resolution { settings, dropped_settings, actions, dropped_actions }
}

/// The requester, in the order of precedence.
#[derive(Clone, Copy)]
struct By<'a> {
    objective: Objective,
    place: usize,
    claim: &'a Claim,
}

impl By<'_> {
    fn precedence(&self) -> (Objective, usize, &str) {
        (self.objective, self.place, &self.claim.engine)
    }

    /// The rule by which this one goes before `next`.
    fn rule_over(&self, next: &Self) -> Rule {
        if self.objective < next.objective { Rule::DelayBeforeEnergy } else { Rule::OrderOfEngines }
    }

    fn resolved<T>(&self, what: T, rule: Rule, over: Vec<Overruled>) -> Resolved<T> {
        Resolved { what, engine: self.claim.engine.clone(), rule, reason: self.claim.request.reason.clone(), over }
    }

    fn overruled(&self, value: &str) -> Overruled {
        Overruled { engine: self.claim.engine.clone(), value: value.to_owned() }
    }
}

type Kept<T> = (Vec<Resolved<T>>, Vec<Resolved<T>>);

fn resolve_settings(
    fixed: &BTreeMap<Knob, String>,
    requested: Vec<(&Setting, By<'_>)>,
    devices: &[Device],
) -> Kept<Setting> {
    let mut by_knob: BTreeMap<&Knob, Vec<(&Setting, By<'_>)>> = BTreeMap::new();
    for setting in requested {
        by_knob.entry(&setting.0.knob).or_default().push(setting);
    }
    let losers = |claims: &[(&Setting, By<'_>)], value: &str| {
        let others = claims.iter().filter(|(setting, _)| setting.value != value);
        others.map(|(setting, by)| by.overruled(&setting.value)).collect()
    };
    let mut resolved: Vec<Resolved<Setting>> = Vec::new();
    for (knob, value) in fixed {
        let claims = by_knob.remove(knob).unwrap_or_default();
        resolved.push(Resolved {
            what: Setting { knob: knob.clone(), value: value.clone() },
            engine: CONFIG.to_owned(),
            rule: Rule::FixedChoice,
            reason: Reason::rule("fixed_choice"),
            over: losers(&claims, value),
        });
    }
    for mut claims in by_knob.into_values() {
        claims.sort_by(|(a, a_by), (b, b_by)| (a_by.precedence(), &a.value).cmp(&(b_by.precedence(), &b.value)));
        let Some((&(won, by), others)) = claims.split_first() else { continue };
        let rule = others.first().map_or(Rule::OnlyRequest, |(_, next)| by.rule_over(next));
        resolved.push(by.resolved(won.clone(), rule, losers(others, &won.value)));
    }
    let schedulers: BTreeMap<String, String> = devices
        .iter()
        .filter_map(|device| Some((device.name.clone(), device.original(&QueueSetting::Scheduler)?.to_owned())))
        .chain(resolved.iter().filter_map(|found| match found.what.knob.queue_setting()? {
            (device, QueueSetting::Scheduler) => Some((device.to_owned(), found.what.value.clone())),
            _ => None,
        }))
        .collect();
    let is_in_force = |found: &Resolved<Setting>| match found.what.knob.queue_setting() {
        Some((device, QueueSetting::Tunable { scheduler, .. })) => schedulers.get(device) == Some(scheduler),
        _ => true,
    };
    resolved.sort_by(|a, b| a.what.knob.cmp(&b.what.knob));
    let (kept, mut dropped): Kept<Setting> = resolved.into_iter().partition(is_in_force);
    dropped.iter_mut().for_each(|found| found.rule = Rule::TunableWithoutScheduler);
    (kept, dropped)
}

fn resolve_actions(protected: &BTreeSet<String>, requested: Vec<(&Once, By<'_>)>) -> Kept<Once> {
    let (mut kept, mut dropped): Kept<Once> = (Vec::new(), Vec::new());
    let swap_out = requested
        .iter()
        .filter(|(once, _)| once.swaps_out() && !protected.contains(once.group()))
        .min_by(|(a, a_by), (b, b_by)| (a_by.precedence(), a).cmp(&(b_by.precedence(), b)))
        .copied();
    let mut by_group: BTreeMap<&str, Vec<(&Once, By<'_>)>> = BTreeMap::new();
    for action in requested {
        by_group.entry(action.0.group()).or_default().push(action);
    }
    for (group, mut claims) in by_group {
        let is_protected = protected.contains(group);
        // Within one engine what favours the app comes first.
        claims.sort_by(|(a, a_by), (b, b_by)| {
            let key = |once: &Once, by: &By<'_>| (by.objective, by.place, !once.favours_the_app());
            key(a, a_by).cmp(&key(b, b_by)).then_with(|| (&a_by.claim.engine, a).cmp(&(&b_by.claim.engine, b)))
        });
        let first = claims.iter().find(|(once, _)| once.favours_the_app() || !is_protected).copied();
        let ends = first.is_some_and(|(once, _)| !once.favours_the_app())
            && claims.iter().any(|(once, _)| matches!(once, Once::EndApp { .. }));
        let mut of_group: Vec<(Resolved<Once>, By<'_>)> = Vec::new();
        for (once, by) in claims {
            let lost = match first {
                _ if is_protected && !once.favours_the_app() => Some((Rule::Protected, None)),
                Some((won, won_by)) if won.favours_the_app() != once.favours_the_app() => {
                    Some((won_by.rule_over(&by), Some((won, won_by))))
                }
                _ if ends && !matches!(once, Once::EndApp { .. }) => Some((Rule::AppEnds, None)),
                // Two of a kind on one group are one, as below.
                _ if once.swaps_out() && !of_group.iter().any(|(known, _)| known.what.name() == once.name()) => {
                    swap_out
                        .filter(|(_, won_by)| won_by.claim.engine != by.claim.engine)
                        .map(|(won, won_by)| (Rule::SwapOutByAnother, Some((won, won_by))))
                }
                _ => None,
            };
            if let Some((rule, winner)) = lost {
                let over = winner.map(|(won, won_by)| won_by.overruled(won.name())).into_iter().collect();
                dropped.push(by.resolved(once.clone(), rule, over));
            } else if let Some((known, known_by)) =
                of_group.iter_mut().find(|(known, _)| known.what.name() == once.name())
            {
                // Of two of a kind the first happens; the ranges and sizes of the others are no more than that.
                known.rule = if known.rule == Rule::OnlyRequest { known_by.rule_over(&by) } else { known.rule };
                if known.what != *once {
                    known.over.push(by.overruled(once.name()));
                }
            } else {
                of_group.push((by.resolved(once.clone(), Rule::OnlyRequest, Vec::new()), by));
            }
        }
        kept.extend(of_group.into_iter().map(|(resolved, _)| resolved));
    }
    order_of_execution(&mut kept);
    (kept, dropped)
}

fn order_of_execution(resolved: &mut [Resolved<Once>]) {
    resolved.sort_by(|a, b| (&a.what, &a.engine).cmp(&(&b.what, &b.engine)));
}

#[cfg(test)]
mod tests;
