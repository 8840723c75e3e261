//! Weighed means with their uncertainty, and the difference of two.

/// Fewer samples than this on either side say nothing, however many requests are in them.
const SAMPLES_MIN: f64 = 6.0;

/// A running weighed mean and the spread around it (West, "Updating mean and variance estimates", CACM 22/9, 1979).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    weight: f64,
    weight_squares: f64,
    mean: f64,
    /// Weighed squares of the distances from the mean.
    squares: f64,
}

impl Tally {
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        self.weight += weight;
        self.weight_squares += weight * weight;
        let off = value - self.mean;
        self.mean += off * weight / self.weight;
        self.squares += weight * off * (value - self.mean);
    }

    /// As how many samples of equal weight these count (Kish).
    fn samples(&self) -> f64 {
        if self.weight_squares > 0.0 { self.weight * self.weight / self.weight_squares } else { 0.0 }
    }

    /// Square of the standard error of the mean.
    fn error_square(&self) -> f64 {
        self.squares / self.weight / (self.samples() - 1.0)
    }
}

/// What was saved in all, and how well that is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Difference {
    /// Requests that it is about.
    pub(super) requests: f64,
    /// Saved, in the unit of the samples.
    pub(super) saved: f64,
    /// Square of half of the 95 % interval.
    half_width_square: f64,
}

impl Difference {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            saved: self.saved + other.saved,
            half_width_square: self.half_width_square + other.half_width_square,
        }
    }

    pub(super) fn half_width(&self) -> f64 {
        self.half_width_square.sqrt()
    }
}

/// What the requests under `with` took less than as many `without` would have; `None` before enough was seen.
pub(super) fn saved(without: &Tally, with: &Tally) -> Option<Difference> {
    if without.samples() < SAMPLES_MIN || with.samples() < SAMPLES_MIN {
        return None;
    }
    let (a, b) = (without.error_square(), with.error_square());
    // Welch and Satterthwaite. Samples that are all the same leave no doubt.
    let freedom = (a + b).powi(2) / (a * a / (without.samples() - 1.0) + b * b / (with.samples() - 1.0));
    let half_width = if a + b > 0.0 { quantile(freedom) * (a + b).sqrt() * with.weight } else { 0.0 };
    Some(Difference {
        requests: with.weight,
        saved: (without.mean - with.mean) * with.weight,
        half_width_square: half_width * half_width,
    })
}

/// The 97.5 % quantile of Student's distribution: exact for many degrees of freedom, within 1 % from 5 on (first two
/// terms of the Cornish-Fisher expansion; Abramowitz and Stegun 26.7.5).
fn quantile(freedom: f64) -> f64 {
    const Z: f64 = 1.959_964;
    let first = (Z.powi(3) + Z) / 4.0;
    let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
    Z + first / freedom + second / (freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_quantile_is_that_of_the_tables() {
        for (freedom, table) in [(5.0, 2.571), (6.0, 2.447), (10.0, 2.228), (30.0, 2.042), (1e6, 1.960)] {
            assert!((quantile(freedom) / table - 1.0).abs() < 0.01, "{freedom} {}", quantile(freedom));
        }
    }

    proptest! {
        #[test]
        fn a_tally_is_the_mean_and_variance_of_its_samples(values in prop::collection::vec(0.0f64..100.0, 2..40)) {
            let mut tally = Tally::default();
            values.iter().for_each(|value| tally.add(*value, 3.0));
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            prop_assert!((tally.mean - mean).abs() < 1e-9 && (tally.samples() - count).abs() < 1e-9);
            prop_assert!((tally.error_square() - variance / count).abs() < 1e-9);
        }
    }
}
