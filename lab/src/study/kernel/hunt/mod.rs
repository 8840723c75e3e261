//! The hunt: in how many loads a scheduler holds its bounds, those where it does not, and the worst cases shrunk.

mod columns;
mod page;
pub(crate) mod result;
mod run;

pub(crate) use run::*;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;

impl Kind for HuntReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let of = |bound: &crate::results::HuntBound| {
            let share = f64::from(bound.hold) / f64::from(bound.loads) * 100.0;
            Row::at(BOUND, bound.words.clone()).put(LOADS_THAT_HOLD, share)
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
