//! Sums of returns to apps under policies. Pure.

use crate::results::{AppReturns, AppVisit, PolicyReturns};
use brisk_core::stats::{Summary, median, ratio_of_sums, sum_of_medians};

/// The returns of one policy to apps, each with its visits. A return that failed counts with `limit_ms`.
#[must_use]
pub fn policy_returns(policy: &str, text: &str, apps: Vec<(String, Vec<AppVisit>)>, limit_ms: f64) -> PolicyReturns {
    let of_app = |(app, visits): (String, Vec<AppVisit>)| {
        let times: Vec<f64> = visits.iter().map(|visit| visit.counted_ms(limit_ms)).collect();
        AppReturns { app, end_ms: Summary::of(&times), visits }
    };
    let apps: Vec<AppReturns> = apps.into_iter().map(of_app).collect();
    let sum = |of: fn(&AppVisit) -> f64| {
        apps.iter().filter_map(|one| median(&one.visits.iter().map(of).collect::<Vec<_>>())).sum()
    };
    let mut returns = PolicyReturns {
        policy: policy.to_owned(),
        text: text.to_owned(),
        sum_ms: None,
        ratio: None,
        read_bytes: sum(|visit| visit.flash_read_bytes as f64),
        written_bytes: sum(|visit| visit.flash_written_bytes as f64),
        busy_ms: sum(|visit| visit.flash_busy_ms),
        apps,
    };
    returns.sum_ms = sum_of_medians(&slices(&times(&returns, limit_ms)));
    returns
}

/// Gives each policy its ratio to the first.
pub fn against_first(policies: &mut [PolicyReturns], limit_ms: f64) {
    let base = policies.first().map(|first| times(first, limit_ms)).unwrap_or_default();
    for policy in policies.iter_mut().skip(1) {
        policy.ratio = ratio_of_sums(&slices(&times(policy, limit_ms)), &slices(&base));
    }
}

/// Times by app.
fn times(policy: &PolicyReturns, limit_ms: f64) -> Vec<Vec<f64>> {
    policy.apps.iter().map(|one| one.visits.iter().map(|visit| visit.counted_ms(limit_ms)).collect()).collect()
}

fn slices(groups: &[Vec<f64>]) -> Vec<&[f64]> {
    groups.iter().map(Vec::as_slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{AppState, Ending, RelaunchRun};

    fn visit(app: &str, end_ms: f64, flash_read_bytes: u64) -> AppVisit {
        let run = RelaunchRun {
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
        };
        let (app, ended) = (app.to_owned(), Vec::new());
        AppVisit { app, round: 0, run, flash_read_bytes, flash_written_bytes: 0, flash_busy_ms: 1.0, ended }
    }

    fn returns(policy: &str, factor: f64) -> PolicyReturns {
        let of = |app: &str, ms: f64| {
            let visits = (0..5).map(|n| visit(app, factor * (ms + f64::from(n)), 1_000)).collect();
            (app.to_owned(), visits)
        };
        policy_returns(policy, "", vec![of("evince", 100.0), of("gimp", 200.0)], 40_000.0)
    }

    #[test]
    fn sums_are_of_medians_and_ratios_against_the_first_policy() {
        let mut policies = [returns("default", 10.0), returns("zram", 1.0)];
        against_first(&mut policies, 40_000.0);
        let [default, zram] = &policies;
        assert_eq!(default.sum_ms.expect("enough").median, 3_040.0);
        assert_eq!((default.read_bytes, default.ratio), (2_000.0, None));
        let ratio = zram.ratio.expect("enough");
        assert!((ratio.median - 0.1).abs() < 1e-9 && ratio.low <= ratio.median, "{ratio:?}");
    }

    #[test]
    fn a_return_that_fails_costs_the_time_limit() {
        let mut failed = visit("evince", 300.0, 0);
        failed.run.ending = Ending::Exited { code: None, signal: Some(9) };
        let visits = vec![failed, visit("evince", 50_000.0, 0)];
        let returns = policy_returns("default", "", vec![("evince".to_owned(), visits)], 40_000.0);
        let summary = returns.apps[0].end_ms.expect("two");
        assert_eq!((summary.min, summary.max), (40_000.0, 50_000.0));
    }
}
