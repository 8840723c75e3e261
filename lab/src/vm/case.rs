//! A case: one load under one setting of one scheduler, with one seed.

use crate::vm::scenario::{JobSpec, Load, Scenario, Side};
use crate::vm::schedulers::Settings;

/// One scheduler with one setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setup {
    pub scheduler: String,
    /// Changed settings; empty for the defaults.
    pub settings: Settings,
}

/// A single measurement on a new device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// Scheduler and settings.
    pub setup: Setup,
    /// Index of the load in the scenario.
    pub load: usize,
    /// Runs only the jobs of this side.
    pub alone: Option<Side>,
    pub seed: u64,
}

impl Case {
    #[must_use]
    pub fn load<'a>(&self, scenario: &'a Scenario) -> &'a Load {
        &scenario.loads[self.load]
    }

    pub fn jobs<'a>(&self, scenario: &'a Scenario) -> impl Iterator<Item = &'a JobSpec> {
        let alone = self.alone;
        self.load(scenario).jobs.iter().filter(move |job| alone.is_none_or(|side| job.side == side))
    }

    /// Whether the cases differ at most in the seed.
    #[must_use]
    pub fn same_but_seed(&self, other: &Self) -> bool {
        (&self.setup, self.load, self.alone) == (&other.setup, other.load, other.alone)
    }

    /// Description for progress.
    #[must_use]
    pub fn words(&self, scenario: &Scenario) -> String {
        let alone = self.alone.map(|side| format!(", {side} alone")).unwrap_or_default();
        let settings = match crate::vm::schedulers::words(&self.setup.settings) {
            words if words.is_empty() => words,
            words => format!(" ({words})"),
        };
        format!("{}{settings}: {}{alone}, seed {}", self.setup.scheduler, self.load(scenario).name, self.seed)
    }
}

/// All cases for `setup` with `seeds`: each load, and each of its sides alone where the scenario requires that and
/// there is more than one.
#[must_use]
pub fn cases(scenario: &Scenario, setup: &Setup, seeds: &[u64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &seed in seeds {
        for (load, of) in scenario.loads.iter().enumerate() {
            let sides = of.sides();
            let alone = if of.alone && sides.len() > 1 { sides } else { Vec::new() };
            let whole = std::iter::once(None).chain(alone.into_iter().map(Some));
            cases.extend(whole.map(|alone| Case { setup: setup.clone(), load, alone, seed }));
        }
    }
    cases
}
