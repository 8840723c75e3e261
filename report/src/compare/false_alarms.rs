//! How many false alarms a comparison of many measures may raise.
//!
//! A comparison at a level of 5 % calls one measure in twenty different when nothing has changed, so of a hundred some
//! always are. The procedure of Benjamini and Hochberg (J. R. Statist. Soc. B 57, 1995) bounds the *false discovery
//! rate*: of the measures that are called improved or regressed, the expected share of false ones is at most [`RATE`].
//! When nothing has changed at all, that is the chance of any alarm: a build that compares equal devices fails in 5 %
//! of the cases at most, however many measures there are. It holds for independent measures and for those that vary
//! together (Benjamini and Yekutieli, Ann. Statist. 29, 2001), as throughput and latency of the same load do. Holm's
//! procedure would bound the chance of one false alarm among many true ones too; with the few runs that studies afford
//! it finds next to nothing.
//!
//! The intervals have the level at which the last measure was accepted, so that an interval excludes 1 where the
//! verdict says so and nowhere else, and so that of those intervals 95 % hold the true ratio (Benjamini and Yekutieli,
//! J. Am. Stat. Assoc. 100, 2005).

/// Bound of the false discovery rate.
pub(super) const RATE: f64 = 0.05;

/// What remains of a measure's own level when it is one of many: it counts as different when its p value is at most
/// this.
pub(super) fn level(p_values: &[f64]) -> f64 {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = RATE / sorted.len().max(1) as f64;
    let accepted = sorted.iter().enumerate().rev().find(|(i, p)| **p <= share * (i + 1) as f64);
    share * accepted.map_or(1, |(i, _)| i + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_agrees_with_the_example_of_the_paper() {
        // Benjamini and Hochberg 1995, section 4: 15 hypotheses, of which the first four are rejected; Bonferroni
        // rejects three.
        let paper = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let level = level(&paper);
        assert!((level - 4.0 * 0.05 / 15.0).abs() < 1e-12, "{level}");
        assert_eq!(paper.iter().filter(|p| **p <= level).count(), 4);
    }

    #[test]
    fn a_single_measure_keeps_its_level_and_many_without_effect_share_it() {
        assert_eq!(level(&[]), RATE);
        assert_eq!(level(&[0.2]), RATE);
        assert!((level(&[0.04; 10]) - RATE).abs() < 1e-12, "all are accepted");
        assert!((level(&[0.04, 0.5, 0.6, 0.7]) - RATE / 4.0).abs() < 1e-12, "none is");
    }
}
