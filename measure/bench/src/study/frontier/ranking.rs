//! Ranking of settings: pure functions over the measurements.

/// Measurements of one setting, relative to the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Score {
    /// Mean read latency over the baseline's, geometric mean over the loads: less is better.
    pub(super) read_ratio: f64,
    /// Write throughput in percent of the baseline's, geometric mean over the loads.
    pub(super) write_percent: f64,
    /// Write throughput of the worst load, in percent.
    pub(super) write_percent_min: f64,
}

/// A single load may fall this far below the limit for the mean, as one load varies more than the mean.
const ONE_LOAD_SLACK_PERCENT: f64 = 10.0;
/// Read latencies closer than this are equal: the simpler setting wins.
const TIE_SHARE: f64 = 0.05;
/// Weight of missing write throughput in the rank.
const LACK_POWER: i32 = 4;

impl Score {
    /// From one (read ratio, write ratio) for each load; `None` without loads or for invalid ratios.
    pub(super) fn of(loads: &[(f64, f64)]) -> Option<Self> {
        let usable = |&(read, write): &(f64, f64)| read.is_finite() && read > 0.0 && write.is_finite() && write > 0.0;
        if loads.is_empty() || !loads.iter().all(usable) {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| {
            (loads.iter().map(|load| of(load).ln()).sum::<f64>() / loads.len() as f64).exp()
        };
        Some(Self {
            read_ratio: mean(|load| load.0),
            write_percent: mean(|load| load.1) * 100.0,
            write_percent_min: loads.iter().map(|load| load.1 * 100.0).fold(f64::INFINITY, f64::min),
        })
    }

    /// Whether it keeps enough write throughput.
    pub(super) fn is_feasible(&self, write_min_percent: f64) -> bool {
        self.write_percent >= write_min_percent && self.write_percent_min >= write_min_percent - ONE_LOAD_SLACK_PERCENT
    }

    /// Rank, least first: read latency, increased by missing write throughput. A setting just below the limit stays,
    /// for its neighbours.
    pub(super) fn rank(&self, write_min_percent: f64) -> f64 {
        let lack = (write_min_percent / self.write_percent)
            .max((write_min_percent - ONE_LOAD_SLACK_PERCENT) / self.write_percent_min)
            .max(1.0);
        self.read_ratio * lack.powi(LACK_POWER)
    }
}

/// The indices of the best `keep`, best first.
pub(super) fn best(scores: &[Option<Score>], keep: usize, write_min_percent: f64) -> Vec<usize> {
    let mut order: Vec<(usize, f64)> =
        scores.iter().enumerate().filter_map(|(i, score)| Some((i, score.as_ref()?.rank(write_min_percent)))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    order.into_iter().take(keep).map(|(i, _)| i).collect()
}

/// Whether reads that take this share of the time with the settings found gain more than noise.
pub(super) fn is_gain(read_ratio: f64) -> bool {
    read_ratio < 1.0 - TIE_SHARE
}

/// The winner of `finalists` (index, score, number of changes): the lowest read latency among those with enough write
/// throughput; within noise, the fewest changes. `None` when none is faster than the baseline.
pub(super) fn winner(finalists: &[(usize, Score, usize)], write_min_percent: f64) -> Option<usize> {
    let feasible = || finalists.iter().filter(|(_, score, _)| score.is_feasible(write_min_percent));
    let least = feasible().map(|(_, score, _)| score.read_ratio).fold(f64::INFINITY, f64::min);
    if !is_gain(least) {
        return None;
    }
    feasible()
        .filter(|(_, score, _)| score.read_ratio <= least * (1.0 + TIE_SHARE))
        .min_by(|a, b| a.2.cmp(&b.2).then(a.1.read_ratio.total_cmp(&b.1.read_ratio)))
        .map(|(index, ..)| *index)
}

/// For each score, whether it is Pareto-optimal: no other is better in reads and in writes.
pub(super) fn frontier(scores: &[Score]) -> Vec<bool> {
    let beaten_by = |a: &Score, b: &Score| {
        b.read_ratio <= a.read_ratio
            && b.write_percent >= a.write_percent
            && (b.read_ratio < a.read_ratio || b.write_percent > a.write_percent)
    };
    scores.iter().map(|a| !scores.iter().any(|b| beaten_by(a, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(read_ratio: f64, write_percent: f64) -> Score {
        Score { read_ratio, write_percent, write_percent_min: write_percent }
    }

    #[test]
    fn a_score_is_the_geometric_mean_over_the_loads() {
        let of = Score::of(&[(0.1, 1.0), (0.4, 0.81)]).expect("a score");
        assert!((of.read_ratio - 0.2).abs() < 1e-9 && (of.write_percent - 90.0).abs() < 1e-9);
        assert!((of.write_percent_min - 81.0).abs() < 1e-9);
        assert_eq!(Score::of(&[]), None);
        assert_eq!(Score::of(&[(f64::NAN, 1.0)]), None);
        assert_eq!(Score::of(&[(0.1, 0.0)]), None);
    }

    #[test]
    fn the_winner_keeps_enough_writes_and_changes_least() {
        let finalists = [
            (7, score(0.05, 60.0), 4),
            (8, score(0.101, 97.0), 2),
            (9, score(0.1, 95.0), 5),
            (3, score(1.0, 100.0), 0),
        ];
        assert_eq!(winner(&finalists, 90.0), Some(8));
        assert_eq!(winner(&finalists, 96.0), Some(8));
        assert_eq!(winner(&finalists, 50.0), Some(7));
        // One load starves although the mean is sufficient.
        let starved = Score { write_percent_min: 70.0, ..score(0.05, 95.0) };
        assert_eq!(winner(&[(1, starved, 1)], 90.0), None);
        assert_eq!(winner(&[(3, score(0.97, 100.0), 1)], 90.0), None);
        assert_eq!(winner(&[], 90.0), None);
    }

    #[test]
    fn a_setting_just_below_the_write_limit_stays() {
        let scores = [Some(score(0.5, 100.0)), Some(score(0.1, 80.0)), None, Some(score(0.1, 20.0))];
        assert_eq!(best(&scores, 2, 90.0), [1, 0]);
    }

    proptest! {
        #[test]
        fn no_setting_dominates_one_on_the_frontier(points in prop::collection::vec((0.01f64..2.0, 1.0f64..150.0),
            1..20)) {
            let scores: Vec<Score> = points.iter().map(|p| score(p.0, p.1)).collect();
            let on = frontier(&scores);
            prop_assert!(on.contains(&true));
            for (i, a) in scores.iter().enumerate() {
                let beaten = scores.iter().any(|b| b.read_ratio < a.read_ratio && b.write_percent > a.write_percent);
                prop_assert!(!(on[i] && beaten));
            }
        }

        #[test]
        fn a_winner_is_feasible_and_faster(points in prop::collection::vec((0.01f64..2.0, 1.0f64..150.0, 0usize..6),
            0..12)) {
            let finalists: Vec<_> = points.iter().enumerate().map(|(i, p)| (i, score(p.0, p.1), p.2)).collect();
            if let Some(index) = winner(&finalists, 90.0) {
                prop_assert!(finalists[index].1.write_percent >= 90.0 && finalists[index].1.read_ratio < 1.0);
            }
        }
    }
}
