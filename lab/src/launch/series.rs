//! Order and summary of many launches.
//!
//! Two setups are compared by launches in turns, A B B A, so that drift of the machine (temperature, other load)
//! affects both alike; the comparison uses the ratio of each pair. A cold launch precedes the warm one of the same
//! round, which finds its files in the page cache.
//!
//! Properties: every setup has the same number of launches; no launch is discarded, outliers are marked.

use crate::results::{LaunchComparison, LaunchRun, LaunchSet, Part, Split, Stage, StageSummary, Temperature};
use brisk_core::stats::{Summary, paired_ratio};

/// One launch of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub setup: usize,
    pub temperature: Temperature,
}

/// The order of `rounds` launches of each of `setups` setups at each temperature.
#[must_use]
pub fn plan(setups: usize, temperatures: &[Temperature], rounds: usize) -> Vec<Step> {
    let mut steps = Vec::with_capacity(setups * temperatures.len() * rounds);
    for round in 0..rounds {
        let forward = round % 2 == 0;
        for place in 0..setups {
            let setup = if forward { place } else { setups - 1 - place };
            steps.extend(temperatures.iter().map(|temperature| Step { setup, temperature: *temperature }));
        }
    }
    steps
}

/// Summary of the launches of one setup.
#[must_use]
pub fn summarise(label: String, temperature: Temperature, mut runs: Vec<LaunchRun>) -> LaunchSet {
    mark_outliers(&mut runs);
    let mut stages = Vec::new();
    for stage in [Stage::FirstProcess, Stage::FirstWindow, Stage::FirstFrame, Stage::Settled, Stage::Idle] {
        let times: Vec<f64> = runs.iter().filter_map(|run| run.at_ms(stage)).collect();
        stages.extend(Summary::of(&times).map(|at_ms| StageSummary { stage, at_ms }));
    }
    let less: Vec<f64> = runs.iter().filter_map(|run| run.settled_less_cpu_wait_ms).collect();
    let splits: Vec<&Split> = runs.iter().filter_map(final_split).collect();
    LaunchSet {
        label,
        temperature,
        split: median_split(&splits),
        settled_less_cpu_wait_ms: Summary::of(&less),
        stages,
        runs,
    }
}

/// The split of the user's waiting time: until settled, or until idle where there is no screen.
fn final_split(run: &LaunchRun) -> Option<&Split> {
    run.split(Stage::Settled).or_else(|| run.split(Stage::Idle))
}

/// Compares `set` with `base` at the same temperature; `None` when there are no pairs.
#[must_use]
pub fn compare(set: &LaunchSet, base: &LaunchSet) -> Option<LaunchComparison> {
    // Pairs of the same round in which both reached the stage.
    let pairs = |value: fn(&LaunchRun) -> Option<f64>| -> (Vec<f64>, Vec<f64>) {
        set.runs.iter().zip(&base.runs).filter_map(|(a, b)| value(a).zip(value(b))).unzip()
    };
    let (settled, base_settled) = pairs(|run| run.at_ms(Stage::Settled).or_else(|| run.at_ms(Stage::Idle)));
    let (less, base_less) = pairs(|run| run.settled_less_cpu_wait_ms);
    Some(LaunchComparison {
        label: set.label.clone(),
        base: base.label.clone(),
        temperature: set.temperature,
        settled_ratio: paired_ratio(&settled, &base_settled)?,
        settled_less_cpu_wait_ratio: paired_ratio(&less, &base_less),
    })
}

/// Median of each part, scaled to add up to the median of the whole; `None` without splits of a common method.
#[must_use]
pub fn median_split(splits: &[&Split]) -> Option<Split> {
    let first = splits.first()?;
    let same: Vec<&&Split> = splits.iter().filter(|split| split.method == first.method).collect();
    let median = |values: Vec<f64>| brisk_core::stats::median(&values);
    let wall_ms = median(same.iter().map(|split| split.wall_ms).collect())?;
    let mut parts: Vec<Part> = Vec::new();
    for cause in first.parts.iter().map(|part| part.cause) {
        let time_ms = median(same.iter().map(|split| split.time_ms(cause).unwrap_or_default()).collect())?;
        parts.push(Part { cause, time_ms });
    }
    let sum: f64 = parts.iter().map(|part| part.time_ms).sum();
    if sum > 0.0 {
        parts.iter_mut().for_each(|part| part.time_ms *= wall_ms / sum);
    }
    let lost_events = same.iter().map(|split| split.lost_events).max().unwrap_or_default();
    Some(Split { method: first.method, wall_ms, parts, lost_events })
}

/// Marks runs whose final time lies outside of Tukey's fences (1.5 times the interquartile range beyond the quartiles).
fn mark_outliers(runs: &mut [LaunchRun]) {
    let time = |run: &LaunchRun| run.at_ms(Stage::Settled).or_else(|| run.at_ms(Stage::Idle));
    let mut sorted: Vec<f64> = runs.iter().filter_map(time).collect();
    sorted.sort_by(f64::total_cmp);
    // Fewer than four values have no meaningful quartiles.
    if sorted.len() < 4 {
        return;
    }
    let quartile = |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    let (low, high) = (quartile(0.25), quartile(0.75));
    let fence = 1.5 * (high - low);
    for run in runs {
        run.outlier = time(run).is_some_and(|ms| ms < low - fence || ms > high + fence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Cause, Ending, SplitMethod, StageTime};

    fn run(settled_ms: f64, storage_ms: f64) -> LaunchRun {
        let parts = vec![
            Part { cause: Cause::UserCpu, time_ms: settled_ms - storage_ms },
            Part { cause: Cause::StorageRead, time_ms: storage_ms },
        ];
        let split = Split { method: SplitMethod::Bpf, wall_ms: settled_ms, parts, lost_events: 0 };
        LaunchRun {
            ending: Ending::Settled,
            stages: vec![StageTime {
                stage: Stage::Settled,
                at_ms: settled_ms,
                resolution_ms: None,
                split: Some(split),
            }],
            settled_less_cpu_wait_ms: Some(settled_ms - 10.0),
            storage: None,
            cold: None,
            threads_max: None,
            watch_cpu_percent: 0.1,
            outlier: false,
        }
    }

    fn set(label: &str, runs: Vec<LaunchRun>) -> LaunchSet {
        summarise(label.to_owned(), Temperature::Cold, runs)
    }

    #[test]
    fn two_setups_take_turns() {
        let steps = plan(2, &[Temperature::Cold], 4);
        assert_eq!(steps.iter().map(|step| step.setup).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn every_setup_has_the_same_number_of_launches() {
        for (setups, rounds) in [(1, 1), (2, 3), (3, 5), (5, 2)] {
            let both = [Temperature::Cold, Temperature::Warm];
            let steps = plan(setups, &both, rounds);
            for setup in 0..setups {
                for temperature in both {
                    let step = Step { setup, temperature };
                    assert_eq!(steps.iter().filter(|s| **s == step).count(), rounds);
                }
            }
        }
    }

    #[test]
    fn outliers_are_marked_and_stay() {
        let runs = [100.0, 101.0, 102.0, 103.0, 104.0, 300.0].map(|ms| run(ms, 50.0)).to_vec();
        let set = set("a", runs);
        assert_eq!(
            set.runs.iter().map(|run| run.outlier).collect::<Vec<_>>(),
            [false, false, false, false, false, true]
        );
        assert_eq!(set.stage(Stage::Settled).map(|s| (s.count, s.max)), Some((6, 300.0)));
        assert_eq!(set.stage(Stage::Idle), None);
    }

    #[test]
    fn a_median_split_adds_up_to_the_median() {
        let set = set("a", vec![run(100.0, 10.0), run(200.0, 150.0), run(300.0, 40.0)]);
        let split = set.split.expect("a split");
        assert_eq!(split.wall_ms, 200.0);
        assert!((split.parts.iter().map(|part| part.time_ms).sum::<f64>() - 200.0).abs() < 1e-9);
    }

    #[test]
    fn sets_are_compared_pair_by_pair() {
        let (a, b) =
            (set("a", vec![run(200.0, 1.0), run(400.0, 1.0)]), set("b", vec![run(100.0, 1.0), run(200.0, 1.0)]));
        let comparison = compare(&a, &b).expect("two pairs");
        assert_eq!((comparison.settled_ratio.median, comparison.settled_ratio.count), (2.0, 2));
        // A launch that never settled is in no pair.
        let mut lost = run(1.0, 0.0);
        lost.stages.clear();
        lost.settled_less_cpu_wait_ms = None;
        assert!(compare(&set("c", vec![lost]), &b).is_none());
    }
}
