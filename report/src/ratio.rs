//! A measured ratio in words that claim no more than its interval does.

use brisk_core::stats::Summary;

use crate::format;

/// What the interval of a ratio of two times shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Its interval lies above 1.
    Longer,
    /// Its interval lies below 1.
    Shorter,
    /// Its interval includes 1.
    NoDifference,
    /// One pair of runs has no interval.
    OnePair,
    /// Not a ratio.
    Nothing,
}

impl Judgement {
    /// In a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Longer => "slower",
            Self::Shorter => "faster",
            Self::NoDifference => "no significant difference",
            Self::OnePair => "one pair: no interval",
            Self::Nothing => "cannot be compared",
        }
    }
}

/// What the interval of `ratio` shows.
pub fn judge(ratio: &Summary) -> Judgement {
    let usable = [ratio.median, ratio.low, ratio.high].into_iter().all(|v| v.is_finite() && v >= 0.0);
    match ratio.count {
        0 => Judgement::Nothing,
        _ if !usable => Judgement::Nothing,
        1 => Judgement::OnePair,
        _ if ratio.low > 1.0 => Judgement::Longer,
        _ if ratio.high < 1.0 => Judgement::Shorter,
        _ => Judgement::NoDifference,
    }
}

/// `1.42 times`: its interval stands in a table.
pub fn words(ratio: &Summary) -> String {
    format!("{} times", format::number(ratio.median))
}

/// Whether `one` takes longer than `base`, in a sentence without its full stop.
pub fn sentence(one: &str, base: &str, ratio: &Summary) -> String {
    let times = words(ratio);
    match judge(ratio) {
        Judgement::Longer | Judgement::Shorter => format!("{one} takes {times} as long as {base}"),
        Judgement::NoDifference => format!("{one} against {base}: no significant difference, {times}"),
        Judgement::OnePair => format!("{one} took {times} as long as {base}; one pair has no interval"),
        Judgement::Nothing => format!("{one} and {base} cannot be compared: no run of one has its pair"),
    }
}

/// The time that a ratio saves, in percent: a ratio of 0.8 saves 20 %. The ends of the interval change places.
pub fn saved_percent(ratio: &Summary) -> Summary {
    let saved = |ratio: f64| (1.0 - ratio) * 100.0;
    Summary {
        median: saved(ratio.median),
        low: saved(ratio.high),
        high: saved(ratio.low),
        min: saved(ratio.max),
        max: saved(ratio.min),
        ..*ratio
    }
}

/// The geometric mean of those ratios that are positive numbers, and how many they are.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<(f64, u64)> {
    let (mut sum, mut count) = (0.0, 0u64);
    for ratio in ratios {
        if ratio.is_finite() && ratio > 0.0 {
            sum += ratio.ln();
            count += 1;
        }
    }
    (count > 0).then(|| ((sum / count as f64).exp(), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Summary {
        Summary::of(values).expect("finite")
    }

    #[test]
    fn an_interval_that_includes_1_is_no_difference() {
        let same = of(&[0.98, 1.01, 1.02, 0.97, 1.05, 1.04]);
        assert_eq!(judge(&same), Judgement::NoDifference);
        assert!(sentence("Cold with writers", "idle", &same).contains("no significant difference"));
        let slower = of(&[1.3, 1.31, 1.42, 1.45, 1.5, 1.55]);
        assert_eq!(sentence("A", "B", &slower), "A takes 1.44 times as long as B");
    }

    #[test]
    fn one_pair_is_called_one_and_nonsense_is_not_compared() {
        assert!(sentence("A", "B", &of(&[1.3])).ends_with("one pair has no interval"));
        assert!(sentence("A", "B", &Summary { low: f64::NAN, ..of(&[1.3, 1.4]) }).contains("cannot be compared"));
    }

    #[test]
    fn a_saving_keeps_low_below_high() {
        let saved = saved_percent(&of(&[0.7, 0.8, 0.9]));
        assert!(
            (saved.low - 10.0).abs() < 1e-9 && (saved.median - 20.0).abs() < 1e-9 && (saved.high - 30.0).abs() < 1e-9
        );
    }

    #[test]
    fn the_geometric_mean_skips_values_that_are_no_ratio() {
        assert_eq!(geometric_mean([2.0, 8.0, f64::NAN, 0.0]).map(|(mean, n)| (mean.round(), n)), Some((4.0, 2)));
        assert_eq!(geometric_mean([]), None);
    }
}
