//! `brisk study cures`: app workloads under solutions for slow storage, in the kernel lab.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use super::arguments::CuresArgs;
use crate::cures::crash::{self, Cuts};
use crate::cures::guest::{self, Case, Error, Outcome};
use crate::cures::report::{rows, workload};
use crate::cures::solution::{SOLUTIONS, Solution, find};
use crate::cures::workload::App;
use crate::results::{CureCrash, CuresReport, Document};
use crate::vm::Watch;
use crate::vm::lab::Lab as Guests;
use crate::vm::sources::Source;
use crate::vm::worker_pool;
use anyhow::{Context as _, bail};
use brisk_command::session::Session;

use crate::study::kernel::{header, machines};

pub(crate) fn run(args: &CuresArgs) -> anyhow::Result<ExitCode> {
    let apps = apps(&args.apps)?;
    let solutions = solutions(&args.solutions, args.seeds > 0)?;
    if args.seeds == 0 && args.cuts == 0 {
        bail!("nothing to measure: --seeds 0 needs power cuts, such as --cuts 100");
    }
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
    let measured = measure(&session, args, &source, &cases, &solutions);
    session.clear();
    let (mut header, outcomes, crashes) = match measured {
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
        crashes,
    };
    let failed = report.rows.iter().any(|row| row.failure.is_some()) || report.crashes.iter().any(CureCrash::is_broken);
    args.outputs.write(&Document::from(report))?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn is_stopped(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(crate::vm::Error::Stopped))
        || matches!(error.downcast_ref(), Some(Error::Vm(crate::vm::Error::Stopped)))
}

fn measure(
    session: &Session,
    args: &CuresArgs,
    source: &Source,
    cases: &[Case<'_>],
    solutions: &[&'static Solution],
) -> anyhow::Result<(crate::results::Header, Vec<Outcome>, Vec<CureCrash>)> {
    let progress = |done: f64, doing: &str| session.show(done, doing);
    let watch = Watch { stop: session.stop_flag(), progress: &progress };
    let mut guests = Guests::prepare(source, &args.kernel, watch)?;
    guests.time_limit = args.time_limit;
    let header = header(&guests, u64::from(args.seed));
    let outcomes = guest::run(&guests, source, cases, machines(args.jobs), watch)?;
    let crashes = cut(&guests, source, args, solutions, watch)?;
    Ok((header, outcomes, crashes))
}

/// Power cuts under each solution, in the order of the table.
fn cut(
    guests: &Guests,
    source: &Source,
    args: &CuresArgs,
    solutions: &[&'static Solution],
    watch: Watch<'_>,
) -> anyhow::Result<Vec<CureCrash>> {
    let all: Vec<Cuts<'_>> = solutions
        .iter()
        .flat_map(|solution| {
            crash::boots(&Cuts { preset: &args.cut_preset, solution, count: args.cuts, seed: u64::from(args.seed) })
        })
        .collect();
    let mut done = 0;
    let one = |_: usize, boot: &Cuts<'_>, tell: &dyn Fn(String)| {
        let quiet = Watch { stop: watch.stop, progress: &|_, _| {} };
        let cut = crash::run(guests, source, boot, quiet).map_err(anyhow::Error::from);
        tell(format!("{} power cuts: {}", boot.count, boot.solution.name));
        cut
    };
    let cut = worker_pool::each(&all, machines(args.jobs), one, |_, words| {
        done += 1;
        (watch.progress)(f64::from(done) / all.len().max(1) as f64, &words);
    })?;
    let of =
        |solution: &&Solution| crash::sum(cut.iter().filter(|cut| cut.solution == solution.name).cloned().collect());
    Ok(solutions.iter().copied().filter_map(|solution| of(&solution)).collect())
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

/// Those that were named, in the order of the table; behind the baseline where run times are compared with it.
fn solutions(names: &[String], with_baseline: bool) -> anyhow::Result<Vec<&'static Solution>> {
    if let Some(unknown) = names.iter().find(|name| *name != "all" && find(name).is_none()) {
        let known: Vec<&str> = SOLUTIONS.iter().map(|solution| solution.name).collect();
        bail!("--solutions: there is no {unknown}: there are {}, and all", known.join(", "));
    }
    let wanted = |solution: &&Solution| {
        let is_named = names.iter().any(|name| name == "all" || name == solution.name);
        is_named || (with_baseline && solution.name == SOLUTIONS[0].name)
    };
    Ok(SOLUTIONS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str], with_baseline: bool) -> anyhow::Result<Vec<&'static str>> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        Ok(solutions(&names, with_baseline)?.into_iter().map(|solution| solution.name).collect())
    }

    #[test]
    fn the_baseline_is_measured_first_wherever_run_times_are() {
        assert_eq!(named(&["wal", "selective_sync"], true).expect("known"), ["baseline", "selective_sync", "wal"]);
        assert_eq!(named(&["wal"], false).expect("known"), ["wal"]);
        assert_eq!(named(&["all"], false).expect("known").len(), SOLUTIONS.len());
        assert!(named(&["wal", "raid5"], false).expect_err("unknown").to_string().contains("no raid5"));
    }

    #[test]
    fn apps_are_known_by_name_and_measured_once() {
        let of = |names: &[&str]| apps(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["facebook", "facebook", "webbench"]).expect("known"), [App::Facebook, App::WebBench]);
        assert!(of(&["twitter"]).expect_err("unknown").to_string().contains("webbench and facebook"));
    }
}
