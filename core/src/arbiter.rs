//! Who gets a knob when several want it.
//!
//! Rules, first before last; the one that decided is part of the outcome:
//!
//! 1. `fixed_choice`: what the person fixed in the configuration stands.
//! 2. `delay_before_energy`: somebody who waits goes before a battery.
//! 3. `order_of_engines`: among equals the engine that is named first in the configuration.
//! 4. `only_wish`: nobody else wants it.
//!
//! A tunable of a scheduler is dropped unless that scheduler is the one that won (`tunable_without_scheduler`), or stays in
//! force because nobody wants another.
//!
//! Properties: each knob has one value; the outcome does not depend on the order of wishes; every value was wished for or
//! fixed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decision::{Device, Objective, Reason, Wish};
use crate::knob::{Knob, QueueSetting};

/// A wish with the engine that has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Name of the engine.
    pub engine: String,
    /// What it wishes.
    pub wish: Wish,
}

/// The value that a knob is to have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// The knob.
    pub knob: Knob,
    /// Its value.
    pub value: String,
    /// Whose it is: an engine, or `config`.
    pub engine: String,
    /// The rule that decided.
    pub rule: String,
    /// Why that engine wants it.
    pub reason: Reason,
    /// Who wanted something else: engine and value.
    pub over: Vec<(String, String)>,
}

/// Decides. `fixed` is the person's choice; `engines` is their order; `devices` says which scheduler is in force where nobody
/// wants one. The outcome is in the order in which knobs are to be written.
#[must_use]
pub fn resolve(
    fixed: &BTreeMap<Knob, String>,
    engines: &[&str],
    claims: &[Claim],
    devices: &[Device],
) -> Vec<Resolved> {
    let mut by_knob: BTreeMap<&Knob, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        by_knob.entry(&claim.wish.knob).or_default().push(claim);
    }
    let place = |claim: &Claim| engines.iter().position(|engine| *engine == claim.engine).unwrap_or(engines.len());
    let mut resolved: Vec<Resolved> = Vec::new();
    for (knob, value) in fixed {
        let over = by_knob.remove(knob).unwrap_or_default();
        let reason = Reason::rule("fixed_choice");
        let over = over.into_iter().filter(|claim| claim.wish.value != *value).map(other).collect();
        resolved.push(Resolved {
            knob: knob.clone(),
            value: value.clone(),
            engine: "config".to_owned(),
            rule: "fixed_choice".to_owned(),
            reason,
            over,
        });
    }
    for (knob, mut claims) in by_knob {
        claims.sort_by(|a, b| {
            let key = |claim: &Claim| (claim.wish.objective, place(claim));
            key(a).cmp(&key(b)).then_with(|| (&a.engine, &a.wish.value).cmp(&(&b.engine, &b.wish.value)))
        });
        let Some((won, others)) = claims.split_first() else { continue };
        let rule = match others.first() {
            None => "only_wish",
            Some(next) if won.wish.objective == Objective::Delay && next.wish.objective != Objective::Delay => {
                "delay_before_energy"
            }
            Some(_) => "order_of_engines",
        };
        resolved.push(Resolved {
            knob: knob.clone(),
            value: won.wish.value.clone(),
            engine: won.engine.clone(),
            rule: rule.to_owned(),
            reason: won.wish.reason.clone(),
            over: others.iter().filter(|claim| claim.wish.value != won.wish.value).map(|claim| other(claim)).collect(),
        });
    }
    let schedulers: BTreeMap<String, String> = devices
        .iter()
        .filter_map(|device| Some((device.name.clone(), device.original(&QueueSetting::Scheduler)?.to_owned())))
        .chain(resolved.iter().filter_map(|found| match &found.knob {
            Knob::Queue { device, setting: QueueSetting::Scheduler } => Some((device.clone(), found.value.clone())),
            _ => None,
        }))
        .collect();
    resolved.retain(|found| match &found.knob {
        Knob::Queue { device, setting: QueueSetting::Tunable { scheduler, .. } } => {
            schedulers.get(device) == Some(scheduler)
        }
        _ => true,
    });
    resolved.sort_by(|a, b| a.knob.cmp(&b.knob));
    resolved
}

fn other(claim: &Claim) -> (String, String) {
    (claim.engine.clone(), claim.wish.value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENGINES: [&str; 2] = ["smartio", "smartstorage"];

    fn claim(engine: &str, setting: QueueSetting, value: &str, objective: Objective) -> Claim {
        let knob = Knob::queue("mmcblk0", setting);
        let reason = Reason::rule("test");
        Claim { engine: engine.to_owned(), wish: Wish { knob, value: value.to_owned(), objective, reason } }
    }

    fn outcome(fixed: &[(&str, &str)], claims: &[Claim]) -> Vec<(String, String, String, String)> {
        let fixed = fixed.iter().map(|(knob, value)| (knob.parse().expect("a knob"), (*value).to_owned())).collect();
        let device = Device {
            name: "mmcblk0".to_owned(),
            originals: vec![("scheduler".to_owned(), "mq-deadline".to_owned())],
            ..Device::default()
        };
        let resolved = resolve(&fixed, &ENGINES, claims, &[device]);
        resolved.into_iter().map(|r| (r.knob.to_string(), r.value, r.engine, r.rule)).collect()
    }

    #[test]
    fn each_rule_decides_where_those_before_it_do_not() {
        use Objective::{Delay, Energy};
        let scheduler = QueueSetting::Scheduler;
        let delay = claim("smartstorage", scheduler.clone(), "bfq", Delay);
        let energy = claim("smartio", scheduler.clone(), "none", Energy);
        let same = claim("smartio", scheduler.clone(), "kyber", Delay);
        let chosen = [("queue/mmcblk0/scheduler", "mq-deadline")];
        let cases = [
            (&chosen[..], vec![delay.clone()], "mq-deadline", "fixed_choice"),
            (&[], vec![energy.clone(), delay.clone()], "bfq", "delay_before_energy"),
            (&[], vec![delay.clone(), same], "kyber", "order_of_engines"),
            (&[], vec![energy], "none", "only_wish"),
        ];
        for (fixed, claims, value, rule) in cases {
            let found = outcome(fixed, &claims);
            assert_eq!((found.len(), found[0].1.as_str(), found[0].3.as_str()), (1, value, rule));
        }
    }

    #[test]
    fn a_tunable_goes_with_its_scheduler() {
        let tunable = claim("smartio", QueueSetting::tunable("mq-deadline", "fifo_batch"), "1", Objective::Delay);
        assert_eq!(outcome(&[], std::slice::from_ref(&tunable)).len(), 1);
        let other = claim("smartstorage", QueueSetting::Scheduler, "bfq", Objective::Energy);
        let found = outcome(&[], &[tunable, other]);
        assert_eq!(found.iter().map(|f| f.1.as_str()).collect::<Vec<_>>(), ["bfq"]);
    }

    #[test]
    fn who_lost_is_named() {
        let claims = [
            claim("smartstorage", QueueSetting::ReadAheadKb, "128", Objective::Energy),
            claim("smartio", QueueSetting::ReadAheadKb, "512", Objective::Delay),
        ];
        let resolved = resolve(&BTreeMap::new(), &ENGINES, &claims, &[]);
        assert_eq!(resolved[0].over, [("smartstorage".to_owned(), "128".to_owned())]);
    }

    fn claims() -> impl Strategy<Value = Vec<Claim>> {
        let setting = prop_oneof![
            Just(QueueSetting::Scheduler),
            Just(QueueSetting::NrRequests),
            Just(QueueSetting::tunable("bfq", "low_latency")),
        ];
        let objective = prop_oneof![Just(Objective::Delay), Just(Objective::Energy)];
        let one = (0..3usize, setting, "[a-c]", objective).prop_map(|(engine, setting, value, objective)| {
            claim(["smartio", "smartstorage", "mars"][engine], setting, &value, objective)
        });
        prop::collection::vec(one, 0..8)
    }

    proptest! {
        #[test]
        fn each_knob_has_one_value_whatever_the_order(claims in claims(), seed in any::<u64>()) {
            let first = resolve(&BTreeMap::new(), &ENGINES, &claims, &[]);
            let mut turned = claims.clone();
            if !turned.is_empty() {
                let by = (seed as usize) % turned.len();
                turned.rotate_left(by);
            }
            let second = resolve(&BTreeMap::new(), &ENGINES, &turned, &[]);
            let what = |found: &[Resolved]| found.iter().map(|f| (f.knob.clone(), f.value.clone(), f.engine.clone())).collect::<Vec<_>>();
            prop_assert_eq!(what(&first), what(&second));
            let mut knobs: Vec<_> = first.iter().map(|f| &f.knob).collect();
            knobs.dedup();
            prop_assert_eq!(knobs.len(), first.len());
            for found in &first {
                prop_assert!(claims.iter().any(|c| c.wish.knob == found.knob && c.wish.value == found.value));
            }
        }
    }
}
