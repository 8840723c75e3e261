//! The suite: many apps, each launched cold and warm under each condition, in turns.
//!
//! Conditions of one app take turns launch by launch (A B B A), so that a machine that gets slower hits all of them alike; apps
//! follow each other. A load in the background runs only while its condition's launch does: it is at work before the app's
//! files are evicted, and is stopped when the launch is over.

use brisk_core::causes::in_one_line;
use brisk_core::stats::Summary;
use brisk_launch::series::Step;
use brisk_launch::{App, Launcher, Plan, Setup, Surroundings};
use brisk_results::{Condition, SuiteApp, Temperature, Warning};
use brisk_screen::Screen;

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
    /// Short name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// How it is launched.
    pub app: App,
}

/// What a load in the background did while it ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadDone {
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Calls a second that make data durable.
    pub syncs_per_s: f64,
}

/// What makes a condition what it is.
pub trait Conditions {
    /// Called before each launch.
    ///
    /// # Errors
    /// When the condition cannot be made; the app has a failure then.
    fn enter(&mut self, condition: usize) -> brisk_launch::Result<()>;

    /// Called after each launch; what a load did meanwhile, if there is one.
    ///
    /// # Errors
    /// As for [`Conditions::enter`].
    fn leave(&mut self, condition: usize) -> brisk_launch::Result<Option<LoadDone>>;

    /// Time in ns for which the phone's storage was busy so far, by its own count.
    fn busy_ns(&mut self) -> Option<u64> {
        None
    }
}

/// What is measured how often.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Conditions, the base first.
    pub conditions: Vec<Condition>,
    /// Cold before warm.
    pub temperatures: Vec<Temperature>,
    /// Launches of each app in each condition at each temperature.
    pub rounds: usize,
}

/// What came of a suite.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The apps.
    pub apps: Vec<SuiteApp>,
    /// The conditions, with what their loads reached.
    pub conditions: Vec<Condition>,
    /// Each kind once.
    pub warnings: Vec<Warning>,
}

/// Runs the suite. An app that cannot be measured has its reason, and the others are measured.
///
/// # Errors
/// When the person stopped it, or the display is lost.
pub fn run(
    launcher: &Launcher<'_>,
    targets: &[Target],
    scope: &Scope,
    screen: &mut dyn Screen,
    conditions: &mut dyn Conditions,
    progress: &mut dyn FnMut(f64, &str),
) -> brisk_launch::Result<Outcome> {
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
            Err(error @ (brisk_launch::Error::Stopped | brisk_launch::Error::Screen(_))) => return Err(error),
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
    /// Adds warnings of kinds that are not there yet.
    fn note(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            if self.warnings.iter().all(|known| known.code != warning.code) {
                self.warnings.push(warning);
            }
        }
    }
}

/// Why an app has no times, when none of its launches settled.
fn never_settled(app: &SuiteApp, printed: &str) -> Option<String> {
    let runs = || app.sets.iter().flat_map(|set| &set.runs);
    if runs().any(|run| run.ending == brisk_results::Ending::Settled) {
        return None;
    }
    let how = runs().next().map_or("was not launched".to_owned(), |run| format!("{:?}", run.ending));
    let said = printed.lines().rev().find(|line| !line.trim().is_empty());
    Some(format!("no launch settled ({how}){}", said.map_or(String::new(), |line| format!("; it said: {line}"))))
}

/// The conditions as a series of launches asks for them.
struct Around<'a> {
    conditions: &'a mut dyn Conditions,
    loads: &'a mut [Vec<LoadDone>],
    progress: &'a mut dyn FnMut(f64, &str),
    /// Which app of how many.
    place: (usize, usize),
    name: &'a str,
}

impl Surroundings for Around<'_> {
    fn before(&mut self, step: Step) -> brisk_launch::Result<()> {
        self.conditions.enter(step.setup)
    }

    fn after(&mut self, step: Step) -> brisk_launch::Result<()> {
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
    use brisk_results::Ending;

    fn app(ending: Ending) -> SuiteApp {
        samples::app(vec![samples::set("idle", vec![samples::run(ending, None)])])
    }

    #[test]
    fn an_app_that_never_settled_says_why() {
        assert_eq!(never_settled(&app(Ending::Settled), "warning"), None);
        let failure = never_settled(&app(Ending::NoWindow), "a\ncannot open display\n\n").expect("a failure");
        assert!(failure.contains("NoWindow") && failure.ends_with("it said: cannot open display"), "{failure}");
    }
}
