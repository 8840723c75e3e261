use crate::phone::Catalogue;
use crate::results::{AppState, Ending, RelaunchRun};

use super::*;

fn plan(policies: &[&str]) -> Plan {
    let catalogue = Catalogue::builtin();
    Plan {
        policies: policies.iter().map(|name| Policy::named(name).expect("there")).collect(),
        regimes: Regime::ALL.to_vec(),
        apps: ["evince", "gimp", "chromium"].map(|name| catalogue.app(name).expect("there")).to_vec(),
        rounds: 2,
        apart: vec!["chromium".to_owned()],
        limit_ms: 40_000.0,
        memory_bytes: 600 << 20,
        tight_bytes: None,
    }
}

fn words(steps: &[Step]) -> Vec<String> {
    steps
        .iter()
        .map(|step| match step {
            Step::Tight(policy) => policy.name.to_owned(),
            Step::Full(policy, app) => format!("{}/{}", policy.name, app.name),
        })
        .collect()
}

#[test]
fn policies_of_the_same_areas_alternate_and_every_second_round_runs_backward() {
    let plan = plan(&["default", "zram", "unfrozen"]);
    let round = |round: u64| words(&steps(&plan, round));
    for n in [0, 2, 4] {
        let there = round(n);
        assert_eq!(there, round(n), "the same each time");
        let mut back = round(n + 1);
        back.reverse();
        assert_eq!(there, back);
        // One pass under each policy of the areas, then each app under each of them, then the other areas.
        let (flash, zram) = there.split_at(8);
        assert!(flash[..2].contains(&"default".to_owned()) && flash[..2].contains(&"unfrozen".to_owned()), "{there:?}");
        for (n, app) in ["evince", "gimp", "chromium"].iter().enumerate() {
            let both = &flash[2 + 2 * n..4 + 2 * n];
            assert!(["default", "unfrozen"].iter().all(|policy| both.contains(&format!("{policy}/{app}"))), "{both:?}");
        }
        assert_eq!(zram, ["zram", "zram/evince", "zram/gimp", "zram/chromium"]);
    }
    // Each policy is first as well as second, so that none always follows the same one.
    let firsts: std::collections::BTreeSet<String> =
        (0..8).flat_map(|n| round(2 * n)[2..8].iter().step_by(2).cloned().collect::<Vec<_>>()).collect();
    assert_eq!(firsts.len(), 6, "{firsts:?}");
}

fn visit(app: &str, end_ms: f64, read: u64) -> AppVisit {
    AppVisit {
        app: app.to_owned(),
        round: 0,
        run: RelaunchRun {
            state: AppState::Swapped,
            ending: Ending::Settled,
            end_ms,
            screen_ms: None,
            first_change_ms: None,
            input_ms: None,
            split: None,
            storage: None,
            before: None,
            after: None,
            touched: None,
        },
        flash_read_bytes: read,
        flash_written_bytes: 0,
        flash_busy_ms: 1.0,
        ended: Vec::new(),
    }
}

#[test]
fn sums_leave_out_what_is_counted_apart_and_name_what_failed() {
    let plan = plan(&["default", "zram"]);
    let mut measured = Vec::new();
    for (policy, factor) in [("default", 10.0), ("zram", 1.0)] {
        for n in 0..5 {
            for (app, ms) in [("evince", 100.0), ("gimp", 200.0), ("chromium", 9_000.0)] {
                let visit = visit(app, factor * (ms + f64::from(n)), 1_000);
                measured.push(Measured { regime: Regime::Full, policy, visit: Ok(visit) });
            }
        }
    }
    measured.push(Measured { regime: Regime::Full, policy: "zram", visit: Err("gimp: it ended".to_owned()) });
    let regimes = by_regime(&plan, &measured);
    let [tight, full] = &regimes[..] else { panic!("two regimes") };
    assert!(tight.policies.iter().all(|policy| policy.sum_ms.is_none() && policy.failure.is_none()));
    let [default, zram] = &full.policies[..] else { panic!("two policies") };
    assert_eq!(default.sum_ms.expect("enough").median, 3_040.0);
    assert_eq!(default.read_bytes, 2_000.0);
    assert_eq!((default.ratio, default.failure.as_deref()), (None, None));
    let ratio = zram.ratio.expect("enough");
    assert!((ratio.median - 0.1).abs() < 1e-9 && ratio.low <= ratio.median, "{ratio:?}");
    assert_eq!(zram.failure.as_deref(), Some("gimp: it ended"));
    assert_eq!(zram.apps[2].end_ms.map(|summary| summary.median), Some(9_002.0), "it is shown");
}

#[test]
fn a_return_that_fails_costs_the_time_limit() {
    let plan = plan(&["default"]);
    let mut failed = visit("evince", 300.0, 0);
    failed.run.ending = Ending::Exited { code: None, signal: Some(9) };
    let measured = [failed, visit("evince", 50_000.0, 0)].map(|visit| Measured {
        regime: Regime::Full,
        policy: "default",
        visit: Ok(visit),
    });
    let app = &by_regime(&plan, &measured)[1].policies[0].apps[0];
    let summary = app.end_ms.expect("two");
    assert_eq!((summary.min, summary.max), (40_000.0, 50_000.0));
}
