//! The what-if study: the suite without parts of the storage's cost (Revisiting storage, section 5.1 and figure 13;
//! user-perceived latency paper, figures 2 and 3).

use std::collections::BTreeMap;

use crate::launch::series::{compare, summarise};
use crate::launch::{Launcher, Plan, Setup, Surroundings};
use crate::results::{Condition, LaunchComparison, LaunchRun, LaunchSet, SqliteResult, SuiteApp, Temperature};
use crate::screen::Screen;
use brisk_core::causes::in_one_line;
use brisk_core::stats::Summary;

use super::Outcome;
use crate::phone::catalogue::App;
use crate::phone::error::{Error, Result};
use crate::phone::running::Phone;
use crate::phone::sqlite::{SqliteRates, SqliteSpec};
use crate::phone::variant::Variant;

/// Launches the apps of a phone in each of `variants` (the baseline first), and measures SQLite in each.
///
/// A change of variant takes seconds to minutes, so variants do not take turns launch by launch: they run once in
/// forward and once in reverse order, with half of the rounds each, so that drift of the machine affects all alike.
///
/// # Errors
/// When the user cancels, the display is lost, or a variant cannot be set.
pub fn what_if(
    launcher: &Launcher<'_>,
    phone: &mut Phone,
    apps: &[&App],
    study: &Study<'_>,
    screen: &mut dyn Screen,
    progress: &mut dyn FnMut(f64, &str),
) -> Result<(Outcome, Vec<SqliteResult>)> {
    let mut outcome = Outcome { apps: Vec::new(), conditions: Vec::new(), warnings: Vec::new() };
    let mut runs: BTreeMap<(usize, usize, bool), Vec<LaunchRun>> = BTreeMap::new();
    let mut failures: Vec<Option<String>> = vec![None; apps.len()];
    let mut rates: Vec<Vec<SqliteRates>> = vec![Vec::new(); study.variants.len()];
    let forward: Vec<usize> = (0..study.variants.len()).collect();
    let backward: Vec<usize> = forward.iter().rev().copied().collect();
    let halves = [(forward, study.rounds.div_ceil(2)), (backward, study.rounds / 2)];
    let all = (study.variants.len() * 2 * (apps.len() + 1)) as f64;
    let mut done = 0.0;
    for (order, rounds) in halves.into_iter().filter(|(_, rounds)| *rounds > 0) {
        for number in order {
            let variant = study.variants[number];
            let at = |done: f64, doing: &str, progress: &mut dyn FnMut(f64, &str)| {
                progress(done / all, &format!("{}: {doing}", variant.name()));
            };
            phone.set_variant(variant, &mut |doing| at(done, doing, progress))?;
            at(done, "SQLite", progress);
            for round in 0..rounds {
                let spec = SqliteSpec { seed: round as u64 + 1, ..study.sqlite };
                rates[number].push(phone.sqlite(&spec, launcher.stop)?);
            }
            done += 1.0;
            for (place, app) in apps.iter().enumerate() {
                at(done, &app.name, progress);
                let setup = Setup { label: variant.name().to_owned(), app: phone.app(app, study.display)? };
                let plan = Plan { setups: vec![setup], temperatures: study.temperatures.clone(), rounds };
                match launcher.run(&plan, Some(&mut *screen), &mut Nothing) {
                    Ok(series) => {
                        for set in series.sets {
                            let key = (place, number, set.temperature == Temperature::Warm);
                            runs.entry(key).or_default().extend(set.runs);
                        }
                        outcome.note(series.warnings);
                    }
                    Err(crate::launch::Error::Stopped) => return Err(Error::Stopped),
                    Err(error @ crate::launch::Error::Screen(_)) => return Err(error.into()),
                    Err(error) => failures[place] = Some(in_one_line(&error)),
                }
                phone.end_apps()?;
                done += 1.0;
            }
        }
    }
    phone.set_variant(Variant::Baseline, &mut |doing| progress(1.0, doing))?;
    for (place, (app, failure)) in apps.iter().zip(failures).enumerate() {
        let mut sets = Vec::new();
        for (number, variant) in study.variants.iter().enumerate() {
            for temperature in &study.temperatures {
                let found = runs.remove(&(place, number, *temperature == Temperature::Warm)).unwrap_or_default();
                sets.push(summarise(variant.name().to_owned(), *temperature, found));
            }
        }
        outcome.apps.push(SuiteApp {
            name: app.name.clone(),
            group: app.group.clone(),
            command: app.command.clone(),
            comparisons: against_the_first(&sets),
            sets,
            failure,
        });
    }
    let condition = |variant: &Variant| Condition {
        name: variant.name().to_owned(),
        text: variant.text().to_owned(),
        writer: None,
    };
    outcome.conditions = study.variants.iter().map(condition).collect();
    let sqlite = study.variants.iter().zip(&rates).filter_map(|(variant, rates)| sqlite_result(variant.name(), rates));
    Ok((outcome, sqlite.collect()))
}

/// Scope of a what-if study.
#[derive(Debug, Clone)]
pub struct Study<'a> {
    /// Variants, the baseline first.
    pub variants: Vec<Variant>,
    /// Cold before warm.
    pub temperatures: Vec<Temperature>,
    /// Launches of each app, and measurements of SQLite, for each variant and temperature.
    pub rounds: usize,
    /// Parameters of SQLite; the seed changes with the round.
    pub sqlite: SqliteSpec,
    pub display: &'a str,
}

/// Compares each set with the first of its temperature.
fn against_the_first(sets: &[LaunchSet]) -> Vec<LaunchComparison> {
    let Some(first) = sets.first().map(|set| set.label.clone()) else { return Vec::new() };
    let base = |temperature| sets.iter().find(|set| set.label == first && set.temperature == temperature);
    let others = sets.iter().filter(|set| set.label != first);
    others.filter_map(|set| compare(set, base(set.temperature)?)).collect()
}

fn sqlite_result(condition: &str, rates: &[SqliteRates]) -> Option<SqliteResult> {
    let of = |rate: fn(&SqliteRates) -> f64| Summary::of(&rates.iter().map(rate).collect::<Vec<_>>());
    Some(SqliteResult {
        condition: condition.to_owned(),
        insert_per_s: of(|rates| rates.insert_per_s)?,
        update_per_s: of(|rates| rates.update_per_s)?,
        delete_per_s: of(|rates| rates.delete_per_s)?,
    })
}

/// No conditions around launches.
struct Nothing;

impl Surroundings for Nothing {}
