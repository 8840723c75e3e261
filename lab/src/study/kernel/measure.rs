//! Scenarios one after the other: progress, results in between, and scenarios that are refused.

use std::cell::Cell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::results::{Document, Environment, Header, KernelFidelity, KernelReport, KernelScenario, SCHEMA_VERSION};
use crate::study::kernel::arguments::Common;
use crate::vm::aims::{self, Aim};
use crate::vm::compare::{self, Found, Options};
use crate::vm::lab::Lab;
use crate::vm::scenario::Scenario;
use crate::vm::sources::Source;
use crate::vm::{Error, Watch};
use anyhow::{Context as _, bail};
use brisk_command::session::Session;

use super::found;

/// What becomes of settings that were found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keep {
    pub(super) save: bool,
    pub(super) anew: bool,
}

/// A scenario and how it is measured.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) scenario: Scenario,
    /// All schedulers of the table where none is named.
    pub(super) options: Options,
    pub(super) keep: Option<Keep>,
    pub(super) aims: Vec<Aim>,
}

/// Measures them, and writes what there is after each: hours are not lost to a power cut. `judged` is the scheduler
/// that aims are about.
pub(super) fn measure(
    source: &Source,
    parts: Vec<Part>,
    common: &Common,
    judged: Option<&str>,
) -> anyhow::Result<ExitCode> {
    common.guests.outputs.check(&source.scenarios())?;
    let session = Session::begin()?;
    let mut failed = Vec::new();
    let outcome = measured(&session, source, parts, common, judged, &mut failed);
    session.clear();
    match outcome {
        Ok(report) => {
            common.guests.outputs.write(&Document::from(report))?;
            // Each was printed when it happened; the last line on a terminal counts them.
            if !failed.is_empty() {
                brisk_program::error!("brisk: {} of the scenarios have no figures", failed.len());
            }
            Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped)) => Ok(session.was_stopped()),
        Err(error) => Err(error),
    }
}

fn measured(
    session: &Session,
    source: &Source,
    mut parts: Vec<Part>,
    common: &Common,
    judged: Option<&str>,
    failed: &mut Vec<anyhow::Error>,
) -> anyhow::Result<KernelReport> {
    let prepare = |_: f64, doing: &str| session.show(0.0, doing);
    let mut lab = Lab::prepare(source, &common.guests.kernel, Watch { stop: session.stop_flag(), progress: &prepare })?;
    lab.time_limit = common.guests.time_limit;
    lab.jobs = super::machines(common.guests.jobs);
    lab.remember(common.guests.again)?;
    for part in &mut parts {
        if part.options.schedulers.is_empty() {
            part.options.schedulers = lab.schedulers.names().map(str::to_owned).collect();
        }
    }
    let way = Way::new(&parts);
    let mut report = KernelReport {
        header: header(&lab, parts.first().and_then(|part| part.options.seeds.first()).copied().unwrap_or_default()),
        series: common.guests.kernel.clone(),
        scenarios: Vec::new(),
        aims: Vec::new(),
    };
    for (place, part) in parts.iter().enumerate() {
        let name = &part.scenario.name;
        let progress = |done: f64, doing: &str| {
            session.show(way.done(place, done), &format!("{}{name}: {doing}", way.left()));
        };
        let watch = Watch { stop: session.stop_flag(), progress: &progress };
        match one(source, &mut lab, part, common, watch) {
            Err(error) if parts.len() > 1 && is_of_one(&error) => {
                // Hours of others are not lost to it.
                let error = error.context(format!("scenario {name}"));
                session.say(&format!("brisk: {error:#}"));
                failed.push(error);
            }
            other => {
                let scenario = other.with_context(|| format!("scenario {name}"))?;
                // The scenario of a hunt says which scheduler its aims are about.
                let judged = judged.map(|judged| part.scenario.judged.as_deref().unwrap_or(judged));
                let judged = judged.into_iter().flat_map(|judged| part.aims.iter().map(move |aim| (aim, judged)));
                report.aims.extend(judged.map(|(aim, judged)| aims::judge(aim, judged, &scenario)));
                way.took_no_time(place, kept(&scenario.fidelity));
                report.scenarios.push(scenario);
            }
        }
        way.done(place, 1.0);
        report.header.duration_s = way.begun.elapsed().as_secs_f64();
        if parts.len() > 1 {
            common.guests.outputs.keep(&Document::from(report.clone()))?;
            let left = way.left();
            let left = left.trim_end_matches(": ");
            session.say(&format!(
                "{} of {}: {name}{}{left}",
                place + 1,
                parts.len(),
                if left.is_empty() { "" } else { "; " }
            ));
        }
    }
    if report.scenarios.iter().all(|one| one.rows.is_empty()) {
        let reasons: Vec<String> = report.scenarios.iter().map(refusals).collect();
        bail!(
            "nothing was measured: {}",
            failed.first().map_or_else(|| reasons.join("; "), |error| format!("{error:#}"))
        );
    }
    Ok(report)
}

/// Head of a document whose measurement begins now, with the virtual machine as its machine.
pub(crate) fn header(lab: &Lab, seed: u64) -> Header {
    Header {
        schema_version: SCHEMA_VERSION,
        started: jiff::Timestamp::now().to_string(),
        duration_s: 0.0,
        environment: Environment {
            brisk_version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: crate::results::commit(),
            kernel: lab.kernel.release.clone(),
            architecture: std::env::consts::ARCH.to_owned(),
            cpus: 1,
            path: "a virtual machine".to_owned(),
            file_system: None,
            mount_options: None,
            device: None,
            disks: Vec::new(),
        },
        io_engine: None,
        seed,
        written_bytes: 0,
        warnings: Vec::new(),
    }
}

/// One scenario with the settings that an earlier search found.
fn one(
    source: &Source,
    lab: &mut Lab,
    part: &Part,
    common: &Common,
    watch: Watch<'_>,
) -> anyhow::Result<KernelScenario> {
    let file = found::file(source, &common.guests.kernel, &part.scenario, &part.options);
    let anew = part.keep.is_none_or(|keep| keep.anew);
    let mut known = if part.options.tuned && !anew { found::read(&file)? } else { Found::new() };
    let before = known.len();
    let measured = compare::compare(lab, &part.scenario, &part.options, &mut known, watch)?;
    if known.len() > before && part.keep.is_some_and(|keep| keep.save) {
        found::save(&file, &known)?;
    }
    Ok(measured)
}

/// Whether an error says nothing of other scenarios.
fn is_of_one(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Refused { .. } | Error::TimeLimit { .. } | Error::Failed { .. }))
}

fn refusals(scenario: &KernelScenario) -> String {
    let reasons: Vec<String> = scenario.refused.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    reasons.join("; ")
}

/// Which part of the cases had been measured before.
fn kept(fidelity: &KernelFidelity) -> f64 {
    f64::from(fidelity.kept) / f64::from(fidelity.cases.max(1))
}

/// How far it is, by the guest's time.
struct Way {
    begun: Instant,
    /// Length of each part, over that of all.
    shares: Vec<f64>,
    done: Cell<f64>,
    /// What of it was there already: it says nothing of how fast the rest will go.
    kept: Cell<f64>,
}

impl Way {
    fn new(parts: &[Part]) -> Self {
        let length = |part: &Part| {
            let schedulers = part.options.schedulers.len();
            let length = compare::length_s(&part.scenario, &part.options, schedulers, schedulers);
            length.search_s + length.rows_s
        };
        let all: f64 = parts.iter().map(length).sum();
        let shares = parts.iter().map(|part| length(part) / all.max(f64::MIN_POSITIVE)).collect();
        Self { begun: Instant::now(), shares, done: Cell::new(0.0), kept: Cell::new(0.0) }
    }

    /// Of all, when `done` of a part are done.
    fn done(&self, place: usize, done: f64) -> f64 {
        self.done.set(self.shares[..place].iter().sum::<f64>() + done * self.shares[place]);
        self.done.get()
    }

    /// Of a part, so much was there before.
    fn took_no_time(&self, place: usize, kept: f64) {
        self.kept.set(self.kept.get() + kept * self.shares[place]);
    }

    /// Estimate of how long the rest takes; empty while there is none.
    fn left(&self) -> String {
        self.left_after(self.begun.elapsed())
    }

    /// The same, when it began so long ago.
    fn left_after(&self, took: Duration) -> String {
        let done = self.done.get();
        let measured = done - self.kept.get();
        if measured < 0.02 || took.as_secs() < 10 || done >= 1.0 {
            return String::new();
        }
        format!("about {:.0} min left: ", (took.as_secs_f64() * (1.0 - done) / measured / 60.0).ceil())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_that_of_its_parts() {
        let way = way();
        assert_eq!((way.done(0, 0.5), way.done(0, 1.0), way.done(1, 1.0)), (0.125, 0.25, 1.0));
        assert_eq!(way.left_after(Duration::from_secs(600)), "", "nothing is left");
    }

    #[test]
    fn what_is_left_takes_as_long_as_what_was_measured_did() {
        let way = way();
        way.done(0, 1.0);
        assert_eq!(way.left_after(Duration::from_secs(600)), "about 30 min left: ");
        way.took_no_time(0, 0.5);
        assert_eq!(way.left_after(Duration::from_secs(600)), "about 60 min left: ");
        way.took_no_time(0, 0.5);
        assert_eq!(way.left_after(Duration::from_secs(600)), "", "nothing was measured that would tell");
    }

    fn way() -> Way {
        Way { begun: Instant::now(), shares: vec![0.25, 0.75], done: Cell::new(0.0), kept: Cell::new(0.0) }
    }
}
