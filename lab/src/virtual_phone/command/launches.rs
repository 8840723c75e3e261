//! `brisk phone launch`: cold launches without brisk and with it.

use std::process::ExitCode;

use brisk_command::json::Document;
use brisk_command::session::Session;
use brisk_core::stats::median;
use brisk_report::results::Cause;
use serde::Serialize;
use serde_json::json;

use super::arguments::LaunchArgs;
use super::starts::{Start, Study, read};
use crate::phone::Catalogue;
use crate::results::{LaunchReport, LaunchRun, Stage};
use crate::virtual_phone::measure::Brisk;
use crate::virtual_phone::plan::{self, Task};
use crate::vm::sources::Source;

/// Launches of an app under one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    app: String,
    brisk: String,
    launches: usize,
    settled_ms: f64,
    storage_read_ms: f64,
    cpu_ms: f64,
    /// Against the first condition.
    ratio: Option<f64>,
}

pub(super) fn run(source: &Source, session: &Session, args: &LaunchArgs) -> anyhow::Result<ExitCode> {
    let (phone, compared) = (&args.phone, &args.compared);
    compared.json.check(&[])?;
    let names = if args.launched.is_empty() { &phone.image.apps } else { &args.launched };
    for app in Catalogue::builtin().choose(names)? {
        anyhow::ensure!(phone.image.apps.contains(&app.name), "the phone has no {0}: add it with --apps {0}", app.name);
    }
    let study = Study::<LaunchReport> {
        name: "launch",
        phone,
        compared,
        around: phone.surroundings(compared.writers),
        tasks: &|brisk, seed| tasks(names, args, brisk, seed),
        read: &|output| match read(output) {
            Ok(report) => Ok((!output.name.starts_with(WARM_UP)).then_some(report)),
            Err(why) => Err(why),
        },
    };
    let (measured, mut facts) = study.measure(source, session)?;
    let rows = rows(names, &compared.brisk, &measured);
    facts.extend([
        ("warm_up".to_owned(), json!(args.warm_up)),
        ("rows".to_owned(), json!(rows)),
        ("starts".to_owned(), json!(measured)),
    ]);
    compared.json.show(&Document::new("virtual_phone_launches", facts), || table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

/// Launches of an app that do not count: the name of their task begins so.
const WARM_UP: &str = "warm-up ";
/// How long an app is used: briskd has learned of its launch by then.
const STAY: &str = "3s";

/// What a start runs: launches that do not count and those that do, both in the order of its seed.
fn tasks(apps: &[String], args: &LaunchArgs, brisk: &Brisk, seed: u64) -> Vec<Task> {
    let fixed = ["brisk-lab", "launch", "--as-phone", "--virtual", "--cold", "--drop-caches", "--json=-", "--stay"];
    let words = |app: &str, runs: u16| -> Vec<String> {
        let words = fixed.into_iter().map(str::to_owned);
        words.chain([STAY.to_owned(), "--runs".to_owned(), runs.to_string(), app.to_owned()]).collect()
    };
    let order = plan::in_order(apps, seed);
    let warm_up = if *brisk == Brisk::Off { 0 } else { args.warm_up };
    let mut tasks = Vec::new();
    for (name, runs) in [(WARM_UP, warm_up), ("", args.runs)].into_iter().filter(|(_, runs)| *runs > 0) {
        tasks.extend(order.iter().map(|app| (format!("{name}{app}"), words(app, runs))));
    }
    tasks.into_iter().map(|(name, command)| Task { name, command }).collect()
}

/// Medians over all launches of an app with one condition.
fn rows(apps: &[String], brisk: &[Brisk], starts: &[Start<LaunchReport>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for app in apps {
        let mut first: Option<f64> = None;
        for brisk in brisk.iter().map(Brisk::name) {
            let of_app = starts.iter().filter(|start| start.brisk == brisk).flat_map(|start| &start.results);
            let sets = of_app.filter(|report| report.app == *app).flat_map(|report| &report.sets);
            let runs: Vec<_> =
                sets.flat_map(|set| &set.runs).filter(|run| run.at_ms(Stage::Settled).is_some()).collect();
            let of = |value: &dyn Fn(&LaunchRun) -> f64| median(&runs.iter().map(|run| value(run)).collect::<Vec<_>>());
            let part = |causes: &'static [Cause]| {
                move |run: &LaunchRun| {
                    let split = run.split(Stage::Settled);
                    causes.iter().filter_map(|cause| split?.time_ms(*cause)).sum::<f64>()
                }
            };
            let Some(settled_ms) = of(&|run| run.at_ms(Stage::Settled).unwrap_or_default()) else { continue };
            rows.push(Row {
                app: app.clone(),
                brisk,
                launches: runs.len(),
                settled_ms,
                storage_read_ms: of(&part(&[Cause::StorageRead, Cause::SwapIn])).unwrap_or_default(),
                cpu_ms: of(&part(&[Cause::UserCpu, Cause::SystemCpu])).unwrap_or_default(),
                ratio: first.map(|first| settled_ms / first),
            });
            first = first.or(Some(settled_ms));
        }
    }
    rows
}

fn table(rows: &[Row]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["app", "brisk", "launches", "settled", "waits for reads", "computes", "ratio"]);
    for row in rows {
        let [settled, reads, cpu] = [row.settled_ms, row.storage_read_ms, row.cpu_ms].map(|ms| format!("{ms:.0} ms"));
        let ratio = row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        table.add_row([row.app.clone(), row.brisk.clone(), row.launches.to_string(), settled, reads, cpu, ratio]);
    }
    format!("{table}\n\nMedians of cold launches in virtual time, on one processor.\n")
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

    pub(in crate::virtual_phone::command) fn args(words: &[&str]) -> LaunchArgs {
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
}
