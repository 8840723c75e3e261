//! The launches of one label: how they are named, which moment counts, which run stands for them.

use crate::results::{LaunchComparison, LaunchRun, LaunchSet, Stage, Temperature};
use brisk_core::stats::Summary;

use brisk_report::declare::Run;
use brisk_report::format;
use brisk_report::measures::Measure;
use brisk_report::vocabulary::{FIRST_FRAME, FIRST_PROCESS, FIRST_WINDOW, IDLE, SETTLED};

/// `cold` or `warm`.
pub(crate) fn temperature(temperature: Temperature) -> &'static str {
    match temperature {
        Temperature::Cold => "cold",
        Temperature::Warm => "warm",
    }
}

/// The time of a stage.
pub(crate) fn stage(stage: Stage) -> Measure {
    match stage {
        Stage::FirstProcess => FIRST_PROCESS,
        Stage::FirstWindow => FIRST_WINDOW,
        Stage::FirstFrame => FIRST_FRAME,
        Stage::Settled => SETTLED,
        Stage::Idle => IDLE,
    }
}

/// Characters of a label that a table bears; a whole command of `--vs` stands among the facts.
pub(crate) const LABEL: usize = 28;

/// A label as it reads: `all_in_ram` is `all in RAM`, and a command keeps both of its ends.
pub(crate) fn label_words(label: &str) -> String {
    let words = format::shorten(&label.trim().replace('_', " "), LABEL);
    match words.strip_suffix(" ram") {
        Some(front) => format!("{front} RAM"),
        None => words,
    }
}

/// `cold`, or `cold, writers` where the sets differ in more than temperature.
pub(crate) fn name(set: &LaunchSet, among: &[LaunchSet]) -> String {
    let temperature = temperature(set.temperature);
    if among.iter().all(|other| other.label == set.label) {
        temperature.to_owned()
    } else {
        format::joined([temperature, &label_words(&set.label)])
    }
}

/// The two sides of a comparison in words. Cold against warm needs no temperature in front.
pub(crate) fn sides(comparison: &LaunchComparison) -> (String, String) {
    let is_temperature = |label: &str| label == "cold" || label == "warm";
    let front = if is_temperature(&comparison.label) || is_temperature(&comparison.base) {
        ""
    } else {
        temperature(comparison.temperature)
    };
    (format::joined([front, &label_words(&comparison.label)]), label_words(&comparison.base))
}

/// The moment that counts, and when it came: settled; without a screen the end of the work; else how far it got.
pub(crate) fn end(set: &LaunchSet) -> Option<(Stage, &Summary)> {
    [Stage::Settled, Stage::Idle, Stage::FirstFrame, Stage::FirstWindow, Stage::FirstProcess]
        .into_iter()
        .find_map(|stage| set.stage(stage).map(|at| (stage, at)))
}

/// The run whose moment is nearest to the median of all: what it read stands for the set.
pub(crate) fn middle_run(set: &LaunchSet) -> Option<&LaunchRun> {
    let (stage, at) = end(set)?;
    let distance = |run: &LaunchRun| run.at_ms(stage).map_or(f64::INFINITY, |ms| (ms - at.median).abs());
    set.runs.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// What `of` gives for every run.
pub(crate) fn runs_at(set: &LaunchSet, of: impl Fn(&LaunchRun) -> Option<f64>) -> Vec<Run> {
    set.runs.iter().filter_map(|run| of(run).map(|value| Run { value, outlier: run.outlier })).collect()
}

/// A summary of what `of` gives for each run.
pub(crate) fn over_runs(set: &LaunchSet, of: impl Fn(&LaunchRun) -> Option<f64>) -> Option<Summary> {
    let values: Vec<f64> = set.runs.iter().filter_map(of).filter(|v| v.is_finite()).collect();
    Summary::of(&values)
}

/// How many of a set's runs reached a stage: `5 of 6`.
pub(crate) fn reached(set: &LaunchSet, stage: Stage) -> String {
    let reached = set.runs.iter().filter(|run| run.at_ms(stage).is_some()).count();
    if reached == set.runs.len() { format::tally(reached as f64) } else { format!("{reached} of {}", set.runs.len()) }
}
