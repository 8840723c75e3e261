//! Measures of a hunt: loads that hold each bound. Single loads are those of a seed, which two hunts may not share.

use brisk_results::HuntReport;

use super::Measured;
use crate::rows::{PERCENT, Row};
use crate::section::Facts;

impl Measured for HuntReport {
    fn measured(&self) -> Vec<Row> {
        let of = |bound: &brisk_results::HuntBound| {
            let share = f64::from(bound.hold) / f64::from(bound.loads) * 100.0;
            Row::at("bound", bound.words.clone()).put("loads that hold", PERCENT, share)
        };
        self.bounds.iter().filter(|bound| bound.loads > 0).map(of).collect()
    }

    fn mode(&self) -> Facts {
        let drawn = self.loads.iter().filter(|load| load.drawn).count();
        vec![
            ("Scheduler", self.scheduler.clone()),
            ("Held against", self.peers.join(", ")),
            ("Seed and number of loads", format!("{}, {drawn}", self.header.seed)),
        ]
    }

    fn setting(&self) -> Facts {
        vec![("Kernel of the lab", self.series.clone())]
    }
}
