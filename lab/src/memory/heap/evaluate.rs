//! Predictors and thresholds on the runs of an app, none of which saw the run that it is judged by.
//!
//! A run is judged by what the ten runs before it taught, the last being before the first: so each has the ten earlier
//! traces of dissertation 5.4.2, where the table has so many. A threshold for a value is set when the value before it
//! is known. The rule of the engine has seen the other apps of the table, too, as it has on a device: their last ten
//! runs.

use crate::results::{HeapAim, HeapAlpha, HeapApp, HeapOrder, HeapThreshold};
use brisk_core::stats::Summary;
use brisk_engine::iram::Mode;
use brisk_engine::iram::heap::arx::{Order, Pair};
use brisk_engine::iram::heap::cross_validation::{Cell, TRACE_SAMPLES, TRACES, cross_validate};
use brisk_engine::iram::heap::threshold::{ALPHA, Fitted, threshold_bytes};
use brisk_engine::iram::heap::{DEFAULT_BYTES, DEFAULT_FOR_NS, Heap, MISS_SHARE};

use super::Runs;

/// Multiples of the error that are tried (5.4.3).
const ALPHAS: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
/// Coverage that is asked for, in percent.
const AIMS: [f64; 5] = [95.0, 98.0, 99.0, 100.0 * (1.0 - MISS_SHARE), 99.9];

/// Values that are the begin of a run: as many as figure 5.5 compares, a second apart there.
const BEGIN: usize = 10;

/// A rule that sets thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// 128 MB.
    Fixed,
    /// The last value and the conformal quantile of its changes in earlier runs.
    Persistence,
    /// Equations 5.1 to 5.3.
    Paper,
    /// `mode = "adaptive"` of the engine.
    Adaptive,
    /// The last value and the least margin that covers enough of all runs of the app: the best of the second rule in
    /// hindsight.
    Hindsight,
}

impl Rule {
    const ALL: [Self; 5] = [Self::Fixed, Self::Persistence, Self::Paper, Self::Adaptive, Self::Hindsight];

    fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Persistence => "persistence",
            Self::Paper => "paper",
            Self::Adaptive => "adaptive",
            Self::Hindsight => "hindsight",
        }
    }
}

/// What thresholds covered and cost.
#[derive(Debug, Clone, Default)]
struct Score {
    values: u64,
    covered: u64,
    runs: u64,
    runs_beyond: u64,
    head_rooms: Vec<f64>,
    thresholds_sum: f64,
    needs_sum: f64,
    shortfall_bytes_max: f64,
}

impl Score {
    fn add(&mut self, threshold_bytes: f64, need_bytes: f64) {
        self.values += 1;
        self.covered += u64::from(threshold_bytes >= need_bytes);
        // A need of nothing has no head-room in percent.
        if need_bytes > 0.0 {
            self.head_rooms.push(threshold_bytes / need_bytes - 1.0);
        }
        self.thresholds_sum += threshold_bytes;
        self.needs_sum += need_bytes;
        self.shortfall_bytes_max = self.shortfall_bytes_max.max(need_bytes - threshold_bytes);
    }

    /// Counts a run, the values of which were added.
    fn end_run(&mut self, is_beyond: bool) {
        self.runs += 1;
        self.runs_beyond += u64::from(is_beyond);
    }

    fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.runs_beyond += other.runs_beyond;
        self.values += other.values;
        self.covered += other.covered;
        self.head_rooms.extend(&other.head_rooms);
        self.thresholds_sum += other.thresholds_sum;
        self.needs_sum += other.needs_sum;
        self.shortfall_bytes_max = self.shortfall_bytes_max.max(other.shortfall_bytes_max);
    }

    fn covered_percent(&self) -> f64 {
        1e2 * self.covered as f64 / self.values.max(1) as f64
    }

    fn head_room_percent_median(&self) -> f64 {
        brisk_core::stats::median(&self.head_rooms).unwrap_or(0.0) * 1e2
    }

    fn head_room_percent_of_sum(&self) -> f64 {
        if self.needs_sum > 0.0 { 1e2 * (self.thresholds_sum / self.needs_sum - 1.0) } else { 0.0 }
    }

    fn of_rule(&self, rule: Rule) -> HeapThreshold {
        HeapThreshold {
            rule: rule.name().to_owned(),
            values: self.values,
            covered_percent: self.covered_percent(),
            head_room_percent_median: self.head_room_percent_median(),
            head_room_percent_mean: 1e2 * self.head_rooms.iter().sum::<f64>() / self.head_rooms.len().max(1) as f64,
            head_room_percent_of_sum: self.head_room_percent_of_sum(),
            shortfall_bytes_max: self.shortfall_bytes_max,
            runs: self.runs,
            runs_beyond: self.runs_beyond,
        }
    }

    fn of_alpha(&self, alpha: f64) -> HeapAlpha {
        HeapAlpha {
            alpha,
            values: self.values,
            covered_percent: self.covered_percent(),
            head_room_percent_median: self.head_room_percent_median(),
        }
    }

    fn of_aim(&self, rule: Rule, aim_percent: f64) -> HeapAim {
        HeapAim {
            rule: rule.name().to_owned(),
            aim_percent,
            covered_percent: self.covered_percent(),
            head_room_percent_median: self.head_room_percent_median(),
            head_room_percent_of_sum: self.head_room_percent_of_sum(),
        }
    }
}

/// Sums over apps.
#[derive(Debug, Clone, Default)]
pub(super) struct All {
    alphas: [Score; ALPHAS.len()],
    rules: [Score; Rule::ALL.len()],
    aims: [[Score; AIMS.len()]; 2],
}

/// Rules that can be asked for a coverage.
const AIMED: [Rule; 2] = [Rule::Persistence, Rule::Adaptive];

impl All {
    /// Evaluates the app at a place among all, and adds it to the sums.
    pub(super) fn app(&mut self, apps: &[Runs], place: usize, interval_s: f64) -> HeapApp {
        let of = &apps[place];
        let others = apps.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, other)| other);
        let taught = taught_by(others, interval_s);
        let (mut alphas, mut rules) = (<[Score; ALPHAS.len()]>::default(), <[Score; Rule::ALL.len()]>::default());
        if of.runs.len() > 1 {
            for run in 0..of.runs.len() {
                let earlier = earlier(run, of.runs.len());
                let judged = Judged { of, run, earlier: &earlier, taught: &taught, interval_s };
                let fitted = judged.fitted();
                judged.alphas(fitted.as_ref(), &mut alphas);
                judged.rules(fitted.as_ref(), &mut rules);
                for (rule, scores) in AIMED.into_iter().zip(&mut self.aims) {
                    for (aim_percent, score) in AIMS.into_iter().zip(scores) {
                        let miss_share = 1.0 - aim_percent / 1e2;
                        judged.score(&judged.thresholds(rule, miss_share, None), score);
                    }
                }
            }
        }
        self.alphas.iter_mut().zip(&alphas).for_each(|(sum, score)| sum.merge(score));
        self.rules.iter_mut().zip(&rules).for_each(|(sum, score)| sum.merge(score));
        HeapApp {
            app: of.app.clone(),
            runs: of.runs.len() as u64,
            need_bytes_max: of.runs.iter().flatten().copied().max().unwrap_or(0),
            begin_correlation: Summary::of(&begin_correlations(&of.runs)),
            orders: orders(of),
            alphas: shown_alphas(&alphas),
            thresholds: shown_rules(&rules),
        }
    }

    pub(super) fn alphas(&self) -> Vec<HeapAlpha> {
        shown_alphas(&self.alphas)
    }

    pub(super) fn thresholds(&self) -> Vec<HeapThreshold> {
        shown_rules(&self.rules)
    }

    pub(super) fn aims(&self) -> Vec<HeapAim> {
        let of = |(rule, scores): (Rule, &[Score; AIMS.len()])| {
            let shown = AIMS.into_iter().zip(scores).filter(|(_, score)| score.values > 0);
            shown.map(|(aim_percent, score)| score.of_aim(rule, aim_percent)).collect::<Vec<_>>()
        };
        AIMED.into_iter().zip(&self.aims).flat_map(of).collect()
    }
}

fn shown_alphas(scores: &[Score; ALPHAS.len()]) -> Vec<HeapAlpha> {
    let shown = ALPHAS.into_iter().zip(scores).filter(|(_, score)| score.values > 0);
    shown.map(|(alpha, score)| score.of_alpha(alpha)).collect()
}

fn shown_rules(scores: &[Score; Rule::ALL.len()]) -> Vec<HeapThreshold> {
    let shown = Rule::ALL.into_iter().zip(scores).filter(|(_, score)| score.values > 0);
    shown.map(|(rule, score)| score.of_rule(rule)).collect()
}

/// The runs that taught before `run`, oldest first.
fn earlier(run: usize, runs: usize) -> Vec<usize> {
    let count = (runs - 1).min(TRACES - 1);
    (0..count).map(|n| (run + runs - count + n) % runs).collect()
}

/// The errors of all orders: of each eleven runs, the first is the historical one.
fn orders(of: &Runs) -> Vec<HeapOrder> {
    let traces: Vec<Vec<f64>> = of.runs.iter().map(|run| as_trace(run)).collect();
    let tables: Vec<_> = traces.chunks(TRACES).filter_map(|chunk| cross_validate(chunk, 0)).collect();
    if tables.is_empty() {
        return Vec::new();
    }
    let error = |order: Order, of: fn(&Cell) -> Option<f64>| {
        let cells = tables.iter().flat_map(|table| &table.cells).filter(|cell| cell.order == order);
        let squares: Vec<f64> = cells.filter_map(of).map(|rmse| rmse * rmse).collect();
        (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
    };
    let of = |order: Order| HeapOrder {
        past: order.past as u32,
        historical: order.historical as u32,
        rmse_bytes: error(order, |cell| cell.rmse),
        rmse_common_bytes: error(order, |cell| cell.rmse_common),
    };
    Order::all().map(of).collect()
}

fn as_trace(run: &[u64]) -> Vec<f64> {
    run.iter().take(TRACE_SAMPLES).map(|&bytes| bytes as f64).collect()
}

/// Changes from one value to the next, ascending.
fn changes<'a>(runs: impl Iterator<Item = &'a Vec<u64>>) -> Vec<f64> {
    let change = |pair: &[u64]| pair[1] as f64 - pair[0] as f64;
    let mut changes: Vec<f64> = runs.flat_map(|run| run.windows(2).map(change)).collect();
    changes.sort_by(f64::total_cmp);
    changes
}

/// The change of a rank from 1, rounded up, or the nearest.
fn of_rank(changes: &[f64], rank: f64) -> f64 {
    // Half a thousandth less, for ranks that are whole numbers but for their rounding.
    let place = ((rank - 5e-4).ceil() as usize).clamp(1, changes.len().max(1)) - 1;
    changes.get(place).copied().unwrap_or(0.0)
}

fn above_last(needs: &[u64], margin: f64) -> Vec<u64> {
    needs[..needs.len() - 1].iter().map(|&need| (need as f64 + margin).max(0.0) as u64).collect()
}

/// A run, and those that taught before it.
struct Judged<'a> {
    of: &'a Runs,
    run: usize,
    earlier: &'a [usize],
    /// The engine after the runs of other apps.
    taught: &'a Heap,
    interval_s: f64,
}

/// The engine after the last runs of these apps.
fn taught_by<'a>(apps: impl Iterator<Item = &'a Runs>, interval_s: f64) -> Heap {
    let mut heap = Heap::new(Mode::Adaptive);
    for of in apps {
        for run in of.runs.len().saturating_sub(TRACES - 1)..of.runs.len() {
            play(&mut heap, of, run, interval_s);
        }
    }
    heap
}

/// Runs an app once; gives the threshold that was set after each value.
fn play(heap: &mut Heap, of: &Runs, run: usize, interval_s: f64) -> Vec<u64> {
    let interval_ns = (interval_s * 1e9) as u64;
    if of.from_launch[run] {
        heap.launch_began(&of.app, 0);
    }
    let values = (0..).zip(&of.runs[run]);
    let thresholds = values.map(|(n, need)| heap.sample(&of.app, interval_ns.saturating_mul(n), *need).bytes).collect();
    heap.ended(&of.app);
    thresholds
}

impl Judged<'_> {
    fn needs(&self) -> &[u64] {
        &self.of.runs[self.run]
    }

    fn fitted(&self) -> Option<(Fitted, Vec<f64>)> {
        let traces: Vec<Vec<f64>> = self.earlier.iter().map(|&n| as_trace(&self.of.runs[n])).collect();
        Some((Fitted::of(&traces)?, traces.last()?.clone()))
    }

    /// Adds what thresholds, for all values but the first, covered.
    fn score(&self, thresholds: &[u64], score: &mut Score) {
        for (threshold, need) in thresholds.iter().zip(&self.needs()[1..]) {
            score.add(*threshold as f64, *need as f64);
        }
        score.end_run(thresholds.iter().zip(&self.needs()[1..]).any(|(threshold, need)| need > threshold));
    }

    fn alphas(&self, fitted: Option<&(Fitted, Vec<f64>)>, scores: &mut [Score; ALPHAS.len()]) {
        let Some((fitted, historical)) = fitted else { return };
        let current: Vec<f64> = self.needs().iter().map(|&bytes| bytes as f64).collect();
        let pair = Pair { current: &current, historical };
        for (predicted, real) in fitted.model.predictions(&pair) {
            for (alpha, score) in ALPHAS.into_iter().zip(scores.iter_mut()) {
                score.add(threshold_bytes(predicted, alpha, fitted.rmse_bytes) as f64, real);
            }
        }
    }

    fn rules(&self, fitted: Option<&(Fitted, Vec<f64>)>, scores: &mut [Score; Rule::ALL.len()]) {
        for (rule, score) in Rule::ALL.into_iter().zip(scores) {
            // The same values are judged for all rules, so that they compare.
            if rule != Rule::Paper || fitted.is_some() {
                self.score(&self.thresholds(rule, MISS_SHARE, fitted), score);
            }
        }
    }

    /// The thresholds for all values but the first.
    fn thresholds(&self, rule: Rule, miss_share: f64, fitted: Option<&(Fitted, Vec<f64>)>) -> Vec<u64> {
        let needs = self.needs();
        match rule {
            Rule::Fixed => vec![DEFAULT_BYTES; needs.len() - 1],
            Rule::Persistence => above_last(needs, self.conformal_change(miss_share)),
            Rule::Hindsight => above_last(needs, self.least_change(miss_share)),
            Rule::Paper => (1..needs.len()).map(|n| self.paper(fitted, n)).collect(),
            Rule::Adaptive => self.adaptive(miss_share),
        }
    }

    /// The conformal quantile of the change from one value to the next, in earlier runs (Vovk and others, 2005: the
    /// value of rank (n + 1) x coverage, rounded up).
    fn conformal_change(&self, miss_share: f64) -> f64 {
        let changes = changes(self.earlier.iter().map(|&n| &self.of.runs[n]));
        of_rank(&changes, (changes.len() + 1) as f64 * (1.0 - miss_share))
    }

    /// The least change that enough of all changes do not exceed.
    fn least_change(&self, miss_share: f64) -> f64 {
        let changes = changes(self.of.runs.iter());
        of_rank(&changes, changes.len() as f64 * (1.0 - miss_share))
    }

    fn paper(&self, fitted: Option<&(Fitted, Vec<f64>)>, n: usize) -> u64 {
        if n as f64 * self.interval_s < DEFAULT_FOR_NS as f64 / 1e9 {
            return DEFAULT_BYTES;
        }
        let modelled = fitted.and_then(|(fitted, historical)| {
            let current: Vec<f64> = self.needs()[..n].iter().map(|&bytes| bytes as f64).collect();
            let pair = Pair { current: &current, historical };
            let predicted_bytes = fitted.model.predict(&pair, n)?;
            Some(threshold_bytes(predicted_bytes, ALPHA, fitted.rmse_bytes))
        });
        modelled.unwrap_or(DEFAULT_BYTES)
    }

    fn adaptive(&self, miss_share: f64) -> Vec<u64> {
        let mut heap = self.taught.clone().missing(miss_share);
        for &run in self.earlier {
            play(&mut heap, self.of, run, self.interval_s);
        }
        let mut thresholds = play(&mut heap, self.of, self.run, self.interval_s);
        thresholds.pop();
        thresholds
    }
}

/// Correlations of the begin of each run with that of the one before, where both are long enough and not constant.
fn begin_correlations(runs: &[Vec<u64>]) -> Vec<f64> {
    let begin = |run: &[u64]| -> Option<Vec<f64>> { Some(run.get(..BEGIN)?.iter().map(|&need| need as f64).collect()) };
    let pairs = runs.windows(2).filter_map(|two| Some((begin(&two[0])?, begin(&two[1])?)));
    pairs.filter_map(|(one, other)| correlation(&one, &other)).collect()
}

/// Pearson's coefficient of correlation; `None` where one side is constant.
fn correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_one, mean_other) = (mean(one), mean(other));
    let products = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
    };
    let spread = products(one, mean_one, one, mean_one) * products(other, mean_other, other, mean_other);
    (spread > 0.0).then(|| products(one, mean_one, other, mean_other) / spread.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_taught_by_the_ten_before_it_and_never_by_itself() {
        assert_eq!(earlier(0, 3), [1, 2]);
        assert_eq!(earlier(1, 3), [2, 0]);
        assert_eq!(earlier(2, 30), [22, 23, 24, 25, 26, 27, 28, 29, 0, 1]);
        for runs in 2..40 {
            for run in 0..runs {
                let taught = earlier(run, runs);
                assert!(!taught.contains(&run) && taught.len() == (runs - 1).min(10));
            }
        }
    }

    #[test]
    fn begins_of_runs_are_compared_in_turn_where_they_are_long_enough() {
        let rising = |by: u64| (0..20).map(|n| 100 + by * n).collect::<Vec<u64>>();
        let falling: Vec<u64> = rising(3).into_iter().rev().collect();
        let runs = [rising(1), rising(7), falling, vec![5; 12], vec![1, 2, 3]];
        let found = begin_correlations(&runs);
        assert_eq!(found.len(), 2, "a constant run and a short one have none: {found:?}");
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[1] + 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_score_by_hand() {
        let mut score = Score::default();
        for (threshold, need) in [(110.0, 100.0), (100.0, 100.0), (90.0, 100.0), (50.0, 0.0)] {
            score.add(threshold, need);
        }
        score.end_run(true);
        score.end_run(false);
        let found = score.of_rule(Rule::Fixed);
        assert_eq!((found.values, found.covered_percent, found.shortfall_bytes_max), (4, 75.0, 10.0));
        assert_eq!((found.runs, found.runs_beyond), (2, 1));
        assert!(found.head_room_percent_median.abs() < 1e-9 && found.head_room_percent_mean.abs() < 1e-9);
        assert!((found.head_room_percent_of_sum - 1e2 * (350.0 / 300.0 - 1.0)).abs() < 1e-9);
    }

    fn runs_of(needs: impl Fn(usize, usize) -> u64, runs: usize) -> Runs {
        Runs {
            app: "app".to_owned(),
            runs: (0..runs).map(|run| (0..60).map(|t| needs(run, t)).collect()).collect(),
            from_launch: vec![true; runs],
        }
    }

    #[test]
    fn a_need_that_stands_still_is_covered_by_all_rules_with_a_model_of_no_error() {
        let found = All::default().app(&[runs_of(|_, _| 50 << 20, 5)], 0, 1.0);
        assert_eq!(found.need_bytes_max, 50 << 20);
        let rules: Vec<&str> = found.thresholds.iter().map(|one| one.rule.as_str()).collect();
        assert_eq!(rules, ["fixed", "persistence", "paper", "adaptive", "hindsight"]);
        for one in &found.thresholds {
            assert_eq!((one.values, one.shortfall_bytes_max), (5 * 59, 0.0), "{one:?}");
        }
        let persistence = &found.thresholds[1];
        assert!(persistence.covered_percent == 100.0 && persistence.head_room_percent_median.abs() < 1e-9);
        assert!(found.orders.iter().filter_map(|order| order.rmse_bytes).all(|rmse| rmse < 1.0), "{:?}", found.orders);
    }

    #[test]
    fn no_rule_sees_the_run_that_it_is_judged_by() {
        // The last run needs ten times more than the others from its tenth second on.
        let odd = |run: usize, t: usize| if run == 4 && t >= 10 { 500 << 20 } else { 50 << 20 };
        let of = runs_of(odd, 5);
        let taught = Heap::new(Mode::Adaptive);
        let judged = Judged { of: &of, run: 4, earlier: &earlier(4, 5), taught: &taught, interval_s: 1.0 };
        let fitted = judged.fitted();
        for rule in [Rule::Fixed, Rule::Persistence, Rule::Paper, Rule::Adaptive] {
            let thresholds = judged.thresholds(rule, MISS_SHARE, fitted.as_ref());
            assert_eq!(thresholds.len(), 59);
            assert!(thresholds[9] < 500 << 20, "{rule:?} knew the jump");
        }
        assert_eq!((judged.conformal_change(MISS_SHARE), judged.least_change(0.0)), (0.0, (450u64 << 20) as f64));
    }

    #[test]
    fn a_single_run_has_no_thresholds_and_two_have_no_orders() {
        let one = All::default().app(&[runs_of(|_, t| t as u64 + 1, 1)], 0, 1.0);
        assert!(one.thresholds.is_empty() && one.orders.is_empty() && one.alphas.is_empty());
        let two = All::default().app(&[runs_of(|_, t| t as u64 + 1, 2)], 0, 1.0);
        assert!(two.orders.is_empty() && two.alphas.is_empty());
        let rules: Vec<&str> = two.thresholds.iter().map(|one| one.rule.as_str()).collect();
        assert_eq!(rules, ["fixed", "persistence", "adaptive", "hindsight"]);
    }
}
