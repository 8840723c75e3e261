//! `brisk suite cures`: app workloads under solutions for slow storage, in the kernel lab.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, bail};
use brisk_command::lab::suite::CuresArgs;
use brisk_command::session::Session;
use brisk_cures::guest::{self, Case, Error, Outcome};
use brisk_cures::report::{rows, workload};
use brisk_cures::solution::{SOLUTIONS, Solution, find};
use brisk_cures::workload::App;
use brisk_results::{CuresReport, Document};
use brisk_vm::Watch;
use brisk_vm::lab::Lab as Guests;
use brisk_vm::sources::Source;

use crate::kernel::{header, machines};

/// Runs it.
pub(super) fn run(args: &CuresArgs) -> anyhow::Result<ExitCode> {
    let apps = apps(&args.apps)?;
    let solutions = solutions(&args.solutions)?;
    args.outputs.check(std::path::Path::new("."))?;
    let here = std::env::current_dir().context("cannot tell where this is")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let source = Source::find(args.source.as_deref().unwrap_or(&here), target)?;
    let pages = |app: App| args.web_pages.map_or(app.shape().pages, |pages| pages.min(app.shape().pages));
    let mut cases: Vec<Case<'_>> = Vec::new();
    for preset in &args.presets {
        for app in &apps {
            // All of a seed follow each other: an early end of the run would leave whole comparisons.
            for seed in (0..u64::from(args.seeds)).map(|nth| u64::from(args.seed) + nth) {
                cases.extend(solutions.iter().map(|solution| Case {
                    app: *app,
                    seed,
                    pages: pages(*app),
                    preset,
                    solution,
                }));
            }
        }
    }
    let session = Session::begin()?;
    let begun = Instant::now();
    let measured = measure(&session, args, &source, &cases);
    session.clear();
    let (mut header, outcomes) = match measured {
        Ok(measured) => measured,
        Err(error) if is_stopped(&error) => return Ok(session.was_stopped()),
        Err(error) => return Err(error),
    };
    header.duration_s = begun.elapsed().as_secs_f64();
    let report = CuresReport {
        header,
        seeds: u32::from(args.seeds),
        workloads: apps.iter().map(|app| workload(*app, pages(*app))).collect(),
        rows: rows(&cases, &outcomes),
    };
    let failed = report.rows.iter().any(|row| row.failure.is_some());
    args.outputs.write(&Document::Cures(Box::new(report)))?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn is_stopped(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(brisk_vm::Error::Stopped))
        || matches!(error.downcast_ref(), Some(Error::Vm(brisk_vm::Error::Stopped)))
}

fn measure(
    session: &Session,
    args: &CuresArgs,
    source: &Source,
    cases: &[Case<'_>],
) -> anyhow::Result<(brisk_results::Header, Vec<Outcome>)> {
    let progress = |done: f64, doing: &str| session.show(done, doing);
    let watch = Watch { stop: session.stop_flag(), progress: &progress };
    let mut guests = Guests::prepare(source, &args.kernel, watch)?;
    guests.time_limit = args.time_limit;
    let header = header(&guests, u64::from(args.seed));
    let outcomes = guest::run(&guests, source, cases, machines(args.jobs), watch)?;
    Ok((header, outcomes))
}

fn apps(names: &[String]) -> anyhow::Result<Vec<App>> {
    let mut apps = Vec::new();
    for name in names {
        let Some(app) = App::ALL.into_iter().find(|app| app.name() == name) else {
            bail!("--apps: there is no {name}: there are {}", App::ALL.map(App::name).join(" and "));
        };
        if !apps.contains(&app) {
            apps.push(app);
        }
    }
    Ok(apps)
}

/// Those that were named, behind the baseline, in the order of the table.
fn solutions(names: &[String]) -> anyhow::Result<Vec<&'static Solution>> {
    if let Some(unknown) = names.iter().find(|name| *name != "all" && find(name).is_none()) {
        let known: Vec<&str> = SOLUTIONS.iter().map(|solution| solution.name).collect();
        bail!("--solutions: there is no {unknown}: there are {}, and all", known.join(", "));
    }
    let wanted = |solution: &&Solution| {
        names.iter().any(|name| name == "all" || name == solution.name) || solution.name == SOLUTIONS[0].name
    };
    Ok(SOLUTIONS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> anyhow::Result<Vec<&'static str>> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        Ok(solutions(&names)?.into_iter().map(|solution| solution.name).collect())
    }

    #[test]
    fn the_baseline_is_always_measured_and_first() {
        assert_eq!(named(&["wal", "selective_sync"]).expect("known"), ["baseline", "selective_sync", "wal"]);
        assert_eq!(named(&["all"]).expect("known").len(), SOLUTIONS.len());
        assert!(named(&["wal", "raid5"]).expect_err("unknown").to_string().contains("no raid5"));
    }

    #[test]
    fn apps_are_known_by_name_and_measured_once() {
        let of = |names: &[&str]| apps(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["facebook", "facebook", "webbench"]).expect("known"), [App::Facebook, App::WebBench]);
        assert!(of(&["twitter"]).expect_err("unknown").to_string().contains("webbench and facebook"));
    }
}
