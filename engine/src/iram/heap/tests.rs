//! Thresholds of all modes: properties, and a family of launches on which the dissertation's findings hold.

use proptest::prelude::*;

use super::arx::Order;
use super::cross_validation::{TRACE_SAMPLES, TRACES, cross_validate};
use super::threshold::threshold_bytes;
use brisk_core::random::Random;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const MB: f64 = 1e6;
const MODES: [Mode; 2] = [Mode::Adaptive, Mode::Paper];

/// A launch as in figure 5.5: it climbs for ten seconds, then stands at a level of its own, and wavers.
fn launch_curve(noise: &mut Random) -> Vec<f64> {
    let (level, slow, mut waver) = (150.0 + 10.0 * noise.normal(), 2.5 + 0.3 * noise.normal(), 0.0);
    let second = |t: usize| {
        waver = 0.7 * waver + 4.0 * noise.normal();
        (level * (1.0 - (-(t as f64) / slow).exp()) + waver).max(1.0) * MB
    };
    (0..TRACE_SAMPLES).map(second).collect()
}

/// Eleven traces: the first is an earlier run, and the others follow it and themselves with known coefficients.
fn family(seed: u64) -> Vec<Vec<f64>> {
    let mut noise = Random(seed);
    let earlier = launch_curve(&mut noise);
    let mut traces = vec![earlier.clone()];
    for _ in 1..TRACES {
        let mut trace = vec![earlier[0], earlier[1]];
        for t in 2..TRACE_SAMPLES {
            let known = 0.9 * trace[t - 1] - 0.4 * trace[t - 2] + 0.5 * earlier[t];
            trace.push(known + 5.0 * MB * noise.normal());
        }
        traces.push(trace);
    }
    traces
}

#[test]
fn of_a_process_with_two_past_values_and_one_earlier_run_p_2_and_q_1_is_found() {
    let mut wins = 0;
    for seed in 0..20 {
        let table = cross_validate(&family(seed), 0).expect("eleven traces");
        let least = |among: fn(Order) -> bool| table.least(among).and_then(|cell| cell.rmse).expect("predicted");
        let both = least(|order| order.past > 0 && order.historical > 0);
        // What table 5.2 shows: both kinds of data are better than either alone.
        assert!(both < least(|order| order.historical == 0) && both < least(|order| order.past == 0), "seed {seed}");
        // Three or more coefficients too many fit noise a little better by chance.
        let paper = table.rmse(Order::PAPER).expect("predicted");
        assert!(paper < both * 1.02 && (4.5 * MB..5.5 * MB).contains(&paper), "seed {seed}: {paper}");
        wins += u32::from(table.best().expect("predicted").order == Order::PAPER);
    }
    assert!(wins >= 8, "p = 2 and q = 1 was best in {wins} of 20 families");
}

#[test]
fn more_alpha_covers_more_and_two_covers_nearly_all() {
    let traces = family(7);
    let rmse = cross_validate(&traces, 0).and_then(|table| table.rmse(Order::PAPER)).expect("predicted");
    let (pairs, tested) = (&traces[2..], &traces[1]);
    let pairs: Vec<_> = pairs.iter().map(|current| arx::Pair { current, historical: &traces[0] }).collect();
    let model = arx::Model::fit(Order::PAPER, &pairs).expect("fits");
    let pair = arx::Pair { current: tested, historical: &traces[0] };
    let covered = |alpha: f64| {
        let held = |(predicted, real): (f64, f64)| threshold_bytes(predicted, alpha, rmse) as f64 >= real;
        let of: Vec<bool> = model.predictions(&pair).map(held).collect();
        of.iter().filter(|&&held| held).count() as f64 / of.len() as f64
    };
    let shares = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(covered);
    assert!(shares.is_sorted(), "{shares:?}");
    // The published 45, 81, 96 and 98 % are those of alpha 0, 1, 2, 3: so normal errors would have it.
    assert!((0.3..0.7).contains(&shares[0]) && shares[2] > 0.9, "{shares:?}");
}

#[test]
fn figure_5_6_agrees_with_its_own_error_and_not_with_table_5_2() {
    let exceeded = |rmse: f64| 29.20 - threshold::ALPHA * rmse;
    assert!((exceeded(5.33) - 18.55f64).abs() < 0.02);
    assert!((exceeded(5.95) - 18.55f64).abs() > 1.0);
    assert_eq!(threshold_bytes(100.2, 2.0, 5.0), 111);
    assert_eq!([threshold_bytes(-50.0, 2.0, 5.0), threshold_bytes(f64::NAN, 2.0, 5.0)], [0, 0]);
    assert_eq!(threshold_bytes(f64::MAX, 2.0, f64::MAX), u64::MAX);
}

/// Runs an app once, a sample a second; gives the thresholds with the needs that they were for.
fn run_once(heap: &mut Heap, app: &str, begin_ns: u64, needs: &[u64]) -> Vec<(u64, u64)> {
    heap.launch_began(app, begin_ns);
    let mut set = Vec::new();
    for (at, need) in (0..).zip(needs) {
        set.push(heap.sample(app, begin_ns + at * SECOND_NS, *need));
    }
    heap.ended(app);
    set.iter().zip(&needs[1..]).map(|(threshold, need)| (threshold.bytes, *need)).collect()
}

fn rule_of(heap: &mut Heap, app: &str, at_ns: u64, need_bytes: u64) -> String {
    heap.sample(app, at_ns, need_bytes).reason.rule.into_owned()
}

#[test]
fn paper_mode_keeps_the_default_for_three_seconds_and_predicts_afterwards() {
    let mut heap = Heap::new(Mode::Paper);
    let traces = family(3);
    for (nth, trace) in (0..).zip(&traces) {
        let needs: Vec<u64> = trace.iter().map(|bytes| *bytes as u64).collect();
        run_once(&mut heap, "game", nth * 100 * SECOND_NS, &needs);
    }
    let begin_ns = 5_000 * SECOND_NS;
    heap.launch_began("game", begin_ns);
    let mut rule = |second: u64| rule_of(&mut heap, "game", begin_ns + second * SECOND_NS, 140 << 20);
    let rules: Vec<String> = (0..5).map(&mut rule).collect();
    assert_eq!(rules, ["heap_default", "heap_default", "heap_arx", "heap_arx", "heap_arx"]);
    // After the minute, and after a gap, it goes on.
    assert_eq!([rule(59), rule(60), rule(61), rule(4_000)], ["heap_arx"; 4]);
    let peak = heap.predicted_peak("game", 60 * SECOND_NS).expect("known");
    assert!((150 << 20..230 << 20).contains(&peak), "{peak}");
    assert!(heap.predicted_peak("game", SECOND_NS).expect("known") < peak);
}

#[test]
fn without_a_model_paper_mode_raises_the_default_by_tenths() {
    let mut heap = Heap::new(Mode::Paper);
    let thresholds = run_once(&mut heap, "new", 0, &[1 << 20, 1 << 20, 1 << 20, 130 << 20, 300 << 20, 1 << 20]);
    let of = |tenths: i32| (0..tenths).fold(DEFAULT_BYTES, |bytes, _| bytes + bytes / 10);
    let set: Vec<u64> = thresholds.iter().map(|(threshold, _)| *threshold).collect();
    assert_eq!(set, [DEFAULT_BYTES, DEFAULT_BYTES, DEFAULT_BYTES, of(1), of(9)]);
}

#[test]
fn a_known_launch_is_foreseen() {
    let mut heap = Heap::new(Mode::Adaptive);
    // Three steps in four seconds; the second run is a second later.
    let steps = |late: usize| -> Vec<u64> {
        let need = |t: usize| [1u64, 10, 30, 80, 100][t.saturating_sub(late).min(4)] << 20;
        (0..60).map(need).collect()
    };
    for nth in 0..3 {
        run_once(&mut heap, "app", nth * 100 * SECOND_NS, &steps(nth as usize % 2));
    }
    let found = run_once(&mut heap, "app", 1_000 * SECOND_NS, &steps(0));
    assert!(found.iter().all(|(threshold, need)| threshold >= need), "{found:?}");
    let head_room = |part: &[(u64, u64)]| {
        let sum = |of: fn(&(u64, u64)) -> u64| part.iter().map(of).sum::<u64>() as f64;
        sum(|one| one.0) / sum(|one| one.1) - 1.0
    };
    assert!(head_room(&found[10..]) < 0.15, "{}", head_room(&found[10..]));
    let peak = heap.predicted_peak("app", 10 * SECOND_NS).expect("known");
    assert!((100 << 20..101 << 20).contains(&peak), "{peak}");
    assert_eq!(heap.predicted_peak("other", SECOND_NS), None);
    let whole = heap.predicted_peak("app", 300 * SECOND_NS).expect("known");
    assert_eq!(heap.peaks().collect::<Vec<_>>(), [("app", whole)]);
    heap.forget("app");
    assert_eq!(heap.predicted_peak("app", SECOND_NS), None);
}

#[test]
fn an_app_of_which_nothing_is_known_gets_the_default_for_three_seconds() {
    for mode in MODES {
        let mut heap = Heap::new(mode);
        heap.launch_began("app", 7);
        assert_eq!(heap.sample("app", SECOND_NS, 5 << 20).bytes, DEFAULT_BYTES, "{mode:?}");
        assert_eq!(
            heap.sample("app", 2 * SECOND_NS, 500 << 20).bytes.max(500 << 20),
            heap.sample("app", 2 * SECOND_NS, 500 << 20).bytes
        );
    }
    let mut heap = Heap::new(Mode::Adaptive);
    assert!(heap.sample("running", SECOND_NS, 5 << 20).bytes < DEFAULT_BYTES, "its launch is over");
    heap.ended("running");
    assert_eq!(heap.predicted_peak("running", SECOND_NS), None, "half a run is not learned");
}

#[test]
fn a_first_launch_is_covered_by_the_default_and_raises_no_margin() {
    let mut heap = Heap::new(Mode::Adaptive);
    // A step every two seconds, on slow storage.
    let needs: Vec<u64> = (0..60).map(|t: u64| (5 + 15 * (t / 2).min(7)) << 20).collect();
    let first = run_once(&mut heap, "app", 0, &needs);
    assert!(first.iter().all(|(threshold, need)| threshold >= need), "{first:?}");
    let second = run_once(&mut heap, "app", 100 * SECOND_NS, &needs);
    let head_room = |(threshold, need): &(u64, u64)| *threshold as f64 / *need as f64 - 1.0;
    assert!(second[30..].iter().all(|one| head_room(one) < 0.15), "{second:?}");
}

#[test]
fn a_margin_below_what_earlier_runs_reached_is_not_below_the_need() {
    let mut heap = Heap::new(Mode::Adaptive);
    let mut run = |nth: u64, need: &dyn Fn(u64) -> u64| {
        heap.launch_began("app", nth * 100 * SECOND_NS);
        let at = |n: u64| nth * 100 * SECOND_NS + n * SECOND_NS / 10;
        let thresholds = (0..100).map(|n| heap.sample("app", at(n), need(n) << 20).bytes >> 20).collect::<Vec<u64>>();
        heap.ended("app");
        thresholds
    };
    // The first run reaches 100 MiB in its fifth second; the others never do.
    run(0, &|n| if n < 50 { 30 } else { 100 });
    let low: Vec<Vec<u64>> = (1..6).map(|nth| run(nth, &|_| 30)).collect();
    assert!(low[4][40..60].iter().any(|threshold| *threshold < 85), "learned to be less: {:?}", low[4]);
    let high = run(6, &|n| if n < 45 { 30 } else { 85 });
    assert!(high[45..].iter().all(|threshold| *threshold >= 85), "{high:?}");
}

#[test]
fn the_share_of_misses_is_what_was_asked_for() {
    // Needs that jump by up to a half at random moments, of which earlier runs say nothing.
    for seed in 0..6 {
        let (mut heap, mut noise, mut missed, mut count) = (Heap::new(Mode::Adaptive), Random(seed), 0, 0);
        let share = [0.0, 0.002, 0.01, 0.03, 0.1, 0.3][seed as usize];
        for nth in 0..60u64 {
            let mut need = 100u64 << 20;
            let mut jump = |_| {
                if noise.unit() < share {
                    need = ((100 << 20) as f64 * (1.0 + noise.unit() / 2.0)) as u64;
                }
                need
            };
            let needs: Vec<u64> = (0..200).map(&mut jump).collect();
            let found = run_once(&mut heap, "app", nth * 1_000 * SECOND_NS, &needs);
            missed += found.iter().filter(|(threshold, need)| threshold < need).count();
            count += found.len();
        }
        let bound = MISS_SHARE * count as f64 + 14.0;
        assert!((missed as f64) <= bound, "{missed} of {count} for jumps in {share} of samples");
    }
}

#[test]
fn what_is_kept_of_an_app_is_bounded() {
    for (mode, bound_bytes) in [(Mode::Adaptive, 2 << 10), (Mode::Paper, 5 << 10)] {
        let (mut heap, mut noise) = (Heap::new(mode), Random(1));
        for nth in 0..30u64 {
            let needs: Vec<u64> = (0..400).map(|_| (noise.unit() * 4e9) as u64).collect();
            run_once(&mut heap, "app", nth * 1_000 * SECOND_NS, &needs);
        }
        let kept = serde_json::to_string(&heap.apps).expect("JSON");
        assert!(kept.len() < bound_bytes, "{mode:?}: {} bytes: {kept}", kept.len());
        let read: Heap = serde_json::from_str(&serde_json::to_string(&heap).expect("JSON")).expect("read");
        let peaks = |heap: &Heap| [1, 10, 100].map(|seconds| heap.predicted_peak("app", seconds * SECOND_NS));
        assert_eq!(peaks(&read), peaks(&heap));
        // The last digit of a coefficient of a model may change in JSON.
        assert!(mode == Mode::Paper || read == heap, "nothing of it is lost");
    }
    let mut heap = Heap::new(Mode::Adaptive);
    for n in 0..APPS_MAX + 7 {
        run_once(&mut heap, &format!("app {n}"), 0, &[1, 2]);
    }
    assert_eq!(heap.apps.len(), APPS_MAX);
    assert!(heap.predicted_peak("app 6", SECOND_NS).is_none() && heap.predicted_peak("app 7", SECOND_NS).is_some());
}

#[test]
fn what_another_version_kept_is_not_read() {
    let mut heap = Heap::new(Mode::Adaptive);
    run_once(&mut heap, "app", 0, &[1, 2, 3]);
    let text = serde_json::to_string(&heap).expect("JSON").replace("\"version\":1", "\"version\":2");
    let read: Heap = serde_json::from_str(&text).expect("read");
    assert_eq!(read, Heap::new(Mode::Adaptive));
}

#[test]
fn a_clock_that_runs_backwards_breaks_nothing() {
    for mode in MODES {
        let mut heap = Heap::new(mode);
        heap.launch_began("app", 100 * SECOND_NS);
        for at_s in [100, 103, 101, 0, 90, 200, 4] {
            assert!(heap.sample("app", at_s * SECOND_NS, 1 << 20).bytes >= 1 << 20);
        }
        heap.ended("app");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Launch(u8, u64),
    Sample(u8, u64, u64),
    End(u8),
    Forget(u8),
    Peak(u8, u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let time = || prop_oneof![any::<u64>(), 0u64..200_000_000_000, Just(0), Just(u64::MAX)];
    let need = || prop_oneof![any::<u64>(), 0u64..1 << 30, Just(0), Just(u64::MAX)];
    prop_oneof![
        1 => (0u8..3, time()).prop_map(|(app, at)| Step::Launch(app, at)),
        8 => (0u8..3, time(), need()).prop_map(|(app, at, need)| Step::Sample(app, at, need)),
        1 => (0u8..3).prop_map(Step::End),
        1 => (0u8..3).prop_map(Step::Forget),
        1 => (0u8..3, time()).prop_map(|(app, within)| Step::Peak(app, within)),
    ]
}

/// Every threshold and peak in turn.
fn played(mode: Mode, steps: &[Step]) -> Result<Vec<u64>, TestCaseError> {
    let mut heap = Heap::new(mode);
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Launch(app, at_ns) => heap.launch_began(&app.to_string(), *at_ns),
            Step::Sample(app, at_ns, need) => {
                let threshold = heap.sample(&app.to_string(), *at_ns, *need);
                prop_assert!(threshold.bytes >= *need, "{:?}", threshold);
                prop_assert!(!threshold.reason.to_string().contains("NaN"), "{}", threshold.reason);
                found.push(threshold.bytes);
            }
            Step::End(app) => heap.ended(&app.to_string()),
            Step::Forget(app) => heap.forget(&app.to_string()),
            Step::Peak(app, within_ns) => found.extend(heap.predicted_peak(&app.to_string(), *within_ns)),
        }
    }
    Ok(found)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_threshold_is_never_below_the_present_need(steps in prop::collection::vec(any_step(), 0..150)) {
        for mode in MODES {
            played(mode, &steps)?;
        }
    }

    #[test]
    fn the_same_samples_give_the_same_thresholds(steps in prop::collection::vec(any_step(), 0..60)) {
        for mode in MODES {
            prop_assert_eq!(played(mode, &steps)?, played(mode, &steps)?);
        }
    }
}
