//! Intervals that are longer than the axis: an outlier's whisker does not set the axis of the others.
//!
//! Measured values are always on the axis. Of the ends of intervals it holds those of at least half of the rows, and
//! further ones as long as none of them makes it more than twice as long. What lies beyond is cut, with an arrow at the
//! edge and the value next to it.

use maud::{Markup, html};

use super::px;
use super::scale::{Law, Scale};

/// By how much one interval may lengthen an axis.
const LONGEST: f64 = 2.0;

/// The values that an axis holds: all of `values`, and those ends of `ranges` that are no outliers.
pub(crate) fn held(law: Law, values: impl IntoIterator<Item = f64>, ranges: &[(f64, f64)]) -> Vec<f64> {
    let usable = |v: &f64| v.is_finite() && (law.is_even() || *v > 0.0);
    let mut held: Vec<f64> = values.into_iter().filter(usable).collect();
    let measure = |v: f64| if law.is_even() { v } else { v.ln() };
    let ends = |of: fn(&(f64, f64)) -> f64| ranges.iter().map(of).filter(usable);
    let (mut low, mut high) = held
        .iter()
        .copied()
        .chain((law == Law::Linear).then_some(0.0))
        .map(measure)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        held.extend(ends(|r| r.0).chain(ends(|r| r.1)));
        return held;
    }
    let mut upper: Vec<f64> = ends(|r| r.1).collect();
    upper.sort_by(f64::total_cmp);
    let mut lower: Vec<f64> = ends(|r| r.0).collect();
    lower.sort_by(|a, b| b.total_cmp(a));
    let half = |all: &[f64]| all.len().div_ceil(2);
    for (i, end) in upper.iter().enumerate() {
        let at = measure(*end);
        if i >= half(&upper) && at - low > LONGEST * (high - low) {
            break;
        }
        high = high.max(at);
        held.push(*end);
    }
    for (i, end) in lower.iter().enumerate() {
        let at = measure(*end);
        if i >= half(&lower) && high - at > LONGEST * (high - low) {
            break;
        }
        low = low.min(at);
        held.push(*end);
    }
    held
}

/// Whether a value lies beyond the upper or the lower end of a scale, by more than rounding.
pub(crate) fn beyond(scale: &Scale, value: f64) -> bool {
    let slack = (scale.high() - scale.low()).abs() * 1e-9;
    value.is_finite() && (value > scale.high() + slack || value < scale.low() - slack)
}

/// An arrowhead at the end of a cut whisker: at `x`, `y`, which points right or left (`dx` is 1 or -1), or up or down
/// (`dy`).
pub(crate) fn arrow(x: f64, y: f64, [dx, dy]: [f64; 2], class: &str) -> Markup {
    let (long, wide) = (6.0, 4.0);
    let (back_x, back_y) = (x - dx * long, y - dy * long);
    let corners = [(back_x - dy * wide, back_y - dx * wide), (back_x + dy * wide, back_y + dx * wide)];
    html! {
        path class=(format!("clip {class}"))
            d=(format!("M{} {}L{} {}L{} {}z", px(x), px(y), px(corners[0].0), px(corners[0].1), px(corners[1].0),
                px(corners[1].1))) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scale(law: Law, values: &[f64], ranges: &[(f64, f64)]) -> Scale {
        Scale::around(law, held(law, values.iter().copied(), ranges))
    }

    #[test]
    fn the_whisker_of_an_outlier_does_not_set_the_axis() {
        let values = [0.72, 0.81, 0.95, 1.0];
        let ranges = [(0.7, 0.75), (0.78, 0.84), (0.31, 42.6)];
        let with = scale(Law::Window, &values, &ranges);
        assert!(with.high() <= 1.4, "{with:?}");
        assert!(beyond(&with, 42.6) && !beyond(&with, 0.84));
        // A log scale bears more, and not everything.
        assert!(scale(Law::Log10, &values, &ranges).high() < 42.0);
        assert!(scale(Law::Linear, &[50.0, 60.0], &[(49.0, 51.0), (20.0, 900.0)]).high() <= 200.0);
    }

    #[test]
    fn intervals_that_are_alike_are_all_shown_however_long() {
        let ranges = [(0.5, 5.0), (0.5, 5.2), (0.4, 5.1)];
        assert!(ranges.iter().all(|r| !beyond(&scale(Law::Window, &[0.9, 1.0, 1.1], &ranges), r.1)));
        assert!(!beyond(&scale(Law::Window, &[1.0], &[(0.2, 9.0)]), 9.0), "one interval has nothing to hide");
    }

    proptest! {
        #[test]
        fn values_are_always_on_the_axis_and_one_interval_at_most_doubles_it(
            values in prop::collection::vec(0.01f64..100.0, 2..10), wide in 1.0f64..1e6,
        ) {
            let ranges: Vec<(f64, f64)> = values.iter().map(|v| (v * 0.98, v * 1.02)).collect();
            let mut with = ranges.clone();
            with[0].1 = values[0] * wide;
            for law in [Law::Linear, Law::Window, Law::Log10] {
                let of = |ranges: &[(f64, f64)]| held(law, values.iter().copied(), ranges);
                let (without, with) = (of(&ranges[1..]), of(&with));
                let most = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let first = if law == Law::Linear { 0.0 } else { f64::INFINITY };
                let least = |all: &[f64]| all.iter().copied().fold(first, f64::min);
                prop_assert!(values.iter().all(|v| *v <= most(&with) && *v >= least(&with)));
                let length = |all: &[f64]| match law {
                    Law::Log10 => (most(all) / least(all)).ln(),
                    _ => most(all) - least(all),
                };
                prop_assert!(length(&with) <= 2.0 * length(&without) * 1.1 + 1e-9, "{:?} {:?}", without, with);
            }
        }
    }
}
