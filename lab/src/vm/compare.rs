//! Comparison of schedulers: each with its defaults and, on request, with the best settings found by a search.
//!
//! The search has its own seed, so that settings are not tuned on the measurements that judge them. It is pruned: many
//! settings in short loads, then the best few of each scheduler in full-length loads.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::{KernelDevice, KernelFidelity, KernelLoad, KernelRow, KernelScenario};

use crate::vm::Watch;
use crate::vm::case::{Case, Setup, cases};
use crate::vm::error::Result;
use crate::vm::figures::{Outcome, measures, tried};
use crate::vm::lab::{Lab, Length, case_s};
use crate::vm::refuse::{LATENESS_NS_MEAN_MAX, SEARCH_REPEAT_PERCENT_MAX};
use crate::vm::scenario::Scenario;
use crate::vm::schedulers::{Settings, words};
use crate::vm::search::{Tried, best, finalists, next};

const SEARCH_SEED: u64 = 1_000_003;

/// Finalists of each scheduler, which are repeated at full length.
const FINALISTS: usize = 3;

/// Parameters of a comparison.
#[derive(Debug, Clone)]
pub struct Options {
    pub schedulers: Vec<String>,
    /// Settings for all of them, instead of their defaults.
    pub settings: Settings,
    /// Whether to search for the best settings.
    pub tuned: bool,
    pub seeds: Vec<u64>,
    /// Scale of the lengths in the file.
    pub scale: f64,
    /// Additional rows.
    pub also: Vec<Setup>,
    /// Scale of the lengths in the first part of the search, relative to the comparison.
    pub search_scale: f64,
    /// Number of settings that the search tries for each scheduler, including the defaults.
    pub search_budget: usize,
    /// Least write throughput of tuned settings, instead of the scenario's.
    pub write_min_percent: Option<f64>,
    /// Most difference between the first case and its repeat, instead of the scenario's bound;
    /// [`SEARCH_REPEAT_PERCENT_MAX`] for trial runs of the procedure.
    pub repeat_percent_max: Option<f64>,
}

/// Best settings, by scheduler.
pub type Found = BTreeMap<String, (Settings, u32)>;

/// Estimated length of a comparison in the guest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthS {
    pub search_s: f64,
    pub rows_s: f64,
}

/// The estimated length for a number of schedulers, of which `searched` need a search.
#[must_use]
pub fn length_s(scenario: &Scenario, options: &Options, schedulers: usize, searched: usize) -> LengthS {
    let of = |cases: &[Case], scale: f64| cases.iter().map(|case| case_s(scenario, case, scale)).sum::<f64>();
    let one = Setup { scheduler: String::new(), settings: Settings::new() };
    let row = of(&cases(scenario, &one, &options.seeds), options.scale);
    let rows = schedulers * if options.tuned { 2 } else { 1 } + options.also.len();
    let once: Vec<Case> =
        cases(scenario, &one, &[SEARCH_SEED]).into_iter().filter(|case| searches(scenario, case)).collect();
    let short = of(&once, options.scale * options.search_scale) * options.search_budget as f64;
    let full = of(&once, options.scale) * (FINALISTS + 1) as f64;
    let search_s = if options.tuned { searched as f64 * (short + full) } else { 0.0 };
    LengthS { search_s, rows_s: rows as f64 * row }
}

/// Whether a search uses a case: not those for slowdowns, and only some of many similar loads.
fn searches(scenario: &Scenario, case: &Case) -> bool {
    let chosen = scenario.loads.iter().any(|load| load.search);
    case.alone.is_none() && (!chosen || case.load(scenario).search)
}

/// Runs a scenario. `known` holds the results of earlier searches; new results are added.
///
/// # Errors
/// When a boot fails or is refused, or the user cancels.
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
            // A scheduler that is missing in the table is a mistake of the user.
            Err(error @ crate::vm::Error::BadOption(_)) => return Err(error),
            Err(error) => refused.push((name.clone(), error.to_string())),
        }
    }
    let write_min_percent = options.write_min_percent.unwrap_or(scenario.write_min_percent);
    let lengths =
        length_s(scenario, options, names.len(), names.iter().filter(|name| !known.contains_key(*name)).count());
    let share = lengths.search_s / (lengths.search_s + lengths.rows_s);
    if options.tuned {
        let search = Search { scenario, options, names: &names, write_min_percent };
        search.run(lab, known, Watch { progress: &|done, doing| (watch.progress)(done * share, doing), ..watch })?;
    }
    let searched = lab.take_seen();
    let setups = setups(&names, options, known);
    // Rows with the same settings share their cases.
    let all: BTreeSet<Case> = setups.iter().flat_map(|(setup, ..)| cases(scenario, setup, &options.seeds)).collect();
    let all: Vec<Case> = all.into_iter().collect();
    let repeat_percent_max = options.repeat_percent_max.unwrap_or(scenario.repeat_percent_max);
    let length = Length { scale: options.scale, repeat_percent_max };
    let after_search = |done: f64, doing: &str| (watch.progress)(share + done * (1.0 - share), doing);
    let outcomes = lab.run(scenario, &all, length, Watch { progress: &after_search, ..watch })?;
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
            Err(why) => {
                let with = words(&setup.settings);
                let why = if with.is_empty() { why } else { format!("with {with}: {why}") };
                refused.push((setup.scheduler, why));
            }
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
            repeat_percent_bound: seen.fidelity.repeat_percent_allowed(repeat_percent_max),
            repeat_percent_of_jobs: seen.fidelity.repeat_percent_of_jobs,
            boots: searched.boots + seen.boots,
            cases: searched.cases + seen.cases + searched.kept + seen.kept,
            kept: searched.kept + seen.kept,
        },
    })
}

/// Every scheduler with its defaults, and with tuned settings if they differ.
fn setups(names: &[String], options: &Options, known: &Found) -> Vec<(Setup, bool, u32)> {
    let mut setups = Vec::new();
    for name in names {
        let setup = |settings: &Settings| Setup { scheduler: name.clone(), settings: settings.clone() };
        setups.push((setup(&options.settings), false, 0));
        if let Some((settings, tried)) = known.get(name).filter(|_| options.tuned) {
            // If the defaults are best, they are shown as such: the same figures in two rows.
            setups.push((setup(settings), true, *tried));
        }
        setups.extend(options.also.iter().filter(|also| also.scheduler == *name).map(|also| (also.clone(), false, 0)));
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
    /// Runs the rounds of all schedulers together, so that they share boots; each has the same budget.
    fn run(&self, lab: &mut Lab, known: &mut Found, watch: Watch<'_>) -> Result<()> {
        let names: Vec<&str> =
            self.names.iter().map(String::as_str).filter(|name| !known.contains_key(*name)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let most = |setups: &[Setup], outcomes: &[Outcome]| {
            setups.iter().filter_map(|setup| tried(setup, outcomes).throughput).max_by(f64::total_cmp)
        };
        let short = self.options.scale * self.options.search_scale;
        let budget = self.options.search_budget;
        // A full load weighs as much as several short ones.
        let finals_weigh = ((FINALISTS + 1) as f64 / self.options.search_scale / budget as f64).max(0.0);
        let part = |tried: usize, more: usize| {
            let whole = (names.len() * budget) as f64 * (1.0 + finals_weigh);
            move |done: f64| (tried as f64 + done * more as f64) / whole
        };
        // The reference of 100 % throughput: the best default, including earlier searches.
        let defaults: Vec<Setup> = self.names.iter().map(|name| self.setup(name, &Settings::new())).collect();
        let mut tried_by: BTreeMap<&str, Vec<Tried>> = names.iter().map(|name| (*name, Vec::new())).collect();
        let mut throughput_best = None;
        loop {
            let first = throughput_best.is_none();
            // A boot costs as much as many short loads: the defaults share it with the first round.
            let mut new: Vec<Setup> = if first { defaults.clone() } else { Vec::new() };
            for (name, tried) in &tried_by {
                let from = best(tried, throughput_best, self.write_min_percent);
                let from = from.map(|place| tried[place].settings.clone()).unwrap_or_default();
                let space = &lab.schedulers.get(name)?.search;
                let next = next(space, &from, tried, budget - usize::from(first));
                new.extend(
                    next.iter().map(|settings| self.setup(name, settings)).filter(|setup| !defaults.contains(setup)),
                );
            }
            if new.is_empty() {
                break;
            }
            let part = part(tried_by.values().map(Vec::len).sum(), new.len());
            let progress = |done: f64, doing: &str| (watch.progress)(part(done), &format!("search: {doing}"));
            let outcomes = self.try_all(lab, &new, short, Watch { progress: &progress, ..watch })?;
            for (name, of) in &mut tried_by {
                of.extend(new.iter().filter(|setup| setup.scheduler == *name).map(|setup| tried(setup, &outcomes)));
            }
            throughput_best = throughput_best.or_else(|| most(&defaults, &outcomes)).or(Some(0.0));
        }
        // Short loads select the finalists; full ones decide.
        let mut finals = defaults.clone();
        for (name, tried) in &tried_by {
            let best = finalists(tried, throughput_best, self.write_min_percent, FINALISTS);
            let new = best.iter().map(|settings| self.setup(name, settings));
            let new: Vec<Setup> = new.filter(|setup| !finals.contains(setup)).collect();
            finals.extend(new);
        }
        let from = 1.0 / (1.0 + finals_weigh);
        let progress =
            |done: f64, doing: &str| (watch.progress)(from + done * (1.0 - from), &format!("search: {doing}"));
        let outcomes = self.try_all(lab, &finals, self.options.scale, Watch { progress: &progress, ..watch })?;
        let throughput_best = most(&finals[..self.names.len()], &outcomes);
        for (name, short) in &tried_by {
            let of: Vec<Tried> =
                finals.iter().filter(|setup| setup.scheduler == *name).map(|setup| tried(setup, &outcomes)).collect();
            if let Some(place) = best(&of, throughput_best, self.write_min_percent) {
                let count = u32::try_from(short.len()).unwrap_or(u32::MAX);
                known.insert((*name).to_owned(), (of[place].settings.clone(), count));
            }
        }
        Ok(())
    }

    fn setup(&self, name: &str, settings: &Settings) -> Setup {
        let mut all = self.options.settings.clone();
        all.extend(settings.clone());
        Setup { scheduler: name.to_owned(), settings: all }
    }

    fn try_all(&self, lab: &mut Lab, setups: &[Setup], scale: f64, watch: Watch<'_>) -> Result<Vec<Outcome>> {
        let all = setups.iter().flat_map(|setup| cases(self.scenario, setup, &[SEARCH_SEED]));
        let all: Vec<Case> = all.filter(|case| searches(self.scenario, case)).collect();
        lab.run(self.scenario, &all, Length { scale, repeat_percent_max: SEARCH_REPEAT_PERCENT_MAX }, watch)
    }
}
