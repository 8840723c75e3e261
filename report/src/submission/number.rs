//! Numbers that leave: finite, not negative, four significant digits.

/// Largest number of a submission: beyond any size, rate or time that brisk measures.
pub(crate) const MAX: f64 = 1e15;

/// `value` with four significant digits; `None` for what no measurement gives.
pub(crate) fn rounded(value: f64) -> Option<f64> {
    if !value.is_finite() || !(0.0..=MAX).contains(&value) {
        return None;
    }
    if value < 1e-9 {
        return Some(0.0);
    }
    format!("{value:.3e}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, expected) in [
            (0.0, Some(0.0)),
            (1234.567, Some(1235.0)),
            (0.000_123_456, Some(0.000_123_5)),
            (1e-12, Some(0.0)),
            (187.0, Some(187.0)),
            (f64::NAN, None),
            (f64::INFINITY, None),
            (-1.0, None),
            (2e15, None),
        ] {
            assert_eq!(rounded(value), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn rounding_is_close_and_done_once(value in 1e-6..1e15) {
            let once = rounded(value).expect("in range");
            prop_assert!((once / value - 1.0).abs() <= 5.001e-4);
            prop_assert_eq!(rounded(once), Some(once));
        }
    }
}
