//! The two simplest predictors, to compare with: the most recently used apps, and the most often used ones.

use std::cmp::Reverse;

use crate::results::PredictionWay;

/// Counts uses.
pub(super) struct Baseline<'a> {
    by_frequency: bool,
    skips_front: bool,
    /// Apps with their numbers of uses, the most recently used first.
    apps: Vec<(&'a str, u64)>,
}

impl<'a> Baseline<'a> {
    /// The most recently used apps.
    pub(super) fn lru(way: PredictionWay) -> Self {
        Self { by_frequency: false, skips_front: way == PredictionWay::Collapsed, apps: Vec::new() }
    }

    /// The most often used apps; of equals the more recently used one.
    pub(super) fn frequency(way: PredictionWay) -> Self {
        Self { by_frequency: true, ..Self::lru(way) }
    }

    /// The apps that it expects, the likeliest first.
    pub(super) fn predicted(&self, most: usize) -> Vec<&'a str> {
        let mut apps: Vec<&(&str, u64)> = self.apps.iter().skip(usize::from(self.skips_front)).collect();
        if self.by_frequency {
            apps.sort_by_key(|(_, uses)| Reverse(*uses));
        }
        apps.into_iter().take(most).map(|(app, _)| *app).collect()
    }

    pub(super) fn learn(&mut self, app: &'a str) {
        let known = self.apps.iter().position(|(known, _)| *known == app);
        let uses = known.map_or(0, |place| self.apps.remove(place).1);
        self.apps.insert(0, (app, uses + 1));
    }
}
