//! Stopping rule of repetitions: interleaved rounds until the interval of the median is narrow, or time is up.

use brisk_core::stats::Summary;

/// When a median is precise enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Most half width of the median's interval, relative to the median.
    pub width: f64,
    /// Fewest repetitions.
    pub rounds: usize,
}

impl Rule {
    /// Whether the median of `values` is precise enough.
    #[must_use]
    pub fn is_met(&self, values: &[f64]) -> bool {
        values.len() >= self.rounds && Summary::of(values).is_some_and(|summary| summary.half_width() <= self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULE: Rule = Rule { width: 0.05, rounds: 6 };

    #[test]
    fn a_median_is_precise_when_its_interval_is_narrow() {
        for (values, known) in [
            (vec![], false),
            (vec![100.0; 5], false),
            (vec![100.0; 6], true),
            (vec![96.0, 98.0, 100.0, 100.0, 102.0, 104.0], true),
            (vec![90.0, 98.0, 100.0, 100.0, 102.0, 112.0], false),
            // Ten values leave out one outlier at each end.
            (vec![10.0, 99.0, 99.0, 100.0, 100.0, 100.0, 100.0, 101.0, 101.0, 900.0], true),
            (vec![f64::NAN; 9], false),
        ] {
            assert_eq!(RULE.is_met(&values), known, "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn scaling_the_values_changes_nothing(values in prop::collection::vec(1.0f64..1e3, 0..30)) {
            let scaled: Vec<f64> = values.iter().map(|v| v * 1024.0).collect();
            prop_assert_eq!(RULE.is_met(&values), RULE.is_met(&scaled));
        }

        #[test]
        fn a_wider_rule_is_met_earlier(values in prop::collection::vec(1.0f64..1e3, 0..30)) {
            let wider = Rule { width: RULE.width * 2.0, ..RULE };
            prop_assert!(!RULE.is_met(&values) || wider.is_met(&values));
        }
    }
}
