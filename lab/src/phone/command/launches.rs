//! `brisk phone launch`: cold or warm launches without brisk and with it, idle and while something writes, as a proof.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use brisk_command::session::Session;
use brisk_core::stats::Summary;

use super::arguments::LaunchArgs;
use super::starts::{Measured, Start, Study, read};
use crate::launch::series::{compare, summarise};
use crate::phone::measure::Brisk;
use crate::phone::plan::{self, Task};
use crate::phone::{App, Catalogue, WriterSpec, gains};
use crate::results::conditions::{self, IDLE, WRITERS};
use crate::results::{Condition, Document, LaunchReport, LaunchRun, ProveReport, SuiteApp, Temperature, WriterLoad};
use crate::vm::sources::Source;

/// What a condition has of brisk: what runs, and its name in conditions.
type With<'a> = (&'a Brisk, String);

pub(super) fn run(source: &Source, session: &Session, args: &LaunchArgs) -> anyhow::Result<ExitCode> {
    let (phone, compared) = (&args.phone, &args.compared);
    compared.outputs.check(&source.phones())?;
    let names = if args.launched.is_empty() { &phone.image.apps } else { &args.launched };
    let apps = Catalogue::builtin().choose(names)?;
    for app in &apps {
        anyhow::ensure!(phone.image.apps.contains(&app.name), "the phone has no {0}: add it with --apps {0}", app.name);
        phone.check_room(&[app])?;
    }
    let with = with(&compared.brisk)?;
    let mut arounds = vec![phone.surroundings(None)];
    arounds.extend(args.writers.map(|rate| phone.surroundings(Some(rate))));
    let study = Study::<LaunchReport> {
        command: "launch",
        phone,
        compared,
        arounds,
        name: &|brisk, writes| condition_of(&with, brisk, writes),
        warm_up: warm_up(args),
        after_start: args.after_start,
        tasks: &|brisk, seed| tasks(names, args, brisk, seed),
        read: &|output| match read(output) {
            Ok(report) => Ok((!output.name.starts_with(WARM_UP)).then_some(report)),
            Err(why) => Err(why),
        },
    };
    let Measured { starts, header, phone } = study.measure(source, session)?;
    let loads = [false, true].into_iter().filter(|writes| !writes || args.writers.is_some());
    let conditions: Vec<Condition> = loads
        .flat_map(|writes| with.iter().map(move |with| (with, writes)))
        .map(|(with, writes)| condition(with, writes.then_some(args.writers).flatten(), args.after_start, &starts))
        .collect();
    let temperature = if args.warm { Temperature::Warm } else { Temperature::Cold };
    let apps: Vec<SuiteApp> = apps.into_iter().map(|app| of_app(app, temperature, &conditions, &starts)).collect();
    let report = ProveReport { header, phone, conditions, gains: apps.iter().flat_map(gains).collect(), apps };
    let failed = report.apps.iter().any(|app| app.sets.iter().all(|set| set.stages.is_empty()));
    session.finish(Document::from(report), &compared.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

/// The names of what is compared: the base, brisk, and what else runs of it.
fn with(brisk: &[Brisk]) -> anyhow::Result<Vec<With<'_>>> {
    if brisk.first() != Some(&Brisk::Off) {
        bail!("launches are compared with those without brisk: name off first, such as --brisk off,default");
    }
    let name = |(n, brisk): (usize, &Brisk)| if n == 1 { "brisk".to_owned() } else { brisk.name() };
    let with: Vec<With<'_>> = brisk.iter().enumerate().map(|one| (one.1, name(one))).collect();
    if with.iter().enumerate().any(|(n, (brisk, _))| with[..n].iter().any(|(before, _)| before == brisk)) {
        bail!("--brisk names the same twice");
    }
    Ok(with)
}

/// The name of a condition.
fn condition_of(with: &[With<'_>], brisk: &Brisk, writes: bool) -> String {
    let load = if writes { WRITERS } else { IDLE };
    match with.iter().find(|(of, _)| *of == brisk) {
        Some((Brisk::Off, _)) | None => load.to_owned(),
        Some((_, name)) => conditions::with(load, name),
    }
}

/// A condition, with what its writers reached.
fn condition(
    with: &With<'_>,
    writers: Option<u64>,
    after_start: Option<Duration>,
    starts: &[Start<LaunchReport>],
) -> Condition {
    let name = condition_of(std::slice::from_ref(with), with.0, writers.is_some());
    let load =
        if writers.is_some() { "apps are installed and accounts synced meanwhile" } else { "nothing else happens" };
    let load = match after_start {
        Some(time) => format!("{load}, {} s after a start with nothing in memory", time.as_secs_f64()),
        None => load.to_owned(),
    };
    let text = match with.0 {
        Brisk::Off => load,
        Brisk::Default => format!("{load}, brisk is at work as its package comes"),
        Brisk::Engines(engines) => format!("{load}, brisk is at work ({})", engines.join(", ")),
    };
    let reached = |start: &Start<LaunchReport>| {
        let counters = &start.about.counters;
        Some(counters.get("writers_bytes")? / counters.get("writers_s")?.max(1.0))
    };
    let mine = starts.iter().filter(|start| start.about.name == name);
    let writer = writers.map(|rate| {
        let spec = WriterSpec { target_bytes_per_s: rate as f64, ..WriterSpec::default() };
        WriterLoad {
            text: spec.text(),
            target_bytes_per_s: spec.target_bytes_per_s,
            reached_bytes_per_s: Summary::of(&mine.filter_map(reached).collect::<Vec<_>>()),
            syncs_per_s: None,
        }
    });
    Condition { name, text, writer }
}

/// All launches of an app: those of a condition in the order of seeds, so that launches of one place are a pair.
fn of_app(app: &App, temperature: Temperature, conditions: &[Condition], starts: &[Start<LaunchReport>]) -> SuiteApp {
    let reports = |condition: &Condition| -> Vec<&LaunchReport> {
        let mine = starts.iter().filter(|start| start.about.name == condition.name);
        mine.flat_map(|start| &start.results).filter(|report| report.app == app.name).collect()
    };
    let set = |condition: &Condition| {
        let runs: Vec<LaunchRun> =
            reports(condition).into_iter().flat_map(|report| &report.sets).flat_map(|set| set.runs.clone()).collect();
        summarise(condition.name.clone(), temperature, runs)
    };
    let sets: Vec<_> = conditions.iter().map(set).collect();
    SuiteApp {
        name: app.name.clone(),
        group: app.group.clone(),
        command: app.command.clone(),
        comparisons: sets.iter().skip(1).filter_map(|set| compare(set, &sets[0])).collect(),
        sets,
        failure: None,
    }
}

/// Launches of an app that do not count: the name of their task begins so.
const WARM_UP: &str = "warm-up ";
/// How long an app is used: briskd has learned of its launch by then.
const STAY: &str = "3s";

/// Launches of each app that do not count: after a start brisk knows the apps.
fn warm_up(args: &LaunchArgs) -> u16 {
    args.warm_up.max(u16::from(args.after_start.is_some()))
}

/// What a start runs: launches that do not count and those that do, both in the order of its seed. After a start the
/// apps take turns.
fn tasks(apps: &[String], args: &LaunchArgs, brisk: &Brisk, seed: u64) -> Vec<Task> {
    let cold: &[&str] = &["--cold", "--drop-caches"];
    let words = |app: &str, temperature: &[&str], runs: u16| -> Vec<String> {
        let fixed = [&["brisk-lab", "launch", "--as-phone", "--virtual"], temperature, &["--json=-", "--stay", STAY]];
        let words = fixed.concat().into_iter().map(str::to_owned);
        words.chain(["--runs".to_owned(), runs.to_string(), app.to_owned()]).collect()
    };
    let task = |name: String, command| Task { name, command };
    let order = plan::in_order(apps, seed);
    // What an app does at its first launch alone is of no interest after a start.
    let warm_up = if *brisk == Brisk::Off && args.after_start.is_none() { 0 } else { warm_up(args) };
    let mut tasks = Vec::new();
    if warm_up > 0 {
        tasks.extend(order.iter().map(|app| task(format!("{WARM_UP}{app}"), words(app, cold, warm_up))));
    }
    match args.after_start {
        None => {
            let temperature = if args.warm { &["--warm"] } else { cold };
            tasks.extend(order.iter().map(|app| task(app.clone(), words(app, temperature, args.runs))));
        }
        Some(time) => {
            let of = |app: &String| {
                let after = ["after_start".to_owned(), time.as_secs_f64().to_string()];
                task(app.clone(), [&after[..], &words(app, &["--cold", "--as-it-is"], 1)].concat())
            };
            tasks.extend((0..args.runs).flat_map(|_| order.iter().map(of)));
        }
    }
    tasks
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Parser as _;

    use super::*;

    /// Arguments as they are written.
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: LaunchArgs,
    }

    pub(in crate::phone::command) fn args(words: &[&str]) -> LaunchArgs {
        Line::parse_from([&["launch"], words].concat()).args
    }

    #[test]
    fn each_app_is_launched_as_the_phones_user() {
        let args = args(&["--runs", "3", "--warm-up", "8"]);
        let names = |brisk: &Brisk| -> Vec<(String, String)> {
            let tasks = tasks(&["evince".to_owned()], &args, brisk, 1);
            tasks.into_iter().map(|task| (task.name, task.command.join(" "))).collect()
        };
        let launch = |runs| {
            format!(
                "brisk-lab launch --as-phone --virtual --cold --drop-caches --json=- --stay 3s --runs {runs} evince"
            )
        };
        let off = vec![("evince".to_owned(), launch(3))];
        assert_eq!(names(&Brisk::Off), off, "there is nothing to learn");
        let with = [vec![("warm-up evince".to_owned(), launch(8))], off];
        assert_eq!(names(&Brisk::Default), with.concat());
    }

    #[test]
    fn after_a_start_apps_take_turns_and_memory_stays_as_it_is() {
        let args = args(&["--runs", "2", "--after-start=45s"]);
        let apps = ["evince", "xterm"].map(str::to_owned);
        let tasks = tasks(&apps, &args, &Brisk::Off, 1);
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["warm-up evince", "warm-up xterm", "evince", "xterm", "evince", "xterm"]);
        let launch =
            "after_start 45 brisk-lab launch --as-phone --virtual --cold --as-it-is --json=- --stay 3s --runs 1";
        assert_eq!(tasks[3].command.join(" "), format!("{launch} xterm"));
        let again = Line::try_parse_from(["launch", "--after-start", "--warm"]);
        assert!(again.is_err(), "what is warm is not after a start");
    }

    #[test]
    fn conditions_are_those_of_a_proof() {
        let brisk = [Brisk::Off, Brisk::Default, Brisk::Engines(vec!["prefetch".to_owned()])];
        let with = with(&brisk).expect("off is first");
        let names: Vec<String> = [false, true]
            .into_iter()
            .flat_map(|writes| brisk.iter().map(move |brisk| (brisk, writes)))
            .map(|(brisk, writes)| condition_of(&with, brisk, writes))
            .collect();
        assert_eq!(names[..3], ["idle", "idle_with_brisk", "idle_with_prefetch"]);
        assert_eq!(names[3..], ["writers", "writers_with_brisk", "writers_with_prefetch"]);
        for wrong in [&brisk[1..], &[Brisk::Off, Brisk::Off]] {
            assert!(super::with(wrong).is_err(), "{wrong:?}");
        }
    }
}
