//! Launches of several setups in turns, including the learning launches and the summaries.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::results::{LaunchComparison, LaunchRun, LaunchSet, Temperature, Warning};
use crate::screen::Screen;

use crate::launch::app::App;
use crate::launch::error::Result;
use crate::launch::launcher::{Launched, Launcher, Start};
use crate::launch::series::{Step, compare, plan, summarise};
use crate::launch::storage_use::ReadStep;

/// One of the compared setups.
#[derive(Debug, Clone)]
pub struct Setup {
    pub label: String,
    pub app: App,
}

/// Scope of a series.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Setups; the first is the baseline.
    pub setups: Vec<Setup>,
    /// Cold before warm.
    pub temperatures: Vec<Temperature>,
    /// Launches of each setup at each temperature.
    pub rounds: usize,
    /// Memory is left as it is: apps are not launched before, and no file is evicted.
    pub as_it_is: bool,
}

#[derive(Debug, Clone)]
pub struct Series {
    /// One for each setup and temperature.
    pub sets: Vec<LaunchSet>,
    /// Each setup against the first, or warm against cold for a single setup.
    pub comparisons: Vec<LaunchComparison>,
    /// Reads of the first cold launch, in order.
    pub reads: Vec<ReadStep>,
    /// Warnings, one of each kind.
    pub warnings: Vec<Warning>,
    /// Output of the last launch that ended by itself.
    pub printed: String,
}

/// Is told how many launches are done of how many, and what is done now.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize, &str);

impl Launcher<'_> {
    /// Runs `plan`. Each setup is launched once before counting, to learn its files and to fill its caches, unless
    /// memory is to be left as it is.
    ///
    /// # Errors
    /// When an app cannot be started, or the display is lost before a launch.
    pub fn run(&self, plan_: &Plan, mut screen: Option<&mut dyn Screen>, progress: Progress<'_>) -> Result<Series> {
        let steps = plan(plan_.setups.len(), &plan_.temperatures, plan_.rounds);
        let learns = if plan_.as_it_is { 0 } else { plan_.setups.len() };
        let all = steps.len() + learns;
        let mut series = Series {
            sets: Vec::new(),
            comparisons: Vec::new(),
            reads: Vec::new(),
            warnings: Vec::new(),
            printed: String::new(),
        };
        let mut files: Vec<BTreeSet<PathBuf>> = Vec::new();
        for (done, setup) in plan_.setups.iter().take(learns).enumerate() {
            progress(done, all, &format!("{}: learning its files", setup.label));
            // The same app under other conditions uses the same files.
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
            progress(learns + done, all, &format!("{}: {words}", setup.label));
            let start = match (step.temperature, files.get(step.setup)) {
                (Temperature::Cold, Some(files)) => Start::Without(files),
                _ => Start::AsItIs,
            };
            let launched = self.launch(&setup.app, reborrow(&mut screen), start)?;
            if let Some(files) = files.get_mut(step.setup) {
                // Files first read now belong to the app as well.
                files.extend(launched.reads.iter().map(|read| read.path.clone()).filter(|path| path.is_absolute()));
            }
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

/// Each set against the first of its temperature; for a single setup, warm against cold.
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

pub(crate) fn reborrow<'a>(screen: &'a mut Option<&mut dyn Screen>) -> Option<&'a mut dyn Screen> {
    match screen {
        Some(screen) => Some(&mut **screen),
        None => None,
    }
}
