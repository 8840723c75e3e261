//! Schedulers side by side: each at its defaults and, where asked for, at the best settings that a search finds.
//!
//! The search has a seed of its own, so that tuned settings are not chosen on what they are then judged by.

use std::collections::BTreeMap;

use brisk_results::{KernelDevice, KernelFidelity, KernelLoad, KernelRow, KernelScenario};

use crate::Watch;
use crate::case::{Case, Setup, cases};
use crate::error::Result;
use crate::figures::{Outcome, measures, tried};
use crate::lab::{Lab, Length};
use crate::refuse::{LATENESS_NS_MEAN_MAX, SEARCH_REPEAT_PERCENT_MAX};
use crate::scenario::Scenario;
use crate::schedulers::Settings;
use crate::search::{Tried, best, neighbours};

/// Seed of the search.
const SEARCH_SEED: u64 = 1_000_003;

/// What to compare, and how thoroughly.
#[derive(Debug, Clone)]
pub struct Options {
    /// Schedulers by name.
    pub schedulers: Vec<String>,
    /// Settings of all of them, instead of their defaults.
    pub settings: Settings,
    /// Whether the best settings are searched.
    pub tuned: bool,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Lengths over those of the file.
    pub scale: f64,
    /// Lengths in the search, over those of the file.
    pub search_scale: f64,
    /// Rounds of the search at most.
    pub search_rounds: u32,
    /// Write throughput that tuned settings have to leave, instead of the scenario's.
    pub write_min_percent: Option<f64>,
    /// By how much the first case and its repeat may differ: [`REPEAT_PERCENT_MAX`](crate::refuse::REPEAT_PERCENT_MAX) for figures; where only the way is
    /// tried, [`SEARCH_REPEAT_PERCENT_MAX`].
    pub repeat_percent_max: f64,
}

/// Settings that were found, by scheduler.
pub type Found = BTreeMap<String, (Settings, u32)>;

/// Runs a scenario. `known` holds settings that an earlier search found; what this one finds is added.
///
/// # Errors
/// When a boot fails or is refused, or the person stops it.
pub fn compare(
    lab: &mut Lab,
    scenario: &Scenario,
    options: &Options,
    known: &mut Found,
    watch: Watch<'_>,
) -> Result<KernelScenario> {
    lab.take_seen();
    let mut refused = Vec::new();
    let mut names = Vec::new();
    for name in &options.schedulers {
        match lab.check_scheduler(name) {
            Ok(_) => names.push(name.clone()),
            // A scheduler that is not in the table at all is a slip.
            Err(error @ crate::Error::BadOption(_)) => return Err(error),
            Err(error) => refused.push((name.clone(), error.to_string())),
        }
    }
    let write_min_percent = options.write_min_percent.unwrap_or(scenario.write_min_percent);
    if options.tuned {
        let search = Search { scenario, options, names: &names, write_min_percent };
        search.run(lab, known, watch)?;
    }
    let searched = lab.take_seen();
    let setups = setups(&names, options, known);
    let all: Vec<Case> = setups.iter().flat_map(|(setup, ..)| cases(scenario, setup, &options.seeds)).collect();
    let length = Length { scale: options.scale, repeat_percent_max: options.repeat_percent_max };
    let outcomes = lab.run(scenario, &all, length, watch)?;
    let mut rows = Vec::new();
    for (setup, is_tuned, tried) in setups {
        match measures(scenario, &setup, &outcomes) {
            Ok(loads) => rows.push(KernelRow {
                scheduler: setup.scheduler,
                tuned: is_tuned,
                settings: setup.settings,
                tried,
                loads,
            }),
            Err(why) => refused.push((setup.scheduler, why)),
        }
    }
    let seen = lab.take_seen();
    let device = scenario.device();
    Ok(KernelScenario {
        name: scenario.name.clone(),
        title: scenario.title.clone(),
        question: scenario.question.clone(),
        device: KernelDevice {
            preset: device.preset.clone(),
            changed: device.changed.clone(),
            size_bytes: device.size_bytes,
            depth_requests: device.depth_requests,
            queues: device.queues,
            file_system: scenario.file_system.map(|kind| kind.name().to_owned()),
        },
        seeds: options.seeds.clone(),
        scale: options.scale,
        write_min_percent,
        loads: scenario.loads.iter().map(|load| KernelLoad { name: load.name.clone(), words: load.words() }).collect(),
        rows,
        refused,
        fidelity: KernelFidelity {
            lateness_ns_mean: seen.fidelity.lateness_ns_mean,
            lateness_ns_bound: LATENESS_NS_MEAN_MAX,
            repeat_percent: seen.fidelity.repeat_percent,
            repeat_percent_bound: options.repeat_percent_max,
            repeat_percent_of_jobs: seen.fidelity.repeat_percent_of_jobs,
            boots: searched.boots + seen.boots,
            cases: searched.cases + seen.cases,
        },
    })
}

/// Every scheduler by default, and tuned where the search found something else.
fn setups(names: &[String], options: &Options, known: &Found) -> Vec<(Setup, bool, u32)> {
    let mut setups = Vec::new();
    for name in names {
        let setup = |settings: &Settings| Setup { scheduler: name.clone(), settings: settings.clone() };
        setups.push((setup(&options.settings), false, 0));
        if let Some((settings, tried)) = known.get(name).filter(|_| options.tuned) {
            // Defaults that are best are shown as such: the same figures in two rows.
            setups.push((setup(settings), true, *tried));
        }
    }
    setups
}

struct Search<'a> {
    scenario: &'a Scenario,
    options: &'a Options,
    names: &'a [String],
    write_min_percent: f64,
}

impl Search<'_> {
    /// Rounds for all schedulers at once, so that they share boots.
    fn run(&self, lab: &mut Lab, known: &mut Found, watch: Watch<'_>) -> Result<()> {
        let names: Vec<&String> = self.names.iter().filter(|name| !known.contains_key(*name)).collect();
        // What 100 % of throughput are: the best default, of those found earlier too.
        let defaults: Vec<Setup> = self.names.iter().map(|name| self.setup(name, &Settings::new())).collect();
        let mut tried_by: BTreeMap<&str, Vec<Tried>> = BTreeMap::new();
        let outcomes = self.try_all(lab, &defaults, watch)?;
        for setup in &defaults {
            if let Some(name) = names.iter().find(|name| ***name == setup.scheduler) {
                tried_by.entry(name.as_str()).or_default().push(tried(setup, &outcomes));
            }
        }
        let all_defaults = defaults.iter().map(|setup| tried(setup, &outcomes));
        let throughput_best = all_defaults.filter_map(|one| one.throughput).max_by(f64::total_cmp);
        let at = |tried: &[Tried]| {
            best(tried, throughput_best, self.write_min_percent).map(|place| tried[place].settings.clone())
        };
        let mut going: Vec<&str> = tried_by.keys().copied().collect();
        for _ in 0..self.options.search_rounds {
            let mut new: Vec<Setup> = Vec::new();
            for name in &going {
                let tried = &tried_by[name];
                let from = at(tried).unwrap_or_default();
                let space = &lab.schedulers.get(name)?.search;
                new.extend(neighbours(space, &from, tried).iter().map(|settings| self.setup(name, settings)));
            }
            if new.is_empty() {
                break;
            }
            let outcomes = self.try_all(lab, &new, watch)?;
            going.retain(|name| {
                let tried_of = tried_by.entry(name).or_default();
                let before = at(tried_of);
                tried_of.extend(new.iter().filter(|setup| setup.scheduler == *name).map(|s| tried(s, &outcomes)));
                at(tried_of) != before
            });
        }
        for (name, tried) in &tried_by {
            if let Some(settings) = at(tried) {
                known.insert((*name).to_owned(), (settings, u32::try_from(tried.len()).unwrap_or(u32::MAX)));
            }
        }
        Ok(())
    }

    fn setup(&self, name: &str, settings: &Settings) -> Setup {
        let mut all = self.options.settings.clone();
        all.extend(settings.clone());
        Setup { scheduler: name.to_owned(), settings: all }
    }

    fn try_all(&self, lab: &mut Lab, setups: &[Setup], watch: Watch<'_>) -> Result<Vec<Outcome>> {
        let all = setups.iter().flat_map(|setup| cases(self.scenario, setup, &[SEARCH_SEED]));
        // Slowdowns are for the figures.
        let all: Vec<Case> = all.filter(|case| case.alone.is_none()).collect();
        let scale = self.options.scale * self.options.search_scale;
        lab.run(self.scenario, &all, Length { scale, repeat_percent_max: SEARCH_REPEAT_PERCENT_MAX }, watch)
    }
}
