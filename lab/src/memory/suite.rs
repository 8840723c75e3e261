//! The suite of returns: each app under each policy, when memory is tight and when it is full.
//!
//! - *Tight*: apps are used in turn with as much memory as their heaps take together, so that their files have no place
//!   of their own. One pass makes the state with device time off, the next is measured.
//! - *Full*: before each return all apps are evicted, and a memory-hungry app fills what is free but for 4 MiB. Without
//!   swap there are no apps to evict: they have been ended, and a return is a launch; and that app leaves as much as
//!   keeps it from being ended itself.
//!
//! Under a policy whose engine learns from returns, each app has two returns before in *full*, which are not measured,
//! and the user stays for two seconds in each app and in the memory-hungry one.
//!
//! A return that fails (the app ends, or shows no window) counts with the time limit, as does one that takes longer.
//!
//! Order: policies with the same swap areas alternate return by return in *full* and pass by pass in *tight*, in an
//! order that is drawn anew for each app, since the return before decides which pages lie where in the swap area;
//! changing areas takes seconds, so groups of them alternate by round. Every second round runs in the opposite order,
//! so that drift of the machine affects all alike.

use std::time::Duration;

use crate::phone::{App, LIMIT_MIN_BYTES};
use crate::results::{AppReturns, AppVisit, PolicyReturns, Regime, RegimeReturns};
use brisk_core::causes::in_one_line;
use brisk_core::random::Random;
use brisk_core::stats::{Summary, median, ratio_of_sums, sum_of_medians};

use crate::memory::error::{Error, Result};
use crate::memory::ground::Ground;
use crate::memory::killer::AVAILABLE_SHARE;
use crate::memory::policy::Policy;

/// What the memory-hungry app leaves free.
const KEEP_BYTES: u64 = 4 << 20;

/// How long the user stays in an app after a return that an engine learns from.
const DWELL: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Plan {
    /// Policies, the baseline first.
    pub policies: Vec<&'static Policy>,
    pub regimes: Vec<Regime>,
    /// Apps in the order in which they are used.
    pub apps: Vec<&'static App>,
    /// Returns to each app in each regime under each policy.
    pub rounds: u64,
    /// Names of apps that are no part of sums.
    pub apart: Vec<String>,
    pub limit_ms: f64,
    /// Memory of the phone when memory is full.
    pub memory_bytes: u64,
    /// Memory of the phone when memory is tight; what the heaps of the apps take together unless it is given.
    pub tight_bytes: Option<u64>,
}

/// One step: a pass over all apps, or one return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Tight(&'static Policy),
    Full(&'static Policy, &'static App),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub regime: Regime,
    pub policy: &'static str,
    /// The return, or why there is none, with the app's name.
    pub visit: std::result::Result<AppVisit, String>,
}

fn steps(plan: &Plan, round: u64) -> Vec<Step> {
    let mut groups: Vec<Vec<&'static Policy>> = Vec::new();
    for &policy in &plan.policies {
        match groups.iter_mut().find(|group| group[0].swap == policy.swap) {
            Some(group) => group.push(policy),
            None => groups.push(vec![policy]),
        }
    }
    // The same for a round and for the one in the opposite order.
    let mut random = Random(round / 2);
    let mut steps = Vec::new();
    for mut group in groups {
        if plan.regimes.contains(&Regime::Tight) {
            random.shuffle(&mut group);
            steps.extend(group.iter().map(|&policy| Step::Tight(policy)));
        }
        if plan.regimes.contains(&Regime::Full) {
            for app in &plan.apps {
                random.shuffle(&mut group);
                steps.extend(group.iter().map(|&policy| Step::Full(policy, app)));
            }
        }
    }
    turned(&steps, !round.is_multiple_of(2))
}

fn turned<T: Clone>(items: &[T], backward: bool) -> Vec<T> {
    let mut items = items.to_vec();
    if backward {
        items.reverse();
    }
    items
}

/// What the heaps of the apps take together once each has been launched, rounded up to MiB; at most the phone's memory.
fn heaps(ground: &mut Ground<'_>, plan: &Plan) -> Result<u64> {
    let mut bytes = 0;
    for app in &plan.apps {
        let launched = ground.launch(app).map(|_| ());
        // What fails here fails in the measured passes, too.
        survive(ground, app, launched)?.ok();
        let census = ground.census(&app.name)?.unwrap_or_default();
        bytes += census.anonymous_bytes + census.swapped_bytes;
    }
    Ok(bytes.next_multiple_of(1 << 20).clamp(LIMIT_MIN_BYTES, plan.memory_bytes.max(LIMIT_MIN_BYTES)))
}

/// Measures all of it, and adds each return to `measured`, which has those before an error then. An app that cannot be
/// measured is a failure of its policy; the others are measured. `plan` gets the memory of the tight regime where it
/// has none.
///
/// # Errors
/// When the user stops, the display is lost, or a policy cannot be put in force.
pub fn run(
    ground: &mut Ground<'_>,
    plan: &mut Plan,
    measured: &mut Vec<Measured>,
    progress: &mut dyn FnMut(f64, &str),
) -> Result<()> {
    if plan.regimes.contains(&Regime::Tight) && plan.tight_bytes.is_none() {
        progress(0.0, "memory that the apps need");
        if let Some(policy) = plan.policies.iter().find(|policy| policy.has_swap()).or(plan.policies.first()) {
            ground.apply(policy)?;
        }
        plan.tight_bytes = Some(heaps(ground, plan)?);
    }
    let plan = &*plan;
    for round in 0..plan.rounds {
        let steps = steps(plan, round);
        for (n, step) in steps.iter().enumerate() {
            let done = (round as f64 + n as f64 / steps.len() as f64) / plan.rounds as f64;
            let place = format!("round {} of {}", round + 1, plan.rounds);
            match *step {
                Step::Tight(policy) => {
                    progress(done, &format!("{place}: tight, {}", policy.name));
                    tight(ground, plan, policy, round, measured)?;
                }
                Step::Full(policy, app) => {
                    progress(done, &format!("{place}: full, {}, {}", policy.name, app.name));
                    let visit = full(ground, plan, policy, app, round);
                    measured.push(Measured {
                        regime: Regime::Full,
                        policy: policy.name,
                        visit: survive(ground, app, visit)?,
                    });
                }
            }
        }
    }
    Ok(())
}

fn tight(
    ground: &mut Ground<'_>,
    plan: &Plan,
    policy: &'static Policy,
    round: u64,
    measured: &mut Vec<Measured>,
) -> Result<()> {
    ground.apply_within(policy, plan.tight_bytes.unwrap_or(plan.memory_bytes))?;
    for app in &plan.apps {
        let visit = ground.go_to_untimed(app).and_then(|visit| ground.leave(&app.name).map(|()| visit));
        // What fails here fails in the measured pass, too.
        survive(ground, app, visit)?.ok();
    }
    for app in &plan.apps {
        let visit = ground.go_to(app, round).and_then(|visit| ground.leave(&app.name).map(|()| visit));
        measured.push(Measured { regime: Regime::Tight, policy: policy.name, visit: survive(ground, app, visit)? });
    }
    Ok(())
}

fn full(ground: &mut Ground<'_>, plan: &Plan, policy: &'static Policy, app: &App, round: u64) -> Result<AppVisit> {
    ground.apply_within(policy, plan.memory_bytes)?;
    if policy.learns_from_returns() && round == 0 {
        // The first tells what it touches, the second how much of that was gone.
        for _ in 0..2 {
            fill(ground, plan, policy)?;
            ground.go_to_untimed(app)?;
            leave_later(ground, policy, app)?;
        }
    }
    fill(ground, plan, policy)?;
    if policy.learns_from_returns() {
        // The user stays in the memory-hungry app, too.
        ground.wait(DWELL)?;
    }
    let visit = ground.go_to(app, round)?;
    leave_later(ground, policy, app)?;
    Ok(visit)
}

/// Leaves an app, where an engine learns from returns not before this one has come to rest.
fn leave_later(ground: &mut Ground<'_>, policy: &'static Policy, app: &App) -> Result<()> {
    if policy.learns_from_returns() {
        ground.wait(DWELL)?;
    }
    ground.leave(&app.name)
}

/// Evicts all apps, and fills the memory.
fn fill(ground: &mut Ground<'_>, plan: &Plan, policy: &'static Policy) -> Result<()> {
    if policy.has_swap() {
        for one in &plan.apps {
            ground.launch(one)?;
        }
    } else {
        ground.close_all()?;
    }
    ground.evict_all()?;
    let keep_bytes = if policy.has_swap() { 0 } else { ground.limit_bytes()? / AVAILABLE_SHARE };
    ground.fill(keep_bytes + KEEP_BYTES)?;
    Ok(())
}

/// What ends the suite stays an error; another failure is a sentence, and the app begins anew.
fn survive<T>(ground: &mut Ground<'_>, app: &App, visit: Result<T>) -> Result<std::result::Result<T, String>> {
    match visit {
        Ok(visit) => Ok(Ok(visit)),
        Err(error @ (Error::Stopped | Error::Setting { .. } | Error::Act(_) | Error::Killer { .. })) => Err(error),
        Err(Error::Launch(error @ crate::launch::Error::Screen(crate::screen::Error::Lost { .. }))) => {
            Err(error.into())
        }
        Err(error) => {
            ground.close(&app.name)?;
            Ok(Err(format!("{}: {}", app.name, in_one_line(&error))))
        }
    }
}

/// The results by regime and policy.
#[must_use]
pub fn by_regime(plan: &Plan, measured: &[Measured]) -> Vec<RegimeReturns> {
    let regime = |&regime: &Regime| {
        let mut policies: Vec<PolicyReturns> =
            plan.policies.iter().map(|policy| of_policy(plan, measured, regime, policy)).collect();
        against_first(&mut policies, &plan.apart, plan.limit_ms);
        RegimeReturns { regime, policies }
    };
    plan.regimes.iter().map(regime).collect()
}

fn of_policy(plan: &Plan, measured: &[Measured], regime: Regime, policy: &Policy) -> PolicyReturns {
    let mine = || measured.iter().filter(|one| one.regime == regime && one.policy == policy.name);
    let visits = |app: &&'static App| {
        let visits = mine().filter_map(|one| one.visit.as_ref().ok()).filter(|visit| visit.app == app.name);
        (app.name.clone(), visits.cloned().collect())
    };
    let apps = plan.apps.iter().map(visits).collect();
    let returns = policy_returns(policy.name, policy.text, apps, &plan.apart, plan.limit_ms);
    PolicyReturns { failure: mine().find_map(|one| one.visit.as_ref().err().cloned()), ..returns }
}

/// The returns of one policy to apps, each with its visits. `apart` are apps that are no part of sums; a return that
/// failed counts with `limit_ms`.
#[must_use]
pub fn policy_returns(
    policy: &str,
    text: &str,
    apps: Vec<(String, Vec<AppVisit>)>,
    apart: &[String],
    limit_ms: f64,
) -> PolicyReturns {
    let of_app = |(app, visits): (String, Vec<AppVisit>)| {
        let times: Vec<f64> = visits.iter().map(|visit| visit.counted_ms(limit_ms)).collect();
        AppReturns { app, end_ms: Summary::of(&times), visits }
    };
    let apps: Vec<AppReturns> = apps.into_iter().map(of_app).collect();
    let sum = |of: fn(&AppVisit) -> f64| {
        let counted = apps.iter().filter(|one| !apart.contains(&one.app));
        counted.filter_map(|one| median(&one.visits.iter().map(of).collect::<Vec<_>>())).sum()
    };
    let mut returns = PolicyReturns {
        policy: policy.to_owned(),
        text: text.to_owned(),
        sum_ms: None,
        ratio: None,
        read_bytes: sum(|visit| visit.flash_read_bytes as f64),
        written_bytes: sum(|visit| visit.flash_written_bytes as f64),
        busy_ms: sum(|visit| visit.flash_busy_ms),
        failure: None,
        apps,
    };
    returns.sum_ms = sum_of_medians(&slices(&times(&returns, apart, limit_ms)));
    returns
}

/// Gives each policy its ratio to the first.
pub fn against_first(policies: &mut [PolicyReturns], apart: &[String], limit_ms: f64) {
    let base = policies.first().map(|first| times(first, apart, limit_ms)).unwrap_or_default();
    for policy in policies.iter_mut().skip(1) {
        policy.ratio = ratio_of_sums(&slices(&times(policy, apart, limit_ms)), &slices(&base));
    }
}

/// Times by app, without those that are counted apart.
fn times(policy: &PolicyReturns, apart: &[String], limit_ms: f64) -> Vec<Vec<f64>> {
    let counted = policy.apps.iter().filter(|one| !apart.contains(&one.app));
    counted.map(|one| one.visits.iter().map(|visit| visit.counted_ms(limit_ms)).collect()).collect()
}

fn slices(groups: &[Vec<f64>]) -> Vec<&[f64]> {
    groups.iter().map(Vec::as_slice).collect()
}

#[cfg(test)]
mod tests;
