//! Figures of a scheduler from the results of jobs: sides of a case, summaries over seeds, slowdowns.

use crate::results::{KernelMeasure, KernelSide};
use brisk_core::stats::{Summary, paired_ratio};

use crate::vm::case::{Case, Setup};
use crate::vm::console::{CaseOutput, JobLine};
use crate::vm::refuse::late;
use crate::vm::scenario::{JobSpec, Load, Scenario, Side};
use crate::vm::search::Tried;

/// Result of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub case: Case,
    /// Sides, or why there are none.
    pub sides: Result<Vec<SideFigures>, String>,
    /// A starved job, which finished no request while others of its side did: its latency is unknown, so there are no
    /// figures. A search, with its short loads, uses the side nevertheless.
    pub starved: Option<String>,
    /// All sides, where one of them finished no request: its latencies are at least the time of the load, and its
    /// throughput is at most one request in that time. Empty otherwise.
    pub bounds: Vec<SideFigures>,
}

impl Outcome {
    /// A case without figures.
    #[must_use]
    pub fn refused(case: &Case, why: &str) -> Self {
        Self { case: case.clone(), sides: Err(why.to_owned()), starved: None, bounds: Vec::new() }
    }
}

/// Combined result of the jobs of a side in one case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideFigures {
    pub side: Side,
    pub jobs: u32,
    pub delay_ns_mean: f64,
    /// Of the slowest job.
    pub delay_ns_p50: f64,
    /// Of the slowest job.
    pub delay_ns_p99: f64,
    pub delay_ns_max: f64,
    pub requests_per_s: f64,
    pub bytes_per_s: f64,
    /// Mean length of a job, when all are finite.
    pub job_s: Option<f64>,
}

/// The sides of a case, from its output.
#[must_use]
pub fn outcome(scenario: &Scenario, case: &Case, output: &CaseOutput) -> Outcome {
    if let Some(why) = output.failed.clone().or_else(|| late(output)) {
        return Outcome::refused(case, &why);
    }
    let all = match sides(scenario, case, output) {
        Ok(all) => all,
        Err(why) => return Outcome::refused(case, &why),
    };
    let none = all.iter().find(|(_, finished)| !finished).map(|(figures, _)| figures.side);
    let all: Vec<SideFigures> = all.into_iter().map(|(figures, _)| figures).collect();
    let (sides, bounds) = match none {
        Some(side) => (Err(format!("no job of the {side} side finished a request: let the load be longer")), all),
        None => (Ok(all), Vec::new()),
    };
    let starved = output.jobs.iter().find(|job| job.requests == 0);
    let starved =
        starved.map(|job| format!("{} finished no request in {} s: let the load be longer", job.job, job.seconds));
    Outcome { case: case.clone(), sides, starved, bounds }
}

/// The sides of a case, and whether each finished a request.
fn sides(scenario: &Scenario, case: &Case, output: &CaseOutput) -> Result<Vec<(SideFigures, bool)>, String> {
    let mut all = Vec::new();
    for side in case.load(scenario).sides() {
        let specs: Vec<&JobSpec> = case.jobs(scenario).filter(|job| job.side == side).collect();
        if specs.is_empty() {
            continue;
        }
        let mut jobs: Vec<&JobLine> = Vec::new();
        for spec in &specs {
            let named = |job: &&JobLine| job.job.rsplit_once('.').is_some_and(|(name, _)| name == spec.name);
            let of: Vec<&JobLine> = output.jobs.iter().filter(named).collect();
            if of.len() != spec.count as usize {
                return Err(format!("{} of {} jobs '{}' reported figures", of.len(), spec.count, spec.name));
            }
            jobs.extend(of);
        }
        let finished = jobs.iter().any(|job| job.requests > 0);
        let figures = together(side, &jobs, specs.iter().all(|spec| spec.is_finite()));
        all.push((if finished { figures } else { figures.none_in(jobs[0].seconds) }, finished));
    }
    Ok(all)
}

fn together(side: Side, jobs: &[&JobLine], finite: bool) -> SideFigures {
    let requests: u64 = jobs.iter().map(|job| job.requests).sum();
    let most = |of: fn(&JobLine) -> f64| jobs.iter().map(|job| of(job)).fold(0.0, f64::max);
    let weighted: f64 = jobs.iter().map(|job| job.latency_ns.mean * job.requests as f64).sum();
    // Finite jobs end one by one: the combined length is that of the longest.
    let longest_s = most(|job| job.seconds);
    let rate = |of: fn(&JobLine) -> u64| -> f64 {
        if finite {
            jobs.iter().map(|job| of(job)).sum::<u64>() as f64 / longest_s
        } else {
            jobs.iter().map(|job| of(job) as f64 / job.seconds).sum()
        }
    };
    SideFigures {
        side,
        jobs: u32::try_from(jobs.len()).unwrap_or(u32::MAX),
        delay_ns_mean: weighted / requests.max(1) as f64,
        delay_ns_p50: most(|job| job.latency_ns.p50),
        delay_ns_p99: most(|job| job.latency_ns.p99),
        delay_ns_max: most(|job| job.latency_ns.max),
        requests_per_s: rate(|job| job.requests),
        bytes_per_s: rate(|job| job.bytes),
        job_s: finite.then(|| jobs.iter().map(|job| job.seconds).sum::<f64>() / jobs.len().max(1) as f64),
    }
}

impl SideFigures {
    /// Bounds of a side that finished no request in `seconds`.
    fn none_in(self, seconds: f64) -> Self {
        let ns = seconds * 1e9;
        let rate = 1.0 / seconds.max(1e-9);
        Self {
            delay_ns_mean: ns,
            delay_ns_p50: ns,
            delay_ns_p99: ns,
            delay_ns_max: ns,
            requests_per_s: rate,
            bytes_per_s: rate * crate::flash::PAGE_BYTES as f64,
            job_s: None,
            ..self
        }
    }

    /// The cost that slowdowns compare: the time of a finite job, otherwise the mean response time.
    fn cost(&self) -> f64 {
        self.job_s.unwrap_or(self.delay_ns_mean)
    }
}

/// The figures of `setup`, load by load, over the seeds in `outcomes`.
///
/// # Errors
/// The first reason why a case has no figures.
pub fn measures(scenario: &Scenario, setup: &Setup, outcomes: &[Outcome]) -> Result<Vec<KernelMeasure>, String> {
    let of_setup = |outcome: &&Outcome| outcome.case.setup == *setup;
    if let Some(why) = outcomes.iter().filter(of_setup).find_map(|outcome| outcome.sides.as_ref().err()) {
        return Err(why.clone());
    }
    if let Some(why) = outcomes.iter().filter(of_setup).find_map(|outcome| outcome.starved.as_ref()) {
        return Err(why.clone());
    }
    scenario
        .loads
        .iter()
        .enumerate()
        .map(|(place, load)| {
            let mut of_load: Vec<&Outcome> =
                outcomes.iter().filter(of_setup).filter(|outcome| outcome.case.load == place).collect();
            of_load.sort_by_key(|outcome| outcome.case.seed);
            measure(load, &of_load)
        })
        .collect()
}

fn measure(load: &Load, outcomes: &[&Outcome]) -> Result<KernelMeasure, String> {
    let runs = |side: Side, alone: Option<Side>| -> Vec<SideFigures> {
        let chosen = outcomes.iter().filter(|outcome| outcome.case.alone == alone);
        let sides = chosen.filter_map(|outcome| outcome.sides.as_ref().ok());
        sides.filter_map(|sides| sides.iter().find(|figures| figures.side == side).copied()).collect()
    };
    let mut sides = Vec::new();
    for side in load.sides() {
        let (mixed, alone) = (runs(side, None), runs(side, Some(side)));
        let over = |of: fn(&SideFigures) -> f64| {
            let values: Vec<f64> = mixed.iter().map(of).collect();
            Summary::of(&values).ok_or_else(|| format!("'{}' has no figures of its {side} side", load.name))
        };
        let costs = |of: &[SideFigures]| of.iter().map(SideFigures::cost).collect::<Vec<f64>>();
        let jobs_s: Vec<f64> = mixed.iter().filter_map(|figures| figures.job_s).collect();
        sides.push(KernelSide {
            side: side.to_string(),
            jobs: mixed.first().map_or(0, |figures| figures.jobs),
            delay_us_mean: over(|figures| figures.delay_ns_mean / 1e3)?,
            delay_us_p50: over(|figures| figures.delay_ns_p50 / 1e3)?,
            delay_us_p99: over(|figures| figures.delay_ns_p99 / 1e3)?,
            delay_us_max: over(|figures| figures.delay_ns_max / 1e3)?,
            requests_per_s: over(|figures| figures.requests_per_s)?,
            bytes_per_s: over(|figures| figures.bytes_per_s)?,
            job_s: Summary::of(&jobs_s),
            slowdown: (alone.len() == mixed.len()).then(|| paired_ratio(&costs(&mixed), &costs(&alone))).flatten(),
        });
    }
    Ok(KernelMeasure { load: load.name.clone(), sides })
}

/// The objective of the search for a setting: geometric means over the loads of the mean latency of the foreground
/// sides and of the throughput of the others.
#[must_use]
pub fn tried(setup: &Setup, outcomes: &[Outcome]) -> Tried {
    let mut delays = Vec::new();
    let mut rates = Vec::new();
    let mut failed = false;
    for outcome in outcomes.iter().filter(|outcome| outcome.case.setup == *setup && outcome.case.alone.is_none()) {
        let Ok(sides) = &outcome.sides else {
            failed = true;
            continue;
        };
        let waits = sides.iter().find(|figures| matches!(figures.side, Side::Sync | Side::Read));
        // The only side of a load is measured by its throughput.
        let waits = waits.filter(|_| sides.len() > 1).map(|figures| figures.side);
        for figures in sides {
            if waits == Some(figures.side) {
                delays.push(figures.delay_ns_mean);
            } else {
                rates.push(figures.bytes_per_s);
            }
        }
    }
    let mean = |values: &[f64]| {
        let product = values.iter().map(|value| value.ln()).sum::<f64>();
        (!failed && !values.is_empty()).then(|| (product / values.len() as f64).exp())
    };
    Tried { settings: setup.settings.clone(), delay: mean(&delays), throughput: mean(&rates) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vm::case::cases;
    use crate::vm::console::LatencyNs;

    const TEXT: &str = r#"
title = "t"
question = "q?"
device = { preset = "ufs-3.1", size = "256MiB" }
[[load]]
name = "beside"
alone = true
[[load.job]]
name = "reader"
side = "read"
count = 2
probe = "op=read stop_bytes=1MiB"
[[load.job]]
name = "writer"
side = "write"
probe = "op=write stop_bytes=1MiB"
"#;

    fn job(name: &str, requests: u64, seconds: f64, mean: f64) -> JobLine {
        let latency_ns = LatencyNs { mean, p50: mean, p99: 2.0 * mean, max: 3.0 * mean };
        JobLine { job: name.to_owned(), requests, bytes: requests * 4096, seconds, latency_ns, errors: 0 }
    }

    fn outcomes(scenario: &Scenario, setup: &Setup) -> Vec<Outcome> {
        cases(scenario, setup, &[1, 2, 3])
            .iter()
            .map(|case| {
                let slower = if case.alone.is_none() { 1.5 } else { 1.0 } * (1.0 + 0.01 * case.seed as f64);
                let all = [
                    (Side::Read, job("reader.0", 256, 1.0 * slower, 4e5)),
                    (Side::Read, job("reader.1", 768, 2.0 * slower, 8e5)),
                    (Side::Write, job("writer.0", 256, 4.0, 9e5)),
                ];
                let kept = all.into_iter().filter(|(side, _)| case.alone.is_none_or(|alone| alone == *side));
                let output = CaseOutput { jobs: kept.map(|(_, job)| job).collect(), ..CaseOutput::default() };
                outcome(scenario, case, &output)
            })
            .collect()
    }

    fn setup() -> Setup {
        Setup { scheduler: "bfq".to_owned(), settings: Default::default() }
    }

    #[test]
    fn sides_combine_their_jobs_and_slowdowns_pair_seeds() {
        let scenario = Scenario::parse("t", TEXT, Path::new("/nowhere")).expect("valid");
        let measures = measures(&scenario, &setup(), &outcomes(&scenario, &setup())).expect("figures");
        let read = measures[0].side("read").expect("readers");
        assert_eq!((read.jobs, read.delay_us_mean.count), (2, 3));
        assert_eq!(read.delay_us_mean.median, 700.0, "mean over requests: (256 x 400 + 768 x 800) / 1024");
        assert_eq!(read.delay_us_p99.median, 1600.0, "of the slower reader");
        let rate = 1024.0 / (2.0 * 1.5 * 1.02);
        assert!((read.requests_per_s.median - rate).abs() < 1e-9, "both readers end with the longer one");
        assert!((read.slowdown.expect("alone too").median - 1.5).abs() < 1e-9);
        assert_eq!(measures[0].side("write").expect("a writer").slowdown.expect("alone too").median, 1.0);
    }

    #[test]
    fn a_job_without_a_result_leaves_no_figures() {
        let scenario = Scenario::parse("t", TEXT, Path::new("/nowhere")).expect("valid");
        let case = &cases(&scenario, &setup(), &[1])[0];
        let output = CaseOutput { jobs: vec![job("reader.0", 1, 1.0, 1.0)], ..CaseOutput::default() };
        let outcome = outcome(&scenario, case, &output);
        assert_eq!(outcome.sides, Err("1 of 2 jobs 'reader' reported figures".to_owned()));
        assert_eq!(tried(&setup(), std::slice::from_ref(&outcome)).delay, None);
        assert!(measures(&scenario, &setup(), &[outcome]).is_err());
    }

    #[test]
    fn a_case_whose_device_was_late_leaves_no_figures() {
        let scenario = Scenario::parse("t", TEXT, Path::new("/nowhere")).expect("valid");
        let case = &cases(&scenario, &setup(), &[1])[0];
        let of = |lateness_ns: f64| {
            let jobs = ["reader.0", "reader.1", "writer.0"].map(|name| job(name, 10, 1.0, 4e5)).to_vec();
            let counters = [("lateness_mean_ns".to_owned(), lateness_ns)].into();
            outcome(&scenario, case, &CaseOutput { jobs, counters, ..CaseOutput::default() })
        };
        assert!(of(1_900.0).sides.is_ok());
        let why = measures(&scenario, &setup(), &[of(2_100.0)]).expect_err("late");
        assert!(why.contains("2.10 us late"), "{why}");
    }

    #[test]
    fn a_starved_job_leaves_no_figures_but_counts_in_a_search() {
        let scenario = Scenario::parse("t", TEXT, Path::new("/nowhere")).expect("valid");
        let case = &cases(&scenario, &setup(), &[1])[0];
        let of = |requests: [u64; 3]| {
            let jobs = ["reader.0", "reader.1", "writer.0"].iter().zip(requests);
            let jobs = jobs.map(|(name, requests)| job(name, requests, 1.0, 4e5)).collect();
            outcome(&scenario, case, &CaseOutput { jobs, ..CaseOutput::default() })
        };
        let one = of([10, 0, 10]);
        let delay = tried(&setup(), std::slice::from_ref(&one)).delay.expect("a reader waits");
        assert!((delay - 4e5).abs() < 1.0);
        let one_more = one.clone();
        assert!(measures(&scenario, &setup(), &[one]).expect_err("starved").contains("reader.1 finished no request"));
        let side = of([0, 0, 10]);
        let read = side.bounds.iter().find(|figures| figures.side == Side::Read).expect("readers");
        assert_eq!((read.delay_ns_mean, read.requests_per_s), (1e9, 1.0), "of a load of a second");
        assert_eq!(one_more.bounds, [], "its figures are no bounds");
        assert_eq!(tried(&setup(), std::slice::from_ref(&side)).delay, None, "nothing is not fast");
        assert!(measures(&scenario, &setup(), &[side]).expect_err("starved").contains("read side"));
    }

    #[test]
    fn the_search_gets_latency_and_throughput() {
        let scenario = Scenario::parse("t", TEXT, Path::new("/nowhere")).expect("valid");
        let figures = tried(&setup(), &outcomes(&scenario, &setup()));
        assert!((figures.delay.expect("readers wait") - 7e5).abs() < 1.0);
        assert!((figures.throughput.expect("a writer") - 256.0 * 4096.0 / 4.0).abs() < 1.0);
    }
}
