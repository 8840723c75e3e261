//! Documents of each kind compared, and what a comparison promises.

use crate::documents::samples;
use std::collections::BTreeSet;

use brisk_core::stats::Summary;
use brisk_lab::results::{
    ALL_KINDS, Better, ChangeVerdict, ComparedMeasure, ComparisonReport, Document, FootprintReport, LaunchReport,
    ProveReport, Stage, Warning,
};
use brisk_report::{CompareError, Condition, compare};
use proptest::prelude::*;
use samples::pairs::{condition, slower};

const NOW: (&str, &str) = ("2026-11-24T07:00:00Z", "0.1.0");

fn two(baseline: &[Document], compared: &[Document]) -> Result<ComparisonReport, CompareError> {
    compare(&[condition("before", baseline), condition("after", compared)], &[], NOW)
}

/// A condition of one document.
fn one(name: &str, document: &Document) -> Condition {
    condition(name, std::slice::from_ref(document))
}

fn compared(baseline: &Document, compared: &Document) -> ComparisonReport {
    two(std::slice::from_ref(baseline), std::slice::from_ref(compared)).expect("two of a kind")
}

fn results() -> impl Iterator<Item = (&'static str, Document)> {
    samples::named().into_iter().filter(|(_, document)| document.kind() != "comparison")
}

/// What tells measures apart.
fn key(one: &ComparedMeasure) -> (String, Vec<(String, String)>, String) {
    (one.kind.clone(), one.place.clone(), one.measure.clone())
}

/// Ratios of quantities that all got slower alike stay as they were, and so do sizes and shares.
fn is_of_two(one: &ComparedMeasure) -> bool {
    ["ratio", "bytes", "percent"].contains(&one.unit.as_str())
}

#[test]
fn a_slower_device_regresses_in_every_kind_and_improves_the_other_way_round() {
    let mut kinds = BTreeSet::new();
    for (name, document) in results() {
        let slow = slower(&document, 4.0);
        let there = compared(&document, &slow);
        assert!(there.unmatched.is_empty(), "{name}: {:?}", there.unmatched);
        assert!(!there.measures.is_empty(), "{name}");
        for one in &there.measures {
            let wanted = match one.better {
                Better::Lower => 4.0,
                Better::Higher => 0.25,
                Better::Neither => continue,
            };
            let Some(ratio) = one.ratio else { continue };
            let wanted = if is_of_two(one) { 1.0 } else { wanted };
            assert!((ratio / wanted - 1.0).abs() < 1e-6, "{name}: {one:?}");
            let verdict = match one.p_value {
                None => ChangeVerdict::OneRun,
                Some(_) if is_of_two(one) => ChangeVerdict::NoChange,
                Some(_) => ChangeVerdict::Regressed,
            };
            assert_eq!(one.verdict, verdict, "{name}: {one:?}");
        }
        let back = compared(&slow, &document);
        let count =
            |report: &ComparisonReport, verdict| report.measures.iter().filter(|one| one.verdict == verdict).count();
        assert_eq!(count(&back, ChangeVerdict::Improved), count(&there, ChangeVerdict::Regressed), "{name}");
        assert_eq!(count(&back, ChangeVerdict::Regressed), 0, "{name}");
        kinds.insert(document.kind());
    }
    let all: BTreeSet<&str> = ALL_KINDS.names().into_iter().filter(|kind| *kind != "comparison").collect();
    assert_eq!(kinds, all, "a kind has no pair");
}

#[test]
fn a_document_compared_with_itself_has_no_change() {
    for (name, document) in results() {
        let report = compared(&document, &document);
        for one in &report.measures {
            assert!(one.ratio.is_none_or(|ratio| ratio == 1.0), "{name}: {one:?}");
            let changed = [ChangeVerdict::Regressed, ChangeVerdict::Improved].contains(&one.verdict);
            assert!(!changed, "{name}: {one:?}");
            assert!(one.p_value.is_none_or(|p| p > 0.999), "{name}: {one:?}");
        }
        assert!(report.differences.is_empty() && report.unmatched.is_empty(), "{name}");
    }
}

#[test]
fn every_measure_of_a_sample_is_named_once_and_reads_in_its_unit() {
    for (name, document) in results() {
        let report = compared(&document, &document);
        let keys: Vec<_> = report.measures.iter().map(key).collect();
        let text = brisk_report::terminal_of_all(&report, Some(200));
        for (i, one) in report.measures.iter().enumerate() {
            assert!(!keys[..i].contains(&keys[i]), "{name}: {:?}", keys[i]);
            let units = ["us", "ms", "s", "bytes", "bytes_per_s", "per_s", "uj", "ratio", "percent"];
            assert!(units.contains(&one.unit.as_str()), "{name}: {one:?}");
        }
        let line = text.lines().find(|line| line.contains("no change") || line.contains("one run")).expect("a measure");
        assert!(line.contains(':'), "{line}");
    }
}

/// A footprint study with a point for each list of values.
fn footprint(points: &[Vec<f64>]) -> Document {
    let point = |(i, values): (usize, &Vec<f64>)| {
        let summary = Summary::of(values).expect("finite");
        serde_json::json!({ "range_bytes": (i + 1) << 20, "bandwidth_bytes_per_s": summary })
    };
    let points: Vec<_> = points.iter().enumerate().map(point).collect();
    let report: FootprintReport = samples::on_s5(serde_json::json!({
        "block_bytes": 4096, "requests": 1024, "precondition_bytes": 0, "points": points, "drops": [],
    }));
    Document::from(report)
}

/// Launches of one app with these times until settled, which a document keeps run by run.
fn launches(times: &[f64]) -> Document {
    let mut report: LaunchReport = samples::apps::launch();
    report.sets.truncate(1);
    report.comparisons.clear();
    let set = &mut report.sets[0];
    let template = set.runs[0].clone();
    set.runs = times
        .iter()
        .map(|ms| {
            let mut run = template.clone();
            run.stages.retain(|stage| stage.stage == Stage::Settled);
            run.stages[0].at_ms = *ms;
            (run.settled_less_cpu_wait_ms, run.storage) = (None, None);
            run
        })
        .collect();
    set.stages.clear();
    Document::from(report)
}

#[test]
fn single_runs_are_used_where_a_document_has_them() {
    let report = compared(&launches(&[900.0, 1000.0, 1100.0, 1000.0]), &launches(&[1800.0, 2000.0, 2200.0, 2000.0]));
    let [one] = report.measures.as_slice() else { panic!("{:?}", report.measures) };
    assert_eq!((one.measure.as_str(), one.baseline.runs, one.verdict), ("settled", 4, ChangeVerdict::Regressed));
    // The geometric mean of the runs, not their median.
    assert!((one.baseline.centre - 997.491).abs() < 0.01, "{one:?}");
    assert!(one.ratio.is_some_and(|ratio| (ratio - 2.0).abs() < 1e-9), "{one:?}");
}

#[test]
fn too_few_runs_and_single_values_have_no_verdict() {
    let of = |baseline: &[f64], other: &[f64]| {
        let report = compared(&launches(baseline), &launches(other));
        let one = report.measures[0].clone();
        (one.verdict, one.ratio_low, one.p_value)
    };
    let three = [1000.0, 1001.0, 999.0];
    assert_eq!(of(&three, &[2000.0]), (ChangeVerdict::OneRun, None, None));
    assert_eq!(of(&[1000.0, 1000.0], &three.map(|ms| ms * 2.0)), (ChangeVerdict::TooFewRuns, None, None));
    assert_eq!(of(&three, &three.map(|ms| ms * 2.0)).0, ChangeVerdict::Regressed);
    assert_eq!(of(&three, &[0.0, 0.0, 0.0]), (ChangeVerdict::NoRatio, None, None));
    assert_eq!(of(&[0.0; 3], &[0.0; 3]).0, ChangeVerdict::NoChange);
}

#[test]
fn documents_of_a_condition_are_pooled_as_repeats() {
    // Single values, of which three documents make an interval.
    let bench = |factor: f64| slower(&Document::from(samples::bench()), factor);
    let (before, after) = ([1.0, 1.01, 0.99].map(bench), [2.0, 2.02, 1.98].map(bench));
    let report = two(&before, &after).expect("benchmarks");
    let one = report.measures.iter().find(|one| one.measure == "p99 latency").expect("latencies");
    assert_eq!((one.verdict, one.baseline.runs, one.baseline.documents), (ChangeVerdict::Regressed, 3, 3));
    assert!(one.ratio.is_some_and(|ratio| (ratio - 2.0).abs() < 1e-6), "{one:?}");
    // What varies between documents counts: within each the runs are close, yet the documents differ by as much as the
    // conditions.
    let sessions = |means: [f64; 3]| means.map(|mean| launches(&[mean * 0.999, mean, mean * 1.001]));
    let report = two(&sessions([1000.0, 1300.0, 800.0]), &sessions([1100.0, 1400.0, 900.0])).expect("launches");
    assert_eq!(report.measures[0].verdict, ChangeVerdict::NoChange, "{:?}", report.measures[0]);
    let report =
        two(&sessions([1000.0, 1300.0, 800.0])[..1], &sessions([1100.0, 1400.0, 900.0])[..1]).expect("launches");
    assert_eq!(report.measures[0].verdict, ChangeVerdict::Regressed, "{:?}", report.measures[0]);
}

#[test]
fn documents_of_several_devices_are_told_apart_and_two_single_devices_are_compared() {
    let on = |preset: &str, factor: f64| {
        let mut report = samples::footprint();
        let device = brisk_lab::results::BlockDevice { lab_preset: Some(preset.into()), ..samples::s5_device() };
        report.header.environment.device = Some(device);
        slower(&Document::from(report), factor)
    };
    let report = two(&[on("a", 1.0), on("b", 1.0)], &[on("a", 3.0), on("b", 1.0)]).expect("footprints");
    for one in &report.measures {
        let verdict = if one.place[0].1.starts_with('a') { ChangeVerdict::Regressed } else { ChangeVerdict::NoChange };
        assert_eq!((one.place[0].0.as_str(), one.verdict), ("device", verdict), "{one:?}");
    }
    let report = two(&[on("a", 1.0)], &[on("b", 1.0)]).expect("footprints");
    assert_eq!(report.measures[0].place[0].0, "load");
    let device = report.differences.iter().find(|one| one.what == "Device").expect("a difference");
    assert_eq!((device.baseline.as_str(), device.compared.as_str()), ("a (emulated)", "b (emulated)"));
}

#[test]
fn differences_of_condition_are_named_and_other_modes_warned_of() {
    let quick = samples::bench();
    let mut full = quick.clone();
    full.budget = "full".into();
    full.header.environment.kernel = "6.12.1".into();
    full.header.environment.brisk_version = "0.2.0".into();
    full.header.warnings = vec![Warning { code: "cpu_pressure".into(), text: "busy".into() }];
    let report = compared(&Document::from(quick), &Document::from(full));
    let whats: Vec<&str> = report.differences.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(whats, ["Kernel", "brisk", "Budget"]);
    let codes: Vec<&str> = report.header.warnings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["different_modes", "document_warnings"]);
    let text = brisk_report::terminal(&Document::from(report), Some(100));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Bench, budget: normal in before, full in after"), "{words}");
    assert!(words.contains("The conditions differ: Kernel 6.18.4, now 6.12.1"), "{words}");
    // Both documents may have some: one warning has them all.
    let mut loud = samples::bench();
    loud.header.warnings = vec![Warning { code: "few_repeats".into(), text: "few".into() }];
    let loud = Document::from(loud);
    let report = compared(&loud, &loud);
    let [only] = report.header.warnings.as_slice() else { panic!("{:?}", report.header.warnings) };
    assert!(only.text.starts_with("before-0.json: few_repeats; after-0.json: few_repeats."), "{}", only.text);
    // A scheduler is what the conditions are meant to differ in, a load is not.
    let (plain, mut other) = (samples::apps::loads(), samples::apps::loads());
    other.phone.scheduler = Some("bfq".into());
    let [plain, other] = [plain, other].map(Document::from);
    let report = compared(&plain, &other);
    assert_eq!(report.differences.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(), ["Scheduler of the phone"]);
    assert!(report.header.warnings.is_empty(), "{:?}", report.header.warnings);
    let mut busier = other.get::<ProveReport>().expect("a proof").clone();
    busier.conditions[1].writer.as_mut().expect("a writer").target_bytes_per_s *= 2.0;
    let report = compared(&plain, &Document::from(busier));
    assert_eq!(report.header.warnings.len(), 1, "{:?}", report.header.warnings);
    assert!(report.header.warnings[0].text.starts_with("Prove, background load: "), "{:?}", report.header.warnings);
    // Pooled documents that differ among themselves.
    let (a, mut b) = (samples::footprint(), samples::footprint());
    b.requests += 1;
    let [a, b] = [a, b].map(Document::from);
    let report = two(std::slice::from_ref(&a), &[a.clone(), b]).expect("footprints");
    assert!(report.header.warnings.iter().any(|one| one.code == "mixed_condition"), "{:?}", report.header.warnings);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let (bench, slowdown) = (Document::from(samples::bench()), Document::from(samples::slowdown()));
    let refused =
        |conditions: &[Condition], only: &[String]| compare(conditions, only, NOW).expect_err("refused").to_string();
    let said = refused(&[one("a", &bench)], &[]);
    assert!(said.contains("nothing to be compared with"), "{said}");
    let said = refused(&[one("a", &bench), one("b", &slowdown)], &[]);
    assert!(said.contains("a has documents of kind bench, b of kind slowdown"), "{said}");
    let whole = Document::from(samples::pairs::comparison());
    let said = refused(&[one("a", &bench), one("b", &whole)], &[]);
    assert!(said.contains("b-0.json is a comparison itself"), "{said}");
    let launch = |app: &str| {
        let mut report = samples::apps::launch();
        report.app = app.into();
        Document::from(report)
    };
    let said = refused(&[one("a", &launch("evince")), one("b", &launch("xterm"))], &[]);
    assert!(said.contains("no measure in common") && said.contains("xterm, cold: first process"), "{said}");
    let pair = [one("a", &bench), one("b", &bench)];
    let said = refused(&pair, &["*quick fox".into()]);
    assert!(
        said.contains("quick fox") && said.contains("bench: sequential read, 4 KiB, depth 1: throughput"),
        "{said}"
    );
    // A kind that only one of them has is listed, not refused.
    let both = [condition("a", &[slowdown.clone(), samples::named()[4].1.clone()]), one("b", &slowdown)];
    let report = compare(&both, &[], NOW).expect("slowdowns");
    assert!(report.unmatched.iter().all(|one| one.kind == "footprint" && one.only_in == "a" && one.not_in == "b"));
    assert!(!report.unmatched.is_empty());
}

#[test]
fn a_pattern_selects_measures_before_they_are_judged() {
    let (name, document) = results().next().expect("a bench");
    assert_eq!(name, "bench");
    let pair = [one("a", &document), one("b", &document)];
    let all = compare(&pair, &[], NOW).expect("benches");
    let only = |pattern: &str| compare(&pair, &[pattern.to_owned()], NOW).expect("some match");
    let reads = only("RANDOM read*4 KiB*throughput");
    assert!(!reads.measures.is_empty() && reads.measures.len() < all.measures.len());
    assert!(reads.measures.iter().all(|one| one.place[0].1 == "random read" && one.measure == "throughput"));
    // Fewer measures, narrower intervals.
    assert!(reads.interval_percent < all.interval_percent, "{} {}", reads.interval_percent, all.interval_percent);
    let of = |report: &ComparisonReport| {
        let one = report.measures.iter().find(|one| key(one) == key(&reads.measures[0])).expect("both have it");
        one.ratio_high.expect("seven runs")
    };
    assert!(of(&reads) < of(&all));
}

#[test]
fn regressions_lead_by_what_is_certain_and_only_those_beyond_the_limit_fail() {
    let around = |mean: f64, percent: f64| {
        let part = mean * percent / 100.0;
        vec![mean - part, mean - part / 2.0, mean, mean + part / 2.0, mean + part]
    };
    let before: Vec<Vec<f64>> = (0..4).map(|_| around(100.0, 1.0)).collect();
    // Less throughput is worse: 3 % for certain, half with little certainty, 20 % for certain; and one is better.
    let after = vec![around(97.0, 0.2), around(50.0, 45.0), around(80.0, 0.5), around(150.0, 1.0)];
    let report = compared(&footprint(&before), &footprint(&after));
    let order: Vec<(String, ChangeVerdict)> =
        report.measures.iter().map(|one| (one.place[1].1.clone(), one.verdict)).collect();
    let wanted = [("within 3 MiB", ChangeVerdict::Regressed), ("within 1 MiB", ChangeVerdict::Regressed)];
    assert_eq!(order[..2], wanted.map(|(place, verdict)| (place.to_owned(), verdict)), "{order:?}");
    assert!(order[2..].contains(&("within 4 MiB".into(), ChangeVerdict::Improved)), "{order:?}");
    let beyond = |percent| report.regressions_beyond(percent).map(|one| one.place[1].1.clone()).collect::<Vec<_>>();
    assert_eq!(beyond(0.0), ["within 3 MiB", "within 1 MiB"]);
    assert_eq!(beyond(5.0), ["within 3 MiB"]);
    assert_eq!(beyond(30.0), Vec::<String>::new());
}

/// Draws of a simulation, the same each time.
struct Draws(u64);

impl Draws {
    /// Uniform between 0 and 1.
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let (a, b) = (self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Runs that scatter by 5 %; with `outliers` one in ten is up to three times as large.
    fn runs(&mut self, mean: f64, runs: usize, outliers: bool) -> Vec<f64> {
        let mut run = || {
            let far = if outliers && self.uniform() < 0.1 { 1.0 + 2.0 * self.uniform() } else { 1.0 };
            mean * far * (0.05 * self.normal()).exp()
        };
        (0..runs).map(|_| run()).collect()
    }
}

const SIMULATED: usize = 300;
const MEASURES: usize = 30;

/// The most that a share of `promised` shows in this many simulations: three standard deviations above it, which one in
/// a thousand tests of a right implementation exceeds. The draws are the same each time, so the test is too.
fn at_most(promised: f64, simulated: usize) -> usize {
    let n = simulated as f64;
    (n * promised + 3.0 * (n * promised * (1.0 - promised)).sqrt()).ceil() as usize
}

#[test]
fn equal_conditions_raise_a_false_alarm_in_no_more_cases_than_promised() {
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    // Runs of each, outliers, and whether all measures of a document vary together.
    for (runs, outliers, together) in
        [(3, false, false), (5, true, false), (7, false, false), (12, false, false), (3, false, true)]
    {
        let (mut alarms, mut unadjusted) = (0, 0);
        for _ in 0..SIMULATED {
            let mut document = || {
                let common = draws.runs(100.0, runs, outliers);
                let mut point = |i: usize| {
                    if together {
                        common.iter().map(|value| value * (i + 1) as f64).collect()
                    } else {
                        draws.runs(100.0, runs, outliers)
                    }
                };
                footprint(&(0..MEASURES).map(&mut point).collect::<Vec<_>>())
            };
            let report = compared(&document(), &document());
            assert_eq!(report.measures.len(), MEASURES);
            let is_changed =
                |one: &ComparedMeasure| [ChangeVerdict::Regressed, ChangeVerdict::Improved].contains(&one.verdict);
            alarms += usize::from(report.measures.iter().any(is_changed));
            unadjusted += usize::from(report.measures.iter().any(|one| one.p_value.is_some_and(|p| p < 0.05)));
        }
        let most = at_most(0.05, SIMULATED);
        assert!(alarms <= most, "{runs} runs, outliers {outliers}, together {together}: {alarms} of {SIMULATED}");
        // The test can fail: each measure by itself would raise far more.
        if runs == 3 && !together {
            assert!(unadjusted > 3 * most, "{runs} runs: {unadjusted} of {SIMULATED}");
        }
    }
}

#[test]
fn of_called_changes_no_more_are_false_than_promised_and_true_ones_are_found() {
    let mut draws = Draws(0x2545_f491_4f6c_dd1d);
    for runs in [3, 7] {
        let (mut called, mut wrong) = (0, 0);
        for _ in 0..SIMULATED {
            let mut document = |factor: f64| {
                let mean = |i: usize| if i < MEASURES / 2 { 100.0 * factor } else { 100.0 };
                footprint(&(0..MEASURES).map(|i| draws.runs(mean(i), runs, false)).collect::<Vec<_>>())
            };
            let report = compared(&document(1.0), &document(0.6));
            let changed = report.measures.iter().filter(|one| one.verdict <= ChangeVerdict::Improved);
            for one in changed {
                called += 1;
                let range: usize = one.place[1].1.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("MiB");
                wrong += usize::from(range > MEASURES / 2);
            }
        }
        let found = (called - wrong) as f64 / (SIMULATED * MEASURES / 2) as f64;
        assert!(found > 0.95, "{runs} runs: {found} of all changes were found");
        assert!(wrong <= at_most(0.05, called), "{runs} runs: {wrong} of {called} are false");
    }
}

fn any_points() -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(1.0f64..1e4, 1..9), 1..6)
}

/// The same verdict from the other side.
fn inverse(verdict: ChangeVerdict) -> ChangeVerdict {
    match verdict {
        ChangeVerdict::Regressed => ChangeVerdict::Improved,
        ChangeVerdict::Improved => ChangeVerdict::Regressed,
        other => other,
    }
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a / b - 1.0).abs() < 1e-9,
        (None, None) => true,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn swapped_conditions_invert_ratios_and_verdicts(a in any_points(), b in any_points()) {
        let (a, b) = (footprint(&a), footprint(&b));
        let (there, back) = (compared(&a, &b), compared(&b, &a));
        prop_assert_eq!(there.measures.len(), back.measures.len());
        for one in &there.measures {
            let other = back.measures.iter().find(|other| key(other) == key(one)).expect("joined both ways");
            let inverse_of = |ratio: Option<f64>| ratio.map(|ratio| 1.0 / ratio);
            prop_assert!(near(one.ratio, inverse_of(other.ratio)), "{:?} {:?}", one, other);
            prop_assert!(near(one.ratio_low, inverse_of(other.ratio_high)), "{:?} {:?}", one, other);
            prop_assert_eq!(one.verdict, inverse(other.verdict));
            prop_assert_eq!(one.baseline, other.compared);
        }
    }

    #[test]
    fn scaling_both_conditions_changes_no_ratio(a in any_points(), b in any_points(), factor in 0.01f64..100.0) {
        let scaled = |points: &[Vec<f64>]| -> Vec<Vec<f64>> {
            points.iter().map(|values| values.iter().map(|value| value * factor).collect()).collect()
        };
        let of = |a: &_, b: &_| compared(&footprint(a), &footprint(b));
        let (plain, more) = (of(&a, &b), of(&scaled(&a), &scaled(&b)));
        for one in &plain.measures {
            let other = more.measures.iter().find(|other| key(other) == key(one)).expect("the same places");
            prop_assert!(near(one.ratio, other.ratio) && near(one.ratio_high, other.ratio_high), "{:?} \
                {:?}", one, other);
            prop_assert_eq!(one.verdict, other.verdict);
        }
    }

    #[test]
    fn an_interval_holds_its_ratio_and_excludes_1_where_the_verdict_says_so(a in any_points(), b in any_points()) {
        for one in compared(&footprint(&a), &footprint(&b)).measures {
            let changed = [ChangeVerdict::Regressed, ChangeVerdict::Improved].contains(&one.verdict);
            if let (Some(ratio), Some(low), Some(high)) = (one.ratio, one.ratio_low, one.ratio_high) {
                prop_assert!(low <= ratio && ratio <= high, "{:?}", one);
                prop_assert_eq!(changed, !(low..=high).contains(&1.0), "{:?}", one);
            } else {
                prop_assert!(!changed);
            }
        }
    }
}
