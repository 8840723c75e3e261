//! Gain for an app by brisk, from the four sets of its launches.

use crate::launch::series::compare;
use crate::results::conditions::{self, IDLE, IDLE_BRISK, WRITERS, WRITERS_BRISK};
use crate::results::{EngineGain, Gain, LaunchSet, Stage, SuiteApp, Temperature};

/// Least added latency, as a share of a launch, for which a gain is computed.
const ADDS_AT_LEAST: f64 = 0.05;

/// The gain for `app`, for each measured temperature.
#[must_use]
pub(crate) fn gains(app: &SuiteApp) -> Vec<Gain> {
    [Temperature::Cold, Temperature::Warm].into_iter().filter_map(|temperature| gain(app, temperature)).collect()
}

fn gain(app: &SuiteApp, temperature: Temperature) -> Option<Gain> {
    let set = |name: &str| app.sets.iter().find(|set| set.label == name && set.temperature == temperature);
    let ratio = |with: &str, without: &str| compare(set(with)?, set(without)?).map(|found| found.settled_ratio);
    let median = |name: &str| set(name).and_then(settled_ms);
    let idle = median(IDLE);
    let added_ms = median(WRITERS).zip(idle).map(|(loaded, idle)| loaded - idle);
    let gone_percent = added_ms
        .zip(idle)
        .filter(|(added, idle)| *added >= ADDS_AT_LEAST * idle)
        .and_then(|(added, _)| Some(100.0 * (median(WRITERS)? - median(WRITERS_BRISK)?) / added));
    let alone = |engine: &str| EngineGain {
        engine: engine.to_owned(),
        loaded_ratio: ratio(&conditions::with(WRITERS, engine), WRITERS),
        idle_ratio: ratio(&conditions::with(IDLE, engine), IDLE),
    };
    let gain = Gain {
        app: app.name.clone(),
        temperature,
        loaded_ratio: ratio(WRITERS_BRISK, WRITERS),
        idle_ratio: ratio(IDLE_BRISK, IDLE),
        added_ms,
        gone_percent,
        engines: engines_alone(app).into_iter().map(alone).collect(),
    };
    (gain.loaded_ratio.is_some() || gain.idle_ratio.is_some()).then_some(gain)
}

/// The engines that were at work alone, in the order of their first launches.
fn engines_alone(app: &SuiteApp) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let all = app.sets.iter().filter(|set| set.label != IDLE_BRISK && set.label != WRITERS_BRISK);
    for (_, engine) in all.filter_map(|set| conditions::parts(&set.label)) {
        if !found.contains(&engine) {
            found.push(engine);
        }
    }
    found
}

fn settled_ms(set: &LaunchSet) -> Option<f64> {
    set.stages.iter().find(|stage| stage.stage == Stage::Settled).map(|stage| stage.at_ms.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phone::samples::{self, app, run};
    use crate::results::Ending;

    fn set(label: &str, times_ms: &[f64]) -> LaunchSet {
        samples::set(label, times_ms.iter().map(|at_ms| run(Ending::Settled, Some(*at_ms))).collect())
    }

    #[test]
    fn the_gain_is_the_share_of_the_added_latency_that_is_removed() {
        let sets = vec![
            set(IDLE, &[100.0, 100.0]),
            set(IDLE_BRISK, &[98.0, 98.0]),
            set(WRITERS, &[300.0, 300.0]),
            set(WRITERS_BRISK, &[150.0, 150.0]),
        ];
        let found = gains(&app(sets));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].added_ms, found[0].gone_percent), (Some(200.0), Some(75.0)));
        assert_eq!(found[0].loaded_ratio.as_ref().map(|ratio| ratio.median), Some(0.5));
        assert_eq!(found[0].idle_ratio.as_ref().map(|ratio| ratio.median), Some(0.98));
    }

    #[test]
    fn what_an_engine_does_alone_is_compared_with_launches_without_brisk() {
        let sets = vec![
            set(IDLE, &[100.0, 100.0]),
            set(IDLE_BRISK, &[60.0, 60.0]),
            set("idle_with_prefetch", &[70.0, 70.0]),
            set("idle_with_smartio", &[99.0, 99.0]),
            set(WRITERS, &[300.0, 300.0]),
            set("writers_with_smartio", &[150.0, 150.0]),
        ];
        let found = gains(&app(sets));
        let medians = |of: &EngineGain| {
            (of.loaded_ratio.as_ref().map(|ratio| ratio.median), of.idle_ratio.as_ref().map(|ratio| ratio.median))
        };
        let alone: Vec<_> = found[0].engines.iter().map(|of| (of.engine.as_str(), medians(of))).collect();
        assert_eq!(alone, [("prefetch", (None, Some(0.7))), ("smartio", (Some(0.5), Some(0.99)))]);
        assert_eq!(gains(&app(vec![set(IDLE, &[1.0]), set(IDLE_BRISK, &[1.0])]))[0].engines, []);
    }

    #[test]
    fn a_load_without_added_latency_gives_no_gain() {
        let sets = vec![set(IDLE, &[100.0]), set(WRITERS, &[102.0]), set(WRITERS_BRISK, &[101.0])];
        let found = gains(&app(sets));
        assert_eq!((found[0].gone_percent, found[0].idle_ratio.is_none()), (None, true));
        assert_eq!(gains(&app(Vec::new())), []);
    }
}
