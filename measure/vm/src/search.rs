//! The search for the best settings of a scheduler: from its defaults, one setting at a time, until nothing gets better.
//!
//! Best is the least mean delay of what somebody waits for among those that leave the writes at least a share of the best
//! throughput; where nobody waits, the largest throughput. Pure: it is told what each setting gave, and says what to try.

use crate::schedulers::Settings;

/// What a setting gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// It.
    pub settings: Settings,
    /// Mean delay of what somebody waits for, in any unit; absent where nobody does, or for a setting that failed.
    pub delay: Option<f64>,
    /// Throughput of the rest, in any unit; absent where there is no rest.
    pub throughput: Option<f64>,
}

/// What has not been tried and differs from `from` in one setting.
#[must_use]
pub fn neighbours(space: &[(String, Vec<String>)], from: &Settings, tried: &[Tried]) -> Vec<Settings> {
    let mut found: Vec<Settings> = Vec::new();
    for (name, values) in space {
        // None is the scheduler's own value.
        for value in std::iter::once(None).chain(values.iter().map(Some)) {
            let mut candidate = from.clone();
            match value {
                Some(value) => drop(candidate.insert(name.clone(), value.clone())),
                None => drop(candidate.remove(name)),
            }
            if !found.contains(&candidate) && tried.iter().all(|tried| tried.settings != candidate) {
                found.push(candidate);
            }
        }
    }
    found
}

/// The best of what was tried: its place. `throughput_best` is what 100 % of throughput are.
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
        // The first of equals: the defaults come before what changes nothing.
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
        // When nothing leaves enough: what leaves most.
        assert_eq!(best(&all, Some(9000.0), 90.0), Some(3));
    }

    #[test]
    fn where_nobody_waits_the_largest_throughput_wins_and_equals_stay_with_the_defaults() {
        let mut all = [tried(&[], 0.0, 5.0), tried(&[("a", "1")], 0.0, 7.0), tried(&[("a", "2")], 0.0, 7.0)];
        for one in &mut all {
            one.delay = None;
        }
        assert_eq!(best(&all, Some(7.0), 90.0), Some(1));
        assert_eq!(best(&[], None, 90.0), None);
        let failed = Tried { settings: Settings::new(), delay: None, throughput: None };
        assert_eq!(best(&[failed], None, 90.0), None);
    }

    /// What the search would do with a machine behind it.
    fn walk(objective: impl Fn(&Settings) -> f64) -> (Settings, usize) {
        let mut all: Vec<Tried> = Vec::new();
        let mut at = Settings::new();
        all.push(Tried { settings: at.clone(), delay: Some(objective(&at)), throughput: None });
        loop {
            let new = neighbours(&space(), &at, &all);
            if new.is_empty() {
                return (at, all.len());
            }
            for settings in new {
                let delay = objective(&settings);
                all.push(Tried { settings, delay: Some(delay), throughput: None });
            }
            let now = all[best(&all, None, 90.0).expect("some")].settings.clone();
            if now == at {
                return (at, all.len());
            }
            at = now;
        }
    }

    proptest! {
        #[test]
        fn the_search_ends_at_a_setting_that_no_single_change_improves(weights in prop::collection::vec(0.0f64..1.0, 12)) {
            let place = |settings: &Settings, name: &str| {
                settings.get(name).map_or(0, |value| value.parse::<usize>().expect("a number"))
            };
            let objective = |settings: &Settings| weights[place(settings, "a") * 3 + place(settings, "b")];
            let (found, count) = walk(objective);
            prop_assert!(count <= 12, "nothing is tried twice");
            for other in neighbours(&space(), &found, &[]) {
                prop_assert!(objective(&found) <= objective(&other));
            }
        }
    }
}
