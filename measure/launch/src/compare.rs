//! Launches of several set-ups in turns, from learning what an app uses to the sets of a report.

use std::collections::BTreeSet;
use std::path::PathBuf;

use brisk_results::{LaunchComparison, LaunchRun, LaunchSet, Temperature, Warning};
use brisk_screen::Screen;

use crate::app::App;
use crate::error::Result;
use crate::launcher::{Launched, Launcher, Start};
use crate::series::{Step, compare, plan, summarise};
use crate::storage_use::ReadStep;

/// One of the set-ups that are compared.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Name in the report.
    pub label: String,
    /// What is launched.
    pub app: App,
}

/// What is launched how often.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The first is what the others are compared with.
    pub setups: Vec<Setup>,
    /// Cold before warm.
    pub temperatures: Vec<Temperature>,
    /// Launches of each set-up at each temperature.
    pub rounds: usize,
}

/// What came of a plan.
#[derive(Debug, Clone)]
pub struct Series {
    /// One for each set-up and temperature.
    pub sets: Vec<LaunchSet>,
    /// Each set-up against the first, and warm against cold where there is one set-up.
    pub comparisons: Vec<LaunchComparison>,
    /// What the first cold launch read, in order.
    pub reads: Vec<ReadStep>,
    /// Each kind once.
    pub warnings: Vec<Warning>,
    /// What the last launch that ended by itself printed.
    pub printed: String,
}

/// Those who take part in a series; by default they do nothing.
pub trait Surroundings {
    /// Called before each launch that counts, in order to make what the set-up stands for, such as a load in the background.
    ///
    /// # Errors
    /// When it cannot be made; the series ends.
    fn before(&mut self, _step: Step) -> Result<()> {
        Ok(())
    }

    /// Called after it.
    ///
    /// # Errors
    /// As for [`Surroundings::before`].
    fn after(&mut self, _step: Step) -> Result<()> {
        Ok(())
    }

    /// Time in ns for which the storage was busy so far, by its own count; asked right before and after each launch.
    fn busy_ns(&mut self) -> Option<u64> {
        None
    }

    /// Launches done and to do, the learning ones among them.
    fn progress(&mut self, _done: usize, _all: usize, _doing: &str) {}
}

impl Launcher<'_> {
    /// Runs `plan`. Each set-up is launched once before anything counts, which shows what it uses and fills its caches.
    ///
    /// # Errors
    /// When an app cannot be started, the display is lost before a launch, or the surroundings cannot be made.
    pub fn run(
        &self,
        plan_: &Plan,
        mut screen: Option<&mut dyn Screen>,
        surroundings: &mut dyn Surroundings,
    ) -> Result<Series> {
        let steps = plan(plan_.setups.len(), &plan_.temperatures, plan_.rounds);
        let all = steps.len() + plan_.setups.len();
        let mut series = Series {
            sets: Vec::new(),
            comparisons: Vec::new(),
            reads: Vec::new(),
            warnings: Vec::new(),
            printed: String::new(),
        };
        let mut files: Vec<BTreeSet<PathBuf>> = Vec::new();
        for (done, setup) in plan_.setups.iter().enumerate() {
            surroundings.progress(done, all, &format!("{}: learning what it uses", setup.label));
            // The same app in other surroundings uses the same files.
            let known = plan_.setups[..done].iter().position(|earlier| earlier.app == setup.app);
            if let Some(known) = known {
                files.push(files[known].clone());
                continue;
            }
            let (launched, used) = self.learn(&setup.app, reborrow(&mut screen))?;
            files.push(used);
            series.note(&launched);
        }
        let mut runs: Vec<(Step, LaunchRun)> = Vec::new();
        for (done, step) in steps.into_iter().enumerate() {
            let setup = &plan_.setups[step.setup];
            let words = if step.temperature == Temperature::Cold { "cold" } else { "warm" };
            surroundings.progress(plan_.setups.len() + done, all, &format!("{}: {words}", setup.label));
            let start = match step.temperature {
                Temperature::Cold => Start::Without(&files[step.setup]),
                Temperature::Warm => Start::AsItIs,
            };
            surroundings.before(step)?;
            let launched = self.launch_beside(&setup.app, reborrow(&mut screen), start, &mut || surroundings.busy_ns());
            surroundings.after(step)?;
            let launched = launched?;
            // Files that only now were read from the storage belong to the app as well.
            files[step.setup]
                .extend(launched.reads.iter().map(|read| read.path.clone()).filter(|path| path.is_absolute()));
            series.note(&launched);
            if series.reads.is_empty() && step.temperature == Temperature::Cold {
                series.reads = launched.reads;
            }
            runs.push((step, launched.run));
        }
        for (number, setup) in plan_.setups.iter().enumerate() {
            for temperature in &plan_.temperatures {
                let step = Step { setup: number, temperature: *temperature };
                let of_set = runs.iter().filter(|(of, _)| *of == step).map(|(_, run)| run.clone()).collect();
                series.sets.push(summarise(setup.label.clone(), *temperature, of_set));
            }
        }
        series.comparisons = comparisons(&series.sets);
        Ok(series)
    }
}

/// Each set against the first of its temperature; with one set-up, warm against cold.
fn comparisons(sets: &[LaunchSet]) -> Vec<LaunchComparison> {
    let Some(first) = sets.first() else { return Vec::new() };
    let others = sets.iter().filter(|set| set.label != first.label);
    let mut found: Vec<LaunchComparison> = others
        .filter_map(|set| {
            let base = sets.iter().find(|base| base.label == first.label && base.temperature == set.temperature)?;
            compare(set, base)
        })
        .collect();
    if found.is_empty()
        && let Some(warm) = sets.iter().find(|set| set.temperature == Temperature::Warm)
        && first.temperature == Temperature::Cold
    {
        let named = |set: &LaunchSet, name: &str| LaunchSet { label: name.to_owned(), ..set.clone() };
        found.extend(compare(&named(warm, "warm"), &named(first, "cold")));
    }
    found
}

impl Series {
    fn note(&mut self, launched: &Launched) {
        for warning in &launched.warnings {
            if self.warnings.iter().all(|known| known.code != warning.code) {
                self.warnings.push(warning.clone());
            }
        }
        if !launched.output.trim().is_empty() {
            self.printed.clone_from(&launched.output);
        }
    }
}

/// The screen for one more use.
pub(crate) fn reborrow<'a>(screen: &'a mut Option<&mut dyn Screen>) -> Option<&'a mut dyn Screen> {
    match screen {
        Some(screen) => Some(&mut **screen),
        None => None,
    }
}
