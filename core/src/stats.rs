//! The few statistics that brisk reports.
//!
//! Storage times have heavy tails and the machines are noisy, so the centre is the median and its interval comes from
//! order statistics (binomial, no assumption about the distribution). Ratios are computed pair by pair over interleaved
//! runs and then summarised the same way, so that drift of the machine cancels.
//!
//! Properties: the interval holds the median; scaling all values scales the summary; order does not matter.

use serde::{Deserialize, Serialize};

/// Centre and spread of repeated measurements of one quantity, in that quantity's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// How many values went in.
    pub count: usize,
    /// The middle value.
    pub median: f64,
    /// Lower end of the interval for the median (see [`Summary::confidence`]).
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// The chance that the interval covers the true median: 0.95, or less where there are too few values to promise it
    /// (with fewer than six values the interval is the whole range and this says what that is worth).
    pub confidence: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Sample standard deviation over the mean; zero for one value.
    pub variation: f64,
}

impl Summary {
    /// Summarises `values`; `None` when there is none or when one is not a finite number.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (skip, confidence) = median_interval(count);
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let variance =
            if count > 1 { sorted.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1) as f64 } else { 0.0 };
        Some(Self {
            count,
            median: middle(&sorted),
            low: sorted[skip],
            high: sorted[count - 1 - skip],
            confidence,
            min: sorted[0],
            max: sorted[count - 1],
            variation: if mean == 0.0 { 0.0 } else { variance.sqrt() / mean.abs() },
        })
    }

    /// Half the width of the interval over the median: 0.03 means "within 3 %".
    #[must_use]
    pub fn half_width(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.high - self.low) / 2.0 / self.median.abs() }
    }
}

/// The median of `values`; `None` when there is none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    Summary::of(values).map(|s| s.median)
}

/// Summary of `a[i] / b[i]` over paired, interleaved runs. `None` when nothing pairs or a divisor is zero.
#[must_use]
pub fn paired_ratio(a: &[f64], b: &[f64]) -> Option<Summary> {
    let ratios: Vec<f64> = a.iter().zip(b).map(|(x, y)| x / y).collect();
    Summary::of(&ratios)
}

/// A median, or a sum of medians, with the interval of its bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bootstrapped {
    /// The middle value, or the sum.
    pub median: f64,
    /// The 2.5th percentile of the same of samples drawn from the values.
    pub low: f64,
    /// The 97.5th.
    pub high: f64,
}

/// Samples that are drawn.
const RESAMPLES: usize = 2_000;

/// The median of `values` with its percentile bootstrap interval (Efron, 1979): of use where values are few, as that of
/// [`Summary`] is then their whole range. With five values it covers the true median in about nine cases of ten, with
/// three in three of four. What is drawn is the same each time. `None` for fewer than three values, or when one is not
/// a finite number.
#[must_use]
pub fn bootstrapped(values: &[f64]) -> Option<Bootstrapped> {
    sum_of_medians(&[values])
}

/// The sum of the medians of `groups`, such as times by app, as [`bootstrapped`]: each group is drawn from by itself.
/// `None` when there is no group, or one has too few values.
#[must_use]
pub fn sum_of_medians(groups: &[&[f64]]) -> Option<Bootstrapped> {
    let groups = sorted_groups(groups)?;
    let mut draw = draws();
    interval(groups.iter().map(|group| middle(group)).sum(), || drawn_sum(&groups, &mut draw))
}

/// The sum of the medians of `groups` as a multiple of that of `base`, as [`sum_of_medians`].
#[must_use]
pub fn ratio_of_sums(groups: &[&[f64]], base: &[&[f64]]) -> Option<Bootstrapped> {
    let (groups, base) = (sorted_groups(groups)?, sorted_groups(base)?);
    let sum = |groups: &[Vec<f64>]| groups.iter().map(|group| middle(group)).sum::<f64>();
    let mut draw = draws();
    interval(sum(&groups) / sum(&base), || drawn_sum(&groups, &mut draw) / drawn_sum(&base, &mut draw))
}

fn sorted_groups(groups: &[&[f64]]) -> Option<Vec<Vec<f64>>> {
    let fits = |group: &&[f64]| group.len() >= 3 && group.iter().all(|value| value.is_finite());
    if groups.is_empty() || !groups.iter().all(fits) {
        return None;
    }
    let sorted = |group: &&[f64]| {
        let mut sorted = group.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    Some(groups.iter().map(sorted).collect())
}

/// Marsaglia's xorshift64*: good enough to draw from a handful, and needs nothing. Gives a number below its argument.
fn draws() -> impl FnMut(usize) -> usize {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |below| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below
    }
}

fn drawn_sum(groups: &[Vec<f64>], draw: &mut impl FnMut(usize) -> usize) -> f64 {
    let median = |group: &Vec<f64>| {
        let mut drawn: Vec<f64> = (0..group.len()).map(|_| group[draw(group.len())]).collect();
        drawn.sort_by(f64::total_cmp);
        middle(&drawn)
    };
    groups.iter().map(median).sum()
}

fn interval(value: f64, mut sample: impl FnMut() -> f64) -> Option<Bootstrapped> {
    let mut samples: Vec<f64> = (0..RESAMPLES).map(|_| sample()).collect();
    samples.sort_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    let (low, high) = (samples[tail], samples[RESAMPLES - 1 - tail]);
    [value, low, high].iter().all(|one| one.is_finite()).then_some(Bootstrapped { median: value, low, high })
}

/// Signed relative error of `ours` against `reference`: 0.1 means ten percent above.
#[must_use]
pub fn relative_error(ours: f64, reference: f64) -> f64 {
    (ours - reference) / reference
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[half - 1], sorted[half]) } else { sorted[half] }
}

/// How many values to leave out at each end so that what remains covers the median with at least 95 %, and what it
/// covers: P(skip < B(n, 1/2) < n - skip). With too few values none is left out.
fn median_interval(count: usize) -> (usize, f64) {
    let coverage = |skip: usize| {
        // The two tails P(B <= skip), each term from its neighbour: C(n, k+1) = C(n, k) (n-k)/(k+1).
        let mut term = 0.5f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
        let mut tail = 0.0;
        for k in 0..=skip {
            tail += term;
            term *= (count - k) as f64 / (k + 1) as f64;
        }
        1.0 - 2.0 * tail
    };
    if count > 1_000 {
        // The normal approximation, where 2^-n would leave the range of a double.
        let skip = (count as f64 / 2.0 - 0.98 * (count as f64).sqrt()).floor() as usize;
        return (skip, 0.95);
    }
    let mut skip = 0;
    while skip + 1 < count / 2 && coverage(skip + 1) >= 0.95 {
        skip += 1;
    }
    (skip, coverage(skip).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn six_values_are_the_fewest_that_promise_95_percent() {
        assert_eq!(median_interval(5).0, 0);
        assert!(median_interval(5).1 < 0.95);
        assert_eq!(median_interval(6), (0, 0.968_75));
        // The textbook's case: of ten, the second and the ninth.
        assert_eq!(median_interval(10).0, 1);
    }

    #[test]
    fn nothing_and_nonsense_have_no_summary() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        assert_eq!(paired_ratio(&[1.0], &[0.0]), None);
    }

    #[test]
    fn pairs_cancel_a_drift_that_hits_both() {
        let a = [2.0, 4.0, 8.0];
        let b = [1.0, 2.0, 4.0];
        let ratio = paired_ratio(&a, &b).expect("three pairs");
        assert_eq!((ratio.low, ratio.median, ratio.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn the_bootstrap_covers_about_as_often_as_it_says() {
        assert_eq!(bootstrapped(&[1.0, 2.0]), None);
        assert_eq!(bootstrapped(&[1.0, f64::NAN, 2.0]), None);
        let same = bootstrapped(&[2.0; 5]).expect("five");
        assert_eq!((same.low, same.median, same.high), (2.0, 2.0, 2.0));
        // Samples of five of the numbers 0 to 100, whose median is 50: in how many of 400 the interval holds it.
        let mut state = 1u64;
        let mut number = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % 101) as f64
        };
        let covers = |sample: Bootstrapped| sample.low <= 50.0 && 50.0 <= sample.high;
        let covered = (0..400).filter(|_| {
            let sample: Vec<f64> = (0..5).map(|_| number()).collect();
            bootstrapped(&sample).is_some_and(covers)
        });
        let covered = covered.count();
        assert!((340..400).contains(&covered), "{covered}");
    }

    proptest! {
        #[test]
        fn a_bootstrap_stays_within_its_values(values in prop::collection::vec(0.001f64..1e6, 3..12)) {
            let found = bootstrapped(&values).expect("finite");
            let all = Summary::of(&values).expect("finite");
            prop_assert!([all.min, found.low, found.median, found.high, all.max].is_sorted());
        }

        #[test]
        fn the_interval_holds_the_median(values in prop::collection::vec(0.001f64..1e9, 1..60)) {
            let s = Summary::of(&values).expect("finite");
            prop_assert!(s.min <= s.low && s.low <= s.median && s.median <= s.high && s.high <= s.max);
        }

        #[test]
        fn scaling_the_values_scales_the_summary(values in prop::collection::vec(0.001f64..1e6, 1..40)) {
            let scaled: Vec<f64> = values.iter().map(|v| v * 4.0).collect();
            let (s, t) = (Summary::of(&values).expect("finite"), Summary::of(&scaled).expect("finite"));
            prop_assert_eq!(s.median * 4.0, t.median);
            prop_assert_eq!(s.low * 4.0, t.low);
        }

        #[test]
        fn order_does_not_matter(mut values in prop::collection::vec(-1e6f64..1e6, 1..40)) {
            let of = |values: &[f64]| Summary::of(values).map(|s| (s.median, s.low, s.high));
            let before = of(&values);
            values.reverse();
            prop_assert_eq!(before, of(&values));
        }
    }

    #[test]
    fn a_sum_of_medians_has_the_sum_and_an_interval_around_it() {
        let (a, b) = ([1.0, 2.0, 3.0, 10.0, 2.0], [20.0, 21.0, 19.0, 20.0, 20.0]);
        let sum = sum_of_medians(&[&a, &b]).expect("enough");
        assert_eq!(sum.median, 22.0);
        assert!(sum.low < 22.0 && sum.low >= 20.0 && sum.high > 22.0 && sum.high <= 31.0, "{sum:?}");
        assert_eq!(sum_of_medians(&[&a]), bootstrapped(&a));
        assert_eq!((sum_of_medians(&[&a, &b[..2]]), sum_of_medians(&[])), (None, None));
        let ratio = ratio_of_sums(&[&a, &b], &[&b]).expect("enough");
        assert!(
            (ratio.median - 1.1).abs() < 1e-9 && ratio.low < ratio.median && ratio.high > ratio.median,
            "{ratio:?}"
        );
        assert_eq!(ratio_of_sums(&[&a], &[&[0.0, 0.0, 0.0]]), None, "a multiple of nothing is no number");
    }
}
