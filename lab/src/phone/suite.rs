//! The suite: many apps, each launched cold and warm under each condition, in turns.
//!
//! Conditions of one app take turns launch by launch (A B B A), so that drift of the machine affects all alike; apps
//! follow each other. A background load runs only during its condition's launches: it starts before the app's files are
//! evicted, and stops after the launch.

use crate::launch::series::Step;
use crate::launch::{App, Launcher, Plan, Setup, Surroundings};
use crate::results::{Condition, SuiteApp, Temperature, Warning};
use crate::screen::Screen;
use brisk_core::causes::in_one_line;
use brisk_core::stats::Summary;

mod gain;
mod on_phone;
#[cfg(test)]
mod samples;
mod what_if;

pub use gain::gains;
pub use on_phone::{OnPhone, Situation};
pub use what_if::{Study, what_if};

/// One app of a suite.
#[derive(Debug, Clone)]
pub struct Target {
    pub name: String,
    pub group: String,
    /// Launch parameters.
    pub app: App,
}

/// Rates of a background load while it ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadDone {
    pub bytes_per_s: f64,
    /// Synchronous calls (fsync) a second.
    pub syncs_per_s: f64,
}

/// Sets up the conditions.
pub trait Conditions {
    /// Called before each launch.
    ///
    /// # Errors
    /// When the condition cannot be set up; the app then has a failure.
    fn enter(&mut self, condition: usize) -> crate::launch::Result<()>;

    /// Called after each launch; returns the rates of a background load, if there is one.
    ///
    /// # Errors
    /// As for [`Conditions::enter`].
    fn leave(&mut self, condition: usize) -> crate::launch::Result<Option<LoadDone>>;

    /// Busy time of the phone's storage so far in ns, from its own counters.
    fn busy_ns(&mut self) -> Option<u64> {
        None
    }
}

#[derive(Debug, Clone)]
pub struct Scope {
    /// Conditions, the baseline first.
    pub conditions: Vec<Condition>,
    /// Cold before warm.
    pub temperatures: Vec<Temperature>,
    /// Launches of each app for each condition and temperature.
    pub rounds: usize,
}

/// Result of a suite.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub apps: Vec<SuiteApp>,
    /// The conditions, with the rates of their loads.
    pub conditions: Vec<Condition>,
    /// Warnings, one of each kind.
    pub warnings: Vec<Warning>,
}

/// Runs the suite. An app that cannot be measured gets a failure; the others are measured.
///
/// # Errors
/// When the user cancels, or the display is lost.
pub fn run(
    launcher: &Launcher<'_>,
    targets: &[Target],
    scope: &Scope,
    screen: &mut dyn Screen,
    conditions: &mut dyn Conditions,
    progress: &mut dyn FnMut(f64, &str),
) -> crate::launch::Result<Outcome> {
    let mut outcome = Outcome { apps: Vec::new(), conditions: scope.conditions.clone(), warnings: Vec::new() };
    let mut loads: Vec<Vec<LoadDone>> = vec![Vec::new(); scope.conditions.len()];
    for (number, target) in targets.iter().enumerate() {
        let setup = |condition: &Condition| Setup { label: condition.name.clone(), app: target.app.clone() };
        let plan = Plan {
            setups: scope.conditions.iter().map(setup).collect(),
            temperatures: scope.temperatures.clone(),
            rounds: scope.rounds,
        };
        let mut around = Around {
            conditions: &mut *conditions,
            loads: &mut loads,
            progress: &mut *progress,
            place: (number, targets.len()),
            name: &target.name,
        };
        let mut app = SuiteApp {
            name: target.name.clone(),
            group: target.group.clone(),
            command: target.app.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            sets: Vec::new(),
            comparisons: Vec::new(),
            failure: None,
        };
        match launcher.run(&plan, Some(&mut *screen), &mut around) {
            Ok(series) => {
                app.sets = series.sets;
                app.comparisons = series.comparisons;
                app.failure = never_settled(&app, &series.printed);
                outcome.note(series.warnings);
            }
            Err(error @ (crate::launch::Error::Stopped | crate::launch::Error::Screen(_))) => return Err(error),
            Err(error) => app.failure = Some(in_one_line(&error)),
        }
        outcome.apps.push(app);
    }
    for (condition, loads) in outcome.conditions.iter_mut().zip(&loads) {
        let Some(writer) = &mut condition.writer else { continue };
        writer.reached_bytes_per_s = Summary::of(&loads.iter().map(|load| load.bytes_per_s).collect::<Vec<_>>());
        writer.syncs_per_s = Summary::of(&loads.iter().map(|load| load.syncs_per_s).collect::<Vec<_>>());
    }
    Ok(outcome)
}

impl Outcome {
    /// Adds warnings of new kinds.
    fn note(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            if self.warnings.iter().all(|known| known.code != warning.code) {
                self.warnings.push(warning);
            }
        }
    }
}

/// Why an app has no times: none of its launches settled.
fn never_settled(app: &SuiteApp, printed: &str) -> Option<String> {
    let runs = || app.sets.iter().flat_map(|set| &set.runs);
    if runs().any(|run| run.ending == crate::results::Ending::Settled) {
        return None;
    }
    let how = runs().next().map_or("was not launched".to_owned(), |run| format!("{:?}", run.ending));
    let said = printed.lines().rev().find(|line| !line.trim().is_empty());
    Some(format!("no launch settled ({how}){}", said.map_or(String::new(), |line| format!("; it said: {line}"))))
}

/// Connects the conditions to a series of launches.
struct Around<'a> {
    conditions: &'a mut dyn Conditions,
    loads: &'a mut [Vec<LoadDone>],
    progress: &'a mut dyn FnMut(f64, &str),
    /// Index of the app, and number of apps.
    place: (usize, usize),
    name: &'a str,
}

impl Surroundings for Around<'_> {
    fn before(&mut self, step: Step) -> crate::launch::Result<()> {
        self.conditions.enter(step.setup)
    }

    fn after(&mut self, step: Step) -> crate::launch::Result<()> {
        self.loads[step.setup].extend(self.conditions.leave(step.setup)?);
        Ok(())
    }

    fn busy_ns(&mut self) -> Option<u64> {
        self.conditions.busy_ns()
    }

    fn progress(&mut self, done: usize, all: usize, doing: &str) {
        let (number, apps) = self.place;
        let share = (number as f64 + done as f64 / all as f64) / apps as f64;
        (self.progress)(share, &format!("{} ({}/{apps}), {doing}", self.name, number + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Ending;

    fn app(ending: Ending) -> SuiteApp {
        samples::app(vec![samples::set("idle", vec![samples::run(ending, None)])])
    }

    #[test]
    fn an_app_that_never_settled_has_a_reason() {
        assert_eq!(never_settled(&app(Ending::Settled), "warning"), None);
        let failure = never_settled(&app(Ending::NoWindow), "a\ncannot open display\n\n").expect("a failure");
        assert!(failure.contains("NoWindow") && failure.ends_with("it said: cannot open display"), "{failure}");
    }
}
