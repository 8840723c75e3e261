//! The ratio of one quantity under two conditions, with its interval: Welch's t test on logarithms.
//!
//! Times and rates scatter by a share of their size, so their logarithms scatter evenly, and a difference of logarithms
//! is a ratio. Two conditions need not scatter alike (Welch, Biometrika 34, 1947; degrees of freedom after
//! Satterthwaite, Biometrics Bulletin 2, 1946). What a condition knows of a quantity is an [`Estimate`]:
//!
//! - *runs*: mean and variance of their logarithms. A summary of up to three runs holds all of them: least, median,
//!   largest;
//! - *a summary of more runs*: its median, and as standard error the width of its interval over that of the standard
//!   normal interval of the same confidence. That interval is from order statistics, so the standard error is on the
//!   large side: of equal conditions 1 to 4 % are called different at a level of 5 %, where runs give 2 to 5 %
//!   (simulated: 3 to 20 runs, normal, exponential and Student's logarithms, a tenth of outliers; `tests/compare.rs`
//!   has a part of it);
//! - *a single value*: no variance, so there is no interval.
//!
//! [`pooled`] joins the documents of a condition. Runs of one document share its circumstances (temperature, layout of
//! files, other load), so the variance between documents counts, once they are three; that within them where it is
//! larger.

use brisk_core::stats::Summary;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::rows::Value;

/// Documents keep three digits (a histogram's buckets do), so no run is better known than this share: the standard
/// deviation of a value that is uniform over one step of a thousandth.
const RESOLUTION: f64 = 0.001 / 3.464_101_615_137_754_6;

/// Runs from which on a side has an interval: two may be equal by chance.
const FEWEST_RUNS: u64 = 3;

/// What a condition knows of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// Centre, as a logarithm.
    pub(super) log: f64,
    /// How well it is known; `None` for a single value.
    error: Option<Error>,
    /// Runs behind it.
    pub(super) runs: u64,
    /// Documents behind it.
    pub(super) documents: u64,
}

/// Variance of a centre.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Error {
    variance: f64,
    /// Degrees of freedom of the variance.
    freedom: f64,
}

impl Estimate {
    /// Of positive values.
    fn of_runs(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !is_ratio(*value)) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let (log, variance) = mean_and_variance(&logs);
        let runs = logs.len() as f64;
        let resolved = RESOLUTION.powi(2);
        let error = variance.map(|variance| Error { variance: (variance + resolved) / runs, freedom: runs - 1.0 });
        Some(Self { log, error, runs: logs.len() as u64, documents: 1 })
    }

    fn of_summary(summary: &Summary) -> Option<Self> {
        match summary.count {
            0 | 1 => Self::of_runs(&[summary.median]),
            2 => Self::of_runs(&[summary.min, summary.max]),
            3 => Self::of_runs(&[summary.min, summary.median, summary.max]),
            count => {
                let ends = [summary.low, summary.median, summary.high];
                let usable = ends.into_iter().all(is_ratio) && ends.is_sorted();
                let covered = usable && summary.confidence > 0.0 && summary.confidence < 1.0;
                let normal_width = 2.0 * covered.then(|| normal_quantile((1.0 + summary.confidence) / 2.0))?;
                let width = (summary.high.ln() - summary.low.ln()) / normal_width;
                let variance = width.powi(2) + RESOLUTION.powi(2) / count as f64;
                let error = Some(Error { variance, freedom: count as f64 - 1.0 });
                Some(Self { log: summary.median.ln(), error, runs: count as u64, documents: 1 })
            }
        }
    }

    /// Of a measure of a row; `None` where it is no positive number.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Summary(summary) => Self::of_summary(summary),
            Value::Number(number) => Self::of_runs(&[*number]),
            Value::Runs(runs) => Self::of_runs(&runs.iter().map(|run| run.value).collect::<Vec<_>>()),
            Value::Words(_) | Value::Verdict(..) | Value::Shown(..) | Value::Split(..) => None,
        }
    }

    /// Whether it has runs enough for an interval.
    pub(super) fn is_known(&self) -> bool {
        self.error.is_some() && self.runs >= FEWEST_RUNS
    }
}

/// One estimate of the same quantity from several documents.
pub(super) fn pooled(documents: &[Estimate]) -> Option<Estimate> {
    let [first, others @ ..] = documents else { return None };
    if others.is_empty() {
        return Some(*first);
    }
    let count = documents.len() as f64;
    let (log, between) = mean_and_variance(&documents.iter().map(|one| one.log).collect::<Vec<_>>());
    let between =
        between.map(|variance| Error { variance: (variance + RESOLUTION.powi(2)) / count, freedom: count - 1.0 });
    let errors: Option<Vec<Error>> = documents.iter().map(|one| one.error).collect();
    let within = errors.map(|errors| Error {
        variance: errors.iter().map(|error| error.variance).sum::<f64>() / count.powi(2),
        freedom: errors.iter().map(|error| error.freedom).sum(),
    });
    let error = match (between, within) {
        (Some(between), Some(within)) if within.variance > between.variance => {
            // Three documents show what varies between them; two do not.
            let freedom = if documents.len() > 2 { between.freedom } else { within.freedom };
            Some(Error { freedom, ..within })
        }
        (between, _) => between,
    };
    let runs = documents.iter().map(|one| one.runs).sum();
    Some(Estimate { log, error, runs, documents: documents.len() as u64 })
}

/// A ratio of two estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogRatio {
    /// Its logarithm.
    pub(super) log: f64,
    error: Option<Error>,
}

impl LogRatio {
    /// `compared` over `baseline`.
    pub(super) fn of(compared: &Estimate, baseline: &Estimate) -> Self {
        let known = compared.is_known() && baseline.is_known();
        let errors = compared.error.zip(baseline.error).filter(|_| known);
        let error = errors.map(|(a, b)| {
            let variance = a.variance + b.variance;
            let freedom = variance.powi(2) / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
            Error { variance, freedom }
        });
        Self { log: compared.log - baseline.log, error }
    }

    /// The chance of a ratio as far from 1 or farther when nothing has changed; `None` without runs.
    pub(super) fn p_value(&self) -> Option<f64> {
        let error = self.error?;
        Some((2.0 * student(error.freedom)?.sf(self.log.abs() / error.variance.sqrt())).min(1.0))
    }

    /// The ends of the interval that misses the true ratio with probability `miss`; `None` without runs.
    pub(super) fn interval(&self, miss: f64) -> Option<(f64, f64)> {
        let error = self.error?;
        let half = student(error.freedom)?.inverse_cdf(1.0 - miss / 2.0) * error.variance.sqrt();
        let ends = ((self.log - half).exp(), (self.log + half).exp());
        (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
    }
}

/// Whether a value has a logarithm.
fn is_ratio(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Mean, and sample variance of two values or more.
fn mean_and_variance(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (values.len() > 1).then(|| squares / (count - 1.0)))
}

fn student(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Estimate {
        Estimate::of_runs(values).expect("positive")
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 0.005 * b.abs()
    }

    #[test]
    fn welch_on_logarithms_agrees_with_a_worked_example() {
        // Logarithms 0, 1, 2 and 3, 4, 5: difference 3, variance 2/3, t = 3.674 with 4 degrees of freedom, of which
        // tables give p = 0.0213, and 2.776 for an interval of 95 %.
        let e = |power: i32| std::f64::consts::E.powi(power);
        let ratio = LogRatio::of(&runs(&[e(3), e(4), e(5)]), &runs(&[e(0), e(1), e(2)]));
        assert!(near(ratio.log, 3.0));
        assert!(near(ratio.p_value().expect("runs"), 0.0213), "{ratio:?}");
        let (low, high) = ratio.interval(0.05).expect("runs");
        assert!(near(low.ln(), 3.0 - 2.776 * 0.816_5) && near(high.ln(), 3.0 + 2.776 * 0.816_5), "{low} {high}");
    }

    #[test]
    fn a_summary_of_three_runs_is_as_good_as_the_runs() {
        let values = [98.0, 103.0, 100.0];
        let summary = Summary::of(&values).expect("finite");
        let (of_summary, of_runs) = (Estimate::of(&Value::Summary(summary)).expect("positive"), runs(&values));
        assert!(near(of_summary.log, of_runs.log));
        assert_eq!(of_summary.runs, 3);
        let ratio = LogRatio::of(&of_summary, &of_runs);
        assert!(ratio.p_value().is_some_and(|p| p > 0.999), "{ratio:?}");
    }

    #[test]
    fn a_summary_of_many_runs_has_the_error_of_its_interval() {
        // Of 9 values the second to the eighth hold the median with 96.1 %, which is 2.064 standard errors to each
        // side.
        let values: Vec<f64> = (0..9).map(|i| (f64::from(i) / 100.0).exp()).collect();
        let estimate = Estimate::of(&Value::Summary(Summary::of(&values).expect("finite"))).expect("positive");
        let error = estimate.error.expect("nine runs");
        assert!(near(error.variance.sqrt(), 0.03 / 2.064), "{error:?}");
        assert_eq!((error.freedom, estimate.runs), (8.0, 9));
        assert!(near(estimate.log, 0.04));
    }

    #[test]
    fn one_value_two_runs_and_what_is_no_ratio_have_no_interval() {
        let three = runs(&[1.0, 2.0, 3.0]);
        for few in [runs(&[1.0]), runs(&[1.0, 1.0])] {
            let ratio = LogRatio::of(&few, &three);
            assert_eq!((ratio.p_value(), ratio.interval(0.05)), (None, None));
        }
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Estimate::of(&Value::Number(wrong)), None);
        }
        let summary = Summary::of(&[1.0; 8]).expect("finite");
        for wrong in [
            Summary { low: f64::NAN, ..summary },
            Summary { low: 3.0, ..summary },
            Summary { confidence: 1.0, ..summary },
        ] {
            assert_eq!(Estimate::of(&Value::Summary(wrong)), None);
        }
    }

    #[test]
    fn equal_runs_are_known_to_three_digits_only() {
        let ratio = LogRatio::of(&runs(&[1.000_1; 3]), &runs(&[1.0; 3]));
        assert!(ratio.p_value().is_some_and(|p| p > 0.5), "{ratio:?}");
        let ratio = LogRatio::of(&runs(&[1.01; 3]), &runs(&[1.0; 3]));
        assert!(ratio.p_value().is_some_and(|p| p < 0.001), "{ratio:?}");
    }

    #[test]
    fn documents_that_differ_more_than_their_runs_count_as_the_repeats() {
        let [a, b, c] = [[1.0, 1.01, 0.99], [1.2, 1.21, 1.19], [0.8, 0.81, 0.79]].map(|values| runs(&values));
        let pool = pooled(&[a, b, c]).expect("three");
        assert_eq!((pool.runs, pool.documents), (9, 3));
        let logs = [a.log, b.log, c.log];
        let mean = logs.iter().sum::<f64>() / 3.0;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 2.0 / 3.0;
        assert!(pool.error.is_some_and(|error| near(error.variance, variance) && error.freedom == 2.0), "{pool:?}");
        // Three documents of one value each have an interval; two have none.
        let single = [1.0, 1.1, 1.2].map(|value| runs(&[value]));
        assert!(pooled(&single).is_some_and(|pool| pool.is_known()));
        assert!(pooled(&single[..2]).is_some_and(|pool| !pool.is_known()));
    }
}
