//! Bounds of valid figures: for a boot, cases that are not reproduced, kernel problems and failed requests; for a case,
//! late timers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::vm::console::{CaseOutput, Console};

/// Mean lateness of the device's timer above which its times are not those of the model.
pub const LATENESS_NS_MEAN_MAX: f64 = 2_000.0;
/// Difference between a case and its repeat in the same boot above which its cases cannot be compared.
pub const REPEAT_PERCENT_MAX: f64 = 1.0;
/// The same for the short cases of a search, which vary more and only rank settings.
pub const SEARCH_REPEAT_PERCENT_MAX: f64 = 10.0;
/// If seeds of the same case differ by more than a repeat may, a repeat may differ as much, but at most by this. The
/// spread of the figures includes that variation.
pub const SEEDS_PERCENT_MAX: f64 = 10.0;
/// Least number of seeds to estimate their spread.
const SEEDS_MIN: usize = 3;
const LATENESS: &str = "lateness_mean_ns";

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Fidelity {
    /// Largest mean lateness of a case.
    pub lateness_ns_mean: f64,
    /// Difference of all requests between the first case and its repeat.
    pub repeat_percent: f64,
    /// Largest such difference among equal jobs: of 600 requests of a reader, 6 more or fewer are chance.
    pub repeat_percent_of_jobs: f64,
    /// Spread of the first case's seeds; 0 with too few of them.
    #[serde(default)]
    pub seeds_percent: f64,
}

impl Fidelity {
    /// Most difference of a repeat, in percent: `repeat_percent_max`, or the spread of the first case's seeds.
    #[must_use]
    pub fn repeat_percent_allowed(&self, repeat_percent_max: f64) -> f64 {
        repeat_percent_max.max(self.seeds_percent.min(SEEDS_PERCENT_MAX))
    }

    /// Whether the first case was reproduced.
    #[must_use]
    pub fn repeated(&self, repeat_percent_max: f64) -> bool {
        self.repeat_percent <= self.repeat_percent_allowed(repeat_percent_max)
    }
}

/// Result of the check.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    Good(Fidelity),
    /// The first case differs too much from its repeat, with the message: its setting has no figures, and the others
    /// are unknown.
    NotRepeated(String),
}

/// Checks a boot against the bounds. Of the planned `cases` the last repeats the first and may differ from it by
/// `repeat_percent_max`, or by the spread of `seeds`, the indices of all seeds of the first case.
///
/// # Errors
/// The first violated bound.
pub fn judge(console: &Console, cases: usize, seeds: &[usize], repeat_percent_max: f64) -> Result<Judged, String> {
    if let Some(words) = console.complaints.first() {
        return Err(format!("the kernel complains: {words}"));
    }
    if let Some(words) = console.failed.first() {
        return Err(words.clone());
    }
    if !console.ended {
        return Err(format!("the guest ended early, in case {} of {cases}", console.cases.len()));
    }
    let in_order = console.cases.iter().enumerate().all(|(place, case)| case.index == place && case.ended);
    if console.cases.len() != cases || !in_order {
        return Err(format!("{} of {cases} cases are whole", console.cases.iter().filter(|case| case.ended).count()));
    }
    let mut fidelity = Fidelity::default();
    for case in &console.cases {
        if case.failed.is_some() {
            continue;
        }
        let place = case.index;
        if let Some(job) = case.jobs.iter().find(|job| job.errors > 0) {
            return Err(format!("case {place}: {} requests of {} failed", job.errors, job.job));
        }
        let lateness_ns = lateness_ns(case)
            .ok_or_else(|| format!("case {place}: the device does not report its lateness ({LATENESS})"))?;
        // Only this case has no figures; others may have been in time.
        if late(case).is_none() {
            fidelity.lateness_ns_mean = fidelity.lateness_ns_mean.max(lateness_ns);
        }
    }
    if let [first, .., last] = console.cases.as_slice() {
        (fidelity.repeat_percent, fidelity.repeat_percent_of_jobs) = differences_percent(first, last)?;
        fidelity.seeds_percent = seeds_percent(seeds.iter().filter_map(|place| console.cases.get(*place)));
        if !fidelity.repeated(repeat_percent_max) {
            let allowed = fidelity.repeat_percent_allowed(repeat_percent_max);
            return Ok(Judged::NotRepeated(format!(
                "the first case differs from its repeat by {:.2} %, {} % are allowed",
                fidelity.repeat_percent,
                (allowed * 100.0).round() / 100.0
            )));
        }
    }
    Ok(Judged::Good(fidelity))
}

fn lateness_ns(case: &CaseOutput) -> Option<f64> {
    case.counters.get(LATENESS).copied()
}

/// Why the times of a case are not those of the model, if so: with a saturated processor, the device's timer is late.
#[must_use]
pub fn late(case: &CaseOutput) -> Option<String> {
    let lateness_ns = lateness_ns(case).filter(|ns| *ns > LATENESS_NS_MEAN_MAX || ns.is_nan())?;
    let (us, most_us) = (lateness_ns / 1e3, LATENESS_NS_MEAN_MAX / 1e3);
    Some(format!("the device's timer was {us:.2} us late on average, {most_us:.0} us are allowed"))
}

/// Differences of the rates of two cases: of all jobs together, and of the class of jobs that differs most.
fn differences_percent(first: &CaseOutput, repeat: &CaseOutput) -> Result<(f64, f64), String> {
    let (before, after) = (rates(first), rates(repeat));
    let same = before.keys().eq(after.keys()) && first.jobs.len() == repeat.jobs.len();
    if first.failed.is_some() != repeat.failed.is_some() || !same {
        return Err("the first case and its repeat ended differently".to_owned());
    }
    // Two rates of zero are equal, and refused elsewhere.
    let difference = |a: f64, b: f64| (a - b).abs() / a.max(b).max(f64::MIN_POSITIVE) * 100.0;
    let all = difference(before.values().sum(), after.values().sum());
    let most = before.values().zip(after.values()).map(|(a, b)| difference(*a, *b)).fold(0.0, f64::max);
    Ok((all, most))
}

/// Spread of the rates of all jobs together among cases; 0 with too few.
fn seeds_percent<'a>(cases: impl Iterator<Item = &'a CaseOutput>) -> f64 {
    let all: Vec<f64> = cases.filter(|case| case.failed.is_none()).map(|case| rates(case).values().sum()).collect();
    if all.len() < SEEDS_MIN {
        return 0.0;
    }
    let (least, most) = all.iter().fold((f64::MAX, 0.0_f64), |(least, most), of| (least.min(*of), most.max(*of)));
    (most - least) / most.max(f64::MIN_POSITIVE) * 100.0
}

/// Requests a second by class of equal jobs.
fn rates(case: &CaseOutput) -> BTreeMap<&str, f64> {
    let mut rates = BTreeMap::new();
    for job in &case.jobs {
        let name = job.job.rsplit_once('.').map_or(job.job.as_str(), |(name, _)| name);
        *rates.entry(name).or_default() += job.requests as f64 / job.seconds.max(1e-9);
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::console::parse;

    fn boot<const N: usize>(late: &str, requests: [u64; N], more: &str) -> Console {
        let mut text = String::new();
        for (i, requests) in requests.iter().enumerate() {
            text.push_str(&format!(
                "@ {{\"case\":{i}}}\n@ {{\"job\":\"r.0\",\"requests\":{requests},\"bytes\":4096,\"seconds\":1.0,\
                 \"latency_ns\":{{\"mean\":1,\"p50\":1,\"p99\":1,\"max\":1}},\"errors\":0}}\n\
                 @ {{\"counters\":\"case\"{late}}}\n@ {{\"case_end\":{i}}}\n"
            ));
        }
        parse(&format!("{text}{more}@ {{\"end\":true}}\n"))
    }

    fn good(console: &Console) -> Fidelity {
        match judge(console, console.cases.len(), &[0], REPEAT_PERCENT_MAX) {
            Ok(Judged::Good(fidelity)) => fidelity,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_good_boot_has_figures() {
        let fidelity = good(&boot(",\"lateness_mean_ns\":600", [1000, 1005], ""));
        assert_eq!(fidelity.lateness_ns_mean, 600.0);
        assert!((0.4..0.6).contains(&fidelity.repeat_percent));
    }

    #[test]
    fn small_counts_may_differ_by_chance_when_the_total_agrees() {
        let text = |few: u64| {
            let job = |name: &str, requests: u64| {
                format!(
                    "@ {{\"job\":\"{name}.0\",\"requests\":{requests},\"bytes\":4096,\"seconds\":2.0,\
                     \"latency_ns\":{{\"mean\":1,\"p50\":1,\"p99\":1,\"max\":1}}}}\n"
                )
            };
            let counters = "@ {\"counters\":\"case\",\"lateness_mean_ns\":600}\n@ {\"case_end\":true}\n";
            job("reader", few) + &job("writer", 10_000) + counters
        };
        let console = format!("@ {{\"case\":0}}\n{}@ {{\"case\":1}}\n{}@ {{\"end\":true}}\n", text(600), text(612));
        let fidelity = good(&parse(&console));
        assert!(fidelity.repeat_percent < 0.2 && fidelity.repeat_percent_of_jobs > 1.9, "{fidelity:?}");
    }

    #[test]
    fn a_late_case_has_no_figures_and_does_not_affect_others() {
        let mut console = boot(",\"lateness_mean_ns\":600", [1000, 1005], "");
        assert_eq!(late(&console.cases[0]), None);
        console.cases[1].counters.insert(LATENESS.to_owned(), 2_100.0);
        assert_eq!(good(&console).lateness_ns_mean, 600.0);
        assert!(late(&console.cases[1]).is_some_and(|why| why.contains("2.10 us late")));
    }

    #[test]
    fn a_repeat_may_differ_by_the_spread_of_the_seeds() {
        let judged = |requests: [u64; 5], seeds: &[usize]| {
            judge(&boot(",\"lateness_mean_ns\":600", requests, ""), 5, seeds, REPEAT_PERCENT_MAX).expect("whole")
        };
        let repeated = |judged: &Judged| matches!(judged, Judged::Good(_));
        assert!(repeated(&judged([1000, 960, 970, 5, 970], &[0, 1, 2])), "3 %, and seeds differ by 4 %");
        assert!(!repeated(&judged([1000, 960, 970, 5, 950], &[0, 1, 2])), "5 %, and seeds differ by 4 %");
        assert!(!repeated(&judged([1000, 960, 970, 5, 970], &[0, 1])), "two tell nothing");
        assert!(!repeated(&judged([1000, 700, 800, 5, 850], &[0, 1, 2])), "15 % are too much whatever seeds do");
        assert!(repeated(&judged([1000, 1000, 1000, 5, 995], &[0, 1, 2])), "0.5 %, and seeds do not differ");
        let Judged::NotRepeated(why) = judged([1000, 960, 970, 5, 950], &[0, 1, 2]) else { panic!("it is refused") };
        assert!(why.contains("by 5.00 %, 4 % are allowed"), "{why}");
    }

    #[test]
    fn every_bound_refuses() {
        let good = ",\"lateness_mean_ns\":600";
        let refuse = |console: &Console, cases: usize, word: &str| {
            let why = judge(console, cases, &[0], REPEAT_PERCENT_MAX).expect_err(word);
            assert!(why.contains(word), "{why} does not contain {word}");
        };
        refuse(&boot("", [1000, 1000], ""), 2, "does not report its lateness");
        let judged = |bound: f64| judge(&boot(good, [1000, 1012], ""), 2, &[0], bound).expect("no other bound");
        let words = "the first case differs from its repeat by 1.19 %, 1 % are allowed";
        assert_eq!(judged(REPEAT_PERCENT_MAX), Judged::NotRepeated(words.to_owned()));
        assert!(matches!(judged(SEARCH_REPEAT_PERCENT_MAX), Judged::Good(_)), "good enough for a search");
        refuse(&boot(good, [1000, 1000], "[ 9.9] WARNING: CPU: 0\n"), 2, "complains");
        refuse(&boot(good, [1000, 1000], ""), 3, "2 of 3 cases");
        let mut early = boot(good, [1000, 1000], "");
        early.ended = false;
        refuse(&early, 2, "ended early");
        let mut failing = boot(good, [1000, 1000], "");
        failing.cases[0].jobs[0].errors = 3;
        refuse(&failing, 2, "3 requests of r.0 failed");
        let mut other = boot(good, [1000, 1000], "");
        other.cases[1].jobs.clear();
        refuse(&other, 2, "ended differently");
    }
}
