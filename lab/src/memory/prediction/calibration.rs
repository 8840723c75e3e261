//! Reliability of predicted chances: in bins of ten percent, what was predicted and what came true.

use crate::results::{Calibration, CalibrationBin};

const BINS: usize = 10;

/// Predictions of one event with their outcomes.
pub(super) struct Reliability {
    event: &'static str,
    /// Number of predictions, sum of their chances, number of those that came true.
    bins: [(u64, f64, u64); BINS],
}

impl Reliability {
    /// Without predictions yet.
    pub(super) fn new(event: &'static str) -> Self {
        Self { event, bins: [(0, 0.0, 0); BINS] }
    }

    /// Counts a prediction.
    pub(super) fn add(&mut self, probability: f64, came_true: bool) {
        let bin = ((probability * BINS as f64) as usize).min(BINS - 1);
        let (count, sum, trues) = &mut self.bins[bin];
        *count += 1;
        *sum += probability;
        *trues += u64::from(came_true);
    }

    /// All of them; `None` where there are none.
    pub(super) fn sum(&self) -> Option<Calibration> {
        let filled = self.bins.iter().filter(|(count, ..)| *count > 0);
        let total: u64 = self.bins.iter().map(|(count, ..)| count).sum();
        let bins: Vec<CalibrationBin> = filled
            .map(|&(count, sum, trues)| CalibrationBin {
                count,
                predicted_percent: sum / count as f64 * 100.0,
                observed_percent: trues as f64 / count as f64 * 100.0,
            })
            .collect();
        let off = |bin: &CalibrationBin| bin.count as f64 * (bin.predicted_percent - bin.observed_percent).abs();
        let error_percent = bins.iter().map(off).sum::<f64>() / total as f64;
        (total > 0).then(|| Calibration { event: self.event.to_owned(), error_percent, bins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_mean_distance_weighted_by_predictions() {
        let mut reliability = Reliability::new("next");
        assert!(reliability.sum().is_none());
        // Nine of ten come true where 0.9 was said, none of thirty where 0.2 was said; 1 lies in the last bin.
        (0..10).for_each(|n| reliability.add(0.9, n > 0));
        (0..30).for_each(|_| reliability.add(0.2, false));
        let sum = reliability.sum().expect("predictions");
        assert!((sum.error_percent - 15.0).abs() < 1e-9, "{sum:?}");
        assert_eq!(sum.bins.iter().map(|bin| bin.count).collect::<Vec<_>>(), [30, 10]);
        reliability.add(1.0, true);
        assert_eq!(reliability.sum().expect("predictions").bins.len(), 2);
    }
}
