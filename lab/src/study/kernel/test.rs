//! `brisk kernel test`: does every scheduler serve a load, and do the guest's own tests pass, on each kernel?

use std::path::PathBuf;
use std::process::ExitCode;

use crate::study::kernel::arguments::TestArgs as Args;
use crate::vm::compare::{self, Found, Options};
use crate::vm::lab::Lab;
use crate::vm::qemu::Clock;
use crate::vm::scenario::Scenario;
use crate::vm::schedulers::Settings;
use crate::vm::sources::Source;
use crate::vm::tests_in_guest::{self, GuestTest, Verdict};
use crate::vm::{Error, Watch};
use brisk_command::json::Document;
use brisk_command::session::Session;
use serde::Serialize;
use serde_json::json;

/// The scenario with a second of each load.
const SMOKE: &str = "smoke";

/// A series made ready, with what was asked for.
fn lab(args: &Args, source: &Source, series: &str, watch: Watch<'_>) -> crate::vm::Result<Lab> {
    let mut lab = Lab::prepare(source, series, watch)?;
    lab.time_limit = args.time_limit;
    lab.jobs = super::machines(args.jobs);
    Ok(lab)
}

pub(super) fn run(source: &Source, args: &Args) -> anyhow::Result<ExitCode> {
    let tests = GuestTest::all(source)?;
    if let Some(word) = &args.only {
        let names: Vec<&str> = std::iter::once(SMOKE).chain(tests.iter().map(|test| test.name.as_str())).collect();
        if !names.iter().any(|name| name.contains(word.as_str())) {
            anyhow::bail!("no test has '{word}' in its name; there are {}", names.join(", "));
        }
    }
    args.json.check(&[])?;
    let session = Session::begin()?;
    let mut printed = Ok(());
    let outcome = all(&session, source, &tests, args, &mut |line| {
        if printed.is_ok() {
            printed = brisk_command::print(line);
        }
    });
    session.clear();
    printed?;
    match outcome {
        Ok(tests) => {
            let failed = tests.iter().filter(|test| test.outcome == "failed").count();
            args.json.show(&Document::new("kernel_tests", json!({ "tests": tests })), String::new)?;
            if failed == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            brisk_program::error!("brisk: {failed} failed");
            Ok(ExitCode::from(1))
        }
        Err(Error::Stopped) => Ok(session.was_stopped()),
        Err(error) => Err(error.into()),
    }
}

/// What became of a test on a kernel.
#[derive(Debug, Serialize)]
struct Tested {
    kernel: String,
    test: String,
    /// `passed`, `skipped` or `failed`.
    outcome: &'static str,
    /// Why it was skipped or failed.
    why: Option<String>,
    /// Messages of the kernel of a test that failed.
    console: Option<PathBuf>,
}

/// Runs all of them, and prints a line for each outcome unless a document goes to standard output.
fn all(
    session: &Session,
    source: &Source,
    tests: &[GuestTest],
    args: &Args,
    print: &mut dyn FnMut(&str),
) -> crate::vm::Result<Vec<Tested>> {
    let mut all = Vec::new();
    let wanted = |name: &str| args.only.as_ref().is_none_or(|word| name.contains(word.as_str()));
    for series in &args.kernel {
        let progress = |done: f64, doing: &str| session.show(done, &format!("{series}: {doing}"));
        let watch = Watch { stop: session.stop_flag(), progress: &progress };
        let lab = lab(args, source, series, watch)?;
        let mut tell = |name: &str, verdict: &Verdict| {
            session.clear();
            let (words, outcome, why, console) = match verdict {
                Verdict::Passed => ("passed".to_owned(), "passed", None, None),
                Verdict::Skipped(why) => (format!("skipped: {why}"), "skipped", Some(why.clone()), None),
                Verdict::Failed(why, log) => {
                    let words = format!("FAILED: {why}; its console: {}", log.display());
                    (words, "failed", Some(why.clone()), Some(log.clone()))
                }
            };
            let kernel = lab.kernel.release.clone();
            if !args.json.is_printed() {
                print(&format!("{kernel} {name}: {words}\n"));
            }
            all.push(Tested { kernel, test: name.to_owned(), outcome, why, console });
        };
        let mut verdicts = Vec::new();
        if wanted(SMOKE) {
            verdicts.extend(smoke(source, series, args, watch)?);
        }
        for (name, verdict) in &verdicts {
            tell(name, verdict);
        }
        let chosen: Vec<&GuestTest> = tests.iter().filter(|test| wanted(&test.name)).collect();
        tests_in_guest::run_all(&lab, &chosen, watch, |test, verdict| {
            let name = match test.clock() {
                Clock::Instructions => test.name.clone(),
                Clock::Host => format!("{} ({} processors, the host's time)", test.name, test.cpus()),
            };
            tell(&name, verdict);
        })?;
    }
    Ok(all)
}

/// Every scheduler that the kernel has under a second of everything, with a kernel that does not complain.
fn smoke(source: &Source, series: &str, args: &Args, watch: Watch<'_>) -> crate::vm::Result<Vec<(String, Verdict)>> {
    let mut lab = lab(args, source, series, watch)?;
    if lab.kernel.is_debug() {
        let why = "response times would be those of the kernel's own checks".to_owned();
        return Ok(vec![(SMOKE.to_owned(), Verdict::Skipped(why))]);
    }
    let scenario = Scenario::find(&source.scenarios(), SMOKE)?;
    let options = Options {
        schedulers: lab.schedulers.names().map(str::to_owned).collect(),
        settings: Settings::new(),
        tuned: false,
        seeds: vec![1],
        scale: 1.0,
        search_scale: 1.0,
        search_budget: 1,
        also: Vec::new(),
        write_min_percent: None,
        repeat_percent_max: Some(crate::vm::refuse::SEARCH_REPEAT_PERCENT_MAX),
    };
    match compare::compare(&mut lab, &scenario, &options, &mut Found::new(), watch) {
        Ok(measured) => {
            let passed = measured.rows.iter().map(|row| (format!("{SMOKE} {}", row.scheduler), Verdict::Passed));
            let refused = measured.refused.iter().map(|(name, why)| {
                let verdict = match lab.check_scheduler(name) {
                    Ok(_) => Verdict::Failed(why.clone(), lab.consoles()),
                    Err(_) => Verdict::Skipped(why.clone()),
                };
                (format!("{SMOKE} {name}"), verdict)
            });
            Ok(passed.chain(refused).collect())
        }
        Err(Error::Refused { why, log }) => Ok(vec![(SMOKE.to_owned(), Verdict::Failed(why, log))]),
        Err(error) => Err(error),
    }
}
