//! Sample launches for tests.

use crate::launch::series::summarise;
use crate::results::{Ending, LaunchRun, LaunchSet, Stage, StageTime, SuiteApp, Temperature};

/// A launch with this ending, settled after `settled_ms`.
pub(super) fn run(ending: Ending, settled_ms: Option<f64>) -> LaunchRun {
    let settled = settled_ms.map(|at_ms| StageTime { stage: Stage::Settled, at_ms, resolution_ms: None, split: None });
    LaunchRun {
        ending,
        stages: settled.into_iter().collect(),
        settled_less_cpu_wait_ms: None,
        storage: None,
        cold: None,
        threads_max: None,
        watch_cpu_percent: 0.0,
        outlier: false,
    }
}

/// Cold launches under one condition.
pub(super) fn set(label: &str, runs: Vec<LaunchRun>) -> LaunchSet {
    summarise(label.to_owned(), Temperature::Cold, runs)
}

pub(super) fn app(sets: Vec<LaunchSet>) -> SuiteApp {
    SuiteApp {
        name: "x".to_owned(),
        group: "tool".to_owned(),
        command: Vec::new(),
        sets,
        comparisons: Vec::new(),
        failure: None,
    }
}
