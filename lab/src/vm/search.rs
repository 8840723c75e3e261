//! Search for the best settings of a scheduler: from its defaults, one change at a time; the best in short loads are
//! repeated in full ones. Each scheduler has the same budget.
//!
//! The objective is the least mean latency of the foreground among the settings that keep a share of the best write
//! throughput; without foreground jobs, the largest throughput. Pure: results in, next settings out.

use crate::vm::schedulers::Settings;

/// Result of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    pub settings: Settings,
    /// Mean latency of the foreground, in any unit; absent without foreground jobs, or for a failed setting.
    pub delay: Option<f64>,
    /// Throughput of the others, in any unit; absent without others.
    pub throughput: Option<f64>,
}

/// Settings of the next round: those that differ from `from`, the best so far, in one setting, ordered by the earlier
/// results of the same change; otherwise any untried ones. At most half of the remaining `budget`, so that later rounds
/// can build on the results; the first round tries every value once. Empty at the end.
#[must_use]
pub fn next(space: &[(String, Vec<String>)], from: &Settings, tried: &[Tried], budget: usize) -> Vec<Settings> {
    let left = budget.saturating_sub(tried.len());
    let all = neighbours(space, from, tried);
    let count = if tried.len() <= 1 { left } else { left.div_ceil(2).max(ROUND_MIN).min(left) };
    if all.is_empty() {
        return others(space, tried, left);
    }
    let mut ranked: Vec<(f64, Settings)> = all.into_iter().map(|one| (promise(&one, from, tried), one)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    ranked.into_iter().take(count).map(|(_, settings)| settings).collect()
}

/// Least latency (or greatest throughput, inverted) that the one change of `candidate` had before.
fn promise(candidate: &Settings, from: &Settings, tried: &[Tried]) -> f64 {
    let changed: Vec<(&String, Option<&String>)> = candidate
        .keys()
        .chain(from.keys())
        .map(|name| (name, candidate.get(name)))
        .filter(|(name, value)| from.get(*name) != *value)
        .collect();
    let has = |one: &&Tried| changed.iter().all(|(name, value)| one.settings.get(*name) == *value);
    let cost = |one: &Tried| one.delay.or(one.throughput.map(|rate| 1.0 / rate)).unwrap_or(f64::INFINITY);
    tried.iter().filter(has).map(cost).fold(f64::INFINITY, f64::min)
}

/// Up to `count` untried settings, spread over the space.
fn others(space: &[(String, Vec<String>)], tried: &[Tried], count: usize) -> Vec<Settings> {
    let size: usize = space.iter().map(|(_, values)| values.len() + 1).product();
    let mut found = Vec::new();
    // A stride that is coprime to the size visits every setting once.
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let stride = (size * 5 / 8..).find(|stride| gcd(*stride, size) == 1).unwrap_or(1);
    for nth in 0..size {
        let mut place = nth.wrapping_mul(stride) % size;
        let mut settings = Settings::new();
        for (name, values) in space {
            let count = values.len() + 1;
            if let Some(value) = (place % count).checked_sub(1) {
                settings.insert(name.clone(), values[value].clone());
            }
            place /= count;
        }
        if found.len() < count && tried.iter().all(|one| one.settings != settings) {
            found.push(settings);
        }
    }
    found
}

/// The best `count` settings, best first, to be repeated at full length.
#[must_use]
pub fn finalists(tried: &[Tried], throughput_best: Option<f64>, min_percent: f64, count: usize) -> Vec<Settings> {
    let mut rest = tried.to_vec();
    let mut found = Vec::new();
    while found.len() < count
        && let Some(place) = best(&rest, throughput_best, min_percent)
    {
        found.push(rest.remove(place).settings);
    }
    found
}

/// Least number of settings that is worth a boot.
const ROUND_MIN: usize = 4;

/// Untried settings that differ from `from` in one setting.
#[must_use]
pub fn neighbours(space: &[(String, Vec<String>)], from: &Settings, tried: &[Tried]) -> Vec<Settings> {
    let mut found: Vec<Settings> = Vec::new();
    for (name, values) in space {
        // None is the default.
        for value in std::iter::once(None).chain(values.iter().map(Some)) {
            let mut candidate = from.clone();
            match value {
                Some(value) => drop(candidate.insert(name.clone(), value.clone())),
                None => drop(candidate.remove(name)),
            }
            if candidate != *from
                && !found.contains(&candidate)
                && tried.iter().all(|tried| tried.settings != candidate)
            {
                found.push(candidate);
            }
        }
    }
    found
}

/// Index of the best setting. `throughput_best` is the reference of 100 %.
#[must_use]
pub fn best(tried: &[Tried], throughput_best: Option<f64>, min_percent: f64) -> Option<usize> {
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let works = |one: &Tried| finite(one.delay).is_some() || finite(one.throughput).is_some();
    let least = throughput_best.map(|best| best * min_percent / 100.0);
    let enough = |one: &Tried| least.is_none_or(|least| finite(one.throughput).is_none_or(|found| found >= least));
    let waits = tried.iter().any(|one| finite(one.delay).is_some());
    let mut allowed: Vec<usize> =
        (0..tried.len()).filter(|i| works(&tried[*i]) && (!waits || enough(&tried[*i]))).collect();
    if waits && !allowed.is_empty() {
        // The first of equals: the defaults precede settings without effect.
        return allowed.into_iter().min_by(|a, b| {
            let delay = |i: &usize| finite(tried[*i].delay).unwrap_or(f64::INFINITY);
            delay(a).total_cmp(&delay(b))
        });
    }
    allowed = (0..tried.len()).filter(|i| works(&tried[*i])).collect();
    let throughput = |i: &usize| finite(tried[*i].throughput).unwrap_or(f64::NEG_INFINITY);
    // min_by of the reverse keeps the first of equals.
    allowed.into_iter().min_by(|a, b| throughput(b).total_cmp(&throughput(a)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn space() -> Vec<(String, Vec<String>)> {
        let values = |all: &[&str]| all.iter().map(|value| (*value).to_owned()).collect();
        vec![("a".to_owned(), values(&["1", "2", "3"])), ("b".to_owned(), values(&["1", "2"]))]
    }

    fn tried(settings: &[(&str, &str)], delay: f64, throughput: f64) -> Tried {
        Tried {
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            delay: Some(delay),
            throughput: Some(throughput),
        }
    }

    #[test]
    fn fast_reads_that_starve_writes_do_not_win() {
        let all = [
            tried(&[], 100.0, 1000.0),
            tried(&[("a", "1")], 10.0, 100.0),
            tried(&[("a", "2")], 40.0, 905.0),
            tried(&[("a", "3")], 50.0, 1001.0),
        ];
        assert_eq!(best(&all, Some(1000.0), 90.0), Some(2));
        assert_eq!(best(&all, Some(1000.0), 95.0), Some(3));
        assert_eq!(best(&all, Some(1000.0), 5.0), Some(1));
        // When no setting keeps enough: the one that keeps most.
        assert_eq!(best(&all, Some(9000.0), 90.0), Some(3));
    }

    #[test]
    fn without_foreground_the_largest_throughput_wins_and_ties_keep_the_defaults() {
        let mut all = [tried(&[], 0.0, 5.0), tried(&[("a", "1")], 0.0, 7.0), tried(&[("a", "2")], 0.0, 7.0)];
        for one in &mut all {
            one.delay = None;
        }
        assert_eq!(best(&all, Some(7.0), 90.0), Some(1));
        assert_eq!(best(&[], None, 90.0), None);
        let failed = Tried { settings: Settings::new(), delay: None, throughput: None };
        assert_eq!(best(&[failed], None, 90.0), None);
    }

    /// Simulates a search: the result, and the number of tried settings.
    fn walk(objective: impl Fn(&Settings) -> f64, budget: usize) -> (Settings, usize) {
        let mut all: Vec<Tried> = Vec::new();
        let mut new = vec![Settings::new()];
        while !new.is_empty() {
            for settings in new {
                assert!(all.iter().all(|one| one.settings != settings), "nothing is tried twice");
                let delay = objective(&settings);
                all.push(Tried { settings, delay: Some(delay), throughput: None });
            }
            let at = &all[best(&all, None, 90.0).expect("some")].settings;
            new = next(&space(), at, &all, budget);
        }
        (all[best(&all, None, 90.0).expect("some")].settings.clone(), all.len())
    }

    #[test]
    fn finalists_are_best_first_and_starve_no_writes() {
        let all = [tried(&[], 100.0, 1000.0), tried(&[("a", "1")], 10.0, 100.0), tried(&[("a", "2")], 40.0, 905.0)];
        let found = finalists(&all, Some(1000.0), 90.0, 2);
        assert_eq!(found, [all[2].settings.clone(), Settings::new()]);
        assert_eq!(finalists(&all[..1], None, 90.0, 3).len(), 1);
    }

    proptest! {
        #[test]
        fn every_scheduler_has_the_same_budget_and_a_large_one_finds_the_best(
            weights in prop::collection::vec(0.0f64..1.0, 12),
            budget in 1usize..20,
        ) {
            let place = |settings: &Settings, name: &str| {
                settings.get(name).map_or(0, |value| value.parse::<usize>().expect("a number"))
            };
            let objective = |settings: &Settings| weights[place(settings, "a") * 3 + place(settings, "b")];
            let (found, count) = walk(objective, budget);
            prop_assert_eq!(count, budget.min(12));
            prop_assert!(objective(&found) <= objective(&Settings::new()));
            let best = weights.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(count < 12 || objective(&found) == best);
        }

        #[test]
        fn independent_settings_are_found_with_few_tries(a in 0usize..4, b in 0usize..3) {
            let away = |settings: &Settings, name: &str, best: usize| {
                let at = settings.get(name).map_or(0, |value| value.parse::<usize>().expect("a number"));
                if at == best { 1.0 } else { 2.0 }
            };
            let (found, count) = walk(|settings| away(settings, "a", a) * away(settings, "b", b), 9);
            prop_assert!(count <= 9);
            prop_assert_eq!(away(&found, "a", a) * away(&found, "b", b), 1.0);
        }
    }
}
