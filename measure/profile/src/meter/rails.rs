//! Counters of supply rails, as some phones have (on-device power monitors).

use std::collections::BTreeSet;
use std::time::Duration;

use brisk_sense::{PowerRail, Sense};

use super::{About, Meter, MeterKind, Work};
use crate::error::Result;

/// Monitors accumulate over some ms before they update.
const CELL_MIN: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Rails {
    sense: Sense,
    began: Vec<PowerRail>,
}

impl Rails {
    /// Opens the counters below the root of `sense`.
    ///
    /// # Errors
    /// When there is none, or only root may read them.
    pub fn open(sense: Sense) -> Result<Self> {
        let began = sense.power_rails()?;
        if began.is_empty() {
            let why = "the kernel shows no energy_value in /sys/bus/iio/devices, or shows it to root alone";
            return Err(MeterKind::Rails.unusable(why));
        }
        Ok(Self { sense, began })
    }
}

/// What went through all rails from `began` to `ended`; `None` when one went away or began anew, as after a suspend on
/// some.
fn counted_uj(began: &[PowerRail], ended: &[PowerRail]) -> Option<u64> {
    let one = |then: &PowerRail| {
        let is_it =
            |rail: &&PowerRail| (&rail.monitor, rail.channel, &rail.name) == (&then.monitor, then.channel, &then.name);
        ended.iter().find(is_it)?.energy_uj.checked_sub(then.energy_uj)
    };
    began.iter().map(one).sum()
}

impl Meter for Rails {
    fn about(&self) -> About {
        let names: BTreeSet<&str> = self.began.iter().map(|rail| rail.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        About {
            kind: MeterKind::Rails,
            what: format!("energy through the rails {}, added up", names.join(", ")),
            uncertainty: "a few percent of each rail, and whatever else ran; a rail that feeds another counts twice"
                .to_owned(),
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.began = self.sense.power_rails()?;
        Ok(())
    }

    fn end(&mut self, _work: &Work) -> Result<f64> {
        let ended = self.sense.power_rails()?;
        let counted = counted_uj(&self.began, &ended).map(|uj| uj as f64);
        counted.ok_or_else(|| MeterKind::Rails.unusable("a counter went away or began anew meanwhile"))
    }

    fn cell_min(&self) -> Duration {
        CELL_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn shows(root: &Path, display_uj: u64, storage_uj: u64) {
        let dir = root.join("sys/bus/iio/devices/iio:device0");
        fs::create_dir_all(&dir).expect("directory");
        let text = format!("t=9\nCH0(T=9)[DISPLAY], {display_uj}\nCH1(T=9)[UFS], {storage_uj}\n");
        fs::write(dir.join("energy_value"), text).expect("written");
    }

    #[test]
    fn rails_are_added_up_and_a_new_beginning_is_no_energy() {
        let root = tempfile::tempdir().expect("directory");
        shows(root.path(), 100, 50);
        let mut meter = Rails::open(Sense::new(root.path())).expect("counters");
        meter.begin().expect("begun");
        shows(root.path(), 130, 55);
        assert_eq!(meter.end(&Work::default()).expect("counted"), 35.0);
        assert!(meter.about().what.contains("DISPLAY, UFS"));
        shows(root.path(), 130, 49);
        assert!(meter.end(&Work::default()).expect_err("less than before").to_string().contains("anew"));
    }

    #[test]
    fn without_counters_it_says_why() {
        let root = tempfile::tempdir().expect("directory");
        let error = Rails::open(Sense::new(root.path())).expect_err("none").to_string();
        assert!(error.contains("'rails'") && error.contains("energy_value"), "{error}");
    }
}
