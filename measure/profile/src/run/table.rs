//! From rounds to the table of a model: cost of each setting relative to the device's own, with intervals.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::Warning;
use brisk_core::stats::bootstrapped;
use brisk_engine::smartstorage::Model;
use brisk_engine::smartstorage::model::{Cell, MODEL_VERSION, Ratio};
use brisk_engine::smartstorage::pattern::Window;

use super::{Plan, Rates, Sums, Unfinished, phase};

/// Rounds that differ by more hide savings of a few percent, and that is said: of energy ...
const ENERGY_SPREAD_SHARE_MAX: f64 = 0.05;
const DELAY_SPREAD_SHARE_MAX: f64 = 0.10;

/// The median over the rounds that have a value.
fn median(rounds: &[&Sums], of: impl Fn(&Sums) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = rounds.iter().filter_map(|sums| of(sums)).collect();
    brisk_core::stats::median(&values)
}

pub(super) fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// Spread of the rounds of a cell; the median over all cells.
pub(super) fn spread_share(plan: &Plan, unfinished: &Unfinished, of: impl Fn(&Sums) -> Option<f64>) -> f64 {
    let cells = (0..plan.settings.len()).flat_map(|s| (0..plan.workloads.len()).map(move |w| (s, w)));
    let spreads: Vec<f64> = cells
        .filter_map(|(setting, workload)| {
            let values: Vec<f64> = unfinished.rounds(setting, workload).into_iter().filter_map(&of).collect();
            let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
            (values.len() > 1 && high > 0.0).then(|| (high - low) / (high + low))
        })
        .collect();
    brisk_core::stats::median(&spreads).unwrap_or(0.0)
}

pub(super) fn is_noisy((energy, delay): (f64, f64)) -> bool {
    energy > ENERGY_SPREAD_SHARE_MAX || delay > DELAY_SPREAD_SHARE_MAX
}

pub(super) fn noisy((energy, delay): (f64, f64)) -> Warning {
    Warning {
        code: "noisy_profile".to_owned(),
        text: format!(
            "Rounds of the same cell differ by {:.0} % in energy and {:.0} % in delay: small savings are within that \
             noise, and briskd ignores them. Measure again when nothing else runs, or with more --rounds.",
            energy * 100.0,
            delay * 100.0,
        ),
    }
}

/// Cost of each setting relative to the device's own, for each round with completed requests under all settings that
/// were not refused, so that rounds of two settings are paired too. By setting, the device's own first.
fn ratios(plan: &Plan, unfinished: &Unfinished, workload: usize) -> BTreeMap<usize, BTreeMap<u32, Ratio>> {
    let cost = |sums: &Sums| {
        let delay = mean(sums.read_us, sums.reads).or(mean(sums.write_us, sums.writes));
        mean(sums.energy_uj, sums.reads + sums.writes).zip(delay).filter(|cost| cost.0 > 0.0 && cost.1 > 0.0)
    };
    let mut by_round: BTreeMap<u32, BTreeMap<usize, (f64, f64)>> = BTreeMap::new();
    let mut measured: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for (round, setting, _, sums) in unfinished.cells.iter().filter(|(_, _, of, _)| *of == workload) {
        measured.entry(phase(*round)).or_default().insert(*setting);
        if let Some(cost) = cost(sums) {
            by_round.entry(*round).or_default().insert(*setting, cost);
        }
    }
    let own = plan.settings.iter().position(|setting| *setting == plan.own).unwrap_or(0);
    let mut ratios: BTreeMap<usize, BTreeMap<u32, Ratio>> = BTreeMap::new();
    let is_whole =
        |round: u32, costs: &BTreeMap<usize, _>| Some(costs.len()) == measured.get(&phase(round)).map(BTreeSet::len);
    for (round, costs) in by_round.iter().filter(|(round, costs)| is_whole(**round, costs)) {
        let Some(base) = costs.get(&own) else { continue };
        for (setting, cost) in costs {
            let ratio = Ratio { energy: cost.0 / base.0, delay: cost.1 / base.1 };
            ratios.entry(*setting).or_default().insert(*round, ratio);
        }
    }
    ratios
}

/// Upper ends of the intervals of the medians.
fn high(ratios: &BTreeMap<u32, Ratio>) -> Option<Ratio> {
    let of = |of: fn(&Ratio) -> f64| bootstrapped(&ratios.values().map(of).collect::<Vec<_>>()).map(|found| found.high);
    Some(Ratio { energy: of(|ratio| ratio.energy)?, delay: of(|ratio| ratio.delay)? })
}

/// The table of a finished run, and for each cell the requests a second and whether the device kept up.
pub(super) fn table(plan: &Plan, unfinished: &Unfinished, device: String, kind: String) -> (Model, Rates) {
    let mut rates = Rates::new();
    let workloads = (0..).zip(&plan.workloads).map(|(number, workload)| {
        let ratios = ratios(plan, unfinished, number);
        let cells = (0..).zip(&plan.settings).filter_map(|(index, setting)| {
            let rounds = unfinished.rounds(index, number);
            let per_s = median(&rounds, |sums| Some((sums.reads + sums.writes) as f64 / sums.elapsed_s))?;
            let kept_up = rounds.iter().all(|sums| sums.left == 0);
            rates.insert((workload.name.clone(), setting.clone()), (per_s, kept_up));
            let mut window = Window::default();
            rounds.iter().for_each(|sums| window.add(&sums.window));
            Some(Cell {
                setting: setting.clone(),
                pattern: window.pattern(),
                request_uj_mean: median(&rounds, |sums| mean(sums.energy_uj, sums.reads + sums.writes))?,
                read_us_mean: median(&rounds, |sums| mean(sums.read_us, sums.reads)),
                write_us_mean: median(&rounds, |sums| mean(sums.write_us, sums.writes)),
                rounds: ratios.get(&index).cloned().unwrap_or_default(),
                high: ratios.get(&index).and_then(high),
            })
        });
        brisk_engine::smartstorage::model::Workload { name: workload.name.clone(), cells: cells.collect() }
    });
    let model = Model {
        version: MODEL_VERSION,
        device,
        kind,
        meter: plan.meter.in_words(),
        own: plan.own.clone(),
        workloads: workloads.collect(),
    };
    (model, rates)
}

pub(super) fn fewer_rounds(left_out: u32, options: &super::Options) -> Warning {
    Warning {
        code: "fewer_rounds".to_owned(),
        text: format!(
            "To end within {:.0} minutes, {left_out} of {} rounds were left out: intervals are wider. A quieter \
             machine, or a longer --budget, has time for all.",
            options.budget.as_secs_f64() / 60.0,
            options.rounds,
        ),
    }
}

/// Takes the workloads out of the model of which nothing arrived under the device's own setting, and returns their
/// names: no cost can be compared with that of others, and a model with one of them is refused by [`Model::check`].
pub(super) fn take_unmeasured(model: &mut Model) -> Vec<String> {
    let Model { workloads, own, .. } = model;
    let unmeasured = workloads.extract_if(.., |workload| workload.cells.iter().all(|cell| cell.setting != *own));
    unmeasured.map(|workload| workload.name).collect()
}

pub(super) fn unmeasured(names: &[String]) -> Warning {
    Warning {
        code: "unmeasured_workloads".to_owned(),
        text: format!(
            "No request of {} was done in its cells: it is left out. A longer --cell has time for requests that are \
             rare.",
            names.join(", ")
        ),
    }
}

pub(super) fn saturated(rates: &Rates) -> Warning {
    let mut names: Vec<&str> =
        rates.iter().filter(|(_, (_, kept_up))| !kept_up).map(|((name, _), _)| name.as_str()).collect();
    names.dedup();
    Warning {
        code: "saturated".to_owned(),
        text: format!(
            "The device could not keep up with {} under some settings: delays are those of what was done in time.",
            names.join(", ")
        ),
    }
}
