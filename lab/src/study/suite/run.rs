//! `brisk suite`: real apps on an emulated phone.

use std::process::ExitCode;

use crate::launch::Launcher;
use crate::phone::suite::{self, OnPhone, Scope, Situation, Study};
use crate::phone::{SqliteSpec, Variant};
use crate::results::{Document, SuiteReport, Temperature, WhatIfReport};
use crate::study::suite::arguments::{Args, Command, ConditionName, Launches, RunArgs, WhatIfArgs};
use anyhow::bail;

pub(crate) use super::engine::speeds;

use super::bed::{self, Bed, Made, condition, end, stopped, targets, warn};
use super::{cures, day, relaunch};
use crate::command::device::phone as lab_phone;
use crate::study::launch::settings;
use crate::study::other_daemons;

/// The apps by default: done within five minutes.
const FEW_APPS: [&str; 4] = ["galculator", "mousepad", "evince", "gnumeric"];

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Run(args) => run_suite(args),
        Command::WhatIf(args) => run_what_if(args),
        Command::Relaunch(args) => relaunch::run(args),
        Command::Day(args) => day::run(args),
        Command::Cures(args) => cures::run(args),
    }
}

/// Cold, warm, or both.
fn temperatures(launches: &Launches) -> Vec<Temperature> {
    match (launches.cold, launches.warm) {
        (true, _) => vec![Temperature::Cold],
        (_, true) => vec![Temperature::Warm],
        _ => vec![Temperature::Cold, Temperature::Warm],
    }
}

fn run_suite(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let (launches, every) = (&args.launches, &args.launches.every);
    if args.conditions.iter().enumerate().any(|(n, name)| args.conditions[..n].contains(name)) {
        bail!("--conditions names a condition twice");
    }
    let spec = bed::writer(&args.writing)?;
    let Bed { session, phone, mut display, mut head, apps, runs } = match bed::make(every, &FEW_APPS)? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let scope = Scope {
        conditions: args
            .conditions
            .iter()
            .map(|name| match name {
                ConditionName::Idle => condition("idle", "nothing else happens", None),
                ConditionName::Writers => {
                    condition("writers", "apps are installed and accounts synced meanwhile", Some(&spec))
                }
            })
            .collect(),
        temperatures: temperatures(launches),
        rounds: usize::from(runs),
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let settings = settings(&every.watching, !launches.keep_caches);
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let targets = targets(&phone, &apps, &display)?;
    let situation = |name: &ConditionName| Situation {
        writer: (*name == ConditionName::Writers).then_some(spec),
        ..Situation::default()
    };
    let situations = args.conditions.iter().map(situation).collect();
    let mut conditions = OnPhone::new(&phone, lab_phone::program("write")?, situations);
    let mut progress = |done: f64, doing: &str| session.show(done, doing);
    let outcome = suite::run(&launcher, &targets, &scope, display.needed()?, &mut conditions, &mut progress);
    session.clear();
    let outcome = match outcome {
        Err(crate::launch::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let failed = warn(&mut head, &phone, &outcome, runs)?;
    head.warn(other_daemons::warnings(&sense, &phone)?);
    let report =
        SuiteReport { header: end(head, &facts, 0), phone: facts, conditions: outcome.conditions, apps: outcome.apps };
    phone.down(true)?.iter().for_each(|sentence| brisk_program::info!("{sentence}"));
    session.finish(Document::from(report), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn run_what_if(args: &WhatIfArgs) -> anyhow::Result<ExitCode> {
    let (launches, every) = (&args.launches, &args.launches.every);
    let Bed { session, mut phone, mut display, mut head, apps, runs } = match bed::make(every, &FEW_APPS)? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let mut variants = vec![Variant::Baseline];
    let wanted = match args.variants.as_slice() {
        [] => Variant::ALL.to_vec(),
        names => names.iter().map(|name| lab_phone::variant(name)).collect(),
    };
    variants.extend(wanted.into_iter().filter(|variant| *variant != Variant::Baseline));
    let name = display.name().to_owned();
    let study = Study {
        variants,
        temperatures: temperatures(launches),
        rounds: usize::from(runs),
        sqlite: SqliteSpec { span: args.sqlite, ..SqliteSpec::default() },
        display: &name,
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let settings = settings(&every.watching, !launches.keep_caches);
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let mut progress = |done: f64, doing: &str| session.show(done, doing);
    let outcome = suite::what_if(&launcher, &mut phone, &apps, &study, display.needed()?, &mut progress);
    session.clear();
    let (outcome, sqlite) = match outcome {
        Err(crate::phone::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let failed = warn(&mut head, &phone, &outcome, runs)?;
    head.warn(other_daemons::warnings(&sense, &phone)?);
    let report = WhatIfReport {
        header: end(head, &facts, 0),
        phone: facts,
        conditions: outcome.conditions,
        apps: outcome.apps,
        sqlite,
    };
    phone.down(true)?.iter().for_each(|sentence| brisk_program::info!("{sentence}"));
    session.finish(Document::from(report), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phone::Catalogue;

    #[test]
    fn the_few_apps_are_in_the_catalogue() {
        assert!(Catalogue::builtin().choose(&FEW_APPS.map(str::to_owned)).is_ok());
    }
}
