//! `brisk phone latency`: answers of an app to inputs, in starts without brisk or with it.

use std::process::ExitCode;

use anyhow::Context as _;
use brisk_command::session::Session;
use brisk_core::stats::Summary;

use super::arguments::LatencyArgs;
use super::starts::{Measured, Study, read};
use crate::launch::latency::summarise;
use crate::phone::plan::Task;
use crate::results::{Document, Ending, LatencyReport, RuntimeDelay};
use crate::vm::sources::Source;

pub(super) fn run(source: &Source, session: &Session, args: &LatencyArgs) -> anyhow::Result<ExitCode> {
    let (phone, compared) = (&args.phone, &args.compared);
    compared.outputs.check(&source.phones())?;
    let app = &args.app;
    anyhow::ensure!(phone.image.apps.contains(app), "the phone has no {app}: add it with --apps {app}");
    if args.monkey.is_none() {
        crate::launch::script::load(app).with_context(|| {
            format!("there is no script of inputs for {app}: --monkey EVENTS sends it pseudo-random ones")
        })?;
    }
    anyhow::ensure!(
        compared.brisk.len() == 1,
        "a document of answers is of one phone: name one with --brisk, and compare documents with brisk compare"
    );
    let study = Study::<LatencyReport> {
        command: "latency",
        phone,
        compared,
        arounds: vec![phone.surroundings(None)],
        name: &|brisk, _| brisk.policy(),
        warm_up: 0,
        after_start: None,
        tasks: &|_, _| vec![task(args)],
        read: &|output| read(output).map(Some),
    };
    let Measured { starts, mut header, phone } = study.measure(source, session)?;
    let reports: Vec<LatencyReport> = starts.into_iter().flat_map(|start| start.results).collect();
    for warning in reports.iter().flat_map(|report| &report.header.warnings) {
        // What is said of the whole is said once, and few repetitions in each start may be enough in all.
        let known = header.warnings.iter().any(|known| known.code == warning.code);
        if !known && warning.code != "few_repeats" {
            header.warnings.push(warning.clone());
        }
    }
    let Some(report) = merged(reports) else { anyhow::bail!("no start has measured anything") };
    let report = LatencyReport { header, phone: Some(phone), ..report };
    let unsettled = report.steps.iter().flat_map(|step| &step.runs).any(|run| run.ending != Ending::Settled);
    session.finish(Document::from(report), &compared.outputs)?;
    Ok(ExitCode::from(u8::from(unsettled)))
}

/// The command that a start runs.
fn task(args: &LatencyArgs) -> Task {
    // As in returns, the observer of events is left out: answers are short, and it would be a part of them.
    let fixed = ["brisk-lab", "latency", "--as-phone", "--method", "cgroup", "--json=-", "--runs"];
    let mut command = fixed.map(str::to_owned).to_vec();
    command.push(args.runs.to_string());
    if args.cold {
        command.push("--cold".to_owned());
    }
    match args.monkey {
        Some(events) => command.extend(["--monkey".to_owned(), events.to_string(), "--".to_owned(), args.app.clone()]),
        None => command.push(args.app.clone()),
    }
    Task { name: args.app.clone(), command }
}

/// The repetitions of all starts as those of one.
fn merged(reports: Vec<LatencyReport>) -> Option<LatencyReport> {
    let mut reports = reports.into_iter();
    let mut all = reports.next()?;
    let mut times: Vec<f64> = Vec::new();
    times.extend(all.runtime_delay.iter().map(|delay| delay.total_ms.median));
    for report in reports {
        for (step, other) in all.steps.iter_mut().zip(report.steps) {
            let runs = [step.runs.as_slice(), &other.runs].concat();
            *step = summarise(step.name.clone(), step.input.clone(), runs);
        }
        times.extend(report.runtime_delay.iter().map(|delay| delay.total_ms.median));
    }
    if let (Some(delay), Some(total_ms)) = (&all.runtime_delay, Summary::of(&times))
        && times.len() > 1
    {
        all.runtime_delay = Some(RuntimeDelay { total_ms, ..delay.clone() });
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

    /// Arguments as they are written.
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: LatencyArgs,
    }

    #[test]
    fn the_app_is_answered_as_the_phones_user_by_its_script_or_by_events() {
        let words = |line: &[&str]| task(&Line::parse_from([&["latency"], line].concat()).args).command.join(" ");
        let fixed = "brisk-lab latency --as-phone --method cgroup --json=- --runs";
        assert_eq!(words(&["mousepad", "--runs", "2", "--cold"]), format!("{fixed} 2 --cold mousepad"));
        assert_eq!(words(&["evince", "--monkey", "500"]), format!("{fixed} 6 --monkey 500 -- evince"));
    }

    /// A report of a start: a step with these latencies, or events that took this long.
    fn report(latencies_ms: &[f64], events_ms: Option<f64>) -> LatencyReport {
        let run = |ms: &f64| json!({ "ending": "settled", "first_change_ms": 1.0, "latency_ms": ms });
        let delay = events_ms.map(|ms| json!({ "events": 500, "seed": 10, "total_ms": Summary::of(&[ms]) }));
        serde_json::from_value(json!({
            "schema_version": 1, "started": "2026-01-01T00:00:00Z", "duration_s": 1.0, "seed": 0, "written_bytes": 0,
            "warnings": [], "app": "mousepad", "command": ["mousepad"], "script": "mousepad",
            "screen": { "protocol": "x11", "display": ":1", "size_px": [1280, 720] }, "runtime_delay": delay,
            "environment": {
                "brisk_version": "0.1.0", "kernel": "6.12", "architecture": "x86_64", "cpus": 1, "path": "/"
            },
            "steps": [{
                "name": "find", "input": "key ctrl+f", "runs": latencies_ms.iter().map(run).collect::<Vec<_>>()
            }],
        }))
        .expect("a report")
    }

    #[test]
    fn repetitions_of_all_starts_are_judged_together() {
        let all = merged(vec![report(&[40.0, 60.0], Some(9_000.0)), report(&[200.0], Some(11_000.0))]).expect("two");
        let step = &all.steps[0];
        assert_eq!((step.runs.len(), step.latency_ms.map(|summary| summary.median)), (3, Some(60.0)));
        assert_eq!(all.runtime_delay.map(|delay| delay.total_ms.median), Some(10_000.0));
        assert_eq!(merged(Vec::new()), None);
    }
}
